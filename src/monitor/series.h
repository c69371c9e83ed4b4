/* series.h - a line for each sample, as it is taken: TSV with a header, or JSON lines where the file's name ends in
 * .jsonl. What is not known is an empty field, or null. Internal to monitor; the sampler's thread only. */
#ifndef STEMMA_MONITOR_SERIES_H
#define STEMMA_MONITOR_SERIES_H

#include "monitor/monitor.h"

struct series;

/* Opens the file anew. 0 or -errno with a sentence. */
int series_open(const char *path, struct err *err, struct series **ret);
/* Writes a line of the series of measurements. 0, or the errno of the first line that could not be written; none is
 * written after it. */
int series_add(struct series *s, const struct monitor_now *now);
void series_close(struct series *s);

#endif
