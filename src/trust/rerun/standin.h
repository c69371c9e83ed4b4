/* standin.h - what a run may have looked at without opening it. A record has no calls of stat, so the copy of a run's
 * folder gets a stand-in for each file that lies there, is older than the run, and was neither used nor made by it: a
 * file of the same name, size, times and permissions, without bytes. Folders come along, and links that lead to
 * something in the folder. What the run removed, or put another file in the place of, without reading it, gets one,
 * too, made from the record: `rm f` needs f, and not its bytes.
 *
 * What the command learns from them it could have learned by stat before (doc/security.md). Of a run of the user's own
 * only. Cost: 20 us a file. */
#ifndef STEMMA_TRUST_RERUN_STANDIN_H
#define STEMMA_TRUST_RERUN_STANDIN_H

#include "base/err.h"
#include "trust/rerun/rerun.h"

#define STANDIN_MOST 10000 /* files, folders and links */
#define STANDIN_DEPTH 16   /* folders deep */

struct standins {
	char **v;       /* of the files, by name relative to the folder, sorted; NULL-terminated */
	size_t n, all;  /* all: with folders and links */
	size_t unsized; /* files whose size is not known: they are empty */
	bool more;      /* some were left out, for their number or depth */
};

/* In `to`, for what is below the working directory of the run, beside what is there. began: of the run, ns. 0, or
 * -errno with a sentence. What cannot be read is passed over. Release ret in any case. */
int standins_make(const struct rerun *r, int64_t began, const char *to, struct err *err, struct standins *ret);
void standins_release(struct standins *s);
/* Names of those that a run in the folder `to` read, malloc'ed, NULL-terminated. 0 or -errno. */
int standins_opened(struct store *s, store_id run, const char *to, const struct standins *made, char ***ret);

#endif
