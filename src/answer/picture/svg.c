#include "answer/picture/svg.h"

#include "answer/fmt.h"
#include "base/unsafe_char.h"
#include "base/utf8.h"

static void put_char(struct buf *b, const char *p, size_t len, uint32_t c)
{
	if (!len || unsafe_char(c) || (c & 0xfffe) == 0xfffe)
		buf_str(b, str_of("\xef\xbf\xbd"));
	else if (c == '<')
		buf_str(b, str_of("&lt;"));
	else if (c == '>')
		buf_str(b, str_of("&gt;"));
	else if (c == '&')
		buf_str(b, str_of("&amp;"));
	else if (c == '"')
		buf_str(b, str_of("&quot;"));
	else
		buf_add(b, p, len);
}

/* Appends characters from `at` on, `most` of them. */
static void put_part(struct buf *b, struct str s, size_t at, size_t most)
{
	for (size_t n = 0; at < s.n && n < most; n++) {
		uint32_t c = 0;
		const size_t len = utf8_char(s.p + at, s.n - at, &c);
		put_char(b, s.p + at, len, c);
		at += len ? len : 1;
	}
}

void svg_text(struct buf *b, struct str s)
{
	put_part(b, s, 0, SIZE_MAX);
}

void svg_text_fit(struct buf *b, struct str s, size_t columns, bool from_end)
{
	size_t n = 0, at = 0, skip;
	uint32_t c;
	for (size_t i = 0, len; i < s.n; i += len ? len : 1, n++)
		len = utf8_char(s.p + i, s.n - i, &c);
	if (n <= columns) {
		svg_text(b, s);
		return;
	}
	if (!from_end) {
		put_part(b, s, 0, columns - 1);
		buf_str(b, str_of("\xe2\x80\xa6"));
		return;
	}
	for (skip = n - columns + 1; skip; skip--) {
		const size_t len = utf8_char(s.p + at, s.n - at, &c);
		at += len ? len : 1;
	}
	buf_str(b, str_of("\xe2\x80\xa6"));
	put_part(b, s, at, SIZE_MAX);
}

void svg_begin(struct buf *b, double w, double h, const char *title)
{
	buf_printf(b,
	           "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
	           "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" "
	           "role=\"img\">\n<title>",
	           w, h, w, h);
	svg_text(b, str_of(title));
	buf_str(
	    b,
	    str_of("</title>\n<style>\n"
	           "text { font-family: 'DejaVu Sans Mono', Menlo, Consolas, monospace; font-size: 12px; fill: #1b1f24; }\n"
	           "text.note { font-size: 10px; fill: #57606a; }\n"
	           ".paper { fill: #fff; }\n"
	           ".file, .stream { fill: #fff; stroke: #57606a; }\n"
	           ".source { fill: #fff4df; stroke: #57606a; }\n"
	           ".program, .stage { fill: #e3edfb; stroke: #57606a; }\n"
	           ".frame { fill: #f5f6f8; stroke: #c3c9d2; }\n"
	           ".stream { stroke-dasharray: 2 2; }\n"
	           ".root { stroke: #1b1f24; stroke-width: 2.5; }\n"
	           ".link { fill: none; stroke: #57606a; stroke-width: 1.2; }\n"
	           ".possible { stroke-dasharray: 5 3; }\n"
	           ".arrow { fill: #57606a; }\n"
	           ".grid { stroke: #d5d9e0; }\n"
	           ".bar, .cell { fill: #2563b0; }\n"
	           ".failed { fill: #b4540a; }\n"
	           ".curve { fill: none; stroke: #2563b0; stroke-width: 1.5; }\n"
	           "text.on { fill: #fff; }\n"
	           "@media (prefers-color-scheme: dark) {\n"
	           "  text { fill: #e4e8ed; }\n"
	           "  text.note { fill: #a2abb6; }\n"
	           "  .paper { fill: #14171b; }\n"
	           "  .file, .stream { fill: #1f252c; stroke: #8b95a1; }\n"
	           "  .source { fill: #3a2e16; stroke: #8b95a1; }\n"
	           "  .program, .stage { fill: #1f3350; stroke: #8b95a1; }\n"
	           "  .frame { fill: #191d22; stroke: #454d58; }\n"
	           "  .root { stroke: #e4e8ed; }\n"
	           "  .link { stroke: #8b95a1; }\n"
	           "  .arrow { fill: #8b95a1; }\n"
	           "  .grid { stroke: #363d47; }\n"
	           "  .bar, .cell { fill: #74aef5; }\n"
	           "  .failed { fill: #f0a060; }\n"
	           "  .curve { stroke: #74aef5; }\n"
	           "  text.on { fill: #14171b; }\n"
	           "}\n"
	           "</style>\n<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n"));
}

double svg_step(double most, int steps, bool binary)
{
	double unit = 1;
	while (binary && most / unit >= 1024)
		unit *= 1024;
	double power = 1;
	while (power * 10 <= most / unit)
		power *= 10;
	while (power > most / unit)
		power /= 10;
	static const double of[] = {0.1, 0.2, 0.5, 1, 2, 5};
	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++)
		if (most / unit <= steps * of[i] * power)
			return of[i] * power * unit;
	return 10 * power * unit;
}

double svg_time_at(const struct svg_times *t, double seconds)
{
	const double at = seconds / t->span;
	return t->left + (at < 0 ? 0 : at > 1 ? 1 : at) * (t->right - t->left);
}

void svg_times_axis(struct buf *b, const struct svg_times *t, double top, double bottom)
{
	const double step = svg_step(t->span, 6, false);
	for (int k = 0; k <= 6 && k * step <= t->span * 1.0001; k++) {
		const double x = svg_time_at(t, k * step);
		buf_printf(b,
		           "<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>"
		           "<text class=\"note\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">",
		           x, x, top, bottom, x, bottom + 14);
		if (k == 0 || step * k < 60)
			buf_printf(b, k ? "%.6g s" : "0", step * k);
		else
			fmt_duration(b, (uint64_t)(step * k * 1e9));
		buf_str(b, str_of("</text>\n"));
	}
}
