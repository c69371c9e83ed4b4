/* integrate IN OUT: the sum of the series, which is written only if it settles. */
#include <math.h>
#include <stdio.h>

static int settles(FILE *in, FILE *log, double *sum)
{
	double x;
	while (fscanf(in, "%lf", &x) == 1) {
		*sum += x;
		fprintf(log, "%.9g\n", *sum);
		if (fabs(x) < 1e-3) /* small enough */
			return 1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	FILE *in = argc == 4 ? fopen(argv[1], "r") : NULL, *log = argc == 4 ? fopen(argv[3], "w") : NULL;
	double sum = 0;
	if (!in || !log)
		return 1;
	if (settles(in, log, &sum)) {
		FILE *out = fopen(argv[2], "w");
		if (!out)
			return 1;
		fprintf(out, "%.9g\n", sum);
		fclose(out);
	}
	fclose(in);
	return fclose(log) != 0;
}
