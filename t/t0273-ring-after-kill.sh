#!/bin/sh
# The worker is killed while a program has an io_uring: the next worker does not know the ring's queues, and the record says so. A ring that
# is made later is seen as always.
# shellcheck source=tests/prog/lib.sh
. "$(dirname "$0")/../tests/prog/lib.sh"

D=$T/w
ring=$PROGS/p-ring

# The worker below $1; not the number $2. Waits for it.
worker()
{
	i=0
	while [ $i -lt 1500 ]; do
		for c in $(cat "/proc/$1/task/$1/children" 2>/dev/null); do
			[ "$(cat "/proc/$c/comm" 2>/dev/null)" = stemma-worker ] && [ "$c" != "${2:-}" ] && echo "$c" && return
		done
		i=$((i + 1))
		sleep 0.02
	done
}

# FILE: until it is there, or the run is over
await()
{
	i=0
	while [ ! -e "$1" ] && [ $i -lt 1500 ] && kill -0 $p 2>/dev/null; do
		i=$((i + 1))
		sleep 0.02
	done
}

# killed OPTION WORD...: p-ring does that under the option; at `pause` its worker is killed, and it goes on when another has taken over. In
# $status what became of it, in $T/events the record.
killed()
{
	option=$1
	shift
	fresh "$D"
	rm -rf "${T:?}/home"
	cp "$T/in" "$D/in"
	(cd "$D" && STEMMA_HOME=$T/home exec "$STEMMA" run $option -- "$ring" "$@") >"$T/got" 2>&1 &
	p=$!
	w=$(worker $p)
	await "$D/paused"
	if [ -e "$D/paused" ]; then
		kill -9 "$w"
		worker $p "$w" >/dev/null
		i=0
		while [ $i -lt 600 ]; do
			events "$T/home" "$T/events"
			grep -q '"k":"gap".*"reason":7\b.*a new recorder' "$T/events" && break
			i=$((i + 1))
			sleep 0.02
		done
	fi
	: >"$D/go"
	wait $p
	status=$?
	events "$T/home" "$T/events"
}

# ring_gaps: how many gaps the record has that are of rings
ring_gaps()
{
	grep -c '"k":"gap".*io_uring' "$T/events"
}

echo input >"$T/in"
for option in --quiet --count; do
	killed $option in in read out made write close pause
	if [ $status = 77 ]; then
		skip_ "rings and another worker" "this kernel has no such io_uring"
		finish
		exit
	fi
	[ $status = 0 ] && [ "$(ring_gaps)" = 0 ]
	result $? "$option: a ring that is not used any more: nothing is missing" "$T/events"

	killed $option in in read pause out made write close
	[ $status = 0 ] && [ "$(cat "$D/made")" = input ]
	result $? "$option: the program ends as always" "$T/got"
	[ "$(ring_gaps)" -ge 1 ]
	result $? "$option: what it does by a ring that the next worker does not know is a gap" "$T/events"
	(cd "$D" && STEMMA_HOME=$T/home "$STEMMA" sql --csv "SELECT count(*) FROM gap WHERE reason = 'io_uring'") >"$T/said" 2>&1
	[ "$(tail -n 1 "$T/said" | tr -d '\r')" -ge 1 ] 2>/dev/null
	result $? "$option: the question for gaps says so" "$T/said"

	killed $option pause in in read out made write close
	[ $status = 0 ] && [ "$(ring_gaps)" = 0 ] && (cd "$D" && STEMMA_HOME=$T/home "$STEMMA" lineage --certain made) >"$T/said" 2>&1 && grep -q 'in@{1}' "$T/said"
	result $? "$option: a ring that is made afterwards is seen" "$T/said"
done
finish
