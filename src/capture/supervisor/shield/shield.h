/* shield.h - keeps signals from showing in stopped calls, under the transport `notify`. Internal to capture.
 *
 * A stopped call waits interruptibly until its notification has been received. A signal in that moment whose handler
 * lacks SA_RESTART makes it fail with EINTR: an open or chdir that never does. So a process that has such a handler is
 * seized with ptrace by a thread of the worker, and where a signal is about to be delivered to a call that was not
 * received, the call's result is changed to the one with which the kernel runs it again, whatever the handler says. A
 * call that was received and let go on (an open of a FIFO, a connect) is left alone: it is to be interrupted.
 *
 * Where the kernel forbids it (another tracer, Yama, other credentials) the process goes on without. If the worker dies
 * the kernel lets go of the seized. x86-64 only: elsewhere the result cannot be changed this way.
 * The shield's thread takes no lock but its own and reads no file system but /proc. */
#ifndef STEMMA_CAPTURE_CAPTURE_SUPERVISOR_SHIELD_H
#define STEMMA_CAPTURE_CAPTURE_SUPERVISOR_SHIELD_H

#include "capture/seccomp/trap.h"

struct control;
struct shield;

/* The thread starts with the first shield_watch. NULL: no memory, or not this architecture. keeper is told when root
 * stops. */
struct shield *shield_new(struct control *control, pid_t keeper);
/* Seizes all threads of a process; waits until that is done. False: it is not shielded. */
bool shield_watch(struct shield *g, pid_t pid);
/* Lets go of a process, for another tracer; waits, 20 ms at most. */
void shield_release(struct shield *g, pid_t pid);
/* Has code put into a process (inject.h), whose thread tid is at a stopped call: go(arg) is to answer that, and is
 * called once, when the thread is sure to stop again behind it, or if that cannot be. The others are stopped meanwhile
 * if injection->threads. injection->ready says in go whether it will be tried. 0 or -errno. shield_inject: -EBUSY: the
 * thread could not be stopped. */
struct injection;
int shield_inject(struct shield *g, pid_t tid, struct injection *injection, void (*go)(void *arg), void *arg);
/* The call that tid has stopped at and that was received; to be told before the call goes on. can_block: it can be
 * interrupted where it runs. enter: pid's threads are about to be seized; else only those that are are noted. */
void shield_note(struct shield *g, pid_t pid, const struct trap *t, bool can_block, bool enter);
/* Its stops are reported to the shield, not to whoever waits for children. */
bool shield_has(struct shield *g, pid_t pid);
/* Reaped by another thread, or over. */
void shield_forget(struct shield *g, pid_t pid);

#endif
