#!/bin/sh
# The power goes after each write to the logs and the index: what was acknowledged is there, and nothing wrong is said.
#
# t0383-power.sh [SLICES [SLICE]]: one of so many slices of the places; 1: all of them.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

slices=${1:-24} slice=${2:-5}
library=${STEMMA_FAULTS:-$BUILD/tests/libfaults.so}
if [ ! -f "$library" ]; then
	skip 'the power goes' "there is no $library"
	finish
	exit
fi
if nm -D "$STEMMA" 2>/dev/null | grep -q -e __asan_init -e __tsan_init; then
	skip 'the power goes' 'a sanitizer has its own calls'
	finish
	exit
fi
mkdir "$T/power"
$PYTHON -B "$here/t/power.py" "$STEMMA" "$EVTEXT" "$library" "$T/power" --of "$slices" --slice "$slice" >"$out" 2>"$err"
status=$?
sed 's/^/# /' "$out" | tail -n 1
(exit $status)
check "slice $slice of $slices of all places"
finish
