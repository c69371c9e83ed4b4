#!/bin/sh
# diff --trace: what differs between runs of A with the same inputs is no difference of A and B. It is measured, by runs
# of the record and by running A again, and never called "same".
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"
mkdir "$T/tmp"
export TMPDIR=$T/tmp

# Twenty times a way that chance decides, as many loops of chance turns, and then what the input decides.
cat >noisy.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
static long chance(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (long)(((unsigned long)t.tv_nsec * 2654435761u) >> 16 & 0xffff) + (long)((size_t)&t >> 12 & 15);
}
static void stamp(FILE *f)
{
	if (chance() % 2) /* noise */
		fputs("even\n", f);
	else
		fprintf(f, "odd %d\n", (int)getpid());
	for (long n = chance() % 5; n > 0; n--) /* turns */
		fputs("turn\n", f);
	if (chance() % 3 == 0) { /* more noise */
		fputs("third\n", f);
		fflush(f);
	}
}
int main(int argc, char **argv)
{
	FILE *in = fopen(argv[1], "r"), *out = fopen("out", "w"), *log = argc > 2 ? fopen("log", "w") : NULL;
	char line[100];
	int sum = 0;
	if (getenv("NOT_RECORDED")) /* strays */
		fputs("set\n", out);
	for (int i = 0; log && i < 20; i++)
		stamp(log);
	while (fgets(line, sizeof(line), in)) {
		int v = atoi(line);
		if (v > 10) /* real */
			fprintf(out, "%d is large\n", v);
		sum += v;
	}
	fprintf(out, "%d\n", sum);
	return fclose(out) != 0 || (log && fclose(log) != 0);
}
END
"$STEMMA" cc --operands gcc -g noisy.c -o noisy >"$out" 2>"$err"
printf '1\n2\n30\n' >in
mkdir traces && STEMMA_TRACE=$PWD/traces ./noisy in log
if ! ls traces/* >/dev/null 2>&1; then
	echo "1..0 # SKIP programs cannot be traced here: $(cat "$out" "$err" | head -n 1)"
	exit 0
fi
if ! "$STEMMA" run -q -- true 2>"$err" || ! "$STEMMA" log >"$out" 2>>"$err" || ! [ -s "$out" ]; then
	echo "1..0 # SKIP nothing can be recorded here"
	exit 0
fi
at() { grep -n "/\* $1 \*/" noisy.c | cut -d : -f 1; }
# runs N: the record has so many, and nothing is left of what was run again
runs() { [ "$("$STEMMA" log --json | jq '.runs | length')" = "$1" ] && [ -z "$(ls -A "$T/tmp")" ]; }
record() { cmd 0 run --trace --digest --keep-inputs -- ./noisy in log; }

record && record && cmd 1 diff --trace --json && json '.noise == null and (.threads[0].verdict | IN("control", "turns"))' && json '.threads[0].noise == null'
check 'the same command twice differs by chance; that this is noise is not known, and nothing is run for it'
cmd 0 diff --trace --repeat 3
if grep -q 'cannot confine the command' "$err"; then
	echo "1..0 # SKIP nothing can be run again here: $(head -n 1 "$err")"
	exit 0
fi
says "$out" 'noise         no difference beyond noise in' 'all that differs here also differs between 3 repetitions of A' "left out: " 'output' && says_not "$out" '^same' && says "$err" 'A is run again 4 times, about' && runs 3
check 'A is run three times more than once: no difference beyond noise, which is not "same"'
cmd 0 diff --trace --repeat 3 --json && json '.threads[0].verdict == "noise" and .noise.recorded == 0 and .noise.run_again == 3 and .noise.settled' && json ".noise.places | index(\"stamp() at noisy.c:$(at noise)\") != null and index(\"stamp() at noisy.c:$(at turns)\") != null" && json '[.noise.files[] | split("/") | last] == ["log"]'
check '... and JSON: the places and files'

printf '1\n2\n3\n' >in && record && cmd 1 diff --trace --json @~2 @ && json ".noise.recorded == 1 and .noise.run_again == 0" && json ".threads[0].noise | length > 0" && runs 4
check 'a run of the record that repeats A is used without being asked for, and nothing is run'
cmd 1 diff --trace --repeat 3 @~2 @ && says "$out" "first differs main() at noisy.c:$(at real): A took true, B false" 'v > 10: 30 > 10 | 3 > 10' 'noise         not noise: the same in 4 repetitions of A' 'left out: ' && says "$out" 'out: 15 bytes | 2 bytes' && says_not "$out" 'log: '
check 'the difference that chance did not make is the first'
cmd 1 diff --trace --repeat 3 @ @~2 && says "$out" "main() at noisy.c:$(at real): A took false, B true" 'not noise: the same in 3 repetitions of A'
check '... also in the other order'
cmd 1 diff --trace --repeat 3 --html @~2 @ && says "$out" 'not noise: the same in 4 repetitions of A'
check '... and as a page'

# Runs without traces: A is run again as its own traces were made
cmd 0 run --digest --keep-inputs -- ./noisy in log && printf '1\n2\n40\n' >in && cmd 0 run --digest --keep-inputs -- ./noisy in log && cmd 1 diff --trace --rerun --repeat 3 && says "$out" "first differs main() at noisy.c:$(at real): A took false, B true" 'not noise: the same in 3 repetitions of A' '2 commands' && runs 6
check 'runs without traces: both are run once, then A three times'

# What A did and does not do again is no noise
printf '1\n2\n30\n' >in && NOT_RECORDED=1 cmd 0 run --trace --digest --keep-inputs -- ./noisy in && cmd 0 run --trace --digest --keep-inputs -- ./noisy in && cmd 1 diff --trace --repeat 2 && says "$out" "main() at noisy.c:$(at strays): A took true, B false" "not known: A went another way when it was run again, first in main() at noisy.c:$(at strays)"
check 'what A does only as it was recorded is not taken for noise, and said'

cmd 1 diff --trace --repeat 2 @ @~1 && says "$out" "main() at noisy.c:$(at strays): A took false, B true" 'perhaps noise: the same in 2 repetitions of A, but B is one, too'
check 'nor is it said to be no noise where A and B were given the same'

# When it is not run
cmd 2 diff --trace --repeat 1000000 && says "$err" 'A is run again 1000001 times' 'use --rerun if it may take that long' && runs 8
check 'what takes more than a minute is not run without being confirmed'
cmd 2 diff --trace --repeat 2 --no-rerun && cmd 2 diff --repeat 2 && says "$err" 'require --trace' && cmd 2 diff --trace --repeat 2 traces traces && STEMMA_TRACE=$PWD/traces ./noisy in log
cmd 2 diff --trace --repeat 2 "$(find "$T/record/trace" -name '*.trace' | head -n 1)" "$(find "$T/record/trace" -name '*.trace' | tail -n 1)" && says "$err" '--repeat needs a run with traces of functions'
check 'what has no run cannot be repeated'
echo 7 >in && cmd 0 run --trace -- ./noisy in log && echo 11 >in && cmd 0 run --trace -- ./noisy in log && echo 12 >in && cmd 2 diff --trace --repeat 2 && says "$err" 'run A cannot be repeated: in, which' && runs 10
check 'nor what lacks an input: it is named'
finish
