/* apriori [-s SUPPORT] FILE: frequent item sets, level by level (Agrawal and Srikant 1994). */
#include "data.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	struct baskets b;
	data_baskets(data_file(argc, argv), &b);
	size_t least = (size_t)(data_number(argc, argv, "-s", 0.02) * (double)b.n), total = 0, length = 0;
	size_t n = 0, cap = 1 << 20;
	unsigned long long *level = malloc(cap * sizeof(*level)), *next = malloc(cap * sizeof(*next));
	if (!level || !next || !least)
		return 2;
	for (size_t i = 0; i < b.items; i++)
		if (data_support(&b, 1ULL << i) >= least)
			level[n++] = 1ULL << i;
	while (n) {
		size_t found = 0;
		total += n;
		length++;
		printf("sets of %zu: %zu\n", length, n);
		for (size_t i = 0; i < n; i++) /* one item more than the greatest that it has */
			for (size_t k = 64 - (size_t)__builtin_clzll(level[i]); k < b.items && found < cap; k++)
				if (data_support(&b, level[i] | 1ULL << k) >= least)
					next[found++] = level[i] | 1ULL << k;
		unsigned long long *t = level;
		level = next;
		next = t;
		n = found;
	}
	printf("itemsets: %zu\nlongest: %zu\n", total, length);
	return 0;
}
