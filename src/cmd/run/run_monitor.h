/* run_monitor.h - the measuring of `stemma run`: from its options to the summary where the user wants it. */
#ifndef STEMMA_CMD_RUN_RUN_MONITOR_H
#define STEMMA_CMD_RUN_RUN_MONITOR_H

#include "cmd/cmd.h"
#include "monitor/monitor.h"

struct run_monitor;

/* Checks the options and makes ready; nothing is started. 0, or an exit status, having said why. *ret NULL: nothing is
 * to be measured. */
int run_monitor_open(struct cmd *c, const struct opts_run *o, struct run_options *run, struct run_monitor **ret);
/* After the command: writes and prints what is wanted. A failure is said and changes no status. Returns the status that
 * the run is to end with, given the command's wait status: as it ended, or 124 << 8 where a limit ended it. */
int run_monitor_finish(struct run_monitor *r, int status);
void run_monitor_close(struct run_monitor *r);

/* `run --pid`: the whole of it. Returns the exit status. */
int run_monitor_attach(struct cmd *c, const struct opts_run *o);

/* The table of --report (run_report.c). */
void run_report(const struct summary *s, FILE *out);

#endif
