/* stemma best: the run with the best metric: its settings, what it read and what it made. */
#include "answer/items.h"
#include "cmd/table/table_load.h"
#include "cmd/ui/notes_print.h"

#include <math.h>
#include <stdlib.h>

#define LIST_MAX 20 /* files without --all */

struct best {
	struct cmd *c;
	const struct opts_best *o;
	struct over_runs runs;
	size_t at, candidates, equal; /* which; how many have the metric; how many have that very value */
	double value;
	int64_t step;
	bool stepped;
};

/* A value that is not a number is not the best one. The value, its run and step are w's; w->equal: how many have that
 * value. False: none. */
static bool find_best(struct best *w)
{
	bool any = false;
	for (size_t i = 0; i < w->runs.n; i++) {
		const struct app_log_metric *f = app_log_metric_of(&w->runs.runs[i], str_of(w->o->metric));
		int64_t step;
		bool stepped;
		double v = f ? over_runs_value(&w->runs, f, &step, &stepped) : NAN;
		if (!f)
			continue;
		w->candidates++;
		if (isnan(v))
			continue;
		w->equal += any && v == w->value;
		if (any && (w->o->lowest ? v >= w->value : v <= w->value))
			continue;
		any = true;
		w->at = i;
		w->value = v;
		w->step = step;
		w->stepped = stepped;
		w->equal = 1;
	}
	return any;
}

/* Data alone. list: NULL: text, LIST_MAX lines without --all. 0, -errno. */
static int put_best_files(const struct best *w, const char *title, const struct items *l, json_t *list)
{
	size_t lines = 0, more = 0;
	for (size_t i = 0; i < l->n; i++) {
		struct version_info v;
		struct file_info f;
		struct buf b = {0};
		int r = store_version(w->c->store, l->v[i].version, &v);
		if (r > 0)
			r = store_file(w->c->store, v.file, &f);
		if (r < 0)
			return r;
		if (r == 0 || !item_is_data(cmd_source(w->c), &l->v[i].e, &v, &f))
			continue;
		if (list) {
			js_add(list, entity_json(&v, &f));
			continue;
		}
		if (lines == LIST_MAX && !w->o->all) {
			more++;
			continue;
		}
		version_name(&b, &v, &f);
		if (!l->v[i].e.sure)
			buf_printf(&b, " ?");
		printf("%-12s %s\n", lines++ ? "" : title, buf_cstr(&b));
		buf_release(&b);
	}
	if (more)
		printf("%-12s and %zu more (--all)\n", "", more);
	return 0;
}

/* Shows what a run used and made. o: NULL: text. 0, -errno. Shows what the run used and made: as text, or into o. */
static int lineage_of(const struct best *w, store_id run, json_t *o)
{
	store_id *execs = NULL;
	size_t n = 0;
	struct items used = {0}, made = {0};
	json_t *u = o ? json_array() : NULL, *m = o ? json_array() : NULL;
	int r = store_run_execs(w->c->store, run, &execs, &n);
	if (r >= 0)
		r = items_of_run(w->c->store, execs, n, &used, &made);
	if (r >= 0)
		r = put_best_files(w, "used", &used, u);
	if (r >= 0)
		r = put_best_files(w, "made", &made, m);
	if (o) {
		js_put(o, "used", u);
		js_put(o, "generated", m);
	}
	free(execs);
	items_release(&used);
	items_release(&made);
	return r < 0 ? r : 0;
}

/* A status, or -errno. */
static int print_best_json(struct best *w, const struct app_log_run *run, const struct run_info *info)
{
	json_t *all = json_object(), *o = run_json(cmd_source(w->c), info), *configs = json_array(),
	       *metrics = json_array();
	js_num(all, "format", 1);
	js_text(all, "metric", w->o->metric);
	js_float(all, "value", w->value);
	if (w->stepped)
		js_put(all, "step", json_integer(w->step));
	js_num(all, "candidates", w->candidates);
	js_num(all, "equal", w->equal);
	js_str_if(o, "type", run->type);
	for (size_t i = 0; i < run->n_configs; i++) {
		json_t *one = json_object();
		js_str(one, "name", run->configs[i].name);
		js_str(one, "value", run->configs[i].value);
		js_str_if(one, "version", run->configs[i].version);
		js_add(configs, one);
	}
	for (size_t i = 0; i < run->n_metrics; i++) {
		json_t *one = json_object();
		int64_t step;
		bool stepped;
		js_str(one, "name", run->metrics[i].name);
		js_float(one, "value", over_runs_value(&w->runs, &run->metrics[i], &step, &stepped));
		if (stepped)
			js_put(one, "step", json_integer(step));
		js_add(metrics, one);
	}
	js_put(o, "configuration", configs);
	js_put(o, "metrics", metrics);
	int rc = lineage_of(w, run->run, o);
	js_put(all, "run", o);
	if (rc < 0) {
		json_decref(all);
		return rc;
	}
	return js_print(all, false);
}

/* Prints the run with the best value of the metric. 0, -errno. */
static int print_best_text(struct best *w, const struct app_log_run *run, const struct run_info *info)
{
	struct buf b = {0};
	fmt_name(&b, info->ulid);
	print_field("run", &b);
	buf_reset(&b);
	fmt_name(&b, str_of(w->o->metric));
	buf_printf(&b, " = ");
	over_runs_number(&b, w->value, false);
	if (w->stepped)
		buf_printf(&b, "  at step %lld", (long long)w->step);
	buf_printf(&b, "  (the %s of %zu run%s", w->o->lowest ? "lowest" : "highest", w->candidates,
	           w->candidates == 1 ? "" : "s");
	if (w->equal > 1)
		buf_printf(&b, "; %zu have it, this is the first", w->equal);
	buf_char(&b, ')');
	print_field("metric", &b);
	for (size_t i = 0; i < run->n_configs; i++) {
		buf_reset(&b);
		fmt_name(&b, run->configs[i].name);
		buf_printf(&b, " = ");
		fmt_name(&b, run->configs[i].value);
		if (run->configs[i].version.n)
			buf_printf(&b, "  version ");
		fmt_name(&b, run->configs[i].version);
		print_field(i ? "" : "setting", &b);
	}
	buf_reset(&b);
	fmt_argv(&b, &info->argv, false, 400);
	print_field("command", &b);
	buf_reset(&b);
	fmt_name(&b, info->cwd);
	print_field("directory", &b);
	buf_reset(&b);
	fmt_who(&b, info->user, info->host);
	print_field("by", &b);
	buf_reset(&b);
	fmt_time(&b, info->start, false);
	print_field("start", &b);
	buf_release(&b);
	return lineage_of(w, run->run, NULL);
}

/* Gives the exit status: STATUS_NOTHING if no run has the metric as a number. */
int cmd_best(struct cmd *c, const struct opts_best *o)
{
	struct best w = {.c = c, .o = o};
	struct run_info info;
	if (c->n_operands)
		return report_usage(c, "best takes no arguments");
	if (!o->metric || !*o->metric)
		return report_usage(c, "best needs --metric NAME");
	int status = cmd_store(c, o->no_index);
	if (status == STATUS_OK)
		status = table_load(c, &(struct over_runs_question){o->where, o->of, o->with.v, o->with.n}, &w.runs);
	if (status == STATUS_OK && !find_best(&w)) {
		report(w.candidates ? "the metric '%s' is not a number in any run" : "no run has the metric '%s'", o->metric);
		if (!w.candidates)
			report_hint("stemma table lists the metrics");
		status = STATUS_NOTHING;
	}
	if (status == STATUS_OK) {
		const struct app_log_run *run = &w.runs.runs[w.at];
		int rc = store_run(c->store, run->run, &info);
		if (rc > 0)
			rc = o->json ? print_best_json(&w, run, &info) : print_best_text(&w, run, &info);
		if (rc < 0) {
			status = cmd_report_unread(c->store, "print the run");
		} else {
			status = rc == STATUS_SELF ? rc : STATUS_OK;
		}
	}
	over_runs_release(&w.runs);
	return status;
}
