/* log_writer_end.c - the last write of a log: what there is room for, what says how the run ended, and how much is
 * missing. */
#include "event/log_writer_int.h"

#include "event/log_rescue.h"

#include <string.h>

/* What was gathered for the next frame, and cannot be written, counts as lost; its seqs are given anew. */
static void count_gathered_as_lost(struct log_writer *w, struct log_state *s)
{
	if (s->unsaid == 0) {
		s->unsaid_from = s->first;
		s->unsaid_until = s->last;
	}
	s->why = s->error;
	s->unsaid += s->count;
	s->lost += s->count;
	s->seq -= s->count;
	s->len = s->count = 0;
	log_writer_publish(w, s);
}

/* Writes the first n of the gathered events as a frame of their own and leaves the others gathered; or does nothing. */
static void write_first(struct log_writer *w, struct log_state *s, uint32_t n)
{
	unsigned char *begin = w->sh->frame + sizeof(struct log_frame);
	const unsigned char *p = begin, *cut = begin, *end = begin + s->len;
	struct log_state part = *s, rest = *s;
	struct event ev = {.time = s->first};
	if (n >= s->count)
		return;
	for (uint32_t i = 0; i <= n; i++) {
		cut = p;
		part.last = ev.time;
		if (event_decode(&p, end, ev.time, &ev) < 0)
			return;
	}
	/* The first of the others has its own time to count from now. That is 0 then, and never longer. */
	buf_reset(&w->scratch);
	if (event_encode(&w->scratch, &ev, ev.time) < 0)
		return;
	buf_add(&w->scratch, p, (size_t)(end - p));
	if (w->scratch.failed)
		return;
	rest.first = ev.time;
	rest.len = (uint32_t)w->scratch.n;
	rest.count -= n;
	/* Between here and the last publish they would be lost by a kill, which is said then. */
	part.len = (uint32_t)(cut - begin);
	part.count = n;
	part.seq -= rest.count;
	part.lost += rest.count;
	if (part.unsaid == 0)
		part.unsaid_from = part.unsaid_until = ev.time;
	part.unsaid += rest.count;
	part.why = s->error;
	if (log_writer_frame(w, &part) < 0) {
		s->error = part.error;
		log_writer_publish(w, s);
		return;
	}
	memcpy(begin, w->scratch.p, w->scratch.n);
	rest.error = 0;
	rest.number = part.number;
	*s = rest;
	log_writer_publish(w, s);
}

/* Gathers the ends that are not in the log. */
static void append_ends_after(struct log_writer *w, struct log_state *s, uint64_t kept)
{
	for (unsigned i = 0; i < w->n_ends; i++) {
		const unsigned char *p = (const unsigned char *)w->ends.p + w->end[i].at;
		struct event ev;
		int why;
		if (w->end[i].seq <= kept ||
		    event_decode(&p, (const unsigned char *)w->ends.p + w->ends.n, w->end[i].time, &ev) < 0 ||
		    !log_writer_encode(w, s, &ev, &why))
			continue;
		log_writer_append(w, s, ev.time);
		s->lost -= s->lost > 0;
		log_writer_publish(w, s);
	}
}

/* Writes the frame that is being made, as far as it fits. It is the last time: what the disk has room for is
 * written, and that the rest is missing. */
static void write_what_fits(struct log_writer *w)
{
	struct log_state s = *log_writer_current(w);
	w->sparing = true;
	for (uint32_t n = s.count / 2; n > 0; n /= 2)
		write_first(w, &s, n);
	if (s.len && log_writer_frame(w, &s) < 0)
		count_gathered_as_lost(w, &s);
	w->sparing = false;
	w->last = true;
	uint64_t kept = s.seq - 1;
	for (unsigned i = 0; i < w->n_ends; i++)
		s.unsaid -= s.unsaid > 0 && w->end[i].seq > kept;
	if (!s.unsaid || log_writer_say_lost(w, &s))
		append_ends_after(w, &s, kept);
	if (s.len && log_writer_frame(w, &s) < 0) {
		/* Not even that: then the gap alone. */
		s.len = s.count = 0;
		s.seq = kept + 1;
		s.unsaid += w->n_ends;
		if (s.unsaid && log_writer_say_lost(w, &s))
			log_writer_frame(w, &s);
	}
}

/* The frame in the place of what has gathered. False: it cannot be read. */
static bool gather_again(struct log_writer *w, struct log_state *s, const void *frame, const struct log_frame *h)
{
	struct buf room = {0};
	struct str events;
	struct event ev = {.time = h->time};
	bool good = log_frame_events(frame, h, &room, &events) == 0 && events.n <= LOG_PAYLOAD_MAX;
	s->first = h->time;
	s->number = h->number;
	s->seq = h->seq;
	s->len = s->count = 0;
	if (good) {
		unsigned char *at = w->sh->frame + sizeof(*h);
		memcpy(at, events.p, events.n);
		s->seq += h->count;
		s->count = h->count;
		s->len = (uint32_t)events.n;
		const unsigned char *next = at, *end = at + events.n;
		while (next < end && event_decode(&next, end, ev.time, &ev) == 0)
			;
	}
	s->last = ev.time;
	buf_release(&room);
	return good;
}

/* Writes the first frame of the queue, as far as it fits. It is the last time, and the disk took no more of the
 * queue: of its first frame what fits is written, and that the rest is missing. */
static void write_queue_that_fits(struct log_writer *w, int error)
{
	struct log_state s = *log_writer_current(w);
	const uint64_t next = s.seq;
	const int64_t until = s.unsaid && s.unsaid_until > s.last ? s.unsaid_until : s.last;
	size_t n;
	const void *p = log_queue_next(&w->sh->queue, &n);
	__atomic_store_n(&w->sh->queues, false, __ATOMIC_RELAXED); /* another thread may be at its last look */
	if (p) {
		const struct log_frame h = log_frame_header(p);
		gather_again(w, &s, p, &h);
		/* What has gathered comes after all frames. From here on it would be lost by a kill, which is said then. */
		s.lost += next - s.seq;
		s.unsaid_from = s.last;
		s.unsaid_until = until;
		s.unsaid += next - s.seq;
		s.why = s.error = error;
		while (log_queue_waiting(&w->sh->queue))
			log_queue_drop(&w->sh->queue);
		log_writer_publish(w, &s);
	}
	write_what_fits(w);
}

/* The segment was removed with the record: what it held of this session is copied to where it can be found. */
static void rescue(struct log_writer *w)
{
	const char *name = strrchr(w->path, '/') + 1;
	int r = log_rescue(w->fd, w->roll == w->first_roll ? w->from : 0, w->sh->session, w->home, w->dir_path, name,
	                   &w->outcome.place);
	w->outcome.removed = r == 0 ? LOG_REMOVED_ANEW : r > 0 ? LOG_REMOVED_ELSEWHERE : LOG_REMOVED_LOST;
}

/* Ends writing by another thread. From here on frames are written to the segment by this thread. 0, or -errno: not
 * all could be. */
static int end_queue(struct log_writer *w)
{
	int r = 0;
	if (!w->sh->queues)
		return 0;
	for (int i = 0; i < 2 && r == 0; i++) { /* twice, for what there was no room for in the queue */
		log_writer_seal(w);
		r = log_writer_settle(w);
	}
	if (r < 0)
		write_queue_that_fits(w, -r);
	__atomic_store_n(&w->sh->queues, false, __ATOMIC_RELAXED); /* another thread may be at its last look */
	return r;
}

int log_writer_end(struct log_writer *w, struct log_outcome *ret)
{
	int r = end_queue(w);
	if (w->dir >= 0 && w->roll != w->first_roll && log_rescue_needed(w->fd)) {
		struct event ev = {.kind = EVENT_gap,
		                   .time = log_writer_current(w)->last,
		                   .gap = {.reason = TERM_gap_lost,
		                           .from = TIME_NONE,
		                           .text = str_of("the record was removed while it was written")}};
		log_writer_add(w, &ev);
	}
	int flushed = r < 0 ? r : log_writer_flush(w);
	if (r == 0 && flushed < 0) {
		r = flushed;
		write_what_fits(w);
	}
	if (log_writer_sync_when != LOG_SYNC_NEVER && w->dir >= 0) {
		int synced = log_writer_sync(w);
		r = r < 0 ? r : synced;
	}
	w->ended = true;
	w->outcome.error = -r;
	w->outcome.lost = log_writer_current(w)->lost;
	w->outcome.nothing = log_writer_current(w)->number == 0;
	if (w->dir >= 0 && log_rescue_needed(w->fd))
		rescue(w);
	*ret = w->outcome;
	return r;
}

int log_writer_close(struct log_writer *w)
{
	struct log_outcome outcome;
	if (!w)
		return 0;
	int r = w->ended ? -w->outcome.error : log_writer_end(w, &outcome);
	log_writer_free(w);
	return r;
}
