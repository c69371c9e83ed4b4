/* diff_trace_pair.h - which traces of two sets belong together (doc/traces.md). */
#ifndef STEMMA_CMD_DIFF_TRACE_PAIR_H
#define STEMMA_CMD_DIFF_TRACE_PAIR_H

#include "cmd/diff_trace_find.h"
#include "query/diff.h"

/* with[i]: B's trace for A's i-th, or SIZE_MAX; taken[k]: B's k-th is somebody's. pairs: executions of the record that
 * have the same role, or none. It does not depend on which set stands first. Square in the traces. 0 or -ENOMEM. */
int trace_sets_pair(const struct trace_set *a, const struct trace_set *b, const struct diff_pair_ids *pairs,
                    size_t n_pairs, size_t *with, bool *taken);

#endif
