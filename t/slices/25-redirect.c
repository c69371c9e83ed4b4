/* Standard output that is something else, and standard input by its name. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	int p[2];
	char back[64] = "", *word = NULL;
	(void)argc;
	FILE *in = fopen("/dev/stdin", "r");
	char c = (char)fgetc(in);
	if (pipe(p) < 0)
		return 1;
	write(2, getenv("PLAIN"), 3); /* OUT plain */
	int keep = dup(1);
	dup2(p[1], 1);
	printf("%s\n", argv[1]); /* OUT into */
	fflush(stdout);
	dup2(keep, 1);
	read(p[0], back, sizeof(back) - 1);
	write(2, back, strlen(back)); /* OUT back */
	sscanf(argv[2], "%ms", &word);
	write(2, word, strlen(word)); /* OUT word */
	write(2, &c, 1); /* OUT byte */
	return 0;
}
