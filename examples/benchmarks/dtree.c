/* dtree [-d DEPTH] FILE: a decision tree by Gini impurity. */
#include "data.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CLASSES 16

static const struct points *p;
static size_t nodes, right, max_depth;

static double gini(const size_t *count, size_t n)
{
	double sum = 1;
	for (int c = 0; n && c < CLASSES; c++)
		sum -= (double)count[c] / (double)n * ((double)count[c] / (double)n);
	return n ? sum : 0;
}

static size_t sort_on;
static int order(const void *a, const void *b)
{
	double x = p->v[*(const size_t *)a * p->dim + sort_on], y = p->v[*(const size_t *)b * p->dim + sort_on];
	return (x > y) - (x < y);
}

static void grow(size_t *row, size_t n, size_t depth)
{
	size_t all[CLASSES] = {0}, best_at = 0, best_on = 0, most = 0;
	nodes++;
	for (size_t i = 0; i < n; i++)
		all[p->label[row[i]] & (CLASSES - 1)]++;
	double best = gini(all, n) - 1e-9;
	for (size_t d = 0; depth < max_depth && d < p->dim; d++) {
		size_t left[CLASSES] = {0}, other[CLASSES];
		sort_on = d;
		qsort(row, n, sizeof(*row), order);
		memcpy(other, all, sizeof(all));
		for (size_t i = 1; i < n; i++) {
			left[p->label[row[i - 1]] & (CLASSES - 1)]++;
			other[p->label[row[i - 1]] & (CLASSES - 1)]--;
			if (p->v[row[i] * p->dim + d] == p->v[row[i - 1] * p->dim + d])
				continue;
			double g = (gini(left, i) * (double)i + gini(other, n - i) * (double)(n - i)) / (double)n;
			if (g < best) {
				best = g;
				best_at = i;
				best_on = d;
			}
		}
	}
	if (!best_at) {
		for (int c = 0; c < CLASSES; c++)
			most = all[c] > most ? all[c] : most;
		right += most;
		return;
	}
	sort_on = best_on;
	qsort(row, n, sizeof(*row), order);
	grow(row, best_at, depth + 1);
	grow(row + best_at, n - best_at, depth + 1);
}

int main(int argc, char **argv)
{
	struct points data;
	data_points(data_file(argc, argv), &data);
	max_depth = (size_t)data_number(argc, argv, "-d", 4);
	p = &data;
	size_t *row = calloc(data.n + 1, sizeof(*row));
	for (size_t i = 0; row && i < data.n; i++)
		row[i] = i;
	if (row)
		grow(row, data.n, 0);
	printf("nodes: %zu\naccuracy: %.6f\n", nodes, (double)right / (double)data.n);
	return 0;
}
