/* serve_http.h - HTTP for `stemma serve`, by libmicrohttpd, which is in a module of its own (serve_http_module.c): a
 * stemma that was built without it says so.
 *
 * One thread, which polls serve_http_fd and calls serve_http_run: nothing here waits. A request that is not answered at
 * once is set aside until serve_http_reply. Who sends or reads slowly holds one connection and nothing else;
 * serve_http_run closes connections whose request or whose reading takes too long. */
#ifndef STEMMA_SERVE_SERVE_HTTP_H
#define STEMMA_SERVE_SERVE_HTTP_H

#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	SERVE_CONNECTIONS = 1200, /* at once; further ones wait in the kernel's queue */
	SERVE_BACKLOG = 1024,     /* ... of so many */
	SERVE_MEMORY = 24 << 10,  /* bytes for the head of a request */
	SERVE_BODY = 1 << 20,     /* bytes of a body */
	SERVE_READ_S = 15,        /* a request that is not there after so long is given up, and a connection without one */
	SERVE_STREAMS = 64,       /* answers that never end, at once */
	SERVE_STREAM = 64 << 10,  /* bytes of one that are not taken yet; of more the connection is closed */
	SERVE_SEND_S = 120        /* an answer that is not taken by then, too */
};

struct serve_exchange; /* one request and its answer */

/* Texts are NULL where the request has none, and valid during the call. */
struct serve_incoming {
	const char *method, *host, *origin, *authorization, *if_none_match, *accept, *content_type;
	struct str target; /* as it stands in the request line */
	struct str body;
	int64_t uid; /* of the process at the other end; -1: it is not known */
};

struct serve_outgoing {
	unsigned status;
	const char *type, *etag, *allow, *location; /* NULL: no such header */
	unsigned retry_after;                       /* seconds; 0: no such header */
	bool damaged;                               /* says so: Stemma-Record: damaged */
	char *body;                                 /* malloc'ed, and taken over; NULL: empty */
	size_t n;
};

struct serve_http_events {
	/* The head of a request is there. False: it was replied to, and no body is read. */
	bool (*begin)(void *arg, struct serve_exchange *x, const struct serve_incoming *in);
	/* All of it is there. It is replied to now or later, once. */
	void (*request)(void *arg, struct serve_exchange *x, const struct serve_incoming *in);
	/* What was not replied to yet never will be. */
	void (*gone)(void *arg, struct serve_exchange *x);
	void *arg;
};

struct serve_http;
/* Begins to serve HTTP. fd: a socket that listens, which is taken over. *e stays until serve_http_stop. 0; -ENOSYS:
 * there is no module; or -errno. */
int serve_http_start(int fd, const struct serve_http_events *e, struct err *err, struct serve_http **ret);
/* To be polled for reading. */
int serve_http_fd(const struct serve_http *h);
/* Until when serve_http_run is to be called, if nothing comes before: milliseconds, -1: no such time. */
int serve_http_timeout(struct serve_http *h);
void serve_http_run(struct serve_http *h);
void serve_http_reply(struct serve_exchange *x, const struct serve_outgoing *out);
/* Begins an answer that does not end: what is pushed is sent as soon as the client takes it. A client that takes
 * nothing for SERVE_READ_S is closed. False: no memory, and it is to be replied to. `gone` is called when it is over.
 */
bool serve_http_stream(struct serve_exchange *x, const char *type);
/* False: it is closed, since too much waits to be taken; `gone` follows. */
bool serve_http_push(struct serve_exchange *x, struct str text);
/* Ends the answer behind what was pushed. */
void serve_http_finish(struct serve_exchange *x);
/* Has who asked closed the connection, or its sending half? Of what was not replied to yet. */
bool serve_http_left(struct serve_exchange *x);
/* Bytes of answers that are not sent yet. */
size_t serve_http_pending(const struct serve_http *h);
void serve_http_stop(struct serve_http *h); /* NULL is fine */

#endif
