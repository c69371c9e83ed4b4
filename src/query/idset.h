/* idset.h - sets of ids as sorted arrays. All return 0 or -ENOMEM. */
#ifndef STEMMA_QUERY_IDSET_H
#define STEMMA_QUERY_IDSET_H

#include "query/find/select.h"

/* Appends; the set is one again after idset_close. */
int idset_add(struct idset *s, store_id id);
void idset_close(struct idset *s);
bool idset_has(const struct idset *s, store_id id);
/* a = a ∪ b, a ∩ b, a \ b */
int idset_unite(struct idset *a, const struct idset *b);
void idset_meet(struct idset *a, const struct idset *b);
void idset_take(struct idset *a, const struct idset *b);

#endif
