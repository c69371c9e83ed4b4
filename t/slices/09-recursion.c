/* A function that calls itself. */
#include <stdio.h>
#include <stdlib.h>
static unsigned long fact(unsigned n)
{
	return n < 2 ? 1 : n * fact(n - 1);
}
static void count(int n)
{
	if (n <= 0)
		return;
	putchar('.'); /* OUT dots */
	count(n - 1);
}
int main(int argc, char **argv)
{
	(void)argc;
	printf("%lu\n", fact((unsigned)atoi(argv[1]))); /* OUT fact */
	count(atoi(argv[2]));
	puts(""); /* OUT newline */
	return 0;
}
