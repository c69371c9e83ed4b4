/* watchdog.h - holds a task to its limits.
 *
 * It is called with each sample of the monitor (monitor_watch), in the worker, and ends the task when one of its limits
 * is exceeded: SIGTERM to all of it, SIGKILL after the grace, or at once if it goes on to 10 % more. Where the task has
 * a control group of its own, the kernel's backstop stands at these 10 %, and holds even between two samples and when
 * the recorder has been killed. Without one, what a task can come over its limit is what it grows in one interval; the
 * summary says how much that was.
 *
 * The interval follows the task: a limit that could be reached soon, or that something grows towards, is looked at
 * oftener, down to 1 ms; at 2 % of a processor otherwise. */
#ifndef STEMMA_MONITOR_WATCHDOG_H
#define STEMMA_MONITOR_WATCHDOG_H

#include "monitor/cgroup/cgroup.h"
#include "monitor/monitor.h"
#include "summary/limit.h"

struct watchdog;

struct watchdog_options {
	struct limits limits;
	int64_t grace;         /* ns between SIGTERM and SIGKILL */
	bool each_process;     /* --rlimit: the kernel holds each process to cpu, virtual and open-files as well */
	struct cgroup *cgroup; /* of the task's own; NULL none. Its backstops are set here */
};

/* Does it want a control group for these limits? Making one costs 10 ms, so only for those that it helps with. The
 * parts that it wants; 0: none. */
unsigned watchdog_wants(const struct limits *limits);
/* Prepares to hold a task to its limits. 0 or -errno with a sentence. A backstop that cannot be set is no error. */
int watchdog_new(const struct watchdog_options *o, struct err *err, struct watchdog **ret);
void watchdog_free(struct watchdog *w);
/* For monitor_options: watcher, over, stay; watcher_arg is the watchdog. The monitor is made with these, and then given
 * to it, before the command starts. */
monitor_watch watchdog_watch;
void watchdog_over(void *arg, int status, bool last);
bool watchdog_stay(void *arg);
void watchdog_attach(struct watchdog *w, struct monitor *m);
/* In the command's process before its program, perhaps by vfork: its own limits, with --rlimit. System calls only. */
void watchdog_enter(const struct watchdog *w);
#endif
