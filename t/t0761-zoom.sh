#!/bin/sh
# diff --trace of lazy traces whose first difference was taken back: A and B are run again by themselves, and recorded
# without taking back there, so that the line is named. Nothing of the user's is touched.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"
mkdir "$T/tmp"
export TMPDIR=$T/tmp

cat >weigh.c <<'END'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
static int report(int n) /* reaches a system call, and is never made to */
{
	char b[20];
	if (n < 0 && n > -9) {
		snprintf(b, sizeof(b), "%d\n", n);
		return (int)write(2, b, strlen(b));
	}
	return 0;
}
static int weigh(int v)
{
	int w = 0;
	for (int k = 0; k < 10; k++)
		report(w);
	if (v == 777777) /* special */
		w += 1 + report(w);
	if (v > 0x40000000) /* large */
		w += report(w);
	return w;
}
static int seed(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int)(((unsigned long)t.tv_nsec * 2654435761u) >> 16 & 0xffff);
}
static int first, turns;
static void *work(void *sum)
{
	for (int i = 0; i < turns; i++)
		*(long *)sum += weigh(first + i);
	return NULL;
}
int main(int argc, char **argv)
{
	long sum = 0;
	pthread_t thread;
	FILE *in = fopen(argv[1], "r"), *out;
	if (!in || fscanf(in, "%d %d", &first, &turns) != 2)
		return 1;
	if (argc > 2 && pthread_create(&thread, NULL, work, &sum) == 0)
		pthread_join(thread, NULL);
	else
		work(&sum);
	for (int i = seed() | 1, k = 0; argc > 3 && k < 40; k++, i = i * 75 % 65537)
		sum += weigh(i % 2 ? 777777 : 0) * 0;
	out = fopen("out", "w");
	fprintf(out, "%ld\n", sum);
	return fclose(out);
}
END
"$STEMMA" cc --operands gcc -g weigh.c -o weigh -lpthread >"$out" 2>"$err"
echo 1 1 >in
mkdir traces && STEMMA_TRACE=$PWD/traces ./weigh in
if ! ls traces/* >/dev/null 2>&1; then
	echo "1..0 # SKIP programs cannot be traced here: $(cat "$out" "$err" | head -n 1)"
	exit 0
fi
if ! "$STEMMA" run -q -- true 2>"$err" || ! "$STEMMA" log >"$out" 2>>"$err" || ! [ -s "$out" ]; then
	echo "1..0 # SKIP nothing can be recorded here"
	exit 0
fi
at() { grep -n "/\* $1 \*/" weigh.c | cut -d : -f 1; }
state()
{
	find "$T/work" "$T/home" -printf '%p %y %m %s %T@\n' | sort
	"$STEMMA" log --json | jq '.runs | length'
}
# unchanged STATUS ARG...: cmd, after which the user's files and the runs are as before
unchanged()
{
	state >"$T/before"
	cmd "$@" && state >"$T/after" && cmp "$T/before" "$T/after" >>"$err" 2>&1 && [ -z "$(ls -A "$T/tmp")" ]
}
# two FIRST TURNS FIRST TURNS [ARG...]: two runs
two()
{
	set -- "$@" ''
	# shellcheck disable=SC2086 # arguments
	echo "$1 $2" >in && cmd 0 run --trace --digest --keep-inputs -- ./weigh in $5 && echo "$3 $4" >in && cmd 0 run --trace --digest --keep-inputs -- ./weigh in $5
}
special="weigh() at weigh.c:$(at special)"

two 100000 1000 777700 1000 && unchanged 1 diff --trace
if grep -q 'cannot confine the command' "$err"; then
	echo "1..0 # SKIP nothing can be run again here: $(head -n 1 "$err")"
	exit 0
fi
says "$out" "first differs $special: A took false, B true" 'v == 777777: 100077 == 777777 | 777777 == 777777' 'A and B were run again, to record what their traces had only as a hash' 'noise         not noise: the same in 1 repetition of A' && says_not "$out" 'stemma run --trace-full shows its line' && says "$err" 'A and B are run again, to record what their traces have only as a hash: about'
check 'what lazy traces took back: its line, condition and values, by running both again'
unchanged 1 diff --trace --json && json '.threads[0].partial == false and .threads[0].divergences[0].closer' && json ".threads[0].divergences[0].place.line == $(at special)" && json '.threads[0].divergences[0].a.at.operands == [100077, 777777]' && json '[.threads[0].divergences[1:][].closer] | index(true) == null or .[0]'
check '... as JSON'
unchanged 1 diff --trace --html && says "$out" '== 777777' && unchanged 1 diff --trace @ @~1 && says "$out" "first differs $special: A took true, B false"
check '... as a page, and in the other order'

# Of many words the piece that differs is found first
two 100000 200000 600000 200000 && unchanged 1 diff --trace && says "$out" "first differs $special: A took false, B true" 'v == 777777: 277777 == 777777 | 777777 == 777777'
check 'of many millions of words, too'

# In the trace nothing differs but a hash of data
two 1000 300 1001 300 && unchanged 1 diff --trace && says "$out" "data differs  no control difference, data differs: first in weigh() at weigh.c:$(at special): v == 777777: 1000 == 777777 | 1001 == 777777"
check 'what differs is data only: the first decision on other data'

two 100000 1000 777700 1000 thread && unchanged 1 diff --trace && says "$out" "first differs $special: A took false, B true" 'thread 0.0 of'
check 'in a thread'

two 1000 10 1000 10 'x y' && unchanged 1 diff --trace && says "$out" 'what differs there also differs between two runs of A: use --repeat 3' && says_not "$out" 'A took'
check 'what is chance in it is not named as the difference'
unchanged 0 diff --trace --repeat 3 && says "$out" 'no difference beyond noise in'
check '... and is noise'

cat >piped.sh <<'END'
#!/bin/sh
cat in | ./weigh /dev/stdin
END
chmod +x piped.sh
echo 100000 1000 >in && cmd 0 run --trace --digest --keep-inputs -- ./piped.sh && echo 777700 1000 >in && cmd 0 run --trace --digest --keep-inputs -- ./piped.sh && unchanged 1 diff --trace && says "$out" "first differs $special: A took false, B true"
check 'a program that another one feeds: both commands are run'

# Runs without traces are run for their traces, and then for this
echo 100000 1000 >in && cmd 0 run --digest --keep-inputs -- ./weigh in && echo 777700 1000 >in && cmd 0 run --digest --keep-inputs -- ./weigh in && unchanged 1 diff --trace --rerun && says "$out" "first differs $special: A took false, B true"
check 'runs that were not traced'

two 100000 1000 777700 1000 && unchanged 1 diff --trace --no-rerun && says "$out" 'the first difference reached no system call and was not recorded: stemma run --trace-full shows its line' && [ ! -s "$err" ]
check 'with --no-rerun nothing is run again'
STEMMA_TRACE_ZOOM=0:1:x STEMMA_TRACE=$PWD/traces ./weigh in && STEMMA_TRACE_ZOOM=::: STEMMA_TRACE=$PWD/traces ./weigh in && STEMMA_TRACE_ZOOM=0:18446744073709551615:18446744073709551615:1:1 STEMMA_TRACE=$PWD/traces ./weigh in && STEMMA_TRACE_ZOOM=0:0:1:0:0 STEMMA_TRACE=$PWD/traces ./weigh in && cmd 0 diff --trace "$(ls traces/* | head -n 1)" "$(ls traces/* | head -n 1)"
check 'whatever is in the variable, the program does what it does'
echo 2 2 >other && cmd 0 run --trace -- ./weigh other && echo 777770 9 >other && cmd 0 run --trace -- ./weigh other && echo 3 3 >other && unchanged 1 diff --trace && says "$out" 'the first difference reached no system call and was not recorded' 'it cannot be run again as it was'
check 'where an input is gone it is said, and the answer is as without'
finish
