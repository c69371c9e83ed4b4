/* Through errno and what stands for it. */
#include <errno.h>
#include <fenv.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static int failed(void)
{
	return errno != 0;
}
int main(int argc, char **argv)
{
	char *end;
	(void)argc;
	/* -- */
	errno = 0;
	(void)strtol(argv[1], &end, 10);
	puts(failed() ? "out of range" : "fine"); /* OUT range */
	/* -- */
	errno = 0;
	volatile double root = sqrt(atof(argv[2]));
	(void)root;
	printf("%d\n", errno); /* OUT domain */
	/* -- */
	int before = errno = 0;
	if (access(argv[3], R_OK))
		before = errno;
	errno = 0;
	printf("%s\n", strerror(before)); /* OUT access */
	/* -- */
	errno = atoi(argv[4]);
	perror("state"); /* OUT perror */
	/* -- */
	errno = atoi(argv[5]);
	printf("%m\n"); /* OUT format */
	/* -- */
	feclearexcept(FE_ALL_EXCEPT);
	volatile double x = atof(argv[6]), y = 1 / x;
	(void)y;
	puts(fetestexcept(FE_DIVBYZERO) ? "divided" : "not"); /* OUT flags */
	/* -- */
	int *keep = &errno;
	*keep = 0;
	strtoul(argv[7], NULL, 10);
	printf("%d\n", *keep); /* OUT kept */
	return 0;
}
