/* unwind.h - the functions that a stopped thread is in, by the unwind tables of the files that it runs (libdw). Of the
 * unwinder's own process alone: libdw reads files that anybody may have made, and maps them. */
#ifndef STEMMA_CAPTURE_CALL_TRACE_STACKS_UNWIND_H
#define STEMMA_CAPTURE_CALL_TRACE_STACKS_UNWIND_H

#include "capture/call_trace/stacks/wire.h"

#include <stdbool.h>
#include <stddef.h>

struct unwinder;

/* What it needs of who asked. Threads: one. */
struct unwind_calls {
	void *arg;
	/* At most n bytes at the address; how many, 0: none. */
	size_t (*memory)(void *arg, uint64_t at, void *ret, size_t n);
	/* A module that no frame was in before; false: it could not be said. */
	bool (*module)(void *arg, uint32_t number, const char *identity, const char *path);
};
struct unwinder *unwinder_new(const struct unwind_calls *calls); /* NULL: no memory */
struct unwound {
	struct stack_frame frames[STACK_FRAMES]; /* innermost first */
	size_t n;
	enum stack_end end; /* why there are no more */
	/* What it was found by (wire.h). */
	uint32_t words[STACK_WORDS], registers;
	size_t n_words; /* 0: not known */
};
/* The stack at q, of whose process these are the bytes at its stack pointer. ret->n is 0 where nothing can be said;
 * n_words 0 where it must not be kept. */
void unwinder_stack(struct unwinder *u, const struct stack_question *q, const void *bytes, struct unwound *ret);

/* Forgets a process that has ended or called exec. Nothing if it is not held. */
void unwinder_forget(struct unwinder *u, pid_t pid);

#endif
