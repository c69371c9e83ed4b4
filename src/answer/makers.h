/* makers.h - who made a version, as people would say it: `sort x > y` was made by sort, and the shell only opened y for
 * it; of `sort x | uniq` the pipe belongs to sort and uniq, though the shell held it for a moment. For lineages
 * upwards.
 *
 * Budget: each execution is asked of the store once, for its parent; each writer of a version and each user of a stream
 * looks at most at 64 ancestors, and no two writers are compared. So all roles of n writers cost O(n): in memory 40
 * bytes an execution and its ancestors, 40 a writer of the version at hand, 9 an edge; one miss of the cache an
 * ancestor. Of writers one version is kept at a time: ask for the edges of a version in one go.
 *
 * All return 1 or 0, where they do not say otherwise, or -errno of the store. */
#ifndef STEMMA_ANSWER_MAKERS_H
#define STEMMA_ANSWER_MAKERS_H

#include "base/vec.h"
#include "query/idmap.h"
#include "query/lineage/lineage.h"

/* An execution that was met on the way up from a writer or user. */
struct maker_ancestor {
	store_id id;
	uint32_t parent; /* place; VEC_NONE: none */
	uint32_t writer; /* its edge among those of the version, where marked so */
	uint32_t mark, walk;
	bool known;   /* parent is */
	bool by_exec; /* its parent became it */
	bool holds;   /* what came from it used the stream, too */
};
/* Of an edge by which the version was generated. */
struct maker_writer {
	uint32_t at;        /* the execution, among the ancestors */
	uint32_t last;      /* node of the last that it handed the descriptor to, with no other opener between */
	bool handed_on;     /* somebody that came from it was handed the descriptor */
	bool for_another;   /* ... by an opener between them */
	bool stayed, known; /* stayed: it was not by exec that one came from it; known: bytes are */
	uint64_t bytes;     /* that it gave out in its life */
};
struct maker_writers {
	struct maker_writer *v; /* beside the edges of the node */
	uint32_t version;       /* UINT32_MAX: none */
	bool counted, grew;     /* counted: what follows is known; grew: by how much, too */
	uint64_t grown, all, unknown;
};

struct makers {
	struct store *s;
	const struct lineage *l;
	struct edges got;
	uint32_t *users, *first; /* of node i, the edges by which it was used: users[first[i] .. first[i + 1]) */
	bool *holds;             /* of each edge, where holders_known of its `to`: maker_held, but for the kind of edge */
	bool *holders_known;
	uint32_t *handed; /* of each node: 1 + the execution node that used it, as of `handed_to` */
	uint32_t handed_to;
	struct idmap ancestor_of; /* execution -> place in ancestors */
	VEC(struct maker_ancestor) ancestors;
	uint32_t mark;
	struct maker_writers writers;
};

/* Prepares m for questions about the nodes of l. 0; -ENOMEM, then there is nothing to release. l must outlive it. */
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
 * may have used as well? 1, 0, -errno. */
int maker_held(struct makers *m, const struct lineage_edge *e);
/* Did execution node x come from node `from` by forks and execs? */
int maker_descends(struct makers *m, uint32_t x, uint32_t from);
/* Is e an edge by which an execution used what only it itself had made, from nothing? 1, 0, -errno. */
int maker_own(struct makers *m, const struct lineage_edge *e);

#endif
