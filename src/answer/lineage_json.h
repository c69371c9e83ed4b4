/* lineage_json.h - the public JSON of a lineage, piece by piece; stemma-lineage(1) documents the fields.
 *
 * Budget: one pass over nodes and one over edges; in memory 26 bytes a node for its id, 24 for its agents, and one
 * piece. Nothing of it is kept that was given away. */
#ifndef STEMMA_ANSWER_LINEAGE_JSON_H
#define STEMMA_ANSWER_LINEAGE_JSON_H

#include "answer/entities.h"
#include "query/lineage/lineage.h"

/* Takes the next piece of the text; whole characters. 0, or -errno: no more pieces come. */
typedef int lineage_json_sink(void *arg, struct str piece);

/* Everything that was walked, nothing folded. record: what is missing in the record as a whole, bits of term gap, which
 * stand at the end where there are any. 0, or -errno: then what was given is not whole. */
int lineage_json(struct store *s, const struct lineage *l, uint64_t record, lineage_json_sink *sink, void *arg);

#endif
