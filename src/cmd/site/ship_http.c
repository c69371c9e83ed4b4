/* ship_http.c - HTTPS as a carrier of `stemma ship`: a request for each batch, and its answer. */
#include "cmd/site/ship_int.h"
#include "site/http.h"
#include "site/nodes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct by_http {
	char *url;
	char token[NODE_TOKEN + 2];
};

/* Is it a URL rather than a folder? */
static bool is_url(const char *to)
{
	return strstr(to, "://") != NULL;
}

/* The token is erased. */
static void close_http(struct shipping *x)
{
	struct by_http *h = x->state;
	if (h) {
		explicit_bzero(h->token, sizeof(h->token));
		free(h->url);
	}
	free(h);
	x->state = NULL;
}

/* An exit status; what is wrong was reported. */
static int open_http(struct shipping *x)
{
	const char *to = x->o->to;
	if (!x->o->token)
		return report_usage(x->c, "a URL needs --token FILE");
	struct by_http *h = x->state = calloc(1, sizeof(*h));
	if (!h || asprintf(&h->url, "%s%sv1/frames", to, to[strlen(to) - 1] == '/' ? "" : "/") < 0)
		return report_lack(STATUS_SELF);
	int status = ship_read_secret(x->o->token, h->token, sizeof(h->token));
	if (status == STATUS_OK && strspn(h->token, "0123456789abcdef") != NODE_TOKEN) {
		report("'%s' contains no token", x->o->token);
		report_hint("stemma collect --add-node NAME >FILE, on the collector's machine, makes such a file");
		return STATUS_SELF;
	}
	return status;
}

/* Sends a batch of frames over HTTP. 0: not now, try again after *wait_s; else as ship_take_answer, or -errno with a
 * sentence. */
static int send_by_http(struct shipping *x, struct str batch, uint64_t frames, unsigned *wait_s, struct err *err)
{
	const struct by_http *h = x->state;
	const struct http_post p = {
	    .url = h->url, .token = h->token, .ca = x->o->ca, .body = batch.p, .n = batch.n, .rate = x->rate};
	struct http_reply r;
	struct ship_answer a;
	int rc = http_post(&p, err, &r);
	if (rc == -EHOSTUNREACH)
		return 0;
	if (rc < 0)
		return rc;
	if (r.status == 200) {
		rc = ship_read_answer(r.text, err, &a);
		return rc < 0 ? rc : ship_take_answer(x, &a, frames, err);
	}
	if (r.status == 401)
		return (err_set(err, 0, "the collector '%s' does not know the token", x->o->to),
		        err_hint(err, "stemma collect --add-node, on the collector's machine, prints a new one"), -EACCES);
	err_set(err, 0, "'%s' answered with the HTTP status %u", x->o->to, r.status);
	if (r.status < 500 && r.status != 429)
		return -EPROTO;
	*wait_s = r.retry_after ? r.retry_after : *wait_s;
	return 0;
}

const struct ship_carrier ship_by_http = {.is = is_url, .open = open_http, .send = send_by_http, .close = close_http};
