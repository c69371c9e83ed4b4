/* standstill.h - a worker that stands still, and what its keeper does about it. Internal to capture.
 *
 * Who stops the worker alone (a signal, a debugger that looks at it) would stop every program of the job at its next
 * call, and if that was done from within the job, for ever: who is to let the worker go on stands still itself. So the
 * keeper, which stops with its group and is not asked by anybody else, looks twice a second. A worker found stopped at
 * two looks in a row is told to go on; one that a tracer holds is stood in for, as after its death, until it moves.
 * What went by then is counted in control.passed, and the worker says so. */
#ifndef STEMMA_CAPTURE_LAUNCH_STANDSTILL_H
#define STEMMA_CAPTURE_LAUNCH_STANDSTILL_H

#include "capture/supervisor/worker.h"

struct standstill {
	int64_t since;     /* when the thread was first found stopped where it is; CLOCK_MONOTONIC, ns; 0: it was not */
	uint64_t switches; /* how often it had left a processor by then */
};

/* Is it to be stood in for? Call it where there is nothing else to do. Tells a stopped worker to go on by itself. */
bool standstill_look(struct standstill *s, const struct control *c, pid_t worker);
/* Is one of its threads on a processor, or waiting for one? A worker that a file system holds up is neither, but for a
 * moment in each 20 ms. False also where that cannot be read. */
bool standstill_works(pid_t worker);
/* Waits for a killed worker whose first thread is over, until no other thread can receive a
 * call. One that was just receiving writes the call's number down a moment later, and who had looked for it before
 * would never answer that. A thread that hangs at a disk receives nothing, and is not waited for. */
void standstill_await_threads(pid_t worker);
/* Answers all calls until the worker's thread moves; also(arg) is called every 20 ms or oftener. */
void standstill_serve(struct standstill *s, struct control *c, pid_t worker, int listener, void (*also)(void *arg),
                      void *arg);

#endif
