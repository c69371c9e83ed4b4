/* Calls through pointers in a table. */
#include <stdio.h>
#include <stdlib.h>
static int twice(int n)
{
	return 2 * n;
}
static int square(int n)
{
	return n * n;
}
static int (*const table[])(int) = {twice, square};
int main(int argc, char **argv)
{
	(void)argc;
	int which = atoi(argv[1]) & 1;
	printf("%d\n", table[which](5)); /* OUT chosen */
	printf("%d\n", table[0](atoi(argv[2]))); /* OUT given */
	printf("%s\n", getenv("HOME")); /* OUT home */
	return 0;
}
