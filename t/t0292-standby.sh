#!/bin/sh
# All processes of the recorder are killed at once: the standby lets the job's calls go on, and the job ends as always.
# shellcheck source=tests/prog/lib.sh
. "$(dirname "$0")/../tests/prog/lib.sh"

times=8
[ -z "$SLOW" ] || times=200
D=$T/w
cat >"$T/work.sh" <<'END'
i=0
while [ $i -lt 60 ]; do
	sort x >y$i
	cat y$i in >>all
	i=$((i + 1))
done
cat nowhere 2>/dev/null
cksum <all >sum
echo 3 >ended
exit 3
END
fresh "$D"
(cd "$D" && exec sh "$T/work.sh")
cp "$D/sum" "$T/sum"

# The worker below $1.
worker()
{
	"$PROGS/kill-below" -n stemma-worker "$1"
}

# The standby below $1, once it is there; waits for it.
standby()
{
	i=0
	while [ $i -lt 600 ]; do
		for p in $(cat "/proc/$1/task/$1/children" 2>/dev/null); do
			[ "$(cat "/proc/$p/comm" 2>/dev/null)" = syscall-standby ] && echo "$p" && return
		done
		i=$((i + 1))
		sleep 0.02
	done
}

begin()
{ # COMMAND...: runs it in a fresh folder as $p, and waits for its standby, $s
	fresh "$D"
	rm -rf "${T:?}/home"
	(cd "$D" && STEMMA_HOME=$T/home exec "$STEMMA" run -- "$@") >"$T/got" 2>"$T/err" &
	p=$!
	s=$(standby $p)
}

same()
{ # the job ended as it does by itself
	i=0
	while [ ! -s "$D/ended" ] && [ $i -lt 600 ]; do
		i=$((i + 1))
		sleep 0.05
	done
	[ -s "$D/ended" ] && cmp -s "$T/sum" "$D/sum"
}

gone()
{ # the process is over, or a zombie that nobody waits for
	i=0
	while [ -e "/proc/$1/stat" ] && ! grep -q ') Z' "/proc/$1/stat" 2>/dev/null && [ $i -lt 600 ]; do
		i=$((i + 1))
		sleep 0.02
	done
	[ ! -e "/proc/$1/stat" ] || grep -q ') Z' "/proc/$1/stat"
}

begin sh -c 'sleep 1; exit 7'
[ -n "$s" ]
result $? "a run that lasts has a standby" "$T/err"
{
	tr '\0' ' ' <"/proc/$s/cmdline"
	cat "/proc/$s/comm"
} >"$T/names" 2>&1
grep -q standby "$T/names" && ! grep -q stemma "$T/names"
result $? "neither its name nor its command line is that of the recorder" "$T/names"
# Behind the name in parentheses: state, parent, process group, session.
sed 's/.*) //' "/proc/$s/stat" >"$T/stat" 2>&1
[ "$(cut -d' ' -f3,4 "$T/stat")" = "$s $s" ]
result $? "it is in a process group and a session of its own" "$T/stat"
# Another process of the same user may not take its listener. Root may; so it is asked by an ordinary user only.
if [ "$(id -u)" = 0 ]; then
	skip_ "nobody of its user may trace it" "root may"
else
	$PYTHON - "$s" >"$T/taken" 2>&1 <<'END'
import ctypes, os, sys
fd = os.pidfd_open(int(sys.argv[1]))
got = ctypes.CDLL(None, use_errno=True).syscall(438, fd, 3, 0)
sys.exit(got >= 0 or ctypes.get_errno() not in (1, 38))
END
	result $? "nobody of its user may trace it" "$T/taken"
fi
wait $p
[ $? = 7 ] && [ ! -e "/proc/$s/stat" ]
result $? "it is over when the run is" "$T/err"

good=0
round=0
: >"$T/why"
while [ $round -lt $times ]; do
	round=$((round + 1))
	begin sh "$T/work.sh"
	[ $((round % 2)) = 0 ] || sleep 0.0$((round % 9))
	# shellcheck disable=SC2046 # a number, or none
	kill -9 $p $(worker $p)
	wait $p 2>/dev/null
	if same && gone "$s"; then
		good=$((good + 1))
	else
		echo "round $round: standby ${s:-none}, ended: $(cat "$D/ended" 2>&1), $(tail -1 "$T/err")" >>"$T/why"
	fi
done
[ $good = $times ]
result $? "worker and keeper are killed at once: the job ends as always, $good of $times" "$T/why"

# One after the other, and the worker while it holds a call: right behind the ioctl that received it, or that answered it.
if grep -q __tsan_init "$STEMMA"; then
	skip_ "killed between receiving and answering" "the first thread is the thread sanitizer's own"
elif [ "$(id -u)" != 0 ]; then
	skip_ "killed between receiving and answering" "only root may trace the recorder"
elif strace -o "$T/strace" true 2>/dev/null; then
	good=0
	: >"$T/why"
	for k in 1 2 3 4 5 6; do
		begin sh "$T/work.sh"
		w=$(worker $p)
		kill -9 $p
		wait $p 2>/dev/null
		strace -f -o "$T/strace" -e trace=ioctl -e inject=ioctl:signal=SIGKILL:when=$k -p "$w" 2>"$T/attached"
		if ! grep -q 'killed by SIGKILL' "$T/strace" && ! [ -e "/proc/$w/stat" ] && same; then
			good=$((good + 1)) # on a fast machine the job was over before
		elif ! grep -q 'killed by SIGKILL' "$T/strace"; then
			echo "round $k: the worker was not killed: $(head -1 "$T/attached")" >>"$T/why"
		elif same && gone "$s"; then
			good=$((good + 1))
		else
			echo "round $k: ended: $(cat "$D/ended" 2>&1)" >>"$T/why"
		fi
	done
	[ $good = 6 ]
	result $? "killed between receiving and answering: the job ends as always" "$T/why"
else
	skip_ "killed between receiving and answering" "strace is missing, or may not trace"
fi

# What outlives the command goes on, too.
begin sh -c '(until [ -e killed ]; do sleep 0.05; done; sh "$1") </dev/null >/dev/null 2>&1 &
	until [ -e go ]; do sleep 0.05; done; exit 5' - "$T/work.sh"
: >"$D/go"
wait $p
status=$?
w=
for c in /proc/[0-9]*; do
	if [ "$(cat "$c/comm" 2>/dev/null)" = stemma-worker ] || [ "$(cat "$c/comm" 2>/dev/null)" = stemma-keeper ]; then
		grep -qz "$T/work.sh" "$c/cmdline" 2>/dev/null && w="$w ${c#/proc/}"
	fi
done
# shellcheck disable=SC2086 # numbers
[ -z "$w" ] || kill -9 $w
: >"$D/killed"
same && [ $status = 5 ] && [ -n "$w" ] && gone "$s"
result $? "processes that outlive the command go on" "$T/err"

# By its name, as an administrator would. In a pid namespace of its own: no other run is to be met.
cat >"$T/by-name.sh" <<'END'
"$S" run -- sh work.sh &
i=0
until grep -qs standby /proc/[0-9]*/comm || [ $i -gt 500 ]; do
	i=$((i + 1))
	sleep 0.02
done
eval "$HOW" >/dev/null 2>&1
i=0
while [ ! -s ended ] && [ $i -lt 600 ]; do
	i=$((i + 1))
	sleep 0.05
done
END
if unshare -pf --mount-proc true 2>/dev/null; then
	ns="unshare -pf --mount-proc"
elif unshare -Urpf --mount-proc true 2>/dev/null; then
	ns="unshare -Urpf --mount-proc"
else
	ns=
fi
for how in 'pkill -9 stemma' 'pkill -9 -f "[s]temma run"' 'pkill -9 -f stemma' 'killall -9 stemma stemma-worker stemma-keeper' \
	'kill -9 $(pidof stemma)' 'killall -9 $S'; do
	name="${how#eval } kills what it finds: the job ends as always"
	if [ -z "$ns" ]; then
		skip_ "$name" "no pid namespace may be made"
	elif ! command -v "${how%% *}" >/dev/null && [ "${how%% *}" != kill ]; then
		skip_ "$name" "no ${how%% *} here"
	else
		fresh "$D"
		rm -rf "${T:?}/home"
		cp "$T/work.sh" "$T/by-name.sh" "$D"
		# shellcheck disable=SC2086 # words
		(cd "$D" && S=$STEMMA HOW=$how STEMMA_HOME=$T/home exec $ns sh by-name.sh) >"$T/got" 2>&1
		same
		result $? "$name" "$T/got"
	fi
done
finish
