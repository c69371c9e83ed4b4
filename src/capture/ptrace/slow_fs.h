/* slow_fs.h - what the tracer's stops ask for, done by another thread, with a limit on how long the job waits for it.
 * Internal to capture.
 *
 * To look at a path can take for ever: at a file server that does not answer, or in a file system that is served by a
 * process of this very run, which stands at a stop itself. Requests of ptrace have to come from the thread that traces,
 * so all else moves: a second thread looks and writes, and the tracer waits for it. If it is held up
 * (worker_held_up), the tracer lets the call go on, and everybody's after it, until the answer comes. What went by is
 * counted, and who it was is remembered: up to SLOW_FS_PASSED threads and deaths.
 *
 * The hand-over costs two switches a stop: it begins only when sup.slow_fs says that somebody's file systems may keep
 * us waiting. Until then, and where there is no second thread, the tracer does the work itself. Either one of the two
 * touches the supervisor's state at any time, never both: the tracer not between a true slow_fs_held and the next false
 * one. All functions are the tracer's. */
#ifndef STEMMA_CAPTURE_PTRACE_SLOW_FS_H
#define STEMMA_CAPTURE_PTRACE_SLOW_FS_H

#include "capture/call_trace/call_stacks.h"
#include "capture/supervisor/worker.h"

#include <sys/resource.h>

#define SLOW_FS_PASSED 65536

struct slow_fs;

enum work_kind {
	WORK_CALL,   /* a call is about to be made */
	WORK_RESULT, /* it has been made, and gave rval */
	WORK_STATUS, /* a thread is about to end, with status */
	WORK_ENDED,  /* a process ended */
	WORK_PASSED, /* a thread's calls went by meanwhile */
	WORK_FLUSH
};

struct work {
	enum work_kind kind;
	pid_t tid;
	struct trap call;
	struct stands stands; /* where it is made, if anybody wants to know */
	int64_t rval;
	int status;
	struct rusage used;
	bool owed;    /* it was some time ago */
	int refuse;   /* answer: the errno that the call is to fail with, 0: it goes on */
	bool pending; /* answer: results of calls are waited for */
};

/* Prepares a thread that asks slow file systems in place of the worker. NULL: no memory. perform does one piece of
 * work, in whichever thread. */
struct slow_fs *slow_fs_new(struct worker *w, void (*perform)(struct worker *w, struct work *k));
/* Has it done. False: not, or not yet, and the answers are none. */
bool slow_fs_do(struct slow_fs *a, struct work *k);
/* The thread is still held up. False: it is back, and what is owed it has been handed to it. */
bool slow_fs_held(struct slow_fs *a);
/* Something is owed: not to be forgotten while nobody stops. */
bool slow_fs_owes(const struct slow_fs *a);
/* Waits for it, however long that takes. */
void slow_fs_wait(struct slow_fs *a);

#endif
