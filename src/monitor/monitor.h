/* monitor.h - measures what a tree of processes uses, and tells it as a summary (doc/monitor.md).
 *
 * A monitor is made before the command starts, in the process that started stemma; it works in the process that calls
 * its observer (the worker of a run), where a thread of its own, the sampler, looks at the living processes now and
 * then. What has to come back to the first process lies in memory that both share.
 *
 * Times are ns since 1970, on a clock that never steps. Budget: the sampler takes at most 1 % of one processor; a
 * process that comes and goes costs no system call more than the recorder makes anyway. Memory: about 300 bytes a
 * living process, and as much for each of the first 10,000 that ended. The sampler's thread and the observer's callers
 * are kept apart by one lock, under which only /proc is read. */
#ifndef STEMMA_MONITOR_MONITOR_H
#define STEMMA_MONITOR_MONITOR_H

#include "capture/launch/run.h"
#include "summary/summary.h"

struct monitor;

/* What is used at this moment, for who watches. A figure of the table that is a peak has here what is used now and, in
 * peak, the most that was seen so far; a total has what was used up to now in both. -1: not known. */
struct monitor_now {
	int64_t time;  /* of this sample */
	int64_t since; /* since the command was started */
	int64_t value[FIGURES], peak[FIGURES];
	pid_t root;    /* the command; 0 once it has been waited for */
	size_t living; /* processes */
	bool ended;    /* the command has ended, and what is seen outlived it */
	bool starting; /* the first sample */
};

/* Called after each sample, by the sampler's thread, without the monitor's lock. Returns in how many ns it would like
 * the next one at the latest; 0: it does not mind. The monitor keeps to it down to 1 ms, whatever that costs. */
typedef int64_t monitor_watch(void *arg, const struct monitor_now *now);

struct monitor_options {
	bool processes;         /* keep the record of each process for the summary */
	bool files;             /* ... and that of the files, by looking at descriptors where nobody tells of opens */
	bool thorough;          /* the figures are wanted now, not only for the archive: look at more, and oftener */
	int64_t interval;       /* ns between samples, fixed; 0: as the budget allows */
	const char *series;     /* file for a line per sample; NULL none */
	int64_t hold_processes; /* no more processes than these together, where their calls can be stopped; 0: any number */
	bool footprint;         /* measure the folder it is started in, where that is cheap, or rather: */
	const char *const *watch; /* folders and files; NULL-terminated; may be NULL */
	enum run_orphans orphans;
	/* Called in the command's process before its program; see run_observer.enter. May be NULL. */
	void (*enter)(void *arg);
	void *enter_arg;
	/* Called in the process that made the monitor, about twice a second while the command runs. May be NULL. */
	void (*waiting)(void *arg);
	void *waiting_arg;
	/* Called in the worker with the last summary, where the first one has been given out already: processes outlived
	 * the command. May be NULL. */
	void (*publish)(void *arg, const struct summary *s);
	void *publish_arg;
	/* Holds the task to limits: called after each sample; before each summary is made (last: nobody is left); asked
	 * whether those that outlived the command are to be waited for, because it is about to end them. Any may be NULL.
	 */
	monitor_watch *watcher;
	void (*over)(void *watcher_arg, int status, bool last);
	bool (*stay)(void *watcher_arg);
	void *watcher_arg;
	char *const *argv;         /* the command's */
	const char *const *labels; /* KEY=VALUE */
	size_t nlabels;
};

/* Makes a monitor of one task. 0 or -errno with a sentence. What the options point to must live as long as the
 * monitor. */
int monitor_new(const struct monitor_options *o, struct err *err, struct monitor **ret);
void monitor_free(struct monitor *m);
/* For run_options; belongs to the monitor. */
const struct run_observer *monitor_observer(struct monitor *m);

/* ---- in the worker, for who watches ---- */

/* Resident memory of all living processes, shared pages once, at this moment; never more than the truth. Takes 14 ms a
 * GB: for who is about to act on a sum in which they may count several times. -1: not known. */
int64_t monitor_memory(struct monitor *m);
/* What a control group of the task's own tells: anonymous memory and files in memory now, all that is charged to it at
 * most, threads at most; -1 not known. */
void monitor_group(struct monitor *m, int64_t anonymous, int64_t shared, int64_t charged_peak, int64_t tasks_peak);
/* How many forks were refused, because there were hold_processes. */
uint64_t monitor_refused(const struct monitor *m);
/* Notes for the summary: a limit that the task was held to, one that it came over (again, with what it came to since),
 * that the kernel killed it for want of memory, a sentence on what escaped. Strings are copied. 0 or -ENOMEM. */
int monitor_limit(struct monitor *m, const char *name, int64_t limit);
int monitor_exceeded(struct monitor *m, const char *name, int64_t peak, int64_t limit);
void monitor_oom(struct monitor *m);
int monitor_escaped(struct monitor *m, const char *sentence);

/* ---- back in the first process, after the command ---- */

/* The summary as the worker left it or, where it was killed, what is known without it. 0; -ENOENT: there is none.
 * Released by the caller. */
int monitor_summary(struct monitor *m, struct err *err, struct summary *ret);
/* What was used at the last look (as in monitor_now.value), while the command runs. False: there was none yet. */
bool monitor_glance(const struct monitor *m, int64_t ret[FIGURES]);
/* It has been written where the user wants it: a later one may take its place. */
void monitor_published(struct monitor *m);
/* errno, where not all of the series could be written; 0: it could. */
int monitor_series_failed(const struct monitor *m);
/* The worker was killed. */
bool monitor_was_lost(const struct monitor *m);
/* A limit was exceeded and the task ended for it. */
bool monitor_was_limited(const struct monitor *m);

/* Watches a process that is there already, and what it starts, until it ends (level 1). 0 or -errno with a sentence. */
int monitor_attach(struct monitor *m, pid_t pid, struct err *err);

#endif
