/* decimal.h - decimal numbers as text, to and from integers that count 10^-decimals of the unit, without a double
 * between: seconds since 1970 with nanoseconds have 19 digits, a double keeps 15. */
#ifndef STEMMA_SUMMARY_DECIMAL_H
#define STEMMA_SUMMARY_DECIMAL_H

#include "base/buf.h"

#include <stdint.h>

/* How many bytes at p are a number as JSON has it; 0 none. */
size_t decimal_length(const char *p, size_t n);
/* Appends value / 10^decimals, exactly, with no zeros at its end: 1500000000, 9 gives 1.5. */
void decimal_add(struct buf *b, int64_t value, unsigned decimals);
/* The number s (a number of JSON, the whole of s) times 10^decimals; what is smaller than 1 after that is rounded, half
 * of it away from 0. -EINVAL: it is no number; -ERANGE: it does not fit. */
int decimal_read(struct str s, unsigned decimals, int64_t *ret);

#endif
