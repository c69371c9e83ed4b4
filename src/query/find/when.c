#include "query/find/when.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NS 1000000000ll

/* Exactly n digits at *p. */
static bool read_exact_digits(const char **p, int n, int *ret)
{
	int v = 0;
	for (int i = 0; i < n; i++) {
		if (!isdigit((unsigned char)(*p)[i]))
			return false;
		v = v * 10 + ((*p)[i] - '0');
	}
	*p += n;
	*ret = v;
	return true;
}

/* Z, +hh:mm, +hhmm, +hh: minutes east. */
static bool read_utc_offset(const char **p, long *ret)
{
	int h = 0, m = 0;
	if (**p == 'Z' || **p == 'z') {
		(*p)++;
		*ret = 0;
		return true;
	}
	int sign = **p == '-' ? -1 : 1;
	(*p)++;
	if (!read_exact_digits(p, 2, &h))
		return false;
	if (**p == ':')
		(*p)++;
	if (isdigit((unsigned char)**p) && !read_exact_digits(p, 2, &m))
		return false;
	*ret = sign * (h * 60L + m);
	return h < 24 && m < 60;
}

/* yyyy-mm-dd, with months from 0 and years from 1900 on as in struct tm. */
static bool read_date(const char **p, struct tm *tm)
{
	if (!read_exact_digits(p, 4, &tm->tm_year) || *(*p)++ != '-' || !read_exact_digits(p, 2, &tm->tm_mon) ||
	    *(*p)++ != '-' || !read_exact_digits(p, 2, &tm->tm_mday))
		return false;
	if (tm->tm_mon < 1 || tm->tm_mon > 12 || tm->tm_mday < 1 || tm->tm_mday > 31)
		return false;
	tm->tm_year -= 1900;
	tm->tm_mon--;
	return true;
}

/* Reads a time of day: hh:mm, hh:mm:ss, hh:mm:ss.fraction; *ret_ns is the fraction. */
static bool read_time_of_day(const char **p, struct tm *tm, int64_t *ret_ns)
{
	if (!read_exact_digits(p, 2, &tm->tm_hour) || *(*p)++ != ':' || !read_exact_digits(p, 2, &tm->tm_min))
		return false;
	if (**p == ':') {
		(*p)++;
		if (!read_exact_digits(p, 2, &tm->tm_sec))
			return false;
		if (**p == '.' || **p == ',') {
			(*p)++;
			for (int64_t unit = NS / 10; isdigit((unsigned char)**p); (*p)++, unit /= 10)
				*ret_ns += unit * (**p - '0');
		}
	}
	return tm->tm_hour <= 23 && tm->tm_min <= 59 && tm->tm_sec <= 60;
}

/* The moment, by the offset to UTC that is given, else by this machine's zone. */
static bool read_zone(const char **p, struct tm *tm, time_t *ret)
{
	long east;
	if (!**p || !strchr("Zz+-", **p)) {
		*ret = mktime(tm);
		return true;
	}
	if (!read_utc_offset(p, &east))
		return false;
	*ret = timegm(tm) - east * 60;
	return true;
}

/* A date, with a time of day and a zone or without: in ns since 1970. 0, -EINVAL. */
static int parse_calendar_time(const char *p, int64_t *ret)
{
	struct tm tm = {.tm_isdst = -1};
	int64_t ns = 0;
	time_t t;
	if (!read_date(&p, &tm))
		return -EINVAL;
	if (*p == 'T' || *p == ' ') {
		p++;
		if (!read_time_of_day(&p, &tm, &ns))
			return -EINVAL;
	}
	if (!read_zone(&p, &tm, &t) || *p || t > INT64_MAX / NS - 1 || t < INT64_MIN / NS + 1)
		return -EINVAL;
	*ret = (int64_t)t * NS + ns;
	return 0;
}

/* "90d" and its like: so long before now. 0, -EINVAL. */
static int parse_time_ago(const char *text, int64_t now, int64_t *ret)
{
	static const struct {
		char letter;
		int64_t seconds;
	} units[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}, {'w', 604800}};
	char *end;
	errno = 0;
	long long n = strtoll(text, &end, 10);
	if (errno || !isdigit((unsigned char)*text))
		return -EINVAL;
	while (*end == ' ')
		end++;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (*end == units[i].letter && (!end[1] || strcmp(end + 1, " ago") == 0)) {
			int64_t ns;
			if (__builtin_mul_overflow((int64_t)n, units[i].seconds * NS, &ns) || __builtin_sub_overflow(now, ns, ret))
				return -EINVAL;
			return 0;
		}
	return -EINVAL;
}

int when_parse(const char *text, int64_t now, int64_t *ret)
{
	if (strcmp(text, "now") == 0) {
		*ret = now;
		return 0;
	}
	bool yesterday = strcmp(text, "yesterday") == 0;
	if (yesterday || strcmp(text, "today") == 0) {
		time_t t = (time_t)(now / NS);
		struct tm tm;
		if (!localtime_r(&t, &tm))
			return -EINVAL;
		tm.tm_hour = tm.tm_min = tm.tm_sec = 0;
		tm.tm_mday -= yesterday;
		tm.tm_isdst = -1;
		*ret = (int64_t)mktime(&tm) * NS;
		return 0;
	}
	return strlen(text) > 5 && text[4] == '-' ? parse_calendar_time(text, ret) : parse_time_ago(text, now, ret);
}
