/* Long jumps: the value, from deep below, out of a handler and a callback. */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>
static jmp_buf top;
static sigjmp_buf sig;
static jmp_buf *where = &top;
static int deep(int n, int limit)
{
	if (n == limit)
		longjmp(*where, n);
	return n > 10 ? 0 : deep(n + 1, limit) + 1;
}
static void handler(int s)
{
	siglongjmp(sig, s);
}
static int stop_at;
static int compare(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;
	if (x == stop_at)
		longjmp(top, 3);
	return x - y;
}
int main(int argc, char **argv)
{
	volatile int passed = 0, cut = 0;
	(void)argc;
	/* -- */
	int r = setjmp(top);
	if (!r)
		passed = deep(1, atoi(argv[1]));
	printf("%d\n", r); /* OUT value */
	printf("%d\n", passed); /* OUT local */
	/* -- */
	signal(SIGUSR1, handler);
	if (!sigsetjmp(sig, 1)) {
		if (atoi(argv[2]))
			raise(SIGUSR1);
		puts("no signal"); /* OUT quiet */
	}
	/* -- */
	int v[] = {3, 1, 2};
	stop_at = atoi(argv[3]);
	if (!setjmp(top))
		qsort(v, 3, sizeof(v[0]), compare);
	else
		cut = 1;
	puts(cut ? "cut" : "sorted"); /* OUT cut */
	/* -- */
	ucontext_t here;
	volatile int round = 0;
	getcontext(&here);
	round++;
	putchar('r'); /* OUT rounds */
	if (round < atoi(argv[4]))
		setcontext(&here);
	return 0;
}
