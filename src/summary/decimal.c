#include "summary/decimal.h"

#include <errno.h>
#include <inttypes.h>

static size_t skip_digits(const char *p, size_t n, size_t at)
{
	size_t first = at;
	while (at < n && p[at] >= '0' && p[at] <= '9')
		at++;
	return at - first;
}

size_t decimal_length(const char *p, size_t n)
{
	size_t at = n && p[0] == '-', k = skip_digits(p, n, at), more;
	if (!k || (k > 1 && p[at] == '0'))
		return 0;
	at += k;
	if (at < n && p[at] == '.') {
		if (!(k = skip_digits(p, n, at + 1)))
			return 0;
		at += 1 + k;
	}
	if (at < n && (p[at] == 'e' || p[at] == 'E')) {
		more = at + 1;
		more += more < n && (p[more] == '-' || p[more] == '+');
		if (!(k = skip_digits(p, n, more)))
			return 0;
		at = more + k;
	}
	return at;
}

void decimal_add(struct buf *b, int64_t value, unsigned decimals)
{
	uint64_t v = value < 0 ? 0 - (uint64_t)value : (uint64_t)value, scale = 1;
	for (unsigned i = 0; i < decimals; i++)
		scale *= 10;
	buf_printf(b, "%s%" PRIu64, value < 0 ? "-" : "", v / scale);
	if (!(v %= scale))
		return;
	for (; v % 10 == 0; decimals--)
		v /= 10;
	buf_printf(b, ".%0*" PRIu64, (int)decimals, v);
}

/* Beyond this many places every number is 0 or too large. */
#define EXPONENT_MAX 1000000

int decimal_read(struct str s, unsigned decimals, int64_t *ret)
{
	if (!s.n || decimal_length(s.p, s.n) != s.n)
		return -EINVAL;
	bool minus = s.p[0] == '-', up = false;
	const char *whole = s.p + minus, *fraction;
	size_t nwhole = skip_digits(s.p, s.n, minus), nfraction = 0, at = minus + nwhole;
	fraction = s.p + at;
	if (at < s.n && s.p[at] == '.') {
		fraction++;
		nfraction = skip_digits(s.p, s.n, at + 1);
		at += 1 + nfraction;
	}
	int64_t exponent = 0;
	if (at < s.n) { /* 'e', which has digits */
		bool down = s.p[++at] == '-';
		for (at += s.p[at] == '-' || s.p[at] == '+'; at < s.n; at++)
			if (exponent < EXPONENT_MAX)
				exponent = exponent * 10 + (s.p[at] - '0');
		if (down)
			exponent = -exponent;
	}
	/* The digits in front of the point once it has moved; beyond the last one come zeros. */
	int64_t all = (int64_t)(nwhole + nfraction), keep = (int64_t)nwhole + exponent + decimals;
	uint64_t v = 0, most = minus ? (uint64_t)INT64_MAX + 1 : INT64_MAX;
	for (int64_t i = 0; i <= keep && keep >= 0 && (i < all || v); i++) {
		unsigned digit = i >= all ? 0 : i < (int64_t)nwhole ? whole[i] - '0' : fraction[i - (int64_t)nwhole] - '0';
		if (i == keep) {
			up = digit >= 5;
			break;
		}
		if (v > (most - digit) / 10)
			return -ERANGE;
		v = v * 10 + digit;
	}
	if (up && v == most)
		return -ERANGE;
	v += up;
	*ret = (int64_t)(minus ? 0 - v : v);
	return 0;
}
