/* run.h - run a command and record it (`stemma run`), without privileges.
 *
 * Three processes besides the command's own: the one the user started (keeper: it holds the listener too, forwards
 * signals, returns the status), its child the worker (handles the stops and writes the log), and the worker's child,
 * the command. A run that lasts has a fourth, the standby (standby.h). Any of the first two, or both, may be killed at
 * any moment without the command noticing; a worker that was killed is followed by another (adopt.h). */
#ifndef STEMMA_CAPTURE_LAUNCH_RUN_H
#define STEMMA_CAPTURE_LAUNCH_RUN_H

#include "base/err.h"
#include "capture/supervisor/observer.h"

#include <stdbool.h>
#include <sys/resource.h>

enum capture_mode { CAPTURE_COMPLETE, CAPTURE_SAFE, CAPTURE_TREE, CAPTURE_OFF };
enum capture_transport { TRANSPORT_AUTO, TRANSPORT_NOTIFY, TRANSPORT_TRACE, TRANSPORT_PROC };

/* Where the record of a run is: its frames stand in this segment (or the next ones of its slot) from here on. */
struct run_place {
	char run[27]; /* ULID; "" nothing is recorded, or not by this run */
	uint64_t session;
	char *segment; /* malloc'ed */
	uint64_t from;
};

struct run_options {
	char *const *argv; /* NULL-terminated */
	const char *home;  /* where the store's logs are; NULL: nowhere, and no_home says why */
	const char *no_home;
	const char *const *labels; /* key=value, NULL-terminated; may be NULL */
	enum capture_mode mode;
	enum capture_transport transport;
	unsigned inject;   /* stops to open a file after which a program opens by itself (doc/opens.md); 0: none does */
	bool count;        /* have the programs count their bytes themselves (doc/io.md); not with exact */
	bool exact;        /* count every call's bytes (doc/io.md); the transport is ptrace then, whatever is said above */
	const char *hdf5;  /* record what programs do with objects of HDF5 files (doc/hdf5.md): the setting; NULL: not */
	bool narrow;       /* with exact: an access lasts from the first byte moved to the last, not from open to close */
	bool xattr;        /* record extended attributes of files (doc/xattr.md) */
	bool unread_rings; /* what goes through an io_uring is not looked at, and costs nothing */
	const char *calls; /* with exact: the folder for traces of calls (doc/traces.md), NULL: none */
	const char *calls_of; /* ... of these programs, separated by colons; "" all */
	int stacks;           /* with calls: the socket to the unwinder of stacks, closed by whoever made it; 0: none */
	bool mpi;             /* record what MPI tells programs and what they do through MPI-IO (doc/annotations.md) */
	bool autolog;         /* record what known Python libraries have of settings and metrics (doc/annotations.md) */
	const struct run_observer *observer; /* NULL: nobody watches */
	const struct run_keeper *keeper;     /* NULL: what the run changes is not kept */
	bool stay; /* for the observer's sake: it has to hear of the end even where another run records the command */
	enum run_orphans orphans;
	/* Called in the command's process, before the exec; NULL: nothing is. Not 0: the command is not run, and fails as
	 * one that cannot be executed. */
	int (*confine)(void *arg);
	void *confine_arg;
	bool received; /* the command is somebody else's: the run is not marked as the user's own (base/os/mark.h) */
	struct run_place *place;       /* filled in where it is recorded; NULL: nobody asks */
	void (*say)(const char *line); /* what the user should know before the command starts; NULL: nothing */
};

/* Runs the command to its end. Returns the wait status (as from waitpid) in *ret_status and 0; or -errno if the command
 * could not be started at all, with a sentence. A failure to record is no failure: the command runs, and it is said
 * with o->say before, or in *ret_note after it (a static sentence, NULL if there is nothing more to say). */
int capture_run(const struct run_options *o, struct err *err, int *ret_status, const char **ret_note);

/* Yama's ptrace_scope, 0 where there is none. */
int capture_yama(void);

/* ---- what works here, for `stemma doctor` ---- */

struct backend_state {
	const char *title;   /* what it is called */
	const char *options; /* of `stemma run`, that ask for it */
	bool works;
	char why[160]; /* not; or where it does and was measured, why what a program costs is not known */
	/* What it costs, in ns, by doing it in child processes; negative: not known. Of a call: that opens a file or, where
	 * every call stops, that moves bytes. Of a program: its start and end. */
	double call, program;
};
/* The mechanisms in the order in which they are tried: 1, or 0 after the last. measure: about 0.5 s each; without it
 * the costs are not known. */
int capture_backend(unsigned i, bool measure, struct backend_state *ret);
/* What `stemma run` would do here: the session's mode, and why no better one; "" there is none. */
void capture_would(char mode[32], char why[256]);

#endif
