#include "event/log_frame.h"

#include "base/hash.h"
#include "event/log_pack.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#define SUM_FROM offsetof(struct log_frame, session)
#define EVENT_MIN 4 /* bytes: length, kind, time, proc */

size_t log_frame_build(void *at, const struct log_frame *h)
{
	size_t length = sizeof(*h) + h->size;
	struct log_frame d = {
	    .magic = htole32(h->plain ? LOG_MAGIC_PACKED : LOG_MAGIC),
	    .size = htole32(h->size),
	    .session = htole64(h->session),
	    .number = htole32(h->number),
	    .count = htole32(h->count),
	    .seq = htole64(h->seq),
	    .time = (int64_t)htole64((uint64_t)h->time),
	    .plain = htole64(h->plain),
	};
	memcpy(at, &d, sizeof(d));
	d.sum = htole64(hash_bytes((char *)at + SUM_FROM, length - SUM_FROM));
	memcpy((char *)at + offsetof(struct log_frame, sum), &d.sum, sizeof(d.sum));
	return length;
}

struct log_frame log_frame_header(const void *p)
{
	struct log_frame d;
	memcpy(&d, p, sizeof(d));
	return (struct log_frame){
	    .magic = le32toh(d.magic),
	    .size = le32toh(d.size),
	    .sum = le64toh(d.sum),
	    .session = le64toh(d.session),
	    .number = le32toh(d.number),
	    .count = le32toh(d.count),
	    .seq = le64toh(d.seq),
	    .time = (int64_t)le64toh((uint64_t)d.time),
	    .plain = le64toh(d.plain),
	};
}

bool log_frame_plausible(const struct log_frame *h)
{
	bool packed = h->magic == LOG_MAGIC_PACKED;
	uint64_t plain = packed ? h->plain : h->size;
	return (packed || (h->magic == LOG_MAGIC && !h->plain)) && h->size <= LOG_PAYLOAD_MAX && plain <= LOG_PAYLOAD_MAX &&
	       (!packed || h->size < plain) && h->session != 0 && h->seq != 0 && h->count <= plain / EVENT_MIN &&
	       h->seq <= UINT64_MAX - h->count;
}

int log_frame_add(struct buf *out, const struct log_frame *h, const void *events)
{
	struct log_frame packed = *h;
	size_t at = out->n;
	if (!buf_room(out, sizeof(*h) + h->size))
		return -ENOMEM;
	out->n += sizeof(*h);
	if (log_pack(events, h->size, h->count, h->seq, h->time, out) == 0) {
		packed.plain = h->size;
		packed.size = (uint32_t)(out->n - at - sizeof(*h));
	} else {
		buf_add(out, events, h->size);
	}
	if (out->failed)
		return -ENOMEM;
	log_frame_build(out->p + at, &packed);
	return 0;
}

int log_frame_events(const void *p, const struct log_frame *h, struct buf *room, struct str *ret)
{
	const char *at = (const char *)p + sizeof(*h);
	*ret = str_n(at, h->size);
	if (h->magic != LOG_MAGIC_PACKED)
		return 0;
	int r = log_unpack(at, h->size, h->plain, h->count, h->seq, h->time, room);
	*ret = r == 0 ? buf_view(room) : str_n(at, 0);
	return r;
}

bool log_frame_intact(const void *p, const struct log_frame *h)
{
	return hash_bytes((const char *)p + SUM_FROM, sizeof(*h) - SUM_FROM + h->size) == h->sum;
}

/* ---- many ---- */

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

/* Adds an event that has no secrets in it. Its seq; 0: it was not added, and f->error says why. */
static uint64_t add_clean(struct log_frames *f, const struct event *ev)
{
	const size_t had = f->events.n;
	if (!had) {
		f->head = (struct log_frame){.seq = f->seq + 1, .time = ev->time};
		f->before = ev->time;
	}
	int rc = event_encode(&f->events, ev, f->before);
	if (rc == 0 && f->events.n > LOG_PAYLOAD_MAX && had) {
		f->events.n = had; /* into a frame of its own */
		log_frames_flush(f);
		return f->error ? 0 : add_clean(f, ev);
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

uint64_t log_frames_add(struct log_frames *f, const struct event *ev)
{
	struct event cleaned;
	int rc = f->error ? f->error : event_clean(ev, true, NULL, &f->clean, &cleaned);
	if (rc < 0) {
		f->error = rc;
		return 0;
	}
	return add_clean(f, rc > 0 ? &cleaned : ev);
}

/* What was not written is lost. */
void log_frames_release(struct log_frames *f)
{
	event_clean_release(&f->clean);
	buf_release(&f->events);
}
