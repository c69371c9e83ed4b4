#include "cmd/table/table_svg.h"

#include "base/utf8.h"

#include <math.h>

#define WIDTH 720
#define HEIGHT 440
#define LEFT 80
#define RIGHT 150
#define TOP 40
#define BOTTOM 60
#define LEGEND_MAX 18
#define NAME_MAX_BYTES 60

/* Eight colours that are told apart also by those who do not see red and green alike. */
static const char *const colours[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                      "#e69f00", "#56b4e9", "#000000", "#7f7f00"};

struct axis {
	double from, to, step;
};

/* Appends a text as XML. At most NAME_MAX_BYTES; what XML cannot hold becomes U+FFFD. */
static void put_xml(struct buf *b, struct str s)
{
	size_t n = s.n < NAME_MAX_BYTES ? s.n : NAME_MAX_BYTES;
	for (size_t i = 0; i < n;) {
		uint32_t ch;
		size_t len = utf8_char(s.p + i, n - i, &ch);
		unsigned char c = (unsigned char)s.p[i];
		if (!len || (c < 0x20 && c != '\t') || c == 0x7f)
			buf_printf(b, "\xef\xbf\xbd");
		else if (c == '<')
			buf_printf(b, "&lt;");
		else if (c == '>')
			buf_printf(b, "&gt;");
		else if (c == '&')
			buf_printf(b, "&amp;");
		else
			buf_add(b, s.p + i, len);
		i += len ? len : 1;
	}
	if (n < s.n)
		buf_printf(b, "\xe2\x80\xa6");
}

/* Steps of 1, 2 or 5 times a power of ten, about five of them. */
static struct axis axis_of(double lo, double hi)
{
	double span = hi - lo;
	if (!(span > 0)) { /* one value: as much room on both sides as it is large */
		double room = fabs(lo) > 0 ? fabs(lo) * 0.5 : 1;
		lo -= room;
		hi += room;
		span = hi - lo;
	}
	if (!isfinite(span)) { /* more than a double can tell apart */
		lo /= 2;
		hi /= 2;
		span = hi - lo;
	}
	double raw = span / 5, power = pow(10, floor(log10(raw))), times = raw / power;
	struct axis a = {.step = power * (times <= 1 ? 1 : times <= 2 ? 2 : times <= 5 ? 5 : 10)};
	a.from = floor(lo / a.step) * a.step;
	a.to = ceil(hi / a.step) * a.step;
	if (!(a.to > a.from) || !(a.step > 0)) {
		a = (struct axis){lo, hi, span};
	}
	return a;
}

/* Returns the place of a value on an axis. Of v in [a->from, a->to], as from..to; what lies outside is put at the
 * end. */
static double axis_position(const struct axis *a, double v, double from, double to)
{
	double at = (v - a->from) / (a->to - a->from);
	return from + (at < 0 ? 0 : at > 1 ? 1 : at) * (to - from);
}

/* Returns where a value is in the picture's units, from the left. */
static double at_x(const struct axis *a, double v)
{
	return axis_position(a, v, LEFT, WIDTH - RIGHT);
}
/* Returns where a value is in the picture's units, from the top: large values lie above. */
static double at_y(const struct axis *a, double v)
{
	return axis_position(a, v, HEIGHT - BOTTOM, TOP);
}

/* Lines, numbers and titles of both axes; 12 steps at most. */
static void put_axes(struct buf *b, const struct plot *p, const struct axis *x, const struct axis *y)
{
	enum { TICKS = 12 };
	for (int i = 0; i <= TICKS; i++) {
		double v = x->from + i * x->step, at = at_x(x, v);
		if (v > x->to + x->step / 2)
			break;
		buf_printf(b,
		           "<line x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\" stroke=\"#ddd\"/>"
		           "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%.6g</text>\n",
		           at, TOP, at, HEIGHT - BOTTOM, at, HEIGHT - BOTTOM + 18, fabs(v) < x->step * 1e-9 ? 0 : v);
	}
	for (int i = 0; i <= TICKS; i++) {
		double v = y->from + i * y->step, at = at_y(y, v);
		if (v > y->to + y->step / 2)
			break;
		buf_printf(b,
		           "<line x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\" stroke=\"#ddd\"/>"
		           "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%.6g</text>\n",
		           LEFT, at, WIDTH - RIGHT, at, LEFT - 6, at + 4, fabs(v) < y->step * 1e-9 ? 0 : v);
	}
	buf_printf(b, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"none\" stroke=\"#444\"/>\n", LEFT, TOP,
	           WIDTH - RIGHT - LEFT, HEIGHT - BOTTOM - TOP);
	buf_printf(b, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">", (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 18);
	put_xml(b, p->x);
	buf_printf(b, "</text>\n<text transform=\"translate(18 %d) rotate(-90)\" text-anchor=\"middle\">",
	           (TOP + HEIGHT - BOTTOM) / 2);
	put_xml(b, p->y);
	buf_printf(b, "</text>\n<text x=\"%d\" y=\"22\" font-size=\"15\">", LEFT);
	put_xml(b, p->title);
	buf_printf(b, "</text>\n");
}

/* Are both numbers of the point finite? */
static bool is_drawn(const struct plot_point *p)
{
	return isfinite(p->x) && isfinite(p->y);
}

/* Lines or points of each series. Points of one series must follow each other; those that are not finite are left out.
 * */
static void put_series(struct buf *b, const struct plot *p, const struct axis *x, const struct axis *y)
{
	for (size_t i = 0; i < p->n;) {
		size_t series = p->points[i].series, end = i;
		const char *colour = colours[series % (sizeof(colours) / sizeof(colours[0]))];
		while (end < p->n && p->points[end].series == series)
			end++;
		if (p->lines) {
			buf_printf(b, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"1.5\"%s points=\"", colour,
			           series / 8 % 2 ? " stroke-dasharray=\"6 3\"" : "");
			for (size_t k = i; k < end; k++)
				if (is_drawn(&p->points[k]))
					buf_printf(b, "%.1f,%.1f ", at_x(x, p->points[k].x), at_y(y, p->points[k].y));
			buf_printf(b, "\"/>\n");
		}
		for (size_t k = i; k < end; k++) {
			if (!is_drawn(&p->points[k]) || (p->lines && end - i > 200))
				continue;
			buf_printf(b, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"%s\"><title>", at_x(x, p->points[k].x),
			           at_y(y, p->points[k].y), colour);
			put_xml(b, p->names[series]);
			buf_printf(b, ": %.6g, %.6g</title></circle>\n", p->points[k].x, p->points[k].y);
		}
		i = end;
	}
	for (size_t i = 0; i < p->n_series && i < LEGEND_MAX; i++) {
		double at = TOP + 8 + 18.0 * (double)i;
		bool more = i == LEGEND_MAX - 1 && p->n_series > LEGEND_MAX;
		if (!more)
			buf_printf(b, "<circle cx=\"%d\" cy=\"%.1f\" r=\"4\" fill=\"%s\"/>", WIDTH - RIGHT + 14, at,
			           colours[i % (sizeof(colours) / sizeof(colours[0]))]);
		buf_printf(b, "<text x=\"%d\" y=\"%.1f\">", WIDTH - RIGHT + 24, at + 4);
		if (more)
			buf_printf(b, "and %zu more", p->n_series - i);
		else
			put_xml(b, p->names[i]);
		buf_printf(b, "</text>\n");
	}
}

bool plot_svg(const struct plot *p, struct buf *out)
{
	double lo[2] = {0, 0}, hi[2] = {0, 0};
	bool any = false;
	for (size_t i = 0; i < p->n; i++) {
		const double v[2] = {p->points[i].x, p->points[i].y};
		if (!is_drawn(&p->points[i]))
			continue;
		for (int k = 0; k < 2; k++) {
			lo[k] = !any || v[k] < lo[k] ? v[k] : lo[k];
			hi[k] = !any || v[k] > hi[k] ? v[k] : hi[k];
		}
		any = true;
	}
	if (!any)
		return false;
	struct axis x = axis_of(lo[0], hi[0]), y = axis_of(lo[1], hi[1]);
	buf_printf(out,
	           "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" "
	           "font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n",
	           WIDTH, HEIGHT, WIDTH, HEIGHT, WIDTH, HEIGHT);
	put_axes(out, p, &x, &y);
	put_series(out, p, &x, &y);
	buf_printf(out, "</svg>\n");
	return true;
}
