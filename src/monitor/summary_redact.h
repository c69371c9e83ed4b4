/* summary_redact.h - a summary without the secrets in its texts: command line, labels, folder, sentences, names of
 * files. */
#ifndef STEMMA_MONITOR_SUMMARY_REDACT_H
#define STEMMA_MONITOR_SUMMARY_REDACT_H

#include "monitor/summary.h"
#include "redact/redact.h"

/* watch may be NULL. 1: something was taken out; 0; -ENOMEM. */
int summary_redact(struct summary *s, const struct redact_watch *watch);

#endif
