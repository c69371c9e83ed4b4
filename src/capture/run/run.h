/* run.h - run a command and record it (`stemma run`), without privileges.
 *
 * Three processes besides the command's own: the one the user started (keeper: it holds the listener too, forwards
 * signals, returns the status), its child the worker (handles the stops and writes the log), and the worker's child,
 * the command. Either of the first two may be killed at any moment without the command noticing. */
#ifndef STEMMA_CAPTURE_RUN_H
#define STEMMA_CAPTURE_RUN_H

#include "base/err.h"

#include <stdbool.h>

enum capture_mode { CAPTURE_COMPLETE, CAPTURE_TREE, CAPTURE_OFF };
enum capture_transport { TRANSPORT_AUTO, TRANSPORT_NOTIFY, TRANSPORT_TRACE, TRANSPORT_PROC };

struct run_options {
	char *const *argv; /* NULL-terminated */
	const char *home;  /* where the store's logs are; NULL: nowhere, and no_home says why */
	const char *no_home;
	const char *const *labels; /* key=value, NULL-terminated; may be NULL */
	enum capture_mode mode;
	enum capture_transport transport;
	bool exact;  /* count every call's bytes (doc/io.md); the transport is ptrace then, whatever is said above */
	bool narrow; /* with exact: an access lasts from the first byte moved to the last, not from open to close */
	void (*say)(const char *line); /* what the user should know before the command starts; NULL: nothing */
};

/* Runs the command to its end. Returns the wait status (as from waitpid) in *ret_status and 0; or -errno if the command
 * could not be started at all, with a sentence. A failure to record is no failure: the command runs, and it is said
 * with o->say before, or in *ret_note after it (a static sentence, NULL if there is nothing more to say). */
int capture_run(const struct run_options *o, struct err *err, int *ret_status, const char **ret_note);

/* Yama's ptrace_scope, 0 where there is none. */
int capture_yama(void);

/* ---- what works here, for `stemma doctor` ---- */

struct way_state {
	const char *title;   /* what it is called */
	const char *options; /* of `stemma run`, that ask for it */
	bool works;
	char why[160]; /* not */
	/* What it costs, in ns, by doing it in child processes; negative: not known. Of a call: that opens a file or, where
	 * every call stops, that moves bytes. Of a program: its start and end. */
	double call, program;
};
/* The mechanisms in the order in which they are tried: 1, or 0 after the last. measure: about 0.5 s each; without it
 * the costs are not known. */
int capture_way(unsigned i, bool measure, struct way_state *ret);
/* What `stemma run` would do here: the session's mode, and why no better one; "" there is none. */
void capture_would(char mode[32], char why[256]);

#endif
