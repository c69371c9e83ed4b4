/* Decisions of every form.
 * PAIR if: if 1 | if 2 | decision | true | false
 * PAIR no-else: else 1 | else 2 | decision | true | false
 * PAIR chain: chain 1 | chain 3 | decision | true | false
 * PAIR chain-last: chain 2 | chain 1 | decision | false | true
 * PAIR and: and 1 1 | and 1 0 | decision | true | false
 * PAIR or: or 0 1 | or 0 0 | decision | true | false
 * PAIR ternary: ternary 1 | ternary 0 | decision | true | false
 * PAIR nested: nested 1 1 | nested 1 2 | decision | true | false
 * PAIR early: early 0 | early 5 | decision | true | false
 * PAIR null: null 1 | null | decision | true | false
 * PAIR real: real 0.5 | real 1.5 | decision | true | false */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void in_if(int n)
{
	if (n == 1) /* @if */
		puts("one");
	else
		puts("other");
	puts("end");
}
static void in_else(int n)
{
	puts("begin");
	if (n == 1) /* @no-else */
		puts("one");
	puts("end");
}
static void in_chain(int n)
{
	if (n == 1) /* @chain @chain-last */
		puts("one");
	else if (n == 2)
		puts("two");
	else if (n == 3)
		puts("three");
	else
		puts("many");
}
static void in_and(int a, int b)
{
	if (a && b) /* @and */
		puts("both");
	puts("end");
}
static void in_or(int a, int b)
{
	if (a || b) /* @or */
		puts("one of them");
	puts("end");
}
static void in_nested(int a, int b)
{
	if (a == 1) {
		puts("a");
		if (b == 1) /* @nested */
			puts("ab");
	}
	puts("end");
}
static int in_early(int n)
{
	puts("begin");
	if (n == 0) /* @early */
		return 1;
	puts("it goes on");
	return 0;
}
static void in_null(const char *s)
{
	if (s) /* @null */
		puts(s);
	puts("end");
}
static void in_real(double d)
{
	if (d < 1) /* @real */
		puts("less");
	else
		puts("more");
}
int main(int argc, char **argv)
{
	int a = argc > 2 ? atoi(argv[2]) : 0, b = argc > 3 ? atoi(argv[3]) : 0;
	if (!strcmp(argv[1], "if"))
		in_if(a);
	if (!strcmp(argv[1], "else"))
		in_else(a);
	if (!strcmp(argv[1], "chain"))
		in_chain(a);
	if (!strcmp(argv[1], "and"))
		in_and(a, b);
	if (!strcmp(argv[1], "or"))
		in_or(a, b);
	if (!strcmp(argv[1], "ternary"))
		puts(a ? "yes" : "no"), a ? puts("y") : fputs("n", stdout); /* @ternary */
	if (!strcmp(argv[1], "nested"))
		in_nested(a, b);
	if (!strcmp(argv[1], "early"))
		in_early(a);
	if (!strcmp(argv[1], "null"))
		in_null(argc > 2 ? argv[2] : NULL);
	if (!strcmp(argv[1], "real"))
		in_real(atof(argv[2]));
	return 0;
}
