/* fold_jobs.h - ranks of an MPI job that are one in what people read (doc/graph.md, "Folding"): executions of one run
 * and step with the same program and arguments and at least two ranks, with the launchers that started them and these
 * launchers' forks. */
#ifndef STEMMA_QUERY_FOLD_JOBS_H
#define STEMMA_QUERY_FOLD_JOBS_H

#include "query/idmap.h"
#include "store/store.h"

struct fold_job {
	store_id first; /* the execution with the lowest rank: it stands for all */
	uint64_t first_rank, ranks;
};
struct fold_jobs {
	struct fold_job *v;
	size_t n, cap;
	struct idmap by_key;       /* hash of run, step, program and arguments -> its place in v */
	struct idmap rank_numbers; /* hash of these and a rank: it was met */
	struct idmap ranks;        /* execution -> its job + 1 */
	struct idmap launchers;    /* the same */
};

/* Looks at one execution. Those of one lineage are all added before the first question. 0 or -errno. */
int fold_jobs_add(struct fold_jobs *j, struct store *s, store_id exec);
/* The job that the execution belongs to: 1; 0 none, or -errno. */
int fold_jobs_find(const struct fold_jobs *j, struct store *s, store_id exec, const struct fold_job **ret);
/* Is a version between the members of the job: a stream, shared memory, or a file without a name, made and used by none
 * but them? 1, 0, -errno. */
int fold_jobs_private(const struct fold_jobs *j, struct store *s, store_id version, const struct fold_job *job);
void fold_jobs_release(struct fold_jobs *j);

#endif
