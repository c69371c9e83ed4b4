/* Through functions of the library. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(int argc, char **argv)
{
	char a[64], b[64], *end, *c = strdup(argv[3]);
	(void)argc;
	strncpy(a, argv[1], sizeof(a) - 1);
	a[63] = 0;
	snprintf(b, sizeof(b), "<%s>", a);
	memset(a, 'x', 5);
	long n = strtol(argv[2], &end, 10);
	puts(b); /* OUT b */
	printf("%ld %s\n", n, end); /* OUT n */
	puts(strchr(c, ':') ? c : "-"); /* OUT c */
	free(c);
	return 0;
}
