#!/bin/sh
# stemma ship and collect through NATS JetStream: the collector's record is what the nodes recorded, whoever was killed on the way, the
# broker too; who sends is what the broker's permissions say; that the broker has a message moves no mark.
# An argument: how often something is killed (the slow suite's is larger).
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

if ! [ -f "$BUILD/src/site/stemma-nats.so" ] || ! command -v nats-server >/dev/null; then
	skip 'through NATS' 'built without libnats, or no nats-server'
	finish
	exit
fi
col=$T/collector
events()
{
	find "$@" -name '*.stl' -exec "$EVTEXT" dump {} + 2>/dev/null | sort -u
}
same_events()
{
	events "$col/logs" >"$T/a"
	events "$STEMMA_HOME/logs" >"$T/b"
	cmp "$T/a" "$T/b" >>"$err" 2>&1 && [ -s "$T/a" ]
}
host=$(uname -n)
for n in n1 n3; do cmd 0 --store "$col" collect --add-node $n --host "$host" && cp "$out" $n.token; done
cmd 0 --store "$col" collect --add-node n2 --host elsewhere && cp "$out" n2.token
tr 0-9a-f a-f0-9 <n1.token >wrong
echo secret >c.token
user() # a line for the user NAME, who may send as SENDER
{
	printf '{ user: %s, password: "%s", permissions: { publish: ["STEMMA.frames.%s", "$JS.API.CONSUMER.INFO.STEMMA.collector"], ' "$1" "$(cat "$1.token")" "$2"
	printf 'subscribe: ["STEMMA.answer.%s", "STEMMA.inbox.%s.>"] } }\n' "$2" "$2"
}
echo nobody >n4.token
start_server() # NAME [LINE...]: its process in $server, its port in $port
{
	name=$1
	shift
	mkdir -p "$T/$name.ports"
	{
		printf 'listen: "127.0.0.1:-1"\nports_file_dir: "%s"\nmax_payload: 2MB\njetstream { store_dir: "%s" }\n' "$T/$name.ports" "$T/$name.js"
		printf '%s\n' "$@"
		printf 'authorization { users: [ { user: collector, password: secret }\n'
		user n1 n1
		user n2 n2
		user n3 n1
		user n4 n4
		printf '] }\n'
	} >"$T/$name.conf"
	nats-server -c "$T/$name.conf" >"$T/$name.log" 2>&1 &
	server=$!
	for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30; do
		port=$(cat "$T/$name.ports"/*.ports 2>/dev/null | jq -r '.nats[0]' 2>/dev/null | sed 's/.*://')
		[ -z "$port" ] || break
		sleep 0.2
	done
}
start_server nats
at=127.0.0.1:$port
seq 2000 >in
cmd 0 run -- sort -r in -o out && cmd 0 run -- sh -c 'head -5 out >top'
check 'a node records'

# ---- what is asked for ----

cmd 125 ship --to nats://example.org --token n1.token && says "$err" 'does not name the sender'
check 'the sender has to be named'
cmd 125 ship --to nats://n1@192.0.2.1 --token n1.token && says "$err" 'without TLS'
check 'not without TLS to another machine'
cmd 125 ship --to "nats://n1@$at" --token wrong && says "$err" "does not let 'n1' in"
check 'another password is refused'
cmd 2 ship --to "$T/folder" --creds n1.token && cmd 2 collect --from "$T/folder" --replicas 3 && cmd 2 --store "$col" collect --from "nats://collector@$at" --token c.token --replicas 9
check 'options that make no sense'

# ---- before anybody collects ----

cmd 0 --store "$col" collect --from "nats://collector@$at" --token c.token
check 'the collector makes the stream'
cmd 0 ship --to "nats://n1@$at" --token n1.token && says "$err" 'waits in' && says "$out" 'to be sent' && ! [ -d "$col/logs" ]
check 'that the broker has it moves no mark'
cmd 0 --store "$col" collect --from "nats://collector@$at" --token c.token && same_events
check 'collected later: all that was recorded'
cmd 0 ship --to "nats://n1@$at" --token n1.token && says "$out" 'known to the collector' && says_not "$out" 'to be sent' && says "$err" 'waits' ||
	{ cmd 0 --store "$col" collect --from "nats://collector@$at" --token c.token; }
check 'nobody heard the answer: it is sent again'

# ---- while a collector runs ----

"$STEMMA" --store "$col" collect --from "nats://collector@$at" --token c.token --watch >"$T/said" 2>&1 </dev/null &
collector=$!
cmd 0 ship --to "nats://n1@$at" --token n1.token && says_not "$out" 'to be sent' && same_events
check 'all is sent, and nothing is there twice'
cmd 0 ship --to "nats://n1@$at" --token n1.token && says "$out" '0 frames sent'
check 'nothing is sent twice'
cmd 0 run -- cp top copy && cmd 0 ship --to "nats://n1@$at" --token n1.token --json && [ "$(jq '.waiting_bytes + .known_frames' "$out")" = 0 ] && same_events
check 'what is new is sent'
cmd 1 ship --to "nats://n2@$at" --token n2.token && says "$err" 'recorded on another host' && same_events
check 'a node speaks for itself only'
cmd 125 ship --to "nats://n3@$at" --token n3.token && says "$err" 'Permissions Violation' && same_events
check 'who may not publish as a sender is none'
cmd 125 ship --to "nats://n4@$at" --token n4.token && says "$err" 'not known' && same_events
check 'a user of the broker who is no sender of the collector is refused'
kill $collector && wait $collector
check 'the collector ends when it is told to'
kill $server && wait $server

# ---- TLS ----

if command -v openssl >/dev/null; then
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout key -out cert -days 2 -subj /CN=localhost \
		-addext subjectAltName=DNS:localhost 2>/dev/null
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout key2 -out cert2 -days 2 -subj /CN=localhost \
		-addext subjectAltName=DNS:localhost 2>/dev/null
	start_server tls "tls { cert_file: \"$PWD/cert\", key_file: \"$PWD/key\" }"
	rm -rf "$T/collector/logs" "$STEMMA_HOME/ship"
	"$STEMMA" --store "$col" collect --from "nats://collector@localhost:$port" --token c.token --ca cert --watch >"$T/said" 2>&1 </dev/null &
	collector=$!
	sleep 1
	cmd 0 ship --to "nats://n1@localhost:$port" --token n1.token --ca cert && says_not "$out" 'to be sent' && same_events
	check 'TLS: all that was recorded is at the collector'
	cmd 0 run -- cp top copy2
	cmd 1 ship --to "nats://n1@localhost:$port" --token n1.token --ca cert2 && says "$err" 'cannot use the NATS server'
	check 'TLS: a certificate that nobody vouches for is no broker'
	cmd 1 ship --to "nats://n1@127.0.0.1:$port" --token n1.token --ca cert && says "$err" 'cannot use the NATS server'
	check 'TLS: nor is one of another name'
	kill $collector $server && wait $collector $server
else
	skip 'TLS' 'no openssl'
fi

# ---- killed again and again ----

$PYTHON -B "$here/t/ship_nats_kills.py" "$STEMMA" "$T/kills1" "${1:-15}" 1 >"$out" 2>"$err" && grep -qx same "$out"
check 'a broker, shippers and collectors are killed: nothing is lost, nothing is there twice'
$PYTHON -B "$here/t/ship_nats_kills.py" "$STEMMA" "$T/kills3" "${1:-8}" 3 >"$out" 2>"$err" && grep -qx same "$out"
check 'the same with three brokers'
finish
