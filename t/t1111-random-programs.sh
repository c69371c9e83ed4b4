#!/bin/sh
# Programs made at random: their traces tell what they themselves noted, every event follows the one before by an edge of
# the specification, and every decision by the edge of its outcome.
# shellcheck disable=SC2154 # of lib.sh
spectrace=${STEMMA_SPECTRACE:-} # lib.sh takes such names out of the environment
. "$(dirname "$0")/lib.sh"
. "$here/t/spec.sh"

needs_llvm
programs=${1:-2} inputs=${2:-5}
export STEMMA_TRACE_MODE=full
seed=1
while [ $seed -le "$programs" ]; do
	$PYTHON "$here/tests/spec/random_programs.py" make $seed >p.c
	"$STEMMA" cc --trace gcc -O2 -w p.c -o p 2>"$err"
	good=0
	i=1
	while [ $i -le "$inputs" ]; do
		traces ./p $i log && shown p && $PYTHON "$here/tests/spec/random_programs.py" check "$out" log >>"$err" 2>&1 &&
			grep -q '^#end exit, fits' "$out" && good=$((good + 1))
		i=$((i + 1))
	done
	: >"$out"
	[ $good = "$inputs" ]
	check "program $seed: $inputs ways through it"
	seed=$((seed + 1))
done

# Lazily, the same way gives the same words, and what is left fits, too.
unset STEMMA_TRACE_MODE
same=0
for i in 1 2 3 4 5; do
	traces ./p $i log && shown p && sed '/^#/d' "$out" >"$T/first" && traces ./p $i log && shown p && sed '/^#/d' "$out" | cmp -s - "$T/first" && same=$((same + 1))
done
[ $same = 5 ]
check "lazy: the same way, the same trace"
finish
