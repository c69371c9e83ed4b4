/* target_int.h - names as target.c and target_path.c take them apart. */
#ifndef STEMMA_QUERY_TARGET_INT_H
#define STEMMA_QUERY_TARGET_INT_H

#include "query/target.h"

/* The path of a file, as the record has it: the longest beginning that exists is resolved, the rest is as it is
 * written. ret->failed without memory. */
void target_plain_path(const char *text, struct buf *ret);
/* The path of an object in its file as the record has it, appended: //, and no / too many, nor a dot, which HDF5 takes
 * for the group itself; but in the name of an attribute. */
void target_inner_path(const char *text, struct buf *ret);
/* `FILE@N`, as people write it in words: length of FILE, and N; all of it, and 0, where it is not like that. */
size_t target_split_loosely(const char *text, uint64_t *ret_n);

#endif
