/* run_limits.h - the limits of `stemma run`: from its options to the watchdog, and what is said when one was exceeded.
 */
#ifndef STEMMA_CMD_RUN_RUN_LIMITS_H
#define STEMMA_CMD_RUN_RUN_LIMITS_H

#include "cmd/cmd.h"
#include "monitor/monitor.h"

struct run_limits;

/* Checks --limit, --limits-file, --grace and --rlimit; *ret NULL: nothing is limited. 0, or an exit status, having said
 * why. */
int run_limits_open(struct cmd *c, const struct opts_run *o, struct run_limits **ret);
/* Makes the watchdog, and a control group where one helps, and sets the monitor's options. 0, or an exit status, having
 * said why. */
int run_limits_prepare(struct run_limits *l, struct monitor_options *m);
void run_limits_attach(struct run_limits *l, struct monitor *m);
/* What the summary says of limits, as sentences: that the command was stopped, or would have been. */
void run_limits_say(const struct summary *s);
/* With --limit auto: what of the task is unlike its history. */
void run_limits_unlike(const struct run_limits *l, const struct summary *s);
/* The recorder did not live to the end: says so. */
void run_limits_lost(void);
/* Ends the watching and removes its control group, if nobody is in it. May be NULL. */
void run_limits_close(struct run_limits *l);

#endif
