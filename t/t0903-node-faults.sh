#!/bin/sh
# The node's tracer when things go wrong: killed, stopped, overrun. Nobody waits for it, and what it lost it says. Needs
# privileges.
# shellcheck source=t/node.sh
. "$(dirname "$0")/node.sh"

# start OPTION...: a tracer in the background, whose first drain is over; its pid is $tracer.
start()
{
	"$TRACETEXT" "$@" -t 280 >"$events" 2>"$err" &
	tracer=$!
	n=0
	while ! grep -q '^watch' "$events" && [ $n -lt 600 ]; do
		sleep 0.1
		n=$((n + 1))
	done
}

# Rings of 4 KB: many records find no room.
"$TRACETEXT" -n -s -p -k 4 sh -c 'i=0; while [ $i -lt 400 ]; do /bin/true & i=$((i + 1)); done; wait' >"$events" 2>"$err"
$PYTHON - "$events" >"$T/why" 2>&1 <<'END'
import re, sys
told = {'fork': 0, 'exec': 0, 'exit': 0}
lost = 0
for l in open(sys.argv[1]):
    k = l.split(' ', 1)[0]
    if k in told: told[k] += 1
    if k == 'lost': lost += int(re.search(r'count=(\d+)', l)[1])
    if k == 'stats': fired = {n: int(re.search(n + r's=(\d+)', l)[1]) for n in told}
print('fired', fired, 'told', told, 'lost', lost)
missing = sum(fired[n] - told[n] for n in told)
# processes that began or ended outside the tracer's time are in one count or the other
sys.exit(not (missing <= lost + 40))
END
result $? "what finds no room is counted: $(cat "$T/why")" "$T/why"

# A ring overrun while the tracer stands still: the ends of forty processes are lost. That they are over is seen later.
cat >"$T/forty.py" <<'END'
import os, subprocess, sys, time
forty = []
for _ in range(40):
    pid = os.fork()
    if pid == 0:
        time.sleep(1000)
        os._exit(0)
    forty.append(pid)
print(*forty, flush=True)
sys.stdin.readline() # the tracer stands still
for _ in range(600):
    subprocess.run(['/bin/true'])
for pid in forty:
    os.kill(pid, 9)
    os.waitpid(pid, 0)
print('over', flush=True)
END
mkfifo "$T/go"
$PYTHON "$T/forty.py" <"$T/go" >"$T/forty" &
forty=$!
exec 9>"$T/go"
start -n -p -k 4
told()
{ # COMMAND...: until it holds, a minute at most
	n=0
	until "$@" || [ $n -ge 600 ]; do
		n=$((n + 1))
		sleep 0.1
	done
}
known()
{ # each is told: it was there before, or was forked
	for pid in $(head -n 1 "$T/forty"); do
		grep -q "^[a-z]* pid=$pid " "$events" || return 1
	done
	[ -s "$T/forty" ]
}
gone()
{ # KIND...
	for pid in $(head -n 1 "$T/forty"); do
		grep -q "^exit pid=$pid $1" "$events" || return 1
	done
}
told known
kill -STOP $tracer
echo >&9
exec 9>&-
wait $forty
kill -CONT $tracer
told gone ''
gone '' && grep -q '^lost .*what=0' "$events"
result $? "the ends of forty processes are lost: all are told to be over nevertheless" "$events"
[ "$(tail -n 1 "$T/forty")" = over ] && gone '.*unseen.* cpu=0 '
result $? "... and that nobody knows how" "$events"
kill $tracer
wait $tracer 2>/dev/null

# A stopped tracer: everybody goes on, and its queue runs over, which it says.
begun=$(date +%s%N)
start -n
kill -STOP $tracer
stopped=$(date +%s%N)
timeout 200 $PYTHON -c "
import os
for i in range(30000):
    os.close(os.open('f%d' % i, os.O_WRONLY | os.O_CREAT, 0o600))"
status=$?
made=$(date +%s%N)
result $status "30,000 files are made while the tracer stands still" "$err"
kill -CONT $tracer
n=0
while ! grep -q '^lost .*what=1' "$events" && [ $n -lt 600 ]; do
	sleep 0.1
	n=$((n + 1))
done
grep -q '^lost .*what=1' "$events"
result $? "... and it says that it lost some" "$events"
# Where others kept it busy before, it cannot say more than that it was since it began.
awk -v begun="$begun" -v stopped="$stopped" -v made="$made" '/^lost .*what=1/ {
	for (i = 1; i <= NF; i++) { if ($i ~ /^lo=/) lo = substr($i, 4) + 0; if ($i ~ /^hi=/) hi = substr($i, 4) + 0 }
	if (lo >= begun && lo < hi && lo <= made && hi >= stopped) covers = 1 } END { exit !covers }' "$events"
result $? "... with the interval" "$events"

# A FUSE file system whose daemon answers no more, in a mount namespace that the tracer shares with it. Another file system
# lies below it.
cat >silent.sh <<'SH'
mkdir -p m
: >backing
: >answer
$PYTHON -B "$serve" "$PWD/m" "$PWD/backing" "$PWD/ready" "$PWD/asked" "$PWD/answer" silent 2>served &
server=$!
holder=
trap 'kill -KILL $server $holder; wait' EXIT
trap 'exit 1' INT TERM HUP
until_there()
{ # FILE PID
	n=0
	until [ -e "$1" ]; do
		n=$((n + 1))
		[ $n -lt 600 ] && kill -0 "$2" 2>/dev/null || exit 77
		sleep 0.05
	done
}
until_there ready $server
timeout -k 1 30 mount -t tmpfs below m/folder 2>>served || exit 77
$PYTHON -c 'import os, time
os.dup2(os.open("m/hello", os.O_PATH), 9)
open("held", "w").close()
time.sleep(200)' 2>>served &
holder=$!
until_there held $holder
rm answer
timeout -k 1 60 "$TRACETEXT" -- true || exit 2
[ ! -e asked ] || exit 3
# Its files, as a process there has them open: for one there, and for one in the mount namespace outside.
timeout -k 1 20 "$unasked" /proc/$holder/fd/9 "$PWD/m/hello" || exit 4
timeout -k 1 20 nsenter -m -t "$outside" "$unasked" /proc/$holder/fd/9 "" || exit 5
[ ! -e asked ] || exit 6
SH
unasked=${STEMMA_UNASKED:-$BUILD/tests/test_unasked} outside=$$ serve=$here/tests/prog/fuse_serve.py
export PYTHON TRACETEXT unasked outside serve
status=77
if [ -e "$serve" ] && [ -x "$unasked" ] && command -v nsenter >/dev/null; then
	timeout -k 5 150 unshare -m sh silent.sh >"$T/silent" 2>"$err"
	status=$?
else
	echo "the programs for it are not here" >served
fi
if [ $status = 77 ]; then
	skip "a file system that does not answer" "none can be served here: $(tail -n 1 served)"
else
	[ $status = 0 ] && grep '^watch .*/m" ' "$T/silent" | grep -q 'watched=0 .*why="its files have no identity' &&
		grep '^watch .*/m/folder" ' "$T/silent" | grep -q 'watched=0 .*why="the way to it leads through FUSE' &&
		grep -q '^exit' "$T/silent"
	result $? "a file system that does not answer is told of, and is not asked ($status)" "$T/silent"
fi

# Killed while much goes on: nothing is left in the kernel, nobody notices.
(i=0; while [ $i -lt 300 ]; do /bin/true || exit 1; echo "$i" >x && cat x >/dev/null || exit 1; i=$((i + 1)); done) &
busy=$!
sleep 0.2
kill -KILL $tracer
wait $tracer 2>/dev/null
wait $busy
result $? "a killed tracer disturbs nobody" "$err"
# ids: the programs at the end of system calls there are, a line each.
ids()
{
	bpftool prog show 2>/dev/null | sed -n 's/^\([0-9]*\): .* name on_sys_exit .*/\1/p' | sort
}
if command -v bpftool >/dev/null && "$TRACETEXT" -a node -q true 2>/dev/null; then
	ids >"$T/before"
	"$TRACETEXT" -a node -q -t 200 >/dev/null 2>&1 &
	tracer=$!
	n=0
	while ids >"$T/during" && [ "$(comm -13 "$T/before" "$T/during" | wc -l)" = 0 ] && [ $n -lt 600 ]; do
		sleep 0.1
		n=$((n + 1))
	done
	comm -13 "$T/before" "$T/during" >"$T/mine"
	kill -KILL $tracer
	wait $tracer 2>/dev/null
	n=0
	while ids >"$T/after" && [ -n "$(comm -12 "$T/mine" "$T/after")" ] && [ $n -lt 600 ]; do
		sleep 0.1
		n=$((n + 1))
	done
	[ -s "$T/mine" ] && [ -z "$(comm -12 "$T/mine" "$T/after")" ]
	result $? "its programs are gone with it" "$T/mine"
else
	skip "programs are gone" "no bpftool, or no granularity access"
fi

# A pid that is used again at once: two processes, not one.
if [ -w /proc/sys/kernel/ns_last_pid ]; then
	cat >"$T/reuse.py" <<'END'
import os
def child(want):
    if want:
        open('/proc/sys/kernel/ns_last_pid', 'w').write(str(want - 1))
    pid = os.fork()
    if pid == 0:
        open('reused%d' % bool(want), 'w').close()
        os._exit(3 + bool(want))
    os.waitpid(pid, 0)
    return pid
a = child(0)
b = 0
for i in range(50):
    b = child(a)
    if a == b: break
print(a, b, os.getpid())
END
	trace $PYTHON "$T/reuse.py"
	read -r a b me <"$out"
	if [ "$a" = "$b" ]; then
		# Somebody else's process may have had it between the two.
		awk -v p="pid=$a" -v m="ppid=$me" '$2 == p && $3 == m && ($1 == "fork" || $1 == "exit") { s = s $1 " " } END { exit s != "fork exit fork exit " }' "$events" &&
			grep -q "^exit pid=$a .* status=768 " "$events" && grep -q "^exit pid=$a .* status=1024 " "$events"
		result $? "a pid that is used again is two processes" "$events"
		# Told as of the wrong one only with the word that it may be.
		awk -v p="pid=$a" -v m="ppid=$me" '$1 == "fork" && $2 == p && $3 == m { n++ } $1 == "file" && $2 == p && /reused0"/ && n != 1 && !/spans_pid/ { bad = 1 }
			$1 == "file" && $2 == p && /reused1"/ { if (n != 2 && !/spans_pid/) bad = 1; seen = 1 } END { exit bad || !seen }' "$events"
		result $? "... and what both did may be of either, or is told of the right one" "$events"
	else
		skip "a pid that is used again" "somebody else got it"
	fi
else
	skip "a pid that is used again" "ns_last_pid cannot be written"
fi

finish
