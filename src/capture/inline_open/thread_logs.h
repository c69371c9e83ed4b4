/* thread_logs.h - the logs of threads: who has which, and what is in them (doc/opens.md, Programs with threads).
 * Internal to capture/inline_open; under the big lock.
 *
 * They lie in the memory of the log of their process, before that one. Each is found by its thread's pointer. A log is
 * busy from before an open until behind it; who is busy is the only one to write. A thread may end while it is busy:
 * then what it has prepared is told as possible, and the log is free again. */
#ifndef STEMMA_CAPTURE_INLINE_OPEN_THREAD_LOGS_H
#define STEMMA_CAPTURE_INLINE_OPEN_THREAD_LOGS_H

#include "capture/inline_open/logging.h"

/* Gives a thread a log, at a stop of thread tid to open a file, its process's page being own: it has a log from now
 * on, or again. False: it has none. */
bool thread_logs_give(struct sup *s, struct proc *p, pid_t tid, const struct opens_own *own);
/* Copies what is in them. What is there may be anything. */
void thread_logs_copy(struct sup *s, struct proc *p);
/* Stops the logs of threads: each thread's opens stop until it has been given its log again. */
void thread_logs_close(struct opens_logs *l, struct logging *g);
/* Tells the program which of them are barred or closed. */
void thread_logs_gate(struct opens_logs *l, struct logging *g);
/* Is an open under way? */
bool thread_logs_busy(struct sup *s, struct proc *p);
/* What is under way now began before names changed: what it opens is possible. */
void thread_logs_late(struct sup *s, struct proc *p);
/* Forgets the logs of threads, before the memory is given up. */
void thread_logs_free(struct opens_logs *l, struct logging *g);

#endif
