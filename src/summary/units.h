/* units.h - figures as others write them. */
#ifndef STEMMA_SUMMARY_UNITS_H
#define STEMMA_SUMMARY_UNITS_H

#include "summary/summary.h"

/* A number of theirs in a unit of theirs (s, ms, us; B, kB, MB, GB of 2^10; all else is counted) as the value of a
 * figure. -ENOENT: no unit of that figure; -EINVAL, -ERANGE as of decimal_read. */
int units_read(enum figure_name f, struct str number, struct str unit, int64_t *ret);
/* The text of a date with zone, as ISO 8601 has it, long or short: ns since 1970. False: it is none. */
bool units_date(struct str s, int64_t *ret);
/* Adds a pair to a list unless its key is there already or the list is full. 0 or -ENOMEM. */
int units_pair(struct summary_pair **list, size_t *n, struct str key, struct str value);
/* What is said of the machine under that key, NULL nothing. */
const char *summary_host(const struct summary *s, const char *key);

#endif
