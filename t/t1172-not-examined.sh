#!/bin/sh
# What no trace tells is said where the traces are the same: functions that reach no system call, branches that decide no call,
# libraries. Outputs that differ, and traces that are not whole, are never answered by "same". Threads are named where they may be why.
# shellcheck disable=SC2154 # of lib.sh
spectrace=${STEMMA_SPECTRACE:-}
. "$(dirname "$0")/lib.sh"
. "$here/t/spec.sh"

needs_llvm
json() { [ "$(jq "$1" "$out")" = "${2:-true}" ]; }
cat >kind.c <<'END'
#include <stdio.h>
#include <stdlib.h>
static const char *kind(int x)
{
	if (x > 3)
		return "big";
	return x > 2 ? "mid" : "small";
}
int main(int c, char **v)
{
	int n = atoi(v[1]);
	(void)c;
	if (n > 100)
		n = 100;
	puts(kind(n));
	return 0;
}
END
"$STEMMA" cc --trace gcc -O2 -g kind.c -o kind 2>"$err" && "$STEMMA" spec --stats kind >"$out" && says "$out" "functions that reach no system call and are not traced:" "  kind"
check "a function that reaches no system call is listed"
"$STEMMA" spec --json kind >"$out" && json '.unexamined == ["kind"]'
check "as JSON"

"$STEMMA" run --trace -q -- ./kind 1 >"$out" && "$STEMMA" run --trace -q -- ./kind 1 >"$out"
cmd 0 diff --trace && says "$out" "same          no control difference in 3 steps" "not examined  kind() (1 of 2 functions" "1 branch, which decides no call" "within libc.so" "outputs       6 bytes on both sides"
check "the same: what was not examined, by name and counts"
cmd 0 diff --trace --json && json '.threads[0] | .verdict == "same" and .unexamined.names == ["kind"] and .unexamined.branches == 1 and (.unexamined.libraries | any(startswith("libc.so"))) and .outputs.known and .outputs.bytes == 6'
check "as JSON"
"$STEMMA" run --trace -q -- ./kind 1 | cat >"$out" && "$STEMMA" run --trace -q -- ./kind 2 | cat >"$out"
cmd 1 diff --trace && says "$out" "not known     whether they are the same: inputs or arguments differ, and outputs are partly unknown: no control difference"
check "given something else: what went through a pipe is not known to be the same"
"$STEMMA" run --trace -q -- ./kind 5 | cat >"$out"
cmd 1 diff --trace && says "$out" "differs       outputs differ, and no control difference" "outputs       6 | 4 bytes written in all" "not examined  kind()" && says_not "$out" "same  "
check "they wrote another number of bytes: not the same"
cmd 1 diff --trace --json && json '.threads[0] | .verdict == "output" and .outputs.differ'
check "as JSON"
cmd 1 diff --trace --html && says "$out" "not examined" "bytes written in all"
check "as a page"

run_to() { "$STEMMA" run --trace -q "$@" >"$out" 2>"$err"; }
run_to --digest -- sh -c './kind 4 >out.txt' && run_to --digest -- sh -c './kind 3 >out.txt'
cmd 1 diff --trace && says "$out" "differs       outputs differ" "out.txt: 4 bytes | 4 bytes, different bytes"
check "a file of the same size with other bytes"
run_to --digest -- sh -c './kind 3 >out.txt'
cmd 0 diff --trace && says "$out" "same          no control difference"
check "the same bytes"
run_to -- sh -c './kind 3 >out.txt' && run_to -- sh -c './kind 4 >out.txt'
cmd 1 diff --trace && says "$out" "not known " "1 file of equal size with unknown content"
check "what is not known is not said to be the same"

# A library that is not traced decides.
cat >lib.c <<'END'
const char *lib_kind(int x) { return x > 3 ? "big" : "small"; }
END
printf '#include <stdio.h>\n#include <stdlib.h>\nconst char *lib_kind(int);\nint main(int c, char **v)\n{\n(void)c;\nputs(lib_kind(atoi(v[1])));\nreturn 0;\n}\n' >uses.c
gcc -shared -fPIC lib.c -o libkind.so && "$STEMMA" cc --trace gcc -g uses.c -o uses -L. -lkind -Wl,-rpath,"$PWD" 2>"$err"
"$STEMMA" run --trace -q -- ./uses 1 >"$out" && "$STEMMA" run --trace -q -- ./uses 5 >"$out"
cmd 1 diff --trace && says "$out" "differs       outputs differ" "libkind.so"
check "a library that is not traced: named, and not the same"

# Another build, which differs only in what is not traced.
sed 's/x > 3/x > 4/' kind.c >kind2.c && mkdir -p two && cp kind2.c two/kind.c && "$STEMMA" run --trace -q -- ./kind 1 >"$out" &&
	(cd two && "$STEMMA" cc --trace gcc -O2 -g kind.c -o ../kind 2>"$err") && "$STEMMA" run --trace -q -- ./kind 1 >"$out"
cmd 1 diff --trace && grep -q "the programs are of different builds\|the programs themselves differ" "$out"
check "another build is said"

# A trace that has reached its largest size.
cat >much.c <<'END'
#include <stdio.h>
#include <stdlib.h>
int main(int c, char **v)
{
	int n = atoi(v[1]);
	(void)c;
	for (int i = 0; i < n; i++)
		fputc('x', stdout);
	puts(n == 400000 ? "end" : "END");
	return 0;
}
END
"$STEMMA" cc --trace gcc -g much.c -o much 2>"$err"
for n in 400000 400000; do
	STEMMA_TRACE_BYTES=1048576 "$STEMMA" run --trace -q -- ./much $n >"$out" 2>"$err"
done
cmd 1 diff --trace && says "$out" "not known     whether they are the same" "partial       A's trace ends before the program did" && says_not "$out" "same  "
check "a trace that was cut at its largest size is never the same"
for n in 1 2; do
	rm -rf s$n && mkdir s$n && STEMMA_TRACE=$PWD/s$n STEMMA_TRACE_BYTES=1048576 ./much 400000 >"$out"
done
cmd 1 diff --trace --json s1 s2 && json '.threads[0] | .verdict == "unknown" and .partial'
check "also where both are alike up to there"

# Threads that take turns as the machine will.
cat >turns.c <<'END'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static int first;
static void *work(void *p)
{
	if (first)
		puts("first");
	return p;
}
int main(int c, char **v)
{
	pthread_t t;
	first = atoi(v[1]);
	(void)c;
	pthread_create(&t, NULL, work, NULL);
	pthread_join(t, NULL);
	return 0;
}
END
"$STEMMA" cc --trace gcc -g turns.c -o turns -pthread 2>"$err"
"$STEMMA" run --trace -q -- ./turns 0 >"$out" && "$STEMMA" run --trace -q -- ./turns 1 >"$out"
cmd 1 diff --trace && says "$out" "first differs work() at turns.c:7" "threads       2 | 2 threads took part: their order"
check "threads: that they took part, and what that means"
cmd 1 diff --trace --json && json '[.threads[].process_threads] == [[2, 2], [2, 2]]'
check "as JSON"
cmd 1 diff && says "$out" "threads took part, and their order may differ"
check "in the lines of a diff of runs"
finish
