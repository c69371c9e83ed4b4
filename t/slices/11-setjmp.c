/* A long jump brings a value and a way. */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
static jmp_buf back;
static void work(const char *s)
{
	int n = atoi(s);
	if (n > 10)
		longjmp(back, n);
}
int main(int argc, char **argv)
{
	(void)argc;
	puts("start"); /* OUT start */
	int r = setjmp(back);
	if (r) {
		printf("failed %d\n", r); /* OUT failed */
		return 1;
	}
	work(argv[1]);
	puts("worked"); /* OUT worked */
	fputs(argv[2], stdout); /* OUT second */
	return 0;
}
