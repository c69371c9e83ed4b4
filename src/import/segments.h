/* segments.h - the segments in a folder: a record's logs, or what somebody copied of them. */
#ifndef STEMMA_IMPORT_SEGMENTS_H
#define STEMMA_IMPORT_SEGMENTS_H

#include "base/err.h"

#include <stdint.h>

/* Calls say for each, by name, so that the order is the same everywhere; stops at what is not 0. *passed counts what
 * was not looked into: links, and folders more than six deep. 0, what say returned, or -errno with a sentence. */
int segments_walk(const char *dir, int (*say)(void *arg, const char *path), void *arg, uint64_t *passed,
                  struct err *err);

#endif
