/* Loops: a different number of turns, and other things that may happen in one.
 * PAIR for: for 3 | for 5 | turns | false | true
 * PAIR none: for 0 | for 2 | turns | false | true
 * PAIR break: break 3 | break 7 | turns | true | false
 * PAIR do: do 2 | do 4 | turns | false | true
 * PAIR nested: nested 3 2 | nested 3 4 | turns | false | true
 * PAIR outer: nested 2 2 | nested 4 2 | turns | false | true
 * PAIR inside: inside 4 | inside 6 | decision | true | false
 * PAIR continue: continue 2 | continue 5 | decision | true | false
 * PAIR goto: goto 2 | goto 3 | turns | false | true
 * PAIR leave: leave 2 | leave 3 | turns | true | false
 * PAIR late: late 900 | late 901 | decision | true | false */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void leave(int n)
{
	for (int i = 0; i < 10; i++) {
		puts("turn");
		for (int k = 0; k < 2; k++) {
			puts("inner");
			if (i == n) /* @leave */
				return;
		}
	}
}

int main(int argc, char **argv)
{
	int n = atoi(argv[2]), m = argc > 3 ? atoi(argv[3]) : 0;
	if (!strcmp(argv[1], "for"))
		for (int i = 0; i < n; i++) /* @for @none */
			puts("turn");
	if (!strcmp(argv[1], "break"))
		for (int i = 0; i < 20; i++) {
			puts("turn");
			if (i == n) /* @break */
				break;
		}
	if (!strcmp(argv[1], "do")) {
		do {
			puts("turn");
		} while (--n > 0); /* @do */
	}
	if (!strcmp(argv[1], "nested"))
		for (int i = 0; i < n; i++) {   /* @outer */
			for (int k = 0; k < m; k++) /* @nested */
				puts("inner");
			puts("outer");
		}
	if (!strcmp(argv[1], "inside"))
		for (int i = 0; i < 10; i++) {
			if (i == n) /* @inside */
				puts("this one");
			puts("turn");
		}
	if (!strcmp(argv[1], "continue"))
		for (int i = 0; i < 8; i++) {
			if (i == n) /* @continue */
				continue;
			puts("turn");
		}
	if (!strcmp(argv[1], "goto")) {
		int i = 0;
	again:
		puts("turn");
		if (++i < n) /* @goto */
			goto again;
	}
	if (!strcmp(argv[1], "leave"))
		leave(n);
	if (!strcmp(argv[1], "late"))
		for (int i = 0; i < 1000; i++) {
			puts("turn");
			if (i == n) /* @late */
				puts("late");
		}
	puts("end");
	return 0;
}
