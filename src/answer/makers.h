/* makers.h - who made a version, as people would say it: `sort x > y` was made by sort, and the shell only opened y for
 * it; of `sort x | uniq` the pipe belongs to sort and uniq, though the shell held it for a moment. For lineages
 * upwards.
 *
 * All return 1 or 0, where they do not say otherwise, or -errno of the store. */
#ifndef STEMMA_ANSWER_MAKERS_H
#define STEMMA_ANSWER_MAKERS_H

#include "query/lineage.h"

struct makers {
	struct store *s;
	const struct lineage *l;
	struct edges got;
	uint32_t *users, *first; /* of node i, the edges by which it was used: users[first[i] .. first[i + 1]) */
};

int makers_init(struct makers *m, struct store *s, const struct lineage *l);
void makers_release(struct makers *m);

/* What the execution at the end of e, an edge by which node `version` was generated, did: it wrote, or it opened the
 * file for a program which it then became or started, and which wrote through that descriptor; or it may have done
 * both, as the shell of `{ echo x; cat y; } > z`. Bytes are known per process: an opener wrote nothing if it gave out
 * none at all, or if those that it opened the file for gave out as many as came; an opener that became the writer may
 * have written if it opened the file more than once, or read something after it had. A role, or -errno. */
enum maker_role { MAKER_WRITER, MAKER_OPENER, MAKER_BOTH };
int maker_role(struct makers *m, uint32_t version, const struct lineage_edge *e);
/* Of an opener that is a fork and did nothing else that lasts: the node of the program it is a fork of. UINT32_MAX: not
 * so. */
uint32_t maker_forked_from(struct makers *m, uint32_t exec);
/* Is e an edge by which an execution may have used a stream, through a descriptor that a program it became or started
 * may have used as well? */
int maker_held(struct makers *m, const struct lineage_edge *e);
/* Did execution node x come from node `from` by forks and execs? */
int maker_descends(struct makers *m, uint32_t x, uint32_t from);
/* Is e an edge by which an execution used what only it itself had made, from nothing? */
int maker_own(struct makers *m, const struct lineage_edge *e);

#endif
