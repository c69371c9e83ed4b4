/* observer.h - who watches what a run's processes use, and what becomes of those that outlive the command. Part of the
 * interface of a run (capture/launch/run.h). */
#ifndef STEMMA_CAPTURE_SUPERVISOR_OBSERVER_H
#define STEMMA_CAPTURE_SUPERVISOR_OBSERVER_H

#include "base/os/procfs.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

/* Watches what the command's processes use (src/monitor). All is called in the worker (where there is none, in this
 * process), by any of its threads, while the record stands still: nothing here may wait long. Members may be NULL.
 * Times are ns since 1970 on the clock of the record. */
struct run_observer {
	void *arg;
	/* Before the command's process is made. told: as below, as far as that is known yet. */
	void (*prepare)(void *arg, bool told);
	/* In the command's process before its program, perhaps in memory that is not its own (vfork): system calls only. */
	void (*enter)(void *arg);
	/* The command's process is there. told: its processes will be told, below; else only those that are waited for. run
	 * and user: NULL where nothing is recorded. */
	void (*started)(void *arg, pid_t root, bool told, const char *run, const char *user, int64_t now);
	/* After `started`, when the command has run for some ten milliseconds; at once where nobody could say it later.
	 * What costs more than a short command does is begun then. Perhaps from another thread. */
	void (*lasts)(void *arg);
	/* In the process that started stemma, about twice a second while the command runs. */
	void (*waiting)(void *arg);
	/* The thread tid is about to make a process. 0: it may; an errno: its call fails with that; -1: to be asked again
	 * in a millisecond, with one try more. Where this is given each such call stops. */
	int (*forks)(void *arg, pid_t tid, unsigned tries);
	/* A process was met; it was forked between `from` and `until`. parent 0: not known. */
	void (*born)(void *arg, pid_t pid, pid_t parent, int64_t from, int64_t until);
	/* It is about to become another program; it has become `exe` (NULL: not known). */
	void (*leaving)(void *arg, pid_t pid);
	void (*exec)(void *arg, pid_t pid, const char *exe);
	/* It is about to end, or has, and /proc still has it: what was read there. Once for each process that was met, but
	 * for one that was gone before anybody looked (last: NULL). status: -1 not known. */
	void (*exiting)(void *arg, pid_t pid, const struct procfs *last, int status, int64_t now);
	/* A regular file was opened (mode: ACCESS_READ, ACCESS_WRITE; handed: it was held from the beginning), or was given
	 * another name (NULL: as before), or has this size (-1: as before). number: of the file; 0: from now on each is
	 * told (handed then: but for what a library in the programs does not see). */
	void (*file)(void *arg, uint64_t number, const char *path, int64_t size, unsigned mode, bool handed);
	/* A file that lies in memory (tmpfs, memfd, a segment, anonymous memory that is shared) is about to be made or
	 * written: what it holds need not be in any process. From then on also before names are taken away. Not `is`:
	 * from now on each is told. */
	void (*in_memory)(void *arg, bool is);
	/* Only where every call is seen (--exact): bytes went over an internet socket; sure: to or from another address
	 * than this machine's own, else that cannot be told. bytes 0: all that do will be told from here on. UINT64_MAX:
	 * some were not seen. */
	void (*moved)(void *arg, bool sent, bool sure, uint64_t bytes);
	/* It was waited for, by this process (its child: the command, or one whose parent had ended) or under its eyes
	 * (ptrace). used: with all that it had waited for itself. */
	void (*over)(void *arg, pid_t pid, int status, const struct rusage *used, int64_t now);
	/* The command has ended; last: so has everybody. Called once or, where processes outlive it, twice. Returns the
	 * summary for the record, which stays the observer's; NULL: none. */
	const char *(*ended)(void *arg, int status, bool last, int64_t now, size_t *ret_n);
	/* In the process that started stemma: the worker was killed, and the command has ended since. status: -1 not known.
	 * used: as above; NULL: not known. */
	void (*lost)(void *arg, int status, const struct rusage *used, int64_t now);
	/* The command has ended, and others live on: are they about to be ended too, and to be waited for? */
	bool (*stay)(void *arg);
};

/* Keeps what files held that were there before the run, before a call of the run changes them or takes their last name
 * (`stemma run --keep-inputs`). Where calls are stopped only. */
struct run_keeper {
	void *arg;
	int64_t
	    began; /* files that changed since then are the run's own work, or nobody knows whose: none of them is kept */
	/* The call waits, and so does the record. A file is about to be changed or removed, once for each. number: of the
	 * file in the record; folder, path: as for openat; dev (as makedev), ino: it has these numbers still. Called in the
	 * worker. */
	void (*keep)(void *arg, uint64_t number, int folder, const char *path, uint64_t dev, uint64_t ino);
};

/* What becomes of processes that outlive the command: they are recorded to their end behind its back; they are waited
 * for; they are killed. */
enum run_orphans { ORPHANS_DETACH, ORPHANS_WAIT, ORPHANS_KILL };

#endif
