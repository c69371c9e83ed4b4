/* Secrets do not go into the record. What looks like one is replaced before anything is written; the option's name
 * stays, so that a reader sees that there was one. */
#include "capture/run/super.h"

#include <ctype.h>
#include <strings.h>

/* Words in a name that make its value a secret. */
static const char *const words[] = {"passw",      "passphrase", "secret",     "token",        "apikey",
                                    "api-key",    "api_key",    "credential", "private-key",  "private_key",
                                    "access-key", "access_key", "bearer",     "authorization"};
/* What well-known tokens begin with. */
static const char *const heads[] = {"ghp_",  "gho_",  "ghs_",       "github_pat_", "glpat-", "AKIA",
                                    "ASIA",  "xoxb-", "xoxp-",      "sk-",         "hf_",    "npm_",
                                    "pypi-", "AIza",  "eyJhbGciOi", "-----BEGIN"};

static bool has_word(struct str name)
{
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		size_t k = strlen(words[i]);
		for (size_t at = 0; at + k <= name.n; at++)
			if (!strncasecmp(name.p + at, words[i], k))
				return true;
	}
	return false;
}

static bool is_token(struct str v)
{
	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++)
		if (v.n > strlen(heads[i]) + 8 && str_starts(v, str_of(heads[i])))
			return true;
	return false;
}

/* user:password@ after "://". */
static bool url_secret(struct str v, size_t *ret_from, size_t *ret_to)
{
	for (size_t i = 0; i + 3 < v.n; i++) {
		if (memcmp(v.p + i, "://", 3))
			continue;
		size_t colon = 0;
		for (size_t k = i + 3; k < v.n && v.p[k] != '/' && !isspace((unsigned char)v.p[k]); k++) {
			if (v.p[k] == ':' && !colon)
				colon = k;
			if (v.p[k] == '@' && colon) {
				*ret_from = colon + 1;
				*ret_to = k;
				return true;
			}
		}
	}
	return false;
}

void redact_arg(struct buf *out, struct str before, struct str arg)
{
	size_t from, to;
	bool option = before.n > 1 && before.p[0] == '-' && !memchr(before.p, '=', before.n) && has_word(before);
	if ((option && arg.n && arg.p[0] != '-') || is_token(arg)) {
		buf_add(out, "***", 3);
		return;
	}
	const char *eq = arg.n ? memchr(arg.p, '=', arg.n) : NULL;
	const char *colon = arg.n ? memchr(arg.p, ':', arg.n) : NULL;
	const char *sep = eq ? eq : colon; /* name=value, and "Authorization: ..." */
	if (sep) {
		struct str name = str_n(arg.p, (size_t)(sep - arg.p)), value = str_n(sep + 1, arg.n - name.n - 1);
		if (name.n <= 64 && value.n && (has_word(name) || is_token(value)) && !memchr(name.p, '/', name.n)) {
			buf_add(out, arg.p, name.n + 1);
			buf_add(out, "***", 3);
			return;
		}
	}
	if (url_secret(arg, &from, &to)) {
		buf_add(out, arg.p, from);
		buf_add(out, "***", 3);
		buf_add(out, arg.p + to, arg.n - to);
		return;
	}
	buf_str(out, arg);
}
