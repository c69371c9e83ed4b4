/* safe.h - the worker of `stemma run --capture=safe`: a library in the job's programs tells what they do
 * (capture/preload/library), and this side turns that into the same events as the other transports. Neither ptrace nor
 * seccomp: nothing here can stop or fail the job, and set-id programs keep their privilege.
 *
 * Internal to capture. One lock (sup->lock) as everywhere. Memory: the region (counted in the job's cgroup), a
 * struct proc and about 100 bytes an open file for each process that lives, 64 bytes for each of up to DONE_MAX closed
 * files of a process, whose bytes are claimed only once its end has proved them. */
#ifndef STEMMA_CAPTURE_PRELOAD_SAFE_H
#define STEMMA_CAPTURE_PRELOAD_SAFE_H

#include "capture/preload/safe_read.h"
#include "capture/supervisor/worker.h"

struct sproc;

struct safe {
	struct sup *s;
	struct safe_reader *reader;
	struct sproc *procs[HASH_SIZE]; /* by pid */
	int epoll;                      /* pidfds */
	uint64_t lost;                  /* ever: nothing is proved any more */
	int64_t since;                  /* the run began then, by the region's clock: nothing that is told is older */
	uint64_t pidns;
};

/* ---- the region (safe_region.c) ---- */

/* What the command's environment gets. */
struct safe_place {
	char library[4096]; /* of the library; empty: it was not found */
	void *map;          /* the region; NULL: there is none */
	size_t size;
	int fd; /* its descriptor: programs open the worker's, through /proc */
};

/* Makes the region and finds the library. 0, or -errno with a sentence: then nothing of programs can be seen. */
int safe_place_make(struct safe_place *ret, struct err *err);
/* Puts both into this process's environment, which the command will have. Called by the worker: as long as it lives,
 * programs of its user can open the region. */
void safe_place_enter(const struct safe_place *p, const char *command);
void safe_place_release(struct safe_place *p);
/* Can it be made, and is the library there? 0, or -errno with a sentence. */
int safe_probe(struct err *err);

/* ---- events to the log (safe_events.c) ---- */

/* Takes one event. Those of a process that has ended are passed over. */
void safe_handle_event(struct safe *f, const struct safe_seen *e);
/* The command, before it is anything. */
void safe_emit_root(struct safe *f, pid_t pid, int64_t forked, const char *cwd);
/* What the kernel knows: processes that are over, found first and told of when all that they had to say was taken; the
 * status of one that is waited for; children that have not said anything. safe_find_dead: at most 64 at once.
 * safe_emit_deaths: programs that never said anything are told of here, too. safe_emit_status: status as wait gives it.
 * */
struct safe_dead {
	struct sproc *v[64];
	int n;
};
void safe_find_dead(struct safe *f, struct safe_dead *ret);
void safe_emit_deaths(struct safe *f, const struct safe_dead *d);
/* Notes how a process ended that its parent has waited for. */
void safe_emit_status(struct safe *f, pid_t pid, int status);
void safe_emit_children(struct safe *f);
/* Everybody's record ends. */
void safe_emit_end(struct safe *f);
/* The latest process of that number; NULL: none. */
const struct proc *safe_proc(const struct safe *f, pid_t pid);
bool safe_lives(const struct safe *f, uint32_t pid, uint32_t image);
/* Something is to be looked at again soon. */
bool safe_busy(const struct safe *f);

/* ---- the worker (safe.c) ---- */

/* The command has been started, since `forked`, in the folder cwd. Lives until nobody is left. */
_Noreturn void worker_safe(struct worker *w, const struct safe_place *place, int64_t forked, const char *cwd);

#endif
