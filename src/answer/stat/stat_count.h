/* stat_count.h - the counting of struct stat_sums, execution by execution. Inside this folder only. */
#ifndef STEMMA_ANSWER_STAT_STAT_COUNT_H
#define STEMMA_ANSWER_STAT_STAT_COUNT_H

#include "answer/stat/stat.h"

/* Of these gaps those with which accesses may be missing as a whole, and not only some of their bytes. */
uint64_t stat_unobserved(uint64_t gaps);
/* Adds what an execution moved. 0 or -errno. */
int stat_count(struct stat_sums *w, store_id exec);
/* Puts executions and files in order. 0 or -errno. */
int stat_finish(struct stat_sums *w);

#endif
