/* procs_int.h - what procs.c and proc_end.c share. */
#ifndef STEMMA_CAPTURE_SUPERVISOR_PROCS_INT_H
#define STEMMA_CAPTURE_SUPERVISOR_PROCS_INT_H

#include "capture/supervisor/super.h"

/* Has no thread but the first ever run in p? Its figures in /proc are those of the process then. */
bool proc_has_run_one_thread(struct proc *p);
/* Takes the thread out of the table and frees it. */
void task_forget(struct sup *s, struct task *t);

#endif
