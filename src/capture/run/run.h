/* run.h - run a command and record it (`stemma run`), without privileges.
 *
 * Three processes besides the command's own: the one the user started (keeper: it holds the listener too, forwards
 * signals, returns the status), its child the worker (handles the stops and writes the log), and the worker's child,
 * the command. Either of the first two may be killed at any moment without the command noticing. */
#ifndef STEMMA_CAPTURE_RUN_H
#define STEMMA_CAPTURE_RUN_H

#include "base/err.h"
#include "base/procfs.h"

#include <stdbool.h>
#include <sys/resource.h>

enum capture_mode { CAPTURE_COMPLETE, CAPTURE_TREE, CAPTURE_OFF };
enum capture_transport { TRANSPORT_AUTO, TRANSPORT_NOTIFY, TRANSPORT_TRACE };

/* Watches what the command's processes use (src/monitor). All is called in the worker (where there is none, in this
 * process), by any of its threads, while the record stands still: nothing here may wait long. Members may be NULL.
 * Times are ns since 1970 on the clock of the record. */
struct run_observer {
	void *arg;
	/* Before the command's process is made. */
	void (*prepare)(void *arg);
	/* In the command's process before its program, perhaps in memory that is not its own (vfork): system calls only. */
	void (*enter)(void *arg);
	/* The command's process is there. told: its processes will be told, below; else only those that are waited for. run
	 * and user: NULL where nothing is recorded. */
	void (*started)(void *arg, pid_t root, bool told, const char *run, const char *user, int64_t now);
	/* In the process that started stemma, about twice a second while the command runs. */
	void (*waiting)(void *arg);
	/* A process was met; it was forked between `from` and `until`. parent 0: not known. */
	void (*born)(void *arg, pid_t pid, pid_t parent, int64_t from, int64_t until);
	/* It is about to become another program; it has become `exe` (NULL: not known). */
	void (*leaving)(void *arg, pid_t pid);
	void (*exec)(void *arg, pid_t pid, const char *exe);
	/* It is about to end, or has, and /proc still has it: what was read there. Once for each process that was met, but
	 * for one that was gone before anybody looked (last: NULL). status: -1 not known. */
	void (*exiting)(void *arg, pid_t pid, const struct procfs *last, int status, int64_t now);
	/* It was waited for, by this process (its child: the command, or one whose parent had ended) or under its eyes
	 * (ptrace). used: with all that it had waited for itself. */
	void (*over)(void *arg, pid_t pid, int status, const struct rusage *used, int64_t now);
	/* The command has ended; last: so has everybody. Called once or, where processes outlive it, twice. Returns the
	 * summary for the record, which stays the observer's; NULL: none. */
	const char *(*ended)(void *arg, int status, bool last, int64_t now, size_t *ret_n);
	/* The command has ended, and others live on: are they about to be ended too, and to be waited for? */
	bool (*stay)(void *arg);
};

/* What becomes of processes that outlive the command: they are recorded to their end behind its back; they are waited
 * for; they are killed. */
enum run_orphans { ORPHANS_DETACH, ORPHANS_WAIT, ORPHANS_KILL };

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
	const struct run_observer *observer; /* NULL: nobody watches */
	bool stay; /* for the observer's sake: it has to hear of the end even where another run records the command */
	enum run_orphans orphans;
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
