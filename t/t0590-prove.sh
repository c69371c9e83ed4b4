#!/bin/sh
# diff --trace --prove: B is run again with the one decision turned that differs. Three programs whose cause is known, one of
# a loop of which the second decision is, and programs where turning one decision does not help. Nothing of the user's is touched.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"
mkdir "$T/tmp"
export TMPDIR=$T/tmp

cat >branch.c <<'END'
#include <stdio.h>
int main(void)
{
	int n = 0;
	FILE *in = fopen("in", "r"), *out = fopen("out", "w");
	if (!in || !out || fscanf(in, "%d", &n) != 1)
		return 1;
	fputs("begin\n", out);
	if (n > 100) /* cause */
		fputs("large\n", out);
	else
		fputs("small\n", out);
	puts(n > 100 ? "see out" : "see out");
	return fclose(out);
}
END
cat >kind.c <<'END'
#include <stdio.h>
static void tell(FILE *out, int kind)
{
	switch (kind) { /* cause */
	case 1:
		fputs("one\n", out);
		break;
	case 2:
		fputs("two\n", out);
		break;
	case 5:
		fputs("five\n", out);
		break;
	default:
		fputs("other\n", out);
	}
}
int main(void)
{
	int n = 0;
	FILE *in = fopen("in", "r"), *out = fopen("out", "w");
	if (!in || !out || fscanf(in, "%d", &n) != 1)
		return 1;
	tell(out, n);
	return fclose(out);
}
END
cat >silent.c <<'END'
#include <stdio.h>
#include <string.h>
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
	if (v == 7777) /* cause */
		w += 5 + report(w);
	return w;
}
int main(void)
{
	int first = 0, sum = 0;
	FILE *in = fopen("in", "r");
	if (!in || fscanf(in, "%d", &first) != 1)
		return 1;
	for (int i = 0; i < 100; i++)
		sum += weigh(first + i);
	printf("%d\n", sum);
	return 0;
}
END
cat >second.c <<'END'
#include <stdio.h>
int main(void)
{
	int n = 0;
	FILE *in = fopen("in", "r"), *out = fopen("out", "w");
	if (!in || !out || fscanf(in, "%d", &n) != 1)
		return 1;
	if (n > 10) /* no cause */
		fflush(in);
	if (n > 20) /* cause */
		fputs("many\n", out);
	return fclose(out);
}
END
cat >value.c <<'END'
#include <stdio.h>
int main(void)
{
	int n = 0;
	FILE *in = fopen("in", "r"), *out = fopen("out", "w");
	if (!in || !out || fscanf(in, "%d", &n) != 1)
		return 1;
	if (n > 100) /* branch */
		fputs("large\n", out);
	fprintf(out, "%d\n", n);
	return fclose(out);
}
END
for p in branch kind silent second value; do
	"$STEMMA" cc --operands gcc -g -O1 $p.c -o $p >"$out" 2>"$err"
done
echo 1 >in
mkdir traces && STEMMA_TRACE=$PWD/traces ./branch >"$out"
if ! ls traces/* >/dev/null 2>&1; then
	echo "1..0 # SKIP programs cannot be traced here: $(cat "$out" "$err" | head -n 1)"
	exit 0
fi
if ! "$STEMMA" run -q -- true 2>"$err" || ! "$STEMMA" log >"$out" 2>>"$err" || ! [ -s "$out" ]; then
	echo "1..0 # SKIP nothing can be recorded here"
	exit 0
fi
at() { grep -n "/\* $2 \*/" "$1.c" | cut -d : -f 1; }
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
# two PROGRAM IN-OF-A IN-OF-B: two runs
two()
{
	echo "$2" >in && cmd 0 run --trace --digest --keep-inputs -- "./$1" && echo "$3" >in && cmd 0 run --trace --digest --keep-inputs -- "./$1"
}

two branch 50 500 && unchanged 1 diff --trace --prove
if grep -q 'cannot confine the command' "$err"; then
	echo "1..0 # SKIP nothing can be run again here: $(head -n 1 "$err")"
	exit 0
fi
says "$out" "first differs main() at branch.c:$(at branch cause)" "cause         turning main() at branch.c:$(at branch cause) makes B's output A's: out" && says "$err" 'A and B are run again, and B with decisions turned: about'
check 'a branch: turned, B writes what A wrote'
unchanged 1 diff --trace --prove --json && json '.proof.state == "found" and (.proof.turned | length) == 1 and .proof.turned[0].makes_output_same' && json ".proof.turned[0].line == $(at branch cause) and .proof.outputs == \"out\"" && unchanged 1 diff --trace --prove --html && says "$out" 'makes B&#39;s output A&#39;s' || says "$out" "makes B's output A's"
check '... as JSON and as a page'
unchanged 1 diff --trace --prove @ @~1 && says "$out" "turning main() at branch.c:$(at branch cause) makes B's output A's: out"
check '... in the other order'

two kind 2 5 && unchanged 1 diff --trace --prove && says "$out" "turning tell() at kind.c:$(at kind cause) makes B's output A's: out" && two kind 9 1 && unchanged 1 diff --trace --prove && says "$out" "turning tell() at kind.c:$(at kind cause) makes B's output A's: out"
check 'a switch, to a case and to its default'

two silent 1 7700 && unchanged 1 diff --trace --prove && says "$out" "first differs weigh() at silent.c:$(at silent cause)" "turning weigh() at silent.c:$(at silent cause) makes B's output A's: standard output"
check 'a decision that lazy traces took back, among 100 calls, by what went to standard output'

two second 5 50 && unchanged 1 diff --trace --prove && says "$out" "turning main() at second.c:$(at second cause) makes B's output A's: out" "turning main() at second.c:$(at second 'no cause') does not: out"
check 'where the first decision is not the cause, the next is tried'

two value 50 500 && unchanged 1 diff --trace --prove && says "$out" "no decision that was turned alone makes B's output A's: out" "turning main() at value.c:$(at value branch) does not: out" && json_of=$(cmd 1 diff --trace --prove --json && jq -r .proof.state "$out") && [ "$json_of" = 'not found' ]
check 'where the value itself is written, turning does not help, and that is said'

two branch 500 600 && cmd 1 diff --trace --prove && says "$out" 'no decision went different ways'
check 'nothing differs: nothing is turned'
two branch 50 500 && unchanged 1 diff --trace && says_not "$out" 'cause     ' && cmd 2 diff --trace --prove --no-rerun && says "$err" 'or --no-rerun, not both'
check 'without --prove nothing is turned; not with --no-rerun'

# The switch is the recorder's: what the environment of a run says is nothing
echo 500 >in
STEMMA_TRACE_TURN=0:0:1:1 cmd 0 run --trace --digest --keep-inputs -- ./branch && [ "$(tail -n 1 out)" = large ] && for k in 0 1 2 3 4 5 6 7 8; do
	STEMMA_TRACE_TURN=0:$k:3:0 "$STEMMA" run -q --trace -- ./branch >"$out" 2>"$err"
	[ "$(tail -n 1 out)" = large ] || break
done && [ "$(tail -n 1 out)" = large ]
check 'a variable of the environment turns nothing in a run that is recorded'
for v in '' : 0 0:1 0:1:2 0:1:2:x 0:99999999999999999999:1:1 "$(printf '%0200d' 1):1:1:1" 0:0:1:4294967295; do
	STEMMA_TRACE_TURN=$v STEMMA_TRACE=$PWD/traces ./branch >"$out" && [ "$(tail -n 1 out)" = large ] || break
done
check 'whatever is in the variable, the program does what it does'
finish
