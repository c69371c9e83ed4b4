/* trace_pairing.h - which traces of two sets belong together (doc/traces.md). */
#ifndef STEMMA_ANSWER_TRACE_TRACE_PAIRING_H
#define STEMMA_ANSWER_TRACE_TRACE_PAIRING_H

#include "answer/trace/trace_set.h"
#include "query/diff.h"

/* How a trace came to its partner, or to none. */
struct trace_partner {
	size_t with; /* of the other set; SIZE_MAX none */
	/* Others could have been it as well: there are alike[] of the kind on the two sides, in the order of which they
	 * were paired. */
	bool uncertain;
	size_t alike[2];
};
/* Finds the partner of each trace of both sets. pairs: executions of the record that have the same role, or none. It
 * does not depend on which set stands first. Square in the traces. 0 or -ENOMEM. */
int trace_sets_pair(const struct trace_set *a, const struct trace_set *b, const struct diff_pair_ids *pairs,
                    size_t n_pairs, struct trace_partner *const of[2]);

#endif
