/* session.h - what a run that has just ended used and made, read from its own frames in the log: without an index, for
 * a run never waits for one.
 *
 * Costs the reading of the frames (about 100 ns an event). Memory: some 200 bytes a file. No printing. */
#ifndef STEMMA_TRUST_SESSION_H
#define STEMMA_TRUST_SESSION_H

#include "base/err.h"
#include "capture/launch/run.h"
#include "event/event.h"

struct session_file {
	uint64_t num;        /* the session's */
	char *path, *domain; /* domain: its file system; "" not known */
	uint64_t ino, gen;
	bool has_state;             /* size and mtime are known: as they were last seen */
	uint64_t size, size_before; /* before: as it was first seen */
	int64_t mtime, mtime_before;
	bool read, made;       /* made: created, changed, or opened so that it may have been */
	bool gone;             /* no name leads to it any more */
	bool program, library; /* ... it was run; its name is that of a library */
	bool system;           /* belongs to the machine, not to somebody's work (base/system.h) */
};
struct session_files {
	struct session_file *v; /* regular files that were accessed, in the order in which they were met */
	size_t n, cap;
	int64_t began, ended; /* of the run, ns since 1970; TIME_NONE not known */
	uint64_t cpu;         /* ns, of all processes whose end was seen */
	char *exe;            /* path of the command's program; NULL not known */
	char **argv;
	size_t argc;
};

/* Reads which files a run has opened, from its log. 0 or -errno. Release ret in any case. */
int session_files(const struct run_place *p, const char *system_extra, struct err *err, struct session_files *ret);
void session_files_release(struct session_files *f);

/* The segment that a slot's writer goes on in when this one is full; malloc'ed. NULL: there is none (yet). */
char *session_next_roll(const char *path);

#endif
