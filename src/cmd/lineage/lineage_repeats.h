/* lineage_repeats.h - which branches of a tree are many of one kind: 48 files that samtools sort made, 70 headers. */
#ifndef STEMMA_CMD_LINEAGE_LINEAGE_REPEATS_H
#define STEMMA_CMD_LINEAGE_LINEAGE_REPEATS_H

#include "answer/shape.h"

#define REPEATS_SHOWN 3  /* of many of one kind so many are shown */
#define REPEATS_FOLDED 4 /* where at least so many more would follow */

/* Beside each branch of the shape: 0 it is shown; REPEATS_HIDDEN it is not; else it stands for so many, itself the
 * first of them, and last is the branch of the last one. */
#define REPEATS_HIDDEN UINT32_MAX
struct repeats {
	uint32_t *count;
	size_t *last;
};
/* What a node is called; valid until the next node's is asked for. */
typedef const char *repeats_name(void *arg, uint32_t node);
/* Finds branches that are alike and follow each other, to be shown as one. all: nothing is folded. The branches
 * stand in the order in which they are shown. 0 or -ENOMEM. */
int repeats_find(const struct shape *s, const struct lineage *l, repeats_name *name, void *arg, bool all,
                 struct repeats *ret);
void repeats_release(struct repeats *r);

#endif
