/* builder_int.h - what the parts of a builder share: claiming (builder.c) and what was loaded (builder_state.c). */
#ifndef STEMMA_SITE_BUILDER_INT_H
#define STEMMA_SITE_BUILDER_INT_H

#include "base/buf.h"
#include "site/builder.h"

/* How many sessions the database has more of than the index of s, or that are forgotten there and not here. 0, or
 * -errno with a sentence. */
int builder_behind(struct database *to, struct store *s, struct err *err, uint64_t *ret);

#endif
