#include "serve/serve_request.h"

#include "base/hex.h"

#include <errno.h>
#include <string.h>

const struct serve_parameter_row serve_parameters[SERVE_PARAMETERS] = {
#define PARAMETER(symbol, name, type, most, description) {name, SERVE_##type, most, description},
#define ROUTE(symbol, path, kind, summary)
#define TAKES(route, parameter, required)
#include "serve/serve_routes.def"
#undef PARAMETER
#undef ROUTE
#undef TAKES
};
const struct serve_route_row serve_routes[SERVE_ROUTES] = {
#define PARAMETER(symbol, name, type, most, description)
#define ROUTE(symbol, path, kind, summary) {#symbol, path, SERVE_##kind, summary},
#define TAKES(route, parameter, required)
#include "serve/serve_routes.def"
#undef PARAMETER
#undef ROUTE
#undef TAKES
};
const struct serve_takes_row serve_takes[] = {
#define PARAMETER(symbol, name, type, most, description)
#define ROUTE(symbol, path, kind, summary)
#define TAKES(route, parameter, required) {SERVE_R_##route, SERVE_P_##parameter, required},
#include "serve/serve_routes.def"
#undef PARAMETER
#undef ROUTE
#undef TAKES
};
const size_t serve_n_takes = sizeof(serve_takes) / sizeof(serve_takes[0]);

/* Where a route's path ends with a slash, *ret_word is the part behind it. */
static bool route_fits(const struct serve_route_row *r, struct str path, struct str *ret_word)
{
	const struct str own = str_of(r->path);
	*ret_word = str_n(NULL, 0);
	if (own.n < 2 || own.p[own.n - 1] != '/')
		return str_eq(path, own);
	if (!str_starts(path, own) || path.n == own.n || memchr(path.p + own.n, '/', path.n - own.n))
		return false;
	*ret_word = str_n(path.p + own.n, path.n - own.n);
	return true;
}

/* Decodes a part of a URL. Appends the bytes that s stands for and a NUL; *ret is where they begin in b. In a query
 * + is a space. -EINVAL: an escape that is none; -ENOMEM. */
static int decode(struct str s, bool query, struct buf *b, size_t *ret)
{
	*ret = b->n;
	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];
		if (c == '%') {
			const int high = i + 2 < s.n ? hex_digit(s.p[i + 1]) : -1, low = i + 2 < s.n ? hex_digit(s.p[i + 2]) : -1;
			if (high < 0 || low < 0)
				return -EINVAL;
			c = (char)(high << 4 | low);
			i += 2;
		} else if (c == '+' && query) {
			c = ' ';
		}
		if (!c)
			return -EINVAL;
		buf_char(b, c);
	}
	buf_char(b, '\0');
	return b->failed ? -ENOMEM : 0;
}

/* Finds a parameter of a route by its name. NULL: the route takes no such parameter, or one that is a word of its
 * path. */
static const struct serve_takes_row *find_takes(enum serve_route route, const char *name)
{
	for (size_t i = 0; i < serve_n_takes; i++)
		if (serve_takes[i].route == route && !strcmp(serve_parameters[serve_takes[i].parameter].name, name) &&
		    serve_parameters[serve_takes[i].parameter].type != SERVE_word)
			return &serve_takes[i];
	return NULL;
}

/* An empty text, "1" and "true" are 1. 0, -EINVAL. */
static int read_flag(const char *text, uint64_t *ret)
{
	*ret = !*text || !strcmp(text, "1") || !strcmp(text, "true");
	return *ret || !strcmp(text, "0") || !strcmp(text, "false") ? 0 : -EINVAL;
}

/* Reads a number of a parameter. -EINVAL: no number; -ERANGE: more than `most`. */
static int read_number(const char *text, uint64_t most, uint64_t *ret)
{
	*ret = 0;
	if (!*text)
		return -EINVAL;
	for (; *text; text++) {
		if (*text < '0' || *text > '9')
			return -EINVAL;
		*ret = *ret * 10 + (uint64_t)(*text - '0');
		if (*ret > most)
			return -ERANGE;
	}
	return 0;
}

/* Takes the value of a parameter. -EINVAL, with a sentence; it is also an error if the parameter was given before.
 * text must outlive *ret. */
static int take_value(enum serve_parameter p, const char *text, struct err *err, struct serve_request *ret)
{
	const struct serve_parameter_row *row = &serve_parameters[p];
	if (ret->text[p])
		return err_set(err, 0, "the parameter %s is given twice", row->name), -EINVAL;
	ret->text[p] = text;
	int rc = 0;
	if (row->type == SERVE_flag && (rc = read_flag(text, &ret->number[p])) < 0)
		err_set(err, 0, "the parameter %s is neither true nor false", row->name);
	if (row->type == SERVE_number && (rc = read_number(text, row->most, &ret->number[p])) < 0)
		err_set(err, 0, "the parameter %s is not a number from 0 to %llu", row->name, (unsigned long long)row->most);
	return rc < 0 ? -EINVAL : 0;
}

/* One NAME=VALUE, or NAME. -EINVAL, -ENOMEM, with a sentence. */
static int read_pair(struct str pair, struct err *err, struct serve_request *ret)
{
	const char *equals = memchr(pair.p, '=', pair.n);
	const size_t n = equals ? (size_t)(equals - pair.p) : pair.n;
	size_t name, value;
	int rc = decode(str_n(pair.p, n), true, &ret->texts, &name);
	if (rc == 0)
		rc = decode(equals ? str_n(equals + 1, pair.n - n - 1) : str_n("", 0), true, &ret->texts, &value);
	if (rc < 0)
		return err_set(err, 0, rc == -ENOMEM ? "out of memory" : "the query has an escape that is none"), rc;
	const struct serve_takes_row *t = find_takes(ret->route, ret->texts.p + name);
	if (!t)
		return err_set(err, 0, "there is no parameter '%.60s' here", ret->texts.p + name), -EINVAL;
	return take_value(t->parameter, ret->texts.p + value, err, ret);
}

/* Reads the parameters behind the question mark. 0; -EINVAL, -ENOMEM, with a sentence. */
static int read_query(struct str query, struct err *err, struct serve_request *ret)
{
	int rc = 0;
	for (size_t at = 0; at < query.n && rc == 0;) {
		const char *end = memchr(query.p + at, '&', query.n - at);
		const size_t n = end ? (size_t)(end - query.p) - at : query.n - at;
		if (n)
			rc = read_pair(str_n(query.p + at, n), err, ret);
		at += n + 1;
	}
	return rc;
}

/* The part of the path that the route takes as a parameter; 0 also where it takes none. */
static int read_word(struct str word, struct err *err, struct serve_request *ret)
{
	size_t at;
	for (size_t i = 0; word.n && i < serve_n_takes; i++) {
		const enum serve_parameter p = serve_takes[i].parameter;
		if (serve_takes[i].route != ret->route || serve_parameters[p].type != SERVE_word)
			continue;
		int rc = decode(word, false, &ret->texts, &at);
		if (rc < 0)
			return err_set(err, 0, rc == -ENOMEM ? "out of memory" : "the address has an escape that is none"), rc;
		return take_value(p, ret->texts.p + at, err, ret);
	}
	return 0;
}

/* Have all parameters been given that the route needs? 0; -EINVAL with a sentence. */
static int check_required(const struct serve_request *r, struct err *err)
{
	for (size_t i = 0; i < serve_n_takes; i++) {
		const enum serve_parameter p = serve_takes[i].parameter;
		if (serve_takes[i].route == r->route && serve_takes[i].required && (!r->text[p] || !*r->text[p]))
			return err_set(err, 0, "the parameter %s is needed", serve_parameters[p].name), -EINVAL;
	}
	return 0;
}

/* Without the query. */
static struct str path_of(struct str target)
{
	const char *question = target.n ? memchr(target.p, '?', target.n) : NULL;
	return str_n(target.p, question ? (size_t)(question - target.p) : target.n);
}

/* Finds the route of a path. SERVE_ROUTES: none. *ret_word: the word in the path, where the route has one. */
static enum serve_route find_route(struct str path, struct str *ret_word)
{
	size_t k = 0;
	while (k < SERVE_ROUTES && !route_fits(&serve_routes[k], path, ret_word))
		k++;
	return (enum serve_route)k;
}

enum serve_route serve_request_route(struct str target)
{
	struct str word;
	return find_route(path_of(target), &word);
}

void serve_request_with_body(struct str target, const char *name, struct str body, struct buf *ret)
{
	buf_str(ret, target);
	buf_char(ret, path_of(target).n < target.n ? '&' : '?');
	if (!name) {
		buf_str(ret, body);
		return;
	}
	buf_printf(ret, "%s=", name);
	for (size_t i = 0; i < body.n; i++)
		buf_printf(ret, "%%%02x", (unsigned)(unsigned char)body.p[i]);
}

int serve_request_read(struct str target, struct err *err, struct serve_request *ret)
{
	const struct str path = path_of(target);
	struct str word = {0};
	*ret = (struct serve_request){0};
	if (target.n > SERVE_QUESTION)
		return err_set(err, 0, "the address is too long"), -E2BIG;
	ret->route = find_route(path, &word);
	if (ret->route == SERVE_ROUTES)
		return err_set(err, 0, "there is no such address"), -ENOENT;
	/* What is decoded is never longer than what stands there, but for a NUL behind each name and value: room for all is
	 * made first, so that the texts stay where they are. */
	int rc = buf_room(&ret->texts, 3 * target.n + 8) ? 0 : (err_set(err, 0, "out of memory"), -ENOMEM);
	if (rc == 0)
		rc = read_word(word, err, ret);
	if (rc == 0 && path.n < target.n)
		rc = read_query(str_n(target.p + path.n + 1, target.n - path.n - 1), err, ret);
	if (rc == 0)
		rc = check_required(ret, err);
	if (rc < 0)
		serve_request_release(ret);
	return rc;
}

/* r is empty then. */
void serve_request_release(struct serve_request *r)
{
	buf_release(&r->texts);
	*r = (struct serve_request){0};
}
