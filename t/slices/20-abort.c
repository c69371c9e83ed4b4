/* A failed assertion loses what was not written yet; an early return in a helper. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static int load(const char *s, int *ret)
{
	if (*s == '#')
		return -1;
	*ret = atoi(s);
	return 0;
}
int main(int argc, char **argv)
{
	int n = 5;
	(void)argc;
	printf("buffered\n"); /* OUT buffered */
	if (load(argv[1], &n) < 0)
		n = 6;
	write(1, "direct\n", 7); /* OUT direct */
	assert(atoi(argv[2]) != 3);
	printf("%d\n", n); /* OUT n */
	return 0;
}
