#include "serve/serve_accept.h"

#include "base/str.h"

#include <strings.h>

enum { QUALITY_ONE = 1000 };

/* Of both ends. Points into s. */
static struct str trim_spaces(struct str s)
{
	while (s.n && (s.p[0] == ' ' || s.p[0] == '\t'))
		s = str_n(s.p + 1, s.n - 1);
	while (s.n && (s.p[s.n - 1] == ' ' || s.p[s.n - 1] == '\t'))
		s.n--;
	return s;
}

/* What stands before c, and *rest behind it. */
static struct str cut_at(struct str s, char c, struct str *rest)
{
	const char *at = s.n ? memchr(s.p, c, s.n) : NULL;
	const size_t n = at ? (size_t)(at - s.p) : s.n;
	*rest = at ? str_n(at + 1, s.n - n - 1) : str_n(NULL, 0);
	return trim_spaces(str_n(s.p, n));
}

/* Reads a quality of an Accept header: 0.123 as 123; what is no number as 1. */
static unsigned read_quality(struct str s)
{
	unsigned v = 0, unit = QUALITY_ONE;
	for (size_t i = 0; i < s.n; i++) {
		if (i == 1 && s.p[i] == '.')
			continue;
		if (s.p[i] < '0' || s.p[i] > '9' || (i == 0 && s.p[i] > '1'))
			return QUALITY_ONE;
		v += (unsigned)(s.p[i] - '0') * unit;
		unit /= 10;
	}
	return s.n && v <= QUALITY_ONE ? v : QUALITY_ONE;
}

/* How exactly a media range names the type: 3 itself, 2 type/ *, 1 anything, 0 not at all. */
static unsigned names_type(struct str range, struct str type)
{
	if (str_is(range, "*/*"))
		return 1;
	if (range.n == type.n && strncasecmp(range.p, type.p, type.n) == 0)
		return 3;
	return range.n >= 3 && range.n < type.n && range.p[range.n - 1] == '*' && range.p[range.n - 2] == '/' &&
	               strncasecmp(range.p, type.p, range.n - 1) == 0
	           ? 2
	           : 0;
}

/* The quality that the most exact range gives to the type. */
static unsigned quality_of(struct str accept, struct str type)
{
	unsigned exact = 0, quality = 0;
	while (accept.n) {
		struct str parameters, rest, one = cut_at(accept, ',', &rest);
		const struct str range = cut_at(one, ';', &parameters);
		const unsigned how = names_type(range, type);
		unsigned q = QUALITY_ONE;
		while (parameters.n) {
			const struct str p = cut_at(parameters, ';', &parameters);
			if (p.n > 2 && (p.p[0] == 'q' || p.p[0] == 'Q') && p.p[1] == '=')
				q = read_quality(str_n(p.p + 2, p.n - 2));
		}
		if (how > exact) {
			exact = how;
			quality = q;
		}
		accept = rest;
	}
	return quality;
}

size_t serve_accept(const char *accept, const char *const *types, size_t n)
{
	size_t best = n;
	unsigned most = 0;
	if (!accept || !*accept)
		return 0;
	for (size_t i = 0; i < n; i++) {
		const unsigned q = quality_of(str_of(accept), str_of(types[i]));
		if (q > most) {
			most = q;
			best = i;
		}
	}
	return best;
}
