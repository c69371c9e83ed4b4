#include "event/log_frames.h"

#include <errno.h>

#define FRAME_BYTES (64 * 1024)

void log_frames_flush(struct log_frames *f)
{
	if (!f->events.n || f->error)
		return;
	f->head.size = (uint32_t)f->events.n;
	f->head.session = f->session;
	f->head.number = f->n++;
	if (f->events.failed || log_frame_add(f->out, &f->head, f->events.p) < 0)
		f->error = -ENOMEM;
	buf_reset(&f->events);
}

uint64_t log_frames_add(struct log_frames *f, const struct event *ev)
{
	const size_t had = f->events.n;
	if (f->error)
		return 0;
	if (!had) {
		f->head = (struct log_frame){.seq = f->seq + 1, .time = ev->time};
		f->before = ev->time;
	}
	int rc = event_encode(&f->events, ev, f->before);
	if (rc == 0 && f->events.n > LOG_PAYLOAD_MAX && had) {
		f->events.n = had; /* into a frame of its own */
		log_frames_flush(f);
		return log_frames_add(f, ev);
	}
	if (rc < 0 || f->events.n > LOG_PAYLOAD_MAX) {
		f->events.n = had;
		f->error = rc < 0 ? rc : -E2BIG;
		return 0;
	}
	f->before = ev->time;
	f->head.count++;
	f->seq++;
	if (f->events.n >= FRAME_BYTES)
		log_frames_flush(f);
	return f->seq;
}

void log_frames_release(struct log_frames *f)
{
	buf_release(&f->events);
}
