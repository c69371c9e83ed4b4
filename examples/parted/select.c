/* select IN OUT: every second value. */
#include <stdio.h>

int main(int argc, char **argv)
{
	FILE *in = argc == 3 ? fopen(argv[1], "r") : NULL, *out = argc == 3 ? fopen(argv[2], "w") : NULL;
	double x;
	if (!in || !out)
		return 1;
	for (int i = 0; fscanf(in, "%lf", &x) == 1; i++)
		if (i % 2 == 0)
			fprintf(out, "%.9g\n", x);
	fclose(in);
	return fclose(out) != 0;
}
