/* stats.h - what many values of one figure look like: moments, quantiles, a histogram (Table 5 of Juve et al.,
 * "Practical resource monitoring for robust high throughput computing").
 *
 * Values are integers in the figure's base unit (ns, bytes, ...), results are doubles in the same unit. Pure. */
#ifndef STEMMA_ARCHIVE_STATS_H
#define STEMMA_ARCHIVE_STATS_H

#include <stddef.h>
#include <stdint.h>

/* p5 p25 p50 p75 p95 p99 */
#define STATS_QUANTILES 6
extern const unsigned stats_percents[STATS_QUANTILES];

struct stats {
	size_t n;
	double mean;
	double std_dev;            /* of a sample: divided by n - 1; NAN for n < 2 */
	double skewness, kurtosis; /* m3 / m2^1.5 and m4 / m2^2 - 3 of the central moments; NAN where all values are one */
	int64_t min, max;
	double quantile[STATS_QUANTILES];
};

/* Sorts v. n > 0. */
void stats_of(int64_t *v, size_t n, struct stats *ret);
/* How many of the sorted values lie in each of `bins` equal parts of [from, to]; values at a border belong to the upper
 * part, those at `to` to the last. Where from == to all are in the first. */
void stats_histogram(const int64_t *v, size_t n, int64_t from, int64_t to, size_t *ret_count, size_t bins);

#endif
