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
	i=$((i + 1))
done
cat nowhere 2>/dev/null
sort all | cksum
exit 3
END
fresh "$D"
(cd "$D" && exec sh "$T/work.sh") >"$T/expected" 2>&1
echo "status $?" >>"$T/expected"

# The processes below $1 that are workers. What is below a worker has its name, too, until it has become the command.
workers()
{
	for p in $(cat "/proc/$1/task/$1/children" 2>/dev/null); do
		if [ "$(cat "/proc/$p/comm" 2>/dev/null)" = stemma-worker ]; then
			echo "$p"
		else
			workers "$p"
		fi
	done
}

# How long a recorded run takes here, in ms: the moments are spread over it.
fresh "$D"
begin=$(date +%s%N)
(cd "$D" && STEMMA_HOME=$T/home exec "$STEMMA" run -- sh "$T/work.sh") >/dev/null 2>&1
length=$((($(date +%s%N) - begin) / 1000000 + 1))

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
	while [ $round -lt $times ]; do
		round=$((round + 1))
		fresh "$D"
		rm -rf "${T:?}/home"
		(cd "$D" && STEMMA_HOME=$T/home exec "$STEMMA" run $1 -- sh "$T/work.sh") >"$T/got" 2>"$T/err" &
		p=$!
		# From before the command starts to about its end.
		moment=$((round * 7919 % length))
		sleep "$((moment / 1000)).$(printf %03d $((moment % 1000)))"
		w=$(workers $p)
		if [ -n "$w" ]; then
			# shellcheck disable=SC2086 # one or more numbers
			kill -9 $w && killed=$((killed + 1))
			hit=1
		else
			hit=0
		fi
		wait $p
		echo "status $?" >>"$T/got"
		# Missed, and not for being early: it was over, so a run is shorter now. How busy the machine is changes.
		[ $hit = 1 ] || [ $((moment * 4)) -lt $length ] || length=$((moment * 3 / 4 + 1))
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
}

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
finish
