/* A value goes through a file; another file does not have it. */
#include <stdio.h>
#include <stdlib.h>
static int number_in(const char *line)
{
	return atoi(line);
}
int main(int argc, char **argv)
{
	char line[64] = "", other[64] = "";
	(void)argc;
	FILE *f = fopen("middle.txt", "w");
	fprintf(f, "%s\n", argv[1]); /* OUT write */
	fclose(f);
	f = fopen("middle.txt", "r");
	fgets(line, sizeof(line), f);
	fclose(f);
	FILE *g = fopen("other.txt", "r");
	fgets(other, sizeof(other), g);
	fclose(g);
	printf("%d\n", number_in(line)); /* OUT middle */
	printf("%d\n", number_in(other)); /* OUT other */
	return 0;
}
