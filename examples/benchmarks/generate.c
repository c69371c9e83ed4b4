/* generate SEED points|baskets: data for the programs, the same for a seed everywhere. */
#include "data.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	unsigned long long s = strtoull(argv[1], NULL, 10) * 2654435769ULL + 1;
	for (int i = 0; i < 20; i++)
		data_random(&s);
	if (!strcmp(argv[2], "points")) {
		printf("2000 3\n");
		for (int i = 0; i < 2000; i++) {
			int c = (int)(data_random(&s) % 4);
			for (int d = 0; d < 3; d++)
				printf("%.6f ", 10.0 * ((c >> d & 1) + (c == 3 && d == 2)) + data_uniform(&s) + data_uniform(&s));
			printf("%d\n", c);
		}
		return 0;
	}
	printf("4000 20\n");
	for (int i = 0; i < 4000; i++) {
		int theme = (int)(data_random(&s) % 5);
		for (int k = 0; k < 20; k++)
			if (data_uniform(&s) < (k / 4 == theme ? 0.6 : 0.08))
				printf("%d ", k);
		printf("\n");
	}
	return 0;
}
