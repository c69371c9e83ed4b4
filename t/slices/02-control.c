/* A value that is only decided, never computed from. */
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
	const char *word = "none";
	int n = 0;
	(void)argc;
	if (atoi(argv[1]) > 3)
		word = "many";
	for (int i = 0; i < atoi(argv[2]); i++)
		n++;
	printf("%s\n", word); /* OUT word */
	printf("%d\n", n); /* OUT count */
	if (getenv("VERBOSE"))
		puts("verbose"); /* OUT verbose */
	return 0;
}
