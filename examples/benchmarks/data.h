/* data.h - what the six programs share, as a library of its own: numbers that are the same on every machine, points and
 * baskets from files. */
#ifndef DATA_H
#define DATA_H

#include <stddef.h>

struct points {
	size_t n, dim;
	double *v;  /* n rows of dim */
	int *label; /* the last column of each row */
};
struct baskets {
	size_t n, items;             /* items are 0 ... items - 1 */
	unsigned long long *has[64]; /* has[item]: a bit for each basket */
	size_t words;
};

unsigned long long data_random(unsigned long long *state); /* xorshift64* */
double data_uniform(unsigned long long *state);            /* [0, 1) */
void data_points(const char *path, struct points *ret);    /* ends the program where it cannot be read */
void data_baskets(const char *path, struct baskets *ret);
double data_distance2(const double *a, const double *b, size_t dim);
size_t data_support(const struct baskets *b, unsigned long long itemset);
double data_number(int argc, char **argv, const char *option, double otherwise);
const char *data_file(int argc, char **argv); /* the last argument */

#endif
