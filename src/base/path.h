/* path.h - paths as texts: nothing is looked up, and links are not followed. */
#ifndef STEMMA_BASE_PATH_H
#define STEMMA_BASE_PATH_H

#include "base/buf.h"
#include "base/str.h"

/* Appends the parts of the path, each with a slash before it, without `.`, `..` and double slashes. A `..` takes off
 * the part before it, but nothing of what stands in b before `from`. No memory: b->failed. */
void path_append(struct buf *b, size_t from, struct str path);

#endif
