/* procs_int.h - what procs.c and proc_end.c share. */
#ifndef STEMMA_CAPTURE_SUPERVISOR_PROCS_INT_H
#define STEMMA_CAPTURE_SUPERVISOR_PROCS_INT_H

#include "capture/supervisor/super.h"

/* Has no thread but the first ever run in p? Its figures in /proc are those of the process then. */
bool proc_has_run_one_thread(struct proc *p);
/* The process number that was given out last, in the recorder's namespace; -1: not known. 1 us. */
pid_t proc_last_given(const struct sup *s);
/* Takes the thread out of the table and frees it. */
void task_forget(struct sup *s, struct task *t);

#endif
