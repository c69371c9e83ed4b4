/* Variables of the library: what it sets, what the program sets, what both share. */
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
extern char **environ;
static char *mine[2];
int main(int argc, char **argv)
{
	char buffer[BUFSIZ], *list[4] = {"p", argv[1], "rest", NULL};
	/* -- */
	opterr = 0;
	int c = getopt(3, list, "a:b");
	putchar(c == 'a' ? 'a' : '-'); /* OUT option */
	printf("%d\n", optind); /* OUT place */
	puts(optarg ? optarg : ""); /* OUT operand */
	/* -- */
	setenv("TZ", argv[2], 1);
	tzset();
	printf("%ld\n", timezone); /* OUT zone */
	puts(tzname[0]); /* OUT name */
	/* -- */
	mine[0] = argv[3];
	environ = mine;
	char *v = getenv("PLANTED");
	puts(v ? v : "none"); /* OUT environ */
	/* -- */
	(void)lgamma(atof(argv[4]));
	printf("%d\n", signgam); /* OUT sign */
	/* -- */
	FILE *f = fopen("buffered", "w");
	memset(buffer, 0, sizeof(buffer));
	setvbuf(f, buffer, _IOFBF, sizeof(buffer));
	fputs(argv[5], f);
	puts(buffer); /* OUT buffer */
	/* -- */
	FILE *old = stdout;
	stdout = atoi(argv[6]) ? stderr : stdout;
	printf("where\n"); /* OUT where */
	stdout = old;
	/* -- */
	program_invocation_name = argv[7];
	puts(program_invocation_name); /* OUT called */
	/* -- */
	puts(argc > 8 ? "more" : "no more"); /* OUT count */
	return 0;
}
