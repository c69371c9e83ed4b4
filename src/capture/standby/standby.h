/* standby.h - the third holder of a run's listener (capture/standby): starting it, finding it.
 *
 * The keeper starts it when the run has lasted 20 ms; a shorter run has none and pays nothing. It is a child of the
 * keeper in a session of its own. It ends when nobody is left under the filter. It needs a memfd and a program beside
 * this one or in the library folder: where either is missing the run goes on without it. Cost: one vfork and exec,
 * about 0.4 ms of processor time a run; about 50 KiB of memory. */
#ifndef STEMMA_CAPTURE_STANDBY_STANDBY_H
#define STEMMA_CAPTURE_STANDBY_STANDBY_H

#include <stdbool.h>
#include <sys/types.h>

/* Starts it for run. memory: a descriptor of shared memory with struct notify_page at its beginning. life: the read end
 * of a pipe that every process of the recorder holds the other end of. Its process id, or -errno. */
pid_t standby_start(int listener, int memory, int life, const char *run);
/* Calls `each` of the standbys: each standby that this user may see, oldest first; run: the 26 characters of its
 * run. own: it is this user's. */
void standby_each(void (*each)(void *arg, pid_t pid, const char *run, bool own), void *arg);
/* Is the process the standby of that run? */
bool standby_is(pid_t pid, const char *run);
/* Is the program there that it takes? */
bool standby_found(void);

#endif
