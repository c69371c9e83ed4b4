/* path_layers.h - of path.c: the paths of one function that fit its calls, as layers of nodes. */
#ifndef STEMMA_SPEC_PATH_PATH_LAYERS_H
#define STEMMA_SPEC_PATH_PATH_LAYERS_H

#include "spec/path/path.h"

/* Call nodes that can come next, by node: of the entry and of call nodes. */
struct next {
	bool made[2];
	uint32_t *first[2], *to[2]; /* [1]: calls that no trace shows are passed through */
	bool *ends[2];              /* the function can end before the next call */
	uint32_t *all;              /* call nodes, n_all of them */
	uint32_t n_all;
};
struct frame_search {
	const struct spec *s;
	const struct call_events *e;
	uint32_t *name[2]; /* by side and its own number of a name: the common number */
	uint32_t n_names;
	uint32_t *function;  /* by common number: function, SPEC_NONE */
	uint32_t *node_name; /* by node of all: common number, SPEC_NONE: no trace has it */
	uint32_t *function_name;
	bool *shown;       /* by common number: a trace has it */
	bool *placed;      /* by common number: a node of the specification may call it */
	bool chosen;       /* the traces know what they would have shown (call_events.chosen) */
	struct next *next; /* by function */
	uint32_t *node[2]; /* by event that enters: the node that called */
	bool *done[2];     /* by event: what it called was searched */
	struct path_found *found;
};

bool frame_search_is_call(const struct spec_node *n);
/* Can what the node calls leave a mark in these traces? */
bool frame_search_may_leave_mark(const struct frame_search *x, uint32_t function, uint32_t node);
/* May the node call a function of that name? */
bool frame_search_may_call(const struct frame_search *x, uint32_t function, uint32_t node, uint32_t name);
/* Makes x->next of the function. 0 or -errno. */
int frame_search_make_next(struct frame_search *x, uint32_t function, int way);

struct layers {
	uint32_t n;     /* calls */
	size_t *first;  /* of each call: its nodes are node[first[i]] .. */
	uint32_t *node; /* that lie on a path from the entry to the end */
	int way;
	uint32_t function;
	const bool *broken; /* by call: it was left by a jump, so where it went on the graph does not say */
};

void path_layers_release(struct layers *l);
/* Finds the nodes at which the calls of a function may have been made, layer by layer. 1; 0: there is no path;
 * -E2BIG, -ENOMEM. whole: it was left, so the path has to come to an end. */
int path_layers_find(struct frame_search *x, uint32_t function, const uint32_t *names, const bool *broken, uint32_t n,
                     bool whole, int way, struct layers *ret);
/* Has a call several nodes? */
bool path_layers_are_ambiguous(const struct layers *l);
/* How many ways there are through the layers, PATH_WAYS at most. */
uint64_t path_layers_count(const struct frame_search *x, const struct layers *l);
/* The smallest path, in which the first n_fixed nodes are given already. */
void path_layers_choose_smallest(const struct frame_search *x, const struct layers *l, uint32_t *path,
                                 uint32_t n_fixed);
/* The longest beginning, of at most `most` calls, that a path of both has; the smallest of these. Its length. */
uint32_t path_layers_choose_common(const struct frame_search *x, const struct layers l[2], uint32_t most,
                                   uint32_t *path);
/* Nodes with more than one edge that lie between `from` and both ends, of which one may have gone different ways. end
 * SPEC_NONE: the function's end. 0 also where the function is too large; -ENOMEM. */
int path_layers_decisions(struct frame_search *x, uint32_t function, uint32_t from, const uint32_t end[2], int way);

#endif
