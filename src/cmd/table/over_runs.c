#include "cmd/table/over_runs.h"

#include "cmd/ui/columns.h"
#include "query/find/select.h"
#include "query/idset.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
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

/* The runs that the expression describes. A status, reported. */
static int select_runs(struct cmd *c, const char *where, struct idset *ret)
{
	struct err err = {0};
	struct expr *e = NULL;
	enum expr_kind kind;
	char *words[] = {(char *)where};
	struct select_options o = {.now = wall_clock_ns(), .system_extra = config_get(&c->config, CONFIG_system)};
	int rc = expr_parse(words, 1, &err, &e, &kind);
	if (rc == 0)
		rc = select_eval(c->store, e, EXPR_RUNS, &o, &err, ret);
	expr_free(e);
	if (rc < 0)
		return report_err(&err, rc == -EINVAL ? STATUS_USAGE : rc == -ENOENT ? STATUS_NOTHING : STATUS_SELF);
	return STATUS_OK;
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
static int sort_by_start(struct cmd *c, struct over_runs *r)
{
	struct began *v = calloc(r->n + 1, sizeof(*v));
	int rc = v ? 0 : -ENOMEM;
	for (size_t i = 0; rc >= 0 && i < r->n; i++) {
		struct run_info info;
		v[i].run = r->runs[i];
		rc = store_run(c->store, r->runs[i].run, &info);
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

int over_runs_load(struct cmd *c, const char *where, const struct texts *with, const char *of, struct over_runs *ret)
{
	static const char *const words[] = {"last", "max", "min", "mean"};
	struct idset in = {0};
	struct condition *conditions = NULL;
	*ret = (struct over_runs){0};
	size_t which = 0;
	while (of && which < 4 && strcmp(of, words[which]) != 0)
		which++;
	if (which == 4)
		return report_usage(c, "--of is one of last, max, min, mean, not '%s'", of);
	ret->of = (enum figure_of)which;
	conditions = calloc(with->n + 1, sizeof(*conditions));
	for (size_t i = 0; conditions && i < with->n; i++)
		if (!parse_run_condition(with->v[i], &conditions[i])) {
			free(conditions);
			return report_usage(c, "condition '%s' is not NAME=VALUE, or with != < <= > >= and a number", with->v[i]);
		}
	int status = where ? select_runs(c, where, &in) : STATUS_OK;
	int rc = status != STATUS_OK ? 0 : conditions ? app_log_load(c->store, 0, &ret->d) : -ENOMEM;
	if (status == STATUS_OK && rc == 0)
		rc = app_log_runs(&ret->d, &ret->runs, &ret->n);
	if (status == STATUS_OK && rc == 0) {
		leave_out(ret, where ? &in : NULL, conditions, with->n);
		rc = sort_by_start(c, ret);
	}
	if (rc < 0) {
		report("cannot read parameters and metrics: %s", strerror(-rc));
		status = STATUS_SELF;
	}
	idset_release(&in);
	free(conditions);
	return status;
}

/* r is empty then. */
void over_runs_release(struct over_runs *r)
{
	app_log_runs_free(r->runs, r->n);
	app_log_release(&r->d);
	*r = (struct over_runs){0};
}
