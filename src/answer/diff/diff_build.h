/* diff_build.h - the category `build` of a diff: why two versions of a program differ, from the records of stemma cc.
 */
#ifndef STEMMA_ANSWER_DIFF_DIFF_BUILD_H
#define STEMMA_ANSWER_DIFF_DIFF_BUILD_H

#include "base/buf.h"
#include "query/diff.h"

/* The category `build` of a diff that was made: items for the programs that differ and have a record on a side. 0 or
 * -errno. For each of these programs what went into both is held in memory. */
int diff_builds(struct store *s, struct diff *d, struct err *err);
/* Appends the head of a line of an item of the category `build`: "kmeans source main.c"; "3f2a91c0d1e2 ->
 * 9b1c77aa0011", or a line for each. 64 columns at most. */
void diff_build_head(const struct diff_item *i, struct buf *b);
/* Appends the values */
void diff_build_values(const struct diff_item *i, struct buf *b);
#endif
