/* check_int.h - what the parts of check share. */
#ifndef STEMMA_ANSWER_CHECK_CHECK_INT_H
#define STEMMA_ANSWER_CHECK_CHECK_INT_H

#include "answer/check/check.h"
#include "query/idmap.h"

/* The inputs that a job's rule declares, as hashes of absolute paths. Hashes, for they come from outside: two paths
 * with one hash of 64 bits would hide an undeclared input, which nobody can bring about who does not also write the
 * files. */
struct check_declared {
	struct idmap paths;
	struct buf folder; /* in which the engine worked */
};
/* Reads which inputs the stage's rule declares. 1; 0 they are not known, and *ret_why says why; -errno. Release ret
 * in any case. */
int check_declared_load(struct stages *st, uint32_t stage, struct check_declared *ret, enum check_why *ret_why);
void check_declared_release(struct check_declared *d);
/* Is the path declared, or below a folder that is? path: absolute. */
bool check_declares(const struct check_declared *d, struct str path);

#endif
