#include "trust/changes.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define ORDERS 499
#define LEVEL 0.01
#define SIDE 2 /* groups on each side, at least */

/* A group's values, sorted, and not too many. */
struct values {
	double v[CHANGES_VALUES];
	size_t n;
};

struct finding {
	size_t n;
	const struct change_group *groups;
	double *between; /* n * n: sum of the differences of all values of two groups */
	double *weight;  /* values in a group */
	size_t *order;   /* of the groups of a part, as it is tried */
	uint64_t random;
	struct change_point *points;
	size_t n_points;
};

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* Sorted; of too many those that stand evenly from the least to the most. False: no memory. */
static bool take_values(const struct change_group *g, struct values *ret)
{
	double *v = malloc(g->n * sizeof(*v));
	if (!v)
		return false;
	memcpy(v, g->v, g->n * sizeof(*v));
	qsort(v, g->n, sizeof(*v), compare_doubles);
	ret->n = g->n < CHANGES_VALUES ? g->n : CHANGES_VALUES;
	for (size_t i = 0; i < ret->n; i++)
		ret->v[i] = v[ret->n < g->n ? i * (g->n - 1) / (ret->n - 1) : i];
	free(v);
	return true;
}

/* Of each value of a from each of b. */
static double sum_of_differences(const struct values *a, const struct values *b)
{
	double sum = 0;
	for (size_t i = 0; i < a->n; i++)
		for (size_t k = 0; k < b->n; k++)
			sum += fabs(a->v[i] - b->v[k]);
	return sum;
}

/* xorshift64*. Changes f->random. */
static uint64_t next_random(struct finding *f)
{
	f->random ^= f->random >> 12;
	f->random ^= f->random << 25;
	f->random ^= f->random >> 27;
	return f->random * UINT64_C(2685821657736338717);
}

/* Puts numbers into a random order, by f's own random numbers: the same each time. */
static void shuffle(struct finding *f, size_t *v, size_t n)
{
	for (size_t i = n; i > 1; i--) {
		size_t k = (size_t)(next_random(f) % i), t = v[i - 1];
		v[i - 1] = v[k];
		v[k] = t;
	}
}

/* The energy statistic of two sides with these sums of differences (within: each pair twice) and numbers of values. */
static double energy(double across, double left, double right, double n, double m)
{
	double within = (n > 1 ? left / (n * (n - 1)) : 0) + (m > 1 ? right / (m * (m - 1)) : 0);
	return n * m / (n + m) * (2 * across / (n * m) - within);
}

/* The greatest statistic of all places where the groups in this order can be split; the place. */
static double best_split(const struct finding *f, const size_t *order, size_t n, size_t *ret_at)
{
	double left = 0, right = 0, across = 0, a = 0, b = 0, best = -INFINITY;
	*ret_at = 0;
	for (size_t i = 0; i < n; i++) {
		b += f->weight[order[i]];
		for (size_t k = 0; k < n; k++)
			right += f->between[order[i] * f->n + order[k]];
	}
	for (size_t i = 0; i + SIDE < n; i++) { /* group i goes to the left */
		double to_left = 0, to_right = 0;
		const double *row = f->between + order[i] * f->n;
		for (size_t k = 0; k < i; k++)
			to_left += row[order[k]];
		for (size_t k = i + 1; k < n; k++)
			to_right += row[order[k]];
		double own = row[order[i]];
		left += 2 * to_left + own;
		right -= 2 * to_right + own;
		across += to_right - to_left;
		a += f->weight[order[i]];
		b -= f->weight[order[i]];
		double q = i + 1 >= SIDE ? energy(across, left, right, a, b) : -INFINITY;
		if (q > best) {
			best = q;
			*ret_at = i + 1;
		}
	}
	return best;
}

/* The change that explains most, if chance alone would seldom do as much; then in both parts. 0, -ENOMEM. */
static int find_in_part(struct finding *f, size_t from, size_t to)
{
	size_t n = to - from, at, unused, as_much = 0;
	if (n < CHANGES_LEAST)
		return 0;
	for (size_t i = 0; i < n; i++)
		f->order[i] = from + i;
	double q = best_split(f, f->order, n, &at);
	if (!(q > 0))
		return 0;
	for (size_t k = 0; k < ORDERS; k++) {
		shuffle(f, f->order, n);
		as_much += best_split(f, f->order, n, &unused) >= q;
	}
	double p = (double)(1 + as_much) / (1 + ORDERS);
	if (p >= LEVEL)
		return 0;
	struct change_point *more = realloc(f->points, (f->n_points + 1) * sizeof(*more));
	if (!more)
		return -ENOMEM;
	f->points = more;
	f->points[f->n_points++] = (struct change_point){.at = from + at, .p = p};
	int rc = find_in_part(f, from, from + at);
	return rc < 0 ? rc : find_in_part(f, from + at, to);
}

/* Order of qsort: by place. */
static int compare_points(const void *a, const void *b)
{
	size_t x = ((const struct change_point *)a)->at, y = ((const struct change_point *)b)->at;
	return (x > y) - (x < y);
}

/* Of the values of n groups; NAN: none, or no memory (*ret_rc). */
static double median_of_part(const struct change_group *g, size_t n, int *ret_rc)
{
	size_t all = 0, k = 0;
	for (size_t i = 0; i < n; i++)
		all += g[i].n;
	double *v = malloc((all + 1) * sizeof(*v));
	if (!v) {
		*ret_rc = -ENOMEM;
		return NAN;
	}
	for (size_t i = 0; i < n; i++, k += g[i - 1].n)
		memcpy(v + k, g[i].v, g[i].n * sizeof(*v));
	qsort(v, all, sizeof(*v), compare_doubles);
	double m = all % 2 ? v[all / 2] : all ? (v[all / 2 - 1] + v[all / 2]) / 2 : NAN;
	free(v);
	return m;
}

/* Of the parts between the changes. */
static int fill_medians(struct finding *f)
{
	int rc = 0;
	for (size_t i = 0; i < f->n_points; i++) {
		struct change_point *p = &f->points[i];
		size_t from = i ? f->points[i - 1].at : 0, to = i + 1 < f->n_points ? f->points[i + 1].at : f->n;
		p->before = median_of_part(f->groups + from, p->at - from, &rc);
		p->after = median_of_part(f->groups + p->at, to - p->at, &rc);
	}
	return rc;
}

/* Distances between all groups. 0, -ENOMEM. */
static int fill_sums(struct finding *f)
{
	struct values *v = calloc(f->n + 1, sizeof(*v));
	f->between = calloc(f->n * f->n + 1, sizeof(*f->between));
	f->weight = calloc(f->n + 1, sizeof(*f->weight));
	f->order = calloc(f->n + 1, sizeof(*f->order));
	bool ok = v && f->between && f->weight && f->order;
	for (size_t i = 0; ok && i < f->n; i++) {
		ok = take_values(&f->groups[i], &v[i]);
		f->weight[i] = (double)v[i].n;
		for (size_t k = 0; ok && k <= i; k++)
			f->between[i * f->n + k] = f->between[k * f->n + i] = sum_of_differences(&v[i], &v[k]);
	}
	free(v);
	return ok ? 0 : -ENOMEM;
}

int changes_find(const struct change_group *groups, size_t n, struct change_point **ret, size_t *ret_n)
{
	struct finding f = {.n = n, .groups = groups, .random = UINT64_C(0x9e3779b97f4a7c15)};
	*ret = NULL;
	*ret_n = 0;
	if (n > CHANGES_GROUPS)
		return -E2BIG;
	int rc = fill_sums(&f);
	if (rc == 0)
		rc = find_in_part(&f, 0, n);
	if (f.n_points)
		qsort(f.points, f.n_points, sizeof(*f.points), compare_points);
	if (rc == 0)
		rc = fill_medians(&f);
	free(f.between);
	free(f.weight);
	free(f.order);
	if (rc < 0) {
		free(f.points);
		return rc;
	}
	*ret = f.points;
	*ret_n = f.n_points;
	return 0;
}
