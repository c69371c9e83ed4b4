/* rings.h - what goes through an io_uring: each call that is submitted is handled as the system call that it stands
 * for, when the stop of io_uring_enter comes to it; what became of it is read from the ring's results.
 *
 * A ring is known from the stop of its first shared mapping on, where the kernel has said what it looks like. What is
 * submitted by a thread of the kernel (SQPOLL), through queues in the program's own memory, or by a ring that is not
 * known here is not seen: the gap `io_uring` says so. doc/capture.md has the rules. Bounds: RINGS_MAX rings, and in
 * each RING_CALLS_MAX calls whose results are told apart; past that results are unknown, and what was opened is
 * possible. Calls that wait for a result are RING_WAITS_MAX at most; past that they are not seen. Nothing of a ring is
 * held between stops. Under the big lock. Internal to capture. */
#ifndef STEMMA_CAPTURE_SUPERVISOR_RINGS_H
#define STEMMA_CAPTURE_SUPERVISOR_RINGS_H

#include "capture/supervisor/super.h"

#define RINGS_MAX 1024
#define RING_CALLS_MAX 512
#define RING_WAITS_MAX 1024

/* A stop of io_uring_setup, io_uring_register, or of io_uring_enter that submits something; another one is none of its
 * affair. May leave the lock (sup_leave). */
void rings_trap(struct sup *s, struct proc *p, const struct trap *t);
/* A shared writable mapping is made by who has made a ring; so, too. */
void rings_mapped(struct sup *s, struct proc *p, const struct trap *t);
/* Looks for results of io_uring at any stop, where a pending call waits for a result: which have come. */
void rings_back(struct sup *s);
/* The process is over. */
void rings_end(struct sup *s, const struct proc *p);

#endif
