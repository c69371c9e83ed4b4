#!/bin/sh
# Real programs: what they print, make and return is the same with a recorder as without, byte for byte. The first part of
# tests/real/commands.txt; the whole of it is t0286.
# shellcheck source=tests/prog/lib.sh
. "$(dirname "$0")/../tests/prog/lib.sh"

$PYTHON "$here/tests/real/run.py" --stemma "$STEMMA" --part always --modes default >"$T/tap" 2>"$T/why"
[ $? = 0 ] && [ ! -s "$T/why" ] && ! grep -q '^not ok' "$T/tap"
status=$?
cat "$T/tap" >>"$T/why"
result $status "$(sed -n 's/^\(not \)\?ok [0-9]* - //p' "$T/tap" | head -1)" "$T/why"
grep '^# not here' "$T/tap"
finish
