/* report ANALYSIS OUT: a line of text. */
#include <stdio.h>

int main(int argc, char **argv)
{
	FILE *in = argc == 3 ? fopen(argv[1], "r") : NULL, *out = argc == 3 ? fopen(argv[2], "w") : NULL;
	char line[200];
	if (!in || !out || !fgets(line, sizeof(line), in))
		return 1;
	fprintf(out, "integration: %s", line);
	fclose(in);
	return fclose(out) != 0;
}
