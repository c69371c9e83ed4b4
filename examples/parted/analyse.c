/* analyse LOG OUT: how many steps the integration made, and the last of them. */
#include <stdio.h>

int main(int argc, char **argv)
{
	FILE *in = argc == 3 ? fopen(argv[1], "r") : NULL, *out = argc == 3 ? fopen(argv[2], "w") : NULL;
	double x = 0;
	int n = 0;
	if (!in || !out)
		return 1;
	while (fscanf(in, "%lf", &x) == 1)
		n++;
	fprintf(out, "%d steps, last %.9g\n", n, x);
	fclose(in);
	return fclose(out) != 0;
}
