/* calls.h - the handlers of the stopped calls, by what the calls do; calls.c decides which one. Each takes the process
 * and the stop, and reads the call's arguments from there, or is given them where several calls differ in nothing else.
 * All of it under sup->lock. Internal to capture. */
#ifndef STEMMA_CAPTURE_SUPERVISOR_CALLS_H
#define STEMMA_CAPTURE_SUPERVISOR_CALLS_H

#include "capture/supervisor/super.h"

/* ---- paths ---- */

/* As proc_rooted, for a stop of p: what a relative path begins in may be held, where nobody may keep us waiting for
 * that. */
static inline struct rooted proc_rooted_near(const struct sup *s, const struct proc *p)
{
	struct rooted r = proc_rooted(p);
	r.near = !r.foreign && !sup_far(s);
	r.pid = p->pid;
	r.table = r.near && !s->far ? p->pidfd : -1;
	return r;
}

/* ---- calls whose result is not seen yet (calls_pending.c) ---- */

/* Notes a pending call, before the call at stop t: what its paths mean is held on to, and a and b (NULL: one path)
 * are the pending one's from then on. NULL: no memory. */
struct pending *pending_add(struct sup *s, struct proc *p, const struct trap *t, enum pending_op op, struct where *a,
                            struct where *b);
/* Looks at pending calls before a stop is handled, of what its thread has pending on file systems that may keep us
 * waiting: looked at outside of the lock, as what its call names. False as of sup_back. */
bool pending_look(struct sup *s, pid_t tid);
/* Is there one that takes a name from a file? One that may give a directory, and so all that is in it, other names? */
bool pending_names(const struct sup *s);
bool pending_folders(const struct sup *s);
/* A file (or NULL) that a pending call points to is not forgotten. */
void file_pin(struct file *f);
/* A FIFO is being opened: has somebody the other side? Then who waits for this one has not waited in vain either. */
bool fifo_meets(struct sup *s, const struct file *f, unsigned mode, int64_t time);

/* ---- opening (calls_open.c) ---- */

void calls_handle_open(struct sup *s, struct proc *p, const struct trap *t, int dirfd, uint64_t addr, unsigned flags,
                       uint64_t resolve);
/* The result of one that went through a ring is known, or will not be: recorded as it tells. */
void calls_open_returned(struct sup *s, struct pending *d);

/* ---- names (calls_names.c) ---- */

void calls_handle_rename(struct sup *s, struct proc *p, const struct trap *t, int d1, uint64_t a1, int d2, uint64_t a2,
                         unsigned flags);
/* Two names, which need not be there. Leaves the lock meanwhile. */
void calls_handle_link(struct sup *s, struct proc *p, const struct trap *t, int d1, uint64_t a1, int d2, uint64_t a2,
                       unsigned flags);

/* The name is looked at before it goes. */
void calls_handle_unlink(struct sup *s, struct proc *p, const struct trap *t, int dirfd, uint64_t addr);

/* Handles a call that makes a file or folder. */
void calls_handle_make(struct sup *s, struct proc *p, const struct trap *t, int dirfd, uint64_t addr);
void calls_handle_truncate(struct sup *s, struct proc *p, const struct trap *t);
void calls_handle_ftruncate(struct sup *s, struct proc *p, const struct trap *t);
/* addr 0: of the descriptor dirfd itself. */
void calls_handle_times(struct sup *s, struct proc *p, const struct trap *t, int dirfd, uint64_t addr, bool follow);

/* ---- processes (calls_channels.c) ---- */

/* Another one, where their number is held to a limit: may be refused. */
void calls_handle_fork(struct sup *s, struct proc *p, const struct trap *t);

/* ---- memory (calls_channels.c) ---- */

/* A file in memory is about to be made or written, or a name taken from it: who watches the run is told. */
void calls_note_memory(struct sup *s);

void calls_handle_mmap(struct sup *s, struct proc *p, const struct trap *t);
void calls_handle_shmat(struct sup *s, struct proc *p, const struct trap *t);
/* Tells that a process reads or writes the memory of another one. */
void calls_handle_process_vm(struct sup *s, struct proc *p, const struct trap *t);

#endif
