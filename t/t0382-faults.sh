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
mkdir "$T/faults"
$PYTHON -B "$here/t/faults.py" "$STEMMA" "$EVTEXT" "$library" "$T/faults" --of "$slices" --slice "$slice" >"$out" 2>"$err"
status=$?
grep '^# ' "$out"
grep -v '^# ' "$out" >"$T/said" && cp "$T/said" "$out"
sed 's/^/# /' "$out" | tail -n 1
(exit $status)
check "slice $slice of $slices of all faults"
finish
