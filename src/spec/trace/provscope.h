/* provscope.h - ProvScope's published formats: the specification as JSON, function traces (.ftr) as text.
 *
 * A specification is a list of {"function name", "nodes": [{"id", "type": "ePoint|retCall|funcCall", "label"}],
 * "edges":
 * [{"src", "dst"}]}. It has no lines and no decisions: edges leave calls. A label that names no function of the list is
 * a library's or the kernel's; it becomes a function without a graph. A call without a label may be of any function.
 *
 * A trace has a line for each event: `name` enters, `/name` leaves. Where a leave does not belong to the innermost
 * function those between were left by a jump; one that belongs to none is damage, and nothing behind it is read.
 *
 * Every input is hostile; bounds: 256 MiB of either, 2^17 nodes a function, 4,096 bytes a name. */
#ifndef STEMMA_SPEC_TRACE_PROVSCOPE_H
#define STEMMA_SPEC_TRACE_PROVSCOPE_H

#include "base/err.h"
#include "spec/spec.h"

/* Reads a specification of ProvScope. 0; -EBADMSG with a sentence; -errno. Free with spec_free. */
int provscope_spec_read(const char *text, size_t n, struct err *err, struct spec **ret);
/* Reads a specification of ProvScope from a file, as provscope_spec_read does. 0 and *ret to be freed; -EBADMSG with
 * a sentence; -errno. */
int provscope_spec_load(const char *path, struct err *err, struct spec **ret);

/* A function trace as names. */
struct call_event {
	uint32_t name;  /* in names */
	uint32_t other; /* ENTER: its LEAVE, or the number of events if there is none; LEAVE: its ENTER */
	bool leave, jump;
	bool outside; /* ENTER: not called by the program itself, but by a library or for a signal */
	bool begun;   /* ENTER: it was open when the trace began, so what it had called before is not in it */
};
struct call_events {
	struct call_event *v;
	uint32_t n;
	char **names;
	uint32_t n_names;
	bool damaged;
	unsigned line; /* of the damage */
	/* The names are those of all functions that were looked for: what is called and not among them was not seen, and
	 * what is among them was not called where it is not in the trace. Else only those that were called are known. */
	bool chosen;
};
/* Reads a trace of ProvScope. 0; -EBADMSG with a sentence, -ENOMEM. */
int provscope_trace_read(const char *text, size_t n, struct err *err, struct call_events *ret);

/* Reads a trace of ProvScope from a file. 0; -EBADMSG with a sentence, -errno. */
int provscope_trace_load(const char *path, struct err *err, struct call_events *ret);

void call_events_release(struct call_events *e);

#endif
