/* steps.h - what one thread did, as a row of small numbers.
 *
 * A step is that a function was entered or left, or that a node of the open function was passed, with what came of it
 * (the outcome of a decision). Equal steps of both sides have one number, so that traces are compared as arrays of
 * uint32_t: 4 bytes a step, whatever the trace's own format. Where operands or lines are needed they are looked up
 * again by the step's place.
 *
 * The table of symbols is shared by all threads of both sides; functions are numbered by whoever fills it. Memory
 * belongs to the structs. Not for several threads at once. */
#ifndef STEMMA_SPEC_ALIGN_STEPS_H
#define STEMMA_SPEC_ALIGN_STEPS_H

#include "spec/align/align_layout.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum step_kind {
	STEP_ENTER,  /* of: function */
	STEP_LEAVE,  /* of: 0; value: 0 it returned, 1 it was left by a jump or at the end of the thread */
	STEP_AT,     /* of: function, node: in it, value: what came of it */
	STEP_SILENT, /* of: function; value: hash of what it did, none of which was worth recording */
	STEP_MARK,   /* value: a signal, an exit: what is of no function */
};
struct symbol {
	uint8_t kind; /* enum step_kind */
	bool chooses; /* AT: a decision */
	uint32_t of, node;
	uint64_t value;
	uint64_t hash; /* of all this, set by symbols_number: numbers depend on which side was read first, hashes do not */
};
struct symbols {
	struct symbol *v;
	uint32_t n, cap;
	uint32_t *slot; /* hash table of index + 1 */
	uint32_t n_slots;
};
#define SYMBOLS_MAX (1u << 30)

/* The symbol's number, the same for equal symbols. 0 or -ENOMEM. */
int symbols_number(struct symbols *t, const struct symbol *s, uint32_t *ret);
void symbols_release(struct symbols *t);

struct steps {
	uint32_t *v;
	size_t n, cap;
};
/* At most this many steps a thread: 4 GiB of them. */
#define STEPS_MAX (1u << 30)
/* Appends a step. 0; -ENOMEM; -E2BIG */
int steps_add(struct steps *s, uint32_t symbol);
void steps_release(struct steps *s);

#endif
