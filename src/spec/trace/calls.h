/* calls.h - a trace of calls: which system calls a thread made, in order, of a program that was built as it is
 * (doc/traces.md; the bytes are in doc/format/calls.md). Written by the recorder (src/capture/call_trace/call_trace.c).
 *
 * Of each call: its name, the descriptor that it was about and what that is, the paths that it gave, and what came of
 * it. Where stacks were asked for: who called, as addresses, and after calls_name as functions and lines. Every input
 * is hostile: what is read has every index in its range; a line that is none of the format's is damage, and nothing
 * behind it is read. At most 256 MiB, CALLS_DEPTH frames a call. */
#ifndef STEMMA_SPEC_TRACE_CALLS_H
#define STEMMA_SPEC_TRACE_CALLS_H

#include "base/err.h"
#include "spec/trace/trace.h"
#include "spec/trace/vocabulary.h"

#include <stdbool.h>
#include <stdint.h>

#define CALLS_MAGIC "stemma-calls 1\n"
#define CALLS_NAMES "names" /* the file beside traces that has the names of their addresses */
#define CALLS_NAMES_MAGIC "stemma-names 1\n"
#define CALLS_DEPTH 1024
#define CALLS_SIGNAL "<signal>"     /* the function that stands for the kernel, which called a handler */
#define CALLS_LIBRARY "<C library>" /* ... for what the C library does before main, and after it */

struct traced_call {
	uint32_t name;     /* "read" */
	uint32_t kind;     /* of the descriptor: "file", "pipe"; "" none */
	uint32_t path;     /* of the descriptor; "" none or not known */
	uint32_t given[2]; /* paths among its arguments; "" none. Both are shortened by the folder that it was started in */
	int32_t fd;        /* -1 none */
	int64_t value;     /* what it returned: negative: -errno */
	/* In stacks, outermost first; depth 0: not known. Until they are named: the number of the stack, and whether there
	 * is one. */
	uint32_t stack, depth;
};
/* A function that was called from, or made the call, at a place; words. */
struct call_frame {
	uint32_t module, function, file, line; /* file "", line 0: not known */
	uint32_t at;                           /* "libm.so.6+0x1234"; "" what was inlined there */
};
struct traced_stacks; /* as they were read (calls_stacks.c) */
struct calls {
	struct trace_info info; /* as far as it says; end: CUT also where it was killed or became another program */
	bool whole;             /* it begins where the program does: neither a thread nor a child of fork */
	uint64_t size;          /* of the program's file, and its time; 0 not known */
	int64_t time;
	int killed;    /* by this signal; 0: not */
	bool replaced; /* it ended as another program began */
	struct traced_call *v;
	uint32_t n;
	struct traced_stacks *raw; /* NULL: none were asked for */
	struct call_frame *frames;
	uint32_t n_frames;
	uint32_t *stacks; /* numbers of frames */
	uint32_t n_stacks;
	/* Of the calls those of which it is not known who made them, or who called these; of the addresses those that have
	 * no name, or no line. */
	uint32_t n_unknown, n_cut, n_addresses, n_unnamed, n_unlined;
	struct vocabulary words;
	uint64_t gaps;
	bool damaged;
	unsigned line; /* of the damage */
};

/* Is it the beginning of a trace of system calls? */
bool calls_is(const char *first, size_t n);
/* Reads a trace of system calls. 0; -EBADMSG with a sentence; -ENOMEM. Release in any case. Loading names what it
 * read, by the file beside it. */
int calls_read(const char *text, size_t n, struct err *err, struct calls *ret);
/* Reads a trace of system calls from a file, as calls_read does, and names what its stacks have by the file beside
 * it. 0; -EBADMSG with a sentence; -errno. Release in any case. */
int calls_load(const char *path, struct err *err, struct calls *ret);
void calls_release(struct calls *c);
/* Names the functions of all stacks. Once: stacks as functions. text: of the names' file; what is damaged in it has
 * no name. 0 or -ENOMEM. */
int calls_name(struct calls *c, const char *text, size_t n);
/* A text of the trace. */
static inline const char *calls_text_of(const struct calls *c, uint32_t word)
{
	return c->words.v[word];
}
/* What came of it, as far as it decides what a program does next. */
enum call_result { CALL_DID, CALL_END /* a read that gave nothing */, CALL_FAILED };
enum call_result calls_result(const struct calls *c, const struct traced_call *t);
#endif
