/* clocks.h - how far the clocks of two hosts can be apart, by the record: a host that saw what another one had written
 * did so later. Bounds, no averages: each such file bounds the difference from one side.
 *
 * A file counts where the reader's record has its size and modification time as the writer's has them. That does not
 * rest on the clocks, which may be so far apart that the index took the reading for an earlier one. */
#ifndef STEMMA_SITE_CLOCKS_H
#define STEMMA_SITE_CLOCKS_H

#include "base/err.h"
#include "base/vec.h"

#include <stdint.h>

struct sqlite3;
/* Of two hosts, a before b by name: b's clock minus a's, ns. */
struct clock_pair {
	char *a, *b;
	int64_t low, high; /* INT64_MIN, INT64_MAX: no bound. low > high: one of the clocks was set meanwhile */
	uint64_t files;    /* that bound it */
};
struct clock_pairs {
	VEC(struct clock_pair) list;
};
/* Reads by how much the clocks of two hosts can differ, from files that both saw. db: store_sqlite of a store that
 * is up to date. Of hosts that share no such file there is no pair. 0, or -errno with a sentence. Reads all accesses
 * once. */
int clocks_read(struct sqlite3 *db, struct err *err, struct clock_pairs *ret);
void clocks_release(struct clock_pairs *p);

#endif
