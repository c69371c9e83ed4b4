/* Control that no `if` shows: computed jumps, falling through, the count of a loop elsewhere. */
#include <stdio.h>
#include <stdlib.h>
static int steps;
static void walk(int n)
{
	if (n <= 0)
		return;
	steps++;
	walk(n - 1);
}
int main(int argc, char **argv)
{
	(void)argc;
	/* -- */
	static void *const places[] = {&&a, &&b, &&c};
	goto *places[atoi(argv[1]) % 3];
a:
	puts("a"); /* OUT first */
b:
	puts("b"); /* OUT second */
c:
	puts("c"); /* OUT third */
	/* -- */
	walk(atoi(argv[2]));
	printf("%d\n", steps); /* OUT steps */
	/* -- */
	int n = 0;
	switch (atoi(argv[3])) {
	case 2:
		n++;
		/* fall through */
	case 1:
		n++;
		/* fall through */
	default:
		n++;
	}
	for (int i = 0; i < n; i++)
		putchar('.'); /* OUT dots */
	/* -- */
	for (int i = 0; i < 5; i++) {
		for (int j = 0; j < 5; j++)
			if (i * j == atoi(argv[4]))
				goto out;
		putchar('#'); /* OUT rows */
	}
out:
	puts("end"); /* OUT end */
	return 0;
}
