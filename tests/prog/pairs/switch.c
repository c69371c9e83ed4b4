/* Switches.
 * PAIR cases: 1 | 2 | decision | case 1 | case 2
 * PAIR default: 2 | 9 | decision | case 2 | default
 * PAIR fall: 3 | 4 | decision | case 3 | case 4
 * PAIR again: 11 | 12 | decision | false | true */
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
	int n = atoi(argv[1]);
	(void)argc;
	puts("begin");
	switch (n) { /* @cases @default @fall */
	case 1:
		puts("one");
		break;
	case 2:
		puts("two");
		break;
	case 3:
		puts("three");
		/* fall through */
	case 4:
		puts("three or four");
		break;
	default:
		puts("many");
	}
	if (n == 12) /* @again */
		puts("twelve");
	return 0;
}
