/* serve_events.c - server-sent events: what changes, told to all who listen. One question for all of them, which is
 * asked again while somebody listens; what it answers is sent where it is another answer than before. */
#include "serve/serve_int.h"

#include "base/clock.h"
#include "serve/serve_problem.h"

#include <string.h>

enum {
	ASK_MS = 2000,  /* so often */
	BEAT_MS = 10000 /* so often something is sent, by which clients that left are found */
};

/* One event: lines of JSON would be several fields. */
static void write_event(const struct buf *json, struct buf *ret)
{
	buf_str(ret, str_of("event: progress\ndata: "));
	for (size_t i = 0; i < json->n; i++)
		if (json->p[i] != '\n')
			buf_char(ret, json->p[i]);
	buf_str(ret, str_of("\n\n"));
}

bool serve_events_add(struct serve *s, struct serve_exchange *x)
{
	struct serve_events *e = &s->events;
	if (e->n == SERVE_STREAMS || !serve_http_stream(x, "text/event-stream"))
		return false;
	e->listeners[e->n++] = x;
	if (!e->beat)
		e->beat = clock_now_ms(CLOCK_MONOTONIC);
	serve_http_push(x, str_of(": stemma\nretry: 3000\n\n"));
	if (e->last.n)
		serve_http_push(x, buf_view(&e->last));
	return true;
}

void serve_events_gone(struct serve *s, const struct serve_exchange *x)
{
	struct serve_events *e = &s->events;
	for (size_t i = 0; i < e->n; i++)
		if (e->listeners[i] == x)
			e->listeners[i--] = e->listeners[--e->n];
	if (!e->n)
		buf_release(&e->last); /* who comes next is told anew */
}

/* Whoever does not take it is closed by that, and leaves the list later. */
static void push_all(struct serve *s, struct str text)
{
	for (size_t i = 0; i < s->events.n; i++)
		serve_http_push(s->events.listeners[i], text);
	s->events.beat = clock_now_ms(CLOCK_MONOTONIC);
}

void serve_events_answer(struct serve *s, const struct serve_worker *w)
{
	struct buf text = {0};
	if (w->reply.status != 200)
		return; /* the index is being made; it is asked again */
	write_event(&w->in, &text);
	if (!text.failed && (text.n != s->events.last.n || memcmp(text.p, s->events.last.p, text.n) != 0)) {
		push_all(s, buf_view(&text));
		buf_release(&s->events.last);
		s->events.last = text;
		return;
	}
	buf_release(&text);
}

bool serve_events_due(struct serve *s, int64_t now)
{
	struct serve_events *e = &s->events;
	if (!e->n)
		return false;
	if (now - e->beat >= BEAT_MS)
		push_all(s, str_of(":\n\n"));
	if (e->asking || now - e->asked < ASK_MS)
		return false;
	e->asked = now;
	return true;
}

int64_t serve_events_next(const struct serve *s)
{
	const struct serve_events *e = &s->events;
	if (!e->n)
		return INT64_MAX;
	const int64_t ask = e->asking ? INT64_MAX : e->asked + ASK_MS, beat = e->beat + BEAT_MS;
	return ask < beat ? ask : beat;
}

void serve_events_end(struct serve *s)
{
	while (s->events.n)
		serve_http_finish(s->events.listeners[--s->events.n]);
	buf_release(&s->events.last);
}
