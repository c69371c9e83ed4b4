/* align_layout.h - what a function's control-flow graph says of a trace of it: where what a decision chose is over, and
 * which nodes make a loop.
 *
 * Nodes that leave no step in a trace (they were not recorded, or stand for removed ones) are passed through first, so
 * that joins and loops are named by nodes that a trace can show. The join of a decision is its immediate post-dominator
 * (Ferrante, Ottenstein, Warren 1987) where that lies in the decision's own innermost loop; a decision that leaves its
 * loop or its function has none. Loops are those of the nesting forest of strongly connected components, so irreducible
 * graphs have them, too; the head is the node that is entered first.
 *
 * Cost: O(N * E) for the nodes that are passed through, else about O(E * depth of loops). Memory belongs to the struct.
 * Pure. */
#ifndef STEMMA_SPEC_ALIGN_ALIGN_LAYOUT_H
#define STEMMA_SPEC_ALIGN_ALIGN_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LAYOUT_NONE UINT32_MAX

struct layout_edge {
	uint32_t from, to;
};
struct layout_loop {
	uint32_t head;   /* node */
	uint32_t parent; /* the loop around it, LAYOUT_NONE */
};
struct flow_layout {
	uint32_t n;
	uint32_t *join; /* by node; LAYOUT_NONE: no region is opened by it */
	uint32_t *loop; /* by node: the innermost loop, LAYOUT_NONE */
	struct layout_loop *loops;
	uint32_t n_loops;
};

/* A graph larger than this has no layout: its calls are compared as flat lists. */
#define LAYOUT_NODES 100000u
#define LAYOUT_EDGES 1000000u

/* seen[node]: the node leaves a step. entry: where the function begins, seen or not. 0; -E2BIG; -EINVAL for an edge out
 * of range; -ENOMEM. */
int flow_layout_make(uint32_t n, const bool *seen, uint32_t entry, const struct layout_edge *edges, size_t n_edges,
                     struct flow_layout *ret);
void flow_layout_release(struct flow_layout *s);
/* Is the node in the loop, or in one inside it? */
static inline bool layout_in_loop(const struct flow_layout *s, uint32_t node, uint32_t loop)
{
	uint32_t at = s->loop[node];
	while (at != LAYOUT_NONE && at != loop)
		at = s->loops[at].parent;
	return at == loop;
}

#endif
