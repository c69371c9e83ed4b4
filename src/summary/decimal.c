#include "summary/decimal.h"

#include <errno.h>
#include <inttypes.h>

/* How many digits stand there. */
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

/* A number that decimal_length has accepted, taken apart. */
struct decimal_parts {
	bool minus;
	const char *whole, *fraction; /* digits */
	size_t nwhole, nfraction;
	int64_t exponent; /* within EXPONENT_MAX and some */
};

/* Takes a number apart. s: must be a number of JSON. Parts of it, with the exponent bounded. */
static struct decimal_parts split_decimal(struct str s)
{
	struct decimal_parts d = {.minus = s.p[0] == '-'};
	d.whole = s.p + d.minus;
	d.nwhole = skip_digits(s.p, s.n, d.minus);
	size_t at = d.minus + d.nwhole;
	d.fraction = s.p + at;
	if (at < s.n && s.p[at] == '.') {
		d.fraction++;
		d.nfraction = skip_digits(s.p, s.n, at + 1);
		at += 1 + d.nfraction;
	}
	if (at < s.n) { /* 'e', which has digits */
		bool down = s.p[++at] == '-';
		for (at += s.p[at] == '-' || s.p[at] == '+'; at < s.n; at++)
			if (d.exponent < EXPONENT_MAX)
				d.exponent = d.exponent * 10 + (s.p[at] - '0');
		if (down)
			d.exponent = -d.exponent;
	}
	return d;
}

int decimal_read(struct str s, unsigned decimals, int64_t *ret)
{
	if (!s.n || decimal_length(s.p, s.n) != s.n)
		return -EINVAL;
	const struct decimal_parts d = split_decimal(s);
	bool up = false;
	/* The digits in front of the point once it has moved; beyond the last one come zeros. */
	int64_t nwhole = (int64_t)d.nwhole, all = nwhole + (int64_t)d.nfraction, keep = nwhole + d.exponent + decimals;
	uint64_t v = 0, most = d.minus ? (uint64_t)INT64_MAX + 1 : INT64_MAX;
	for (int64_t i = 0; i <= keep && keep >= 0 && (i < all || v); i++) {
		unsigned digit = i >= all ? 0 : i < nwhole ? d.whole[i] - '0' : d.fraction[i - nwhole] - '0';
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
	*ret = (int64_t)(d.minus ? 0 - v : v);
	return 0;
}
