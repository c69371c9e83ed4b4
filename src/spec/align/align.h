/* align.h - where two threads' steps part and where they meet again.
 *
 * The first divergence is the end of the exact common prefix. From there on the regions that are open (regions.h) are
 * aligned from the innermost outwards: what is left of each is matched by hash (match.h), what stays unmatched in
 * between by label, and pairs of equal label are looked into in the same way. So equal parts cost nothing, and a
 * divergence never reaches beyond the region that it is in.
 *
 * A divergence (Definition 2 of ProvScope) is a pair of steps that are aligned and whose next steps are not, or a
 * decision that went different ways. It ends at the next aligned pair. They come in the order of time. Turning the
 * sides round turns the answer round and changes nothing else.
 *
 * Cost: O(n) to the first divergence, 10 ns a step; then what regions_read and match_rows cost, once for each level of
 * regions that differ. Memory beyond the steps: 16 bytes for each item of the regions that are open there. */
#ifndef STEMMA_SPEC_ALIGN_ALIGN_H
#define STEMMA_SPEC_ALIGN_ALIGN_H

#include "spec/align/regions.h"

#define ALIGN_START SIZE_MAX

struct divergence {
	size_t at[2];  /* the last steps that are aligned; ALIGN_START: there is none before */
	size_t end[2]; /* where they meet again: these are aligned; the number of steps: never */
	bool decision; /* `at` is one decision that went different ways */
	/* The innermost loop around it that made a different number of turns because of it; func LAYOUT_NONE: none. */
	uint32_t loop_function, loop;
	size_t iterations[2];
};

struct align_result {
	struct divergence *v; /* the first max of them */
	size_t n;
	size_t total;  /* of all */
	size_t max;    /* of v; 0: 10,000 */
	size_t common; /* steps that are aligned */
	bool exact;    /* false: what follows the first was too much to be aligned in the best way */
};
void align_result_release(struct align_result *r);

struct align_side {
	const uint32_t *v;
	size_t n;
};
/* The length of the common prefix: the first step that differs. */
size_t align_prefix(const struct align_side side[2]);

/* 0; -ENOMEM; -E2BIG. r->max may be set before. pairs, if not NULL, is given each run of aligned steps: for tests. */
struct align_pairs {
	void (*aligned)(void *of, size_t a, size_t b, size_t n);
	void *of;
};
/* Aligns two traces. */
int align_sides(const struct reading *reading, const struct align_side side[2], const struct align_pairs *pairs,
                struct align_result *r);
/* Aligns two traces by Algorithm 2 of ProvScope (section III.C): in each function greedily, then in the calls that
 * are aligned. 0, -ENOMEM. */
int align_greedy(const struct reading *reading, const struct align_side side[2], const struct align_pairs *pairs,
                 struct align_result *r);

/* ---- for both ways: what is aligned, told in order, makes the divergences ---- */

struct align_writer {
	const struct reading *reading;
	const struct align_side *side;
	const struct align_pairs *pairs;
	struct align_result *result;
	size_t done[2]; /* everything before is told */
	bool open;      /* a divergence has begun and not ended */
	struct divergence now;
	uint32_t loop_function, loop; /* the innermost loop whose turns are known, for what begins now */
	size_t iterations[2];
};
/* n steps from a and b on are aligned and equal, or one of them is one decision that went different ways. 0, -ENOMEM.
 * */
int align_emit_match(struct align_writer *w, size_t a, size_t b, size_t n);
/* Nothing before a and b will be aligned any more: what is not told yet stands alone. */
void align_emit_unmatched(struct align_writer *w, size_t a, size_t b);
/* Ends the alignment: what is not told yet stands alone. 0, -ENOMEM. */
int align_emit_end(struct align_writer *w);

#endif
