/* align_traces.h - two traces, of one thread each, compared in the words of their specifications.
 *
 * The numbers of A's specification stand for both sides; what only B's has is numbered behind them. Two builds of a
 * program are brought together by the names of functions, and in a function node by node where the graphs are alike
 * but for lines, else by kind, name and order.
 *
 * Memory: 4 bytes a step of both, one trace's file at a time, and what align.h says. All that a struct compared points
 * to is its own or the specifications', which must outlive it. */
#ifndef STEMMA_SPEC_ALIGN_ALIGN_TRACES_H
#define STEMMA_SPEC_ALIGN_ALIGN_TRACES_H

#include "base/err.h"
#include "spec/align/align.h"
#include "spec/spec.h"
#include "spec/trace/trace.h"

/* ---- one numbering for both ---- */

struct align_noise;

/* Of a specification that was joined (spec_join.h): where the functions of a part begin. */
struct atlas_part {
	uint64_t spec;
	uint32_t first, n;
};

struct atlas {
	const struct spec *spec[2]; /* NULL: none; the same for both sides where they are of one build */
	uint32_t n;                 /* functions of both */
	uint32_t *function;         /* of B's: its number here */
	uint32_t **node;            /* of B's, by function: numbers of nodes here; NULL: as they are */
	struct flow_layout *layout; /* by number; n == 0: there is none */
	const struct flow_layout **layouts;
	bool built_otherwise; /* the specifications differ */
	uint32_t *changed;    /* functions, by A's number, whose graphs differ; or that one side has not */
	uint32_t n_changed;
	struct atlas_part *parts[2]; /* n_parts of each side; 0: numbers are those of one program */
	size_t n_parts[2];
	const struct align_noise *noise; /* what traces are read without; NULL: nothing. Not owned */
};
/* Finds which functions and nodes of two specifications are the same. Either may be NULL, both too. 0 or -ENOMEM. */
int atlas_make(const struct spec *a, const struct spec *b, struct atlas *ret);
void atlas_release(struct atlas *m);
/* The parts that the side's specification was joined of. 0 or -ENOMEM. */
int atlas_set_parts(struct atlas *m, int side, const struct spec *const *parts, size_t n);
/* The function or node as that side's specification has it; NULL: it has not. */
const struct spec_function *atlas_function(const struct atlas *m, int side, uint32_t function);
const struct spec_node *atlas_node(const struct atlas *m, int side, uint32_t function, uint32_t node);

/* ---- traces as steps ---- */

struct thread_steps {
	struct steps steps;
	struct trace_info info;
	uint64_t gaps, silent, messages; /* events of these kinds */
	bool operands;                   /* a decision says what it compared */
	bool damaged;                    /* the rest could not be read */
	char why[128];                   /* that */
	size_t frames;                   /* that were open at the end */
};
/* Of a step: how many words the thread had written before it (trace_clock), and how many it stands for. 0, or -errno; 0
 * words: there is no such step. */
int trace_step_clock(const struct atlas *m, const char *path, int side, size_t step, struct err *err,
                     uint64_t *ret_clock, uint64_t *ret_words);

/* ---- what is said of a divergence ---- */

#define COMPARED_STACK 12 /* calls that are named, from the innermost on */

struct spot {
	size_t step;             /* ALIGN_START: before the first; the number of steps: behind the last */
	uint8_t kind;            /* enum step_kind; STEP_MARK also at the ends */
	uint32_t function, node; /* where; SPEC_NONE not known. ENTER: the function that is entered, LEAVE: that is left */
	bool chooses;            /* a decision, that had this outcome */
	uint32_t outcome;
	uint64_t value; /* of SILENT, MARK */
	enum trace_type type;
	union {
		int64_t i;
		uint64_t u;
		double d;
	} a, b;
};
struct call_site {
	uint32_t function, node; /* node SPEC_NONE: nobody called it that is traced, or it is the innermost */
};
struct difference {
	struct divergence d;
	struct spot at[2], next[2], meet[2];
	struct call_site stack[2][COMPARED_STACK]; /* of `at`: innermost first; node: where it is in that function */
	unsigned depth[2];                         /* of the stack, all of it */
};

/* A side's message, and the call that came to it. */
struct reported_message {
	bool there; /* false: the side has none where the other one has */
	struct trace_message message;
	struct call_site at;
};

struct compared {
	struct thread_steps thread[2];
	struct align_result result;
	struct difference *v; /* the first of result.v */
	size_t n;
	bool equal;   /* no divergence */
	bool partial; /* of a side that is cut (and not known to have ended), damaged or has gaps; or result.exact is false
	               */
	struct call_site stopped[2]; /* where the side was at the end of its trace, if that is cut; else SPEC_NONE */
	bool operands;               /* both sides have them, so that data can be compared */
	bool data;                   /* operands differ before the first divergence, or at all: first in `datum` */
	struct spot datum[2];
	uint64_t data_steps; /* decisions with operands that were compared */
	/* With compare_options.all_data: each place where operands differ, once. Owned. */
	struct call_site *data_sites;
	size_t n_data_sites;
	bool message; /* a message differs before the first divergence, or at all: the first in `told` */
	struct reported_message messages[2];
	uint64_t n_messages;          /* that are the same before it */
	struct reported_message last; /* of these, A's, the last that was received */
};

struct compare_options {
	bool greedy;
	size_t max; /* differences that are told in full; 0: 20 */
	bool all_data;
	bool goes_on;  /* as in struct reading (regions.h) */
	bool ended[2]; /* it is known that the side's process ended: a trace that is only cut has all of it */
};
/* 0; -EBADMSG: a file is no trace; -errno. */
int compare_traces(const struct atlas *m, const char *const path[2], const struct compare_options *o, struct err *err,
                   struct compared *ret);
void compared_release(struct compared *c);

/* Steps that exist already (ProvScope's traces, tests) in place of files: no operands. Takes the steps of t. 0;
 * -ENOMEM, -E2BIG with a sentence. */
int compare_steps(const struct atlas *m, const struct symbols *symbols, const struct compare_options *o,
                  struct err *err, struct compared *c);

#endif
