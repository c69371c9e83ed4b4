/* lineage_json.h - the public JSON of a lineage; stemma-lineage(1) documents the fields. */
#ifndef STEMMA_ANSWER_LINEAGE_JSON_H
#define STEMMA_ANSWER_LINEAGE_JSON_H

#include "answer/entities.h"
#include "query/lineage.h"

/* Everything that was walked, nothing folded. *ret: a new reference. 0 or -errno. */
int lineage_json(struct store *s, const struct lineage *l, json_t **ret);

#endif
