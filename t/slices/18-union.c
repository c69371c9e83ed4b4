/* Bytes of one thing seen as another, and a pointer kept as a number. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(int argc, char **argv)
{
	union {
		double d;
		uint64_t n;
	} u;
	int hidden = 1, plain = 2;
	(void)argc;
	u.d = atof(argv[1]);
	uintptr_t where = (uintptr_t)&hidden;
	*(int *)(where ^ 0) = atoi(argv[2]);
	printf("%llx\n", (unsigned long long)u.n); /* OUT bits */
	printf("%d\n", hidden); /* OUT hidden */
	printf("%d\n", plain); /* OUT plain */
	return 0;
}
