/* What was read, closed or renamed before decides what a later call does. */
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
	char line[32] = "";
	(void)argc;
	fprintf(stderr, "%s\n", getenv("FIRST")); /* OUT first */
	if (*argv[1] == 'x')
		getchar();
	printf("%c\n", getchar()); /* OUT letter */
	FILE *f = fopen("new.txt", "w");
	fputs(argv[2], f); /* OUT new */
	fclose(f);
	rename("new.txt", "old.txt");
	f = fopen("old.txt", "r");
	fgets(line, sizeof(line), f);
	fprintf(stderr, "%s\n", line); /* OUT old */
	if (*argv[3] == 'c')
		fclose(stdout);
	puts("last"); /* OUT last */
	return 0;
}
