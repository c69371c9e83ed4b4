/* soon.h - what may never come back (a look at a file system that does not answer) done by a thread of its own, which
 * is waited for so long and no longer.
 *
 * The job is copied there and back. Of one that takes too long the result is dropped when it comes; at most SOON_STUCK
 * are on their way at once, and while one is, the next is waited for a hundredth of the time: who asks for many that
 * hang is not kept for the sum. A thread costs about 30 us. Safe for threads. */
#ifndef STEMMA_BASE_OS_SOON_H
#define STEMMA_BASE_OS_SOON_H

#include <stddef.h>

#define SOON_STUCK 8

/* Does a piece of work that may hang, in a thread of its own, with a copy of the n bytes of job. 0; -ETIMEDOUT: not
 * in so many ms; -EAGAIN: too many hang already; -ENOMEM. */
int soon_do(void *job, size_t n, void (*fn)(void *job), unsigned ms);

#endif
