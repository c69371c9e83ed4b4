/* log_frame.h - make and check one frame in memory (log_format.h has its layout), and frames of the events of a
 * session. */
#ifndef STEMMA_EVENT_LOG_FRAME_H
#define STEMMA_EVENT_LOG_FRAME_H

#include "base/buf.h"
#include "event/clean.h"
#include "event/event.h"
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

/* ---- many ---- */

/* A session's events as frames in memory, for who makes a whole log at once and not while something
 * runs: imports, and what workflow systems wrote down.
 *
 *     struct log_frames f = {.out = &log, .session = number};
 *     log_frames_add(&f, &event); ...
 *     log_frames_flush(&f);
 *     log_frames_release(&f);
 *
 * A frame is written when it has 64 KiB of events; an event that does not fit into one that was begun gets a frame of
 * its own. Errors are kept in f.error, the first one, and nothing is added after it. */
struct log_frames {
	struct buf *out; /* frames of several sessions may go into one; not owned */
	uint64_t session;
	uint64_t seq;   /* of the event that was added last, 0 none yet */
	int64_t before; /* its time */
	uint32_t n;     /* frames that were written */
	struct buf events;
	struct event_clean clean;
	struct log_frame head; /* of the frame at hand */
	int error;             /* 0 or -errno; -E2BIG: an event was too large for any frame */
};

/* Without the secrets that others may have left in it. The event's seq, 0 after an error. */
uint64_t log_frames_add(struct log_frames *f, const struct event *ev);
/* Writes the frame at hand. */
void log_frames_flush(struct log_frames *f);
void log_frames_release(struct log_frames *f);

#endif
