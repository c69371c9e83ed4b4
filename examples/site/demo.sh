#!/bin/sh
# demo.sh - many machines, one record, on one machine: three NATS servers, a collector, a PostgreSQL database, and three hosts that share a
# folder. A workflow runs over the three hosts; where its result came from is asked at the collector, and in SQL by two readers.
#
# A host is a name of its own (unshare --uts), with a record of its own. All that is started ends with the script.
set -eu

here=$(cd "$(dirname "$0")/../.." && pwd -P)
BUILD=${BUILD:-$here/build}
case $BUILD in /*) ;; *) BUILD=$here/$BUILD ;; esac
stemma=$BUILD/src/cmd/stemma
T=$(mktemp -d "${TMPDIR:-/tmp}/stemma-demo-site.XXXXXX")
err=$T/psql.err
started=
stop() { for p in $started; do kill "$p" 2>/dev/null || :; done; wait; }
lacks() { echo "demo-site: $*"; exit 1; }
# shellcheck source=t/postgres.sh
. "$here/t/postgres.sh"

command -v nats-server >/dev/null || lacks 'no nats-server here (Debian: nats-server)'
[ -f "$BUILD/src/site/stemma-nats.so" ] || lacks 'stemma was built without libnats (Debian: libnats-dev)'
postgres_start || lacks "$postgres_lacks"
trap 'stop; postgres_stop; rm -rf "$T" "$sockets"' EXIT
unset STEMMA_HOME XDG_DATA_HOME
uts='unshare --uts'
[ "$(id -u)" = 0 ] || uts='unshare --map-root-user --uts'
$uts true 2>/dev/null || lacks 'a host name of its own cannot be had here (unshare --uts)'
say() { printf '\n\033[1m%s\033[0m\n' "$*"; }

say 'Operator: a name and a token for each node; what each may do goes into the configuration of three NATS servers.'
collector="$stemma --store $T/collector"
for n in node1 node2 node3; do
	$collector collect --add-node $n --host $n >"$T/$n.token"
done
echo operator >"$T/collector.password"
ports=$(python3 -c "
import socket
all = [socket.socket() for _ in range(6)]
for s in all: s.bind(('127.0.0.1', 0))
print(*(s.getsockname()[1] for s in all))")
# shellcheck disable=SC2086 # six words
set -- $ports
hosts=127.0.0.1:$1,127.0.0.1:$2,127.0.0.1:$3
routes="nats://127.0.0.1:$4, nats://127.0.0.1:$5, nats://127.0.0.1:$6"
for i in 1 2 3; do
	{
		echo "server_name: s$i"
		echo "listen: 127.0.0.1:$(echo "$ports" | cut -d ' ' -f $i)"
		echo "max_payload: 2MB"
		echo "jetstream { store_dir: \"$T/nats$i\" }"
		echo "cluster { name: site, listen: 127.0.0.1:$(echo "$ports" | cut -d ' ' -f $((i + 3))), routes: [$routes] }"
		echo "accounts { SITE { jetstream: enabled, users: [ { user: collector, password: operator }"
		for n in node1 node2 node3; do
			echo "{ user: $n, password: \"$(cat "$T/$n.token")\", permissions: {"
			echo "    publish: [\"STEMMA.frames.$n\", \"\$JS.API.CONSUMER.INFO.STEMMA.collector\"], subscribe: [\"STEMMA.answer.$n\", \"STEMMA.inbox.$n.>\"] } }"
		done
		echo '] } }'
	} >"$T/nats$i.conf"
	nats-server -c "$T/nats$i.conf" >"$T/nats$i.log" 2>&1 &
	started="$started $!"
done
grep -v password "$T/nats1.conf" | head -n 6 | sed 's/^/    /'

say 'Collector: stemma collect --from nats://collector@A,B,C --replicas 3 --watch'
$collector collect --from "nats://collector@$hosts" --token "$T/collector.password" --replicas 3 --watch --interval 200ms >"$T/collect.log" 2>&1 &
started="$started $!"

say 'Three hosts share a folder. Each records what it runs, and ships it.'
mkdir "$T/shared"
on() # HOST COMMAND...
{
	host=$1
	shift
	# shellcheck disable=SC2086 # a command
	$uts sh -c 'hostname "$1"; shift; exec "$@"' - "$host" env HOME="$T/$host" "$@"
}
for n in node1 node2 node3; do mkdir "$T/$n"; done
work() { (cd "$T/shared" && echo "    $1\$ stemma run -- $2" && on "$1" "$stemma" --store "$T/$1/record" run -q -- sh -c "$2"); }
work node1 'seq 1 500 >samples'
work node2 'sort -rn samples | head -n 50 >best'
work node3 'awk "{ s += \$1 } END { print s / NR }" best >mean'
for n in node1 node2 node3; do
	# shellcheck disable=SC2086 # a command
	$uts sh -c 'hostname "$1"; shift; exec "$@"' - $n "$stemma" --store "$T/$n/record" ship --to "nats://$n@$hosts" --token "$T/$n.token" --watch \
		--interval 200ms >"$T/$n.ship" 2>&1 &
	started="$started $!"
done
n=0
complete='(.senders | length) == 3 and all(.senders[]; .open_sessions == 0 and .missing_frames == 0)'
until [ "$($collector collect --status --json 2>/dev/null | jq "$complete")" = true ]; do
	n=$((n + 1))
	[ $n -lt 300 ] || lacks "the collector has not got it all; see $T/collect.log: $(cat "$T/collect.log" "$T"/node*.ship)"
	sleep 0.2
done
$collector collect --status

say 'Where did the result come from? Asked at the collector, over three hosts.'
cd "$T/shared"
$collector lineage mean

say 'The same record in PostgreSQL; each reader sees their own.'
createdb -T template0 -E SQL_ASCII --locale=C site
$collector site load --questions postgresql:///site
export PGDATABASE=site
user=$(psql -X -A -t -c 'SELECT DISTINCT r."user" FROM run r')
psql -X -q -c 'CREATE ROLE ann LOGIN' -c 'CREATE ROLE eve LOGIN' -c "INSERT INTO stemma_load.reader VALUES ('ann', '$user')"
for r in ann eve; do
	echo "$r:"
	psql -X -P pager=off -U $r -c "SELECT r.host, r.argv FROM run r ORDER BY r.began"
done

say 'A fourth host asks the database: stemma --store postgresql:///site lineage mean'
on node4 "$stemma" --store postgresql:///site lineage mean

say 'All that was started ends now.'
