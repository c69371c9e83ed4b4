#!/bin/sh
# Programs made at random: what a slice says cannot be reached is tried, by runs with one argument changed.
. "$(dirname "$0")/lib.sh"
. "$here/t/spec.sh"

needs_llvm

$PYTHON "$here/t/slices/random_programs.py" "$STEMMA" "$CLANG" "$PWD/programs" "${SEED:-1}" "${COUNT:-12}" >"$out" 2>"$err"
check "what cannot be reached is not reached ($(tail -n 1 "$out"))"
finish
