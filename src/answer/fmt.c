#include "answer/fmt.h"

#include "base/unsafe_char.h"
#include "base/utf8.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

#define NS 1000000000ll

/* ---- text ---- */

/* The letter after the backslash; 0 where there is no short form. */
static char short_escape(uint32_t c)
{
	return c == '\\' ? '\\' : c == '\n' ? 'n' : c == '\t' ? 't' : c == '\r' ? 'r' : 0;
}

void fmt_name(struct buf *b, struct str s)
{
	for (size_t i = 0; i < s.n;) {
		uint32_t c;
		size_t n = utf8_char(s.p + i, s.n - i, &c);
		if (n && c != '\\' && !unsafe_char(c)) {
			buf_add(b, s.p + i, n);
			i += n;
			continue;
		}
		char letter = n == 1 ? short_escape(c) : 0;
		if (letter)
			buf_printf(b, "\\%c", letter);
		else
			for (size_t k = 0; k < (n ? n : 1); k++)
				buf_printf(b, "\\x%02x", (unsigned char)s.p[i + k]);
		i += n ? n : 1;
	}
}

void fmt_source(struct buf *b, struct str s)
{
	const char *p = s.p, *end = s.p + s.n;
	while (p < end) {
		size_t plain = 0;
		while (p + plain < end && !(p[plain] && strchr("\t\r\\", p[plain])))
			plain++;
		fmt_name(b, str_n(p, plain));
		p += plain;
		if (p < end)
			buf_printf(b, "%s", *p == '\t' ? "    " : *p == '\\' ? "\\" : "");
		p += p < end;
	}
}

void fmt_path(struct buf *b, struct str path)
{
	static char *here;
	static bool looked;
	if (!looked) {
		looked = true;
		here = getcwd(NULL, 0);
	}
	struct str cwd = str_of(here);
	if (cwd.n > 1 && str_starts(path, cwd) && path.n > cwd.n + 1 && path.p[cwd.n] == '/')
		path = str_n(path.p + cwd.n + 1, path.n - cwd.n - 1);
	fmt_name(b, path);
}

void fmt_csv(struct buf *b, struct str s, bool text)
{
	bool quote = false, formula = text && unsafe_formula(s);
	for (size_t i = 0; i < s.n; i++)
		quote |= strchr(",\"\r\n", s.p[i]) != NULL;
	if (quote)
		buf_char(b, '"');
	if (formula)
		buf_char(b, '\'');
	for (size_t i = 0, n; i < s.n; i += n) {
		uint32_t c;
		n = utf8_char(s.p + i, s.n - i, &c);
		if (n && (!unsafe_char(c) || c == '\n' || c == '\r' || c == '\t')) {
			if (c == '"')
				buf_char(b, '"');
			buf_add(b, s.p + i, n);
			continue;
		}
		n = n ? n : 1;
		for (size_t k = 0; k < n; k++)
			buf_printf(b, "\\x%02x", (unsigned char)s.p[i + k]);
	}
	if (quote)
		buf_char(b, '"');
}

void fmt_version(struct buf *b, struct str path, uint64_t n)
{
	fmt_path(b, path);
	buf_printf(b, "@{%llu}", (unsigned long long)n);
}

/* Does a shell leave the character alone? Not {a,b} and ^, which some expand; {} alone is no list. */
static bool is_plain_in_shell(uint32_t c)
{
	return c >= 0x80 ? !unsafe_char(c) : c && (isalnum((int)c) || strchr("%+,-./:=@_", (int)c));
}

void fmt_arg(struct buf *b, struct str arg)
{
	bool plain = arg.n > 0, odd = false;
	for (size_t i = 0; i < arg.n;) {
		uint32_t c;
		size_t n = utf8_char(arg.p + i, arg.n - i, &c);
		odd |= !n || unsafe_char(c);
		plain &= n && is_plain_in_shell(c);
		i += n ? n : 1;
	}
	if (plain || str_is(arg, "{}")) {
		buf_str(b, arg);
		return;
	}
	buf_printf(b, odd ? "$'" : "'");
	for (size_t i = 0, n; i < arg.n; i += n) {
		n = 1;
		if (odd && arg.p[i] == '\'') {
			buf_printf(b, "\\'");
		} else if (odd) {
			uint32_t c;
			n = utf8_char(arg.p + i, arg.n - i, &c);
			n = n ? n : 1;
			fmt_name(b, str_n(arg.p + i, n));
		} else if (arg.p[i] == '\'') {
			buf_printf(b, "'\\''");
		} else {
			buf_char(b, arg.p[i]);
		}
	}
	buf_char(b, '\'');
}

void fmt_argv(struct buf *b, const struct strlist *argv, bool brief, size_t max)
{
	size_t start = b->n, pos = 0;
	struct str arg;
	for (bool first = true; strlist_next(argv, &pos, &arg); first = false) {
		if (!first)
			buf_char(b, ' ');
		if (b->n - start > max) {
			buf_printf(b, "...");
			return;
		}
		const char *slash = first && brief && arg.n ? memrchr(arg.p, '/', arg.n) : NULL;
		if (slash && slash + 1 < arg.p + arg.n)
			arg = str_n(slash + 1, (size_t)(arg.p + arg.n - slash - 1));
		if (arg.n > max) {
			fmt_arg(b, str_n(arg.p, max));
			buf_printf(b, "...");
			return;
		}
		fmt_arg(b, arg);
	}
}

/* ---- times and amounts ---- */

void fmt_time(struct buf *b, int64_t ns, bool shorter)
{
	if (ns == TIME_NONE || ns == TIME_NEVER) {
		buf_char(b, ns == TIME_NONE ? '?' : '-');
		return;
	}
	time_t t = (time_t)(ns / NS - (ns % NS < 0));
	struct tm tm;
	char text[64];
	if (!localtime_r(&t, &tm) || !strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm)) {
		buf_char(b, '?');
		return;
	}
	buf_printf(b, "%s", text);
	if (shorter)
		return;
	long off = tm.tm_gmtoff / 60;
	if (off == 0)
		buf_char(b, 'Z');
	else
		buf_printf(b, "%c%02ld:%02ld", off < 0 ? '-' : '+', labs(off) / 60, labs(off) % 60);
}

/* 250 ms, 2.50 s, 3:07, 2:10:00, 3d 02:10. */
void fmt_duration(struct buf *b, uint64_t ns)
{
	uint64_t s = ns / NS;
	if (ns < NS)
		buf_printf(b, "%u ms", (unsigned)(ns / 1000000));
	else if (s < 60)
		buf_printf(b, "%.*f s", s < 10 ? 2 : 1, (double)ns / 1e9);
	else if (s < 3600)
		buf_printf(b, "%u:%02u", (unsigned)(s / 60), (unsigned)(s % 60));
	else if (s < 86400)
		buf_printf(b, "%u:%02u:%02u", (unsigned)(s / 3600), (unsigned)(s / 60 % 60), (unsigned)(s % 60));
	else
		buf_printf(b, "%llud %02u:%02u", (unsigned long long)(s / 86400), (unsigned)(s / 3600 % 24),
		           (unsigned)(s / 60 % 60));
}

void fmt_span(struct buf *b, int64_t from, int64_t to)
{
	int64_t span;
	if (from == TIME_NONE || to == TIME_NONE || to == TIME_NEVER || __builtin_sub_overflow(to, from, &span) || span < 0)
		buf_char(b, to == TIME_NEVER ? '-' : '?');
	else
		fmt_duration(b, (uint64_t)span);
}

void fmt_size(struct buf *b, uint64_t size, bool bytes)
{
	static const char units[] = "KMGTPE";
	if (bytes) {
		buf_printf(b, "%llu", (unsigned long long)size);
		return;
	}
	if (size < 1024) {
		buf_printf(b, "%llu B", (unsigned long long)size);
		return;
	}
	double v = (double)size / 1024;
	size_t u = 0;
	for (; v >= 1023.95 && units[u + 1]; u++)
		v /= 1024;
	buf_printf(b, "%.1f %ciB", v, units[u]);
}

void fmt_ending(struct buf *b, uint64_t ending, uint64_t code)
{
	if (ending == TERM_ending_exited && code == 0) {
		buf_printf(b, "ok");
	} else if (ending == TERM_ending_exited) {
		buf_printf(b, "%llu", (unsigned long long)code);
	} else if (ending == TERM_ending_signaled) {
		const char *name = code < 65 ? sigabbrev_np((int)code) : NULL;
		if (name)
			buf_printf(b, "SIG%s", name);
		else
			buf_printf(b, "signal %llu", (unsigned long long)code);
	} else {
		buf_char(b, '?');
	}
}

struct str fmt_run(struct str ulid)
{
	return ulid.n > 8 ? str_n(ulid.p + ulid.n - 8, 8) : ulid;
}

/* ---- columns ---- */

size_t fmt_columns(struct str s)
{
	size_t columns = 0;
	for (size_t i = 0; i < s.n;) {
		uint32_t c;
		size_t n = utf8_char(s.p + i, s.n - i, &c);
		int w = n > 1 ? wcwidth((wchar_t)c) : 1;
		columns += w < 0 ? 1 : (size_t)w;
		i += n ? n : 1;
	}
	return columns;
}

void fmt_fit(struct buf *b, size_t from, size_t columns, bool utf8)
{
	if (b->failed || from > b->n || fmt_columns(str_n(b->p + from, b->n - from)) <= columns)
		return;
	size_t dots = utf8 ? 1 : 3, keep = columns > dots ? columns - dots : 0;
	size_t i = from;
	for (size_t used = 0; i < b->n;) {
		uint32_t c;
		size_t n = utf8_char(b->p + i, b->n - i, &c);
		n = n ? n : 1;
		used += fmt_columns(str_n(b->p + i, n));
		if (used > keep)
			break;
		i += n;
	}
	b->n = i;
	buf_printf(b, utf8 ? "\xe2\x80\xa6" : "...");
}
