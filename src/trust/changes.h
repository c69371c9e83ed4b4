/* changes.h - where the figures of a benchmark changed, over its history: change points by E-divisive (Matteson and
 * James, "A nonparametric approach for multiple change point analysis of multivariate data", 2014).
 *
 * The series is of groups: a group has the values that one benchmark's runs gave, and the groups follow each other in
 * time. A change lies between two groups. The statistic is the energy distance of the values on both sides, which asks
 * for no distribution, and finds a change of spread as well as one of the middle. Whether it is more than noise is
 * asked of other orders of the groups, 499 of them: whole groups change places, not values, for what one benchmark
 * measured in one go is alike by chance too (the machine was warm, something else ran). So noise from benchmark to
 * benchmark is no change, however sure each benchmark is of itself.
 *
 * A change is told if fewer than one in a hundred orders would give as much. On each side two groups at least are
 * wanted: one that stands alone is an outlier, or too new to be judged. With fewer than ten groups in a part nothing is
 * told of it: by chance too many of their orders are like any other. Deterministic: the orders come from a fixed seed.
 *
 * Cost: of n groups with k values each k^2 n^2 / 2 differences, and 499 n^2 sums for each change; at most
 * CHANGES_GROUPS groups, of each CHANGES_VALUES values, evenly from the least to the most. Pure; no printing. */
#ifndef STEMMA_TRUST_CHANGES_H
#define STEMMA_TRUST_CHANGES_H

#include <stdbool.h>
#include <stddef.h>

#define CHANGES_GROUPS 500
#define CHANGES_VALUES 20
#define CHANGES_LEAST 10 /* groups in a part that is looked at */

struct change_group {
	const double *v;
	size_t n; /* at least 1 */
};
struct change_point {
	size_t at;            /* index of the first group that is otherwise */
	double before, after; /* medians of the parts on both sides, to the next change */
	double p;             /* share of the orders that give as much */
};

/* In order of time. 0, -E2BIG: more than CHANGES_GROUPS; -ENOMEM. *ret: malloc'ed. */
int changes_find(const struct change_group *groups, size_t n, struct change_point **ret, size_t *ret_n);

#endif
