/* stop_self.h - how the process that the user started stops with its command, so that a shell takes the terminal back,
 * and loses no SIGCONT. Internal to capture.
 *
 * A signal that stops takes away a SIGCONT that was not read yet, and nobody can look and stop at once. But a SIGCONT
 * takes away the signals that stop. So one of these, the guard (SIGTTOU), is sent to this thread beforehand and stays
 * blocked: as long as it is there, no SIGCONT came. One thread; all signals are blocked. A SIGTTOU that somebody sends
 * to this process is not seen beside the guard. */
#ifndef STEMMA_CAPTURE_LAUNCH_STOP_SELF_H
#define STEMMA_CAPTURE_LAUNCH_STOP_SELF_H

#include <signal.h>
#include <stdbool.h>

/* Sets the guard: once signals are blocked, and then whenever a SIGCONT was read, before anything is done about it. */
void stop_guard_set(void);
/* Takes it away: before signals are let in again. Nothing if it is not there. */
void stop_guard_drop(void);
/* Takes the guard's signal out of a set of signals that are waited for. */
void stop_guard_spare(sigset_t *waited);
/* Is this signal one that stop_self sent? It is to be passed over. sender: as the kernel says. */
bool stop_is_own(int sig, pid_t sender);
/* Stops, unless a SIGCONT came. True: one came of which nothing is to be read any more; the command is to get it. */
bool stop_self(void);

#endif
