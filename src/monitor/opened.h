/* opened.h - the files that a task has opened, for its summary. Internal to monitor; the caller holds its lock.
 *
 * They are reported by the recorder where it sees opens, each by a number of its own; else descriptors are looked at
 * now and then, and what was opened and closed between two looks is missed. The first 1000 are kept, as they are met.
 */
#ifndef STEMMA_MONITOR_OPENED_H
#define STEMMA_MONITOR_OPENED_H

#include "summary/summary.h"

struct opened;

/* Begins to note which files processes open. NULL: no memory */
struct opened *opened_new(void);
void opened_free(struct opened *o);
/* What is known of the file of that number: its path (NULL: as before), its size (-1: as before), what it was opened
 * for. handed: it was not opened, but held from the beginning. */
void opened_report(struct opened *o, uint64_t number, const char *path, int64_t size, bool read, bool written,
                   bool handed);
/* From now on they are reported; all: each of them. */
void opened_set_reported(struct opened *o, bool all);
/* Looks at the descriptors of a process, if nobody tells. */
void opened_look(struct opened *o, pid_t pid);
/* Into the summary, if anybody has reported or looked. whole: no process was missed. 0 or -ENOMEM. */
int opened_summarize(const struct opened *o, bool whole, struct summary *s);

#endif
