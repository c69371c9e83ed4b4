#include "query/app_log.h"

#include "base/vec.h"

#include <errno.h>
#include <stdlib.h>

/* As it was told; NaN if it was none. */
double app_log_number(const struct event_app_metric *m)
{
	double v;
	memcpy(&v, &m->number, sizeof(v));
	return v;
}

/* ---- who ---- */

/* By session and seq. */
static int image_cmp(const void *pa, const void *pb)
{
	const struct app_log_image *a = pa, *b = pb;
	if (a->app->session != b->app->session)
		return a->app->session < b->app->session ? -1 : 1;
	return (a->app->ev.seq > b->app->ev.seq) - (a->app->ev.seq < b->app->ev.seq);
}

/* By what they are, and of the same the one that was written first. */
static int same_cmp(const void *pa, const void *pb)
{
	const struct app_log_image *a = pa, *b = pb;
	const struct event_app *x = &a->app->ev.app, *y = &b->app->ev.app;
	if (a->app->session != b->app->session)
		return a->app->session < b->app->session ? -1 : 1;
	if (x->image != y->image)
		return x->image < y->image ? -1 : 1;
	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return (a->app->ev.seq > b->app->ev.seq) - (a->app->ev.seq < b->app->ev.seq);
}

/* The same image of a process in the same session. */
static bool is_same_image(const struct app_log_image *a, const struct app_log_image *b)
{
	const struct event_app *x = &a->app->ev.app, *y = &b->app->ev.app;
	return a->app->session == b->app->session && x->image == y->image && x->pid == y->pid;
}

/* d->images: each image once, the later telling of one that was told twice. 0, -ENOMEM. */
static int index_images(struct app_log *d)
{
	size_t n = 0;
	d->images = calloc(d->apps.n + 1, sizeof(*d->images));
	if (!d->images)
		return -ENOMEM;
	for (size_t i = 0; i < d->apps.n; i++)
		d->images[i].app = &d->apps.v[i];
	qsort(d->images, d->apps.n, sizeof(*d->images), same_cmp);
	for (size_t i = 0; i < d->apps.n; i++)
		if (i + 1 == d->apps.n || !is_same_image(&d->images[i], &d->images[i + 1]))
			d->images[n++] = d->images[i];
	d->n_images = n;
	qsort(d->images, n, sizeof(*d->images), image_cmp);
	return 0;
}

int app_log_load(struct store *s, store_id run, struct app_log *ret)
{
	*ret = (struct app_log){.s = s};
	const struct {
		uint64_t kind;
		struct reported_list *list;
	} lists[] = {{EVENT_app, &ret->apps},           {EVENT_app_word, &ret->words},
	             {EVENT_app_metric, &ret->metrics}, {EVENT_app_activity, &ret->activities},
	             {EVENT_mpi_rank, &ret->ranks},     {EVENT_mpi_io, &ret->ios}};
	int rc = 0;
	/* Most runs say nothing, and cost one look. */
	for (size_t i = 0; rc == 0 && i < sizeof(lists) / sizeof(lists[0]); i++)
		if (i == 0 || ret->apps.n)
			rc = store_reported(s, run, lists[i].kind, lists[i].list);
	return rc == 0 ? index_images(ret) : rc;
}

/* d is empty then. */
void app_log_release(struct app_log *d)
{
	struct reported_list *const lists[] = {&d->apps, &d->words, &d->metrics, &d->activities, &d->ranks, &d->ios};
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		reported_list_release(lists[i]);
	free(d->images);
	*d = (struct app_log){0};
}

bool app_log_is_empty(const struct app_log *d)
{
	return !d->apps.n;
}

uint64_t app_log_dropped(const struct app_log *d)
{
	uint64_t n = 0;
	for (size_t i = 0; i < d->n_images; i++)
		n += d->images[i].app->ev.app.dropped;
	return n;
}

const struct app_log_image *app_log_image_of(const struct app_log *d, const struct reported_event *t, uint64_t app)
{
	const struct reported_event key = {.session = t->session, .ev = {.seq = app}};
	const struct app_log_image k = {.app = &key};
	return d->n_images ? bsearch(&k, d->images, d->n_images, sizeof(k), image_cmp) : NULL;
}

int app_log_exec(const struct app_log *d, const struct app_log_image *by, int64_t time, store_id *ret)
{
	const struct event_app *a = &by->app->ev.app;
	return store_exec_at(d->s, by->app->session, a->pid, a->started, time, ret);
}

/* ---- by run ---- */

/* One word or metric, to be sorted by run, name and then time. */
struct item {
	store_id run;
	struct str name;
	const struct reported_event *t;
	size_t at; /* place in time: lists are in order of it */
};
struct items {
	VEC(struct item) v;
};

/* By run and name, then as they were logged. */
static int compare_logged_items(const void *pa, const void *pb)
{
	const struct item *a = pa, *b = pb;
	if (a->run != b->run)
		return a->run < b->run ? -1 : 1;
	int c = str_cmp(a->name, b->name);
	return c ? c : (a->at > b->at) - (a->at < b->at);
}

/* One that is of no run is left out. 0, -ENOMEM. */
static int append_logged_item(struct items *l, const struct reported_event *t, struct str name)
{
	struct item *i = t->run ? vec_add(&l->v) : NULL;
	if (!i)
		return t->run ? -ENOMEM : 0;
	*i = (struct item){t->run, name, t, l->v.n};
	return 0;
}

struct runs {
	VEC(struct app_log_run) v;
};

/* The order of runs, for qsort and bsearch. */
static int run_cmp(const void *pa, const void *pb)
{
	const struct app_log_run *a = pa, *b = pb;
	return (a->run > b->run) - (a->run < b->run);
}

/* Each run that logged anything once, by id. 0, -ENOMEM. */
static int list_runs(const struct app_log *d, struct runs *l)
{
	for (size_t i = 0; i < d->apps.n; i++) {
		struct app_log_run *r = d->apps.v[i].run ? vec_add(&l->v) : NULL;
		if (!r && d->apps.v[i].run)
			return -ENOMEM;
		if (r)
			*r = (struct app_log_run){.run = d->apps.v[i].run, .type = str_of("")};
	}
	if (l->v.n)
		qsort(l->v.v, l->v.n, sizeof(*l->v.v), run_cmp);
	size_t n = 0;
	for (size_t i = 0; i < l->v.n; i++)
		if (!n || l->v.v[n - 1].run != l->v.v[i].run)
			l->v.v[n++] = l->v.v[i];
	l->v.n = n;
	return 0;
}

/* Finds a run in the list, which is sorted. NULL: it is not in the list. */
static struct app_log_run *run_of(struct runs *l, store_id run)
{
	const struct app_log_run key = {.run = run};
	return l->v.n ? bsearch(&key, l->v.v, l->v.n, sizeof(key), run_cmp) : NULL;
}

/* Of one name in one run, in order of time. */
static void settle_config(const struct item *v, size_t n, struct app_log_config *ret)
{
	const struct event_app_word *last = &v[n - 1].t->ev.app_word;
	*ret = (struct app_log_config){last->name, last->value, last->version, v[n - 1].t->ev.time, 1};
	for (size_t i = 1; i < n; i++)
		ret->values += !str_eq(v[i].t->ev.app_word.value, v[i - 1].t->ev.app_word.value);
}

/* Reduces the values of a metric to one row. v: the n values of one metric in one run, as they were logged. Least,
 * greatest and last of those that are numbers. */
static void reduce_metric(const struct item *v, size_t n, struct app_log_metric *ret)
{
	*ret = (struct app_log_metric){.name = v->name, .n = n, .first = app_log_number(&v->t->ev.app_metric)};
	bool any = false;
	for (size_t i = 0; i < n; i++) {
		const struct event_app_metric *m = &v[i].t->ev.app_metric;
		double x = app_log_number(m);
		ret->last = x;
		ret->last_step = m->step;
		ret->stepped |= m->stepped;
		ret->sum += x;
		if (x != x) /* not a number: neither the least nor the most */
			continue;
		if (!any || x < ret->least) {
			ret->least = x;
			ret->least_step = m->step;
		}
		if (!any || x > ret->most) {
			ret->most = x;
			ret->most_step = m->step;
		}
		any = true;
	}
	if (!any)
		ret->least = ret->most = ret->last;
}

/* How many items from `from` on are of the same run and name; at least 1. */
static size_t same_name(const struct items *l, size_t from)
{
	size_t n = 1;
	while (from + n < l->v.n && l->v.v[from + n].run == l->v.v[from].run &&
	       str_eq(l->v.v[from + n].name, l->v.v[from].name))
		n++;
	return n;
}

/* How many different names the run of item `from` has. */
static size_t names_of_run(const struct items *l, size_t from)
{
	size_t names = 0;
	for (size_t i = from; i < l->v.n && l->v.v[i].run == l->v.v[from].run; i += same_name(l, i))
		names++;
	return names;
}

/* Sorts the items and gives each run its metrics, or its other words. 0, -ENOMEM, -ENOTRECOVERABLE. */
static int reduce_run_items(struct runs *runs, struct items *l, bool metrics)
{
	if (l->v.n)
		qsort(l->v.v, l->v.n, sizeof(*l->v.v), compare_logged_items);
	for (size_t i = 0; i < l->v.n;) {
		struct app_log_run *r = run_of(runs, l->v.v[i].run);
		size_t names = names_of_run(l, i);
		if (!r)
			return -ENOTRECOVERABLE;
		if (metrics)
			r->metrics = calloc(names, sizeof(*r->metrics));
		else
			r->configs = calloc(names, sizeof(*r->configs));
		if (metrics ? !r->metrics : !r->configs)
			return -ENOMEM;
		for (size_t k = 0, n; k < names; k++, i += n) {
			n = same_name(l, i);
			if (metrics)
				reduce_metric(&l->v.v[i], n, &r->metrics[r->n_metrics++]);
			else
				settle_config(&l->v.v[i], n, &r->configs[r->n_configs++]);
		}
	}
	return 0;
}

int app_log_runs(const struct app_log *d, struct app_log_run **ret, size_t *ret_n)
{
	struct runs runs = {0};
	struct items configs = {0}, metrics = {0};
	int rc = list_runs(d, &runs);
	for (size_t i = 0; rc == 0 && i < d->words.n; i++) {
		const struct reported_event *t = &d->words.v[i];
		const struct event_app_word *w = &t->ev.app_word;
		if (!app_log_image_of(d, t, w->app))
			continue;
		struct app_log_run *r = w->said == TERM_said_type ? run_of(&runs, t->run) : NULL;
		if (r)
			r->type = w->name;
		if (w->said == TERM_said_config)
			rc = append_logged_item(&configs, t, w->name);
	}
	for (size_t i = 0; rc == 0 && i < d->metrics.n; i++) {
		const struct reported_event *t = &d->metrics.v[i];
		if (app_log_image_of(d, t, t->ev.app_metric.app))
			rc = append_logged_item(&metrics, t, t->ev.app_metric.name);
	}
	if (rc == 0)
		rc = reduce_run_items(&runs, &configs, false);
	if (rc == 0)
		rc = reduce_run_items(&runs, &metrics, true);
	vec_release(&configs.v);
	vec_release(&metrics.v);
	if (rc < 0) {
		app_log_runs_free(runs.v.v, runs.v.n);
		return rc;
	}
	*ret = runs.v.v;
	*ret_n = runs.v.n;
	return 0;
}

/* n: how many; v may be NULL. */
void app_log_runs_free(struct app_log_run *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(v[i].configs);
		free(v[i].metrics);
	}
	free(v);
}

const struct app_log_config *app_log_config_of(const struct app_log_run *r, struct str name)
{
	for (size_t i = 0; i < r->n_configs; i++)
		if (str_eq(r->configs[i].name, name))
			return &r->configs[i];
	return NULL;
}

/* NULL: the run has no metric of that name. */
const struct app_log_metric *app_log_metric_of(const struct app_log_run *r, struct str name)
{
	for (size_t i = 0; i < r->n_metrics; i++)
		if (str_eq(r->metrics[i].name, name))
			return &r->metrics[i];
	return NULL;
}
