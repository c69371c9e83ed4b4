#!/bin/sh
# A trace of system calls and the program's specification: which functions made them, from which lines. The truth is what
# programs made at random note of themselves, and what is written here from the source.
# shellcheck disable=SC2154 # of lib.sh
callpath=${STEMMA_CALLPATH:-} # lib.sh takes such names out of the environment
. "$(dirname "$0")/lib.sh"
. "$here/t/spec.sh"

needs_llvm
"$STEMMA" run --trace-calls -- true >"$out" 2>"$err"
if [ -s "$err" ]; then
	echo "1..0 # SKIP $(head -1 "$err")"
	exit 0
fi
callpath=${callpath:-$BUILD/tests/stemma-callpath}
run_of()
{
	"$STEMMA" log --json -n 1 | jq -r '.runs[0].id'
}
# The path of the last run's only trace, of this program, as lines in `got`.
path_of()
{
	timeout -k 5 120 "$callpath" "$1" "$STEMMA_HOME/trace/$(run_of)"/*.calls >got 2>>"$err"
}

# Programs made at random: where the answer says that it is certain, it is what the program noted, and where only one path
# qualifies it is so to the end. The lines of the notes are of the calls but for the last four.
unique=0 several=0 wrong=0 same=0
for seed in 1 2 3; do
	for functions in 1 2; do
		$PYTHON "$here/tests/spec/random_programs.py" make $seed $functions | awk -f "$here/tests/spec/calls_of_random.awk" >p.c
		"$STEMMA" cc --spec gcc -w p.c -o p 2>"$err" || wrong=1
		for input in 1 2; do
			"$STEMMA" run --quiet --trace-calls=p -- ./p $input log >/dev/null 2>>"$err"
			path_of p
			# shellcheck disable=SC2046 # words
			set -- $(sed -n '1s/^#found ways \([0-9]*\), certain up to \([0-9]*\) of \([0-9]*\).*$/\1 \2 \3/p' got)
			sed -n 's/^m //p' log >noted
			noted=$(wc -l <noted)
			if [ $# != 3 ] || [ "$3" != $((noted + 4)) ]; then
				wrong=1
				echo "seed $seed $functions $input: $(head -1 got), $noted noted" >>"$err"
				continue
			fi
			certain=$(($2 < noted ? $2 : noted))
			grep -v '^#' got | head -n "$certain" | cut -d' ' -f2 >is
			head -n "$certain" noted | diff - is >>"$err" || wrong=1
			# Many stacks at once: never more certain, and where one path qualifies, that one.
			timeout -k 5 120 "$callpath" -m p "$STEMMA_HOME/trace/$(run_of)"/*.calls >merged 2>>"$err"
			sure=$(sed -n '1s/^#found ways [0-9]*, certain up to \([0-9]*\) of .*/\1/p' merged)
			[ -n "$sure" ] && [ "$sure" -le "$2" ] || { wrong=1 && echo "many at once: $(head -1 merged)" >>"$err"; }
			if [ "$1" = 1 ]; then
				grep -v '^#' got >one && grep -v '^#' merged | diff one - >>"$err" && same=$((same + 1))
				unique=$((unique + 1))
				[ "$2" = "$3" ] || wrong=1
			else
				several=$((several + 1))
			fi
		done
	done
done
[ $wrong = 0 ]
check "12 ways through programs made at random"
[ $unique -ge 3 ] && [ $several -ge 3 ]
check "some certain, some not"
[ $same = $unique ]
check "the same path where many stacks are followed at once"

# By hand: who called, through the frames.
cat >s.c <<'END'
#include <fcntl.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static jmp_buf back;
static void out(const char *s)
{
	if (write(1, s, strlen(s)) < 0)
		lseek(9, 0, SEEK_SET);
}
static int compare(const void *a, const void *b)
{
	access("a", F_OK);
	return *(const int *)a - *(const int *)b;
}
static void deep(int n)
{
	if (n == 0)
		longjmp(back, 1);
	fsync(0);
	deep(n - 1);
	out("never");
}
int main(int argc, char **argv)
{
	int v[2] = {2, 1};
	if (argc > 1 && *argv[1] == 's')
		qsort(v, 2, sizeof(*v), compare);
	if (argc > 1 && *argv[1] == 'j' && setjmp(back) == 0)
		deep(2);
	if (argc > 1 && *argv[1] == 'o')
		out("o");
	chdir(".");
	return 0;
}
END
"$STEMMA" cc --spec gcc -w s.c -o s 2>"$err"
check "builds"
path_is()
{
	what=$1
	shift
	"$STEMMA" run --quiet --trace-calls=s -- ./s $what >/dev/null 2>>"$err"
	path_of s
	grep -v '^#' got | tr '\n' ',' >is
	cat is >>"$err"
	[ "$(cat is)" = "$*" ]
	check "$what"
}
path_is none "chdir 34 main,exit_group - -,"
path_is out "write 9 out<main,chdir 34 main,exit_group - -,"
path_is sort "access 14 compare<main,chdir 34 main,exit_group - -,"
"$STEMMA" run --quiet --trace-calls=s -- ./s jump >/dev/null 2>>"$err"
path_of s
# Whether the second is of the frame above, or of another that came after the jump, no call tells.
grep -q '^#found ways [2-9].*certain up to 1 of 4$' got && [ "$(sed -n '2p;$p' got | tr '\n' ',')" = "fsync 21 deep<main,exit_group - -," ]
check "jump: not certain"

# Two of a kind, compared.
cat >d.c <<'END'
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
static void step(int way)
{
	if (way == 2)
		access("two", F_OK);
	else
		access("other", F_OK);
	if (way == 3)
		rmdir("three");
	access("end", F_OK);
}
int main(int argc, char **argv)
{
	int way = argv[1][0] - '0';
	chdir(".");
	step(way);
	printf("%d\n", way);
	return 0;
}
END
"$STEMMA" cc --spec gcc -w d.c -o d 2>"$err"
two()
{
	for w in "$1" "$2"; do
		"$STEMMA" run --quiet --trace-calls=d -- ./d "$w" >/dev/null 2>"$err"
	done
	"$STEMMA" diff --trace >"$out" 2>"$err"
	got=$?
}
two 1 3
[ $got = 1 ] && says "$out" "step() at d.c:7: A calls access() of end: No such file or directory at d.c:12, B calls rmdir() of three: No such file or directory at d.c:11" &&
	says "$out" "decided at d.c:10"
check "the decision between two calls"
two 3 1
[ $got = 1 ] && says "$out" "A calls rmdir() of three: No such file or directory at d.c:11, B calls access() of end: No such file or directory at d.c:12" && says "$out" "decided at d.c:10"
check "the sides turned round"
two 1 2
[ $got = 1 ] && says "$out" "no control difference, data differs: first in call 2, access() in step() at d.c:" "other | two"
check "calls that do not tell the lines: the path is the same, the data is not"
says "$out" "the traces contain no call sites: 4 | 4 paths of the specification match"
check "and that is said: of access() which, and of printf() when"
touch d
"$STEMMA" diff --trace @~1 @ >"$out" 2>"$err"
[ $? = 1 ] && says "$out" "data differs: first in call 2, access(): other | two"
check "a program that is not the one that ran: the calls alone"
"$STEMMA" diff --trace --spec s @~1 @ >"$out" 2>"$err"
says "$out" "no path of the specification has these calls: only the calls are compared"
check "another program's specification"
"$STEMMA" diff --trace --spec d @~1 @ >"$out" 2>"$err"
says "$out" "in step() at d.c:"
check "the right one, named"
# A tree of functions that may all pass without a call: 4 million ways to each call in its leaf.
awk 'BEGIN {
	d = 22
	print "#include <stdlib.h>\n#include <unistd.h>"
	printf "static void f%d(int way, int n)\n{\n\tif (way & 1)\n\t\taccess(\"leaf\", n);\n}\n", d
	for (i = d - 1; i >= 0; i--)
		printf "static void f%d(int way, int n)\n{\n\tif (n & 1)\n\t\tf%d(way, n / 2);\n\telse if (n & 2)\n\t\tf%d(way, n / 2);\n}\n", i, i + 1, i + 1
	print "int main(int argc, char **argv)\n{\n\tint way = atoi(argv[1]);\n\taccess(\"begin\", F_OK); /* @begin */"
	print "\tf0(way, 0xffffff);\n\tif (way > 2)\n\t\trmdir(\"none\"); /* @none */\n\taccess(\"end\", F_OK); /* @end */\n\treturn argc > 9;\n}"
}' >tree.c
"$STEMMA" cc --spec gcc -w tree.c -o tree 2>"$err"
line()
{
	grep -n "@$1 " tree.c | cut -d : -f 1
}
chain=$(awk 'BEGIN { for (i = 22; i >= 0; i--) printf "f%d<", i; print "main" }')
"$STEMMA" run --quiet --trace-calls=tree -- ./tree 1 >/dev/null 2>>"$err"
one=$(run_of)
timeout -k 5 120 "$callpath" -s tree "$STEMMA_HOME/trace/$one"/*.calls >got 2>>"$err" && [ "$(cat got)" = '#too large' ]
check "a tree of functions has too many ways to be followed one by one"
path_of tree
sed 1d got | tr '\n' ',' >is
[ "$(cat is)" = "access $(line begin) main,access 5 $chain,access $(line end) main,exit_group - -," ] || [ "$(cat is)" = "access $(line begin) main,access 6 $chain,access $(line end) main,exit_group - -," ]
check "but not many at once"
"$STEMMA" run --quiet --trace-calls=tree -- ./tree 3 >/dev/null 2>>"$err"
cmd 1 diff --trace "$one" "$(run_of)" && says "$out" "A calls access() of end: No such file or directory at tree.c:$(line end), B calls rmdir() of none: No such file or directory at tree.c:$(line none)" 'partial       several nestings of the calls match'
check "which diff goes by, and says"
finish
