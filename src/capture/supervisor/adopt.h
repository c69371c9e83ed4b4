/* adopt.h - a worker that follows one that was killed. Internal to capture, transport notify only.
 *
 * The keeper starts it when it has answered every call that the dead worker held. While it takes up the processes that
 * live, nobody answers: what opens a file then waits. Of each process it reads what it has open, as inherited from what
 * was not seen; a process and an execution that the dead worker had told of keep their numbers (known.h). Then it says
 * from when to when nobody watched, and serves like the first. Cost: about 100 us a process, once.
 *
 * What it does not have: the observer (figures of what the run used are told from the keeper's own, as where no worker
 * follows), and orphans, which come to the keeper and are waited for there. */
#ifndef STEMMA_CAPTURE_SUPERVISOR_ADOPT_H
#define STEMMA_CAPTURE_SUPERVISOR_ADOPT_H

#include "capture/supervisor/worker.h"

/* In the new process, a fork of the keeper's. w is as it was before the first worker was started, but for w->control,
 * the log and the names of the run. died: when the last one was seen to be dead. */
_Noreturn void worker_adopt(struct worker *w, int listener, int64_t died);
/* Numbers of the command's process, where it is over and was known; 0: it was not. */
uint64_t adopt_root(const struct sup *s);
/* Does the process run another program than it was known by? */
bool adopt_is_other(const struct proc *p);

#endif
