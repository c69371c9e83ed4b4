/* Sums of a file's numbers: how many, how large. */
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
	double v, sum = 0;
	int n = 0, limit;
	(void)argc;
	limit = atoi(argv[1]);
	FILE *f = fopen("numbers.txt", "r");
	while (n < limit && fscanf(f, "%lf", &v) == 1) {
		sum += v;
		n++;
	}
	fclose(f);
	printf("%g\n", sum); /* OUT sum */
	FILE *log = fopen("log.txt", "w");
	fprintf(log, "scale %s\n", argv[2]); /* OUT log */
	fclose(log);
	return 0;
}
