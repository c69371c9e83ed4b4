/* Values that go over by way of decisions and addresses, never by assignment. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static const char digits[] = "0123456789abcdef";
static unsigned char table[256];
int main(int argc, char **argv)
{
	unsigned n = (unsigned)atoi(argv[1]), r = 0;
	(void)argc;
	/* -- */
	for (int i = 0; i < 32; i++)
		if (n & 1u << i)
			r |= 1u << i;
	printf("%u\n", r); /* OUT copied */
	/* -- */
	putchar(digits[atoi(argv[2]) & 15]); /* OUT looked */
	/* -- */
	table[atoi(argv[3]) & 255] = 1;
	int where = 0;
	while (where < 256 && !table[where])
		where++;
	printf("%d\n", where); /* OUT found */
	/* -- */
	double d = atof(argv[4]);
	unsigned char parts[sizeof(d)], back[sizeof(d)];
	memcpy(parts, &d, sizeof(d));
	for (size_t i = 0; i < sizeof(d); i++)
		back[sizeof(d) - 1 - i] = parts[i] ^ 0xff;
	printf("%d\n", back[0]); /* OUT parts */
	/* -- */
	int zero = atoi(argv[5]) * 0;
	puts(zero ? "never" : "always"); /* OUT zero */
	return 0;
}
