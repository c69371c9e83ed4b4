/* connects.h - did a connect come about? Its call is let go on before the answer is known, so the socket is asked
 * afterwards.
 *
 * An access to the address begins at the stop, as before. At the thread's next stop (or the process's end) the socket
 * is looked at through a copy of its descriptor, closed at once: where it never was connected the access is taken back.
 * A program closes a socket that was refused, so it is gone by then. So where nobody listens at an address of this
 * machine a copy is held meanwhile, until that stop or for a tick (20 ms) at most: of a socket that is refused nobody
 * notices that. What cannot be told stays possible. Everything under the supervisor's lock; nothing here waits. */
#ifndef STEMMA_CAPTURE_SUPERVISOR_CHANNELS_CONNECTS_H
#define STEMMA_CAPTURE_SUPERVISOR_CHANNELS_CONNECTS_H

#include "capture/supervisor/channels/sockets.h"
#include "capture/supervisor/super.h"

/* Notes a connect, before thread tid of p connects its descriptor fd to the address u of got bytes, which is access
 * a. */
void connects_begin(struct sup *s, struct access *a, pid_t tid, int fd, const union address *u, ssize_t got);
/* The thread is stopped again, so its call has come back. */
void connects_back(struct sup *s, pid_t tid);
/* The process's accesses are about to end. */
void connects_end(struct sup *s, const struct proc *p);
/* Lets go of copies. */
void connects_tick(struct sup *s);

#endif
