/* jobserver.h - where make keeps the tokens of its jobs, as it tells its children in MAKEFLAGS: they are no data. */
#ifndef STEMMA_CAPTURE_SUPERVISOR_CHANNELS_JOBSERVER_H
#define STEMMA_CAPTURE_SUPERVISOR_CHANNELS_JOBSERVER_H

#include "base/buf.h"

#include <stdint.h>

struct jobserver {
	int fds[2];    /* the ends of its pipe, as make says; -1: none. Most of its jobs are not handed them */
	uint64_t pipe; /* the pipe that the program was handed there; 0: none, and what it has there is its own */
	char *fifo;    /* or its named pipe; NULL: none */
};

#define JOBSERVER_NONE ((struct jobserver){.fds = {-1, -1}})

/* Reads where the tokens are from MAKEFLAGS in env, an environment whose variables end with NUL: --jobserver-auth=R,W
 * or fifo:PATH, or the older --jobserver-fds=R,W. JOBSERVER_NONE where it does not say. The caller releases the
 * result. */
struct jobserver jobserver_find(const struct buf *env);
/* Gives a copy, which the caller releases; without memory it has no named pipe. */
struct jobserver jobserver_copy(const struct jobserver *j);
/* Frees what j holds, not j itself, which is JOBSERVER_NONE then. */
void jobserver_release(struct jobserver *j);

#endif
