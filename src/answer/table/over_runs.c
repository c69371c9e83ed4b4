#include "answer/table/over_runs.h"

#include "query/find/select.h"
#include "query/idset.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

bool over_runs_parse(struct str text, double *ret)
{
	char room[64], *end;
	if (!text.n || text.n >= sizeof(room) || memchr(text.p, '\0', text.n))
		return false;
	memcpy(room, text.p, text.n);
	room[text.n] = '\0';
	if (strspn(room, "+-.0123456789eE") != text.n)
		return false;
	double v = strtod(room, &end);
	if (*end || !isfinite(v))
		return false;
	*ret = v;
	return true;
}

void over_runs_number(struct buf *b, double v, bool exact)
{
	if (isnan(v))
		buf_printf(b, "nan");
	else
		for (int digits = exact ? 15 : 7; digits <= 17; digits++) {
			char text[40];
			snprintf(text, sizeof(text), "%.*g", digits, v);
			if (!exact || digits == 17 || strtod(text, NULL) == v) {
				buf_printf(b, "%s", text);
				break;
			}
		}
}

double over_runs_value(const struct over_runs *r, const struct app_log_metric *f, int64_t *ret_step, bool *ret_stepped)
{
	*ret_stepped = f->stepped && r->of != OF_MEAN;
	*ret_step = r->of == OF_MAX ? f->most_step : r->of == OF_MIN ? f->least_step : f->last_step;
	return r->of == OF_MAX ? f->most : r->of == OF_MIN ? f->least : r->of == OF_MEAN ? f->sum / (double)f->n : f->last;
}

/* ---- --with ---- */

enum relation { IS, IS_NOT, LESS, AT_MOST, MORE, AT_LEAST };
struct condition {
	struct str name, value;
	enum relation relation;
	double number;
	bool is_number;
};

/* NAME=VALUE, !=, <, <=, >, >=. False: it is none, or compares what is no number. */
static bool parse_run_condition(const char *text, struct condition *ret)
{
	static const struct {
		const char *sign;
		enum relation relation;
	} signs[] = {{"!=", IS_NOT}, {"<=", AT_MOST}, {">=", AT_LEAST}, {"=", IS}, {"<", LESS}, {">", MORE}};
	size_t at = strcspn(text, "!<>=");
	for (size_t i = 0; at && i < sizeof(signs) / sizeof(signs[0]); i++) {
		size_t n = strlen(signs[i].sign);
		if (strncmp(text + at, signs[i].sign, n) != 0)
			continue;
		*ret =
		    (struct condition){.name = str_n(text, at), .value = str_of(text + at + n), .relation = signs[i].relation};
		ret->is_number = over_runs_parse(ret->value, &ret->number);
		return ret->is_number || ret->relation <= IS_NOT;
	}
	return false;
}

/* NaN is different from every number. */
static bool holds_number(const struct condition *c, double v)
{
	switch (c->relation) {
	case IS:
		return v == c->number;
	case IS_NOT:
		return v != c->number;
	case LESS:
		return v < c->number;
	case AT_MOST:
		return v <= c->number;
	case MORE:
		return v > c->number;
	default:
		return v >= c->number;
	}
}

/* What a run has not meets no condition. */
static bool meets_condition(const struct over_runs *r, const struct app_log_run *run, const struct condition *c)
{
	const struct app_log_config *config = app_log_config_of(run, c->name);
	const struct app_log_metric *metric = app_log_metric_of(run, c->name);
	double v;
	int64_t step;
	bool stepped;
	if (config && c->is_number && over_runs_parse(config->value, &v))
		return holds_number(c, v);
	if (config)
		return c->relation <= IS_NOT && str_eq(config->value, c->value) == (c->relation == IS);
	return metric && c->is_number && holds_number(c, over_runs_value(r, metric, &step, &stepped));
}

/* ---- which runs ---- */

/* CLOCK_REALTIME, ns. */
static int64_t wall_clock_ns(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_REALTIME, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

/* The runs that the expression describes. As over_runs_load. */
static int select_runs(const struct answer_source *a, const char *where, struct err *err, struct idset *ret)
{
	struct expr *e = NULL;
	enum expr_kind kind;
	char *words[] = {(char *)(uintptr_t)where};
	struct select_options o = {.now = wall_clock_ns(), .system_extra = a->system_extra};
	int rc = expr_parse(words, 1, err, &e, &kind);
	if (rc == 0)
		rc = select_eval(a->store, e, EXPR_RUNS, &o, err, ret);
	expr_free(e);
	return rc < 0 ? rc : 0;
}

struct began {
	struct app_log_run run;
	int64_t start;
	char ulid[27];
};

/* Order of qsort: by time, then by ULID. */
static int began_cmp(const void *pa, const void *pb)
{
	const struct began *a = pa, *b = pb;
	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return strcmp(a->ulid, b->ulid);
}

/* The earliest first: row numbers of runs depend on which log was read first. 0, -errno. */
static int sort_by_start(struct store *store, struct over_runs *r)
{
	struct began *v = calloc(r->n + 1, sizeof(*v));
	int rc = v ? 0 : -ENOMEM;
	for (size_t i = 0; rc >= 0 && i < r->n; i++) {
		struct run_info info;
		v[i].run = r->runs[i];
		rc = store_run(store, r->runs[i].run, &info);
		if (rc == 1) {
			v[i].start = info.start;
			snprintf(v[i].ulid, sizeof(v[i].ulid), "%.*s", (int)info.ulid.n, info.ulid.p);
		}
	}
	if (rc >= 0) {
		qsort(v, r->n, sizeof(*v), began_cmp);
		for (size_t i = 0; i < r->n; i++)
			r->runs[i] = v[i].run;
	}
	free(v);
	return rc < 0 ? rc : 0;
}

/* Leaves out runs that are not asked for. in: NULL: all. What is left out is freed. */
static void leave_out(struct over_runs *r, const struct idset *in, const struct condition *with, size_t n_with)
{
	size_t n = 0;
	for (size_t i = 0; i < r->n; i++) {
		bool is = !in || idset_has(in, r->runs[i].run);
		for (size_t k = 0; is && k < n_with; k++)
			is = meets_condition(r, &r->runs[i], &with[k]);
		struct app_log_run one = r->runs[i]; /* those left out are still to be freed: behind the others */
		if (is) {
			r->runs[i] = r->runs[n];
			r->runs[n++] = one;
		}
	}
	for (size_t i = n; i < r->n; i++) {
		free(r->runs[i].configs);
		free(r->runs[i].metrics);
	}
	r->n = n;
}

/* The conditions of the question. *ret is the caller's. 0, -EINVAL with a sentence, -ENOMEM. */
static int parse_run_conditions(const struct over_runs_question *q, struct err *err, struct condition **ret)
{
	*ret = calloc(q->n_with + 1, sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	for (size_t i = 0; i < q->n_with; i++)
		if (!parse_run_condition(q->with[i], &(*ret)[i]))
			return err_set(err, 0, "condition '%s' is not NAME=VALUE, or with != < <= > >= and a number", q->with[i]),
			       -EINVAL;
	return 0;
}

int over_runs_load(const struct answer_source *a, const struct over_runs_question *q, struct err *err,
                   struct over_runs *ret)
{
	static const char *const words[] = {"last", "max", "min", "mean"};
	struct idset in = {0};
	struct condition *conditions = NULL;
	size_t which = 0;
	*ret = (struct over_runs){0};
	while (q->of && which < 4 && strcmp(q->of, words[which]) != 0)
		which++;
	if (which == 4)
		return err_set(err, 0, "--of is one of last, max, min, mean, not '%s'", q->of), -EINVAL;
	ret->of = (enum figure_of)which;
	int rc = parse_run_conditions(q, err, &conditions);
	if (rc == 0 && q->where)
		rc = select_runs(a, q->where, err, &in);
	if (rc == 0)
		rc = app_log_load(a->store, 0, &ret->d);
	if (rc == 0)
		rc = app_log_runs(&ret->d, &ret->runs, &ret->n);
	if (rc == 0) {
		leave_out(ret, q->where ? &in : NULL, conditions, q->n_with);
		rc = sort_by_start(a->store, ret);
	}
	idset_release(&in);
	free(conditions);
	if (rc < 0 && !err->text[0])
		err_set(err, -rc, "cannot read parameters and metrics");
	return rc < 0 ? rc : 0;
}

/* r is empty then. */
void over_runs_release(struct over_runs *r)
{
	app_log_runs_free(r->runs, r->n);
	app_log_release(&r->d);
	*r = (struct over_runs){0};
}
