/* kmeans [-k N] [-s SEED] FILE: Lloyd's algorithm. */
#include "data.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
	struct points p;
	data_points(data_file(argc, argv), &p);
	size_t k = (size_t)data_number(argc, argv, "-k", 4);
	unsigned long long seed = (unsigned long long)data_number(argc, argv, "-s", 1) + 88172645463325252ULL;
	if (!k || k > 64 || k > p.n)
		return 2;
	double centre[64][64], sum[64][64], sse = 0;
	size_t count[64], *of = calloc(p.n, sizeof(*of)), turns = 0, moved = 1;
	for (size_t c = 0; c < k; c++)
		memcpy(centre[c], p.v + data_random(&seed) % p.n * p.dim, p.dim * sizeof(double));
	for (; of && moved && turns < 100; turns++) {
		moved = 0;
		sse = 0;
		memset(sum, 0, sizeof(sum));
		memset(count, 0, sizeof(count));
		for (size_t i = 0; i < p.n; i++) {
			size_t best = 0;
			for (size_t c = 1; c < k; c++)
				if (data_distance2(p.v + i * p.dim, centre[c], p.dim) <
				    data_distance2(p.v + i * p.dim, centre[best], p.dim))
					best = c;
			moved += best != of[i];
			of[i] = best;
			sse += data_distance2(p.v + i * p.dim, centre[best], p.dim);
			count[best]++;
			for (size_t d = 0; d < p.dim; d++)
				sum[best][d] += p.v[i * p.dim + d];
		}
		for (size_t c = 0; c < k; c++)
			for (size_t d = 0; count[c] && d < p.dim; d++)
				centre[c][d] = sum[c][d] / (double)count[c];
	}
	printf("iterations: %zu\nsse: %.6f\n", turns, sse);
	for (size_t c = 0; c < k; c++)
		printf("cluster: %zu\n", count[c]);
	return 0;
}
