#!/bin/sh
# stemma ship through NATS: a sender that floods the stream costs only its own places. Where each sender has an account of its own that
# also holds for one that has the server answer in the name of another.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

if ! [ -f "$BUILD/src/site/stemma-nats.so" ] || ! command -v nats-server >/dev/null; then
	skip 'through NATS' 'built without libnats, or no nats-server'
	finish
	exit
fi
col=$T/collector
host=$(uname -n)
for n in n1 n2; do cmd 0 --store "$col" collect --add-node $n --host "$host" && cp "$out" $n.token; done
echo secret >c.token
start_server() # NAME: of NAME.conf; its process in $server, its port in $port
{
	mkdir -p "$T/$1.ports"
	{
		printf 'listen: "127.0.0.1:-1"\nports_file_dir: "%s"\nmax_payload: 2MB\njetstream { store_dir: "%s" }\n' "$T/$1.ports" "$T/$1.js"
		cat "$1.conf"
	} >"$T/$1.whole"
	nats-server -c "$T/$1.whole" >"$T/$1.log" 2>&1 &
	server=$!
	i=0
	until port=$(cat "$T/$1.ports"/*.ports 2>/dev/null | jq -r '.nats[0]' 2>/dev/null | sed 's/.*://') && [ -n "$port" ]; do
		i=$((i + 1))
		[ $i -lt 600 ] || break
		sleep 0.1
	done
	at=127.0.0.1:$port
}
stop_server()
{
	kill "$server" && wait "$server"
	rm -rf "$col/logs" "$STEMMA_HOME/ship"
}
user() # a line for the user NAME
{
	printf '{ user: %s, password: "%s", permissions: { publish: ["STEMMA.frames.%s", "$JS.API.CONSUMER.INFO.STEMMA.collector"], ' "$1" "$(cat "$1.token")" "$1"
	printf 'subscribe: ["STEMMA.answer.%s", "STEMMA.inbox.%s.>"] } }' "$1" "$1"
}
collect() { cmd 0 --store "$col" collect --from "nats://collector@$at" --token c.token; }
flood() { "$PYTHON" -B "$here/t/nats_flood.py" "$port" n2 "$(cat n2.token)" STEMMA.frames.n2 "$1" 300 >>"$err" 2>&1; }
sent() # what n1 sends waits in the stream
{
	cmd 0 ship --to "nats://n1@$at" --token n1.token && says "$err" 'waits in'
}
events()
{
	find "$@" -name '*.stl' -exec "$EVTEXT" dump {} + 2>/dev/null | sort -u
}
arrives()
{
	collect && events "$col/logs" >"$T/a" && events "$STEMMA_HOME/logs" >"$T/b" && [ -s "$T/a" ] && cmp "$T/a" "$T/b" >>"$err" 2>&1
}
cmd 0 run -- cp /dev/null new

# ---- all in one account (doc/site.md) ----

printf 'authorization { users: [ { user: collector, password: secret }\n%s\n%s\n] }\n' "$(user n1)" "$(user n2)" >one.conf
start_server one
collect && flood STEMMA.inbox.n2.x && sent && arrives
check 'one account: who floods its own subject takes no place of another'
stop_server

# ---- an account for each sender ----

account() # of the sender NAME
{
	printf '%s { users: [ %s ], imports: [ { service: { account: SITE, subject: "STEMMA.frames.%s" } },\n' "$1" "$(user "$1")" "$1"
	printf '{ service: { account: SITE, subject: "$JS.API.CONSUMER.INFO.STEMMA.collector" } }, { stream: { account: SITE, subject: "STEMMA.answer.%s" } } ] }\n' "$1"
}
exports() # to the sender NAME
{
	printf '{ service: "STEMMA.frames.%s", accounts: [%s] }, { stream: "STEMMA.answer.%s", accounts: [%s] },\n' "$1" "$1" "$1" "$1"
}
{
	printf 'accounts { SITE { jetstream: enabled, users: [ { user: collector, password: secret } ], exports: [\n'
	exports n1
	exports n2
	printf '{ service: "$JS.API.CONSUMER.INFO.STEMMA.collector", accounts: [n1, n2] } ] }\n'
	account n1
	account n2
	printf '}\n'
} >each.conf
start_server each
collect && sent && arrives
check 'an account for each: what is sent arrives'
cmd 0 ship --to "nats://n1@$at" --token n1.token
cmd 0 run -- cp new more && flood STEMMA.inbox.n2.x && flood STEMMA.frames.n1 && sent && arrives
check '... also where another floods, and has the server answer in its name'
"$STEMMA" --store "$col" collect --from "nats://collector@$at" --token c.token --watch >"$T/said" 2>&1 </dev/null &
collector=$!
cmd 0 run -- cp new newer && cmd 0 ship --to "nats://n1@$at" --token n1.token && says_not "$out" 'to be sent'
check '... and the answers of a collector that runs come to the sender'
kill $collector && wait $collector
kill $server && wait $server
finish
