#include "redact/quote.h"

#define BACKSLASHES 16 /* before one quote, at most */

struct str quote_ahead(struct str s, size_t from)
{
	return s.n - from > QUOTE_AHEAD ? str_n(s.p, from + QUOTE_AHEAD) : s;
}

size_t quote_escaped(struct str s, size_t i)
{
	size_t k = i;
	if (i + 4 <= s.n && !memcmp(s.p + i, "'\\''", 4))
		return 4;
	while (k < s.n && s.p[k] == '\\' && k - i < BACKSLASHES)
		k++;
	return k > i && k < s.n && quote_is(s.p[k]) ? k + 1 - i : 0;
}

size_t quote_escaped_end(struct str s, size_t from, size_t n)
{
	for (size_t at = from; at + n <= s.n; at++)
		if (s.p[at] == s.p[from - n] && s.p[at - 1] != '\\' && !memcmp(s.p + at, s.p + from - n, n))
			return at;
	return s.n;
}

size_t quote_still_open(struct str s, size_t at, size_t end)
{
	bool open = false;
	while (at < end) {
		size_t n = s.p[at] == '\\' ? quote_escaped(s, at) : 0;
		if (n && s.p[at + n - 1] == '"')
			open = !open;
		at += n ? n : 1;
	}
	const char *close = open ? memmem(s.p + at, quote_ahead(s, at).n - at, "\\\"", 2) : NULL;
	return close ? (size_t)(close - s.p) + 2 : end;
}
