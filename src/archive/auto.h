/* auto.h - what `stemma run` takes from the history: limits before a command, and a remark after it.
 *
 * Both open the store of `home` for themselves (NULL: the default) and are quiet where nothing is recorded: they must
 * never keep a command from running. archive_limits brings the index up to date first, for who asks for limits from the
 * history wants the whole of it; archive_unlike asks what is indexed already: about 3 µs a summary. */
#ifndef STEMMA_ARCHIVE_AUTO_H
#define STEMMA_ARCHIVE_AUTO_H

#include "base/buf.h"
#include "base/err.h"
#include "summary/summary.h"

#include <stddef.h>

/* For `--limit auto`: appends "memory=512M,wall=60s", to be read as the argument of --limit. A limit is half as
 * much again as the most that any method of the advice asks for, and at least a minute and 64 MiB, so that it stops
 * what goes astray and not a task that needs a little more. *ret_n:
 * so many tasks like it are known; with fewer than 10 there are no limits. 1; 0 there are none, with a sentence that
 * says why; -errno with a sentence: the record cannot be read, and there are none either. */
int archive_limits(const char *home, char *const *argv, const char *system_extra, struct err *err, struct buf *ret,
                   size_t *ret_n);

/* Appends a sentence for each figure of a task that ended by itself that is unlike its history, such as
 * "memory_resident_peak is 2.1 GiB; 57 tasks like it had 310 MiB to 420 MiB". Unlike is what lies outside all that at
 * least 20 tasks like it had, and outside the interval that holds 99 in 100 of them with a confidence of 95 %
 * (Howe, JASA 64, 1969; of the logarithms). How many, or -errno. */
int archive_unlike(const char *home, const struct summary *m, struct buf *ret);

#endif
