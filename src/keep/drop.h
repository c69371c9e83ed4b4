/* drop.h - whole sessions taken out of the segments, where a tombstone that came from elsewhere tells of them. */
#ifndef STEMMA_KEEP_DROP_H
#define STEMMA_KEEP_DROP_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

/* Writes the segments of the record at home anew that hold frames of the sessions. No tombstone is written: it is
 * there. Cost: one reading of the record. 0, or -errno with a sentence: what failed can be done again. */
int keep_drop_sessions(const char *home, const uint64_t *sessions, size_t n, struct err *err);

#endif
