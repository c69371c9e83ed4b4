/* serve_int.h - the process that holds the connections: what waits, who works. Private to serve. */
#ifndef STEMMA_SERVE_SERVE_INT_H
#define STEMMA_SERVE_SERVE_INT_H

#include "serve/serve.h"
#include "serve/serve_access.h"
#include "serve/serve_http.h"
#include "serve/serve_request.h"
#include "serve/serve_worker.h"

/* A request that waits, or is being answered. */
struct serve_job {
	struct serve_job *next;
	struct serve_exchange *x; /* NULL: nobody waits for it any more */
	char *target, *accept;    /* accept: NULL: nothing was said */
	char *if_none_match;      /* NULL: none */
	bool *asking;             /* of events: cleared when it is over; x is NULL then. NULL: of a client */
	int64_t since;            /* ms: it waits since then, or is worked at */
};
struct serve_desk {
	struct serve_worker worker;
	struct serve_job *job; /* NULL: it is idle */
	int64_t idle;          /* ms: since when */
};
enum { SERVE_SPARQL_DESK = SERVE_WORKERS, SERVE_DESKS };
struct serve {
	const struct serve_options *o;
	struct serve_access access;
	struct serve_http *http;
	struct serve_queue {
		struct serve_job *first, **last;
	} queues[SERVE_document];             /* those that wait, in order, by kind */
	struct serve_desk desks[SERVE_DESKS]; /* the last one is for SPARQL, and for nothing else */
	unsigned most;                        /* others that are used, 2 or more; the first is not for long questions */
	struct serve_events {
		struct serve_exchange *listeners[SERVE_STREAMS];
		size_t n;
		struct buf last;     /* the event that was sent last */
		int64_t asked, beat; /* ms: when it was last asked; when something was last sent */
		bool asking;
	} events;
	struct {
		int fd; /* of the process that makes it; -1: there is none */
		pid_t pid;
		int64_t asked; /* ms: when the last one was started; 0: never */
		int64_t hold;  /* ms: until then, at most, requests wait for it */
	} index;
};

/* ---- serve_events.c ---- */

/* Who asked is told what changes from now on. False: too many are. */
bool serve_events_add(struct serve *s, struct serve_exchange *x);
/* Nobody listens there any more; x may be of another kind. */
void serve_events_gone(struct serve *s, const struct serve_exchange *x);
/* Is the question to be asked now? now: ms. */
bool serve_events_due(struct serve *s, int64_t now);
/* When that is, or something is to be sent: ms; INT64_MAX: not before somebody listens. */
int64_t serve_events_next(const struct serve *s);
/* Its answer is there. */
void serve_events_answer(struct serve *s, const struct serve_worker *w);
/* All streams end. */
void serve_events_end(struct serve *s);

/* ---- serve_jobs.c ---- */

/* What serve_http_events are. */
bool serve_begin(void *arg, struct serve_exchange *x, const struct serve_incoming *in);
/* A whole request: answered at once, or put into a queue. */
void serve_take(void *arg, struct serve_exchange *x, const struct serve_incoming *in);

void serve_gone(void *arg, struct serve_exchange *x);
/* Gives what waits to who is idle; ends what takes too long. */
void serve_dispatch(struct serve *s, int64_t now);
/* The worker has said something, or can be told more. */
void serve_listen_to(struct serve *s, struct serve_desk *d, int64_t now);
/* Milliseconds until serve_dispatch has something to do; -1: only if something comes. */
int serve_dispatch_in(const struct serve *s, int64_t now);
/* The process that makes the index has ended. */
void serve_index_ended(struct serve *s);
/* Ends all jobs: nothing that waits is answered any more. */
void serve_jobs_end(struct serve *s);

#endif
