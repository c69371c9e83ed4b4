#!/bin/sh
# A program that is linked to be traced has two versions of each function. Whichever runs, the program does what it does without: pointers to
# functions, tables of labels, weak functions and aliases, variables of functions, arguments of all kinds, exceptions.
# shellcheck disable=SC2154 # of lib.sh
spectrace=${STEMMA_SPECTRACE:-}
. "$(dirname "$0")/lib.sh"
. "$here/t/spec.sh"

needs_llvm
cat >other.c <<'END'
#include <stdio.h>
int replaced(int x) { printf("strong %d\n", x); return x + 1; }
static int twice(int x) { printf("other's twice %d\n", x); return 2 * x; }
int (*others_twice)(int) = twice;
END
cat >v.c <<'END'
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
struct big { double a[6]; int n; };
struct small { int a, b; };
typedef int (*function)(int);
__attribute__((weak)) int replaced(int x) { printf("weak %d\n", x); return x; }
__attribute__((weak)) int kept(int x) { printf("kept %d\n", x); return x + 5; }
static int twice(int x) { printf("twice %d\n", x); return 2 * x; }
int aliased(int x) { printf("aliased %d\n", x); return x - 1; }
int by_alias(int) __attribute__((alias("aliased")));
extern function others_twice;
static function const table[] = {twice, aliased, by_alias, kept};
static int count(void)
{
	static int n;
	printf("count %d\n", ++n);
	return n;
}
static struct big change(struct big b, long double f, struct small s)
{
	printf("change %g %Lg %d\n", b.a[5], f, s.b);
	b.n += s.a;
	b.a[0] = (double)f;
	return b;
}
static int sum(const char *what, ...)
{
	va_list l;
	int s = 0, x;
	va_start(l, what);
	while ((x = va_arg(l, int)))
		s += x;
	va_end(l);
	printf("%s %d\n", what, s);
	return s;
}
static int run(const char *code)
{
	static const void *const labels[] = {&&stop, &&add, &&show, &&back};
	int a = 0, turns = 0;
	goto *labels[code[0] - '0'];
add:
	a += 3;
	code++;
	goto *labels[code[0] - '0'];
show:
	printf("show %d\n", a);
	code++;
	goto *labels[code[0] - '0'];
back:
	if (turns++ < 2)
		code -= 2;
	else
		code++;
	goto *labels[code[0] - '0'];
stop:
	return a;
}
static int compare(const void *a, const void *b)
{
	if (*(const int *)a == 3 && *(const int *)b == 3)
		puts("equal");
	return *(const int *)a - *(const int *)b;
}
static jmp_buf place;
static void leave(int n)
{
	if (n == 0) {
		puts("jump");
		longjmp(place, 7);
	}
	leave(n - 1);
	puts("never");
}
static _Noreturn void finish(int n)
{
	printf("finish %d\n", n);
	exit(n);
}
int main(int c, char **v)
{
	function f = c > 1 ? twice : aliased;
	int order[] = {3, 1, 3, 2};
	struct big b = {{1, 2, 3, 4, 5, 6}, 1};
	(void)v;
	for (int i = 0; i < 4; i++)
		printf("%d %d\n", table[i](i + 1), f == table[i]);
	printf("%d %d\n", by_alias == aliased, others_twice == table[0]);
	printf("%d\n", replaced(1));
	printf("%d\n", others_twice(4));
	printf("%d\n", kept(1));
	count();
	count();
	b = change(b, 1.5L, (struct small){4, 9});
	printf("%d %g\n", b.n, b.a[0]);
	printf("%d\n", sum("sum", 1, 2, 3, 0));
	printf("%d\n", run("12132130"));
	qsort(order, 4, sizeof(*order), compare);
	printf("%d %d\n", order[0], order[3]);
	int came = setjmp(place);
	if (came)
		finish(came);
	leave(3);
}
END
cat >x.cc <<'END'
#include <cstdio>
#include <stdexcept>
#include <vector>
struct shape { virtual ~shape() { std::puts("gone"); } virtual int area() const { std::puts("shape"); return 1; } };
struct square : shape { int n; explicit square(int k) : n(k) {} int area() const override { std::printf("square %d\n", n); return n * n; } };
template <class T> int total(const std::vector<T> &v) { int s = 0; for (auto *p : v) { s += p->area(); if (s > 20) throw std::runtime_error("too much"); } return s; }
int main(int c, char **)
{
	std::vector<shape *> v{new shape, new square(3)};
	for (int i = 0; i < c; i++)
		v.push_back(new square(4));
	try {
		std::printf("%d\n", total(v));
	} catch (const std::exception &e) {
		std::printf("caught %s\n", e.what());
	}
	for (auto *p : v)
		delete p;
	int (shape::*m)() const = &shape::area;
	return (square(2).*m)() == 4 ? 0 : 1;
}
END
gcc -w -O1 v.c other.c -o plain && ./plain >want
expected=$?
for how in "--trace -O0" "--trace -O2" "--operands -O3" "--trace -O2 -no-pie" "--trace -O2 -static"; do
	# shellcheck disable=SC2086 # words
	set -- $how
	own=$1
	shift
	"$STEMMA" cc "$own" gcc -w -g "$@" v.c other.c -o v 2>"$err"
	./v >"$out" && false
	[ $? = $expected ] && cmp want "$out"
	check "stemma cc $how: not traced, it does what it does without"
	traces ./v
	[ $? = $expected ] && cmp want "$T/said" && shown v && says "$out" "run(" "leave(" "fits"
	check "stemma cc $how: traced, too, and the trace is whole"
done
nm v | grep -q ' [tT] .*\.plain$' && nm v | grep -q ' [tT] .*\.traced$'
check "there are two versions"
if gcc -w -O1 x.cc -o xplain -lstdc++ && "$STEMMA" cc --trace g++ -w -g -O2 x.cc -o x 2>"$err"; then
	./xplain >want && ./x >"$out" && cmp want "$out"
	check "C++, not traced"
	traces ./x && cmp want "$T/said" && shown x && says "$out" "fits"
	check "C++, traced"
else
	skip "C++" "it does not compile here: $(head -n 1 "$err")"
fi
# What is decided at the start stays: a variable that comes later changes nothing.
cat >late.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(int c, char **v)
{
	setenv("STEMMA_TRACE", v[1], 1);
	puts("begun");
	return c == 2 ? 0 : 1;
}
END
mkdir late.d && "$STEMMA" cc --trace gcc -g late.c -o late 2>"$err" && ./late late.d >"$out" && [ -z "$(ls late.d)" ]
check "whether it is traced is decided once"
finish
