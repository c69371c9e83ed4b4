/* serve_jobs.c - requests from their arrival to their answer. */
#include "serve/serve_int.h"

#include "base/clock.h"
#include "base/hash.h"
#include "serve/serve_openapi.h"
#include "serve/serve_pages.h"
#include "serve/serve_problem.h"
#include "serve/serve_request.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
	FRESH_MS = 1000,        /* the index is brought up to date so often, and so long a request waits for that */
	IDLE_MS = 10000,        /* a worker that has nothing to do for so long ends, but for the first */
	IDLE_SPARQL_MS = 60000, /* the one with the dataset */
	SERVE_LOAD_MS = 300000  /* for loading that, beside the time of the query, which it bounds itself */
};

/* ---- answers ---- */

/* Takes over body's bytes. Without memory the answer is 503. */
static void reply_buf(struct serve_exchange *x, struct serve_outgoing *out, struct buf *body)
{
	if (body->failed) {
		buf_release(body);
		*out = (struct serve_outgoing){.status = 503, .retry_after = 1};
	}
	out->body = body->p;
	out->n = body->n;
	serve_http_reply(x, out);
}

/* Answers with a problem of out->status. hint may be "". */
static void reply_status(struct serve_exchange *x, struct serve_outgoing *out, const char *detail, const char *hint)
{
	struct buf b = {0};
	serve_problem(out->status, detail, hint, &b);
	out->type = SERVE_PROBLEM_TYPE;
	reply_buf(x, out, &b);
}

/* Answers with a problem; 503 says to try again. hint may be "". */
static void serve_reply_problem(struct serve_exchange *x, unsigned status, const char *detail, const char *hint)
{
	struct serve_outgoing out = {.status = status, .retry_after = status == 503};
	reply_status(x, &out, detail, hint);
}

/* Strong tags only, each in quotes: one is within the other only if it is in the list. */
static bool is_known(const char *if_none_match, const char *etag)
{
	return if_none_match && (!strcmp(if_none_match, "*") || strstr(if_none_match, etag));
}

/* A page of the program itself; 304 where the browser has it. */
static void reply_shell(struct serve_exchange *x, enum serve_route route, const char *if_none_match)
{
	struct serve_outgoing out = {.status = 200};
	const struct str file = serve_shell(route, &out.type);
	struct buf b = {0};
	char etag[20];
	snprintf(etag, sizeof(etag), "\"%016llx\"", (unsigned long long)hash_str(file));
	out.etag = etag;
	if (is_known(if_none_match, etag)) {
		out.status = 304;
		serve_http_reply(x, &out);
		return;
	}
	buf_str(&b, file);
	reply_buf(x, &out, &b);
}

/* Answers with the description of the service. */
static void reply_openapi(struct serve_exchange *x)
{
	struct serve_outgoing out = {.status = 200, .type = "application/json"};
	struct buf b = {0};
	serve_openapi(&b);
	reply_buf(x, &out, &b);
}

/* Takes w->in. 304 where the browser has it. */
static void reply_answer(struct serve_job *j, struct serve_worker *w)
{
	const struct serve_reply *r = &w->reply;
	struct serve_outgoing out = {.status = r->status,
	                             .type = r->type,
	                             .retry_after = r->retry_after,
	                             .damaged = r->damaged,
	                             .etag = r->status == 200 ? r->etag : NULL};
	if (r->status == 200 && is_known(j->if_none_match, r->etag)) {
		out.status = 304;
		out.type = NULL;
		serve_http_reply(j->x, &out);
		return;
	}
	reply_buf(j->x, &out, &w->in);
	w->in = (struct buf){0};
}

/* ---- arrival ---- */

/* NULL is no error. The exchange is not answered. */
static void serve_job_free(struct serve_job *j)
{
	if (!j)
		return;
	if (j->asking)
		*j->asking = false;
	free(j->target);
	free(j->accept);
	free(j->if_none_match);
	free(j);
}

bool serve_begin(void *arg, struct serve_exchange *x, const struct serve_incoming *in)
{
	struct serve *s = arg;
	struct err err = {0};
	struct str target;
	const unsigned status = serve_access_check(&s->access, in, &err, &target);
	if (status) {
		serve_reply_problem(x, status, err.text, "");
		return false;
	}
	const enum serve_route route = serve_request_route(target);
	const bool posts = route < SERVE_ROUTES && serve_routes[route].kind == SERVE_dataset;
	if (strcmp(in->method, "GET") != 0 && strcmp(in->method, "HEAD") != 0 &&
	    !(posts && strcmp(in->method, "POST") == 0)) {
		struct serve_outgoing out = {.status = 405, .allow = posts ? "GET, HEAD, POST" : "GET, HEAD"};
		reply_status(x, &out, "the record can only be read", "");
		return false;
	}
	return true;
}

/* Starts bringing the index up to date, unless that runs or was done a moment ago (FRESH_MS). now: ms. */
static void ask_for_index(struct serve *s, int64_t now)
{
	struct err err = {0};
	if (s->index.fd >= 0 || (s->index.asked && now - s->index.asked < FRESH_MS))
		return;
	s->index.asked = now;
	s->index.fd = serve_index_start(s->o->home, &s->index.pid, &err);
	s->index.hold = s->index.fd >= 0 ? now + FRESH_MS : 0;
}

void serve_index_ended(struct serve *s)
{
	struct err err = {0};
	/* Where it failed, questions are answered from what there is, and say what is wrong with that. */
	serve_index_end(s->index.fd, s->index.pid, &err);
	s->index.fd = -1;
	s->index.hold = 0;
}

/* The job waits from now on. */
static bool add_job(struct serve *s, struct serve_queue *q, struct serve_exchange *x, struct str target,
                    const struct serve_incoming *in)
{
	struct serve_job *j = calloc(1, sizeof(*j));
	if (!j)
		return false;
	j->x = x;
	j->since = clock_now_ms(CLOCK_MONOTONIC);
	j->target = strndup(target.p, target.n);
	j->if_none_match = in->if_none_match ? strdup(in->if_none_match) : NULL;
	j->accept = in->accept ? strdup(in->accept) : NULL;
	if (!j->target || (in->if_none_match && !j->if_none_match) || (in->accept && !j->accept)) {
		serve_job_free(j);
		return false;
	}
	*q->last = j;
	q->last = &j->next;
	ask_for_index(s, j->since);
	return true;
}

/* head: only whether it would be told is asked. */
static void take_listener(struct serve *s, struct serve_exchange *x, bool head)
{
	struct serve_outgoing out = {.status = 200, .type = "text/event-stream"};
	if (head)
		serve_http_reply(x, &out);
	else if (!serve_events_add(s, x))
		serve_reply_problem(x, 503, "too many clients listen already", "");
}

/* The question whose answer is told to who listens. */
static void ask_for_events(struct serve *s)
{
	static const struct serve_incoming nobody = {0};
	struct serve_queue *q = &s->queues[SERVE_quick];
	struct serve_job **at = q->last;
	if (!add_job(s, q, NULL, str_of(serve_routes[SERVE_R_progress].path), &nobody))
		return;
	s->events.asking = true;
	(*at)->asking = &s->events.asking;
}

/* Of a request that is let in and can be read. */
static void take_question(struct serve *s, struct serve_exchange *x, struct str target, const struct serve_incoming *in)
{
	struct err err = {0};
	struct serve_request q;
	const int rc = serve_request_read(target, &err, &q);
	if (rc < 0) {
		serve_reply_problem(x,
		                    rc == -ENOENT   ? 404
		                    : rc == -E2BIG  ? 414
		                    : rc == -EINVAL ? 400
		                                    : 503,
		                    err.text, rc == -ENOENT ? "api/v1/openapi.json says what there is" : "");
		return;
	}
	const enum serve_kind kind = serve_routes[q.route].kind;
	if (kind == SERVE_document)
		reply_openapi(x);
	else if (kind == SERVE_stream)
		take_listener(s, x, strcmp(in->method, "HEAD") == 0);
	else if (kind == SERVE_shell)
		reply_shell(x, q.route, in->if_none_match);
	else if (serve_http_pending(s->http) > SERVE_PENDING ||
	         !add_job(s, &s->queues[kind == SERVE_page ? SERVE_long : kind], x, target, in))
		serve_reply_problem(x, 503, "the server has too much to do", "");
	serve_request_release(&q);
}

/* Is the Content-Type that type? said: a Content-Type, with parameters perhaps, in either case; NULL: none. */
static bool is_type(const char *said, const char *type)
{
	const size_t n = strlen(type);
	return said && !strncasecmp(said, type, n) && (!said[n] || said[n] == ';' || said[n] == ' ');
}

/* SPARQL's two ways to post a query. */
static void take_post(struct serve *s, struct serve_exchange *x, struct str target, const struct serve_incoming *in)
{
	struct buf b = {0};
	const bool form = is_type(in->content_type, "application/x-www-form-urlencoded");
	if (!form && !is_type(in->content_type, "application/sparql-query")) {
		serve_reply_problem(x, 415, "a query is posted as application/sparql-query or as a form", "");
		return;
	}
	serve_request_with_body(target, form ? NULL : serve_parameters[SERVE_P_query].name, in->body, &b);
	if (b.failed)
		serve_reply_problem(x, 503, "the server has too much to do", "");
	else
		take_question(s, x, buf_view(&b), in);
	buf_release(&b);
}

void serve_take(void *arg, struct serve_exchange *x, const struct serve_incoming *in)
{
	struct serve *s = arg;
	struct err err = {0};
	struct str target;
	const unsigned status = serve_access_check(&s->access, in, &err, &target);
	if (status)
		serve_reply_problem(x, status, err.text, "");
	else if (target.n > SERVE_TARGET)
		serve_reply_problem(x, 414, "the address is too long", "");
	else if (strcmp(in->method, "POST") == 0)
		take_post(s, x, target, in);
	else
		take_question(s, x, target, in);
}

/* Frees the job of x. */
static void leave_queue(struct serve_queue *q, const struct serve_exchange *x)
{
	for (struct serve_job **at = &q->first; *at;) {
		struct serve_job *j = *at;
		if (j->x != x) {
			at = &j->next;
			continue;
		}
		*at = j->next;
		if (q->last == &j->next)
			q->last = at;
		serve_job_free(j);
	}
}

/* The client is gone: its question goes on or leaves its queue, but nobody gets an answer. */
void serve_gone(void *arg, struct serve_exchange *x)
{
	struct serve *s = arg;
	serve_events_gone(s, x);
	for (unsigned i = 0; i < SERVE_DESKS; i++)
		if (s->desks[i].job && s->desks[i].job->x == x)
			s->desks[i].job->x = NULL;
	for (int k = 0; k < SERVE_document; k++)
		leave_queue(&s->queues[k], x);
}

/* ---- work ---- */

/* Frees the desk for the next job. now: ms. */
static void end_job(struct serve_desk *d, int64_t now)
{
	serve_job_free(d->job);
	d->job = NULL;
	d->idle = now;
}

/* Answers the desk's job with a problem, stops its worker, which is of no use any more, and ends the job. */
static void fail_job(struct serve_desk *d, unsigned status, const char *detail, const char *hint, int64_t now)
{
	if (d->job && d->job->x)
		serve_reply_problem(d->job->x, status, detail, hint);
	serve_worker_stop(&d->worker);
	end_job(d, now);
}

void serve_listen_to(struct serve *s, struct serve_desk *d, int64_t now)
{
	const int rc = d->job ? serve_worker_go_on(&d->worker) : -EPIPE;
	if (rc == 0)
		return;
	if (rc < 0) {
		fail_job(d, rc == -ENOMEM ? 503 : 500, "the question could not be answered", "", now);
		return;
	}
	if (d->job->asking)
		serve_events_answer(s, &d->worker);
	else if (d->job->x)
		reply_answer(d->job, &d->worker);
	if (d->worker.reply.last)
		serve_worker_stop(&d->worker);
	buf_release(&d->worker.in);
	end_job(d, now);
}

/* The first of a queue that somebody still waits for, taken out of it; NULL: none. */
static struct serve_job *take_first(struct serve_queue *q)
{
	struct serve_job *j;
	while ((j = q->first)) {
		q->first = j->next;
		q->last = q->first ? q->last : &q->first;
		j->next = NULL;
		if (j->asking || !serve_http_left(j->x))
			break;
		serve_reply_problem(j->x, 503, "nobody waits for it", "");
		serve_job_free(j);
	}
	return j;
}

/* For a question of that kind: long ones leave the first desk alone. */
static struct serve_desk *find_desk(struct serve *s, enum serve_kind kind)
{
	const unsigned first = kind == SERVE_dataset ? SERVE_SPARQL_DESK : kind == SERVE_long;
	const unsigned last = kind == SERVE_dataset ? SERVE_DESKS : s->most;
	const struct serve_worker_options o = {
	    .home = s->o->home, .memory = s->o->memory, .ns = s->o->ns, .dataset = kind == SERVE_dataset};
	struct serve_desk *without = NULL;
	struct err err = {0};
	for (unsigned i = first; i < last; i++) {
		if (s->desks[i].worker.pid && !s->desks[i].job)
			return &s->desks[i];
		if (!s->desks[i].worker.pid && !without)
			without = &s->desks[i];
	}
	return without && serve_worker_start(&without->worker, &o, &err) == 0 ? without : NULL;
}

/* How long the desk may work at one question; milliseconds. */
static int64_t work_limit(const struct serve *s, unsigned desk)
{
	return s->o->ns / 1000000 + (desk == SERVE_SPARQL_DESK ? SERVE_LOAD_MS : 0);
}

/* When it may rest: the first one stays. Milliseconds. */
static int64_t idle_limit(unsigned desk)
{
	return desk == 0 ? INT64_MAX / 2 : desk == SERVE_SPARQL_DESK ? IDLE_SPARQL_MS : IDLE_MS;
}

/* Answers 503 and frees the job; NULL: nothing. */
static void refuse_job(struct serve_job *j)
{
	if (j && j->x)
		serve_reply_problem(j->x, 503, "the server has too much to do", "");
	serve_job_free(j);
}

/* Answers of those that waited or worked too long say so; workers that idle too long end. */
static void end_what_takes_too_long(struct serve *s, int64_t now)
{
	const int64_t most = s->o->ns / 1000000;
	for (unsigned i = 0; i < SERVE_DESKS; i++) {
		struct serve_desk *d = &s->desks[i];
		if (d->job && now - d->job->since >= work_limit(s, i))
			fail_job(d, 504, "the answer takes too long", "ask for less, or start the server with a longer --timeout",
			         now);
		else if (!d->job && d->worker.pid && now - d->idle >= idle_limit(i))
			serve_worker_stop(&d->worker);
	}
	for (int k = 0; k < SERVE_document; k++)
		while (s->queues[k].first && now - s->queues[k].first->since >= most)
			refuse_job(take_first(&s->queues[k]));
}

/* Whether questions wait for the index. now: ms. */
static bool is_held(const struct serve *s, int64_t now)
{
	return s->index.fd >= 0 && now < s->index.hold;
}

/* Gives waiting jobs to idle workers until one of both is lacking. */
static void dispatch_kind(struct serve *s, enum serve_kind kind, int64_t now)
{
	while (s->queues[kind].first) {
		struct serve_desk *d = find_desk(s, kind);
		struct serve_job *j = d ? take_first(&s->queues[kind]) : NULL;
		if (!j)
			return;
		j->since = now;
		d->job = j;
		if (serve_worker_ask(&d->worker, str_of(j->target), j->accept) < 0)
			fail_job(d, 503, "the server has too much to do", "", now);
		else
			serve_listen_to(s, d, now);
	}
}

void serve_dispatch(struct serve *s, int64_t now)
{
	end_what_takes_too_long(s, now);
	if (serve_events_due(s, now))
		ask_for_events(s);
	for (int k = 0; k < SERVE_document && !is_held(s, now); k++)
		dispatch_kind(s, (enum serve_kind)k, now);
}

int serve_dispatch_in(const struct serve *s, int64_t now)
{
	const int64_t most = s->o->ns / 1000000;
	int64_t least = INT64_MAX;
#define NOT_AFTER(t) least = (t) < least ? (t) : least
	for (unsigned i = 0; i < SERVE_DESKS; i++)
		if (s->desks[i].job)
			NOT_AFTER(s->desks[i].job->since + work_limit(s, i));
		else if (i && s->desks[i].worker.pid)
			NOT_AFTER(s->desks[i].idle + idle_limit(i));
	for (int k = 0; k < SERVE_document; k++)
		if (s->queues[k].first) {
			NOT_AFTER(s->queues[k].first->since + most);
			if (is_held(s, now))
				NOT_AFTER(s->index.hold);
		}
	NOT_AFTER(serve_events_next(s));
#undef NOT_AFTER
	return least == INT64_MAX ? -1 : least <= now ? 0 : least - now > 60000 ? 60000 : (int)(least - now);
}

void serve_jobs_end(struct serve *s)
{
	const int64_t now = clock_now_ms(CLOCK_MONOTONIC);
	for (int k = 0; k < SERVE_document; k++)
		while (s->queues[k].first)
			refuse_job(take_first(&s->queues[k]));
	serve_events_end(s);
	for (unsigned i = 0; i < SERVE_DESKS; i++)
		fail_job(&s->desks[i], 503, "the server is ending", "", now);
}
