/* http.h - HTTP as a carrier: one request that is answered, and a server that answers them. The libraries (libcurl,
 * libmicrohttpd) are in a module of their own, http_module.c, which is loaded when it is needed; a stemma that was
 * built without them says so. TLS is theirs. */
#ifndef STEMMA_SITE_HTTP_H
#define STEMMA_SITE_HTTP_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

enum {
	HTTP_ANSWER = 4096,     /* bytes of an answer that are read */
	HTTP_CONNECTIONS = 256, /* at once */
	HTTP_ADDRESS = 64,      /* ... from one address */
	HTTP_SENDER = 4,        /* ... with one token, while a body comes */
	HTTP_IDLE_S = 30,       /* a connection on which so long nothing comes is closed, and one without a valid token */
	HTTP_STALL_S = 60,      /* a request that does not get on for so long has failed */
	HTTP_BODY = 8 << 20     /* bytes of a request */
};

struct http_post {
	const char *url, *token;
	const char *ca; /* file with the certificates that are trusted; NULL: the system's */
	const void *body;
	size_t n;
	uint64_t rate; /* bytes a second; 0: as fast as it goes */
};
struct http_reply {
	unsigned status;
	unsigned retry_after; /* seconds; 0: nothing was said */
	char text[HTTP_ANSWER + 1];
};
/* Posts a message. 0 with whatever status; -errno with a sentence: no answer came. -ENOSYS: there is no module. */
int http_post(const struct http_post *p, struct err *err, struct http_reply *ret);

struct http_server {
	const char *address;           /* HOST:PORT, [HOST]:PORT; port 0: any */
	const char *certificate, *key; /* PEM; NULL: no TLS */
	/* Whether a request with that token may send a body. */
	bool (*admit)(void *arg, const char *token);
	/* path: of the request; ret: status and text, JSON. One call at a time, in a thread of the server's. */
	void (*answer)(void *arg, const char *path, const char *token, const void *body, size_t n, struct http_reply *ret);
	void *arg;
};
struct http_running;
/* Begins to serve HTTP for collecting. 0 and the port, or -errno with a sentence. *s stays until http_stop. */
int http_start(const struct http_server *s, struct err *err, struct http_running **ret, unsigned *ret_port);
/* Ends the server. NULL is no error. */
void http_stop(struct http_running *r);
/* Is the module there? */
bool http_is_there(void);

#endif
