/* Two arguments, two sums. */
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
	(void)argc;
	int a = atoi(argv[1]), b = atoi(argv[2]);
	int x = a * 3 + 1, y = b - 7;
	printf("%d\n", x); /* OUT x */
	printf("%d\n", y); /* OUT y */
	printf("%d\n", x + y); /* OUT both */
	puts("end"); /* OUT end */
	return 0;
}
