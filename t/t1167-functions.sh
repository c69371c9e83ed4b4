#!/bin/sh
# stemma run --trace-functions: which functions of a program as it is are called, thread by thread, and where two such
# traces part. The truth is what tests/spec/entered.c notes at the beginning of each.
# shellcheck disable=SC2154 # of lib.sh
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

cat >one.c <<'END'
#include <stdio.h>
__attribute__((noinline)) int f_one(int x) { return x + 1; }
int main(int argc, char **argv) { printf("%d\n", f_one(argc)); return 0; }
END
gcc -O1 one.c -o one || { echo "1..0 # SKIP no compiler"; exit 0; }
"$STEMMA" run --trace-functions=./one:f_one -- ./one >"$out" 2>"$err"
if [ $? = 125 ]; then
	[ "$(id -u)" != 0 ] || [ ! -s "$out" ] || echo "Bail out! it ran all the same"
	reason=$(head -1 "$err")
	# Without the privilege: said, and nothing was run.
	if [ -s "$out" ] || [ -z "$reason" ]; then
		echo "1..1"
		echo "not ok 1 - refused with a reason before anything is run"
		exit 1
	fi
	echo "1..0 # SKIP $reason"
	exit 0
fi
run_of()
{
	"$STEMMA" log --json -n 1 | jq -r '.runs[0].id'
}
# A trace as lines `DEPTH NAME`.
tree()
{
	awk '!body { body = $0 == ""; next } $1 == "f" { name[n++] = $2; next } $1 == "r" { depth -= $2; next }
	     $1 == "b" || $1 == "c" || $1 == "o" { print depth++, name[$2] }' "$1"
}
# The traces of the last run are what the program noted, thread by thread; so many traces; the result is that without them.
as_it_says()
{
	traces=$1
	shift
	rm -f truth.* again.*
	./entered alone "$@" >"$T/alone" 2>&1
	ends=$?
	rm -f truth.* again.* alone.*
	"$STEMMA" run --trace-functions="./entered:f_*" -- ./entered truth "$@" >"$out" 2>"$err"
	[ $? = $ends ] && { [ $ends = 137 ] || cmp "$out" "$T/alone" >>"$err"; } || return 1
	folder=$STEMMA_HOME/trace/$(run_of)
	n=0
	for f in "$folder"/*.functions; do
		name=$(sed -n 's/^thread //p' "$f")
		[ "$(sed -n 's/^began //p' "$f")" != fork ] || name=child
		with=truth
		if grep -q '^process' "$f" && [ -e again.0 ] && tree "$f" | cmp -s - again.0; then with=again; fi
		tree "$f" >is
		diff "$with.$name" is >>"$err" || return 1
		n=$((n + 1))
	done
	[ $n = "$traces" ] || { ls "$folder" >>"$err"; return 1; }
}
gcc -g -O1 -fno-optimize-sibling-calls "$here/tests/spec/entered.c" -o entered -pthread 2>"$err"
check "builds"
as_it_says 1 calls recursion calls
check "calls and recursion"
as_it_says 1 sort calls
check "called back by a library" && grep -q '^o ' "$folder"/*.functions
as_it_says 1 jump calls jump
check "left by longjmp"
as_it_says 1 signal
check "for a signal"
as_it_says 1 altstack calls
check "for a signal, on a stack of its own"
as_it_says 4 threads calls
check "threads, by who made them"
as_it_says 2 fork calls
check "a child of fork, with what was open"
as_it_says 2 recursion exec && [ "$(grep -l '^e exec$' "$folder"/*.functions | wc -l)" = 1 ]
check "another program takes its place"
as_it_says 1 calls kill && [ "$(tail -1 "$folder"/*.functions)" = "e killed 9" ]
check "up to a signal"
as_it_says 1 many && [ "$(grep -c '^c' "$folder"/*.functions)" = 9000 ]
check "each of 9,000"
as_it_says 1 swap calls
grep -q '^g stacks$' "$folder"/*.functions
check "several stacks of one thread are said"
finish
