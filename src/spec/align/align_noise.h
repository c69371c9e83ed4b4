/* align_noise.h - places of a program at which two runs of one command with the same inputs differ (addresses, times,
 * process ids, threads), and steps of a trace without what they lead to.
 *
 * What a decision of this kind chose is passed over, from the decision to where both ways have joined again: to its
 * join (align_layout.h); of one that ends a loop, to what stands behind the loop; of the others in a loop, to the
 * loop's head; at the latest to the end of the function. The decision itself stays, without its outcome. Of a call it
 * is what was called; of what was computed without a system call in a function, all of it.
 *
 * Functions and nodes are those of an atlas (align_traces.h). Memory belongs to the structs. */
#ifndef STEMMA_SPEC_ALIGN_ALIGN_NOISE_H
#define STEMMA_SPEC_ALIGN_ALIGN_NOISE_H

#include "base/map.h"
#include "spec/align/align_layout.h"
#include "spec/align/steps.h"
#include "spec/spec.h"

enum {
	NOISE_WAY = 1,        /* a decision */
	NOISE_CALLED = 2,     /* a call */
	NOISE_SILENT = 4,     /* of a function: node SPEC_NONE */
	NOISE_DATA = 8,       /* operands of a decision; of a function with node SPEC_NONE: of what it computed */
	NOISE_MESSAGE = 16,   /* of MPI: a call */
	NOISE_ORDER = 32,     /* what comes behind; not passed over, for whoever reads the differences */
	NOISE_SOMETIMES = 64, /* a call that is taken back in some runs: left out, with what it did */
};
struct align_noise {
	struct map at;
};
/* Notes that runs of the same program differ at a node by themselves. 1: it is new; 0; -ENOMEM. */
int align_noise_add(struct align_noise *n, uint32_t function, uint32_t node, unsigned kinds);
/* In which kinds of ways runs differ at a node by themselves. n may be NULL. */
unsigned align_noise_at(const struct align_noise *n, uint32_t function, uint32_t node);
void align_noise_release(struct align_noise *n);

/* What of a trace is being passed over; zeroed at its beginning. */
struct noise_skip {
	size_t depth; /* of frames, those of the function included; 0: nothing */
	bool call;    /* up to the function's next step */
	bool exits;   /* up to what stands behind the loop */
	uint32_t join, loop;
	const struct flow_layout *layout;
};
/* Is the step to be left out? depth: frames that are open behind it; function: the innermost of these, SPEC_NONE;
 * layout and edges (of the node, in s) are the function's, NULL not known. Takes the outcome from steps that stay. */
struct noise_place {
	size_t depth;
	uint32_t function;
	const struct flow_layout *layout;
	const struct spec *spec;
	const struct spec_node *node;
};
bool noise_skips(struct noise_skip *k, const struct align_noise *n, const struct noise_place *at, struct symbol *step);

#endif
