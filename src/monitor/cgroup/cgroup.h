/* cgroup.h - a control group of its own for one run: figures that miss nobody, a backstop for limits, a kill that
 * nobody escapes.
 *
 * The group is made below the one that this process is in, named stemma-<run>: so the limits that the job already has
 * go on holding, and none of them is changed. It is made only where that group's folder may be written, and not where
 * somebody else looks after it: a unit of systemd that is not delegated, a batch system's group (as root; an ordinary
 * user can write only what was handed to him). Version 2, version 1 and both mounted side by side; each part (enum
 * cgroup_part) comes from whichever has it.
 *
 * What it costs: the first move of a process into a group waits for the kernel's other processors, 5 to 15 ms
 * (measured; further hierarchies in the same moment are cheap). So it is not for a run that nobody limits or that lasts
 * milliseconds.
 *
 * Memory counts what was first touched by processes of the group: a page that was in memory before is another's. Groups
 * below it (a run inside the run) are counted. Descriptors: up to 3 per hierarchy, all close-on-exec. The group is
 * locked (flock on its folder) while anybody has it open: what is neither locked nor inhabited, because its run was
 * killed, the next cgroup_make takes away. No threads, no globals. */
#ifndef STEMMA_MONITOR_CGROUP_H
#define STEMMA_MONITOR_CGROUP_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum cgroup_part {
	CGROUP_MEMORY = 1, /* figures of memory, the count of OOM kills, the memory backstop */
	CGROUP_CPU = 2,    /* CPU time, of those too that nobody waited for */
	CGROUP_TASKS = 4,  /* number of threads, and its backstop */
	CGROUP_KILL = 8,   /* a kill of all at once: cgroup.kill, or the freezer; and the list of processes */
	CGROUP_ALL = 15,
};

struct cgroup;

/* Makes a group for the run, with those of the wanted parts that can be had; at least one. 0, or -errno and a sentence
 * why there is none. Nothing is left behind on failure. */
int cgroup_make(const char *run, unsigned wanted, struct err *err, struct cgroup **ret);
/* What could be had here, tried out in earnest with a group that is taken away again. 0 or -errno with a sentence. */
int cgroup_probe(struct err *err, unsigned *ret_parts);
unsigned cgroup_parts(const struct cgroup *c);

/* The calling process goes in. Async-signal-safe, and fit for a child of vfork. 0 or -errno of the first hierarchy that
 * refused; the others are entered all the same. */
int cgroup_enter(const struct cgroup *c);

/* -1: not known. ns, bytes, counts. */
struct cgroup_usage {
	int64_t cpu, cpu_user, cpu_system; /* the sum is exact, its parts are the kernel's estimate on version 1 */
	int64_t anonymous, shared, file;   /* now; shared: shmem and tmpfs, not in file */
	int64_t charged, charged_peak;     /* all that counts for the backstop: the page cache and the kernel's part too */
	int64_t swap;
	int64_t tasks;       /* threads alive */
	int64_t oom_kills;   /* processes of the group that the kernel killed for want of memory, whoever's limit it was */
	int64_t memory_hits; /* how often the backstop made the kernel look for memory; 0 also where swap was in its way */
	int64_t task_hits;   /* how often the backstop refused a fork */
	int64_t tasks_peak;  /* most threads alive together (Linux 6.1) */
};
/* Reads what a control group has used. parts: only those are read. */
void cgroup_read(const struct cgroup *c, unsigned parts, struct cgroup_usage *ret);
/* One read of one file: what is charged now; -1 not known. */
int64_t cgroup_charged(const struct cgroup *c);

/* Backstops. memory in bytes: the kernel kills when nothing is left to take back (the page cache goes first). swap: on
 * top of memory. tasks: forks fail. -1: none. Each is never more than what the group above allows anyhow. 0 or -errno
 * with a sentence. */
int cgroup_backstop(struct cgroup *c, int64_t memory, int64_t swap, int64_t tasks, struct err *err);

/* Processes inside, those of groups below too; malloc'ed. 0 or -errno. */
int cgroup_pids(const struct cgroup *c, pid_t **ret, size_t *ret_n);
/* Nobody inside but zombies. False also when that cannot be told. */
bool cgroup_empty(const struct cgroup *c);
/* SIGKILL to all, also to those that are being born, until nobody is left or `patience` ms are over: then -EAGAIN (a
 * process that the kernel does not let go of). */
int cgroup_kill(const struct cgroup *c, int patience);

/* Lets go of it; the group stays. */
void cgroup_close(struct cgroup *c);
/* Takes it away; it is still to be closed. 0 also where that has been done; -EBUSY: somebody is still inside. */
int cgroup_remove(struct cgroup *c);

#endif
