/* fuzzy [-k N] [-m FUZZINESS] FILE: fuzzy c-means. */
#include "data.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
	struct points p;
	data_points(data_file(argc, argv), &p);
	size_t k = (size_t)data_number(argc, argv, "-k", 4), turns;
	double m = data_number(argc, argv, "-m", 2), before = -1, cost = 0, centre[16][64];
	if (k < 2 || k > 16 || k > p.n || m <= 1)
		return 2;
	for (size_t c = 0; c < k; c++)
		memcpy(centre[c], p.v + c * (p.n / k) * p.dim, p.dim * sizeof(double));
	for (turns = 0; turns < 60 && fabs(before - cost) > 1e-9 * cost; turns++) {
		double sum[16][64] = {{0}}, weight[16] = {0};
		before = cost;
		cost = 0;
		for (size_t i = 0; i < p.n; i++) {
			double d2[16], all = 0;
			for (size_t c = 0; c < k; c++) {
				d2[c] = data_distance2(p.v + i * p.dim, centre[c], p.dim) + 1e-12;
				all += pow(1 / d2[c], 1 / (m - 1));
			}
			for (size_t c = 0; c < k; c++) {
				double u = pow(pow(1 / d2[c], 1 / (m - 1)) / all, m);
				cost += u * d2[c];
				weight[c] += u;
				for (size_t d = 0; d < p.dim; d++)
					sum[c][d] += u * p.v[i * p.dim + d];
			}
		}
		for (size_t c = 0; c < k; c++)
			for (size_t d = 0; d < p.dim; d++)
				centre[c][d] = sum[c][d] / weight[c];
	}
	printf("iterations: %zu\nobjective: %.6f\n", turns, cost);
	return 0;
}
