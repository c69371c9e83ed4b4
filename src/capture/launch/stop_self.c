#include "capture/launch/stop_self.h"

#include <time.h>
#include <unistd.h>

enum { GUARD = SIGTTOU, STOP = SIGTSTP };

/* Is the signal waiting for this process? */
static bool waits(int sig)
{
	sigset_t pending;
	return sigpending(&pending) == 0 && sigismember(&pending, sig) == 1;
}

void stop_guard_set(void)
{
	raise(GUARD);
}

void stop_guard_drop(void)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, GUARD);
	sigaddset(&set, STOP);
	while (sigtimedwait(&set, NULL, &(struct timespec){0}) > 0)
		;
}

void stop_guard_spare(sigset_t *waited)
{
	sigdelset(waited, GUARD);
}

bool stop_is_own(int sig, pid_t sender)
{
	return sig == STOP && sender == getpid();
}

bool stop_self(void)
{
	sigset_t stop;
	if (waits(SIGCONT))
		return false;
	sigemptyset(&stop);
	sigaddset(&stop, STOP);
	raise(STOP); /* takes away a SIGCONT that came since: then the guard is gone */
	if (waits(GUARD)) {
		/* Stops here; unless a SIGCONT came before, which took the signal away with the guard. */
		sigprocmask(SIG_UNBLOCK, &stop, NULL);
		sigprocmask(SIG_BLOCK, &stop, NULL);
		/* Where no shell looks after the process group, the kernel stops nobody by such a signal. */
		if (waits(GUARD))
			raise(SIGSTOP);
	}
	/* Who reads a SIGCONT sets the guard. And where that is still there none came: process 1 of a namespace is not
	 * stopped at all. */
	if (waits(GUARD) || waits(SIGCONT))
		return false;
	stop_guard_set();
	return true;
}
