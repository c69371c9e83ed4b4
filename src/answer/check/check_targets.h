/* check_targets.h - what the targets of make and ninja declare: their prerequisites, and those of these.
 *
 * Of ninja it is from build.ninja and .ninja_deps, where these are as the run left them; of make from what `make -p`
 * printed, which the user gives, for nothing is run here. Both are hostile, and give nothing but hashes of paths.
 * Memory: 16 bytes a path. */
#ifndef STEMMA_ANSWER_CHECK_CHECK_TARGETS_H
#define STEMMA_ANSWER_CHECK_CHECK_TARGETS_H

#include "answer/check/check_int.h"

/* Of one engine: what is made from what, as hashes of absolute paths. */
struct check_graph {
	store_id engine;
	struct idmap made; /* hash of an output -> place in edges + 1 */
	struct check_edge {
		uint32_t next;   /* of the same output: place + 1; 0 none */
		size_t first, n; /* in ins */
	} * edges;
	size_t n_edges, cap_edges;
	VEC(uint64_t) ins;
	struct idmap own; /* files that the engine itself wrote -> 1 */
	bool known;
};
struct check_targets {
	struct store *s;
	const struct buf *database; /* of make; NULL none was given */
	struct check_graph graph;   /* of the engine that was asked for last */
};

void check_targets_release(struct check_targets *t);
/* Reads which inputs the target's rule declares. As check_declared_load, of a target. */
int check_targets_load(struct check_targets *t, struct stages *st, uint32_t stage, struct check_declared *ret,
                       enum check_why *ret_why);
/* Did the engine of the target that was loaded last write the file itself? */
bool check_targets_own(const struct check_targets *t, store_id file);

/* The rules of what `make -p` printed: targets with their prerequisites, and those that only order. folder: where make
 * was started. Calls each with absolute paths, the first of them the target. 0, what each returned, -ENOMEM. */
int check_make_each(struct str text, struct str folder, int (*each)(void *arg, const struct str *paths, size_t n),
                    void *arg);

#endif
