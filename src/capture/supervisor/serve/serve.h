/* serve.h - the threads of the worker that take the stops under user notification (worker.h has worker_serve). Internal
 * to capture.
 *
 * One of them receives at a time. It handles a stop with the lock of the supervisor, but for looking at what the call's
 * arguments mean (sup_leave). If that lasts for a tick, another one begins to receive: so only who touches a file
 * system that stalls waits for it, and all others' stops are recorded as ever. For a second after that another one does
 * so before each look. There are SERVERS_MORE of them at most, 512 KiB of address space each, about 30 KiB of it used.
 * When all of them wait, the last one does not look where it might wait, too: it puts such stops off, NOTIFY_PARKED at
 * most, until another one is back. The functions are the main thread's but where it says otherwise. */
#ifndef STEMMA_CAPTURE_RUN_SERVE_H
#define STEMMA_CAPTURE_RUN_SERVE_H

#include "capture/supervisor/worker.h"

#define SERVE_TICK_NS 20000000

/* To be called each tick, without the lock: has another thread receive if the one that does is kept waiting. */
void serve_watch(struct worker *w);
/* Lets calls go on that have waited for a minute. */
void serve_minute(struct worker *w);
/* Monotonic. */
int64_t serve_clock_ns(void);

/* ---- where a server is held up (serve_standin.c) ---- */

/* The call at a stop goes on without being looked at, and what it is about is kept. Any thread's, without the lock. */
void serve_pass_unlooked(struct worker *w, struct notify_slot *slot, const struct trap *t);
/* Where all threads wait for file systems, answers in their place. False: they do not. */
bool serve_crowd(struct worker *w);
/* A server that is held up with the lock is stood in for. */
void serve_stand_in(struct worker *w);
/* What went by meanwhile is recorded as possible. Under the lock, by any thread. */
void raw_resolve(struct worker *w);

#endif
