/* log_writer.c - events are gathered into frames, in memory that the processes of a recording share. */
#include "event/log_writer_int.h"

#include "base/clock.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#define KEEP (64 * 1024) /* bytes of memory kept after a larger event */
#define WAKE (64 * 1024) /* bytes that wait after which log_writer_add wakes the writing thread; 20 ms hold less */

/* Is it time to try the disk again? */
static bool retry_due(const struct log_writer *w)
{
	return clock_now_ns(CLOCK_MONOTONIC_COARSE) >= w->retry_at;
}

int log_writer_frame(struct log_writer *w, struct log_state *s)
{
	struct log_frame h = {
	    .size = s->len,
	    .session = w->sh->session,
	    .number = s->number,
	    .count = s->count,
	    .seq = s->seq - s->count,
	    .time = s->first,
	};
	buf_reset(&w->packed);
	bool packed = log_frame_add(&w->packed, &h, w->sh->frame + sizeof(h)) == 0;
	const void *at = packed ? (const void *)w->packed.p : w->sh->frame;
	size_t n = packed ? w->packed.n : log_frame_build(w->sh->frame, &h);
	const bool queues = w->sh->queues;
	int r = !queues ? log_writer_put(w, at, n) : log_writer_enqueue(w, s, at, n) ? 0 : -EBUSY;
	s->error = -r;
	if (r < 0) {
		w->retry_at = clock_now_ns(CLOCK_MONOTONIC_COARSE) + LOG_RETRY_NS;
	} else {
		s->number++;
		s->len = s->count = 0;
	}
	log_writer_publish(w, s);
	if (queues && r == 0) {
		log_queue_show(&w->sh->queue, s->head);
		if (log_queue_waiting(&w->sh->queue) > WAKE)
			log_writer_wake(w);
	}
	if (w->packed.cap > 2 * KEEP)
		buf_release(&w->packed);
	if (r == 0 && h.size > 2 * KEEP)
		madvise((char *)w->sh + KEEP, offsetof(struct log_shared, queue) - KEEP, MADV_REMOVE);
	return r;
}

void log_writer_append(struct log_writer *w, struct log_state *s, int64_t time)
{
	memcpy(w->sh->frame + sizeof(struct log_frame) + s->len, w->scratch.p, w->scratch.n);
	if (s->count == 0)
		s->first = time;
	s->last = time;
	s->len += (uint32_t)w->scratch.n;
	s->count++;
	s->seq++;
}

bool log_writer_encode(struct log_writer *w, struct log_state *s, const struct event *ev, int *ret_why)
{
	for (;;) {
		buf_reset(&w->scratch);
		int r = event_encode(&w->scratch, ev, s->count ? s->last : ev->time);
		*ret_why = -r;
		if (r < 0 || w->scratch.n > LOG_PAYLOAD_MAX)
			return false;
		if (w->scratch.n <= LOG_PAYLOAD_MAX - s->len)
			return true;
		*ret_why = s->error;
		if (s->error && !retry_due(w))
			return false;
		r = log_writer_frame(w, s);
		*ret_why = -r;
		if (r < 0)
			return false;
	}
}

bool log_writer_say_lost(struct log_writer *w, struct log_state *s)
{
	struct err text = {0};
	if (s->why == EBUSY)
		err_set(&text, 0, "the file system of the record did not respond, and its buffer was full");
	else if (s->why)
		err_set(&text, s->why, "the log could not be written");
	else
		err_set(&text, 0, "larger than an event can be");
	struct event ev = {
	    .kind = EVENT_gap,
	    .time = s->unsaid_until,
	    .gap = {.reason = TERM_gap_lost, .count = s->unsaid, .from = s->unsaid_from, .text = str_of(text.text)},
	};
	int why;
	if (!log_writer_encode(w, s, &ev, &why))
		return false;
	log_writer_append(w, s, ev.time);
	s->unsaid = 0;
	log_writer_publish(w, s);
	return true;
}

/* The event is not in the log, for `why` (an errno): it counts as one of those that are to be said lost. Gives 0, as
 * the seq of none. */
static uint64_t count_lost_event(struct log_writer *w, struct log_state *s, int64_t time, int why)
{
	if (s->unsaid == 0)
		s->unsaid_from = s->unsaid_until = time;
	if (time > s->unsaid_until)
		s->unsaid_until = time;
	s->why = why;
	s->unsaid++;
	s->lost++;
	log_writer_publish(w, s);
	return 0;
}

/* Keeps a copy of the events that end run and session, two at most: they make sense alone, so they are written again
 * at the end if the log lost them (append_ends_after). Passes over other kinds, and one without room. */
static void note_end(struct log_writer *w, const struct event *ev, uint64_t seq)
{
	if ((ev->kind != EVENT_run_end && ev->kind != EVENT_session_end) || w->n_ends == 2)
		return;
	size_t at = w->ends.n;
	if (event_encode(&w->ends, ev, ev->time) < 0 || w->ends.failed || w->ends.n > LOG_ENDS_MAX) {
		w->ends.n = at;
		return;
	}
	w->end[w->n_ends].seq = seq;
	w->end[w->n_ends].at = at;
	w->end[w->n_ends++].time = ev->time;
}

/* The event's seq; 0: it is lost. A loss before it is told first. */
static uint64_t append_event(struct log_writer *w, const struct event *ev)
{
	struct log_state s = *log_writer_current(w);
	struct event cleaned;
	int why;
	if (s.unsaid) {
		/* First of all comes the event that tells of the loss. */
		if (s.error && (!retry_due(w) || log_writer_frame(w, &s) < 0))
			return count_lost_event(w, &s, ev->time, s.error);
		if (!log_writer_say_lost(w, &s))
			return count_lost_event(w, &s, ev->time, s.error);
	}
	int rc = event_clean(ev, false, NULL, &w->clean, &cleaned);
	if (rc < 0)
		return count_lost_event(w, &s, ev->time, -rc);
	if (!log_writer_encode(w, &s, rc ? &cleaned : ev, &why))
		return count_lost_event(w, &s, ev->time, why);
	log_writer_append(w, &s, ev->time);
	log_writer_publish(w, &s);
	uint64_t seq = s.seq - 1;
	if (s.len >= LOG_GATHER && (!s.error || retry_due(w)))
		log_writer_frame(w, &s);
	if (w->scratch.cap > KEEP)
		buf_release(&w->scratch);
	if (w->clean.bytes.cap > KEEP)
		event_clean_release(&w->clean);
	return seq;
}

uint64_t log_writer_add(struct log_writer *w, const struct event *ev)
{
	uint64_t seq = append_event(w, ev);
	note_end(w, ev, seq ? seq : UINT64_MAX);
	return seq;
}

int log_writer_seal(struct log_writer *w)
{
	struct log_state s = *log_writer_current(w);
	int r = s.len ? log_writer_frame(w, &s) : 0;
	if (r == 0 && s.unsaid) {
		if (!log_writer_say_lost(w, &s))
			return -ENOMEM;
		r = log_writer_frame(w, &s);
	}
	return r;
}

int log_writer_flush(struct log_writer *w)
{
	int r = log_writer_seal(w);
	if (!w->sh->queues)
		return r;
	if (log_queue_waiting(&w->sh->queue))
		log_writer_wake(w);
	return r < 0 ? r : -atomic_load(&w->failed);
}

int log_writer_takeover(struct log_writer *w)
{
	struct log_state s = *log_writer_current(w);
	w->retry_at = 0;
	w->moved = true;
	w->alone = false;
	w->started = 0;
	atomic_store(&w->writing, false);
	log_writer_publish(w, &s);
	log_queue_show(&w->sh->queue, s.head);
	return w->sh->queues ? 0 : log_writer_follow(w);
}

/* The session's random number. */
uint64_t log_writer_session(const struct log_writer *w)
{
	return w->sh->session;
}

int64_t log_writer_last(const struct log_writer *w)
{
	return log_writer_current(w)->last;
}

size_t log_writer_pending(const struct log_writer *w)
{
	return log_writer_current(w)->len;
}

uint64_t log_writer_size(const struct log_writer *w)
{
	return w->size;
}

size_t log_writer_waiting(const struct log_writer *w)
{
	return log_writer_current(w)->len + log_queue_waiting(&w->sh->queue);
}

uint64_t log_writer_lost(const struct log_writer *w)
{
	return log_writer_current(w)->lost;
}

const char *log_writer_path(const struct log_writer *w)
{
	return w->path ? w->path : "";
}

const char *log_writer_folder(const struct log_writer *w)
{
	return w->dir_path ? w->dir_path : "";
}
