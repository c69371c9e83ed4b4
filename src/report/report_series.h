/* report_series.h - reads what `stemma run --series` wrote: lines of numbers between tabs with a head of names, or
 * lines of JSON. Of many lines the page gets at most REPORT_POINTS: of each stretch the greatest value of each column,
 * so that no peak is lost. Names are of small letters and _, values numbers; all else is refused, for a file can hold
 * anything.
 */
#ifndef STEMMA_REPORT_REPORT_SERIES_H
#define STEMMA_REPORT_REPORT_SERIES_H

#include "base/buf.h"
#include "base/err.h"

#define REPORT_POINTS 1000

/* Appends the samples as JSON: {"samples": how many there were, "columns": {NAME: [...]}}. of: the start of the run,
 * ns; TIME_NONE not known. 0; -EBADMSG: it is no series; -EINVAL: none, or one of a run that began more than a minute
 * before or after; -errno; with a sentence. */
int report_series(const char *path, int64_t of, struct err *err, struct buf *b);
/* Appends the series of measurements of a text, which ends with NUL and is changed, as report_series does. path:
 * what it is called in sentences. 0; -EBADMSG with a sentence, and nothing is appended; -ENOMEM. */
int report_series_text(const char *path, char *text, int64_t of, struct err *err, struct buf *b);

#endif
