/* serve.h - the record over HTTP, read-only, for its owner: what `stemma serve` does (doc/serve.md).
 *
 * One process holds the connections and never reads the record (serve_http.h). Questions are answered by workers,
 * processes whose time and memory are bounded (serve_worker.h). The index is brought up to date at most once a second,
 * while requests come, by another process; a request waits for that for up to a second. */
#ifndef STEMMA_SERVE_SERVE_H
#define STEMMA_SERVE_SERVE_H

#include "base/err.h"

#include <stdint.h>

enum {
	SERVE_WORKERS = 8,
	SERVE_PENDING = 256 << 20 /* bytes of answers that are not sent yet; then requests are refused */
};

struct serve_options {
	const char *home;                              /* of the record, as for stemma_open; there is one */
	const char *socket;                            /* path of a Unix socket; NULL: 127.0.0.1 */
	unsigned port;                                 /* of 127.0.0.1; 0: any */
	const char *token;                             /* as serve_token_is says; NULL: a new one */
	int64_t ns;                                    /* for one request */
	uint64_t memory;                               /* bytes for one request */
	void (*ready)(void *arg, const char *address); /* the address that answers, once it does */
	void *arg;
};

/* Serves until SIGINT, SIGTERM or SIGHUP. 0; -ENOSYS: there is no module for HTTP; or -errno, with a sentence. */
int serve_run(const struct serve_options *o, struct err *err);

#endif
