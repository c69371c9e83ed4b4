#include "trust/dates.h"

#include <ctype.h>

/* How many digits stand at p, at most. */
static size_t digits_at(struct str s, size_t at)
{
	size_t n = 0;
	while (at + n < s.n && isdigit((unsigned char)s.p[at + n]))
		n++;
	return n;
}

/* The number that n digits at p make. */
static unsigned number_at(struct str s, size_t at, size_t n)
{
	unsigned v = 0;
	for (size_t i = 0; i < n; i++)
		v = v * 10 + (unsigned)(s.p[at + i] - '0');
	return v;
}

/* Is the character at that place one of these? */
static bool char_at(struct str s, size_t at, const char *which)
{
	return at < s.n && s.p[at] && strchr(which, s.p[at]);
}

/* Can it be a year, a month and a day? */
static bool is_day(unsigned year, unsigned month, unsigned day)
{
	return year >= 1900 && year < 2200 && month >= 1 && month <= 12 && day >= 1 && day <= 31;
}

/* Z, +01:00, +0100 behind a time; 0: there is none. */
static size_t zone_length(struct str s, size_t at)
{
	if (char_at(s, at, "Z"))
		return 1;
	if (!char_at(s, at, "+-"))
		return 0;
	size_t n = digits_at(s, at + 1);
	if (n == 4)
		return 5;
	return n == 2 && char_at(s, at + 3, ":") && digits_at(s, at + 4) == 2 ? 6 : 0;
}

/* 22:30:01, 22:30:01.25Z; short_too: 22:30 as well. 0: it is none. */
static size_t time_length(struct str s, size_t at, bool short_too)
{
	size_t h = digits_at(s, at), n;
	if (!h || h > 2 || number_at(s, at, h) > 23 || !char_at(s, at + h, ":") || digits_at(s, at + h + 1) != 2)
		return 0;
	n = h + 3;
	if (char_at(s, at + n, ":") && digits_at(s, at + n + 1) == 2)
		n += 3;
	else if (!short_too)
		return 0;
	if (char_at(s, at + n, ".,") && digits_at(s, at + n + 1))
		n += 1 + digits_at(s, at + n + 1);
	return n + zone_length(s, at + n);
}

/* A time of day that follows a date, with what stands between. 0: none follows. */
static size_t following_time(struct str s, size_t at)
{
	size_t gap = char_at(s, at, "T _") ? 1 : 0;
	size_t n = time_length(s, at + gap, true);
	return gap && n ? gap + n : 0;
}

/* 2026-11-28, 2026/11/28T22:30 */
static size_t iso_length(struct str s, size_t at)
{
	if (digits_at(s, at) != 4 || !char_at(s, at + 4, "-/.") || digits_at(s, at + 5) != 2 ||
	    !char_at(s, at + 7, "-/.") || digits_at(s, at + 8) < 2)
		return 0;
	if (digits_at(s, at + 8) > 2 || !is_day(number_at(s, at, 4), number_at(s, at + 5, 2), number_at(s, at + 8, 2)))
		return 0;
	return 10 + following_time(s, at + 10);
}

/* 20261128, 20261128223001, 20261128T223001Z */
static size_t compact_length(struct str s, size_t at)
{
	size_t n = digits_at(s, at);
	if ((n != 8 && n != 14) || !is_day(number_at(s, at, 4), number_at(s, at + 4, 2), number_at(s, at + 6, 2)))
		return 0;
	if (n == 8 && char_at(s, at + 8, "T_-") && digits_at(s, at + 9) == 6)
		n += 7;
	return n + zone_length(s, at + n);
}

/* Does one of the words, of three letters each, begin there as a word? */
static bool word_at(struct str s, size_t at, const char *words)
{
	if (at + 3 > s.n || (at + 3 < s.n && isalpha((unsigned char)s.p[at + 3])))
		return false;
	for (; *words; words += 3)
		if (!memcmp(s.p + at, words, 3))
			return true;
	return false;
}

/* How many characters that separate parts of a date stand there, at most 3. */
static size_t blanks_at(struct str s, size_t at)
{
	size_t n = 0;
	while (char_at(s, at + n, " ,-") && n < 3)
		n++;
	return n;
}

/* "Nov 28" or "28 Nov", from at on; 0: it is neither. */
static size_t day_of_month_length(struct str s, size_t at)
{
	static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
	size_t day = digits_at(s, at), gap;
	if (word_at(s, at, months)) {
		gap = blanks_at(s, at + 3);
		day = digits_at(s, at + 3 + gap);
		return gap && day && day <= 2 ? 3 + gap + day : 0;
	}
	gap = day && day <= 2 ? blanks_at(s, at + day) : 0;
	return gap && word_at(s, at + day + gap, months) ? day + gap + 3 : 0;
}

/* What follows such a day: a time, a zone in letters, a year, in whichever order. */
static size_t rest_length(struct str s, size_t at)
{
	size_t n = 0;
	for (int i = 0; i < 3; i++) {
		size_t gap = blanks_at(s, at + n), from = at + n + gap, k = time_length(s, from, true);
		if (!k && digits_at(s, from) == 4 && number_at(s, from, 4) >= 1900)
			k = 4;
		if (!k && zone_length(s, from))
			k = zone_length(s, from);
		if (!k && (word_at(s, from, "UTCGMTCETESTPST")))
			k = 3;
		if (!gap || !k)
			break;
		n += gap + k;
	}
	return n;
}

/* "Sat Nov 28 22:30:01 UTC 2026", "28 Nov 2026"; 0: it is none. */
static size_t named_length(struct str s, size_t at)
{
	size_t n = word_at(s, at, "MonTueWedThuFriSatSun") ? 3 + blanks_at(s, at + 3) : 0;
	size_t day = day_of_month_length(s, at + n);
	return day ? n + day + rest_length(s, at + n + day) : 0;
}

/* How long the date or time is that begins there; 0: none does, or it would begin within a word. */
static size_t date_length(struct str s, size_t at)
{
	if (at && isalnum((unsigned char)s.p[at - 1]) && isalnum((unsigned char)s.p[at]))
		return 0;
	if (isalpha((unsigned char)s.p[at]))
		return named_length(s, at);
	if (!isdigit((unsigned char)s.p[at]))
		return 0;
	size_t n = iso_length(s, at);
	n = n ? n : compact_length(s, at);
	n = n ? n : named_length(s, at);
	return n ? n : time_length(s, at, false);
}

bool dates_only(struct str a, struct str b)
{
	size_t i = 0, k = 0;
	bool differ = false;
	while (i < a.n && k < b.n) {
		size_t x = date_length(a, i), y = date_length(b, k);
		if (x && y) {
			differ |= x != y || memcmp(a.p + i, b.p + k, x) != 0;
			i += x;
			k += y;
		} else if (a.p[i++] != b.p[k++]) {
			return false;
		}
	}
	return differ && i == a.n && k == b.n;
}
