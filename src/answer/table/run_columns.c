#include "answer/table/run_columns.h"

#include "answer/entities.h"
#include "base/vec.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* All are, without names. */
static bool is_wanted(struct str name, char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (str_is(name, names[i]))
			return true;
	return !n;
}

/* 0 or -ENOMEM. run_columns_find takes out the double ones. */
static int add_run_column(struct run_columns *c, struct str name, bool metric)
{
	if (!vec_has_room(c->v, c->n, c->cap))
		return -ENOMEM;
	c->v[c->n++] = (struct run_column){.name = name, .metric = metric};
	return 0;
}

/* Order of qsort: settings before metrics, then by name. */
static int compare_columns(const void *pa, const void *pb)
{
	const struct run_column *a = pa, *b = pb;
	return a->metric != b->metric ? a->metric - b->metric : str_cmp(a->name, b->name);
}

/* Sorts v and takes out what is there twice. How many are left. */
static size_t each_once(struct run_column *v, size_t n)
{
	size_t to = 0;
	qsort(v, n, sizeof(*v), compare_columns);
	for (size_t i = 0; i < n; i++)
		if (!to || compare_columns(&v[to - 1], &v[i]) != 0)
			v[to++] = v[i];
	return to;
}

bool run_column_is_same(const struct over_runs *r, struct str name)
{
	const struct app_log_config *first = r->n > 1 ? app_log_config_of(&r->runs[0], name) : NULL;
	bool same = first != NULL;
	for (size_t i = 1; same && i < r->n; i++) {
		const struct app_log_config *x = app_log_config_of(&r->runs[i], name);
		same = x && str_eq(x->value, first->value);
	}
	return same;
}

int run_columns_find(const struct over_runs *r, char *const *names, size_t n_names, struct run_columns *ret)
{
	*ret = (struct run_columns){0};
	for (size_t i = 0; i < r->n; i++) {
		const struct app_log_run *run = &r->runs[i];
		for (size_t k = 0; k < run->n_configs; k++)
			if (is_wanted(run->configs[k].name, names, n_names) && add_run_column(ret, run->configs[k].name, false) < 0)
				return -ENOMEM;
		for (size_t k = 0; k < run->n_metrics; k++)
			if (is_wanted(run->metrics[k].name, names, n_names) && add_run_column(ret, run->metrics[k].name, true) < 0)
				return -ENOMEM;
		ret->n = ret->n ? each_once(ret->v, ret->n) : 0; /* so that they do not gather by the thousand */
	}
	for (size_t i = 0; i < ret->n; i++)
		ret->v[i].same = !ret->v[i].metric && run_column_is_same(r, ret->v[i].name);
	return 0;
}

void run_columns_release(struct run_columns *c)
{
	free(c->v);
	*c = (struct run_columns){0};
}

/* What a run has of a column, under its name. Without a member where it has none. 0, -ENOMEM. */
static int cell_json(const struct over_runs *all, const struct app_log_run *r, const struct run_column *column,
                     json_t *configs, json_t *metrics)
{
	const struct app_log_config *config = column->metric ? NULL : app_log_config_of(r, column->name);
	const struct app_log_metric *metric = column->metric ? app_log_metric_of(r, column->name) : NULL;
	char *key = strndup(column->name.p ? column->name.p : "", column->name.n);
	int64_t step;
	bool stepped;
	if (!key)
		return -ENOMEM;
	if (config)
		js_str(configs, key, config->value);
	double v = metric ? over_runs_value(all, metric, &step, &stepped) : 0;
	if (metric && isfinite(v))
		js_put(metrics, key, json_real(v));
	else if (metric)
		js_text(metrics, key, isnan(v) ? "nan" : v > 0 ? "inf" : "-inf");
	free(key);
	return 0;
}

int run_row_json(struct store *s, const struct over_runs *all, const struct run_columns *c, size_t i, json_t *rows)
{
	const struct app_log_run *r = &all->runs[i];
	json_t *row = json_object(), *configs = json_object(), *metrics = json_object();
	struct run_info info;
	int rc = store_run(s, r->run, &info) < 0 ? -EIO : 0;
	js_str(row, "run", info.ulid);
	js_time(row, "start", info.start);
	js_str_if(row, "type", r->type);
	for (size_t k = 0; rc == 0 && k < c->n; k++)
		rc = cell_json(all, r, &c->v[k], configs, metrics);
	js_put(row, "configuration", configs);
	js_put(row, "metrics", metrics);
	js_add(rows, row);
	return rc;
}

int run_table_json(const struct answer_source *a, const struct over_runs_question *q, struct err *err, json_t **ret)
{
	struct over_runs runs = {0};
	struct run_columns columns = {0};
	json_t *all = json_object(), *rows = json_array();
	int rc = over_runs_load(a, q, err, &runs);
	if (rc == 0)
		rc = run_columns_find(&runs, NULL, 0, &columns);
	for (size_t i = 0; rc == 0 && i < runs.n; i++)
		rc = run_row_json(a->store, &runs, &columns, i, rows);
	js_num(all, "format", 1);
	js_put(all, "rows", rows);
	run_columns_release(&columns);
	over_runs_release(&runs);
	if (rc < 0)
		json_decref(all);
	else
		*ret = all;
	return rc < 0 ? rc : 0;
}
