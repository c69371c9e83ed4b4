#!/bin/sh
# Where ways out of a block join to clean up, and part again behind, clang chooses by a place that it stored: the branch of
# the source that led there is what differs first, in C (ends of lifetimes, arrays of variable length, cleanup) and C++.
# shellcheck disable=SC2154 # of lib.sh
spectrace=${STEMMA_SPECTRACE:-}
. "$(dirname "$0")/lib.sh"
. "$here/t/spec.sh"

needs_llvm
cat >life.c <<'END'
#include <stdio.h>
#include <stdlib.h>
static void leave(int *p) { *p = 0; }
static int scan(int n)
{
	for (int i = 0; i < n; i++) {
		char text[100];
		int k = i * 7 % 5;
		snprintf(text, sizeof(text), "%d", k);
		if (k == 2 && n > 4) /* line 10 */
			break;
		if (k == 1)
			continue;
		puts(text);
	}
	puts("end");
	return 0;
}
static int variable(int n)
{
	puts("begin");
	for (int i = 1; i < 4; i++) {
		char text[n + i];
		text[0] = (char)n;
		if (text[0] > 8) /* line 25 */
			return 1;
		__attribute__((cleanup(leave))) int open = i;
		if (open + n == 4) /* line 28 */
			break;
	}
	puts("end");
	return 0;
}
int main(int c, char **v)
{
	int n = atoi(v[2]);
	(void)c;
	return v[1][0] == 's' ? scan(n) : variable(n);
}
END
# differs PROGRAM CASE A B LINE
differs()
{
	rm -rf a b
	traces "./$1" "$2" "$3" && mv "$T/tr" a
	traces "./$1" "$2" "$4"
	mv "$T/tr" b
	cmd 1 diff --trace a b && says "$out" "first differs $5"
}
"$STEMMA" cc --trace gcc -g life.c -o life 2>"$err" && differs life scan 4 9 "scan() at life.c:10: A took false, B true" && says_not "$out" "case "
check "a break out of a block whose variables end"
differs life var 2 9 "variable() at life.c:25: A took false, B true"
check "out of a block with an array of variable length"
"$STEMMA" spec life >"$out" 2>"$err" && [ "$(sed -n '/^scan/,/^variable/p' "$out" | grep -c switch)" = 0 ]
check "of lifetimes there is no choice at all"

cat >clean.cc <<'END'
#include <cstdio>
#include <cstdlib>
#include <string>
struct guard {
	std::string s;
	explicit guard(int i) : s(std::to_string(i)) {}
	~guard() { if (s.size() > 60) std::puts("long"); }
};
static int scan(int n)
{
	int sum = 0;
	for (int i = 0; i < n; i++) {
		guard g(i);
		if (i * 7 % 5 == 4) // line 14
			break;
		if (i * 7 % 5 == 2 && n > 4) // line 16
			return sum;
		sum += (int)g.s.size();
	}
	std::puts("end");
	return 0;
}
static int last(int n)
{
	guard g(n);
	if (n > 5) // line 26
		return 0;
	std::string t(g.s);
	if (t.size() > 60)
		return 1;
	return 0;
}
int main(int, char **v)
{
	int n = std::atoi(v[2]);
	return v[1][0] == 's' ? scan(n) : last(n);
}
END
differs_plus()
{
	rm -rf a b
	traces ./clean "$1" "$2"
	mv "$T/tr" a
	traces ./clean "$1" "$3"
	mv "$T/tr" b
	cmd 1 diff --trace a b && says "$out" "first differs $4"
}
if "$STEMMA" cc --trace g++ -g clean.cc -o clean 2>"$err"; then
	differs_plus scan 4 9 "scan(int) at clean.cc:16: A took false, B true"
	check "C++: a return past a destructor"
	differs_plus last 5 6 "last(int) at clean.cc:26: A took false, B true"
	check "C++: the branch stands before the choice that it led to"
else
	skip "C++" "clang does not compile C++ here: $(head -n 1 "$err")"
fi
finish
