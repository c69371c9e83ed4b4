/* stop.h - ends all the processes below one: those too that called setsid, are static, or are being born meanwhile.
 *
 * The one they are below must be a child subreaper (prctl), so that nobody gets out from under it: whoever loses its
 * parent becomes its child. Parents are signalled before their children, so that none makes others in the place of
 * those that ended. A process is held by a descriptor while it is made sure that it is one of them: a number that is
 * used again hits nobody else. Reads /proc only; about 60 us a process. No state, safe for threads. */
#ifndef STEMMA_MONITOR_STOP_H
#define STEMMA_MONITOR_STOP_H

#include <stddef.h>
#include <sys/types.h>

struct stop_count {
	size_t alive;   /* processes that were met, zombies not counted */
	size_t refused; /* of these, such as may not be signalled: they have become another user's */
	pid_t one_refused;
};

/* Sends sig to each process below top. 0 or -errno (-ENOENT: the kernel does not tell whose children are whose;
 * -ENOMEM), and in *ret who was met in both cases. sig 0: they are only counted. With SIGTERM, those that are stopped
 * are made to go on, so that they can take it. */
int stop_signal(pid_t top, int sig, struct stop_count *ret);
/* Kills until nobody is alive but who refuses, or until `patience` ms are over: -EAGAIN then. */
int stop_kill(pid_t top, int patience, struct stop_count *ret);

#endif
