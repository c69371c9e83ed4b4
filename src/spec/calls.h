/* calls.h - a trace of calls: which system calls a thread made, in order, of a program that was built as it is
 * (doc/traces.md; the bytes are in doc/format/calls.md). Written by the recorder (src/capture/run/called.c).
 *
 * Of each call: its name, the descriptor that it was about and what that is, the paths that it gave, and what came of
 * it. Every input is hostile: what is read has every index in its range; a line that is none of the format's is damage,
 * and nothing behind it is read. At most 256 MiB. */
#ifndef STEMMA_SPEC_CALLS_H
#define STEMMA_SPEC_CALLS_H

#include "base/err.h"
#include "spec/trace.h"
#include "spec/vocabulary.h"

#include <stdbool.h>
#include <stdint.h>

#define CALLS_MAGIC "stemma-calls 1\n"

struct traced_call {
	uint32_t name;     /* "read" */
	uint32_t kind;     /* of the descriptor: "file", "pipe"; "" none */
	uint32_t path;     /* of the descriptor; "" none or not known */
	uint32_t given[2]; /* paths among its arguments; "" none. Both are shortened by the folder that it was started in */
	int32_t fd;        /* -1 none */
	int64_t value;     /* what it returned: negative: -errno */
};
struct calls {
	struct trace_info info; /* as far as it says; end: CUT also where it was killed or became another program */
	bool whole;             /* it begins where the program does: neither a thread nor a child of fork */
	uint64_t size;          /* of the program's file, and its time; 0 not known */
	int64_t time;
	int killed;    /* by this signal; 0: not */
	bool replaced; /* it ended as another program began */
	struct traced_call *v;
	uint32_t n;
	struct vocabulary words;
	uint64_t gaps;
	bool damaged;
	unsigned line; /* of the damage */
};

bool calls_is(const char *first, size_t n);
/* 0; -EBADMSG with a sentence; -ENOMEM. Release in any case. */
int calls_read(const char *text, size_t n, struct err *err, struct calls *ret);
int calls_load(const char *path, struct err *err, struct calls *ret);
void calls_release(struct calls *c);
static inline const char *calls_word(const struct calls *c, uint32_t word)
{
	return c->words.v[word];
}
/* What came of it, as far as it decides what a program does next. */
enum call_result { CALL_DID, CALL_END /* a read that gave nothing */, CALL_FAILED };
enum call_result calls_result(const struct calls *c, const struct traced_call *t);
#endif
