/* What is said to be true is so in the source: each form of a condition, as it is and with a `!`. Arguments: the form,
 * then the values.
 * PAIR if: if 1 | if 0 | decision | true | false
 * PAIR if-not: if-not 1 | if-not 0 | decision | false | true
 * PAIR else: else 1 | else 0 | decision | true | false
 * PAIR else-not: else-not 1 | else-not 0 | decision | false | true
 * PAIR twice-not: twice-not 1 | twice-not 0 | decision | true | false
 * PAIR less: less 1 | less 3 | decision | true | false
 * PAIR less-not: less-not 1 | less-not 3 | decision | false | true
 * PAIR real-not: real-not 1 | real-not 3 | decision | false | true
 * PAIR null-not: null-not 1 | null-not 0 | decision | false | true
 * PAIR bool-not: bool-not 1 | bool-not 0 | decision | false | true
 * PAIR expect-not: expect-not 1 | expect-not 0 | decision | false | true
 * PAIR while: while 2 | while 4 | turns | false | true
 * PAIR while-not: while-not 2 | while-not 4 | turns | false | true
 * PAIR for: for 2 | for 4 | turns | false | true
 * PAIR for-not: for-not 2 | for-not 4 | turns | false | true
 * PAIR do: do 2 | do 4 | turns | false | true
 * PAIR do-not: do-not 2 | do-not 4 | turns | false | true
 * PAIR choice: choice 1 | choice 0 | decision | true | false
 * PAIR choice-not: choice-not 1 | choice-not 0 | decision | false | true
 * PAIR and-1: and 1 1 | and 0 1 | decision | true | false
 * PAIR and-2: and 1 1 | and 1 0 | decision | true | false
 * PAIR and-not-1: and-not 1 0 | and-not 0 0 | decision | false | true
 * PAIR and-not-2: and-not 0 1 | and-not 0 0 | decision | false | true
 * PAIR or-1: or 1 0 | or 0 0 | decision | true | false
 * PAIR or-2: or 0 1 | or 0 0 | decision | true | false
 * PAIR or-not-1: or-not 1 1 | or-not 0 1 | decision | false | true
 * PAIR or-not-2: or-not 1 1 | or-not 1 0 | decision | false | true
 * PAIR not-and-1: not-and 1 1 | not-and 0 1 | decision | false | true
 * PAIR not-and-2: not-and 1 1 | not-and 1 0 | decision | false | true
 * PAIR not-or-1: not-or 1 0 | not-or 0 0 | decision | false | true
 * PAIR not-or-2: not-or 0 1 | not-or 0 0 | decision | false | true
 * PAIR deep-and-1: deep-and 1 1 1 | deep-and 0 1 1 | decision | false | true
 * PAIR deep-and-2: deep-and 1 1 1 | deep-and 1 0 1 | decision | false | true
 * PAIR deep-and-3: deep-and 0 1 1 | deep-and 0 1 0 | decision | true | false
 * PAIR deep-or-1: deep-or 1 0 0 | deep-or 0 0 0 | decision | false | true
 * PAIR deep-or-2: deep-or 0 1 0 | deep-or 0 0 0 | decision | false | true
 * PAIR deep-or-3: deep-or 1 0 1 | deep-or 1 0 0 | decision | true | false
 * PAIR value-and: value-and 1 | value-and 0 | decision | true | false
 * PAIR value-and-not: value-and-not 1 | value-and-not 0 | decision | false | true
 * PAIR value-or: value-or 1 | value-or 0 | decision | true | false
 * PAIR value-or-not: value-or-not 1 | value-or-not 0 | decision | false | true */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *form;

static bool is(const char *name)
{
	return strcmp(form, name) == 0;
}

static void one(int a, double d, const char *p, bool b)
{
	if (is("if"))
		if (a) /* @if */
			puts("x");
	if (is("if-not"))
		if (!a) /* @if-not */
			puts("x");
	if (is("else")) {
		if (a) /* @else */
			puts("x");
		else
			puts("y");
	}
	if (is("else-not")) {
		if (!a) /* @else-not */
			puts("x");
		else
			puts("y");
	}
	if (is("twice-not"))
		if (!!a) /* @twice-not */
			puts("x");
	if (is("less"))
		if (a < 2) /* @less */
			puts("x");
	if (is("less-not"))
		if (!(a < 2)) /* @less-not */
			puts("x");
	if (is("real-not"))
		if (!(d < 2)) /* @real-not */
			puts("x");
	if (is("null-not"))
		if (!p) /* @null-not */
			puts("x");
	if (is("bool-not"))
		if (!b) /* @bool-not */
			puts("x");
	if (is("expect-not"))
		if (__builtin_expect(!!(!a), 0)) /* @expect-not */
			puts("x");
}

static void loops(int n)
{
	int i = 0;
	if (is("while"))
		while (i < n) { /* @while */
			puts("x");
			i++;
		}
	if (is("while-not"))
		while (!(i == n)) { /* @while-not */
			puts("x");
			i++;
		}
	if (is("for"))
		for (i = 0; i < n; i++) /* @for */
			puts("x");
	if (is("for-not"))
		for (i = 0; !(i == n); i++) /* @for-not */
			puts("x");
	if (is("do"))
		do {
			puts("x");
			i++;
		} while (i < n); /* @do */
	if (is("do-not"))
		do {
			puts("x");
			i++;
		} while (!(i == n)); /* @do-not */
}

static void several(int a, int b, int c)
{
	if (is("and"))
		if (a && b) /* @and-1 @and-2 */
			puts("x");
	if (is("and-not"))
		if (!a && !b) /* @and-not-1 @and-not-2 */
			puts("x");
	if (is("or"))
		if (a || b) /* @or-1 @or-2 */
			puts("x");
	if (is("or-not"))
		if (!a || !b) /* @or-not-1 @or-not-2 */
			puts("x");
	if (is("not-and"))
		if (!(a && b)) /* @not-and-1 @not-and-2 */
			puts("x");
	if (is("not-or"))
		if (!(a || b)) /* @not-or-1 @not-or-2 */
			puts("x");
	if (is("deep-and"))
		if (!(a && b) && c) /* @deep-and-1 @deep-and-2 @deep-and-3 */
			puts("x");
	if (is("deep-or"))
		if (!(a || b) || c) /* @deep-or-1 @deep-or-2 @deep-or-3 */
			puts("x");
}

static int values(int a)
{
	int ret = 0;
	if (is("choice"))
		a ? puts("x") : fputs("y", stdout); /* @choice */
	if (is("choice-not"))
		!a ? puts("x") : fputs("y", stdout); /* @choice-not */
	if (is("value-and"))
		ret = a && puts("x"); /* @value-and */
	if (is("value-and-not"))
		ret = !a && puts("x"); /* @value-and-not */
	if (is("value-or"))
		ret = a || puts("x"); /* @value-or */
	if (is("value-or-not"))
		ret = !a || puts("x"); /* @value-or-not */
	return ret;
}

int main(int argc, char **argv)
{
	int v[3] = {0};
	form = argv[1];
	for (int i = 0; i < 3 && i + 2 < argc; i++)
		v[i] = atoi(argv[i + 2]);
	one(v[0], v[0], v[0] ? form : NULL, v[0]);
	loops(v[0]);
	several(v[0], v[1], v[2]);
	return values(v[0]) > 1;
}
