/* builds.h - the records of compilers' commands, for those who take out of the logs what is to be forgotten: a build
 * lies in a session of its own, and knows the run it was made in.
 *
 * Cost: every build of the record is read, about 5 us each; keep_builds_needed looks at every version that a run which
 * stays used, and at every file that a build which may go has made. */
#ifndef STEMMA_KEEP_BUILDS_H
#define STEMMA_KEEP_BUILDS_H

#include "base/err.h"
#include "query/find/select.h"
#include "store/store.h"

struct keep_build {
	store_id id;
	uint64_t session;
	store_id run; /* it was made in this run; 0: in none that is recorded */
	int64_t end;
	bool needed; /* what it made is there, or used by what stays */
};

/* All of them, in order of their ends. malloc'ed. 0 or -errno with a sentence. */
int keep_builds(struct store *s, struct err *err, struct keep_build **ret, size_t *ret_n);
/* Marks those that somebody still needs: one of their outputs is as they left it (unless `force`), a run that is not in
 * `gone` used it, or a build that is needed did. 0, -errno, reported. */
int keep_builds_needed(struct store *s, struct keep_build *v, size_t n, const struct idset *gone, bool force,
                       struct err *err);

#endif
