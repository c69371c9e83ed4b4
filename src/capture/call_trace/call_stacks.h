/* call_stacks.h - the stacks of a trace of calls (doc/traces.md): asks the unwinder (capture/call_trace/stacks) who
 * called, and writes that as lines of doc/format/calls.md. Internal to capture.
 *
 * The thread stands at its call meanwhile. The unwinder never touches it: registers and memory are sent. What it
 * answers is checked; one that is silent for STACKED_MS, or says what makes no sense, is asked no more, and stacks are
 * then not known. Bounds: STACKED_MOST functions and stacks a thread. All functions are those of one thread at a time.
 */
#ifndef STEMMA_CAPTURE_CALL_TRACE_CALL_STACKS_H
#define STEMMA_CAPTURE_CALL_TRACE_CALL_STACKS_H

#include "base/buf.h"
#include "capture/call_trace/stacks/wire.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define STACKED_MS 10000 /* the unwinder gives up by itself after two seconds */
#define STACKED_MOST (1u << 20)

struct stacker;
struct sup;

/* Where a thread stands; a tracer alone can ask. ret->known is false where it cannot be told. */
struct stands {
	bool known;
	uint64_t pc, registers[STACK_REGISTERS];
};
/* Reads where a stopped thread stands: its registers. */
void stands_at(pid_t tid, struct stands *ret);

/* What a thread's trace has said already. Zero: nothing. */
struct emitted_stacks {
	struct stack_slot *slots;
	uint32_t n, mask;
	uint32_t frames, stacks, modules;
	uint32_t *module; /* by the run's number: the trace's, and 1; 0: not said */
	size_t n_module;
	int64_t last; /* the stack that holds; -1: not known */
	bool any;
	struct known_stack *known; /* those that need not be asked for again */
};
void emitted_stacks_release(struct emitted_stacks *s);

/* The socket to the unwinder, which becomes its. NULL: no memory. */
struct stacker *stacker_new(int fd);
void stacker_release(struct stacker *k);
/* Lines that say the stack of the thread, as far as they are new. image: of the process, as it is counted. */
void stacker_emit(struct stacker *k, struct sup *s, struct emitted_stacks *said, pid_t pid, pid_t tid, uint64_t image,
                  const struct stands *at, struct buf *text);
/* The process maps other code from now on; it is over. */
void stacker_maps(struct stacker *k, pid_t pid);
void stacker_gone(struct stacker *k, pid_t pid);

#endif
