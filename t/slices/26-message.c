/* Messages that the library makes: of the last failure, with the program's name; and printing through a pointer. */
#include <errno.h>
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
static int (*const print)(char *, size_t, const char *, ...) = snprintf;
static int (*volatile maybe)(char *, size_t, const char *, ...) = snprintf;
int main(int argc, char **argv)
{
	char b[128];
	int n = atoi(argv[4]);
	(void)argc;
	fprintf(stderr, "%s\n", getenv("ONLY")); /* OUT only */
	maybe(b, sizeof(b), "%d %d %d %d %d %d %d %d %d %d", 1, 2, 3, 4, 5, 6, 7, 8, 9, n);
	fputs(b, stderr); /* OUT through */
	fputs(argv[3], stderr); /* OUT third */
	warnx("%s", argv[0] ? "named" : "none"); /* OUT named */
	FILE *f = fopen(argv[1], "r");
	if (!f)
		fprintf(stderr, "%m\n"); /* OUT failure */
	(void)print;
	return 0;
}
