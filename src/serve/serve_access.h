/* serve_access.h - who gets an answer: the record's owner, and nobody else.
 *
 * At a Unix socket: processes of the owner or of root, by what the kernel says of the other end. At 127.0.0.1: who
 * knows the token, as the first part of the path or as Authorization: Bearer, and where the kernel tells whose the
 * other end is, only the owner and root. The token is never in a cookie, which a browser would send to every port of
 * 127.0.0.1. A browser that was led here under another name (DNS rebinding), or by a page from elsewhere, gets nothing.
 */
#ifndef STEMMA_SERVE_SERVE_ACCESS_H
#define STEMMA_SERVE_SERVE_ACCESS_H

#include "base/err.h"
#include "serve/serve_http.h"

enum { SERVE_TOKEN = 43 }; /* characters: 32 bytes as base64 for addresses */

struct serve_access {
	bool tcp;      /* else a Unix socket, where no token is asked for */
	unsigned port; /* of tcp */
	int64_t owner; /* uid */
	char token[SERVE_TOKEN + 1];
};

/* A new token. 0 or -errno. */
int serve_token_make(char ret[SERVE_TOKEN + 1]);
/* Is it one: so many characters of that alphabet? */
bool serve_token_is(struct str text);
/* May the request be answered? 0, and the target without the token; else the status to answer with, and the
 * sentence. */
unsigned serve_access_check(const struct serve_access *a, const struct serve_incoming *in, struct err *err,
                            struct str *ret_target);

#endif
