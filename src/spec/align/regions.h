/* regions.h - the tree in which a trace is compared: calls, in them loops, their turns, and what a decision chose up to
 * where both ways join again (after Xin, Sumner, Zhang, "Efficient program execution indexing", 2008, section 3).
 *
 * The tree is never held whole. regions_list reads a stretch of steps and writes down, for each region that is open
 * where it begins, which regions and single steps it has from then on: where each begins, and a hash of all that is in
 * it. Two regions are equal if their hashes are (64 bits: of a million regions, two that differ are taken for equal
 * once in 10^7 comparisons of traces).
 *
 * Cost: some 10 ns a step, 16 bytes a region of the levels that are kept. */
#ifndef STEMMA_SPEC_ALIGN_REGIONS_H
#define STEMMA_SPEC_ALIGN_REGIONS_H

#include "spec/align/steps.h"

enum region_kind {
	REGION_STEP, /* a single one */
	REGION_CALL, /* from entering a function to leaving it */
	REGION_LOOP, /* its turns */
	REGION_ITERATION,
	REGION_BRANCH, /* a decision and what it chose */
};

struct region {
	uint8_t kind;
	uint32_t of;    /* function */
	uint32_t id;    /* LOOP, TURN: loop; BRANCH: node */
	uint32_t frame; /* place on the stack of the first region of the innermost call: behind the CALL, 0 without one */
	uint64_t hash;  /* of what it has so far */
	size_t start;   /* its first step */
	size_t items;   /* that are complete */
};
struct region_stack {
	struct region *v;
	size_t n, cap;
};

struct region_item {
	uint64_t hash;
	size_t start;
};
struct region_items {
	struct region_item *v;
	size_t n, cap;
	size_t end; /* where the last one ends */
};
/* Where item i ends: before the next one begins. */
static inline size_t region_items_end(const struct region_items *l, size_t i)
{
	return i + 1 < l->n ? l->v[i + 1].start : l->end;
}

/* What a trace is read with. layouts[function]: NULL where nothing is known of it. */
struct reading {
	const struct symbols *symbols;
	const struct flow_layout *const *layouts;
	uint32_t n_layouts;
	bool flat;    /* no regions but calls: for the greedy way */
	bool goes_on; /* what regions keep apart is aligned without them: where the nodes are guessed anyhow */
};
/* What the item that begins with this symbol is, in a region of kind `in` (REGION_STEP: in none) that begins with it,
 * too, if `first`. first: at the begin of an iteration. */
enum region_kind region_of(const struct reading *r, uint32_t symbol, enum region_kind in, bool first,
                           struct region *ret);
/* Items of equal labels may be compared, and their insides. */
uint64_t region_label(const struct reading *r, uint32_t symbol, enum region_kind in, bool first);

/* Reads v[from, to) with the regions on `stack` open. Items of stack[i], as it was at the beginning, go to lists[i +
 * 1], those outside all regions to lists[0]; lists may be NULL. An item is complete where it ends; of what is open at
 * `to` the items are complete there if `close` says so (the thread ended), and the stack is empty then. *ret_live,
 * which may be NULL: how many of the regions that were open at the beginning still are. 0 or -ENOMEM. */
int regions_read(const struct reading *r, const uint32_t *v, size_t from, size_t to, bool close,
                 struct region_stack *stack, struct region_items *lists, size_t *ret_live);
int region_push(struct region_stack *s, const struct region *region);
void region_stack_release(struct region_stack *s);
void region_items_release(struct region_items *l);

#endif
