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
enum capture_transport { TRANSPORT_AUTO, TRANSPORT_NOTIFY, TRANSPORT_TRACE };

struct run_options {
	char *const *argv; /* NULL-terminated */
	const char *home;  /* where the store's logs are; NULL: nowhere, and no_home says why */
	const char *no_home;
	const char *const *labels; /* key=value, NULL-terminated; may be NULL */
	enum capture_mode mode;
	enum capture_transport transport;
	bool count;  /* have the programs count their bytes themselves (doc/io.md); not with exact */
	bool exact;  /* count every call's bytes (doc/io.md); the transport is ptrace then, whatever is said above */
	bool narrow; /* with exact: an access lasts from the first byte moved to the last, not from open to close */
	void (*say)(const char *line); /* what the user should know before the command starts; NULL: nothing */
};

/* Runs the command to its end. Returns the wait status (as from waitpid) in *ret_status and 0; or -errno if the command
 * could not be started at all, with a sentence. A failure to record is no failure: the command runs, and it is said
 * with o->say before, or in *ret_note after it (a static sentence, NULL if there is nothing more to say). */
int capture_run(const struct run_options *o, struct err *err, int *ret_status, const char **ret_note);

/* What works here, for `stemma doctor`: 0, and what a stop costs in ns; or -errno with a sentence. Each really does the
 * thing in a child process, a few thousand times. */
int capture_probe_notify(struct err *err, double *ret_ns);
int capture_probe_trace(struct err *err, double *ret_ns);
/* Of a call that moves bytes, under --exact. */
int capture_probe_exact(struct err *err, double *ret_ns);

#endif
