#!/bin/sh
# The recorder's worker is killed at random moments: the command ends as always, and the log can be read.
# shellcheck source=tests/prog/lib.sh
. "$(dirname "$0")/../tests/prog/lib.sh"

times=20
[ -z "$SLOW" ] || times=100
D=$T/w
cat >"$T/work.sh" <<'END'
i=0
while [ $i -lt 25 ]; do
	sort x >y.tmp && mv y.tmp y$i
	cat y$i in >>all
	[ $((i % 5)) -gt 0 ] || dd if=page of=bytes bs=1 2>/dev/null # thousands of calls, to be killed in the middle of
	i=$((i + 1))
done
cat nowhere 2>/dev/null
sort all | cksum
exit 3
END
fresh "$D"
(cd "$D" && exec sh "$T/work.sh") >"$T/expected" 2>&1
echo "status $?" >>"$T/expected"

# How long a recorded run takes here, in ms: the moments are spread over it.
fresh "$D"
begin=$(date +%s%N)
(cd "$D" && STEMMA_HOME=$T/home exec "$STEMMA" run -- sh "$T/work.sh") >/dev/null 2>&1
length=$((($(date +%s%N) - begin) / 1000000 + 1))

# What --count said of each access in the logs that are its arguments: the work's bytes, or that they are not known. The first
# argument is the folder, as the work has left it. Prints how many were known, then what was wrong.
cat >"$T/sums.py" <<'END'
import json, os, re, sys

folder = sys.argv[1]
size = {name: os.path.getsize(os.path.join(folder, name)) for name in ('x', 'in', 'page', 'all')}
truth = {('sort', 'x', 'read'): size['x'], ('sort', 'y', 'written'): size['x'], ('cat', 'y', 'read'): size['x'],
         ('cat', 'in', 'read'): size['in'], ('cat', 'all', 'written'): size['x'] + size['in'],
         ('dd', 'page', 'read'): size['page'], ('dd', 'bytes', 'written'): size['page'], ('sort', 'all', 'read'): size['all']}
known, wrong = 0, []
for log in sys.argv[2:]:
    program, path, access = {}, {}, {}
    for line in open(log):
        e = json.loads(line)
        if e['k'] == 'exec':
            program[e['p']] = (e.get('argv') or ['?'])[0]
        elif e['k'] == 'file':
            path[e['num']] = e.get('path', '')
        elif e['k'] == 'access':
            access[e['seq']] = program.get(e.get('p')), path.get(e['file'], '')
        elif e['k'] == 'access_end' and os.path.dirname(access[e['access']][1]) == folder:
            name, where = access[e['access']]
            for bit, way in ((1, 'read'), (2, 'written')):
                if e.get('known', 0) & bit and name in ('sort', 'cat', 'dd'):
                    known += 1
                    file = re.sub(r'^y.*', 'y', os.path.basename(where))
                    if e.get('bytes_' + way, 0) != truth.get((name, file, way), 0):
                        wrong.append(f'{os.path.basename(log)}: {name} {file} {way}: {e}')
print(known)
print('\n'.join(wrong))
END

# sums NAME LOG...: no sum is wrong, and there are some.
sums()
{
	name=$1
	shift
	$PYTHON -S "$T/sums.py" "$D" "$@" >"$T/sums" 2>&1
	[ "$(head -1 "$T/sums")" -gt 0 ] 2>/dev/null && [ -z "$(sed 1d "$T/sums")" ]
	result $? "$name: every sum of bytes is right, or not there: $(head -1 "$T/sums") of them" "$T/sums"
}

# rounds OPTION
# shellcheck disable=SC2086 # none, or one
rounds()
{
	name=${1:-complete}${STEMMA_INJECT:+, opens without a stop}
	killed=0
	good=0
	readable=0
	said=0
	round=0
	: >"$T/why"
	rm -f "$T"/told.*
	while [ $round -lt $times ]; do
		round=$((round + 1))
		fresh "$D"
		rm -rf "${T:?}/home"
		(cd "$D" && STEMMA_HOME=$T/home exec "$STEMMA" run $1 -- sh "$T/work.sh") >"$T/got" 2>"$T/err" &
		p=$!
		# From before the command starts to about its end.
		moment=$((round * 7919 % length))
		sleep "$((moment / 1000)).$(printf %03d $((moment % 1000)))"
		if [ -n "$("$PROGS/kill-below" stemma-worker $p)" ]; then
			killed=$((killed + 1))
			hit=1
		else
			hit=0
			# Missed, and not for being early: it is over, and the shell may have waited for it, so a run is shorter now.
			over=
			read -r _ _ over _ 2>/dev/null <"/proc/$p/stat"
			case $over in '' | Z) length=$((moment * 3 / 4 + 1)) ;; esac
		fi
		wait $p
		echo "status $?" >>"$T/got"
		if cmp -s "$T/expected" "$T/got"; then
			good=$((good + 1))
		else
			echo "round $round:" >>"$T/why"
			diff "$T/expected" "$T/got" | head -3 >>"$T/why"
		fi
		if events "$T/home" "$T/events" || ! grep -q -v torn "$T/events.err"; then
			readable=$((readable + 1))
		else
			echo "round $round: $(head -2 "$T/events.err")" >>"$T/why"
		fi
		[ "$1" != --count ] || cp "$T/events" "$T/told.$round"
		# A hole in the record is said to be one: recorder_died (7), or lost (1).
		if [ $hit = 0 ] || grep -q '"k":"gap".*"reason":[17]\b' "$T/events" || grep -q '"k":"run_end"' "$T/events"; then
			said=$((said + 1))
		else
			echo "round $round: the record does not say that the recorder died: $(tail -1 "$T/events")" >>"$T/why"
		fi
	done
	[ $good = $times ]
	result $? "$name: the command's result is the same, $times times" "$T/why"
	[ $readable = $times ]
	result $? "$name: the log can be read, $times times" "$T/why"
	[ $said = $times ]
	result $? "$name: the record says where it ends" "$T/why"
	echo "$killed of $times times a worker was killed" >"$T/killed"
	[ $killed -gt $((times / 3)) ]
	result $? "$name: the moments were well chosen: $killed of $times hit a worker" "$T/killed"
	if [ "$1" = --count ] && [ -n "$counts" ]; then
		sums "$name" "$T"/told.*
	elif [ "$1" = --count ]; then
		skip_ "$name: sums of bytes" "nothing is counted here, without a kill either"
	fi
}

# Whether anything is counted here.
fresh "$D"
rm -rf "${T:?}/home"
(cd "$D" && STEMMA_HOME=$T/home exec "$STEMMA" run --count -- sh "$T/work.sh") >/dev/null 2>&1
events "$T/home" "$T/events"
$PYTHON -S "$T/sums.py" "$D" "$T/events" >"$T/sums"
counts=$(sed '/^0$/d; q' "$T/sums")

rounds ""
rounds --count
# The code that opens is put into every program, too.
export STEMMA_INJECT=always
rounds --count
unset STEMMA_INJECT

# The one that the user started is killed: the command goes on to its end, and so does its record.
fresh "$D"
rm -rf "${T:?}/home"
(cd "$D" && STEMMA_HOME=$T/home exec "$STEMMA" run -- sh -c 'sh "$1"; echo "$?" >ended' - "$T/work.sh") >"$T/got" 2>"$T/err" &
p=$!
i=0
while [ ! -e "$D/all" ] && [ $i -lt 1200 ]; do # not before there is a command
	i=$((i + 1))
	sleep 0.05
done
kill -9 $p
wait $p 2>/dev/null
i=0
while [ ! -s "$D/ended" ] && [ $i -lt 1200 ]; do
	i=$((i + 1))
	sleep 0.1
done
echo "status $(cat "$D/ended" 2>/dev/null)" >>"$T/got"
diff "$T/expected" "$T/got" >"$T/why"
result $? "the keeper is killed: the command ends as always" "$T/why"
i=0
while ! { events "$T/home" "$T/events" && grep -q '"k":"session_end"' "$T/events"; } && [ $i -lt 1200 ]; do
	i=$((i + 1))
	sleep 0.1
done
grep -q '"k":"session_end"' "$T/events" && [ "$(grep -c '"k":"exec"' "$T/events")" -gt 75 ]
result $? "the keeper is killed: the record goes on" "$T/events.err"

# A command that kills its own process group, with all that belongs to it.
rm -rf "${T:?}/home"
STEMMA_HOME=$T/home setsid -w "$STEMMA" run -- sh -c 'cat /dev/null; kill -9 0; sleep 5' >"$T/got" 2>&1
echo "status $?" >"$T/status"
i=0
while ! { events "$T/home" "$T/events" && grep -q '"k":"exit"' "$T/events"; } && [ $i -lt 600 ]; do
	i=$((i + 1))
	sleep 0.1
done
grep -c '"k":"exec"' "$T/events" >>"$T/status"
[ "$(paste -sd, "$T/status")" = "status 137,2" ]
result $? "a command that kills its process group" "$T/status"

# Killed while it still looks for what works here: what it has tried that with ends, too, and lets go of the output.
cat >"$T/early.py" <<'END'
import os, subprocess, sys, time
stemma, rounds = sys.argv[1], int(sys.argv[2])
for i in range(rounds):
    p = subprocess.Popen([stemma, 'run', '--transport=trace', '--', 'true'], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    time.sleep(i % 40 * 0.0005)
    p.kill()
    try:
        p.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        sys.exit('round %d: somebody holds the output' % i)
END
STEMMA_HOME=$T/home $PYTHON "$T/early.py" "$STEMMA" $((2 * times)) >"$T/why" 2>&1
result $? "the keeper is killed at its start: nobody holds the output" "$T/why"

# A worker that waits for a command that has ended would be left for ever.
sleep 1
i=0
while grep -l "STEMMA_HOME=$T/home" /proc/[0-9]*/environ 2>/dev/null >"$T/left" && [ $i -lt 300 ]; do
	i=$((i + 1))
	sleep 0.1
done
[ ! -s "$T/left" ]
result $? "no process is left" "$T/left"

# The worker dies before there is a command: the command runs all the same, with the input and output that are its own.
rm -rf "${T:?}/home"
if grep -q __tsan_init "$STEMMA"; then
	skip_ "killed before there is a command" "the first thread is the thread sanitizer's own"
elif strace -o "$T/strace" true 2>/dev/null; then
	# A leak checker does not work under ptrace.
	echo abc | ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0" STEMMA_HOME=$T/home timeout -s KILL 60 strace -f -o "$T/strace" -e trace=clone3 -e inject=clone3:signal=SIGKILL:when=1 \
		"$STEMMA" run -- sh -c 'cat; exit 5' >"$T/got" 2>"$T/err"
	status=$?
	if ! grep -q 'killed by SIGKILL' "$T/strace"; then
		skip_ "killed before there is a command" "this C library starts threads by another call"
	else
		[ $status = 5 ] && [ "$(cat "$T/got")" = abc ] && events "$T/home" "$T/events" &&
			grep -q '"k":"gap".*"reason":1\b' "$T/events" && grep -q '"k":"run_end".*"code":5\b' "$T/events"
		result $? "killed before there is a command" "$T/err"
	fi
else
	skip_ "killed before there is a command" "strace is missing, or may not trace"
fi

# The worker dies when it has waited for the command, which nobody else can do any more, and has not told yet.
after()
{ # NAME STATUS OPTION... -- COMMAND...: getrusage is what it calls then
	name="killed when the command was waited for: $1"
	wanted=$2
	shift 2
	rm -rf "${T:?}/home"
	ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0" STEMMA_HOME=$T/home timeout -s KILL 60 strace -f -o "$T/strace" -e trace=wait4,getrusage -e inject=getrusage:signal=SIGKILL:when=1 \
		"$STEMMA" run "$@" >"$T/got" 2>"$T/err"
	status=$?
	if ! grep -q 'killed by SIGKILL' "$T/strace"; then
		skip_ "$name" "nothing was killed"
	else
		[ $status = "$wanted" ] && events "$T/home" "$T/events" && grep -q '"k":"gap".*"reason":7\b' "$T/events" &&
			[ "$(grep -c '"k":"run_end"' "$T/events")" = 1 ] && [ "$(grep -c '"k":"session_end"' "$T/events")" = 1 ]
		result $? "$name" "$T/err"
	fi
}
if ! grep -q __tsan_init "$STEMMA" && strace -o "$T/strace" true 2>/dev/null; then
	after 'it exits' 7 -- sh -c 'exit 7'
	after 'a signal ends it' 143 -- sh -c 'kill $$'
	after 'others live on' 7 -- sh -c 'sleep 3 & exit 7'
else
	skip_ "killed when the command was waited for" "strace is missing or may not trace, or a sanitizer is in the way"
fi
finish
