/* summaries.h - what tasks used, as the summaries that were recorded with their runs. */
#ifndef STEMMA_ANSWER_SUMMARIES_H
#define STEMMA_ANSWER_SUMMARIES_H

#include "answer/source.h"
#include "base/buf.h"

/* Appends {"format": 1, "summaries": [...]}, each as in doc/format/summary.md without processes and files, of one run
 * (0: of all, and those of no run of this record). How many there are, or -errno. About 20 us each. */
int64_t summaries_json(const struct answer_source *a, store_id run, struct buf *ret);

#endif
