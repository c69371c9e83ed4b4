/* clean.h - an event without the secrets in its texts: the rows of clean.def.
 *
 * Nearly all events have no such field, or nothing in it: they cost 2 ns, a name of a file 50 to 200 ns. No globals. */
#ifndef STEMMA_EVENT_CLEAN_H
#define STEMMA_EVENT_CLEAN_H

#include "event/event.h"
#include "redact/redact.h"

/* Memory for the strings of a cleaned event. Zero it before the first use; used again by the next event. */
struct event_clean {
	struct buf bytes, items;
};
void event_clean_release(struct event_clean *room);

/* Takes secrets out of an event. search: look at all rows; else at those that are looked at when an event is
 * written. watch may be NULL; it is told of each secret. 1: *ret is ev with other strings, which point into room; 0:
 * there is nothing, *ret is not set; -ENOMEM. */
int event_clean(const struct event *ev, bool search, const struct redact_watch *watch, struct event_clean *room,
                struct event *ret);

#endif
