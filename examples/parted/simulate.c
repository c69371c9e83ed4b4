/* simulate PARAMETERS OUT: a series that falls at the rate that the parameters give. */
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	double rate = 0, x = 1;
	FILE *in = argc == 3 ? fopen(argv[1], "r") : NULL, *out = argc == 3 ? fopen(argv[2], "w") : NULL;
	if (!in || !out || fscanf(in, "rate %lf", &rate) != 1)
		return 1;
	for (int i = 0; i < 40; i++) {
		fprintf(out, "%.9g\n", x);
		x *= rate;
	}
	fclose(in);
	return fclose(out) != 0;
}
