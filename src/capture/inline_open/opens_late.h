/* opens_late.h - opens without a stop that were under way while names changed (doc/opens.md, "When it is read").
 *
 * Which names changed since such an open began is kept, and what they led to, until it is recorded: at most
 * LATE_CHANGES, and nothing where no open is late. Internal to capture/inline_open; under the big lock. */
#ifndef STEMMA_CAPTURE_INLINE_OPEN_OPENS_LATE_H
#define STEMMA_CAPTURE_INLINE_OPEN_OPENS_LATE_H

#include "capture/inline_open/logging.h"

/* d, which changes names, is about to be let go on. */
void opens_late_changes(struct sup *s, const struct pending *d);
/* What has been logged was recorded: forgets the changes where no open is late. */
void opens_late_forget(struct sup *s);

enum opens_late {
	OPENS_LATE_NOT,    /* none of the names that changed can have been on its way: it is as any other */
	OPENS_LATE_TOLD,   /* what it may have been before is recorded as possible; what is there now may be it, too */
	OPENS_LATE_UNKNOWN /* it may have been a file that is not known */
};
/* Finds out which file was opened by open e of the path `full` at that time, which has succeeded.
 * OPENS_LATE_UNKNOWN: which file it was cannot be told any more. */
enum opens_late opens_late_settle(struct sup *s, const struct opened *e, const char *full, int64_t time);
/* Finds out which file was opened: it has opened the file of e->id: is that one that had a name then? Then that is
 * recorded, as sure. */
bool opens_late_known(struct sup *s, const struct opened *e, int64_t time);

#endif
