/* path.h - the path that a trace of functions took through its specification (Definition 1 of ProvScope, section
 * III.B).
 *
 * Such a trace says which functions were called from which, and not from where, nor what was decided. Per function, the
 * calls that it made are matched with the nodes of its graph, nodes that leave no mark passed through: all paths at
 * once, first forwards, then those taken away that cannot be gone to the end. So the search is polynomial: O(calls *
 * edges between call nodes). Where more than one path qualifies, the smallest in the order of nodes is taken, and that
 * is said; in the functions that were open where the two traces part, one is taken on which they stay together longest.
 *
 * Where no path qualifies, calls that neither trace shows at all are taken for unrecorded; where none does then, the
 * function's calls stand without nodes, and that is said, too. */
#ifndef STEMMA_SPEC_PATH_PATH_H
#define STEMMA_SPEC_PATH_PATH_H

#include "base/buf.h"
#include "spec/align/steps.h"
#include "spec/trace/provscope.h"

struct path_found {
	uint64_t functions;  /* calls whose path was searched, both sides */
	uint64_t ambiguous;  /* of them with more than one path */
	uint64_t unrecorded; /* that needed calls to be passed through */
	uint64_t none;       /* without a path */
	uint64_t too_large;  /* not searched: more than PATH_STATES */
	/* The function in which the traces part, if they do: SPEC_NONE. */
	uint32_t function;
	uint64_t ways[2];    /* paths that qualify there, on each side; at most PATH_WAYS */
	uint32_t together;   /* its calls up to which they can have been together */
	uint32_t apart;      /* and from which on they may have parted already; the same: it is certain */
	uint32_t *decisions; /* nodes between the last call together and the next: one of them went different ways */
	uint32_t n_decisions;
	char **names; /* functions that the specification has not are numbered behind its own; NULL where it has it */
	uint32_t n_names;
};
#define PATH_STATES 50000000u
#define PATH_WAYS 1000000u

void path_found_release(struct path_found *f);
/* Steps of both traces: entering and leaving functions, and the nodes that called them. 0 or -ENOMEM. */
int path_search(const struct spec *s, const struct call_events e[2], struct symbols *symbols, struct steps ret[2],
                struct path_found *ret_found);

#endif
