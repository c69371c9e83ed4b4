#include "serve/serve_access.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>

static const char token_alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

int serve_token_make(char ret[SERVE_TOKEN + 1])
{
	unsigned char bytes[SERVE_TOKEN];
	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return errno ? -errno : -EIO;
	for (size_t i = 0; i < SERVE_TOKEN; i++)
		ret[i] = token_alphabet[bytes[i] & 63];
	ret[SERVE_TOKEN] = '\0';
	return 0;
}

bool serve_token_is(struct str text)
{
	for (size_t i = 0; i < text.n; i++)
		if (!text.p[i] || !strchr(token_alphabet, text.p[i]))
			return false;
	return text.n == SERVE_TOKEN;
}

/* In a time that does not tell how much of it was right. */
static bool token_equals(const char *token, struct str said)
{
	volatile unsigned char differs = said.n != SERVE_TOKEN;
	for (size_t i = 0; i < SERVE_TOKEN; i++)
		differs = (unsigned char)(differs | (token[i] ^ (i < said.n ? said.p[i] : 0)));
	return !differs;
}

/* Is the name that the request is for one of 127.0.0.1, with our port? */
static bool is_own_host(const struct serve_access *a, const char *host)
{
	static const char *const names[] = {"127.0.0.1", "localhost"};
	char own[64];
	for (size_t i = 0; host && i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(own, sizeof(own), "%s:%u", names[i], a->port);
		if (!strcasecmp(host, own) || (a->port == 80 && !strcasecmp(host, names[i])))
			return true;
	}
	return false;
}

/* Is a request from a page of this server? host may be NULL: then it is not. */
static bool is_own_origin(const char *origin, const char *host)
{
	return !strncasecmp(origin, "http://", 7) && host && !strcasecmp(origin + 7, host);
}

/* /TOKEN/REST: REST with its slash is what is left. */
static bool take_path_token(const struct serve_access *a, struct str target, struct str *ret_target)
{
	const char *end = target.n > 1 && target.p[0] == '/' ? memchr(target.p + 1, '/', target.n - 1) : NULL;
	const size_t n = end ? (size_t)(end - target.p) : 0;
	if (!end || !token_equals(a->token, str_n(target.p + 1, n - 1)))
		return false;
	*ret_target = str_n(end, target.n - n);
	return true;
}

unsigned serve_access_check(const struct serve_access *a, const struct serve_incoming *in, struct err *err,
                            struct str *ret_target)
{
	const char *said = in->authorization;
	*ret_target = in->target;
	if (in->uid >= 0 && in->uid != a->owner && in->uid != 0) {
		err_set(err, 0, "this record belongs to another user");
		return 403;
	}
	if (in->origin && !is_own_origin(in->origin, in->host)) {
		err_set(err, 0, "pages from elsewhere get nothing here");
		return 403;
	}
	if (!a->tcp)
		return 0;
	if (!is_own_host(a, in->host)) {
		err_set(err, 0, "the request is for another host");
		return 403;
	}
	if (take_path_token(a, in->target, ret_target))
		return 0;
	if (said && !strncasecmp(said, "Bearer ", 7) && token_equals(a->token, str_of(said + 7)))
		return 0;
	err_set(err, 0, "no valid token was sent");
	return 401;
}
