/* trace_repetitions.h - runs of the record that repeat another one: the same command in the same folder, given the
 * same, and traced. */
#ifndef STEMMA_ANSWER_TRACE_TRACE_REPETITIONS_H
#define STEMMA_ANSWER_TRACE_TRACE_REPETITIONS_H

#include "answer/source.h"
#include "base/err.h"

#define TRACE_REPETITIONS 3          /* at most that many, the latest */
#define TRACE_REPETITIONS_LOOKED 500 /* of so many runs, the latest */

/* Finds recorded runs that repeat another one: of `run`, leaving `other` out. What is not known to be the same does
 * not repeat it. How many, or -errno with a sentence. Compares each candidate with it as `stemma diff` does. */
int trace_repetitions(const struct answer_source *a, store_id run, store_id other, struct err *err,
                      store_id ret[TRACE_REPETITIONS]);

#endif
