#!/bin/sh
# stemma ship and collect: the collector's record is what the nodes recorded, event for event, whatever was killed on the way; a
# sender tells of itself alone; what is forgotten on a node is forgotten at the collector.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

col=$T/collector
spool=$T/spool
mkdir "$spool" && chmod 1777 "$spool"
collect()
{
	want=$1
	shift
	cmd "$want" --store "$col" collect "$@"
}
# All events of records, each once.
events()
{
	find "$@" -name '*.stl' -exec "$EVTEXT" dump {} + 2>/dev/null | sort -u
}
same_events() # the collector has what the records have
{
	a=$1
	shift
	events "$col/logs" >"$T/a"
	for home in "$a" "$@"; do echo "$home/logs"; done >"$T/homes"
	# shellcheck disable=SC2046 # folders without spaces
	events $(cat "$T/homes") >"$T/b"
	cmp "$T/a" "$T/b" >>"$err" 2>&1 && [ -s "$T/a" ]
}

seq 2000 >in
cmd 0 run -- sort -r in -o out && cmd 0 run -- sh -c 'head -5 out >top'
check 'a node records'
cmd 0 --store "$col" collect --from "$spool" && cmd 2 ship && cmd 2 ship --to && says "$err" '--to'
check 'nothing is there yet; where to is asked'

# ---- a shared folder ----

"$STEMMA" ship --to "$spool" >"$T/ship" 2>&1 </dev/null &
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
	[ -z "$(find "$spool" -maxdepth 1 -name '*.frames')" ] || break
	sleep 0.1
done
collect 0 --from "$spool" && wait && says "$T/ship" 'sent' && same_events "$STEMMA_HOME"
check 'folder: all that was recorded is at the collector'
cmd 0 why top && cp "$out" "$T/why" && cmd 0 --store "$col" why top && cmp "$out" "$T/why"
check 'folder: the collector gives the same answer'
cmd 0 ship --to "$spool" && says "$out" '0 frames sent' && [ -z "$(find "$spool" -maxdepth 1 -name '*.frames')" ]
check 'folder: nothing is sent twice'
cmd 0 run -- cp top copy && cmd 0 ship --status --to "$spool" && says "$out" 'to be sent'
check 'folder: --status says what waits'
rm -rf "$STEMMA_HOME/ship"
"$STEMMA" ship --to "$spool" >"$T/ship" 2>&1 </dev/null &
sleep 0.3
for _ in 1 2 3; do collect 0 --from "$spool"; sleep 0.3; done
wait
says "$T/ship" 'known to the collector' && same_events "$STEMMA_HOME"
check 'folder: a shipper that has forgotten how far it was sends all again, and nothing is there twice'
collect 0 --status && says "$out" 'uid-'"$(id -u)" && collect 0 --status --json && [ "$(jq '.senders[0].missing_frames' "$out")" = 0 ]
check 'the collector tells of its senders'

# ---- what cannot be taken ----

printf 'no frames' >"$spool/$(id -u).0000000000000000.frames"
ln -s /etc/passwd "$spool/$(id -u).0000000000000001.frames"
mkfifo "$spool/$(id -u).0000000000000002.frames"
collect 0 --from "$spool" && says "$err" 'refused' && same_events "$STEMMA_HOME"
check 'folder: what is no batch is refused, links and pipes are not opened'
printf 'no frames' >"$spool/1.0000000000000009.frames"
collect 0 --from "$spool" && [ -f "$spool/1.0000000000000009.frames" ] && [ ! -f "$spool/answers/1.0000000000000009.answer" ]
check 'folder: nobody has an answer under the number of another user'
rm -f "$spool"/*.frames
if [ "$(id -u)" = 0 ]; then
	seg=$(find "$STEMMA_HOME/logs" -name 0.stl | head -n 1)
	cp "$seg" "$spool/65534.0000000000000003.frames" && chown 65534 "$spool"/65534.*
	collect 0 --from "$spool" && says "$err" 'a run of another user' && same_events "$STEMMA_HOME"
	check 'folder: a user cannot send what root ran'
	rm -rf "$T/other"
	cp "$seg" "$spool/65534.0000000000000003.frames" && chown 65534 "$spool"/65534.*
	cmd 0 --store "$T/other" collect --from "$spool" && says "$err" 'a run of another user' &&
		! find "$T/other/logs" -name '*.stl' 2>/dev/null | grep -q .
	check 'folder: nor where nobody else has sent it'
	mkdir -m 755 "$T/taken" "$T/taken/answers" && chown -R 65534 "$T/taken"
	cmd 125 --store "$T/other" collect --from "$T/taken" && says "$err" 'belongs to another user, or others can write to it'
	check 'folder: answers are not written where another user can change them'
else
	skip "folder: a user cannot send what root ran" 'only root can make files of another user'
fi

# What was recorded at the collector, or imported there, is not for senders to forget, nor to go on with. Numbers
# of sessions stand in exports.
cp -r "$col" "$T/mixed" && cmd 0 --store "$T/mixed" run -q -- cp in recorded-there
history <<'EOF'
h = History('01BBBBBBBBBBBBBBBBBBBBBBBB', argv=['imported-there'], host='third')
p = h.process(); h.exec(p, ['imported-there'], exe='/usr/bin/cp'); h.exit(p); h.end()
h.save(work + '/third', evtext)
EOF
cmd 0 --store "$T/mixed" import third && sessions=$(find "$T/mixed/logs" -name '*.stl' -exec "$EVTEXT" dump {} + | grep -E 'recorded-there|imported-there' | sed -n 's/.*"session":"\([0-9a-f]*\)".*/\1/p' | sort -u)
for s in $sessions; do
	history <<EOF
for i, (run, dead, session) in enumerate((('01CCCCCCCCCCCCCCCCCCCCCCCC', 0x$s, None), ('01DDDDDDDDDDDDDDDDDDDDDDDD', 0, 0x$s))):
    h = History(run, argv=['forged'], host='evil', session=session)
    h.lines[-1].update({'uid': $(id -u), 'gid': $(id -g)})
    if dead:
        h.add('tombstone', what=1, dead=dead)
    h.end()
    h.save(work + '/forged$s.%d' % i, evtext)
EOF
	for i in 0 1; do cp "$(find forged"$s.$i" -name '*.stl')" "$spool/$(id -u).$s$i.frames"; done
done
find "$T/mixed/logs" -name '*.stl' ! -path '*/collected-*' -exec cksum {} + | sort >sums
cmd 0 --store "$T/mixed" collect --from "$spool" && [ "$(grep -c refused "$err")" = "$(echo "$sessions" | wc -w | awk '{ print 2 * $1 }')" ] && says "$err" 'it forgets what was recorded or imported here' 'its session was recorded or imported here' && find "$T/mixed/logs" -name '*.stl' ! -path '*/collected-*' -exec cksum {} + | sort | cmp - sums && cmd 0 --store "$T/mixed" log && says "$out" recorded-there && says "$out" imported-there && says_not "$out" forged
check 'folder: what was recorded or imported at the collector is not for a sender to forget'

# A batch of 70 bytes for each of 100,000 hosts would keep the collector busy for an hour, and cost it a hundred times its share.
$PYTHON -B - >"$T/hosts.text" <<'EOF'
for i in range(40):
    print('{"session":"%016x","seq":1,"t":1767225600000000000,"k":"session","host":"h%d","boot":"b","pidns":1,"tool":"x","mode":"m"}' % (0x7000000 + i, i))
EOF
"$EVTEXT" make "$spool/$(id -u).00000000000000aa.frames" <"$T/hosts.text" && cmd 0 --store "$T/many" collect --from "$spool" && says "$err" '24 frames were of' 'its batch has records of too many hosts' && [ "$(find "$T/many/logs" -mindepth 1 -maxdepth 1 -type d | wc -l)" = 16 ]
check 'folder: a batch tells of a few hosts only'
for i in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
	mkdir -p "$T/shared/logs/h$i/2026-01-01" && sed -n "$((i + 1))p" "$T/hosts.text" | "$EVTEXT" make "$T/shared/logs/h$i/2026-01-01/0.stl"
done
"$STEMMA" --store "$T/shared" ship --to "$spool" >"$T/ship" 2>&1 </dev/null &
shipper=$!
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
	cmd 0 --store "$T/all" collect --from "$spool"
	kill -0 $shipper 2>/dev/null || break
	sleep 0.3
done
wait $shipper && says "$T/ship" '21 frames sent' && events "$T/shared/logs" >"$T/a" && events "$T/all/logs" | cmp - "$T/a" && [ "$(wc -l <"$T/a")" = 21 ]
check 'folder: a record of many hosts is sent in several batches'

# ---- forgetting ----

cmd 0 log --json && run=$(jq -r '.runs[0].id' "$out") && cmd 0 forget "$run"
check 'a node forgets a run'
"$STEMMA" ship --to "$spool" >"$T/ship" 2>&1 </dev/null &
sleep 0.3
for _ in 1 2 3; do collect 0 --from "$spool"; sleep 0.3; done
wait
cmd 0 --store "$col" log --json && [ "$(jq --arg r "$run" '[.runs[] | select(.id == $r)] | length' "$out")" = 0 ] &&
	! find "$col/logs" -name '*.stl' -exec "$EVTEXT" dump {} + | grep '"k":"run"' | grep -q "$run"
check 'what a node forgets goes at the collector, too'

# ---- a record whose own path has the words by which what others recorded is known ----

home=$STEMMA_HOME
STEMMA_HOME=$T/import/collected-x/record
cmd 0 run -- cp in in5 && cmd 0 ship --status --to "$spool" && says "$out" 'to be sent' && says_not "$out" 'nothing'
check 'where the record lies does not matter'
STEMMA_HOME=$home

# ---- killed again and again ----

$PYTHON -B "$here/t/ship_kills.py" "$STEMMA" "$T/kills" 25 >"$out" 2>"$err" && same=$(tail -n 1 "$out") && [ "$same" ]
check 'shippers and collectors are killed: nothing is lost, nothing is there twice'

# ---- over the network ----

if [ -f "$BUILD/src/site/stemma-http.so" ] && command -v openssl >/dev/null; then
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout key -out cert -days 2 -subj /CN=localhost \
		-addext subjectAltName=DNS:localhost,IP:127.0.0.1 2>/dev/null
	col=$T/site
	host=$(uname -n)
	collect 0 --add-node n1 --host "$host" && cp "$out" token && [ "$(wc -c <token)" = 65 ] && ! grep -q "$(cat token)" "$col/collect/nodes"
	check 'a token is printed and not kept'
	"$STEMMA" --store "$col" collect --listen 127.0.0.1:0 --certificate cert --key key >"$T/port" 2>"$T/said" &
	server=$!
	for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25; do
		grep -q port "$T/port" 2>/dev/null && break
		sleep 0.2
	done
	url=https://127.0.0.1:$(sed 's/.* //' "$T/port")
	cmd 0 ship --to "$url" --token token --ca cert && says "$out" sent && same_events "$STEMMA_HOME"
	check 'https: all that was recorded is at the collector'
	cmd 0 run -- cp in in2
	cmd 1 ship --to "$url" --token token && says "$err" 'cannot send to'
	check 'https: a certificate that nobody vouches for is no collector'
	cmd 1 ship --to "http://${url#https://}" --token token && says "$err" 'cannot send to'
	check 'https: not without TLS'
	tr 0-9a-f a-f0-9 <token >wrong
	cmd 125 ship --to "$url" --token wrong --ca cert && says "$err" 'does not know the token'
	check 'https: another token is refused'
	cmd 125 ship --to http://example.invalid:1 --token token
	cmd 1 ship --to http://example.invalid:1 --token token
	says "$err" 'http' && ! says "$err" 'sent'
	check 'http: only within this machine'
	cmd 125 --store "$T/third" collect --listen 0.0.0.0:0 && says "$err" 'certificate'
	check 'without a certificate nobody listens for other machines'
	cmd 0 ship --to "$url" --token token --ca cert
	if unshare -u true 2>/dev/null; then
		unshare -u sh -c "hostname elsewhere; '$STEMMA' run -- cp in in3" 2>/dev/null
		cmd 1 ship --to "$url" --token token --ca cert && says "$err" 'recorded on another host' && says "$T/said" 'refused'
		check 'https: a node speaks for itself only'
	else
		skip 'https: a node speaks for itself only' 'a name of its own for a host cannot be had here'
	fi
	collect 0 --remove-node n1 && cmd 0 run -- cp in in4 && cmd 125 ship --to "$url" --token token --ca cert
	check 'https: a sender that was removed is refused'
	printf 'POST /v1/frames HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n' >"$T/bad"
	kill $server && wait $server
	check 'the collector ends when it is told to'
else
	skip 'over the network' 'built without libcurl or libmicrohttpd, or no openssl'
fi
finish
