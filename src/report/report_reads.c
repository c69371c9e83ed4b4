#include "report/report_reads.h"

#include "answer/entities.h"
#include "answer/fmt.h"
#include "answer/picture/svg.h"
#include "base/hash.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What is needed to find the cell of an edge. */
struct reads_work {
	struct report *r;
	struct report_reads *x;
	struct idmap rows, columns; /* hash of a name -> place in rows, columns */
	struct idmap cells, files, kinds;
	struct idmap pairs;   /* hash of a program and a file: the cell counts it */
	struct buf name, own; /* of a row: its name, and that of the file */
	bool grouped;         /* rows are folders and endings */
	char *cwd;            /* of the run; NULL: not known */
};

/* The row or column of that name, which is made if it is new; UINT32_MAX without memory. */
static uint32_t find_line(struct idmap *known, struct reads_lines *v, struct str name)
{
	bool is_new = false;
	const uint64_t key = hash_str(name) | 1;
	uint32_t *at = idmap_add(known, key, (uint32_t)v->n, &is_new);
	if (!at)
		return VEC_NONE;
	if (!is_new)
		return *at;
	char *copy = strndup(name.n ? name.p : "", name.n);
	struct reads_line *line = copy ? vec_add(v) : NULL;
	if (!line) {
		free(copy);
		return VEC_NONE;
	}
	*line = (struct reads_line){.name = copy};
	return (uint32_t)v->n - 1;
}

/* A path as it is shown: below the folder of the run relative to that; of a group its folder, a star and its ending. */
static void name_row(struct reads_work *w, struct str path)
{
	const size_t cwd = w->cwd ? strlen(w->cwd) : 0;
	if (cwd && path.n > cwd + 1 && path.p[cwd] == '/' && memcmp(path.p, w->cwd, cwd) == 0)
		path = str_n(path.p + cwd + 1, path.n - cwd - 1);
	buf_reset(&w->name);
	buf_reset(&w->own);
	fmt_name(&w->own, path);
	if (!w->grouped) {
		fmt_name(&w->name, path);
		return;
	}
	const char *slash = path.n ? memrchr(path.p, '/', path.n) : NULL;
	const char *base = slash ? slash + 1 : path.p;
	const size_t n = path.n - (size_t)(base - path.p);
	const char *dot = n > 1 ? memchr(base + 1, '.', n - 1) : NULL;
	fmt_name(&w->name, str_n(path.p, (size_t)(base - path.p)));
	buf_char(&w->name, '*');
	if (dot)
		fmt_name(&w->name, str_n(dot, n - (size_t)(dot - base)));
}

/* The row of a version, and its file: 1, 0: it is no file; -errno. */
static int row_of(struct reads_work *w, store_id version, uint32_t *ret, store_id *ret_file)
{
	struct version_info v;
	struct file_info f;
	bool is_new = false;
	int rc = store_version(w->r->a->store, version, &v);
	if (rc > 0)
		rc = store_file(w->r->a->store, v.file, &f);
	if (rc <= 0 || kind_is_stream(f.kind) || f.kind == TERM_kind_absent || !f.path.n)
		return rc < 0 ? rc : 0;
	*ret_file = v.file;
	name_row(w, f.path);
	*ret = find_line(&w->rows, &w->x->rows, buf_view(&w->name));
	if (*ret == VEC_NONE || w->name.failed || !idmap_add(&w->files, v.file, 1, &is_new))
		return -ENOMEM;
	struct reads_line *line = &w->x->rows.v[*ret];
	if (is_new) {
		free(line->only);
		line->only = line->members++ ? NULL : strdup(buf_cstr(&w->own));
	}
	return 1;
}

/* The column of an execution. 0 or -errno. */
static int column_of(struct reads_work *w, store_id exec, uint32_t *ret)
{
	bool is_new = false;
	buf_reset(&w->name);
	const int rc = exec_name(w->r->a->store, exec, true, 200, &w->name);
	if (rc < 0)
		return rc;
	*ret = find_line(&w->columns, &w->x->columns, command_kind(buf_cstr(&w->name)));
	if (*ret == VEC_NONE || w->name.failed || !idmap_add(&w->kinds, exec, 1, &is_new))
		return -ENOMEM;
	w->x->columns.v[*ret].members += is_new;
	return 0;
}

/* A program that used several versions of a file counts once for it. 0 or -errno. */
static int add_read(struct reads_work *w, const struct report_edge *e)
{
	uint32_t row, column;
	store_id pair[2] = {w->r->nodes[w->r->order[e->from]].id, 0};
	bool is_new = false, is_first = false;
	int rc = row_of(w, w->r->nodes[w->r->order[e->to]].id, &row, &pair[1]);
	if (rc <= 0)
		return rc;
	rc = column_of(w, pair[0], &column);
	if (rc < 0)
		return rc;
	uint32_t *at = idmap_add(&w->cells, ((uint64_t)row << 32 | column) + 1, (uint32_t)w->x->cells.n, &is_new);
	if (!at || !vec_room(&w->x->cells, 1) || !idmap_add(&w->pairs, hash_bytes(pair, sizeof(pair)) | 1, 1, &is_first))
		return -ENOMEM;
	if (is_new)
		w->x->cells.v[w->x->cells.n++] = (struct reads_cell){.row = row, .column = column};
	w->x->cells.v[*at].readers += is_first;
	w->x->cells.v[*at].sure |= e->e.sure;
	w->x->rows.v[row].total += is_first;
	w->x->columns.v[column].total += is_first;
	return 0;
}

/* 0 or -errno. x is filled anew. */
static int add_reads(struct reads_work *w)
{
	int rc = 0;
	report_reads_release(w->x);
	idmap_release(&w->rows);
	idmap_release(&w->columns);
	idmap_release(&w->cells);
	idmap_release(&w->files);
	idmap_release(&w->kinds);
	idmap_release(&w->pairs);
	for (size_t k = 0; k < w->r->n_edges && rc == 0; k++)
		if (w->r->edges[k].type == LINEAGE_USED)
			rc = add_read(w, &w->r->edges[k]);
	return rc;
}

/* The folder that names are shown from. 0 or -errno. */
static int find_folder(struct reads_work *w)
{
	struct run_info run;
	const int rc = w->r->run ? store_run_told(w->r->a->store, w->r->run, &run) : 0;
	if (rc <= 0)
		return rc;
	w->cwd = strndup(run.cwd.n ? run.cwd.p : "", run.cwd.n);
	return w->cwd ? 0 : -ENOMEM;
}

/* Order of qsort, of pointers to lines: most readers first, then by name. */
static int compare_lines(const void *pa, const void *pb)
{
	const struct reads_line *const *a = pa, *const *b = pb;
	return (*a)->total != (*b)->total ? ((*a)->total < (*b)->total) - ((*a)->total > (*b)->total)
	                                  : strcmp((*a)->name, (*b)->name);
}

/* Gives the first `most` their places. *ret_left: how many have none. 0 or -ENOMEM. */
static int place_lines(struct reads_line *v, size_t n, size_t most, size_t *ret_left)
{
	struct reads_line **order = calloc(n + 1, sizeof(*order));
	if (!order)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		order[i] = &v[i];
	qsort(order, n, sizeof(*order), compare_lines);
	for (size_t i = 0; i < n; i++)
		order[i]->place = i < most ? (uint32_t)i : VEC_NONE;
	*ret_left = n > most ? n - most : 0;
	free(order);
	return 0;
}

/* Is the cell shown: have its row and its column places? */
static bool has_place(const struct report_reads *x, const struct reads_cell *c)
{
	return x->rows.v[c->row].place != VEC_NONE && x->columns.v[c->column].place != VEC_NONE;
}

int report_reads_make(struct report *r, struct report_reads *ret)
{
	struct reads_work w = {.r = r, .x = ret};
	*ret = (struct report_reads){0};
	int rc = find_folder(&w);
	if (rc == 0)
		rc = add_reads(&w);
	if (rc == 0 && ret->rows.n > READS_ROWS) {
		w.grouped = true;
		rc = add_reads(&w);
	}
	if (rc == 0)
		rc = place_lines(ret->rows.v, ret->rows.n, READS_ROWS, &ret->left_rows);
	if (rc == 0)
		rc = place_lines(ret->columns.v, ret->columns.n, READS_COLUMNS, &ret->left_columns);
	for (size_t k = 0; k < ret->cells.n && rc == 0; k++)
		if (has_place(ret, &ret->cells.v[k]) && ret->cells.v[k].readers > ret->most)
			ret->most = ret->cells.v[k].readers;
	idmap_release(&w.rows);
	idmap_release(&w.columns);
	idmap_release(&w.cells);
	idmap_release(&w.files);
	idmap_release(&w.kinds);
	idmap_release(&w.pairs);
	buf_release(&w.name);
	buf_release(&w.own);
	free(w.cwd);
	return rc;
}

void report_reads_release(struct report_reads *x)
{
	for (size_t i = 0; i < x->rows.n; i++)
		free(x->rows.v[i].name), free(x->rows.v[i].only);
	for (size_t i = 0; i < x->columns.n; i++)
		free(x->columns.v[i].name);
	vec_release(&x->rows);
	vec_release(&x->columns);
	vec_release(&x->cells);
}

/* The name that the page shows: the file's own if the line is of one file, else the group's. It is the line's. */
static const char *name_of(const struct reads_line *line)
{
	return line->only ? line->only : line->name;
}

/* ---- JSON ---- */

/* A new array, in order of places. */
static json_t *lines_json(const struct reads_line *v, size_t n, size_t most, const char *members)
{
	json_t *list = json_array();
	for (size_t place = 0; place < most && place < n; place++)
		js_add(list, json_object());
	for (size_t i = 0; i < n; i++) {
		json_t *one = v[i].place == VEC_NONE ? NULL : json_array_get(list, v[i].place);
		if (!one)
			continue;
		js_text(one, "name", name_of(&v[i]));
		js_num(one, members, v[i].members);
		js_num(one, "readers", v[i].total);
	}
	return list;
}

void report_reads_write(const struct report_reads *x, struct buf *b)
{
	json_t *o = json_object(), *cells = json_array();
	js_put(o, "files", lines_json(x->rows.v, x->rows.n, READS_ROWS, "files"));
	js_put(o, "programs", lines_json(x->columns.v, x->columns.n, READS_COLUMNS, "programs"));
	js_num(o, "left_out_files", x->left_rows);
	js_num(o, "left_out_programs", x->left_columns);
	for (size_t k = 0; k < x->cells.n; k++) {
		const struct reads_cell *c = &x->cells.v[k];
		if (!has_place(x, c))
			continue;
		json_t *one = json_array();
		js_add(one, json_integer(x->rows.v[c->row].place));
		js_add(one, json_integer(x->columns.v[c->column].place));
		js_add(one, json_integer((json_int_t)c->readers));
		js_add(one, json_integer(c->sure));
		js_add(cells, one);
	}
	js_put(o, "cells", cells);
	char *text = json_dumps(o, JSON_COMPACT);
	json_decref(o);
	buf_str(b, str_of("\"reads\":"));
	buf_str(b, str_of(text ? text : "null"));
	b->failed |= !text;
	free(text);
}

/* ---- SVG ---- */

enum { LABEL = 268, CELL_W = 36, CELL_H = 22, HEAD = 150, EDGE = 18, TITLE = 30, COLUMNS = 34 };

void report_reads_svg(const struct report_reads *x, const char *title, struct buf *b)
{
	const size_t rows = x->rows.n - x->left_rows, columns = x->columns.n - x->left_columns;
	const double width = 2 * EDGE + LABEL + CELL_W * (double)columns + 60, top = EDGE + TITLE + HEAD;
	const double height = top + CELL_H * (double)rows + 50;
	svg_begin(b, width > 560 ? width : 560, height, title);
	buf_printf(b, "<text x=\"%d\" y=\"%d\" font-size=\"14\">", EDGE, EDGE + 12);
	svg_text_fit(b, str_of(title), 80, false);
	buf_str(b, str_of("</text>\n"));
	for (size_t i = 0; i < x->rows.n; i++) {
		const struct reads_line *line = &x->rows.v[i];
		if (line->place == VEC_NONE)
			continue;
		buf_printf(b, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">", EDGE + LABEL - 8,
		           top + CELL_H * line->place + 15.0);
		svg_text_fit(b, str_of(name_of(line)), COLUMNS - (line->members > 1 ? 7 : 0), true);
		if (line->members > 1)
			buf_printf(b, " (%llu)", (unsigned long long)line->members);
		buf_str(b, str_of("</text>\n"));
	}
	for (size_t i = 0; i < x->columns.n; i++) {
		const struct reads_line *line = &x->columns.v[i];
		const double at = EDGE + LABEL + CELL_W * (double)line->place + CELL_W / 2.0 + 4;
		if (line->place == VEC_NONE)
			continue;
		buf_printf(b, "<text transform=\"translate(%.1f %.1f) rotate(-60)\">", at, top - 8);
		svg_text_fit(b, str_of(line->name), 20, false);
		buf_str(b, str_of("</text>\n"));
	}
	for (size_t k = 0; k < x->cells.n; k++) {
		const struct reads_cell *c = &x->cells.v[k];
		if (!has_place(x, c))
			continue;
		const double px = EDGE + LABEL + CELL_W * (double)x->columns.v[c->column].place;
		const double py = top + CELL_H * (double)x->rows.v[c->row].place, part = (double)c->readers / (double)x->most;
		buf_printf(b,
		           "<rect class=\"cell%s\" x=\"%.1f\" y=\"%.1f\" width=\"%d\" height=\"%d\" fill-opacity=\"%.2f\"/>"
		           "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\"%s>%llu%s</text>\n",
		           c->sure ? "" : " possible", px + 1, py + 1, CELL_W - 2, CELL_H - 2, 0.12 + 0.88 * part,
		           px + CELL_W / 2.0, py + 15, part > 0.5 ? " class=\"on\"" : "", (unsigned long long)c->readers,
		           c->sure ? "" : "?");
	}
	buf_printf(b, "<text class=\"note\" x=\"%d\" y=\"%.1f\">programs of a kind that used a file; ? only possible%s",
	           EDGE, height - 18, x->left_rows || x->left_columns ? "; " : "");
	if (x->left_rows)
		buf_printf(b, "%zu rows with fewer readers are left out ", x->left_rows);
	if (x->left_columns)
		buf_printf(b, "%zu programs with fewer files are left out", x->left_columns);
	buf_str(b, str_of("</text>\n</svg>\n"));
}
