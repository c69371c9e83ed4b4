/* gc.h - which runs may go: by age and size, and never those that what is on disk came from. */
#ifndef STEMMA_KEEP_GC_H
#define STEMMA_KEEP_GC_H

#include "keep/cut.h"
#include "store/store.h"

struct gc_options {
	int64_t before;     /* runs that ended before; TIME_NONE: age does not matter */
	uint64_t max_bytes; /* the logs are to have no more; UINT64_MAX: size does not matter */
	bool force;         /* also the last record of files that are still there */
	int64_t skew;
};
struct gc_run {
	store_id id;
	uint64_t bytes; /* of its sessions' frames, those of runs within it, too */
	int64_t end;    /* or its start, where the end was not seen */
};
struct gc_choice {
	struct gc_run *runs; /* the oldest first */
	size_t n;
	struct keep_whole *builds; /* with their runs, or by themselves: what they made is gone, and nobody used it */
	size_t n_builds;
	uint64_t kept;  /* runs that would go, but for what they made being there */
	uint64_t bytes; /* of all logs, now */
};

/* Looks at every version on disk that the record says is the latest of its file, and walks up from all that are as they
 * were recorded. 0 or -errno. Release ret in any case. */
int gc_choose(struct store *s, struct keep_logs *l, const struct gc_options *o, struct err *err, struct gc_choice *ret);
void gc_release(struct gc_choice *c);

#endif
