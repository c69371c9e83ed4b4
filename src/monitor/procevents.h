/* procevents.h - births, execs and ends of processes as the kernel tells them (the proc connector), and what each had
 * used at its end (taskstats). For processes that nothing of ours stops or waits for. Internal to monitor.
 *
 * The kernel tells of every process of the machine; whoever listens picks out its own. Telling costs every fork, exec
 * and exit of the machine 1 to 2 us while somebody listens. What is not taken in time is dropped by the kernel, and
 * nobody waits for it; room is for about 10,000 events. Needs the initial process and user namespaces; CAP_NET_ADMIN
 * for taskstats and, before Linux 6.6, for the connector. One thread at a time. */
#ifndef STEMMA_MONITOR_PROCEVENTS_H
#define STEMMA_MONITOR_PROCEVENTS_H

#include "base/err.h"
#include "base/os/procfs.h"

struct procevents;

enum procevent_kind { PROCEVENT_BORN, PROCEVENT_EXEC, PROCEVENT_ENDED };

#define PROCEVENTS_CUT 1023

struct procevent {
	enum procevent_kind kind;
	pid_t pid, parent;  /* parent: of one that was born */
	int64_t time;       /* ns, CLOCK_MONOTONIC */
	int status;         /* of one that ended: its wait status */
	bool measured;      /* last holds */
	struct procfs last; /* its own figures, exact but: CPU time, which lacks its last steps; bytes and calls, of which
	                     * each thread may have had up to PROCEVENTS_CUT more */
};

/* Begins to listen to the kernel's events of processes. 0 or -errno with a sentence. */
int procevents_open(struct err *err, struct procevents **ret);
void procevents_close(struct procevents *e);
/* Are ends told with figures? If not, why not. */
bool procevents_measures(const struct procevents *e, const char **ret_why);
/* The next one; false: there is none now. Never waits. */
bool procevents_next(struct procevents *e, struct procevent *ret);
/* Some were dropped. */
bool procevents_overrun(const struct procevents *e);
/* A descriptor that can be read when there is something. */
int procevents_fd(const struct procevents *e);

#endif
