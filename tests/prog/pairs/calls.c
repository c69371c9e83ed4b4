/* Calls: recursion, pointers, callbacks.
 * PAIR recursion: recursion 3 | recursion 5 | decision | true | false
 * PAIR mutual: mutual 4 | mutual 6 | decision | true | false
 * PAIR pointer: pointer 0 | pointer 1 | order | first | second
 * PAIR table: table 2 | table 0 | order | third | first
 * PAIR qsort: qsort 1 | qsort 2 | decision | true | false
 * PAIR deep: deep 1 | deep 2 | decision | true | false
 * PAIR second: twice 1 | twice 2 | decision | true | false */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void recursion(int n)
{
	puts("down");
	if (n == 0) /* @recursion */
		return;
	recursion(n - 1);
	puts("up");
}
static void odd(int n);
static void even(int n)
{
	puts("even");
	if (n == 0) /* @mutual */
		return;
	odd(n - 1);
}
static void odd(int n)
{
	puts("odd");
	if (n == 0)
		return;
	even(n - 1);
}
static void first(void)
{
	puts("first");
}
static void second(void)
{
	puts("second");
}
static void third(void)
{
	puts("third");
}
static int wanted;
static int compare(const void *x, const void *y)
{
	int a = *(const int *)x, b = *(const int *)y;
	if (a * b == wanted * 5) /* @qsort */
		puts("seen");
	return a - b;
}
static void inmost(int n)
{
	puts("in");
	if (n == 1) /* @deep */
		puts("one");
}
static void middle(int n)
{
	puts("middle");
	inmost(n);
	puts("middle again");
}
static void twice(int n, int again)
{
	puts("twice");
	if (again && n == 1) /* @second */
		puts("one");
}
int main(int argc, char **argv)
{
	int n = atoi(argv[2]);
	void (*const table[])(void) = {first, second, third};
	(void)argc;
	if (!strcmp(argv[1], "recursion"))
		recursion(n);
	if (!strcmp(argv[1], "mutual"))
		even(n);
	if (!strcmp(argv[1], "pointer")) {
		void (*f)(void) = n ? second : first;
		f(); /* @pointer */
	}
	if (!strcmp(argv[1], "table"))
		table[n](); /* @table */
	if (!strcmp(argv[1], "qsort")) {
		int v[] = {5, 1, 4, 2, 3};
		wanted = n;
		qsort(v, 5, sizeof(*v), compare);
	}
	if (!strcmp(argv[1], "deep"))
		middle(n);
	if (!strcmp(argv[1], "twice")) {
		twice(n, 0);
		twice(n, 1);
	}
	puts("end");
	return 0;
}
