/* stat_count.h - the counting of struct stat_sums, execution by execution. Inside this folder only. */
#ifndef STEMMA_ANSWER_STAT_STAT_COUNT_H
#define STEMMA_ANSWER_STAT_STAT_COUNT_H

#include "answer/stat/stat.h"

/* Adds what an execution moved. 0 or -errno. */
int stat_count(struct stat_sums *w, store_id exec);
/* What was seen is not all: the sums are lower bounds. */
void stat_not_all(struct stat_sum *s);
/* Puts executions and files in order. 0 or -errno. */
int stat_finish(struct stat_sums *w);

#endif
