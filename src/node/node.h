/* node.h - the aggregator of a node: what the tracer saw of all processes, in; events of the log, out, user by user.
 *
 * Pairs starts of accesses with their ends, coalesces repeats, folds processes to representative executions, tells of
 * runs and jobs (doc/node.md). Calls no kernel interface: what only the machine can tell it asks its world for, and
 * tests give it another one. One thread. Memory is bounded by the three numbers in struct node_options, about 400 bytes
 * a process, 350 a file, 150 an access; what is refused for want of room is told as a gap. Errors: none; a process,
 * file or access that finds no memory is counted as lost.
 *
 * Order of calls: any number of node_event, then node_settle, as one drain of the tracer gives them. */
#ifndef STEMMA_NODE_NODE_H
#define STEMMA_NODE_NODE_H

#include "base/buf.h"
#include "base/fileid.h"
#include "capture/node_tracer/tracer.h"
#include "event/event.h"
#include "node/rules.h"

struct node;

/* What a name, or a descriptor, leads to, as far as the machine still knows. */
struct node_found {
	uint64_t dev, ino, gen;
	unsigned kind; /* term kind; 0: not found */
	const struct fs_domain *domain;
	bool has_state;
	uint64_t size;
	int64_t mtime;
	uint64_t channel; /* what to call a channel by: both ends of a pair are one */
	char path[4096];  /* "" unknown */
};

/* Where events go, and what is asked of the machine. Each may look at /proc, none may wait. */
struct node_world {
	void *arg;
	/* Appends ev to the log of uid; its seq, 0 if it could not be kept. ev->proc is set by the caller. */
	uint64_t (*add)(void *arg, uint32_t uid, const struct event *ev);
	/* The descriptor of a live process; kind 0 if it has none any more, or another. pid 0: it has ended, so only what
	 * can be told of the identity alone. NULL: nothing is known. */
	void (*find_fd)(void *arg, pid_t pid, unsigned fd, const struct tracer_fileid *id, struct node_found *ret);
	/* A path; kind 0 if it is another file now. NULL likewise. */
	void (*find_path)(void *arg, const char *path, const struct tracer_fileid *id, struct node_found *ret);
	/* The domain of a device; NULL unknown. */
	const struct fs_domain *(*domain)(void *arg, uint64_t dev);
	/* A new run id. NULL: none is given out. */
	void (*run_id)(void *arg, char ret[27]);
	/* The names of a user and of a group; copied. */
	void (*names)(void *arg, uint32_t uid, uint32_t gid, char *user, char *group, size_t size);
};

struct node_options {
	bool keep_all;
	const struct rules *rules; /* not owned; NULL: the built-in ones */
	/* 0: 16384, 6144, 16384 */
	unsigned max_processes, max_files, max_accesses;
	pid_t answers; /* whose children answer questions about the node, which are no runs; 0: nobody's */
	int64_t boot;  /* ns since 1970 of the machine's start, to tell when a process was forked */
};

/* Makes what pairs and folds the events of a node. NULL: no memory. The world is copied. */
struct node *node_new(const struct node_options *o, const struct node_world *w);
/* Ends nothing: what is live stays so in the log, as after a kill. */
void node_free(struct node *n);

/* Events must come in order of time. Of processes that are not known it takes none (stats.strangers). */
void node_event(struct node *n, const struct tracer_event *ev);
/* A drain is over: tells what is decided. */
void node_settle(struct node *n, int64_t now);
/* About once a second: accesses that are open long are told, what is dormant is let go of. */
void node_tick(struct node *n, int64_t now);
/* The log of uid is about to be another session: what lives ends in the old one; it is another one from now on, and
 * what it needs is told again. */
void node_part(struct node *n, uint32_t uid, int64_t now);
/* Begins a session in a user's log. now: CLOCK_REALTIME, ns. Numbers of files and processes begin anew. */
void node_session(struct node *n, uint32_t uid, int64_t now);
/* Everything that lives ends for the log: the daemon is about to stop. */
void node_detach(struct node *n, int64_t now);
/* A gap in the logs of all users that have a live process now, and of those of whom node_known was told since the last.
 */
void node_known(struct node *n, uint32_t uid);
void node_gap(struct node *n, unsigned reason, uint64_t count, int64_t from, int64_t until, const char *text);

/* For a clean upgrade: which execution each process is in, as lines of text; and back, before the first event. */
void node_save(const struct node *n, struct buf *out);
/* Lines that it cannot read are passed over. */
void node_load(struct node *n, struct str text);

/* Processes of a job, of a user: each(pid, whether it is counted). job: as an identity of event/env.def gives it. */
void node_of_job(const struct node *n, struct str job, uint32_t uid, bool any_user,
                 void (*each)(void *arg, pid_t pid, bool counting), void *arg);

/* Granularity `access` is on, or off, for a process: it and what it starts from now on. */
void node_counting(struct node *n, pid_t pid, bool on);
/* As node_counting, for all processes, or for those of a user. */
void node_counting_all(struct node *n, bool everybody, uint32_t uid, bool on);
/* Tells all that is known to have ended: somebody is about to ask. */
void node_emit_all(struct node *n, int64_t now);
/* All that happened before is told: now, or an earlier moment, where it is not decided yet whose something was. */
int64_t node_emitted_until(const struct node *n, int64_t now);

/* The user of whose processes most events of files came since the last call, how many these were, and all. False: none
 * came. */
bool node_busiest(struct node *n, uint32_t *ret_uid, uint64_t *ret_events, uint64_t *ret_all);

struct node_stats {
	uint64_t events, processes, files_told, accesses_told, told; /* in; out, since the beginning */
	uint64_t repeats;                                            /* accesses that were counted to one that was there */
	uint64_t folded;                                             /* processes that counted to another */
	uint64_t strangers;                                          /* events of processes that are not known */
	uint64_t live, undecided, representative, files, accesses;   /* now */
	uint64_t lost;                                               /* for want of room */
	uint64_t swept;                                              /* accesses passed to find those to let go of */
};
void node_stats(const struct node *n, struct node_stats *ret);

#endif
