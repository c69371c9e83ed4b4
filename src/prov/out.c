/* out.c - buffered writing and the escapes. */
#include "prov/out.h"

#include "base/base64.h"
#include "base/unsafe_char.h"
#include "base/utf8.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { SIZE = 64 << 10 };

int out_open(struct out *o, int fd)
{
	*o = (struct out){.fd = fd, .p = malloc(SIZE)};
	return o->p ? 0 : -ENOMEM;
}

/* An error stays in o->error, as errno. */
static void write_to_fd(struct out *o, const char *p, size_t n)
{
	while (n && !o->error) {
		ssize_t k = write(o->fd, p, n);
		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0) {
			o->error = errno;
			return;
		}
		p += k;
		n -= (size_t)k;
	}
}

/* Writes what waits. Errors are noted in o. */
static void out_flush(struct out *o)
{
	write_to_fd(o, o->p, o->n);
	o->n = 0;
}

int out_close(struct out *o)
{
	out_flush(o);
	free(o->p);
	o->p = NULL;
	return -o->error;
}

/* Errors are noted in o. */
void out_bytes(struct out *o, const void *p, size_t n)
{
	o->total += n;
	if (o->to) {
		buf_add(o->to, p, n);
		return;
	}
	if (n > SIZE - o->n) {
		out_flush(o);
		if (n > SIZE) {
			write_to_fd(o, p, n);
			return;
		}
	}
	if (n)
		memcpy(o->p + o->n, p, n);
	o->n += n;
}

/* In decimal. */
void out_count(struct out *o, uint64_t n)
{
	char text[20];
	size_t at = sizeof(text);
	do
		text[--at] = (char)('0' + n % 10);
	while (n /= 10);
	out_bytes(o, text + at, sizeof(text) - at);
}

/* Exactly width digits, without a NUL; digits above are lost. */
static void format_padded(char *p, unsigned n, unsigned width)
{
	while (width--) {
		p[width] = (char)('0' + n % 10);
		n /= 10;
	}
}

/* Days to a date as in H. Hinnant, "chrono-compatible low-level date algorithms" (2013): gmtime_r takes a lock. */
void out_time(struct out *o, int64_t ns)
{
	int64_t s = ns / 1000000000, rest = ns % 1000000000;
	if (rest < 0) {
		rest += 1000000000;
		s--;
	}
	int64_t days = s / 86400, day = s % 86400;
	if (day < 0) {
		day += 86400;
		days--;
	}
	days += 719468;
	int64_t era = (days >= 0 ? days : days - 146096) / 146097;
	unsigned doe = (unsigned)(days - era * 146097);
	unsigned yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
	unsigned doy = doe - (365 * yoe + yoe / 4 - yoe / 100), mp = (5 * doy + 2) / 153;
	unsigned d = doy - (153 * mp + 2) / 5 + 1, m = mp < 10 ? mp + 3 : mp - 9;
	int64_t y = (int64_t)yoe + era * 400 + (m <= 2);
	char t[] = "0000-00-00T00:00:00.000000000Z";
	format_padded(t, (unsigned)y, 4);
	format_padded(t + 5, m, 2);
	format_padded(t + 8, d, 2);
	format_padded(t + 11, (unsigned)(day / 3600), 2);
	format_padded(t + 14, (unsigned)(day / 60 % 60), 2);
	format_padded(t + 17, (unsigned)(day % 60), 2);
	format_padded(t + 20, (unsigned)rest, 9);
	out_bytes(o, t, sizeof(t) - 1);
}

/* Bytes of the character at p if it may stand in a text that is not escaped; *ret_next: of what is there. */
static size_t shown_length(const char *p, size_t n, size_t *ret_next)
{
	uint32_t c;
	size_t k = utf8_char(p, n, &c);
	*ret_next = k ? k : 1;
	return k && (!unsafe_char(c) || c == '\n' || c == '\r' || c == '\t') ? k : 0;
}

/* Whether out_shown would write it as it is. */
bool str_is_shown(struct str s)
{
	for (size_t i = 0, k; i < s.n; i += k)
		if (!shown_length(s.p + i, s.n - i, &k))
			return false;
	return true;
}

void out_shown(struct out *o, struct str s)
{
	for (size_t i = 0, k; i < s.n; i += k) {
		size_t n = shown_length(s.p + i, s.n - i, &k);
		out_bytes(o, n ? s.p + i : "\xef\xbf\xbd", n ? n : 3);
	}
}

/* Can the character stand in a JSON string as it is? */
static bool is_plain_json_char(unsigned char c)
{
	return c >= 0x20 && c != '"' && c != '\\' && c != 0x7f;
}

/* Writes a text with escapes. As a JSON string without its quotes. least: what needs more than the short escapes
 * becomes U+FFFD. *ret_exact, which may be NULL: nothing was replaced. */
static void write_escaped(struct out *o, struct str s, bool least, bool *ret_exact)
{
	static const char hex[] = "0123456789ABCDEF";
	const unsigned char *p = (const unsigned char *)s.p, *end = p + s.n, *run = p;
	bool exact = true;
	while (p < end) {
		uint32_t c = 0;
		size_t k = utf8_char((const char *)p, (size_t)(end - p), &c);
		if (k > 1 ? !unsafe_char(c) : k == 1 && is_plain_json_char(*p)) {
			p += k;
			continue;
		}
		out_bytes(o, run, (size_t)(p - run));
		if (k > 1 && !least) {
			/* all of these are below U+10000 */
			char u[] = {'\\', 'u', hex[c >> 12 & 15], hex[c >> 8 & 15], hex[c >> 4 & 15], hex[c & 15]};
			out_bytes(o, u, sizeof(u));
		} else if (!k || k > 1 || (least && !strchr("\"\\\n\r\t", *p))) {
			out_text(o, "\xef\xbf\xbd");
			exact = false;
		} else if (*p == '"' || *p == '\\') {
			out_char(o, '\\');
			out_char(o, (char)*p);
		} else if (*p == '\n')
			out_text(o, "\\n");
		else if (*p == '\r')
			out_text(o, "\\r");
		else if (*p == '\t')
			out_text(o, "\\t");
		else {
			char u[] = {'\\', 'u', '0', '0', hex[*p >> 4], hex[*p & 15]};
			out_bytes(o, u, sizeof(u));
		}
		p += k ? k : 1;
		run = p;
	}
	out_bytes(o, run, (size_t)(end - run));
	if (ret_exact)
		*ret_exact = exact;
}

/* In one line, padded. */
void out_base64(struct out *o, struct str s)
{
	char four[4];
	for (size_t i = 0; i < s.n; i += 3) {
		base64_quad((const unsigned char *)s.p + i, s.n - i, four);
		out_bytes(o, four, sizeof(four));
	}
}

void out_escaped(struct out *o, struct str s, bool *ret_exact)
{
	write_escaped(o, s, false, ret_exact);
}

void out_escaped_least(struct out *o, struct str s, bool *ret_exact)
{
	write_escaped(o, s, true, ret_exact);
}

bool out_list_next(const struct strlist *l, size_t *i, size_t *at, struct str *ret)
{
	if (*i >= l->count || (!l->items && !strlist_next(l, at, ret)))
		return false;
	if (l->items)
		*ret = l->items[*i];
	++*i;
	return true;
}

void out_list(struct out *o, const struct strlist *l, bool base64, bool *ret_exact)
{
	struct str s;
	bool exact = true;
	out_char(o, '[');
	for (size_t i = 0, at = 0; out_list_next(l, &i, &at, &s);) {
		bool ok = true;
		out_text(o, i > 1 ? ",\"" : "\"");
		if (base64)
			out_base64(o, s);
		else
			out_escaped(o, s, &ok);
		out_char(o, '"');
		exact &= ok;
	}
	out_char(o, ']');
	if (ret_exact)
		*ret_exact = exact;
}

struct str out_list_text(struct buf *b, const struct strlist *l, bool base64, bool *ret_exact)
{
	struct out o = out_into(b);
	buf_reset(b);
	out_list(&o, l, base64, ret_exact);
	return buf_view(b);
}

void out_uri(struct out *o, struct str s)
{
	static const char hex[] = "0123456789ABCDEF";
	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];
		bool plain =
		    (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || (c && strchr("-._~/", c));
		char t[] = {'%', hex[c >> 4], hex[c & 15]};
		out_bytes(o, plain ? (char *)&c : t, plain ? 1 : 3);
	}
}
