# shellcheck shell=sh
# postgres.sh - a PostgreSQL server of this test alone: an ordinary user's, in a folder of its own, at a Unix socket there (sourced after lib.sh).
#
#   postgres_start    0, and then the server is there: $PGHOST, $PGPORT, $PGUSER for psql and stemma; 1: there is none, $postgres_lacks says why
#   postgres_as ROLE SQL...   psql as that role, unaligned

postgres_stop()
{
	[ ! -f "$sockets/data/postmaster.pid" ] || postgres_run "$postgres_bin/pg_ctl" -D "$sockets/data" -m immediate stop >/dev/null 2>&1
}
postgres_run() # as a user that is not root
{
	if [ "$(id -u)" = 0 ]; then
		setpriv --reuid=65534 --regid=65534 --clear-groups env HOME="$sockets" "$@"
	else
		"$@"
	fi
}
postgres_start()
{
	postgres_lacks=
	for postgres_bin in /usr/lib/postgresql/*/bin ''; do
		[ ! -x "$postgres_bin/initdb" ] || break
	done
	[ -x "$postgres_bin/initdb" ] && command -v psql >/dev/null || postgres_lacks='no PostgreSQL server here'
	[ -f "$BUILD/src/site/stemma-pq.so" ] || postgres_lacks='built without libpq'
	# A socket's path has 107 characters at most; and the user who runs the server has to reach it.
	sockets=$(mktemp -d /tmp/stemma-pg.XXXXXX) || return 1
	trap 'postgres_stop; rm -rf "$sockets"; chmod -R u+rwx "$T" 2>/dev/null; rm -rf "$T"' EXIT
	[ -z "$postgres_lacks" ] || return 1
	[ "$(id -u)" != 0 ] || chown 65534:65534 "$sockets"
	postgres_run "$postgres_bin/initdb" -D "$sockets/data" -U owner -A trust -E SQL_ASCII --locale=C -N >"$T/pg.log" 2>&1 || postgres_lacks='initdb fails here'
	export PGHOST="$sockets" PGPORT=5432 PGUSER=owner PGDATABASE=postgres
	[ -n "$postgres_lacks" ] || postgres_run "$postgres_bin/pg_ctl" -D "$sockets/data" -w -t 60 -l "$sockets/log" \
		-o "-c listen_addresses= -c unix_socket_directories=$sockets -c fsync=off -c shared_buffers=64MB ${1:-}" start >>"$T/pg.log" 2>&1 || postgres_lacks='a PostgreSQL server does not start here'
	[ -z "$postgres_lacks" ]
}
postgres_as()
{
	psql -X -q -A -t -F '	' -v ON_ERROR_STOP=1 -U "$1" -c "$2" 2>>"$err"
}
