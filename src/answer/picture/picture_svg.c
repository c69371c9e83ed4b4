#include "answer/picture/picture.h"

#include "answer/picture/svg.h"

#include <errno.h>
#include <string.h>

enum { EDGE = 18, LINE = 16, HEAD = 18, LEGEND = 26, LEGEND_COLUMN = 216 };

static const char *const class_of[] = {"file", "source", "stream", "program", "stage", "frame"};

struct drawing {
	const struct picture *p;
	picture_text *text;
	void *arg;
	struct buf *out;
	struct buf name, note, last, other;
};

/* 0 or -errno. */
static int ask_text(struct drawing *d, const struct picture_box *b, uint32_t member)
{
	buf_reset(&d->name);
	buf_reset(&d->note);
	const int rc = d->text(d->arg, d->p, b, member, &d->name, &d->note);
	return rc < 0 ? rc : d->name.failed || d->note.failed ? -ENOMEM : 0;
}

static void put_rect(struct drawing *d, const struct picture_box *b, double shift)
{
	const bool round = b->kind >= PICTURE_PROGRAM;
	buf_printf(d->out, "<rect class=\"%s%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"%s/>\n",
	           class_of[b->kind], b->root ? " root" : "", b->x + EDGE + shift, b->y + EDGE + shift, b->w, b->h,
	           round ? " rx=\"6\"" : "");
}

/* Of boxes that are alike the name that comes first into name, with its note, and the one that comes last into last. 0
 * or -errno. */
static int ask_ends(struct drawing *d, const struct picture_box *b)
{
	int rc = ask_text(d, b, d->p->members.v[b->first]);
	buf_reset(&d->last);
	buf_str(&d->last, buf_view(&d->name));
	for (uint32_t i = 1; i < b->n && rc == 0; i++) {
		struct buf note = {0};
		buf_reset(&d->other);
		rc = d->text(d->arg, d->p, b, d->p->members.v[b->first + i], &d->other, &note);
		struct buf *into = strcmp(buf_cstr(&d->other), buf_cstr(&d->name)) < 0   ? &d->name
		                   : strcmp(buf_cstr(&d->other), buf_cstr(&d->last)) > 0 ? &d->last
		                                                                         : NULL;
		if (into) {
			buf_reset(into);
			buf_str(into, buf_view(&d->other));
		}
		buf_release(&note);
	}
	return rc < 0 ? rc : d->name.failed || d->last.failed || d->other.failed ? -ENOMEM : 0;
}

/* A name, cut at its beginning if it is a path. before: what stands small in front of it. */
static void put_name(struct drawing *d, const struct picture_box *b, uint32_t line, const struct buf *name,
                     const char *before)
{
	const double x = b->x + EDGE + 8, y = b->y + EDGE + HEAD + LINE * line, shift = *before ? 22 : 0;
	if (*before)
		buf_printf(d->out, "<text class=\"note\" x=\"%.1f\" y=\"%.1f\">%s</text>\n", x, y, before);
	buf_printf(d->out, "<text x=\"%.1f\" y=\"%.1f\">", x + shift, y);
	svg_text_fit(d->out, buf_view(name), PICTURE_COLUMNS - (*before ? 3 : 0), b->kind < PICTURE_STREAM);
	buf_str(d->out, str_of("</text>\n<title>"));
	svg_text(d->out, buf_view(name));
	buf_str(d->out, str_of("</title>\n"));
}

/* The names of a box. 0 or -errno. */
static int put_names(struct drawing *d, const struct picture_box *b)
{
	int rc = 0;
	if (b->alike) {
		rc = ask_ends(d, b);
		put_name(d, b, 0, &d->name, "");
		if (b->lines > 1)
			put_name(d, b, 1, &d->last, "to");
		return rc;
	}
	for (uint32_t i = 0; i < b->lines && rc == 0; i++) {
		rc = ask_text(d, b, d->p->members.v[b->first + i]);
		put_name(d, b, i, &d->name, "");
	}
	return rc;
}

/* Is it one of each of the stages that its frame stands for? */
static bool is_one_in_each(const struct picture *p, const struct picture_box *b)
{
	return b->frame != VEC_NONE && b->n > 1 && b->n == p->boxes.v[b->frame].n;
}

/* What stands small below the names. */
static void put_note(struct drawing *d, const struct picture_box *b)
{
	static const char *const many[] = {"files", "files", "streams", "programs", "stages"};
	buf_printf(d->out, "<text class=\"note\" x=\"%.1f\" y=\"%.1f\">", b->x + EDGE + 8,
	           b->y + EDGE + HEAD - 1 + LINE * b->lines);
	if (b->n == 1)
		svg_text_fit(d->out, buf_view(&d->note), PICTURE_COLUMNS + 6, false);
	else if (is_one_in_each(d->p, b))
		buf_str(d->out, str_of("one in each"));
	else
		buf_printf(d->out, "%u %s%s", b->n, many[b->kind], b->alike ? ", alike" : "");
	if (!b->alike && b->n > b->lines)
		buf_printf(d->out, ", %u not named here", b->n - b->lines);
	buf_str(d->out, str_of("</text>\n"));
}

/* 0 or -errno. */
static int put_box(struct drawing *d, const struct picture_box *b)
{
	buf_str(d->out, str_of("<g>\n"));
	for (int k = b->n > 1 && b->alike && !is_one_in_each(d->p, b) ? 2 : 0; k; k--)
		put_rect(d, b, 4 * k);
	put_rect(d, b, 0);
	const int rc = put_names(d, b);
	put_note(d, b);
	buf_str(d->out, str_of("</g>\n"));
	return rc;
}

/* 0 or -errno. */
static int put_frame(struct drawing *d, const struct picture_box *b)
{
	const int rc = ask_text(d, b, b->stage);
	buf_str(d->out, str_of("<g>\n"));
	for (int k = b->n > 1 ? 2 : 0; k; k--)
		put_rect(d, b, 4 * k);
	put_rect(d, b, 0);
	buf_printf(d->out, "<text x=\"%.1f\" y=\"%.1f\">", b->x + EDGE + 10, b->y + EDGE + 16);
	svg_text_fit(d->out, buf_view(&d->name), PICTURE_COLUMNS - (b->n > 1 ? 10 : 0), false);
	if (b->n > 1)
		buf_printf(d->out, " <tspan font-size=\"10\">%u alike</tspan>", b->n);
	buf_str(d->out, str_of("</text>\n<title>"));
	svg_text(d->out, buf_view(&d->name));
	buf_str(d->out, str_of("</title>\n</g>\n"));
	return rc;
}

/* From point to point: straight through layers, else a curve that leaves and arrives upright. */
static void put_link(struct drawing *d, const struct picture_link *l)
{
	const struct layout_point *q = d->p->points.v + l->first;
	if (!l->n)
		return;
	buf_printf(d->out, "<path class=\"link%s\" marker-end=\"url(#arrow)\" d=\"M%.1f %.1f", l->sure ? "" : " possible",
	           q[0].x + EDGE, q[0].y + EDGE);
	for (uint32_t i = 1; i < l->n; i++) {
		const double middle = (q[i - 1].y + q[i].y) / 2 + EDGE;
		if (q[i].x == q[i - 1].x)
			buf_printf(d->out, "L%.1f %.1f", q[i].x + EDGE, q[i].y + EDGE);
		else
			buf_printf(d->out, "C%.1f %.1f %.1f %.1f %.1f %.1f", q[i - 1].x + EDGE, middle, q[i].x + EDGE, middle,
			           q[i].x + EDGE, q[i].y + EDGE);
	}
	buf_printf(d->out, "\"><title>%s</title></path>\n", l->sure ? l->pipe ? "by a pipe" : "observed" : "only possible");
}

/* ---- the legend ---- */

struct legend_row {
	const char *class, *text;
	enum { LEGEND_BOX, LEGEND_STACK, LEGEND_LINK } form;
	bool round, present;
};

/* Which rows there are. The text of each is below LEGEND_COLUMN / 6 characters. */
static void choose_rows(const struct picture *p, struct legend_row rows[10])
{
	static const struct legend_row all[10] = {
	    {"file", "file made by what is shown", LEGEND_BOX, false, false},
	    {"source", "file from outside", LEGEND_BOX, false, false},
	    {"stream", "stream, terminal or socket", LEGEND_BOX, false, false},
	    {"program", "program", LEGEND_BOX, true, false},
	    {"stage", "stage of a workflow", LEGEND_BOX, true, false},
	    {"frame", "programs of one stage", LEGEND_BOX, true, false},
	    {"file", "several that are alike", LEGEND_STACK, false, false},
	    {"file root", "what was asked for", LEGEND_BOX, false, false},
	    {"link", "data flowed", LEGEND_LINK, false, false},
	    {"link possible", "only possible", LEGEND_LINK, false, false},
	};
	for (int k = 0; k < 10; k++)
		rows[k] = all[k];
	for (size_t i = 0; i < p->boxes.n; i++) {
		rows[p->boxes.v[i].kind].present = true;
		rows[6].present |= p->boxes.v[i].n > 1 && p->boxes.v[i].alike;
		rows[7].present |= p->boxes.v[i].root;
	}
	for (size_t k = 0; k < p->links.n; k++)
		rows[p->links.v[k].sure ? 8 : 9].present |= p->links.v[k].n > 0;
}

/* Its height. */
static double put_legend(struct drawing *d, double top, double width)
{
	struct legend_row rows[10];
	unsigned n = 0, columns = (unsigned)((width - 2 * EDGE) / LEGEND_COLUMN);
	columns = columns ? columns : 1;
	choose_rows(d->p, rows);
	for (int k = 0; k < 10; k++) {
		if (!rows[k].present)
			continue;
		const double x = EDGE + LEGEND_COLUMN * (n % columns), y = top + LEGEND * (n / columns);
		if (d->out && rows[k].form == LEGEND_LINK)
			buf_printf(d->out, "<path class=\"%s\" marker-end=\"url(#arrow)\" d=\"M%.1f %.1fh22\"/>\n", rows[k].class,
			           x, y + 7);
		for (int i = rows[k].form == LEGEND_STACK ? 2 : 0; d->out && rows[k].form != LEGEND_LINK && i >= 0; i--)
			buf_printf(d->out, "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"20\" height=\"13\"%s/>\n",
			           rows[k].class, x + 3 * i, y + 3 * i, rows[k].round ? " rx=\"4\"" : "");
		if (d->out)
			buf_printf(d->out, "<text class=\"note\" x=\"%.1f\" y=\"%.1f\">%s</text>\n", x + 32, y + 11, rows[k].text);
		n++;
	}
	return LEGEND * (double)((n + columns - 1) / columns);
}

int picture_svg(const struct picture *p, picture_text *text, void *arg, const char *title, struct buf *ret)
{
	struct drawing d = {.p = p, .text = text, .arg = arg};
	const double least = LEGEND_COLUMN * 2 + 2 * EDGE,
	             width = p->w + 2 * EDGE + 10 > least ? p->w + 2 * EDGE + 10 : least;
	const double top = p->h + 2 * EDGE + 16, high = top + put_legend(&d, top, width) + 6;
	int rc = 0;
	d.out = ret;
	svg_begin(ret, width, high, title);
	buf_str(ret, str_of("<defs><marker id=\"arrow\" viewBox=\"0 0 8 8\" refX=\"7.5\" refY=\"4\" markerWidth=\"7\" "
	                    "markerHeight=\"7\" "
	                    "orient=\"auto\"><path class=\"arrow\" d=\"M0 0.5 8 4 0 7.5Z\"/></marker></defs>\n"));
	for (size_t i = 0; i < p->boxes.n && rc == 0; i++)
		if (p->boxes.v[i].kind == PICTURE_FRAME)
			rc = put_frame(&d, &p->boxes.v[i]);
	for (size_t k = 0; k < p->links.n; k++)
		put_link(&d, &p->links.v[k]);
	for (size_t i = 0; i < p->boxes.n && rc == 0; i++)
		if (p->boxes.v[i].kind != PICTURE_FRAME)
			rc = put_box(&d, &p->boxes.v[i]);
	buf_printf(ret, "<line class=\"grid\" x1=\"%d\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>\n", EDGE, width - EDGE,
	           top - 12, top - 12);
	put_legend(&d, top, width);
	buf_str(ret, str_of("</svg>\n"));
	buf_release(&d.name);
	buf_release(&d.note);
	buf_release(&d.last);
	buf_release(&d.other);
	return rc < 0 ? rc : ret->failed ? -ENOMEM : 0;
}
