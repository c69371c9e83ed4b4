/* Writes a file as numbers, to be included in an array: used by the build. */
#include <stdio.h>

/* Prints the bytes of a file as a C initializer. 1: it cannot be read. */
int main(int argc, char **argv)
{
	FILE *f = argc > 1 ? fopen(argv[1], "rb") : NULL;
	int c;
	if (!f)
		return 1;
	for (size_t n = 0; (c = getc(f)) != EOF; n++)
		printf("%d,%s", c, n % 32 == 31 ? "\n" : "");
	return ferror(f) || fclose(f);
}
