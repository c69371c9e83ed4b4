/* Equal control.
 * PAIR data: 3 | 5 | data | |
 * PAIR same: 4 | 4 | same | |
 * PAIR output: 4 hello | 4 world | same | | */
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
	int n = atoi(argv[1]);
	puts(argc > 2 ? argv[2] : "begin");
	if (n < 10) /* @data */
		puts("few");
	return 0;
}
