/* entered.h - a trace of functions that were entered: of a program as it is, by probes (doc/traces.md; the bytes are in
 * doc/format/functions.md). Written by src/capture/function_trace/functions_write.c.
 *
 * Every input is hostile: what is read is well nested, with every number in its range; a line that is none of the
 * format's is damage, and nothing behind it is read. At most 256 MiB. */
#ifndef STEMMA_SPEC_TRACE_ENTERED_H
#define STEMMA_SPEC_TRACE_ENTERED_H

#include "spec/trace/provscope.h"
#include "spec/trace/trace.h"

#define ENTERED_MAGIC "stemma-functions 1\n"

struct entered {
	struct trace_info info; /* as far as it says; end: CUT also where it was killed or became another program */
	uint64_t size;          /* of the program's file, and its time; 0 not known */
	int64_t time;
	int killed;    /* by this signal; 0: not */
	bool replaced; /* it ended as another program began */
	uint64_t gaps;
	/* names: of all functions that were looked for, entered or not */
	struct call_events events;
};

/* Is it the beginning of a trace of function entries? */
bool entered_is(const char *first, size_t n);
/* Reads a trace of function entries. 0; -EBADMSG with a sentence; -ENOMEM. Release in any case. */
int entered_read(const char *text, size_t n, struct err *err, struct entered *ret);
/* Reads a trace of function entries from a file, as entered_read does. 0; -EBADMSG with a sentence; -errno. Release
 * in any case. */
int entered_load(const char *path, struct err *err, struct entered *ret);
void entered_release(struct entered *e);

#endif
