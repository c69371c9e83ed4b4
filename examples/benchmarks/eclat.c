/* eclat [-s SUPPORT] FILE: frequent item sets by meeting lists of baskets, depth first (Zaki 2000). Appends a line to
 * summary.txt where there is one: the results of several runs in one file. */
#include "data.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static size_t least, total, longest;

static void deeper(const struct baskets *b, const unsigned long long *with, size_t from, size_t length)
{
	unsigned long long *both = malloc((b->words + 1) * sizeof(*both));
	for (size_t i = from; both && i < b->items; i++) {
		size_t count = 0;
		for (size_t w = 0; w < b->words; w++) {
			both[w] = (with ? with[w] : ~0ULL) & b->has[i][w];
			count += (size_t)__builtin_popcountll(both[w]);
		}
		if (count < least)
			continue;
		total++;
		longest = length + 1 > longest ? length + 1 : longest;
		deeper(b, both, i + 1, length + 1);
	}
	free(both);
}

int main(int argc, char **argv)
{
	struct baskets b;
	data_baskets(data_file(argc, argv), &b);
	double support = data_number(argc, argv, "-s", 0.02);
	least = (size_t)(support * (double)b.n);
	if (!least)
		return 2;
	deeper(&b, NULL, 0, 0);
	printf("itemsets: %zu\nlongest: %zu\n", total, longest);
	FILE *f = access("summary.txt", W_OK) == 0 ? fopen("summary.txt", "a") : NULL;
	if (f) {
		fprintf(f, "%g %zu\n", support, total);
		fclose(f);
	}
	return 0;
}
