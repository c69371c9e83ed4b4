#!/bin/sh
# Functions that the source calls pure or const may reach a system call all the same, by a pointer: their calls are neither
# left out nor joined in a program that is traced, so the trace is whole. Each way of tracing, and calls through a pointer.
# shellcheck disable=SC2154 # of lib.sh
spectrace=${STEMMA_SPECTRACE:-}
. "$(dirname "$0")/lib.sh"
. "$here/t/spec.sh"

needs_llvm
cat >pure.c <<'END'
#include <stdio.h>
#include <stdlib.h>
typedef int (*look_function)(int);
static int rough(int x) { return x > 5; }
static int noisy(int x)
{
	if (x > 90)
		fprintf(stderr, "noisy\n");
	return x & 1;
}
look_function looks[2] = {rough, noisy};
__attribute__((pure, noinline)) static int pure_look(int i, int x) { return looks[i](x) + 1; }
__attribute__((const, noinline)) static int const_look(int i, int x) { return looks[i](x) + 1; }
int (*volatile through)(int, int) __attribute__((pure)) = pure_look;
int main(int c, char **v)
{
	int n = atoi(v[1]), s = 0;
	(void)c;
	for (int i = 0; i < n; i++) {
		int a = pure_look(i & 1, i);
		if (i % 7 == 0)
			printf("%d\n", a);
		/* one that is the same again, and one whose value nobody wants */
		s += a + pure_look(i & 1, i) + const_look(1, i) + through(0, i);
		const_look(0, i);
	}
	printf("%d\n", s);
	return 0;
}
END
for how in "--trace -O0" "--trace -O2" "--trace -O3" "--operands -O2"; do
	# shellcheck disable=SC2086 # two words
	set -- $how
	"$STEMMA" cc "$1" gcc "$2" -w pure.c -o pure 2>"$err" && traces ./pure 80 && shown pure && says "$out" "#end exit, fits"
	check "stemma cc $how: the trace is whole"
	STEMMA_TRACE_MODE=full traces ./pure 40 && shown pure && says "$out" "#end exit, fits" &&
		[ "$(grep -c ' const_look($' "$out")" = 80 ] && [ "$(grep -c ' pure_look($' "$out")" = 120 ]
	check "stemma cc $how: each call is in the full one"
done
"$STEMMA" cc --trace gcc -O2 -w pure.c -o pure 2>"$err" && ./pure 80 >traced && gcc -O2 -w pure.c -o plain && ./plain 80 >"$out" && cmp traced "$out"
check "the program computes what it computes without"
finish
