/* git.h - the commit that sources are of. */
#ifndef STEMMA_CC_GIT_H
#define STEMMA_CC_GIT_H

#include "event/event.h"

#include <stdbool.h>

#define GIT_PATH 4096

struct git_place {
	char commit[72];      /* hex digits */
	char top[GIT_PATH];   /* of the work tree */
	char index[GIT_PATH]; /* git's list of its files */
};
/* The commit that the work tree around the directory is at, read from git's files (some 20 us). 1, or 0: there is none.
 */
int git_commit(const char *dir, struct git_place *ret);

/* Whether files that git knows are as committed: TERM_tree_*. always: git is asked (3 ms of CPU time and more), of the
 * whole tree. Else what git said before is taken where it still holds: a tree was clean, and none of `files` (paths
 * that were read; those outside do not matter) has been changed since, nor commit and index; or it was dirty, and a
 * file that was changed is still as it was. Where it does not hold git is asked unless that was done lately; then the
 * answer is unknown. cache: folder on local disk, NULL none: then only `always` asks. */
unsigned git_tree(const struct git_place *g, const char *cache, bool always, char *const *files, size_t n);

#endif
