#!/bin/sh
# The words that a specification has for a condition: of programs made at random, what they say is what was decided, as C
# itself finds; and of each form that a condition may have, they are those that were written.
# shellcheck disable=SC2154 # of lib.sh
spectrace=${STEMMA_SPECTRACE:-} # lib.sh takes such names out of the environment
. "$(dirname "$0")/lib.sh"
. "$here/t/spec.sh"

needs_llvm
export STEMMA_TRACE_MODE=full

# judged SEED NAME COMPILER: eight ways through a program; what is wrong is told
judged()
{
	$PYTHON -B "$here/tests/spec/conditions.py" make "$1" >"$2" &&
		"$STEMMA" cc --trace "$3" -w "$2" -o p 2>"$err" || return 1
	for i in 0 1 2 3 4 5 6 7; do
		traces ./p $i && "$SPECTRACE" -w p "$T"/tr/*.trace >"lines.$i" && grep -q '^#end exit, fits' "lines.$i" || return 1
	done
	$PYTHON -B "$here/tests/spec/conditions.py" judge lines.? >judge.c && gcc -w judge.c -o judge && ./judge >"$out" || return 1
	[ "$(wc -l <"$out")" = 1 ] || return 1
	# Nineteen of twenty are known.
	awk '{ exit !($1 >= 500 && $1 >= $3 * 9) }' "$out"
}

seed=${1:-1}
last=${2:-2}
while [ "$seed" -le "$last" ]; do
	judged "$seed" p.c gcc
	check "C, program $seed: the words say what was decided"
	if command -v g++ >/dev/null; then
		judged "$seed" p.cc g++
		check "C++, program $seed: the words say what was decided"
	else
		skip "C++, program $seed" 'no g++'
	fi
	seed=$((seed + 1))
done

# Behind //@ stand the words of each decision of a line.
cat >forms.c <<'END'
#include <ctype.h>
#include <stdio.h>
#define SMALL(x) ((x) < 3)
#define NOT(x) (!(x))
#define EMPTY !v
#define BOTH(x, y) ((x) && (y))
#define say() puts("said")
#define CHECK(x) do { if (!(x)) return 3; } while (0)
#define need(x) if (x) ; else return 4
#define EACH(i, n) for (int i = 0; i < (n); i++)
#define LEAVE if (flag) return 5
int f(int);
static struct s { struct s *next; int n[4]; } *p;
static _Bool flag;
static unsigned v;
int main(int argc, char **argv)
{
	double d = argc * 0.1, tol = 1e-3;
	int c, i = 0;
	if (d < tol) say(); //@ d < tol
	if (!p) say(); //@ !p
	if (!!p) say(); //@ p
	if (p == NULL || p->n[i + 1] > 2) say(); //@ p == NULL;p->n[i + 1] > 2
	if (!(d < tol && flag)) say(); //@ !(d < tol);!flag
	if (!(d < tol)) say(); //@ !(d < tol)
	while ((c = getchar()) != EOF) say(); //@ (c = getchar()) != EOF
	while (i --> 0) say(); //@ i --> 0
	for (i = 0; i < argc; i++) say(); //@ i < argc
	do say(); while (argv[i++]); //@ argv[i++]
	do { say(); } while (f(i)); //@ f(i)
	switch (argc + 1) { case 1: say(); break; case 2: f(2); } //@ argc + 1
	i = argc > 2 ? f(1) : f(2); //@ argc > 2
	i = !(d < tol && f(3)); //@ d < tol
	if (argc > 1 ? flag : v & 4) say(); //@ argc > 1;flag;v & 4
	if ((i = f(3))) say(); //@ i = f(3)
	if ((i = flag && v) != 0) say(); //@ (i = flag && v) != 0
	if (SMALL(argc)) say(); //@ SMALL(argc)
	if (NOT(argc)) say(); //@ NOT(argc)
	if (!NOT(argc)) say(); //@ !NOT(argc)
	if (EMPTY) say(); //@ EMPTY
	if (BOTH(flag, v)) say(); //@ BOTH(flag, v);BOTH(flag, v)
	if (isalpha(v) && !SMALL(v)) say(); //@ isalpha(v);!SMALL(v)
	if (argc/*; ) {*/	>
	    1 // && (
	    ) say();
	if (argv[0][0] == '\'' || argv[0][0] == '"' /* " */) say(); //@ argv[0][0] == '\'';argv[0][0] == '"'
	if (argc == 1) if (v > 1) say(); else f(4); else f(5); //@ argc == 1;v > 1
	if (f(v) | f(i)) say(); //@ f(v) | f(i)
	if (-argc < - 3) say(); //@ -argc < - 3
	if (argc > 1111111111 && argc > 1222222222 && argc > 1333333333 && argc > 1444444444 && argc) say(); //@ argc > 1111111111;argc > 1222222222;argc > 1333333333;argc > 1444444444;argc
	CHECK(argc < 9); //@ in CHECK(argc < 9)
	CHECK(argc < 8 && f(argc)); //@ in CHECK(argc < 8 && f(argc));in CHECK(argc < 8 && f(argc))
	if (v) CHECK(argc > 2); //@ v;in CHECK(argc > 2)
	need(argc); //@ in need(argc)
	EACH(k, argc) say(); //@ in EACH(k, argc)
	EACH(k, f(2)) { say(); } //@ in EACH(k, f(2))
	LEAVE; //@ in LEAVE
	for (i = 0; SMALL(i); i++) say(); //@ SMALL(i)
	for (i = 0; f(i); i++) say(); //@ f(i)
	return 0;
}
END
"$STEMMA" cc --spec gcc -w -c forms.c -o forms.o 2>"$err" &&
	"$STEMMA" spec --json forms.o | jq -r '[.functions[].nodes[] | select(.kind == "decision")] | group_by(.line)[] | "\(.[0].line) \([.[].source] | join(";"))"' >known &&
	grep -n '//@ ' forms.c | sed 's/^\([0-9]*\):.*\/\/@ \(.*\)/\1 \2/' >wanted && echo "$(grep -n '	>$' forms.c | cut -d : -f 1) argc > 1" >>wanted && sort -n -o wanted wanted && diff wanted known >"$out"
check 'each form of a condition: its words as they were written'
[ -s wanted ] && [ "$(wc -l <wanted)" = "$(grep -v '^#' forms.c | grep -c '^	if (\|	CHECK\|	need\|	EACH\|	LEAVE\|while (\|for (\|switch (\| ? \|&& f(3)')" ]
check '... and none was left out of the comparison'

# What was changed since it was compiled is not read; nor what is gone.
sed 's/d < tol/d > tol/' forms.c >later.c && touch -d '1 hour ago' forms.o && cp later.c forms.c
cmd 0 spec --json forms.o && json '[.functions[].nodes[] | select(.kind == "decision")] | length > 30 and all(.source == null)'
check 'a source that was changed since: no words'
rm forms.c
cmd 0 spec --json forms.o && json '[.functions[].nodes[] | select(.kind == "decision")] | length > 30 and all(.source == null)'
check 'a source that is gone: no words'

# The specification of a program that was linked keeps them.
cat >kept.c <<'END'
#include <stdio.h>
int main(int argc, char **argv)
{
	if (argc < 2 && argv[0][0] != '\n')
		puts("few");
	return 0;
}
END
"$STEMMA" cc --operands gcc -w kept.c -o kept 2>"$err" && rm kept.c && mkdir a b && STEMMA_TRACE=$PWD/a ./kept >/dev/null && STEMMA_TRACE=$PWD/b ./kept 2 >/dev/null
cmd 1 diff --trace a b && says "$out" 'main() at kept.c:4: A took true, B false' '   argc < 2: 1 < 2 | 2 < 2'
check 'diff says them where the source is gone'
cmd 1 diff --trace --json a b && json '.threads[0].divergences[0].place.source == "argc < 2"'
check '... and in JSON'
cmd 0 spec kept && says "$out" 'argc < 2' "argv[0][0] != '\\n'"
check '... and stemma spec, with backslashes as they are'

# Bytes that no terminal is to see.
printf '#include <stdio.h>\nint main(int argc, char **argv)\n{\n\tif (argv[0][0] == "\033[31m\377\342\200\256"[argc])\n\t\tputs("x");\n\treturn 0;\n}\n' >bad.c
"$STEMMA" cc --spec gcc -w bad.c -o bad 2>"$err"
cmd 0 spec bad && says "$out" '"\x1b[31m\xff\xe2\x80\xae"[argc]' && ! LC_ALL=C grep -q "$(printf '[\033\377]')" "$out"
check 'bytes of the source that are no text are written out'
finish
