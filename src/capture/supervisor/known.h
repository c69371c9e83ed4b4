/* known.h - what a worker that follows a dead one has to know of the processes that live. Internal to capture.
 *
 * A table in memory shared by keeper and worker: the worker notes each process when it is met, when it becomes another
 * program, and when it is over. Cost: a few stores each, no system call. Open addressing over KNOWN_NEAR places; a
 * process for which there is none there is not noted, and is met anew by the next worker. */
#ifndef STEMMA_CAPTURE_SUPERVISOR_KNOWN_H
#define STEMMA_CAPTURE_SUPERVISOR_KNOWN_H

#include "base/ulid.h"

#include <stdint.h>
#include <sys/types.h>

#define KNOWN_MAX 4096
#define KNOWN_NEAR 8

struct known_proc {
	pid_t pid; /* 0: this place is free. Written last */
	int64_t started;
	uint64_t num, execn;       /* of the process in the log, and of its execution */
	uint64_t exe_dev, exe_ino; /* its program; 0 not known */
	char run[ULID_LEN + 1];    /* nested run it belongs to, or "" */
	uint8_t run_root;          /* ... which ends with it */
};

/* Lies in shared memory and outlives its writer, who may be killed between two of its stores. */
struct known {
	uint64_t files, procs; /* numbers that were given out in the log */
	struct known_proc v[KNOWN_MAX];
};

struct proc;
/* Notes a process for the next worker: p as it is now. */
void known_note(struct known *k, const struct proc *p);
/* Forgets a process for the next worker: p is over. */
void known_forget(struct known *k, const struct proc *p);
/* The process of that number, start time and nothing else; NULL: not known. */
struct known_proc *known_find(struct known *k, pid_t pid, int64_t started);

#endif
