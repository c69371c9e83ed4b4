#include "answer/js.h"

#include "base/base64.h"
#include "base/buf.h"
#include "base/utf8.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NS 1000000000ll

/* Appends s as UTF-8. */
static void to_utf8(struct buf *b, struct str s)
{
	uint32_t c;
	for (size_t i = 0, n; i < s.n; i += n) {
		n = utf8_char(s.p + i, s.n - i, &c);
		if (n) {
			buf_add(b, s.p + i, n);
		} else {
			buf_printf(b, "\xef\xbf\xbd");
			n = 1;
		}
	}
}

/* Takes value over, also if it fails; o and value may be NULL then. */
void js_put(json_t *o, const char *key, json_t *value)
{
	json_object_set_new(o, key, value);
}

/* Takes value over, also if it fails. */
void js_add(json_t *array, json_t *value)
{
	json_array_append_new(array, value);
}

/* A new JSON string; bytes that are not UTF-8 are replaced, and *ret_whole false. NULL: no memory. */
static json_t *string_of(struct str s, bool *ret_whole)
{
	struct buf b = {0};
	*ret_whole = utf8_is_valid(s);
	if (*ret_whole) /* nearly all */
		return json_stringn(s.n ? s.p : "", s.n);
	to_utf8(&b, s);
	json_t *v = b.failed ? NULL : json_stringn(b.p ? b.p : "", b.n);
	buf_release(&b);
	return v;
}

/* A new JSON string in base64. NULL without memory. */
static json_t *base64_of(struct str s)
{
	struct buf b = {0};
	base64_append(&b, s);
	json_t *v = b.failed ? NULL : json_stringn(b.p ? b.p : "", b.n);
	buf_release(&b);
	return v;
}

json_t *js_string(struct str s)
{
	bool whole;
	return string_of(s, &whole);
}

/* Sets o[key]. A text that is no UTF-8 gets a twin, key_base64, with its bytes; key must be short (70). */
void js_str(json_t *o, const char *key, struct str s)
{
	bool whole;
	js_put(o, key, string_of(s, &whole));
	if (!whole) {
		char twin[80];
		snprintf(twin, sizeof(twin), "%s_base64", key);
		js_put(o, twin, base64_of(s));
	}
}

void js_str_if(json_t *o, const char *key, struct str s)
{
	if (s.n)
		js_str(o, key, s);
}

void js_list(json_t *o, const char *key, const struct strlist *l)
{
	json_t *list = json_array();
	struct str s;
	bool all = true, whole;
	for (size_t pos = 0; strlist_next(l, &pos, &s); all &= whole)
		js_add(list, string_of(s, &whole));
	js_put(o, key, list);
	if (all)
		return;
	json_t *exact = json_array();
	for (size_t pos = 0; strlist_next(l, &pos, &s);)
		js_add(exact, base64_of(s));
	char twin[80];
	snprintf(twin, sizeof(twin), "%s_base64", key);
	js_put(o, twin, exact);
}

void js_pairs(json_t *o, const char *key, const struct strlist *l)
{
	json_t *pairs = json_object();
	struct str s;
	for (size_t pos = 0; strlist_next(l, &pos, &s);) {
		const char *eq = s.n ? memchr(s.p, '=', s.n) : NULL;
		size_t n = eq ? (size_t)(eq - s.p) : s.n;
		struct buf name = {0};
		to_utf8(&name, str_n(s.p, n));
		js_str(pairs, buf_cstr(&name), eq ? str_n(eq + 1, s.n - n - 1) : str_of(""));
		buf_release(&name);
	}
	js_put(o, key, pairs);
}

/* Sets o[key]; text may not be NULL. */
void js_text(json_t *o, const char *key, const char *text)
{
	js_str(o, key, str_of(text));
}

/* Sets o[key] to the public id. */
void js_pub(json_t *o, const char *key, const struct pubid *id)
{
	js_str(o, key, str_n(id->text, strnlen(id->text, sizeof(id->text))));
}

/* Sets o[key]; INT64_MAX at most. */
void js_num(json_t *o, const char *key, uint64_t n)
{
	js_put(o, key, json_integer((json_int_t)(n > INT64_MAX ? INT64_MAX : n)));
}

/* Sets o[key] to the number as a text, since readers of JSON lose digits of large ones. */
void js_big(json_t *o, const char *key, uint64_t n)
{
	char text[24];
	snprintf(text, sizeof(text), "%llu", (unsigned long long)n);
	js_text(o, key, text);
}

/* Sets o[key]. */
void js_bool(json_t *o, const char *key, bool yes)
{
	js_put(o, key, json_boolean(yes));
}

/* "2026-01-31T23:59:59", by the Gregorian calendar for years of four digits; others by the C library. 0: it cannot. */
static size_t second_text(int64_t s, char text[JS_TIME_MAX])
{
	const int64_t first = -30610224000, last = 253402300799; /* 1000-01-01, 9999-12-31T23:59:59 */
	if (s < first || s > last) {
		time_t t = (time_t)s;
		struct tm tm;
		return gmtime_r(&t, &tm) ? strftime(text, JS_TIME_MAX, "%Y-%m-%dT%H:%M:%S", &tm) : 0;
	}
	/* Days since 1 March of the year 0: the leap day is the last of a year. */
	int64_t day = s / 86400 - (s % 86400 < 0), of_day = s - day * 86400;
	day += 719468;
	int64_t era = day / 146097, of_era = day % 146097;
	int64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
	int64_t of_year = of_era - (365 * year + year / 4 - year / 100), month = (5 * of_year + 2) / 153;
	const int64_t parts[] = {year + era * 400 + (month >= 10),
	                         month + (month < 10 ? 3 : -9),
	                         of_year - (153 * month + 2) / 5 + 1,
	                         of_day / 3600,
	                         of_day / 60 % 60,
	                         of_day % 60};
	memcpy(text, "0000-00-00T00:00:00", 19);
	for (int64_t i = 3, v = parts[0]; i >= 0; i--, v /= 10)
		text[i] = (char)('0' + v % 10);
	for (size_t i = 1; i < 6; i++) {
		text[3 * i + 2] = (char)('0' + parts[i] / 10);
		text[3 * i + 3] = (char)('0' + parts[i] % 10);
	}
	return 19;
}

size_t js_time_text(int64_t ns, char ret[JS_TIME_MAX])
{
	if (ns == TIME_NONE || ns == TIME_NEVER)
		return 0;
	int64_t s = ns / NS - (ns % NS < 0), rest = ns - s * NS;
	size_t n = second_text(s, ret);
	if (!n || n + 12 > JS_TIME_MAX)
		return 0;
	ret[n] = '.';
	for (size_t i = 9; i; i--, rest /= 10)
		ret[n + i] = (char)('0' + rest % 10);
	ret[n + 10] = 'Z';
	ret[n + 11] = '\0';
	return n + 11;
}

/* A JSON string, or null where the time has no text, such as one that is not known. */
static json_t *time_of(int64_t ns)
{
	char text[JS_TIME_MAX];
	size_t n = js_time_text(ns, text);
	return n ? json_stringn(text, n) : json_null();
}

/* Sets o[key] to the time (ns); null where there is none. */
void js_time(json_t *o, const char *key, int64_t ns)
{
	js_put(o, key, time_of(ns));
}

void js_times(json_t *o, const char *key, int64_t lo, int64_t hi)
{
	json_t *both = json_array();
	js_add(both, time_of(lo));
	js_add(both, time_of(hi));
	js_put(o, key, both);
}

void js_ending(json_t *o, const char *key, uint64_t ending, uint64_t code)
{
	json_t *v = NULL;
	if (ending == TERM_ending_exited || ending == TERM_ending_signaled) {
		v = json_object();
		js_num(v, ending == TERM_ending_exited ? "status" : "signal", code);
	}
	js_put(o, key, v ? v : json_null());
}

void js_gaps(json_t *o, const char *key, uint64_t gaps)
{
	json_t *list = json_array();
	for (unsigned g = 0; g < 64; g++)
		if (gaps >> g & 1)
			js_add(list, json_string(term_name(SET_gap, g)));
	js_put(o, key, list);
}

json_t *js_real(double v)
{
	return isnan(v) ? json_null() : json_real(v);
}

void js_float(json_t *o, const char *key, double v)
{
	if (isfinite(v))
		js_put(o, key, json_real(v));
	else
		js_text(o, key, isnan(v) ? "nan" : v > 0 ? "inf" : "-inf");
}
