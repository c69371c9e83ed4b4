/* serve_http_module.c - HTTP by libmicrohttpd, driven from outside: no thread of its own. */
#include "serve/serve_http_module.h"

#include "base/buf.h"
#include "base/clock.h"
#include "serve/serve_peer.h"

#include <errno.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum phase { PHASE_READ, PHASE_ANSWER, PHASE_SEND, PHASE_STREAM };

struct connection {
	struct connection *next, **at; /* where the list points to it */
	struct serve_http *of;
	int fd;
	int64_t uid, since; /* ms: since when it is in this phase; of a stream since when bytes wait, 0: none do */
	enum phase phase;
};
struct serve_http {
	const struct serve_http_events *e;
	struct MHD_Daemon *daemon;
	struct connection *connections;
	int64_t swept; /* ms: when connections were last looked through */
	size_t pending;
	int diag;               /* serve_peer.h */
	bool stopping, resumed; /* resumed: a connection is to go on, which wakes nobody */
};
struct serve_exchange {
	struct serve_http *of;
	struct MHD_Connection *connection;
	struct MHD_Response *response; /* NULL: not replied to yet */
	unsigned status;
	size_t n;
	char *target;
	struct buf body;
	bool begun, waits, done, too_large;
	bool streams, asleep, over; /* asleep: suspended, since nothing was pushed; over: it ends */
	struct buf out;             /* pushed, and not taken yet: from `taken` on */
	size_t taken;
};

/* What every answer says to browsers: nothing comes from elsewhere, nothing goes elsewhere, nobody frames it. */
static const char *const fixed_headers[][2] = {
    {"Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
                                "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"},
    {"X-Content-Type-Options", "nosniff"},
    {"X-Frame-Options", "DENY"},
    {"Referrer-Policy", "no-referrer"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {"Cross-Origin-Opener-Policy", "same-origin"},
    {"Cache-Control", "private, no-cache"},
};

/* ---- connections ---- */

/* What is kept of a connection. NULL: the library knows none. */
static struct connection *connection_of(struct MHD_Connection *c)
{
	const union MHD_ConnectionInfo *i = MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	return i ? i->socket_context : NULL;
}

/* From now on this phase's time runs. Nothing if the connection is gone. */
static void enter_phase(struct MHD_Connection *c, enum phase phase)
{
	struct connection *own = connection_of(c);
	if (own) {
		own->phase = phase;
		own->since = clock_now_ms(CLOCK_MONOTONIC);
	}
}

/* For libmicrohttpd: *slot is the connection's, of ours. */
static void note_connection(void *arg, struct MHD_Connection *c, void **slot, enum MHD_ConnectionNotificationCode how)
{
	struct serve_http *h = arg;
	struct connection *own = *slot;
	const union MHD_ConnectionInfo *i = MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
	if (how == MHD_CONNECTION_NOTIFY_STARTED) {
		*slot = own = i ? calloc(1, sizeof(*own)) : NULL;
		if (!own)
			return; /* such a one is answered by nobody: begin_request */
		*own = (struct connection){.next = h->connections,
		                           .at = &h->connections,
		                           .of = h,
		                           .fd = i->connect_fd,
		                           .uid = serve_peer_uid(h->diag, i->connect_fd),
		                           .since = clock_now_ms(CLOCK_MONOTONIC)};
		if (own->next)
			own->next->at = &own->next;
		h->connections = own;
	} else if (own) {
		*own->at = own->next;
		if (own->next)
			own->next->at = own->at;
		free(own);
		*slot = NULL;
	}
}

/* Closes a connection that takes nothing, and what the kernel holds for it goes with it. */
static void drop_connection(const struct connection *c)
{
	const struct linger at_once = {1, 0};
	setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
	shutdown(c->fd, SHUT_RDWR);
}

/* Whoever sends or takes a byte now and then is not idle: it ends all the same. */
static void sweep_connections(struct serve_http *h)
{
	const int64_t now = clock_now_ms(CLOCK_MONOTONIC);
	if (now - h->swept < 1000)
		return;
	h->swept = now;
	for (struct connection *c = h->connections; c; c = c->next)
		if (c->phase == PHASE_STREAM && c->since && now - c->since > SERVE_READ_S * 1000)
			drop_connection(c);
		else if ((c->phase == PHASE_READ && now - c->since > SERVE_READ_S * 1000) ||
		         (c->phase == PHASE_SEND && now - c->since > SERVE_SEND_S * 1000))
			shutdown(c->fd, SHUT_RDWR);
}

/* ---- requests ---- */

/* The first thing that is known of a request: its target, as it was sent. */
static void *begin_exchange(void *arg, const char *target, struct MHD_Connection *c)
{
	struct serve_exchange *x = calloc(1, sizeof(*x));
	if (x) {
		*x = (struct serve_exchange){.of = arg, .connection = c, .target = strdup(target)};
		if (!x->target) {
			free(x);
			x = NULL;
		}
	}
	return x;
}

/* It shows strings of the connection and of x. */
static void read_incoming(const struct serve_exchange *x, const char *method, struct serve_incoming *ret)
{
	struct MHD_Connection *c = x->connection;
	const struct connection *own = connection_of(c);
	*ret = (struct serve_incoming){
	    .method = method,
	    .host = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Host"),
	    .origin = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Origin"),
	    .authorization = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Authorization"),
	    .if_none_match = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "If-None-Match"),
	    .accept = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Accept"),
	    .content_type = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Content-Type"),
	    .target = str_of(x->target),
	    .body = buf_view(&x->body),
	    .uid = own ? own->uid : -1,
	};
}

/* Since when bytes of a stream wait. */
static void note_waiting(struct serve_exchange *x)
{
	struct connection *own = connection_of(x->connection);
	if (!own || own->phase != PHASE_STREAM)
		return;
	if (x->taken == x->out.n)
		own->since = 0;
	else if (!own->since)
		own->since = clock_now_ms(CLOCK_MONOTONIC);
}

/* The exchange is over then, though it is not sent yet. */
static enum MHD_Result queue_reply(struct serve_exchange *x)
{
	struct MHD_Response *r = x->response;
	enter_phase(x->connection, x->streams ? PHASE_STREAM : PHASE_SEND);
	if (x->streams)
		note_waiting(x);
	x->done = true;
	return MHD_queue_response(x->connection, x->status, r);
}

/* Takes a request whose head was read. MHD_NO: the connection is closed. */
static enum MHD_Result begin_request(struct serve_exchange *x, const char *method)
{
	struct serve_http *h = x->of;
	struct serve_incoming in;
	x->begun = true;
	if (!connection_of(x->connection) || h->stopping)
		return MHD_NO;
	read_incoming(x, method, &in);
	if (!h->e->begin(h->e->arg, x, &in))
		return x->response ? queue_reply(x) : MHD_NO;
	return MHD_YES;
}

/* It is suspended until there is an answer. */
static enum MHD_Result end_body(struct serve_exchange *x, const char *method)
{
	struct serve_http *h = x->of;
	struct serve_incoming in;
	read_incoming(x, method, &in);
	enter_phase(x->connection, PHASE_ANSWER);
	h->e->request(h->e->arg, x, &in);
	if (x->response)
		return queue_reply(x);
	x->waits = true;
	MHD_suspend_connection(x->connection);
	return MHD_YES;
}

/* Answers without the record being asked. */
static void reply_too_large(struct serve_exchange *x)
{
	static const char text[] =
	    "{\"status\":413,\"title\":\"Content Too Large\",\"detail\":\"the request is too large\"}\n";
	const struct serve_outgoing out = {.status = MHD_HTTP_CONTENT_TOO_LARGE,
	                                   .type = "application/problem+json",
	                                   .body = strdup(text),
	                                   .n = sizeof(text) - 1};
	stemma_serve_http_2.reply(x, &out);
}

/* For libmicrohttpd, several times a request: *n 0 at its end. A body beyond SERVE_BODY is read and refused. */
static enum MHD_Result handle_request(void *arg, struct MHD_Connection *c, const char *path, const char *method,
                                      const char *version, const char *data, size_t *n, void **slot)
{
	struct serve_exchange *x = *slot;
	(void)arg, (void)path, (void)version, (void)c;
	if (!x)
		return MHD_NO; /* no memory */
	if (x->done)
		return MHD_YES;
	if (!x->begun)
		return begin_request(x, method);
	if (x->response)
		return queue_reply(x); /* it was resumed */
	if (*n) {
		x->too_large |= x->body.n + *n > SERVE_BODY;
		if (!x->too_large)
			buf_add(&x->body, data, *n);
		*n = 0;
		return x->body.failed ? MHD_NO : MHD_YES;
	}
	if (x->too_large) {
		reply_too_large(x);
		return x->response ? queue_reply(x) : MHD_NO;
	}
	return end_body(x, method);
}

/* For libmicrohttpd: frees *slot; whoever still works on an answer is told that nobody waits. */
static void end_exchange(void *arg, struct MHD_Connection *c, void **slot, enum MHD_RequestTerminationCode how)
{
	struct serve_exchange *x = *slot;
	struct serve_http *h = arg;
	(void)how;
	*slot = NULL;
	if (!x)
		return;
	if ((x->waits && !x->response) || (x->streams && !x->over))
		h->e->gone(h->e->arg, x);
	if (x->response) {
		h->pending -= x->n;
		MHD_destroy_response(x->response);
	}
	enter_phase(c, PHASE_READ);
	buf_release(&x->body);
	buf_release(&x->out);
	free(x->target);
	free(x);
}

/* ---- answers ---- */

/* Those of all answers, and of this one what it has. */
static void add_headers(struct MHD_Response *r, const struct serve_outgoing *out)
{
	char seconds[16];
	for (size_t i = 0; i < sizeof(fixed_headers) / sizeof(fixed_headers[0]); i++)
		MHD_add_response_header(r, fixed_headers[i][0], fixed_headers[i][1]);
	if (out->type)
		MHD_add_response_header(r, "Content-Type", out->type);
	if (out->etag)
		MHD_add_response_header(r, "ETag", out->etag);
	if (out->allow)
		MHD_add_response_header(r, "Allow", out->allow);
	if (out->location)
		MHD_add_response_header(r, "Location", out->location);
	snprintf(seconds, sizeof(seconds), "%u", out->retry_after);
	if (out->retry_after)
		MHD_add_response_header(r, "Retry-After", seconds);
	if (out->damaged)
		MHD_add_response_header(r, "Stemma-Record", "damaged");
	if (out->status == MHD_HTTP_UNAUTHORIZED)
		MHD_add_response_header(r, "WWW-Authenticate", "Bearer");
}

/* Takes out->body. Only the first reply of an exchange counts; without memory the connection is closed. */
static void module_reply(struct serve_exchange *x, const struct serve_outgoing *out)
{
	const size_t n = out->body ? out->n : 0;
	char nothing[] = "";
	if (x->response) {
		free(out->body);
		return;
	}
	x->response = MHD_create_response_from_buffer(n, out->body ? out->body : nothing,
	                                              out->body ? MHD_RESPMEM_MUST_FREE : MHD_RESPMEM_MUST_COPY);
	if (!x->response) {
		free(out->body);
		struct connection *own = connection_of(x->connection);
		if (own)
			shutdown(own->fd, SHUT_RDWR);
	} else {
		x->status = out->status;
		x->n = n;
		x->of->pending += n;
		add_headers(x->response, out);
	}
	if (x->waits) {
		x->waits = false;
		x->of->resumed = true;
		MHD_resume_connection(x->connection);
	}
}

/* For libmicrohttpd: bytes of a stream. Without any the connection sleeps until some are pushed. */
static ssize_t read_stream(void *arg, uint64_t at, char *ret, size_t most)
{
	struct serve_exchange *x = arg;
	const size_t left = x->out.n - x->taken, n = left < most ? left : most;
	struct connection *own = connection_of(x->connection);
	(void)at;
	if (n) {
		memcpy(ret, x->out.p + x->taken, n);
		x->taken += n;
		if (own)
			own->since = clock_now_ms(CLOCK_MONOTONIC);
		if (x->taken == x->out.n) {
			buf_release(&x->out);
			x->taken = 0;
		}
		return (ssize_t)n;
	}
	if (x->over)
		return MHD_CONTENT_READER_END_OF_STREAM;
	if (own)
		own->since = 0;
	x->asleep = true;
	MHD_suspend_connection(x->connection);
	return 0;
}

/* The connection goes on, if it sleeps. */
static void wake_stream(struct serve_exchange *x)
{
	if (!x->asleep)
		return;
	x->asleep = false;
	x->of->resumed = true;
	MHD_resume_connection(x->connection);
}

/* Only of an exchange that is not replied to. */
static bool module_stream(struct serve_exchange *x, const char *type)
{
	const struct serve_outgoing head = {.status = MHD_HTTP_OK, .type = type};
	const struct connection *own = connection_of(x->connection);
	const int room = SERVE_STREAM / 2;
	x->response = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 8192, read_stream, x, NULL);
	if (!x->response)
		return false;
	if (own) /* what the kernel holds for who does not read is bounded, too */
		setsockopt(own->fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
	x->status = head.status;
	x->streams = true;
	add_headers(x->response, &head);
	return true;
}

static bool module_push(struct serve_exchange *x, struct str text)
{
	const struct connection *own = connection_of(x->connection);
	if (x->taken && x->taken < x->out.n) {
		memmove(x->out.p, x->out.p + x->taken, x->out.n - x->taken);
		x->out.n -= x->taken;
		x->taken = 0;
	}
	if (x->out.n + text.n > SERVE_STREAM && x->out.n && own) {
		drop_connection(own);
		wake_stream(x);
		return false;
	}
	buf_str(&x->out, text);
	note_waiting(x);
	wake_stream(x);
	return !x->out.failed;
}

static void module_finish(struct serve_exchange *x)
{
	x->over = true;
	wake_stream(x);
}

/* Did the client close the connection? */
static bool module_left(struct serve_exchange *x)
{
	const struct connection *own = connection_of(x->connection);
	char c;
	return own && recv(own->fd, &c, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

/* Exchanges that wait for an answer. */
static size_t module_pending(const struct serve_http *h)
{
	return h->pending;
}

/* ---- the server ---- */

/* Takes fd. *ret is the caller's. -errno, reported. */
static int module_start(int fd, const struct serve_http_events *e, struct err *err, struct serve_http **ret)
{
	struct serve_http *h = calloc(1, sizeof(*h));
	if (!h) {
		close(fd);
		return err_set(err, ENOMEM, "cannot serve HTTP");
	}
	h->e = e;
	h->diag = serve_peer_open();
	errno = 0;
	h->daemon = MHD_start_daemon(MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ITC, 0, NULL, NULL, handle_request,
	                             h, MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT,
	                             (unsigned)SERVE_CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)SERVE_READ_S,
	                             MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)SERVE_MEMORY, MHD_OPTION_NOTIFY_CONNECTION,
	                             note_connection, h, MHD_OPTION_NOTIFY_COMPLETED, end_exchange, h,
	                             MHD_OPTION_URI_LOG_CALLBACK, begin_exchange, h, MHD_OPTION_END);
	if (!h->daemon) {
		int rc = err_set(err, errno ? errno : EINVAL, "cannot start the HTTP server");
		close(fd);
		if (h->diag >= 0)
			close(h->diag);
		free(h);
		return rc;
	}
	*ret = h;
	return 0;
}

/* To be polled; it stays the server's. -1: there is none. */
static int module_fd(const struct serve_http *h)
{
	const union MHD_DaemonInfo *i = MHD_get_daemon_info(h->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	return i ? i->epoll_fd : -1;
}

/* ms until it must be called again; -1: not before a descriptor can be read. */
static int module_timeout(struct serve_http *h)
{
	MHD_UNSIGNED_LONG_LONG ms;
	if (h->resumed)
		return 0;
	if (!h->connections)
		return MHD_get_timeout(h->daemon, &ms) == MHD_YES && ms == 0 ? 0 : -1;
	if (MHD_get_timeout(h->daemon, &ms) != MHD_YES || ms > 1000)
		return 1000; /* then connections are looked through */
	return (int)ms;
}

/* Handles what waits, without waiting. Closes what takes too long. */
static void module_run(struct serve_http *h)
{
	sweep_connections(h);
	h->resumed = false;
	MHD_run(h->daemon);
}

/* Ends all connections and frees h. */
static void module_stop(struct serve_http *h)
{
	h->stopping = true;
	MHD_stop_daemon(h->daemon);
	if (h->diag >= 0)
		close(h->diag);
	free(h);
}

const struct serve_http_module stemma_serve_http_2 = {module_start, module_fd,      module_timeout, module_run,
                                                      module_reply, module_stream,  module_push,    module_finish,
                                                      module_left,  module_pending, module_stop};
