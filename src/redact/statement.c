#include "redact/statement.h"

#include "redact/name.h"
#include "redact/quote.h"

#include <strings.h>

enum {
	SAID_password = 1,
	SAID_identified = 2,
	SAID_set_password = 4,
	SAID_login = 8,
	SAID_pragma = 16,
	SAID_create_secret = 32,
};

/* Are both equal, whatever the case of letters? */
static bool equals_ignoring_case(struct str s, const char *word)
{
	return s.n == strlen(word) && !strncasecmp(s.p, word, s.n);
}

/* Keys of SQLite's encryption. */
static bool names_pragma_key(struct str s)
{
	return equals_ignoring_case(s, "key") || equals_ignoring_case(s, "rekey") || equals_ignoring_case(s, "hexkey");
}

/* CREATE SECRET, and the words that may stand between. */
static bool creates_secret(struct str before)
{
	return equals_ignoring_case(before, "create") || equals_ignoring_case(before, "replace") ||
	       equals_ignoring_case(before, "persistent") || equals_ignoring_case(before, "temporary");
}

/* A quoted string here is a secret by the words before: PASSWORD 'x', IDENTIFIED BY 'x', SET PASSWORD FOR ann = 'x',
 * PRAGMA key = 'x', CREATE SECRET (SECRET 'x'). */
static bool awaits_quoted(const struct redact *r)
{
	if (str_is(r->before, "="))
		return r->said & SAID_set_password || (r->said & SAID_pragma && names_pragma_key(r->earlier));
	if (r->said & SAID_create_secret && name_sort(r->before) == NAME_strong)
		return true;
	return equals_ignoring_case(r->before, "password") ||
	       (r->said & SAID_identified && equals_ignoring_case(r->before, "by"));
}

/* PRAGMA key='x', in one word, which what follows the string may end. */
static bool by_pragma(const struct redact *r, struct str s, size_t *ret_from, size_t *ret_to)
{
	const char *mark = r->said & SAID_pragma ? memchr(s.p, '=', s.n) : NULL;
	size_t from = mark ? (size_t)(mark - s.p) + 1 : 0;
	if (!from || from >= s.n || !names_pragma_key(str_n(s.p, from - 1)))
		return false;
	const char *end = quote_is(s.p[from]) ? memchr(s.p + from + 1, s.p[from], s.n - from - 1) : NULL;
	*ret_from = from;
	*ret_to = end ? (size_t)(end - s.p) + 1 : s.n;
	return true;
}

bool statement_hides(const struct redact *r, struct str s, bool quoted, size_t *ret_from, size_t *ret_to)
{
	if (!r->said)
		return false;
	*ret_from = 0;
	*ret_to = s.n;
	if (r->said & SAID_login && equals_ignoring_case(r->before, "password"))
		return true;
	if (by_pragma(r, s, ret_from, ret_to))
		return true;
	const char *end = !quoted && s.n > 2 && quote_is(s.p[0]) ? memchr(s.p + 1, s.p[0], s.n - 1) : NULL;
	if (!quoted && (!end || end == s.p + 1))
		return false;
	*ret_from = quoted ? 0 : 1;
	*ret_to = quoted ? s.n : (size_t)(end - s.p);
	return awaits_quoted(r);
}

void statement_observe(struct redact *r, struct str s)
{
	if (s.n < 5 || s.n > 10)
		return;
	switch (s.p[0] | 0x20) {
	case 'p':
		if (equals_ignoring_case(s, "password"))
			r->said |= SAID_password | (equals_ignoring_case(r->before, "set") ? SAID_set_password : 0);
		r->said |= equals_ignoring_case(s, "pragma") ? SAID_pragma : 0;
		break;
	case 's':
		r->said |= equals_ignoring_case(s, "secret") && creates_secret(r->before) ? SAID_create_secret : 0;
		break;
	case 'i':
		r->said |= equals_ignoring_case(s, "identified") ? SAID_identified : 0;
		break;
	case 'l':
		r->said |= equals_ignoring_case(s, "login") && r->before.n ? SAID_login : 0;
		break;
	}
}
