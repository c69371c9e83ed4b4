/* monitor_int.h - a monitor from inside. Internal to monitor. */
#ifndef STEMMA_MONITOR_MONITOR_INT_H
#define STEMMA_MONITOR_MONITOR_INT_H

#include "base/buf.h"
#include "monitor/admit.h"
#include "monitor/apart.h"
#include "monitor/counters.h"
#include "monitor/footprint.h"
#include "monitor/gpu.h"
#include "monitor/monitor.h"
#include "monitor/net.h"
#include "monitor/opened.h"
#include "monitor/procevents.h"
#include "monitor/series.h"
#include "monitor/tree.h"

#include <pthread.h>

#define SECOND 1000000000LL

/* In memory that the worker and the first process share. A summary lies in a file in memory; there are two of them, for
 * the end of the command and of everybody. */
enum handed { HANDED_NONE, HANDED_FIRST, HANDED_LAST, HANDED_TAKEN, HANDED_WRITTEN };
struct handed_limit {
	char name[24];
	int64_t peak, limit;
};
struct handover {
	int state; /* enum handed; changed by compare-and-swap only */
	int limited;
	struct handed_limit exceeded[16]; /* from the moment that it was seen */
	unsigned nexceeded;
	int64_t now[FIGURES];       /* as sampled last, for who shows it; -1 not known */
	int64_t most[FIGURES];      /* ... and the most so far */
	int sampled, series_failed; /* errno */
	/* For the first process, should this one be killed. */
	int64_t start;
	char run[32], user[64];
	uint64_t length[2];
};

/* A sum of shares (PSS), and what the same processes seemed to have. */
struct shares {
	uint64_t pss, resident;
};

/* What was used before anybody listened, by whom that knows no more: threads and children that had ended then. */
struct past {
	bool known;
	bool children;   /* there had been some that used something */
	uint64_t cpu;    /* of threads */
	uint64_t waited; /* of children, in clock ticks */
	struct tree_io io;
};

struct monitor {
	struct monitor_options o;
	struct run_observer observer;
	struct handover *handover;
	int text_fd[2];
	struct buf text; /* the summary as handed to the record */

	pthread_mutex_t lock; /* over all below */
	pthread_cond_t wake;
	pthread_t sampler;
	bool sampling, stop;
	struct tree tree;
	pid_t root, self;
	char *run, *user, *cwd;
	char *argv; /* redacted, NUL-separated */
	size_t argc;
	int64_t offset; /* from CLOCK_BOOTTIME to the record's clock */
	int64_t start, end;
	int status;
	struct {
		uint64_t anonymous, file, shared;
	} alone; /* the most that was seen of one process */
	struct apart apart;
	uint64_t apart_low; /* the most of one process and of files in memory that were open, together at one look */
	bool root_over, all_over;
	int64_t over;       /* when the last one had ended, if that was after the command */
	bool blind;         /* nobody tells of processes: the sampler has to find them */
	int64_t seen_alive; /* the last sample that the process was in that is watched */
	bool attached;      /* to a process that was there before */

	/* The sampler's. */
	uint64_t samples;
	unsigned calm;         /* looks since one of several processes came to a new mark */
	int64_t sampled, next; /* when; when again */
	int64_t shares_cost;   /* CPU time that shares took at the last look */
	int64_t spent;         /* its own CPU time */
	int64_t cpu_before, wall_before;
	struct monitor_now now;
	struct shares shares;                            /* of the largest set that was looked at */
	struct shares shares_now;                        /* of the last look at them */
	bool shares_due;                                 /* ... and has changed since, or did while it was looked at */
	uint64_t pss_peak;                               /* largest sound sum of shares */
	uint64_t anonymous_peak, file_peak, shared_peak; /* largest sums seen, for what they are worth */
	bool children_unknown;                           /* the kernel does not tell children */
	struct admit *admit;                             /* NULL: processes are held to no number */
	struct series *series;                           /* NULL none */
	struct footprint *footprint;                     /* NULL none */
	struct counters counters;
	struct gpu *gpu;        /* NULL none, and: */
	const char *gpu_absent; /* why */
	struct gpu_figures gpu_figures;
	struct net *net; /* NULL none */
	struct {
		int64_t anonymous, shared, charged, tasks; /* the most of each; 0 not known */
		int64_t kept;                              /* ... of the first two together */
	} group;
	pthread_mutex_t files_lock; /* over opened; taken after lock */
	struct opened *opened;      /* NULL none */
	struct procevents *events;  /* NULL: the kernel's are not listened to */
	bool events_lost;           /* ... and some went by */
	pthread_t listener;
	bool listening;
	int stop_fd;
	uint64_t cut_threads; /* of those whose end was told with figures */
	struct past past;     /* of a process that was there before */
	struct summary_pair *host;
	size_t nhost;
	char **escaped;
	size_t nescaped, orphans;
	struct summary_limit *limit, *exceeded;
	size_t nlimit, nexceeded;
	bool oom;
	/* In the first process: the worker was killed; what it has waited for itself then. */
	bool lost, lost_known;
	struct rusage lost_used;
};

/* Begins to watch: root has been started then. */
void monitor_begin(struct monitor *m, pid_t root, bool reported, int64_t start);
/* Begins to look every now and then; once, however often it is called. */
void monitor_lasts(struct monitor *m);
/* Now, in ns by the clock of the record (CLOCK_BOOTTIME and an offset): it never steps back. */
int64_t monitor_now_ns(const struct monitor *m);
/* One look at everybody alive. */
void monitor_sample(struct monitor *m);
/* Looks for processes that were not told. */
void monitor_discover(struct monitor *m);
/* ---- process events of the kernel (listen.c); with the lock but for the first three ---- */

/* Begins to listen, if that is possible here; has a thread take what comes; ends that. */
void monitor_listen(struct monitor *m);
void monitor_listen_on(struct monitor *m);
void monitor_listen_no_more(struct monitor *m);
/* Takes what has come. */
void monitor_hear(struct monitor *m);
/* Is every process told of, from its birth to its end? */
bool monitor_hears(const struct monitor *m);
/* From now on: notes what those that are there have used before. */
void monitor_hear_from(struct monitor *m);

/* Its end, with what /proc or the kernel's last word had of it (NULL: nothing). */
void monitor_ended(struct monitor *m, pid_t pid, const struct procfs *last, int status, int64_t now);
/* The end of a process that outlived the command was found. */
void monitor_orphan_ended(struct monitor *m, const struct member *p, int status);
/* How long until the next look, after one that cost `cost`. */
int64_t monitor_pause(const struct monitor *m, int64_t cost);

/* What the kernel has added up of processes that this one waited for. */
struct waited {
	int64_t user, system; /* ns */
	uint64_t minor, major, voluntary, involuntary;
	uint64_t resident_peak; /* of one process */
	struct tree_io io;
	bool io_known;
};
void waited_now(struct waited *ret, bool io);
/* ... and what the living have used, with what they have waited for. */
struct living {
	uint64_t cpu, user, system, minor, major, voluntary, involuntary;
	uint64_t waited; /* of cpu, what comes in clock ticks */
	struct tree_io io;
	size_t n, unread, io_unread; /* how many; of how many it could not be told */
};
void living_now(struct monitor *m, struct living *ret);

/* The figures as they are now, as a summary. 0 or -ENOMEM. */
int monitor_summarise(struct monitor *m, struct summary *ret);
/* What is known where the worker did not live to say it. 0 or -ENOMEM. */
int monitor_summarise_lost(const struct monitor *m, struct summary *ret);
/* A description of the machine. Always 0; what is not known is left out. *ret and its strings are the caller's to free.
 * */
int host_describe(struct summary_pair **ret, size_t *ret_n);

#endif
