#include "summary/units.h"

#include "summary/decimal.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#define NS 1000000000ll
#define PAIRS_MAX 64
#define FINE 10000000 /* a size is read to 10^-7 of its unit */

/* A number, with a fraction or without, of B, kB, MB, GB or TB (of 1024) as bytes. 0, -ENOENT: the unit is none of
 * these, -ERANGE, or decimal_read's error. */
static int parse_sized(struct str number, struct str unit, int64_t *ret)
{
	static const char *const units[] = {"B", "kB", "MB", "GB", "TB"};
	int64_t v;
	int rc;
	for (unsigned i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (!str_is(unit, units[i]))
			continue;
		if (i == 0)
			return decimal_read(number, 0, ret);
		if ((rc = decimal_read(number, 7, &v)) < 0)
			return rc;
		__int128 bytes = (__int128)v * ((int64_t)1 << (10 * i));
		bytes = (bytes + (v < 0 ? -FINE / 2 : FINE / 2)) / FINE;
		if (bytes > INT64_MAX || bytes < INT64_MIN)
			return -ERANGE;
		*ret = (int64_t)bytes;
		return 0;
	}
	return -ENOENT;
}

int units_read(enum figure_name f, struct str number, struct str unit, int64_t *ret)
{
	const char *own = figure_unit(f);
	if (strcmp(own, "B") == 0)
		return parse_sized(number, unit, ret);
	if (strcmp(own, "s") != 0) {
		bool thousandths = str_is(unit, "mcores");
		return decimal_read(number, thousandths ? 0 : (unsigned)figure_decimals(f), ret);
	}
	if (str_is(unit, "s"))
		return decimal_read(number, 9, ret);
	if (str_is(unit, "ms"))
		return decimal_read(number, 6, ret);
	return str_is(unit, "us") ? decimal_read(number, 3, ret) : -ENOENT;
}

/* n digits at *at; -1 none. */
static int parse_n_digits(struct str s, size_t *at, unsigned n)
{
	int v = 0;
	for (unsigned i = 0; i < n; i++, (*at)++) {
		if (*at >= s.n || s.p[*at] < '0' || s.p[*at] > '9')
			return -1;
		v = v * 10 + (s.p[*at] - '0');
	}
	return v;
}

/* Steps over c if it stands at *at. */
static void skip_char_at(struct str s, size_t *at, char c)
{
	*at += *at < s.n && s.p[*at] == c;
}

/* yyyy-mm-dd or yyyymmdd, and a time of day behind a T or blank: hh:mm:ss or hhmmss. False: no date of 1970 to 2200. */
static bool parse_date_time(struct str s, size_t *at, struct tm *ret)
{
	int year = parse_n_digits(s, at, 4);
	skip_char_at(s, at, '-');
	int month = parse_n_digits(s, at, 2);
	skip_char_at(s, at, '-');
	int day = parse_n_digits(s, at, 2);
	skip_char_at(s, at, s.n > *at && s.p[*at] == ' ' ? ' ' : 'T');
	int hour = parse_n_digits(s, at, 2);
	skip_char_at(s, at, ':');
	int minute = parse_n_digits(s, at, 2);
	skip_char_at(s, at, ':');
	int second = parse_n_digits(s, at, 2);
	*ret = (struct tm){.tm_year = year - 1900,
	                   .tm_mon = month - 1,
	                   .tm_mday = day,
	                   .tm_hour = hour,
	                   .tm_min = minute,
	                   .tm_sec = second};
	return year >= 1970 && year <= 2200 && month >= 1 && month <= 12 && day >= 1 && day <= 31 && hour >= 0 &&
	       hour <= 23 && minute >= 0 && minute <= 59 && second >= 0 && second <= 60;
}

/* .fraction of a second, in nanoseconds; 0 none. */
static int64_t parse_fraction(struct str s, size_t *at)
{
	int64_t fraction = 0, unit = NS;
	if (*at < s.n && s.p[*at] == '.')
		for (++*at; *at < s.n && s.p[*at] >= '0' && s.p[*at] <= '9'; ++*at)
			fraction += (s.p[*at] - '0') * (unit /= 10);
	return fraction;
}

/* Z, +hh:mm or +hhmm, in seconds east; nothing is 0. */
static bool parse_summary_zone(struct str s, size_t *at, int64_t *ret)
{
	*ret = 0;
	if (*at < s.n && s.p[*at] == 'Z') {
		++*at;
		return true;
	}
	if (*at >= s.n || (s.p[*at] != '+' && s.p[*at] != '-'))
		return true;
	bool west = s.p[(*at)++] == '-';
	int h = parse_n_digits(s, at, 2);
	skip_char_at(s, at, ':');
	int m = parse_n_digits(s, at, 2);
	*ret = (h * 60 + m) * (west ? -60 : 60);
	return h >= 0 && h <= 23 && m >= 0 && m <= 59;
}

bool units_date(struct str s, int64_t *ret)
{
	struct tm tm;
	size_t at = 0;
	int64_t zone;
	if (!parse_date_time(s, &at, &tm))
		return false;
	int64_t fraction = parse_fraction(s, &at);
	if (!parse_summary_zone(s, &at, &zone))
		return false;
	*ret = ((int64_t)timegm(&tm) - zone) * NS + fraction;
	return at == s.n;
}

int units_pair(struct summary_pair **list, size_t *n, struct str key, struct str value)
{
	key = str_n(key.p ? key.p : "", key.n ? strnlen(key.p, key.n) : 0);
	if (*n >= PAIRS_MAX)
		return 0;
	for (size_t i = 0; i < *n; i++)
		if (str_is(key, (*list)[i].key))
			return 0;
	struct summary_pair *more = realloc(*list, (*n + 1) * sizeof(*more));
	if (!more)
		return -ENOMEM;
	*list = more;
	more += *n;
	*more = (struct summary_pair){strndup(key.p, key.n), strndup(value.p ? value.p : "", value.n)};
	(*n)++;
	if (more->key && more->value)
		return 0;
	free(more->key);
	free(more->value);
	(*n)--;
	return -ENOMEM;
}

const char *summary_host(const struct summary *s, const char *key)
{
	for (size_t i = 0; i < s->nhost; i++)
		if (strcmp(s->host[i].key, key) == 0)
			return s->host[i].value;
	return NULL;
}
