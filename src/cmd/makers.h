/* makers.h - who made a version, as people would say it: `sort x > y` was made by sort, and the shell only opened y for
 * it. */
#ifndef STEMMA_CMD_MAKERS_H
#define STEMMA_CMD_MAKERS_H

#include "query/lineage.h"

/* Is the execution at the end of e, an edge by which node `version` was generated, one that opened the file for a
 * program which it then became or started, and which wrote through that descriptor? 1, 0, -errno. A lineage upwards. */
int maker_is_opener(struct store *s, const struct lineage *l, uint32_t version, const struct lineage_edge *e);
/* Of an opener that is a fork and did nothing else that lasts: the node of the program it is a fork of. UINT32_MAX: not
 * so. */
uint32_t maker_forked_from(struct store *s, const struct lineage *l, uint32_t exec);
/* An edge by which a process, before it became another program, may have used a stream that the other program may have
 * used too. */
bool use_is_repeated(struct store *s, const struct lineage *l, const struct lineage_edge *e);

#endif
