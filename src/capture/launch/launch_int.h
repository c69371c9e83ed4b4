/* launch_int.h - what the files that start a run share: launch.c, launch_command.c, launch_bare.c, launch_worker.c. */
#ifndef STEMMA_CAPTURE_LAUNCH_LAUNCH_INT_H
#define STEMMA_CAPTURE_LAUNCH_LAUNCH_INT_H

#include "capture/launch/keeper.h"

struct sock_fprog;

/* ---- the command (launch_command.c) ---- */

/* Becomes the command; ends as a shell does if there is none. */
_Noreturn void launch_become_command(const struct keeper *k);
/* The same with the filter (NULL: none), whose listener goes over both sockets. */
_Noreturn void launch_exec_command(struct keeper *k, const struct sock_fprog *prog, const int socks[2]);

/* ---- without a recorder (launch_bare.c) ---- */

/* Runs the command, of which nothing is recorded, to its end. 0. 0 in any case; *ret_status is as wait gives it. */
int launch_bare(const struct keeper *k, int *ret_status);
/* Runs the command without a recorder where there is a record, which says that and how the command ended. */
int launch_alone(const struct keeper *k, int *ret_status, const char **ret_note);
/* The same with so little room for processes that the command gets this one. */
int launch_unwatched(const struct keeper *k, int *ret_status);
/* Why nothing could be recorded: `otherwise`, if it is not for want of descriptors. */
const char *launch_explain_no_capture(const char *otherwise);

/* ---- the worker (launch_worker.c) ---- */

/* In the worker's process: starts the command and serves. prog: the filter, NULL none. */
_Noreturn void launch_worker(struct keeper *k, struct worker *w, const struct sock_fprog *prog, int to_keeper);
/* Runs the worker of `--capture=safe`: nothing can stop the command, a library goes along with it. Does not return.
 */
_Noreturn void launch_safe_worker(struct keeper *k, struct worker *w, int to_keeper);

#endif
