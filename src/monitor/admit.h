/* admit.h - holds a limit of processes before it is exceeded: each call that makes a process stops, and is let go on
 * only while fewer are there. Internal to monitor.
 *
 * How many there are is counted (below this process, which is a subreaper, by /proc, zombies left out: 40 us each) only
 * when it could be the limit; what was let go on since the last count is added. A fork that was let go on and whose
 * child is not there yet counts too, until its thread stops again, waits, or has one more child than before.
 * The calls come one at a time (the supervisor's lock); `asked` and `most` may be read by other threads. */
#ifndef STEMMA_MONITOR_ADMIT_H
#define STEMMA_MONITOR_ADMIT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct admit;

/* Begins to hold a run to a number of processes. NULL: no memory. */
struct admit *admit_new(int64_t limit);
void admit_free(struct admit *a);
/* The thread tid is at a stop of a call that makes a process. 0: it may go on; EAGAIN: there are as many as may be, and
 * the call is to fail with that, as it does at a limit of the kernel's; -1: it cannot be told at this moment, to be
 * asked again in a millisecond or so. `tries`: how often that has been done. */
int admit_fork(struct admit *a, pid_t tid, unsigned tries);
/* How many forks were refused. */
uint64_t admit_refused(const struct admit *a);
/* The most that there can have been together; 0: nobody has asked yet. */
uint64_t admit_most(const struct admit *a);

#endif
