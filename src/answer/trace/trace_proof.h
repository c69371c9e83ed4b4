/* trace_proof.h - whether one decision is the cause of what differs: B was run again with it turned, as A took it, and
 * what B left then is A's, or is not. The data, and the sentences of every form. */
#ifndef STEMMA_ANSWER_TRACE_TRACE_PROOF_H
#define STEMMA_ANSWER_TRACE_TRACE_PROOF_H

#include "answer/js.h"
#include "base/buf.h"

enum trace_proof_state {
	PROOF_NOT_MADE, /* why says it */
	PROOF_FOUND,    /* the last that was tried is the cause */
	PROOF_NOT_FOUND /* none that was tried is, alone */
};
/* One decision that was turned. */
struct trace_turn {
	char *place;      /* "settles() at integrate.c:11"; owned */
	const char *file; /* of the specification; NULL not known */
	unsigned line;    /* 0 not known */
	bool same;        /* what B left is A's */
	char *what;       /* else: what is not A's, or why it could not be turned; owned */
};
struct trace_proof {
	enum trace_proof_state state;
	const char *why;
	struct trace_turn *v;
	size_t n;
	char *outputs;  /* names of those that were compared and differed before, with commas; owned */
	char *left_out; /* ... that also differ between two runs of A; "" none; owned */
};
/* Adds one; takes place and what, either of which NULL means no memory. 0 or -ENOMEM. */
int trace_proof_add(struct trace_proof *p, const struct trace_turn *t);
/* "turning sort.c:4418 makes B's output A's: out.txt", or what else came of it, a line each. Nothing where none was
 * tried for. */
void trace_words_proof(const struct trace_proof *p, struct buf *b);
/* A new reference. */
json_t *trace_proof_json(const struct trace_proof *p);
void trace_proof_release(struct trace_proof *p);

#endif
