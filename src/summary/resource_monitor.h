/* resource_monitor.h - the summaries of resource_monitor (cctools), which Work Queue, TaskVine, Makeflow and Parsl
 * read: a JSON object whose figures are pairs [number, unit]; versions before 2016 wrote lines "name: number unit".
 * Both are read, the object is written. Read ones are what resource_monitor polled: every figure but times of the clock
 * may be too low, so none of them is complete. Its sizes are whole MB unless a fraction is told. */
#ifndef STEMMA_SUMMARY_RESOURCE_MONITOR_H
#define STEMMA_SUMMARY_RESOURCE_MONITOR_H

#include "summary/jin.h"
#include "summary/summary.h"

/* Whether it has a field of theirs. */
bool resource_monitor_is(json_t *value);
bool resource_monitor_is_text(struct str text);
/* Reads a summary of resource_monitor. 0 or -errno with a sentence; *ret is released by the caller on success only.
 */
int resource_monitor_read(json_t *value, struct err *err, struct summary *ret);
/* Reads one of a text of lines and sets *ret_n to what it took of the text: up to a line of dashes, and that. -ENODATA:
 * there was none. */
int resource_monitor_read_lines(struct str text, struct err *err, struct summary *ret, size_t *ret_n);

/* Appends s. What is not known is left out, for their readers take that as not measured. 0 or -ENOMEM. */
int resource_monitor_write(const struct summary *s, struct buf *ret);

#endif
