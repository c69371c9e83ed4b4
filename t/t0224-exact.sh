#!/bin/sh
# --exact: the bytes of each file, by each process, are what the calls returned to the program.
# shellcheck source=tests/prog/lib.sh
. "$(dirname "$0")/../tests/prog/lib.sh"

if ! "$STEMMA" run --help >/dev/null 2>&1; then
	echo "Bail out! stemma does not run"
	exit 1
fi

# exact CASE PROGRAM: the program in an empty folder, recorded.
exact()
{
	D=$T/exact/d
	rm -rf "$T/exact"
	mkdir -p "$D"
	seq 1000 >"$D/given"
	exec 3<"$D/given"
	[ "$1" = stdin ] || exec 3</dev/null
	(cd "$D" && STEMMA_HOME=$T/exact/home exec "$STEMMA" run --exact ${MODE:-} -- "$2" "$1") 9>"$T/exact/truth" >"$T/exact/out" 2>&1 <&3
	status=$?
	exec 3<&-
	want=0
	[ "$1" != killed ] || want=137
	: >"$T/why"
	[ $status = $want ] || { echo "status $status"; cat "$T/exact/out"; } >>"$T/why"
	[ -s "$T/exact/truth" ] || echo "the program said nothing" >>"$T/why"
	events "$T/exact/home" "$T/events" || cat "$T/events.err" >>"$T/why"
	$PYTHON "$here/tests/prog/check_bytes.py" "$T/events" "$D" "$T/exact/truth" >>"$T/why" 2>&1
	[ ! -s "$T/why" ]
	result $? "$3$1" "$T/why"
}

for c in $("$PROGS/p-io"); do
	exact "$c" "$PROGS/p-io" ""
done
for kind in static musl; do
	if [ -x "$PROGS/p-io-$kind" ]; then
		for c in plain placed copies threads inherited stdin; do
			exact $c "$PROGS/p-io-$kind" "$kind: "
		done
	else
		skip_ "p-io-$kind" "not built: the tool chain for it is not here"
	fi
done

# Between files, pipes, sockets and a terminal, by every call that can.
for c in $("$PROGS/p-moves"); do
	D=$T/exact/d
	rm -rf "$T/exact"
	mkdir -p "$D"
	(cd "$D" && STEMMA_HOME=$T/exact/home exec "$STEMMA" run --exact -- "$PROGS/p-moves" "$c") 9>"$T/exact/truth" >"$T/why" 2>&1 </dev/null
	[ -s "$T/exact/truth" ] || echo "the program said nothing" >>"$T/why"
	events "$T/exact/home" "$T/events" || cat "$T/events.err" >>"$T/why"
	$PYTHON "$here/tests/prog/check_moves.py" "$T/events" "$T/exact/truth" all >>"$T/why" 2>&1
	[ ! -s "$T/why" ]
	result $? "moves: $c" "$T/why"
done

# A made pipeline: what passed each program is known.
D=$T/pipe
mkdir -p "$D"
seq 20000 >"$D/in"
size=$(wc -c <"$D/in")
cat >"$D/job.sh" <<'SH'
sort -r in >out
cat out | tr 0-9 a-j | cat >letters
dd if=out of=part bs=100 count=7 2>/dev/null
: >empty
cat empty >>letters
SH
(cd "$D" && STEMMA_HOME=$D/home "$STEMMA" run --exact -- sh job.sh) >"$T/why" 2>&1
result $? "a script runs" "$T/why"
STEMMA_HOME=$D/home "$STEMMA" sql --csv "SELECT e.argv, f.path, sum(a.bytes_read), sum(a.bytes_written)
	FROM access a JOIN execution e ON e.id = a.execution JOIN file f ON f.id = a.file
	WHERE f.kind = 'regular' AND f.path LIKE '$D/%' GROUP BY e.argv, f.path ORDER BY e.argv, f.path" 2>>"$T/why" |
	tr -d '\r' | sed "s|$D/||" | grep -v '^argv,\|^sh \|^,' >"$T/got"
cat >"$T/want" <<EOT
cat,letters,,$size
cat empty,empty,0,
cat empty,letters,,0
cat out,out,$size,
dd if=out of=part bs=100 count=7,out,700,
dd if=out of=part bs=100 count=7,part,,700
sort -r in,in,$size,
sort -r in,out,,$size
EOT
diff "$T/want" "$T/got" >"$T/why" 2>&1
result $? "bytes of a script's programs" "$T/why"
STEMMA_HOME=$D/home "$STEMMA" lineage "$D/letters" >"$T/got" 2>&1
grep -q 'sort -r in' "$T/got" && ! grep -v '? opened by' "$T/got" | grep -q '?'
result $? "a pipe whose bytes were counted is sure" "$T/got"

# Two files open all the time: what was written before the other was read does not come from it.
cat >"$D/order.py" <<'PY'
a, b, o = open('in'), open('out'), open('early', 'w')
a.read(10); o.write('x'); o.flush(); import os, time; time.sleep(0.05)
b.read(10); o2 = open('late', 'w'); o2.write('y'); o2.close(); o.close()
PY
for g in open access; do
	(cd "$D" && STEMMA_HOME=$D/$g "$STEMMA" run --exact --granularity=$g -- $PYTHON order.py) >"$T/why" 2>&1
	events "$D/$g" "$T/events" || cat "$T/events.err" >>"$T/why"
	n_exact=$(grep -c '"exact":1' "$T/events")
	some=no
	[ "$n_exact" = 0 ] || some=yes
	[ ! -s "$T/why" ] && case $g$some in openno | accessyes) ;; *) false ;; esac
	result $? "granularity $g in the log" "$T/why"
done

# A write that its program's death cut short moved bytes all the same.
cat >"$D/cut.py" <<'PY'
import os, signal, time
r, w = os.pipe()
pid = os.fork()
if pid == 0:
    data = open('in', 'rb').read()
    os.write(w, data * 10)  # more than a pipe holds
    os._exit(0)
time.sleep(0.5)
os.kill(pid, signal.SIGKILL)
os.waitpid(pid, 0)
os.close(w)
open('cut', 'wb').write(os.read(r, 10000))
PY
(cd "$D" && STEMMA_HOME=$D/cut-home "$STEMMA" run --exact -- $PYTHON cut.py) >"$T/why" 2>&1
STEMMA_HOME=$D/cut-home "$STEMMA" lineage --json "$D/cut" >>"$T/why" 2>&1
grep -q '/in"' "$T/why"
result $? "a write cut short by a kill" "$T/why"

# Killed, the recorder leaves the command alone.
cat >"$D/long.sh" <<'SH'
i=0
while [ $i -lt 300 ]; do cat in >copy; i=$((i + 1)); done
cmp in copy && echo same
SH
(cd "$D" && STEMMA_HOME=$D/killed exec "$STEMMA" run --exact -- sh long.sh) >"$T/got" 2>&1 &
run=$!
sleep 1
worker=$(pgrep -P $run stemma-worker)
if [ -n "$worker" ]; then
	kill -9 "$worker"
	wait $run
	status=$?
	[ $status = 0 ] && [ "$(cat "$T/got")" = same ] && events "$D/killed" "$T/events" && grep -q '"k":"gap".*"reason":7' "$T/events"
	result $? "the recorder is killed: the command goes on" "$T/got"
else
	wait $run
	not_ok "the recorder is killed: there is none"
fi

finish
