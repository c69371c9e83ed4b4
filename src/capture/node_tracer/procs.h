/* procs.h - the processes there are, by pid, as far as they were told: who an event is of. At most 131,072; what does
 * not fit is told as of an unknown process. One thread. */
#ifndef STEMMA_CAPTURE_NODE_TRACER_PROCS_H
#define STEMMA_CAPTURE_NODE_TRACER_PROCS_H

#include "capture/node_tracer/tracer.h"

#include <stddef.h>

/* The last that were opened to be executed: a script, its interpreter, its loader. Inode, and hash of the name; 0
 * unknown. */
struct proc_opened {
	struct {
		uint64_t ino, base;
	} last[4];
	unsigned n;
};

struct proc {
	pid_t pid, ppid;
	uint64_t start;
	uint64_t cgroup;
	int64_t born, last_exec; /* ns since 1970 */
	uint32_t uid, gid, sid, mntns, pidns;
	uint32_t exec_id, nexec;
	pid_t root; /* what it is counted to */
	uint32_t root_uid;
	char comm[TRACER_COMM];
	struct proc_opened *opened; /* to be executed, by an exec that has not been seen yet; NULL none. malloc'ed */
	uint64_t events;            /* since the rates were asked for */
	bool unknown;               /* found in /proc, or not even there */
	bool left;                  /* its exit was told */
	uint8_t absent;             /* looks at which it was not there; enough of them: its exit is about to be told */
};

struct procs;
/* Makes an empty table of the node's processes. 0, -ENOMEM. */
int procs_new(struct procs **ret);

void procs_free(struct procs *p);
/* Finds a process. NULL: none */
struct proc *procs_find(const struct procs *p, pid_t pid);
/* Makes one, all zero but the pid; one that is there is given up. NULL: no room. Pointers to others stay. procs_remove:
 * nothing where there is none. */
struct proc *procs_add(struct procs *p, pid_t pid);
void procs_remove(struct procs *p, pid_t pid);
size_t procs_count(const struct procs *p);
/* Calls each for all; it may not add or remove. */
void procs_each(const struct procs *p, void (*each)(void *arg, struct proc *proc), void *arg);
size_t procs_memory(const struct procs *p); /* bytes */

#endif
