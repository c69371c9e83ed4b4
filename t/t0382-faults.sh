#!/bin/sh
# Each allocation and each call of index, a question, import, forget, gc, note, seal and run fails once: nothing is
# answered that is not so, nothing is lost without a word, and a run's command does not notice.
#
# t0382-faults.sh [SLICES [SLICE]]: one of so many slices of the enumeration; 1: all of it.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

slices=${1:-1500} slice=${2:-0}
library=${STEMMA_FAULTS:-$BUILD/tests/libfaults.so}
if [ ! -f "$library" ]; then
	skip 'faults at every call' "there is no $library"
	finish
	exit
fi
if nm -D "$STEMMA" 2>/dev/null | grep -q __asan_init || nm -D "$STEMMA" 2>/dev/null | grep -q __tsan_init; then
	skip 'faults at every call' 'a sanitizer has its own malloc'
	finish
	exit
fi
mkdir "$T/faults" "$T/asked"
$PYTHON -B "$here/t/faults.py" "$STEMMA" "$EVTEXT" "$library" "$T/faults" --of "$slices" --slice "$slice" >"$out" 2>"$err"
status=$?
grep '^# ' "$out"
grep -v '^# ' "$out" >"$T/said" && cp "$T/said" "$out"
sed 's/^/# /' "$out" | tail -n 1
(exit $status)
check "slice $slice of $slices of all faults"

# faulty KIND N ARG...: stemma with the n-th call or allocation of that kind failing; its status.
faulty()
{
	head -c 8 /dev/zero >"$T/count"
	kind=$1 n=$2
	shift 2
	LD_PRELOAD=$library FAULTS_COUNT=$T/count FAULTS_KIND=$kind FAULTS_AT=$n "$STEMMA" "$@" >"$out" 2>"$err" </dev/null
}

# The first 40 are before the command begins. What is not there then is said, or was not asked for.
"$STEMMA" run -- true >"$T/first" 2>&1
good=true
for n in $(seq 40); do
	faulty enomem "$n" run -- sh -c 'exit 3'
	got=$?
	if ! { [ $got = 3 ] || { [ $got = 125 ] && grep -q '^stemma: .*memory' "$err"; }; }; then
		good=false
		echo "# allocation $n: status $got: $(cat "$err")"
	fi
done
$good
check 'run: an allocation that fails before the command begins is said'

# A question of which no allocation is far from the next one that is tried.
$PYTHON -B "$here/t/faults.py" "$STEMMA" "$EVTEXT" "$library" "$T/asked" --operations ask --kinds enomem --of 10 --most 4000 >"$out" 2>"$err"
status=$?
sed 's/^/# /' "$out" | tail -n 1
(exit $status)
check 'a question that lacks memory, at each tenth place'

# Memory lacks from one of the last places on, where the answer is made into text.
good=true
for q in 'log --json' 'show --json @' 'stat --json @' 'lineage --json made' 'report made' 'report @'; do
	# shellcheck disable=SC2086 # words
	cmd 0 run -- sh -c 'cat /dev/null >made; : >>made' && "$STEMMA" $q >"$T/right" 2>"$err" && faulty enomem 0 $q
	last=$(od -An -tu8 "$T/count" | tr -d " ")
	for n in $(seq $((last - 30)) $last); do
		# shellcheck disable=SC2086
		FAULTS_LASTS=1 faulty enomem "$n" $q
		got=$?
		if ! { [ $got = 0 ] && cmp -s "$out" "$T/right"; } && ! { [ $got = 125 ] && [ -s "$err" ]; }; then
			good=false
			echo "# $q, from allocation $n of $last on: status $got: $(head -c 200 "$err")"
		fi
	done
done
$good
check 'the text of an answer for which memory lacks'

# An index beside the record that cannot be opened for a moment is not exchanged for one in the cache, which has another
# state of the record.
good=true
for kind in eintr eio; do
	for n in $(seq 12); do
		faulty $kind "$n" note @ "$kind $n"
		got=$?
		if [ -e "$HOME/.cache/stemma" ] || { [ $got = 0 ] && ! "$STEMMA" note @ 2>&1 | grep -q "$kind $n\$"; }; then
			good=false
			echo "# $kind at $n: status $got: $(cat "$err"); in the cache: $(ls "$HOME/.cache/stemma" 2>&1)"
			rm -rf "$HOME/.cache"
		fi
	done
done
$good
check 'a place that cannot be opened for a moment is not left for another index'
finish
