/* path_search.h - of path_calls.c and its parts: the search for the path that a trace of calls took.
 *
 * A state is a call of the library with the frames around it (a cell: a call, on the cell of its frame). From each
 * state search_next gives those that can make the next call; layers hold them, one for each call of a trace, with
 * links. */
#ifndef STEMMA_SPEC_PATH_PATH_SEARCH_H
#define STEMMA_SPEC_PATH_PATH_SEARCH_H

#include "spec/path/path_calls.h"
#include "spec/trace/reserve.h"
#include "spec/trace/vocabulary.h"

#define ANY UINT64_MAX

enum { AT_EXIT, BEFORE_MAIN, FIRST_STATE }; /* states that are in no function */

struct cell {
	uint32_t node, parent, depth; /* the call that the frame above is of; SPEC_NONE, 1: the first frame */
};
struct state {
	uint32_t node, cell;
};
struct reached {
	uint32_t state, low; /* so many frames stayed all the time since the call before */
};
struct link {
	uint32_t from, to, low; /* indices in their layers */
};
struct layer {
	uint32_t *state;
	uint32_t n, cap;
	struct link *link; /* from the layer before */
	uint32_t n_links, cap_links;
	bool *alive;
	double *ways;
};
struct events {
	uint32_t *call; /* index in the trace */
	uint8_t *bit;
	uint32_t n;
};
struct table3 { /* of keys of three words */
	uint32_t (*key)[3], *value, mask, n;
};
struct search {
	const struct spec *s;
	const struct calls *c;
	struct events ev[2];
	uint32_t *function;        /* by node */
	uint64_t *accepts;         /* by node: calls that the node itself may make */
	unsigned char *one, *pass; /* ... exactly one; ... may be passed without any */
	uint64_t *first, *function_first;
	unsigned char *ends, *function_ends; /* can the function's end be reached from here without a call? */
	uint64_t at_exit;
	struct vocabulary names; /* of calls: bits */
	struct cell *cells;
	uint32_t n_cells, cap_cells;
	struct state *states;
	uint32_t n_states, cap_states;
	struct table3 cell_table, state_table, closed, seen, placed;
	struct reached *pool; /* closures, one behind the other */
	uint32_t n_pool, cap_pool, cap_work;
	struct item {
		uint32_t node, cell, low;
	} * work;
	uint32_t n_work;
	uint64_t done, most; /* steps of the search, and how many it may take */
	bool loose, deep;
	struct merging *merging; /* path_merged.c's; NULL: each stack is a state of its own */
};

/* A step of a path: the state, and how many frames stayed all the time since the call before. */
struct chosen {
	uint32_t state, low;
};

/* The place of the key's value, which is 0 where the key is new; NULL: no memory. */
uint32_t *table3_value(struct table3 *t, uint32_t a, uint32_t b, uint32_t c);
/* Without its keys. */
void table3_clear(struct table3 *t);

void table3_release(struct table3 *t);

/* The number of the frame: called by node, above parent; made if it is new. 0, -ENOMEM. */
int search_cell(struct search *x, uint32_t node, uint32_t parent, uint32_t *ret);

/* The number of the state, made if it is new. 0, -ENOMEM. */
int search_state(struct search *x, uint32_t node, uint32_t cell, uint32_t *ret);

/* What can come first from each node on, and from each function's entry, and whether the end can be come to silently:
 * the least sets that hold all that follows from the edges. */
void search_know(struct search *x);
bool search_is_longjmp(const struct spec_node *n);
/* It has targets that run in another thread. */
bool search_makes_thread(const struct spec_node *n);

/* Puts the node on the work list, once for each cell and low, unless no call of `bit` (one bit of a call's set) can
 * come from there. 0; -E2BIG: too much work; -ENOMEM. Then what can be come to from there, behind what the pool has. */
int search_arrive(struct search *x, uint32_t node, uint32_t cell, uint32_t low, uint64_t bit);
int search_work_off(struct search *x, uint64_t bit, uint32_t origin);
int search_give(struct search *x, uint32_t state, uint32_t low);
/* All that can make a call of this bit next. In pool from *ret on, *ret_n. */
int search_next(struct search *x, uint32_t state, uint32_t bit_number, uint32_t *ret, uint32_t *ret_n);

#endif
