#!/bin/sh
# A run that goes on is told from one whose recorder was killed: in log, in show and in JSON.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

# state RUN: what log says of it, as text and as JSON.
state()
{
	"$STEMMA" log 2>>"$err" | awk -v r="$1" '$1 == r { print $4, $5 }' >"$T/text"
	"$STEMMA" log --json 2>>"$err" | jq -r --arg r "$1" '.runs[] | select(.id | endswith($r)).recording' >"$T/word"
	cat "$T/text" "$T/word" >>"$out"
}
# below PID: its descendants, which stay what they are while it is stopped.
below()
{
	# shellcheck disable=SC2013 # it is one line
	for child in $(cat "/proc/$1/task/$1/children" 2>/dev/null); do
		echo "$child"
		below "$child"
	done
}
# die: the run $p, all of its recorder and its command, at once; and waits until none is left.
die()
{
	kill -STOP $p
	all=$(below $p)
	# shellcheck disable=SC2086 # pids
	kill -KILL $all $p
	wait $p
	for one in $all; do
		n=0
		while [ -e "/proc/$one/stat" ] && ! grep -q ') Z' "/proc/$one/stat" 2>/dev/null && [ $n -lt 600 ]; do
			sleep 0.05
			n=$((n + 1))
		done
	done
}
# begin OPTION...: a run that waits; its pid in $p, its id in $id once it is recorded that it began.
begin()
{
	rm -f began go
	mkfifo go
	"$STEMMA" run -q "$@" -- sh -c ': >began; read x <go; exit 3' >/dev/null 2>"$T/run.err" &
	p=$!
	n=0
	id=
	while [ -z "$id" ] && [ $n -lt 300 ]; do
		sleep 0.1
		[ ! -e began ] || id=$("$STEMMA" log -n 1 2>/dev/null | awk 'NR == 2 && /began/ && !/killed/ { print $1 }')
		case " $ids " in *" $id "*) id= ;; esac
		n=$((n + 1))
	done
	ids="${ids:-} $id"
}

ids=
begin
first=$id
: >"$out"
state "$first"
is "$T/word" running && says "$T/text" running && cmd 0 show "$first" && says "$out" 'running'
check 'a run that goes on'

# Its recorder, worker, keeper and standby, and the command die at once: nobody writes an end.
die
: >"$out"
state "$first"
is "$T/word" 'cut off' && is "$T/text" 'cut off' && cmd 0 show "$first" && says "$out" 'the recording was cut off: its recorder died' && cmd 0 show --json "$first" && json '.things[0].recording == "cut off" and .things[0].exit == null'
check 'one whose recorder died'

# The next run takes the slot that the dead one had.
begin
: >"$out"
state "$first"
is "$T/word" 'cut off' && state "$id" && is "$T/word" running
check 'beside a run that writes where it wrote'
echo >go
wait $p
: >"$out"
state "$id"
is "$T/word" ended && says "$T/text" 3
check 'a run that ended'

# Without a standby the lease alone tells.
for way in --capture=safe --transport=trace --transport=proc; do
	begin "$way"
	: >"$out"
	state "$id"
	[ -n "$id" ] && is "$T/word" running
	check "$way: it goes on"
	die
	: >"$out"
	state "$id"
	is "$T/word" 'cut off'
	check "$way: its recorder died"
done

# Where somebody else's machine wrote it, nobody here knows.
history <<'END'
h = History('01CCCCCCCCCCCCCCCCCCCCCCCC', argv=['step'], start=900)
p = h.process()
h.exec(p, ['step'], exe='/opt/step')
h.exit(p)
h.save(home, evtext, 'c')
END
: >"$out"
state CCCCCCCC
is "$T/word" unknown && says "$T/text" '?' && cmd 0 show 01CCCCCCCCCCCCCCCCCCCCCCCC && says "$out" 'it runs still, or its record was cut off'
check 'one of another host'
finish
