/* log_frames.h - a session's events as frames in memory, for who makes a whole log at once and not while something
 * runs: imports, and what workflow systems wrote down.
 *
 *     struct log_frames f = {.out = &log, .session = number};
 *     log_frames_add(&f, &event); ...
 *     log_frames_flush(&f);
 *     log_frames_release(&f);
 *
 * A frame is written when it has 64 KiB of events; an event that does not fit into one that was begun gets a frame of
 * its own. Errors are kept in f.error, the first one, and nothing is added after it. */
#ifndef STEMMA_EVENT_LOG_FRAMES_H
#define STEMMA_EVENT_LOG_FRAMES_H

#include "event/event.h"
#include "event/log_frame.h"

struct log_frames {
	struct buf *out; /* frames of several sessions may go into one; not owned */
	uint64_t session;
	uint64_t seq;   /* of the event that was added last, 0 none yet */
	int64_t before; /* its time */
	uint32_t n;     /* frames that were written */
	struct buf events;
	struct log_frame head; /* of the frame at hand */
	int error;             /* 0 or -errno; -E2BIG: an event was too large for any frame */
};

/* The event's seq, 0 after an error. */
uint64_t log_frames_add(struct log_frames *f, const struct event *ev);
/* Writes the frame at hand. */
void log_frames_flush(struct log_frames *f);
void log_frames_release(struct log_frames *f);

#endif
