/* counts.h - how much a run did, counted once and kept in its row. Private to the store. */
#ifndef STEMMA_STORE_COUNTS_H
#define STEMMA_STORE_COUNTS_H

#include "store/read.h"

/* The counts of a run, kept or counted now. data: data_used and data_made, too, for which `extra` counts (the user's
 * own prefixes, base/system.h; NULL none). 0 or -errno. */
int counts_of_run(struct store *s, store_id run, bool data, const char *extra, struct run_counts *ret);
/* For the indexer, in its transaction, whose rows are written: counts and keeps; or forgets what is kept. */
int counts_index(struct store *s, store_id run, const char *extra, struct err *err);
int counts_void(struct store *s, store_id run, struct err *err); /* 0, -errno with a sentence */
/* The runs of which something is kept that rests on one of these sessions (sorted), added to *ret: all that is kept is
 * looked through. 0, -errno. */
int counts_resting_on(struct store *s, const struct ids *sessions, struct ids *ret);
/* Is what is kept of the run what its rows say? 1 (or nothing is kept, or for somebody's own prefixes), 0, -errno. In a
 * view. */
int counts_check(struct store *s, store_id run);
/* Writes what was counted in the view that has ended just now. */
void counts_keep(struct store *s);

#endif
