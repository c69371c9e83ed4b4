/* segment_list.h - the segments in a folder, in the order in which they were written: by folder, then slot, then roll
 * (3.stl, 3.1.stl, ..., 3.10.stl), so that of each session earlier frames come first. */
#ifndef STEMMA_SITE_SEGMENT_LIST_H
#define STEMMA_SITE_SEGMENT_LIST_H

#include "base/err.h"
#include "base/vec.h"

struct segment_list {
	VEC(char *) paths;
};
/* Lists the segments below a folder, sorted by path. dir may be missing: an empty list. Links, and what is more than
 * six folders deep, are not looked into. 0, or -errno with a sentence. */
int segment_list_read(const char *dir, struct err *err, struct segment_list *ret);
void segment_list_release(struct segment_list *l);

#endif
