/* Options, one letter each, by the program itself. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(int argc, char **argv)
{
	int verbose = 0, size = 10;
	for (int i = 1; i < argc; i++)
		switch (argv[i][0]) {
		case 'v':
			verbose = 1;
			break;
		case 's':
			size = atoi(argv[i] + 1);
			break;
		default:
			break;
		}
	if (verbose)
		fprintf(stderr, "size %d\n", size); /* OUT said */
	FILE *f = fopen("data.txt", "r");
	int c, n = 0;
	while (f && (c = fgetc(f)) != EOF)
		n += c == '\n';
	FILE *g = fopen("lines.txt", "w");
	fprintf(g, "%d\n", n); /* OUT lines */
	fclose(g);
	for (int i = 0; i < size; i++)
		putchar('-'); /* OUT dashes */
	return 0;
}
