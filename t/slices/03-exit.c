/* What follows a way out depends on why it was not taken. */
#include <stdio.h>
#include <stdlib.h>
static void check(const char *s)
{
	if (atoi(s) < 0) {
		fprintf(stderr, "negative\n"); /* OUT error */
		exit(1);
	}
}
int main(int argc, char **argv)
{
	(void)argc;
	puts("begin"); /* OUT begin */
	check(argv[1]);
	puts("middle"); /* OUT middle */
	check(argv[2]);
	puts("end"); /* OUT end */
	return 0;
}
