#include "archive/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const unsigned stats_percents[STATS_QUANTILES] = {5, 25, 50, 75, 95, 99};

/* Order of qsort: the least first. */
static int value_cmp(const void *pa, const void *pb)
{
	int64_t a = *(const int64_t *)pa, b = *(const int64_t *)pb;
	return (a > b) - (a < b);
}

/* Between the order statistics around (n - 1) q, linearly. v is sorted, n > 0, 0 <= q <= 1. */
static double stats_quantile(const int64_t *v, size_t n, double q)
{
	double at = (double)(n - 1) * q;
	size_t i = (size_t)at;
	if (i + 1 >= n)
		return (double)v[n - 1];
	return (double)v[i] + (at - (double)i) * ((double)v[i + 1] - (double)v[i]);
}

/* Differences to the least value are summed, so that times since 1970 lose nothing. */
void stats_of(int64_t *v, size_t n, struct stats *ret)
{
	long double sum = 0, m2 = 0, m3 = 0, m4 = 0;
	qsort(v, n, sizeof(*v), value_cmp);
	for (size_t i = 0; i < n; i++)
		sum += (long double)v[i] - (long double)v[0];
	long double mean = sum / (long double)n;
	for (size_t i = 0; i < n; i++) {
		long double d = (long double)v[i] - (long double)v[0] - mean, d2 = d * d;
		m2 += d2;
		m3 += d2 * d;
		m4 += d2 * d2;
	}
	*ret = (struct stats){.n = n,
	                      .mean = (double)((long double)v[0] + mean),
	                      .std_dev = n > 1 ? (double)sqrtl(m2 / (long double)(n - 1)) : (double)NAN,
	                      .skewness = (double)NAN,
	                      .kurtosis = (double)NAN,
	                      .min = v[0],
	                      .max = v[n - 1]};
	if (v[0] != v[n - 1]) {
		m2 /= (long double)n;
		ret->skewness = (double)(m3 / (long double)n / powl(m2, 1.5L));
		ret->kurtosis = (double)(m4 / (long double)n / (m2 * m2) - 3);
	}
	for (size_t i = 0; i < STATS_QUANTILES; i++)
		ret->quantile[i] = stats_quantile(v, n, stats_percents[i] / 100.0);
}

void stats_histogram(const int64_t *v, size_t n, int64_t from, int64_t to, size_t *ret_count, size_t bins)
{
	long double span = (long double)to - (long double)from;
	memset(ret_count, 0, bins * sizeof(*ret_count));
	for (size_t i = 0; i < n; i++) {
		size_t bin = span > 0 ? (size_t)(((long double)v[i] - (long double)from) / span * (long double)bins) : 0;
		ret_count[bin < bins ? bin : bins - 1]++;
	}
}
