/* submit.h - from a job to the command that submitted it, and back (B11).
 *
 * No record holds the number that sbatch or qsub printed, so it is not known which submission a job came of. What the
 * batch system tells the job of its origin (directory, host, name: src/query/submit/submit.def) is compared with what
 * was recorded of the submissions by the same user before it: what agrees may be it. A job whose first program was
 * started by the submitting program itself (salloc) has it for certain.
 *
 * Cost: a look at every execution of the store, about 2 us each. */
#ifndef STEMMA_QUERY_SUBMIT_H
#define STEMMA_QUERY_SUBMIT_H

#include "store/store.h"

struct submission {
	store_id exec; /* the submission; of submit_jobs the first execution of the job */
	bool sure;
	bool named; /* the name agrees too: it was given, or is the script's */
	int64_t start;
	char *job; /* its identity */
};
struct submissions {
	struct submission *v; /* those that are sure, those whose name agrees, the rest; in each the latest first */
	size_t n, cap;
};
void submissions_release(struct submissions *l);

/* Who may have submitted the job of this execution; none if it is of none. skew: ns that hosts' clocks may differ. 0 or
 * -errno; release ret in any case. */
int submit_of(struct store *s, store_id exec, int64_t skew, struct submissions *ret);
/* Jobs that may have come of this submission. -errno, or 0; none where it is no submission. */
int submit_jobs(struct store *s, store_id exec, int64_t skew, struct submissions *ret);

/* The same as edges of a walk (lineage.h): of certainty `may`, `must` where it is by descent, via submit. All that
 * there is to know of submissions and jobs is gathered when the first is asked for, in one look at every execution; a
 * store without jobs is never gone through. One thread; the store may not change meanwhile. */
struct submit_edges;
/* Begins to find edges from submissions to the jobs that they made. 0, *ret to be freed with submit_edges_free;
 * -ENOMEM. Nothing is read yet. */
int submit_edges_new(struct store *s, int64_t skew, struct submit_edges **ret);
void submit_edges_free(struct submit_edges *x);
/* Is the execution a batch system's submission? Asked of many, a program's name is read once. 1, 0 or -errno. */
int submit_edges_is(struct submit_edges *x, store_id exec);
/* Adds to e the submissions that the job of this execution may have come of, [lo, hi] when they were there; or (down)
 * the executions of the jobs that may have come of this submission. 0 or -errno. */
int submit_edges_add(struct submit_edges *x, store_id exec, bool down, struct edges *e);

#endif
