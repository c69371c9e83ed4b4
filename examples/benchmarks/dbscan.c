/* dbscan [-e RADIUS] [-m NEIGHBOURS] FILE: density-based clusters (Ester et al. 1996). */
#include "data.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	struct points p;
	data_points(data_file(argc, argv), &p);
	double e = data_number(argc, argv, "-e", 0.35);
	size_t m = (size_t)data_number(argc, argv, "-m", 5), clusters = 0, noise = 0, core = 0;
	size_t *stack = malloc((p.n + 1) * sizeof(*stack)), *of = calloc(p.n + 1, sizeof(*of));
	if (!stack || !of)
		return 1;
	unsigned char *dense = calloc(p.n + 1, 1);
	for (size_t i = 0; dense && i < p.n; i++) {
		size_t near = 0;
		for (size_t k = 0; k < p.n; k++)
			near += data_distance2(p.v + i * p.dim, p.v + k * p.dim, p.dim) <= e * e;
		dense[i] = near >= m;
		core += dense[i];
	}
	for (size_t i = 0; dense && i < p.n; i++) {
		if (of[i] || !dense[i])
			continue;
		size_t depth = 0;
		of[i] = ++clusters;
		stack[depth++] = i;
		while (depth) {
			size_t at = stack[--depth];
			for (size_t k = 0; dense[at] && k < p.n; k++)
				if (!of[k] && data_distance2(p.v + at * p.dim, p.v + k * p.dim, p.dim) <= e * e) {
					of[k] = clusters;
					stack[depth++] = k;
				}
		}
	}
	for (size_t i = 0; i < p.n; i++)
		noise += !of[i];
	printf("clusters: %zu\ncore points: %zu\nnoise: %zu\n", clusters, core, noise);
	return 0;
}
