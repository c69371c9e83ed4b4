/* why_int.h - what the parts of why share: why.c finds, why_parts.c says who took part, why_scripts.c which script was
 * copied, why_inputs.c orders the inputs, why_json.c is the JSON. */
#ifndef STEMMA_ANSWER_WHY_INT_H
#define STEMMA_ANSWER_WHY_INT_H

#include "answer/makers.h"
#include "answer/why/why.h"

/* An edge from a fork without exec to its parent? */
bool why_is_fork(const struct lineage_edge *e);
/* Are they ranks of one MPI job, and not the same one? 1, 0, -errno. */
int why_is_other_rank(struct store *s, store_id one, store_id other);
/* Fills makers, n_direct, helpers, opener, sure and is. all: who took part is a maker. 0 or -errno. */
int why_add_parts(struct makers *m, struct why *n, bool all);
/* Puts the script in the place of each copy of one that an engine made to run it. 0 or -errno. */
int why_show_scripts(const struct answer_source *a, struct why *n);
/* Fills inputs, n_seen, opener_inputs, sort and role. 0 or -errno. */
int why_add_inputs(const struct answer_source *a, struct makers *m, struct why *n);

#define WHY_TOGETHER 256 /* versions of one file that ranks wrote at the same time, which are told of as one */
/* The version, and those before it that other ranks of the job that wrote it wrote at the same time, the last first.
 * How many, at least 1 and at most max; -errno. */
int why_find_together(struct store *s, store_id version, store_id *ret, size_t max);

#endif
