/* trace.h - a function trace: what one thread of one execution did, in the words of its program's specification.
 *
 * A trace is one file a thread, written by code inside the program while it runs (src/spec/runtime), so it may end
 * anywhere; what it has up to there is whole. Reading believes nothing: every event that trace_next gives is well
 * formed, but whether its numbers exist in a specification is for trace_fits, or the caller, to say.
 *
 * Events, in the order in which they happened. A frame begins with ENTER and ends with LEAVE. In between, in the words
 * of the function's graph: CALL at a call site (of SPEC_CALL and SPEC_SYSCALL nodes), before it is called; DECIDE at a
 * decision. The callee's ENTER follows the CALL; an ENTER that follows something else was called by nobody that is
 * traced: a signal's handler, a callback out of a library, a thread's first function, main.
 *
 * One thread a reader. Memory belongs to the reader. On disk: doc/format/trace.md. */
#ifndef STEMMA_SPEC_TRACE_TRACE_H
#define STEMMA_SPEC_TRACE_TRACE_H

#include "base/buf.h"
#include "base/err.h"
#include "spec/spec.h"
#include "spec/trace/trace_format.h"

#include <stdbool.h>
#include <stdint.h>

enum trace_kind {
	TRACE_ENTER = 1, /* function */
	TRACE_LEAVE,     /* the frame on top returned */
	TRACE_CALL,      /* node */
	TRACE_DECIDE,    /* node, outcome; operands where they were asked for */
	TRACE_SILENT,    /* words events that reached nothing were taken back; hash says which they were */
	TRACE_BACK,      /* depth: frames above it are gone (longjmp, an exception; a no-op if there are none) */
	TRACE_GAP,       /* something is missing here: why */
	TRACE_MESSAGE,   /* what came of the call before it: message */
};

enum trace_why {
	TRACE_WHY_FULL = 1, /* the trace had reached its largest size: nothing follows */
	TRACE_WHY_SPACE,    /* no space on the disk: nothing follows */
	TRACE_WHY_OTHER,
};

/* What is compared in a decision. */
enum trace_type {
	TRACE_NO_OPERANDS,
	TRACE_SIGNED,   /* int64_t */
	TRACE_UNSIGNED, /* uint64_t */
	TRACE_REAL,     /* double; a float was made one */
	TRACE_POINTER,  /* 0: null, 1: not */
};

/* A message of MPI (spec/trace/messages.def): who in the communicator sent what to whom. */
struct trace_message {
	uint8_t kind, flags; /* TRACE_MESSAGE_*; a kind may be none that is known */
	int32_t rank, size;  /* of the process, and of the communicator; -1 not known */
	int32_t peer;        /* of collectives the root; -1 none */
	int32_t tag;         /* -1 none */
	uint64_t bytes;      /* with the flag TRACE_MESSAGE_BYTES */
};

struct trace_event {
	enum trace_kind kind;
	uint32_t function; /* of ENTER */
	uint32_t node;     /* of CALL, DECIDE */
	uint32_t outcome;  /* of DECIDE */
	uint32_t depth;    /* of BACK: so many frames are left, the first frame is 1 */
	uint64_t hash;     /* of SILENT: of the events without operands, one after the other, however they were gathered */
	uint64_t words;    /* of SILENT: how many */
	bool has_data;     /* of SILENT: decisions with operands were among them, and `data` is the hash of these */
	uint64_t data;
	enum trace_why why;
	enum trace_type type; /* of DECIDE */
	union {
		int64_t i;
		uint64_t u;
		double d;
	} a, b; /* of a switch: only a */
	struct trace_message message;
};

enum trace_end {
	TRACE_CUT,    /* it does not say: killed, exec, _exit, or still going on. The last event may tell */
	TRACE_EXIT,   /* the process went through exit */
	TRACE_THREAD, /* the thread ended */
	TRACE_STOPPED /* tracing ended before the thread did: a gap */
};

struct trace_info {
	uint64_t spec; /* id of the program's specification; 0: only libraries are traced */
	unsigned char build_id[SPEC_BUILD_ID_MAX];
	uint32_t n_build_id;
	uint32_t pid, tid;
	uint64_t began;   /* ns since 1970, when the trace did */
	uint64_t started; /* of the process, in clock ticks since boot (/proc/PID/stat): with pid, which process */
	/* Threads by how they were created: "0" the first, "0.2" the third that it created. Of one that was created where
	 * nobody saw: "?N", in the order of their first events. */
	char thread[64];
	bool lazy, operands, turned; /* turned: a decision got another outcome than it had (STEMMA_TRACE_TURN) */
	enum trace_end end;
	char exe[256];        /* path of the program, cut at the end if it is longer */
	uint32_t rank, ranks; /* of MPI; ranks 0: not known */
};

struct trace;

/* 0, -EBADMSG (with a sentence), or -errno. */
int trace_open(const char *path, struct err *err, struct trace **ret);
/* Opens a function trace of n bytes, which must outlive it, as trace_open does a file. 0; -EBADMSG with a sentence;
 * -ENOMEM. */
int trace_open_bytes(const void *p, size_t n, struct err *err, struct trace **ret);
const struct trace_info *trace_info(const struct trace *t);
/* Libraries whose functions are in it, of which the numbers begin at TRACE_LIBRARY_FIRST; at most TRACE_LIBRARIES_TOLD.
 * Paths end with a NUL byte. They belong to t. */
uint32_t trace_libraries(const struct trace *t, const struct trace_library **ret);
/* Reads the next event. 1, 0: no more (trace_info says how it ended), -EBADMSG: damaged here (with a sentence). */
int trace_next(struct trace *t, struct err *err, struct trace_event *ret);
/* Where the next event begins, in words from the first. */
uint64_t trace_position(const struct trace *t);
/* How many words the thread had written when it wrote the next event, those that were taken back included. Programs
 * that an older stemma linked count less: of what was taken back in two steps the last only. */
uint64_t trace_clock(const struct trace *t);
void trace_rewind(struct trace *t);
void trace_close(struct trace *t);

/* Does it fit: made with this specification, each ENTER a function, each CALL and DECIDE a node of that kind, each
 * outcome one that it has, each CALL and DECIDE after the one before by an edge? 0, or -EBADMSG with the first that
 * does not. */
int trace_fits(struct trace *t, const struct spec *s, struct err *err);

/* ---- making one (tests, converters) ---- */

/* Of a trace that has not ended. */
void trace_put_header(struct buf *out, const struct trace_info *info);

/* In the words of a trace. */
void trace_put(struct buf *out, const struct trace_event *e);
/* The header's count of words, once all are put. */
void trace_put_end(struct buf *out, enum trace_end end);

/* The hash of SILENT: begin with 0, a word (as on disk) after the other. */
static inline uint64_t trace_hash(uint64_t h, uint32_t word)
{
	return (h + word + 1) * 0x9e3779b97f4a7c15u;
}

#endif
