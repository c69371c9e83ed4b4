/* report_draw.c - pictures of a run as SVG: its programs over time, and what it used over time; and the lineage as a
 * picture, for the page. */
#include "answer/entities.h"
#include "answer/fmt.h"
#include "answer/picture/picture.h"
#include "answer/picture/svg.h"
#include "report/report_int.h"
#include "report/report_reads.h"
#include "report/report_series.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- the lineage ---- */

enum { NODES_OF_PICTURE = 20000 }; /* a page of more has none: it would take longer than the page */

/* A new array of the numbers of a box's nodes; of a frame the places of its stages. */
static json_t *members_json(const struct report *r, const struct picture *p, const struct picture_box *b)
{
	json_t *list = json_array();
	for (uint32_t i = 0; i < b->n; i++) {
		const uint32_t member = p->members.v[b->first + i];
		const uint32_t *stage = b->kind == PICTURE_FRAME ? idmap_find(&r->stage_at, (uint64_t)member + 1) : NULL;
		if (b->kind != PICTURE_FRAME)
			js_add(list, json_integer(r->nodes[member].number));
		else if (stage)
			js_add(list, json_integer(*stage));
	}
	return list;
}

/* A new object. */
static json_t *picture_json(const struct report *r, const struct picture *p)
{
	static const char *const kinds[] = {"file", "source", "stream", "program", "stage", "frame"};
	json_t *o = json_object(), *boxes = json_array(), *links = json_array();
	for (size_t i = 0; i < p->boxes.n; i++) {
		const struct picture_box *b = &p->boxes.v[i];
		const bool each = b->frame != VEC_NONE && b->n > 1 && b->n == p->boxes.v[b->frame].n;
		json_t *one = json_object();
		js_text(one, "kind", kinds[b->kind]);
		js_num(one, "x", (uint64_t)b->x);
		js_num(one, "y", (uint64_t)b->y);
		js_num(one, "w", (uint64_t)b->w);
		js_num(one, "h", (uint64_t)b->h);
		js_num(one, "lines", b->lines);
		js_bool(one, "alike", b->alike && b->n > 1);
		js_bool(one, "each", each);
		js_bool(one, "root", b->root);
		js_put(one, "nodes", members_json(r, p, b));
		js_add(boxes, one);
	}
	for (size_t k = 0; k < p->links.n; k++) {
		const struct picture_link *l = &p->links.v[k];
		if (!l->n)
			continue;
		json_t *one = json_object(), *points = json_array();
		for (uint32_t i = 0; i < l->n; i++) {
			js_add(points, json_integer((json_int_t)p->points.v[l->first + i].x));
			js_add(points, json_integer((json_int_t)p->points.v[l->first + i].y));
		}
		js_put(one, "points", points);
		js_bool(one, "sure", l->sure);
		js_add(links, one);
	}
	js_num(o, "w", (uint64_t)p->w);
	js_num(o, "h", (uint64_t)p->h);
	js_put(o, "boxes", boxes);
	js_put(o, "links", links);
	return o;
}

int report_lineage_picture(const struct report *r, json_t *o)
{
	struct picture p = {0};
	int rc = r->lineage_nodes && r->lineage_nodes <= NODES_OF_PICTURE ? 0 : -E2BIG;
	if (rc == 0)
		rc = picture_make(&(struct picture_of){.s = r->a->store,
		                                       .l = &r->l,
		                                       .shape = &r->shape,
		                                       .stages = r->stages,
		                                       .most = (uint32_t)r->lineage_nodes},
		                  &p);
	js_put(o, "picture", rc == 0 ? picture_json(r, &p) : json_null());
	picture_release(&p);
	return rc == -E2BIG ? 0 : rc;
}

/* ---- programs over time ---- */

enum { BARS = 60, WIDTH = 900, EDGE = 18, TITLE = 34, LABEL = 262, LINE = 18, COLUMNS = 34 };

struct bar {
	store_id exec;
	int64_t from, to;  /* ns */
	bool failed, open; /* open: its end is not known */
};

static int compare_spans(const void *pa, const void *pb)
{
	const struct bar *a = pa, *b = pb;
	const int64_t x = a->to - a->from, y = b->to - b->from;
	return x != y ? (x < y) - (x > y) : (a->exec > b->exec) - (a->exec < b->exec);
}
static int compare_starts(const void *pa, const void *pb)
{
	const struct bar *a = pa, *b = pb;
	return a->from != b->from ? (a->from > b->from) - (a->from < b->from) : (a->exec > b->exec) - (a->exec < b->exec);
}

/* The programs of the run that stand for themselves. bars has room for all nodes. *ret_end: of the last. 0 or -errno.
 */
static int list_bars(struct report *r, const struct run_info *run, struct bar *bars, size_t *ret_n, int64_t *ret_end)
{
	size_t n = 0;
	int64_t end = run->end == TIME_NONE || run->end == TIME_NEVER ? run->start : run->end;
	for (size_t i = 0; i < r->n_nodes; i++) {
		struct exec_info x;
		int rc = r->nodes[i].exec ? store_exec(r->a->store, r->nodes[i].id, &x) : 0;
		if (rc < 0)
			return rc;
		if (rc == 0 || x.run != r->run || !x.n || x.start == TIME_NONE)
			continue;
		const bool open = x.end == TIME_NONE || x.end == TIME_NEVER;
		const struct bar bar = {r->nodes[i].id, x.start, open ? TIME_NEVER : x.end, x.ending != 1 || x.code, open};
		end = !open && x.end > end ? x.end : x.start > end ? x.start : end;
		rc = fold_stands_alone(r->a->store, &r->folds, r->nodes[i].id);
		if (rc < 0)
			return rc;
		if (rc > 0)
			bars[n++] = bar;
	}
	for (size_t i = 0; i < n; i++)
		bars[i].to = bars[i].to == TIME_NEVER ? end : bars[i].to;
	*ret_n = n;
	*ret_end = end;
	return 0;
}

/* 0 or -errno. */
static int put_bar(struct report *r, const struct bar *bar, double start, double y, const struct svg_times *t,
                   struct buf *b)
{
	struct buf name = {0};
	const int rc = exec_name(r->a->store, bar->exec, true, 200, &name);
	const double from = svg_time_at(t, (double)bar->from / 1e9 - start),
	             to = svg_time_at(t, (double)bar->to / 1e9 - start);
	buf_printf(b, "<g><text x=\"%d\" y=\"%.1f\">", EDGE, y + 12);
	svg_text_fit(b, buf_view(&name), COLUMNS, false);
	buf_printf(b, "</text><rect class=\"bar%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" rx=\"2\"/><title>",
	           bar->open     ? ""
	           : bar->failed ? " failed"
	                         : "",
	           from, y + 2, to - from > 1.5 ? to - from : 1.5, LINE - 5);
	svg_text(b, buf_view(&name));
	buf_str(b, str_of(", "));
	if (bar->open)
		buf_str(b, str_of("its end is not known"));
	else
		fmt_span(b, bar->from, bar->to);
	buf_str(b, str_of("</title></g>\n"));
	buf_release(&name);
	return rc < 0 ? rc : 0;
}

/* Appends the heading. */
static void put_heading(struct buf *b, const char *title, const char *note)
{
	buf_printf(b, "<text x=\"%d\" y=\"%d\" font-size=\"14\">", EDGE, EDGE + 10);
	svg_text_fit(b, str_of(title), 90, false);
	buf_printf(b, "</text>\n<text class=\"note\" x=\"%d\" y=\"%d\">%s</text>\n", EDGE, EDGE + 26, note);
}

/* 0 or -errno. */
static int draw_gantt(struct report *r, const struct run_info *run, const char *title, struct buf *b)
{
	struct bar *bars = calloc(r->n_nodes + 1, sizeof(*bars));
	char note[120];
	size_t n = 0;
	int64_t end = 0;
	int rc = bars ? list_bars(r, run, bars, &n, &end) : -ENOMEM;
	const size_t shown = n < BARS ? n : BARS;
	if (rc == 0) {
		qsort(bars, n, sizeof(*bars), compare_spans);
		qsort(bars, shown, sizeof(*bars), compare_starts);
	}
	const double start = (double)run->start / 1e9, span = (double)(end - run->start) / 1e9;
	const struct svg_times t = {EDGE + LABEL, WIDTH - EDGE - 20, span > 0 ? span : 1e-6};
	const double top = EDGE + TITLE + 6, bottom = top + LINE * (double)shown;
	snprintf(note, sizeof(note), n > shown ? "the %zu programs that took longest, of %zu" : "%zu programs", shown, n);
	svg_begin(b, WIDTH, bottom + 48, title);
	put_heading(b, title, note);
	svg_times_axis(b, &t, top, bottom);
	bool failed = false;
	for (size_t i = 0; i < shown && rc == 0; i++) {
		rc = put_bar(r, &bars[i], start, top + LINE * (double)i, &t, b);
		failed |= bars[i].failed && !bars[i].open;
	}
	if (failed)
		buf_printf(
		    b,
		    "<rect class=\"failed\" x=\"%d\" y=\"%.1f\" width=\"14\" height=\"10\"/><text class=\"note\" x=\"%d\" "
		    "y=\"%.1f\">did not end with status 0</text>\n",
		    EDGE, bottom + 24, EDGE + 22, bottom + 33);
	buf_str(b, str_of("</svg>\n"));
	free(bars);
	return rc;
}

/* ---- what was used over time ---- */

enum { PANEL = 126, PANEL_LEFT = 90 };
struct panel {
	const char *column, *title;
	bool bytes, rate;
};

/* 0 of what is no number. */
static double number_of(const json_t *v)
{
	return json_is_integer(v) ? (double)json_integer_value(v) : json_is_real(v) ? json_real_value(v) : 0;
}

/* The value of a sample; below 0: it is not known. */
static double value_at(const json_t *column, size_t i, const struct panel *p, const json_t *since)
{
	const json_t *now = json_array_get(column, i), *before = i ? json_array_get(column, i - 1) : NULL;
	if (!json_is_number(now))
		return -1;
	if (!p->rate)
		return number_of(now);
	const double step = i ? number_of(json_array_get(since, i)) - number_of(json_array_get(since, i - 1)) : 0;
	if (!json_is_number(before) || step <= 0)
		return -1;
	const double rate = (number_of(now) - number_of(before)) / step;
	return rate > 0 ? rate : 0;
}

/* False: nothing of it is known. */
static bool put_panel(const struct panel *p, const json_t *columns, const struct svg_times *t, double top,
                      struct buf *b)
{
	const json_t *since = json_object_get(columns, "since"), *column = json_object_get(columns, p->column);
	const double bottom = top + PANEL - 48;
	double most = 0;
	bool any = false, before = false;
	for (size_t i = 0; i < json_array_size(column); i++) {
		const double v = value_at(column, i, p, since);
		any |= v >= 0;
		most = v > most ? v : most;
	}
	if (!any)
		return false;
	const double step = svg_step(most > 0 ? most : 1, 3, p->bytes);
	double high = step;
	while (high < most)
		high += step;
	buf_printf(b, "<text x=\"%d\" y=\"%.1f\">%s</text>\n", EDGE, top - 10, p->title);
	svg_times_axis(b, t, top, bottom);
	for (double v = 0; v <= high * 1.0001; v += step) {
		const double y = bottom - v / high * (bottom - top);
		buf_printf(b,
		           "<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/><text class=\"note\" "
		           "x=\"%.1f\" y=\"%.1f\" "
		           "text-anchor=\"end\">",
		           t->left, t->right, y, y, t->left - 6, y + 4);
		if (p->bytes)
			fmt_size(b, (uint64_t)v, false);
		else
			buf_printf(b, "%.6g", v);
		buf_str(b, str_of("</text>\n"));
	}
	buf_str(b, str_of("<path class=\"curve\" d=\""));
	for (size_t i = 0; i < json_array_size(column); i++) {
		const double v = value_at(column, i, p, since);
		if (v >= 0)
			buf_printf(b, "%c%.1f %.1f", before ? 'L' : 'M', svg_time_at(t, number_of(json_array_get(since, i))),
			           bottom - v / high * (bottom - top));
		before = v >= 0;
	}
	buf_str(b, str_of("\"/>\n"));
	return true;
}

/* 0; -EINVAL, -EBADMSG, -errno with a sentence. */
static int draw_series(const struct report *r, const struct run_info *run, const char *title, struct err *err,
                       struct buf *b)
{
	static const struct panel panels[] = {{"memory_resident", "Memory", true, false},
	                                      {"cores", "Cores at work", false, false},
	                                      {"bytes_read", "Bytes read each second", true, true},
	                                      {"bytes_written", "Bytes written each second", true, true},
	                                      {"processes", "Processes", false, false},
	                                      {"disk_footprint", "Space on disk", true, false},
	                                      {"gpu_memory", "GPU memory", true, false}};
	struct buf text = {0}, drawn = {0};
	int rc = r->q->series ? report_series(r->q->series, run->start, err, &text)
	                      : (err_set(err, 0, "a picture of the series needs the file: --series FILE"), -EINVAL);
	json_t *o = rc == 0 ? json_loadb(text.p, text.n, 0, NULL) : NULL;
	const json_t *columns = json_object_get(o, "columns"), *since = json_object_get(columns, "since");
	const size_t n = json_array_size(since);
	const double span = n ? number_of(json_array_get(since, n - 1)) : 0;
	const struct svg_times t = {EDGE + PANEL_LEFT, WIDTH - EDGE - 20, span > 0 ? span : 1e-6};
	double top = EDGE + TITLE + 28;
	for (size_t k = 0; k < sizeof(panels) / sizeof(panels[0]) && rc == 0; k++)
		top += put_panel(&panels[k], columns, &t, top, &drawn) ? PANEL : 0;
	svg_begin(b, WIDTH, top, title);
	put_heading(b, title, "as it was measured; what happened between two samples was not seen");
	buf_str(b, buf_view(&drawn));
	buf_str(b, str_of("</svg>\n"));
	b->failed |= drawn.failed;
	json_decref(o);
	buf_release(&text);
	buf_release(&drawn);
	return rc;
}

/* ---- which ---- */

int report_draw(struct report *r, struct err *err, struct buf *ret)
{
	struct buf title = {0};
	struct run_info run;
	struct report_reads reads = {0};
	int rc = r->run ? store_run_told(r->a->store, r->run, &run) : 0;
	if (rc == 0 && r->q->picture != REPORT_READS)
		rc = err_set(err, EINVAL, "no run is known that made '%s'", r->q->name);
	if (rc > 0)
		fmt_argv(&title, &run.argv, true, 200);
	if (rc <= 0)
		fmt_name(&title, str_of(r->q->name));
	rc = rc > 0 ? 0 : rc;
	if (rc == 0 && r->q->picture == REPORT_READS) {
		rc = report_reads_make(r, &reads);
		if (rc == 0)
			report_reads_svg(&reads, buf_cstr(&title), ret);
		report_reads_release(&reads);
	} else if (rc == 0 && r->q->picture == REPORT_GANTT) {
		rc = draw_gantt(r, &run, buf_cstr(&title), ret);
	} else if (rc == 0) {
		rc = draw_series(r, &run, buf_cstr(&title), err, ret);
	}
	buf_release(&title);
	return rc;
}
