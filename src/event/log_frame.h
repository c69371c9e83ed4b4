/* log_frame.h - make and check one frame in memory (log_format.h has its layout). */
#ifndef STEMMA_EVENT_LOG_FRAME_H
#define STEMMA_EVENT_LOG_FRAME_H

#include "base/buf.h"
#include "event/log_format.h"

#include <stdbool.h>

/* `at` has room for the header and holds, after it, h->size bytes of events: writes the header, from h's size, session,
 * number, count, seq and time (host byte order), and plain where they are packed; magic and sum are made. Returns the
 * length of the frame. */
size_t log_frame_build(void *at, const struct log_frame *h);
/* Appends a frame of h->size bytes of events to out, packed where that is shorter. 0, -ENOMEM. */
int log_frame_add(struct buf *out, const struct log_frame *h, const void *events);
/* The events of the whole frame at p, with the header h, as they were before they were packed: in the frame, or in
 * room. 0, -EBADMSG, -ENOMEM. */
int log_frame_events(const void *p, const struct log_frame *h, struct buf *room, struct str *ret);
/* The header at p (sizeof(struct log_frame) bytes) in host byte order, whatever it holds. */
struct log_frame log_frame_header(const void *p);
/* Could h, as log_frame_header gave it, begin a frame of this version? */
bool log_frame_plausible(const struct log_frame *h);
/* Is the whole frame at p, with the header h, as it was written? */
bool log_frame_intact(const void *p, const struct log_frame *h);

#endif
