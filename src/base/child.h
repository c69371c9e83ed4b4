/* child.h - starts a program, without a shell, and reads what it prints.
 *
 * The program has no signal blocked and dies of SIGPIPE, whatever this process does with it; of the descriptors it gets
 * its three standard streams, and what is not close-on-exec. Results are 0 or -errno, and a wait status where said. No
 * state; safe for threads as far as `before` is. */
#ifndef STEMMA_BASE_CHILD_H
#define STEMMA_BASE_CHILD_H

#include "base/buf.h"

#include <sys/types.h>

enum {
	CHILD_NULL = 0,   /* /dev/null */
	CHILD_SAME = -1,  /* the one of this process */
	CHILD_PRINTS = -2 /* standard error: to where standard output goes */
};

struct child {
	char *const *argv; /* argv[0] is looked up in PATH, but for `path`; NULL: no program, `before` is all of it */
	const char *path;  /* the program's file */
	char *const *env;  /* NULL: the environment of this process, as `before` leaves it */
	/* Its standard streams: descriptors, which stay the caller's, or one of the above. */
	int in, out, err;
	/* Called in the child when its streams are in place, before the program. Other than 0: the program is not started;
	 * -errno is then child_start's result, too. Without a program it is what the child ends with. */
	int (*before)(void *arg);
	void *arg;
	int limit_ms; /* of child_run and child_read: what takes longer is killed: -ETIMEDOUT. 0: it may take for ever */
	/* Of child_read alone. */
	size_t most; /* bytes of what it prints that are kept; the others are read and dropped, so that it may end */
	bool cut;    /* what prints more is killed instead, and that is no error */
};

/* Starts it. The caller waits for *ret_pid. Where the program cannot be started, the result says why, and there is no
 * child. 0; -errno of the fork, or of what the child did before and at its exec. */
int child_start(const struct child *c, pid_t *ret_pid);
/* Waits for its end; the wait status, or -errno. */
int child_wait(pid_t pid);
/* A signal to a child that was not waited for; none to another process that has its number by now. For a signal
 * handler, too, of the thread that waits. 0, or -errno: -ESRCH where it has ended. */
int child_signal(pid_t pid, int sig);
/* child_start and child_wait in one. What child_wait returns; -ETIMEDOUT: c->limit_ms were over, and it was killed;
 * -errno. */
int child_run(const struct child *c);
/* Runs it with a pipe as its standard output and appends what it prints to ret. The wait status (0 also of what was cut
 * off), or -errno. What it had printed until then is in ret in any case. */
int child_read(const struct child *c, struct buf *ret);

#endif
