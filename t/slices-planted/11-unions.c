/* One memory under several types: unions, bytes, bit fields, structures that begin alike. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
union mix {
	double d;
	uint64_t u;
	int *p;
	unsigned char b[8];
};
struct base {
	int kind;
};
struct derived {
	struct base base;
	int *target;
};
struct bits {
	unsigned low : 3, high : 5;
};
static int first = 1, second = 2, third = 3, fourth = 4;
static void set(struct base *b, int n)
{
	*((struct derived *)b)->target = n;
}
int main(int argc, char **argv)
{
	union mix m, k;
	(void)argc;
	/* -- */
	m.d = atof(argv[1]);
	printf("%d\n", m.b[7]); /* OUT byte */
	/* -- */
	m.p = &first;
	k.u = m.u;
	*k.p = atoi(argv[2]);
	printf("%d\n", first); /* OUT number */
	/* -- */
	m.p = &second;
	for (int i = 0; i < 8; i++)
		k.b[7 - i] = m.b[i];
	for (int i = 0; i < 8; i++)
		m.b[i] = k.b[7 - i];
	*m.p = atoi(argv[3]);
	printf("%d\n", second); /* OUT bytes */
	/* -- */
	struct derived d = {{1}, &third};
	set(&d.base, atoi(argv[4]));
	printf("%d\n", third); /* OUT derived */
	/* -- */
	struct bits f = {0, 0};
	f.low = (unsigned)atoi(argv[5]);
	unsigned char whole;
	memcpy(&whole, &f, 1);
	printf("%u\n", whole >> 0); /* OUT bits */
	/* -- */
	uint32_t half[2];
	int *p = &fourth, *q;
	memcpy(half, &p, sizeof(p));
	uint64_t joined = (uint64_t)half[1] << 32 | half[0];
	q = (int *)(uintptr_t)joined;
	*q += atoi(argv[6]);
	printf("%d\n", fourth); /* OUT halves */
	return 0;
}
