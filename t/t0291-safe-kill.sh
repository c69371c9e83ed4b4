#!/bin/sh
# Under --capture=safe any process of the recorder is killed at random moments: the command ends as always, and the log can
# be read.
# shellcheck source=tests/prog/lib.sh
. "$(dirname "$0")/../tests/prog/lib.sh"

STEMMA_T_ONCE=1
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
echo done >ended
exit 3
END
fresh "$D"
(cd "$D" && exec sh "$T/work.sh") >"$T/expected" 2>&1
echo "status $?" >>"$T/expected"

# The worker below $1.
worker()
{
	"$PROGS/kill-below" -n stemma-worker "$1"
}

# Waits until the worker, whose keeper was killed, has ended the log: it does so behind the command's end.
wait_for_log()
{
	i=0
	until { events "$T/home" "$T/events" && tail -n 1 "$T/events" | grep -q '"k":"session_end"'; } || [ $i -ge 600 ]; do
		i=$((i + 1))
		sleep 0.1
	done
}

# Waits until the command has written its last file.
wait_for()
{
	i=0
	while [ ! -s "$1" ] && [ $i -lt 600 ]; do
		i=$((i + 1))
		sleep 0.1
	done
}

fresh "$D"
begin=$(date +%s%N)
(cd "$D" && STEMMA_HOME=$T/home exec "$STEMMA" run --capture=safe -- sh "$T/work.sh") >/dev/null 2>&1
length=$((($(date +%s%N) - begin) / 1000000 + 1))

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
	(cd "$D" && STEMMA_HOME=$T/home exec "$STEMMA" run --capture=safe -- sh "$T/work.sh") >"$T/got" 2>"$T/err" &
	p=$!
	moment=$((round * 7919 % length))
	sleep "$((moment / 1000)).$(printf %03d $((moment % 1000)))"
	# One round in three the process that the user started, else the other one.
	victim=
	hit=0
	if [ $((round % 3)) != 0 ]; then
		victim=$("$PROGS/kill-below" stemma-worker $p)
		[ -z "$victim" ] || hit=1
	elif [ -n "$(worker $p)" ]; then
		victim=$p
		kill_child 9 $p && hit=1
	fi
	killed=$((killed + hit))
	wait $p 2>/dev/null
	status=$?
	[ $hit = 1 ] || [ $((moment * 4)) -lt $length ] || length=$((moment * 3 / 4 + 1))
	if [ $hit = 1 ] && [ "$victim" = $p ]; then
		# Its status is that of the kill; the command's own results are what counts.
		wait_for "$D/ended"
		wait_for_log
		status=3
	fi
	echo "status $status" >>"$T/got"
	if cmp -s "$T/expected" "$T/got" && [ -s "$D/ended" ] && [ ! -s "$T/err" ]; then
		good=$((good + 1))
	else
		echo "round $round:" >>"$T/why"
		diff "$T/expected" "$T/got" | head -3 >>"$T/why"
		head -2 "$T/err" >>"$T/why"
	fi
	if { events "$T/home" "$T/events" || ! grep -q -v torn "$T/events.err"; } &&
		STEMMA_HOME=$T/home "$STEMMA" fsck >"$T/fsck" 2>&1; then
		readable=$((readable + 1))
	else
		echo "round $round: $(head -2 "$T/events.err") $(head -2 "$T/fsck")" >>"$T/why"
	fi
	if [ $hit = 0 ] || grep -q '"k":"gap".*"reason":[17]\b' "$T/events" || grep -q '"k":"run_end"' "$T/events"; then
		said=$((said + 1))
	else
		echo "round $round: the record does not say that the recorder died: $(tail -1 "$T/events")" >>"$T/why"
	fi
done
[ $good = $times ]
result $? "the command's result is the same, $times times" "$T/why"
[ $readable = $times ]
result $? "the log can be read and is found whole, $times times" "$T/why"
[ $said = $times ]
result $? "the record says where it ends" "$T/why"
echo "$killed of $times times one was killed" >"$T/killed"
[ $killed -gt $((times / 3)) ]
result $? "the moments were well chosen: $killed of $times hit" "$T/killed"

# Both at once: the command goes on.
fresh "$D"
rm -rf "${T:?}/home"
(cd "$D" && STEMMA_HOME=$T/home exec "$STEMMA" run --capture=safe -- sh "$T/work.sh") >"$T/got" 2>"$T/err" &
p=$!
wait_for "$D/all"
# shellcheck disable=SC2046 # numbers
kill -9 $p $(worker $p)
wait $p 2>/dev/null
wait_for "$D/ended"
echo "status 3" >>"$T/got"
diff "$T/expected" "$T/got" >"$T/why" && [ ! -s "$T/err" ]
result $? "all of the recorder is killed: the command ends as always" "$T/why"
finish
