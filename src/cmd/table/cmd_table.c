/* stemma table: runs by settings and metrics. */
#include "answer/table/run_columns.h"
#include "base/vec.h"
#include "cmd/table/table_load.h"
#include "cmd/table/table_svg.h"
#include "cmd/ui/notes_print.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define CELL_MAX 60 /* bytes of a value, for people */

struct table_of {
	struct cmd *c;
	const struct opts_table *o;
	struct over_runs runs;
	struct run_columns columns;
};

/* Whether there is a column of the name already. */
static bool is_column(const struct table_of *w, struct str name)
{
	for (size_t i = 0; i < w->columns.n; i++)
		if (str_eq(w->columns.v[i].name, name))
			return true;
	return false;
}

/* Appends the value of a column for a run. exact: as it was recorded; else at most CELL_MAX bytes, for a terminal.
 * Nothing where the run does not have it. */
static void put_cell(const struct table_of *w, const struct app_log_run *r, const struct run_column *column, bool exact,
                     struct buf *b)
{
	const struct app_log_config *config = column->metric ? NULL : app_log_config_of(r, column->name);
	const struct app_log_metric *metric = column->metric ? app_log_metric_of(r, column->name) : NULL;
	int64_t step;
	bool stepped;
	if (metric)
		over_runs_number(b, over_runs_value(&w->runs, metric, &step, &stepped), exact);
	else if (config && exact)
		buf_str(b, config->value);
	else if (config)
		fmt_name(b, str_n(config->value.p, config->value.n < CELL_MAX ? config->value.n : CELL_MAX));
	if (config && !exact && config->value.n > CELL_MAX)
		buf_printf(b, "...");
}

/* ---- forms ---- */

/* The columns that are shown, by number, and their names, each ended by NUL. */
struct shown_columns {
	size_t *which, n, same; /* same: left out, for all runs have the same */
	struct buf names;
	const char **heads;
	char *align;
};

/* Columns that are the same in all runs are left out without --all. -ENOMEM: what could be had is in ret. */
static int choose_columns(const struct table_of *w, struct shown_columns *ret)
{
	ret->which = calloc(w->columns.n + 1, sizeof(*ret->which));
	ret->heads = calloc(w->columns.n + 2, sizeof(*ret->heads));
	ret->align = calloc(w->columns.n + 2, 1);
	if (!ret->which || !ret->heads || !ret->align)
		return -ENOMEM;
	for (size_t i = 0; i < w->columns.n; i++) {
		if (w->columns.v[i].same && !w->o->all && !w->c->n_operands) {
			ret->same++;
			continue;
		}
		ret->which[ret->n++] = i;
		fmt_name(&ret->names, w->columns.v[i].name);
		buf_char(&ret->names, '\0');
	}
	if (ret->names.failed)
		return -ENOMEM;
	const char *at = ret->names.p;
	ret->heads[0] = "RUN";
	ret->align[0] = 'l';
	for (size_t i = 0; i < ret->n; i++, at += strlen(at) + 1) {
		ret->heads[i + 1] = at;
		ret->align[i + 1] = 'r';
	}
	return 0;
}

/* Makes a row of the table. 0, -EIO. Adds the run's row to t. */
static int table_row(const struct table_of *w, const struct shown_columns *shown, const struct app_log_run *r,
                     struct table *t)
{
	struct run_info info;
	struct buf b = {0};
	int rc = store_run(w->c->store, r->run, &info) < 0 ? -EIO : 0;
	table_cell(t, fmt_run(info.ulid));
	for (size_t k = 0; k < shown->n; k++) {
		buf_reset(&b);
		put_cell(w, r, &w->columns.v[shown->which[k]], false, &b);
		if (!b.n)
			buf_char(&b, '-');
		table_cell(t, buf_view(&b));
	}
	buf_release(&b);
	return rc;
}

/* Prints the runs as a table. 0, -errno. */
static int print_table(struct table_of *w)
{
	struct shown_columns shown = {0};
	int rc = choose_columns(w, &shown);
	struct table t = {.heads = shown.heads, .align = shown.align, .n_columns = shown.n + 1};
	if (rc == 0) {
		for (size_t i = 0; rc == 0 && i < w->runs.n; i++)
			rc = table_row(w, &shown, &w->runs.runs[i], &t);
		table_print(&t, &w->c->out, w->c->out.tty ? w->c->out.width : 0);
		if (shown.same)
			report("%zu parameter%s the same in all of these runs (--all)", shown.same,
			       shown.same == 1 ? " is" : "s are");
	}
	free(shown.which);
	free(shown.heads);
	free(shown.align);
	buf_release(&shown.names);
	return rc;
}

/* All columns. 0, -errno. */
static int print_csv(struct table_of *w)
{
	struct buf b = {0}, cell = {0};
	int rc = 0;
	buf_printf(&b, "run");
	for (size_t k = 0; k < w->columns.n; k++) {
		buf_char(&b, ',');
		fmt_csv(&b, w->columns.v[k].name, true);
	}
	buf_printf(&b, "\r\n");
	for (size_t i = 0; rc == 0 && i < w->runs.n; i++) {
		struct run_info info;
		rc = store_run(w->c->store, w->runs.runs[i].run, &info) < 0 ? -EIO : 0;
		fmt_csv(&b, info.ulid, true);
		for (size_t k = 0; k < w->columns.n; k++) {
			buf_reset(&cell);
			put_cell(w, &w->runs.runs[i], &w->columns.v[k], true, &cell);
			buf_char(&b, ',');
			fmt_csv(&b, buf_view(&cell), true);
		}
		buf_printf(&b, "\r\n");
		fwrite(b.p, 1, b.n, stdout);
		rc = b.failed || cell.failed ? -ENOMEM : rc;
		buf_reset(&b);
	}
	buf_release(&b);
	buf_release(&cell);
	return rc;
}

/* Prints the runs as JSON. *ret_status: where it is 0. 0, -errno. */
static int print_table_json(struct table_of *w, int *ret_status)
{
	json_t *all = json_object(), *rows = json_array();
	int rc = 0;
	js_num(all, "format", 1);
	for (size_t i = 0; rc == 0 && i < w->runs.n; i++)
		rc = run_row_json(w->c->store, &w->runs, &w->columns, i, rows);
	js_put(all, "rows", rows);
	if (rc < 0)
		json_decref(all);
	else
		*ret_status = js_print(all, false);
	return rc;
}

/* ---- the picture ---- */

struct drawing {
	struct plot_point *points;
	size_t n, cap;
};

/* Adds a point to the drawing. 0, -ENOMEM. */
static int add_point(struct drawing *d, double x, double y, size_t series)
{
	if (!vec_has_room(d->points, d->n, d->cap))
		return -ENOMEM;
	d->points[d->n++] = (struct plot_point){x, y, series};
	return 0;
}

/* Order of qsort: by series, then from left to right. */
static int series_cmp(const void *pa, const void *pb)
{
	const struct plot_point *a = pa, *b = pb;
	if (a->series != b->series)
		return a->series < b->series ? -1 : 1;
	return (a->x > b->x) - (a->x < b->x);
}

/* Every value of the metric, over its steps. 0, -ENOMEM. */
static int draw_steps(struct table_of *w, struct str y, struct drawing *d)
{
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < w->runs.d.metrics.n; i++) {
		const struct reported_event *t = &w->runs.d.metrics.v[i];
		const struct event_app_metric *m = &t->ev.app_metric;
		if (!m->stepped || !str_eq(m->name, y) || !app_log_image_of(&w->runs.d, t, m->app))
			continue;
		for (size_t k = 0; rc == 0 && k < w->runs.n; k++)
			if (w->runs.runs[k].run == t->run)
				rc = add_point(d, (double)m->step, app_log_number(m), k);
	}
	if (d->n)
		qsort(d->points, d->n, sizeof(*d->points), series_cmp);
	return rc;
}

/* A point for each run. Runs that lack one of the two, or have no number, are left out. 0, -ENOMEM. */
static int draw_runs(struct table_of *w, struct str x, struct str y, struct drawing *d)
{
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < w->runs.n; i++) {
		const struct app_log_run *r = &w->runs.runs[i];
		const struct app_log_config *config = app_log_config_of(r, x);
		const struct app_log_metric *at = app_log_metric_of(r, x), *f = app_log_metric_of(r, y);
		int64_t step;
		bool stepped;
		double vx;
		if (at && !config)
			vx = over_runs_value(&w->runs, at, &step, &stepped);
		else if (!config || !over_runs_parse(config->value, &vx))
			continue;
		if (f)
			rc = add_point(d, vx, over_runs_value(&w->runs, f, &step, &stepped), i);
	}
	return rc;
}

/* The metric that is drawn: the first one named, else the first there is; and what it is drawn over. */
static struct str choose_metric(const struct table_of *w)
{
	for (int i = 0; i < w->c->n_operands; i++)
		for (size_t k = 0; k < w->columns.n; k++)
			if (w->columns.v[k].metric && str_is(w->columns.v[k].name, w->c->operands[i]))
				return w->columns.v[k].name;
	for (size_t k = 0; k < w->columns.n; k++)
		if (w->columns.v[k].metric)
			return w->columns.v[k].name;
	return (struct str){0};
}

/* Does any run have it at several steps? */
static bool has_steps(const struct table_of *w, struct str metric)
{
	bool stepped = false;
	for (size_t i = 0; i < w->runs.n; i++) {
		const struct app_log_metric *f = app_log_metric_of(&w->runs.runs[i], metric);
		stepped |= f && f->stepped && f->n > 1;
	}
	return stepped;
}

/* The first setting that is a number and not the same in all runs. */
static struct str choose_setting(const struct table_of *w)
{
	for (size_t k = 0; k < w->runs.runs[0].n_configs; k++) {
		const struct app_log_config *config = &w->runs.runs[0].configs[k];
		double v;
		if (over_runs_parse(config->value, &v) && !run_column_is_same(&w->runs, config->name))
			return config->name;
	}
	return (struct str){0};
}

/* What was asked for, else a metric over its steps, or over a setting. False: there is no metric; *ret_x may be empty.
 * */
static bool choose_axes(const struct table_of *w, struct str *ret_x, struct str *ret_y)
{
	*ret_y = choose_metric(w);
	*ret_x = w->o->x ? str_of(w->o->x) : has_steps(w, *ret_y) ? str_of("step") : (struct str){0};
	if (!ret_x->n)
		*ret_x = choose_setting(w);
	return ret_y->n != 0;
}

/* What the runs are called, in room. 0, -EIO. names lie in room. */
static int name_runs(const struct table_of *w, struct buf *room, struct str *names)
{
	for (size_t i = 0; i < w->runs.n; i++) {
		struct run_info info;
		if (store_run(w->c->store, w->runs.runs[i].run, &info) < 0)
			return -EIO;
		struct str name = fmt_run(info.ulid);
		names[i].n = name.n;
		buf_str(room, name);
	}
	for (size_t i = 0, at = 0; i < w->runs.n; at += names[i++].n)
		names[i].p = room->p ? room->p + at : "";
	return 0;
}

/* Prints a drawing as SVG. *ret_status: STATUS_NOTHING where there is nothing to be drawn, which was reported. 0,
 * -ENOMEM. */
static int print_plot(const struct plot *p, int *ret_status)
{
	struct buf out = {0};
	int rc = 0;
	if (!plot_svg(p, &out)) {
		report(p->x.n ? "no run has numbers for both axes" : "there is no setting to draw the metric over (--x NAME)");
		*ret_status = STATUS_NOTHING;
	} else {
		rc = out.failed ? -ENOMEM : 0;
		fwrite(out.p, 1, out.n, stdout);
	}
	buf_release(&out);
	return rc;
}

/* Prints the metric over a setting, or over its steps, as SVG. As print_plot; -errno. */
static int print_svg(struct table_of *w, int *ret_status)
{
	struct drawing d = {0};
	struct str x, y;
	struct buf room = {0};
	if (!choose_axes(w, &x, &y)) {
		report("there is no metric to draw");
		*ret_status = STATUS_NOTHING;
		return 0;
	}
	struct str *names = calloc(w->runs.n + 1, sizeof(*names));
	bool steps = str_is(x, "step") && !app_log_config_of(&w->runs.runs[0], x);
	int rc = !names ? -ENOMEM : steps ? draw_steps(w, y, &d) : draw_runs(w, x, y, &d);
	if (rc == 0)
		rc = name_runs(w, &room, names);
	struct plot p = {y, x, y, d.points, d.n, names, w->runs.n, steps};
	if (rc == 0)
		rc = print_plot(&p, ret_status);
	free(d.points);
	free(names);
	buf_release(&room);
	return rc;
}

/* Prints the runs in the form that the options ask for. As the options ask for. *ret_status stays where all is well.
 * 0, -errno. */
static int print_form(struct table_of *w, int *ret_status)
{
	const struct opts_table *o = w->o;
	if (o->svg)
		return print_svg(w, ret_status);
	if (o->json)
		return print_table_json(w, ret_status);
	return o->csv ? print_csv(w) : print_table(w);
}

/* The runs are there. 0 or -errno, and the status. */
static int print_runs(struct table_of *w, int *ret_status)
{
	int rc = run_columns_find(&w->runs, w->c->operands, (size_t)w->c->n_operands, &w->columns);
	for (int i = 0; rc == 0 && w->columns.n && i < w->c->n_operands; i++)
		if (!is_column(w, str_of(w->c->operands[i])))
			report("no run has '%s'", w->c->operands[i]);
	if (rc == 0 && w->columns.n)
		return print_form(w, ret_status);
	if (rc == 0) {
		report(w->runs.n ? "no such parameters or metrics"
		                 : "no run has logged parameters or metrics (see stemma-table)");
		*ret_status = STATUS_NOTHING;
	}
	return rc;
}

/* Gives the exit status. */
int cmd_table(struct cmd *c, const struct opts_table *o)
{
	struct table_of w = {.c = c, .o = o};
	if (o->csv + o->json + o->svg > 1)
		return report_usage(c, "one of --csv, --json and --svg");
	if (o->x && !o->svg)
		return report_usage(c, "--x requires --svg");
	int status = cmd_store(c, o->no_index);
	if (status == STATUS_OK)
		status = table_load(c, &(struct over_runs_question){o->where, o->of, o->with.v, o->with.n}, &w.runs);
	int rc = status == STATUS_OK ? print_runs(&w, &status) : 0;
	if (rc < 0) {
		report("cannot read parameters and metrics: %s", strerror(-rc));
		status = STATUS_SELF;
	}
	run_columns_release(&w.columns);
	over_runs_release(&w.runs);
	return status;
}
