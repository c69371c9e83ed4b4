/* Different builds: B's is made with -DOTHER.
 * BUILD -DOTHER
 * PAIR line: 1 | 1 | build | |
 * PAIR more: 2 | 2 | order | |
 * PAIR unchanged: 3 | 4 | decision | true | false */
#include <stdio.h>
#include <stdlib.h>
static void changed(void)
{
	puts("changed"); /* @more */
#ifdef OTHER
	fputs("more\n", stdout);
#endif
}
static void unchanged(int n)
{
	if (n == 3) /* @unchanged */
		puts("three");
	puts("unchanged");
}
int main(int argc, char **argv)
{
	int n = atoi(argv[1]);
	(void)argc;
	if (n == 2)
		changed();
	if (n > 2)
		unchanged(n);
	return 0;
}
