#!/bin/sh
# A site whose parts are killed at random while its nodes record (t/site_faults.py): nothing is lost or doubled, and what the database has
# meanwhile is, row for row, the record of the events that it says it has.
# Arguments: seconds, seed, nodes; `campaign` as the fourth appends the line of figures to tests/campaigns/site-faults.txt.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=t/postgres.sh
. "$here/t/postgres.sh"

lacks=
for need in nats-server openssl unshare setpriv; do
	command -v $need >/dev/null || lacks="no $need here"
done
[ -f "$BUILD/src/site/stemma-nats.so" ] || lacks='built without libnats'
[ -n "$lacks" ] || postgres_start || lacks=$postgres_lacks
if [ -n "$lacks" ]; then
	skip 'parts of a site are killed' "$lacks"
	finish
	exit
fi
createdb -T template0 -E SQL_ASCII --locale=C site
run=
[ "$(id -u)" != 0 ] || run="setpriv --reuid=65534 --regid=65534 --clear-groups env HOME=$sockets"
cat >"$T/control" <<EOF
#!/bin/sh
case \$1 in
kill) kill -9 \$(head -n 1 "$sockets/data/postmaster.pid") ;;
start)
	cd /
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		$run $postgres_bin/pg_ctl -D $sockets/data -w -t 60 -l $sockets/log \
			-o "-c listen_addresses= -c unix_socket_directories=$sockets -c fsync=off -c shared_buffers=64MB" start && exit
		sleep 0.5
	done ;;
esac
EOF
chmod +x "$T/control"
PG_CONTROL=$T/control $PYTHON -B "$here/t/site_faults.py" "$STEMMA" "$T/site" "${1:-25}" "${2:-1}" "${3:-3}" >"$out" 2>"$err"
status=$?
sed 's/^\([^#]\)/# \1/' "$out"
[ $status = 0 ]
check 'nothing is lost, doubled or wrong, whatever is killed'
[ "${4:-}" != campaign ] || grep -v '^#' "$out" >>"$here/tests/campaigns/site-faults.txt"
finish
