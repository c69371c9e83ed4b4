/* summary_redact.h - a summary without the secrets in its texts: command line, labels, folder, sentences, names of
 * files. */
#ifndef STEMMA_SUMMARY_SUMMARY_REDACT_H
#define STEMMA_SUMMARY_SUMMARY_REDACT_H

#include "redact/redact.h"
#include "summary/summary.h"

/* Takes secrets out of a summary. watch may be NULL. 1: something was taken out; 0; -ENOMEM. */
int summary_redact(struct summary *s, const struct redact_watch *watch);

#endif
