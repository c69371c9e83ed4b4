/* http_module.c - HTTP by libcurl (requests) and libmicrohttpd (server). Both check all that comes from outside; what
 * is checked here: tokens before bodies, sizes, paths by whoever answers. */
#include "site/http_module.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <microhttpd.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* ---- requests ---- */

struct reading {
	struct http_reply *reply;
	size_t n;
};

/* Takes a piece of the answer. As curl wants it: all is taken, what is beyond HTTP_ANSWER bytes is dropped. */
static size_t take_text(char *p, size_t size, size_t n, void *arg)
{
	struct reading *r = arg;
	const size_t room = HTTP_ANSWER - r->n, k = size * n < room ? size * n : room;
	memcpy(r->reply->text + r->n, p, k);
	r->n += k;
	r->reply->text[r->n] = '\0';
	return size * n;
}

/* http:// carries the token for everybody to read: only within this machine. Whom the URL names is asked of libcurl,
 * which will go there: http://127.0.0.1:1@HOST leads to HOST. */
static bool leads_here(const char *url)
{
	static const char *const here[] = {"127.0.0.1", "localhost", "[::1]"};
	CURLU *u = curl_url();
	char *scheme = NULL, *host = NULL;
	bool is = u && curl_url_set(u, CURLUPART_URL, url, 0) == CURLUE_OK &&
	          curl_url_get(u, CURLUPART_SCHEME, &scheme, 0) == CURLUE_OK &&
	          curl_url_get(u, CURLUPART_HOST, &host, 0) == CURLUE_OK && !strcasecmp(scheme, "http");
	bool known = false;
	for (size_t i = 0; is && i < sizeof(here) / sizeof(here[0]); i++)
		known |= !strcasecmp(host, here[i]);
	curl_free(scheme);
	curl_free(host);
	curl_url_cleanup(u);
	return known;
}

/* Sets what curl is to do. why: room for curl's sentence. 0, -ENOSYS: curl does not know one of them. */
static int set_options(CURL *c, const struct http_post *p, struct curl_slist *headers, struct reading *r, char *why)
{
	int bad = 0;
#define SET(option, value) bad |= curl_easy_setopt(c, option, value) != CURLE_OK
	SET(CURLOPT_URL, p->url);
	const bool here = leads_here(p->url);
	SET(CURLOPT_PROTOCOLS_STR, here ? "http" : "https");
	if (here)
		SET(CURLOPT_PROXY, ""); /* the environment's would get the token over the network */
	SET(CURLOPT_FOLLOWLOCATION, 0L);
	SET(CURLOPT_NOSIGNAL, 1L);
	SET(CURLOPT_HTTPHEADER, headers);
	SET(CURLOPT_POSTFIELDS, p->body);
	SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)p->n);
	SET(CURLOPT_WRITEFUNCTION, take_text);
	SET(CURLOPT_WRITEDATA, r);
	SET(CURLOPT_ERRORBUFFER, why);
	SET(CURLOPT_CONNECTTIMEOUT, (long)HTTP_STALL_S);
	SET(CURLOPT_LOW_SPEED_LIMIT, 1L);
	SET(CURLOPT_LOW_SPEED_TIME, (long)HTTP_STALL_S);
	SET(CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2); /* or newer */
	SET(CURLOPT_HEADEROPT, (long)CURLHEADER_SEPARATE);      /* the token is not for a proxy */
	if (p->ca) {
		SET(CURLOPT_CAINFO, p->ca);
		SET(CURLOPT_CAPATH, NULL); /* else whom the system trusts is trusted, too */
	}
	if (p->rate)
		SET(CURLOPT_MAX_SEND_SPEED_LARGE, (curl_off_t)p->rate);
#undef SET
	return bad ? -ENOSYS : 0;
}

/* Posts a message. ret: any reply, of whatever status. -errno, reported: there was none. */
static int module_post(const struct http_post *p, struct err *err, struct http_reply *ret)
{
	static CURL *c; /* kept, and with it the connection */
	char why[CURL_ERROR_SIZE] = "", token[512];
	struct reading r = {ret, 0};
	struct curl_slist *headers = NULL;
	long status = 0;
	curl_off_t wait = 0;
	*ret = (struct http_reply){0};
	if (!c && (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK || !(c = curl_easy_init())))
		return err_set(err, ENOMEM, "cannot speak HTTP");
	curl_easy_reset(c);
	snprintf(token, sizeof(token), "Authorization: Bearer %s", p->token);
	headers = curl_slist_append(NULL, token);
	struct curl_slist *more = curl_slist_append(headers, "Content-Type: application/vnd.stemma.frames");
	headers = more ? more : headers;
	more = curl_slist_append(headers, "Expect:");
	headers = more ? more : headers;
	int rc = set_options(c, p, headers, &r, why);
	CURLcode code = rc < 0 ? CURLE_FAILED_INIT : curl_easy_perform(c);
	curl_slist_free_all(headers);
	if (code != CURLE_OK) {
		err_set(err, 0, "cannot send to '%s': %s", p->url, why[0] ? why : curl_easy_strerror(code));
		return code == CURLE_OUT_OF_MEMORY ? -ENOMEM : -EHOSTUNREACH;
	}
	curl_easy_getinfo(c, CURLINFO_RESPONSE_CODE, &status);
	curl_easy_getinfo(c, CURLINFO_RETRY_AFTER, &wait);
	ret->status = (unsigned)status;
	ret->retry_after = wait > 0 && wait < 86400 ? (unsigned)wait : 0;
	return 0;
}

/* ---- server ---- */

/* A connection, from its beginning to its end. */
struct connection {
	int fd;         /* -1: none */
	time_t began;   /* or the last request on it ended */
	char token[80]; /* of the request at hand, whose token is valid; "": none */
};
struct http_running {
	const struct http_server *s;
	struct MHD_Daemon *daemon;
	pthread_mutex_t lock; /* of connections */
	struct connection connections[HTTP_CONNECTIONS + 8];
	pthread_t watch;
	bool watches;
	int stop[2]; /* a pipe: the watch ends when it is closed */
};
struct request {
	struct buf body;
	char token[512];
	bool too_large;
};

/* Queues the answer; MHD_NO: no memory. The text is copied. */
static enum MHD_Result send_reply(struct MHD_Connection *to, const struct http_reply *r)
{
	struct MHD_Response *m =
	    MHD_create_response_from_buffer(strlen(r->text), (void *)(uintptr_t)r->text, MHD_RESPMEM_MUST_COPY);
	if (!m)
		return MHD_NO;
	char seconds[16];
	MHD_add_response_header(m, "Content-Type", "application/json");
	MHD_add_response_header(m, "X-Content-Type-Options", "nosniff");
	snprintf(seconds, sizeof(seconds), "%u", r->retry_after);
	if (r->retry_after)
		MHD_add_response_header(m, "Retry-After", seconds);
	if (r->status == MHD_HTTP_UNAUTHORIZED)
		MHD_add_response_header(m, "WWW-Authenticate", "Bearer");
	enum MHD_Result rc = MHD_queue_response(to, r->status, m);
	MHD_destroy_response(m);
	return rc;
}

/* why must need no escapes. */
static enum MHD_Result send_status(struct MHD_Connection *to, unsigned status, const char *why)
{
	struct http_reply r = {.status = status};
	snprintf(r.text, sizeof(r.text), "{\"error\":\"%s\"}\n", why);
	return send_reply(to, &r);
}

/* CLOCK_MONOTONIC, s. */
static time_t now_s(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec;
}

/* What is kept of a connection. NULL: the library knows none. */
static struct connection *connection_of(struct MHD_Connection *c)
{
	const union MHD_ConnectionInfo *i = MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	return i ? i->socket_context : NULL;
}

/* Called before the socket is made known to requests, and before it is closed. */
static void note_connection(void *arg, struct MHD_Connection *c, void **slot, enum MHD_ConnectionNotificationCode how)
{
	struct http_running *h = arg;
	const union MHD_ConnectionInfo *i = MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
	pthread_mutex_lock(&h->lock);
	if (how == MHD_CONNECTION_NOTIFY_STARTED) {
		*slot = NULL;
		for (size_t k = 0; i && !*slot && k < sizeof(h->connections) / sizeof(h->connections[0]); k++)
			if (h->connections[k].fd < 0)
				*slot = &h->connections[k];
		if (*slot)
			*(struct connection *)*slot = (struct connection){.fd = i->connect_fd, .began = now_s()};
	} else if (*slot) {
		((struct connection *)*slot)->fd = -1;
		*slot = NULL;
	}
	pthread_mutex_unlock(&h->lock);
}

/* Whoever sends a byte now and then is not idle: without a valid token a connection ends all the same. */
static void *watch_connections(void *arg)
{
	struct http_running *h = arg;
	struct pollfd p = {.fd = h->stop[0], .events = POLLIN};
	while (poll(&p, 1, 1000) == 0) {
		const time_t old = now_s() - HTTP_IDLE_S;
		pthread_mutex_lock(&h->lock);
		for (size_t k = 0; k < sizeof(h->connections) / sizeof(h->connections[0]); k++) {
			const struct connection *c = &h->connections[k];
			if (c->fd >= 0 && !c->token[0] && c->began < old)
				shutdown(c->fd, SHUT_RDWR);
		}
		pthread_mutex_unlock(&h->lock);
	}
	return NULL;
}

/* Notes that the request on the connection has that token. False: there are as many with it as may be. */
static bool note_token(struct http_running *h, struct MHD_Connection *of, const char *token)
{
	struct connection *own = connection_of(of);
	unsigned n = 0;
	pthread_mutex_lock(&h->lock);
	for (size_t k = 0; k < sizeof(h->connections) / sizeof(h->connections[0]); k++)
		n += h->connections[k].fd >= 0 && !strcmp(h->connections[k].token, token);
	if (own && n < HTTP_SENDER)
		snprintf(own->token, sizeof(own->token), "%s", token);
	pthread_mutex_unlock(&h->lock);
	return own && n < HTTP_SENDER;
}

/* The headers are there: who sends, before anything that is sent is kept. */
static enum MHD_Result begin_request(struct http_running *h, struct MHD_Connection *from, const char *method,
                                     void **slot)
{
	const char *a = MHD_lookup_connection_value(from, MHD_HEADER_KIND, "Authorization");
	if (strcmp(method, "POST") != 0)
		return send_status(from, MHD_HTTP_METHOD_NOT_ALLOWED, "only POST is answered here");
	if (!a || strncasecmp(a, "Bearer ", 7) != 0 || !h->s->admit(h->s->arg, a + 7))
		return send_status(from, MHD_HTTP_UNAUTHORIZED, "no valid token was sent");
	const char *length = MHD_lookup_connection_value(from, MHD_HEADER_KIND, "Content-Length");
	if (length && strtoull(length, NULL, 10) > HTTP_BODY)
		return send_status(from, MHD_HTTP_CONTENT_TOO_LARGE, "the request is too large");
	if (!note_token(h, from, a + 7))
		return send_status(from, MHD_HTTP_TOO_MANY_REQUESTS, "the sender has too many connections");
	struct request *q = calloc(1, sizeof(*q));
	if (!q)
		return MHD_NO;
	snprintf(q->token, sizeof(q->token), "%s", a + 7);
	*slot = q;
	return MHD_YES;
}

/* Takes a piece of a request. For libmicrohttpd, several times a request: *n 0 at its end. */
static enum MHD_Result handle(void *arg, struct MHD_Connection *from, const char *path, const char *method,
                              const char *version, const char *data, size_t *n, void **slot)
{
	struct http_running *h = arg;
	struct request *q = *slot;
	(void)version;
	if (!q)
		return begin_request(h, from, method, slot);
	if (*n) {
		q->too_large |= q->body.n + *n > HTTP_BODY;
		if (!q->too_large)
			buf_add(&q->body, data, *n);
		*n = 0;
		return q->body.failed ? MHD_NO : MHD_YES;
	}
	if (q->too_large)
		return send_status(from, MHD_HTTP_CONTENT_TOO_LARGE, "the request is too large");
	struct http_reply r = {.status = MHD_HTTP_INTERNAL_SERVER_ERROR};
	h->s->answer(h->s->arg, path, q->token, q->body.p, q->body.n, &r);
	return send_reply(from, &r);
}

/* For libmicrohttpd: frees *slot. */
static void end_request(void *arg, struct MHD_Connection *of, void **slot, enum MHD_RequestTerminationCode how)
{
	struct http_running *h = arg;
	struct request *q = *slot;
	struct connection *own = connection_of(of);
	(void)how;
	pthread_mutex_lock(&h->lock);
	if (own) {
		own->token[0] = '\0';
		own->began = now_s();
	}
	pthread_mutex_unlock(&h->lock);
	if (q)
		buf_release(&q->body);
	free(q);
	*slot = NULL;
}

/* Finds the addresses to listen at. HOST:PORT, [HOST]:PORT or :PORT. *ret: freeaddrinfo. -errno, reported. */
static int resolve(const char *address, struct err *err, struct addrinfo **ret)
{
	char host[256];
	const char *colon = strrchr(address, ':');
	const struct addrinfo want = {.ai_flags = AI_PASSIVE | AI_NUMERICSERV, .ai_socktype = SOCK_STREAM};
	size_t n = colon ? (size_t)(colon - address) : sizeof(host);
	if (n >= sizeof(host))
		return (err_set(err, 0, "'%s' is not an address: use HOST:PORT", address), -EINVAL);
	memcpy(host, address, n);
	host[n] = '\0';
	char *name = host;
	if (n > 1 && host[0] == '[' && host[n - 1] == ']') {
		host[n - 1] = '\0';
		name++;
	}
	int rc = getaddrinfo(*name ? name : NULL, colon + 1, &want, ret);
	if (rc)
		err_set(err, rc == EAI_SYSTEM ? errno : 0,
		        rc == EAI_SYSTEM ? "cannot listen at '%s'" : "cannot listen at '%s': %s", address, gai_strerror(rc));
	return rc ? -EADDRNOTAVAIL : 0;
}

/* Is the address one of this machine's own, that no other can reach? */
static bool is_loopback(const struct sockaddr *a)
{
	if (a->sa_family == AF_INET)
		return ntohl(((const struct sockaddr_in *)(const void *)a)->sin_addr.s_addr) >> 24 == 127;
	return a->sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)(const void *)a)->sin6_addr);
}

/* Waits for its threads. */
static void module_stop(struct http_running *h)
{
	if (h->daemon)
		MHD_stop_daemon(h->daemon);
	if (h->stop[1] >= 0)
		close(h->stop[1]);
	if (h->watches)
		pthread_join(h->watch, NULL);
	if (h->stop[0] >= 0)
		close(h->stop[0]);
	free(h);
}

/* A thread that closes connections which take too long. 0; -errno, reported. */
static int start_watch(struct http_running *h, struct err *err)
{
	int rc = pipe2(h->stop, O_CLOEXEC) < 0 ? errno : 0;
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	rc = rc ? rc : pthread_create(&h->watch, NULL, watch_connections, h);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	h->watches = rc == 0;
	return rc ? err_set(err, rc, "cannot listen at '%s'", h->s->address) : 0;
}

/* Starts the server at an address. 0; -errno, reported. */
static int start_daemon(struct http_running *h, const struct addrinfo *at, struct err *err)
{
	const struct http_server *s = h->s;
	static char versions[] = "NORMAL:-VERS-TLS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"; /* GnuTLS has 1.0 and 1.1 in NORMAL */
	const struct MHD_OptionItem tls[] = {{MHD_OPTION_HTTPS_PRIORITIES, 0, versions},
	                                     {MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)(uintptr_t)s->key},
	                                     {MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)(uintptr_t)s->certificate},
	                                     {MHD_OPTION_END, 0, NULL}};
	const struct MHD_OptionItem none[] = {{MHD_OPTION_END, 0, NULL}};
	unsigned flags = MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_AUTO;
	if (s->certificate)
		flags |= MHD_USE_TLS;
	if (at->ai_family == AF_INET6)
		flags |= MHD_USE_IPv6;
	errno = 0;
	h->daemon = MHD_start_daemon(flags, 0, NULL, NULL, handle, h, MHD_OPTION_SOCK_ADDR, at->ai_addr,
	                             MHD_OPTION_CONNECTION_LIMIT, (unsigned)HTTP_CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT,
	                             (unsigned)HTTP_IDLE_S, MHD_OPTION_PER_IP_CONNECTION_LIMIT, (unsigned)HTTP_ADDRESS,
	                             MHD_OPTION_NOTIFY_CONNECTION, note_connection, h, MHD_OPTION_NOTIFY_COMPLETED,
	                             end_request, h, MHD_OPTION_ARRAY, s->certificate ? tls : none, MHD_OPTION_END);
	return h->daemon ? 0 : err_set(err, errno ? errno : EINVAL, "cannot listen at '%s'", s->address);
}

/* *ret is the caller's: module_stop. Without a certificate at a loopback address only. -errno, reported. */
static int module_start(const struct http_server *s, struct err *err, struct http_running **ret, unsigned *ret_port)
{
	struct addrinfo *at;
	int rc = resolve(s->address, err, &at);
	if (rc < 0)
		return rc;
	struct http_running *h = calloc(1, sizeof(*h));
	if (h) {
		h->s = s;
		h->stop[0] = h->stop[1] = -1;
		pthread_mutex_init(&h->lock, NULL);
		for (size_t k = 0; k < sizeof(h->connections) / sizeof(h->connections[0]); k++)
			h->connections[k].fd = -1;
	}
	if (!h)
		rc = err_set(err, ENOMEM, "cannot listen at '%s'", s->address);
	else if (!s->certificate && !is_loopback(at->ai_addr)) {
		rc =
		    (err_set(err, 0, "without a certificate stemma listens at 127.0.0.1 and ::1 only, not at '%s'", s->address),
		     -EPERM);
		err_hint(err, "give --certificate and --key");
	} else {
		rc = start_watch(h, err);
		rc = rc < 0 ? rc : start_daemon(h, at, err);
	}
	freeaddrinfo(at);
	if (rc < 0) {
		if (h)
			module_stop(h);
		return rc;
	}
	const union MHD_DaemonInfo *info = MHD_get_daemon_info(h->daemon, MHD_DAEMON_INFO_BIND_PORT);
	*ret_port = info ? info->port : 0;
	*ret = h;
	return 0;
}

const struct http_module stemma_http_module_1 = {module_post, module_start, module_stop};
