/* print_app_log.c - what programs of a run told of themselves. */
#include "cmd/show/show_view.h"
#include "query/app_log.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

struct view {
	struct app_log d;
	bool all;
};

/* Lines of one field: the first has its name. False: enough of them. */
static bool print_listed_field(const struct view *w, const char *name, size_t i, size_t n, const struct buf *b)
{
	if (i >= SHOW_LINES && !w->all) {
		printf("%-12s and %zu more (--all)\n", "", n - i);
		return false;
	}
	print_field(i ? "" : name, b);
	return true;
}

/* Appends a text, shortened. At most 200 bytes, then how many there are. */
static void put_short(struct buf *b, struct str s)
{
	enum { MOST = 200 };
	fmt_name(b, str_n(s.p, s.n < MOST ? s.n : MOST));
	if (s.n > MOST)
		buf_printf(b, "... (%zu bytes)", s.n);
}

/* Appends a number with six digits at most. */
static void put_real(struct buf *b, double v)
{
	if (isnan(v))
		buf_printf(b, "nan");
	else
		buf_printf(b, "%.6g", v);
}

/* The settings that the run said, until the list is cut. */
static void configs_text(const struct view *w, const struct app_log_run *r)
{
	struct buf b = {0};
	for (size_t i = 0; i < r->n_configs; i++) {
		const struct app_log_config *x = &r->configs[i];
		buf_reset(&b);
		put_short(&b, x->name);
		buf_printf(&b, " = ");
		put_short(&b, x->value);
		if (x->version.n)
			buf_printf(&b, "  version ");
		fmt_name(&b, x->version);
		if (x->values > 1)
			buf_printf(&b, "  (the last of %zu values)", x->values);
		if (!print_listed_field(w, "setting", i, r->n_configs, &b))
			break;
	}
	buf_release(&b);
}

/* The metrics that the run said: the last value of each, and between which all lie. */
static void metrics_text(const struct view *w, const struct app_log_run *r)
{
	struct buf b = {0};
	for (size_t i = 0; i < r->n_metrics; i++) {
		const struct app_log_metric *f = &r->metrics[i];
		buf_reset(&b);
		put_short(&b, f->name);
		buf_printf(&b, " = ");
		put_real(&b, f->last);
		if (f->stepped)
			buf_printf(&b, "  at step %" PRId64, f->last_step);
		if (f->n > 1) {
			buf_printf(&b, "  (the last of %zu: ", f->n);
			put_real(&b, f->least);
			buf_printf(&b, " to ");
			put_real(&b, f->most);
			buf_char(&b, ')');
		}
		if (!print_listed_field(w, "metric", i, r->n_metrics, &b))
			break;
	}
	buf_release(&b);
}

/* Prints what programs said of the run in words. said: which kind of words; name: its field. */
static void words_text(const struct view *w, unsigned said, const char *name)
{
	struct buf b = {0};
	size_t n = 0, i = 0;
	for (size_t k = 0; k < w->d.words.n; k++)
		n += w->d.words.v[k].ev.app_word.said == said;
	for (size_t k = 0; k < w->d.words.n; k++) {
		const struct event_app_word *x = &w->d.words.v[k].ev.app_word;
		if (x->said != said || !app_log_image_of(&w->d, &w->d.words.v[k], x->app))
			continue;
		buf_reset(&b);
		put_short(&b, x->name);
		if (x->value.n) {
			buf_printf(&b, " = ");
			put_short(&b, x->value);
		}
		if (!print_listed_field(w, name, i++, n, &b))
			break;
	}
	buf_release(&b);
}

struct parts {
	struct str name;
	size_t n, open;
	uint64_t spent;
	int64_t first;
};

/* Order of qsort: by the first. */
static int parts_cmp(const void *pa, const void *pb)
{
	const struct parts *a = pa, *b = pb;
	return (a->first > b->first) - (a->first < b->first);
}

/* One line for all activities of a name, in the order in which they came up. 0, -ENOMEM. */
static int activities_text(const struct view *w)
{
	struct parts *v = calloc(w->d.activities.n + 1, sizeof(*v));
	struct buf b = {0};
	size_t n = 0;
	if (!v)
		return -ENOMEM;
	for (size_t i = 0; i < w->d.activities.n; i++) {
		const struct event_app_activity *a = &w->d.activities.v[i].ev.app_activity;
		size_t k = 0;
		if (!app_log_image_of(&w->d, &w->d.activities.v[i], a->app))
			continue;
		while (k < n && k < SHOW_LINES && !str_eq(v[k].name, a->name))
			k++;
		if (k == n)
			v[n++] = (struct parts){.name = a->name, .first = w->d.activities.v[i].ev.time};
		v[k].n++;
		v[k].open += a->until == TIME_NONE;
		if (a->until > w->d.activities.v[i].ev.time)
			v[k].spent += (uint64_t)(a->until - w->d.activities.v[i].ev.time);
	}
	qsort(v, n, sizeof(*v), parts_cmp);
	for (size_t i = 0; i < n; i++) {
		buf_reset(&b);
		put_short(&b, v[i].name);
		if (v[i].n > 1)
			buf_printf(&b, "  %zu times", v[i].n);
		buf_printf(&b, "  ");
		fmt_duration(&b, v[i].spent);
		if (v[i].open)
			buf_printf(&b, "  (%zu without an end)", v[i].open);
		if (!print_listed_field(w, "activity", i, n, &b))
			break;
	}
	buf_release(&b);
	free(v);
	return 0;
}

/* Prints how many ranks of MPI the run had. Nothing if no process said that it is a rank. */
static void ranks_text(const struct view *w)
{
	struct buf b = {0};
	if (!w->d.ranks.n)
		return;
	const struct event_mpi_rank *r = &w->d.ranks.v[0].ev.mpi_rank;
	buf_printf(&b, "%zu of %" PRIu64 "  ", w->d.ranks.n, r->size);
	fmt_name(&b, str_n(r->library.p, r->library.n < 60 ? r->library.n : 60));
	print_field("MPI ranks", &b);
	buf_release(&b);
}

/* What was read and written by MPI-IO, a line for each file and operation. */
static void print_mpi_ios(const struct view *w)
{
	struct buf b = {0};
	for (size_t i = 0; i < w->d.ios.n; i++) {
		const struct event_mpi_io *m = &w->d.ios.v[i].ev.mpi_io;
		buf_reset(&b);
		fmt_path(&b, m->path);
		buf_printf(&b, "  %s%s  %" PRIu64 " calls", term_name(SET_mpiop, m->op), m->collective ? " together" : "",
		           m->calls);
		if (m->failed)
			buf_printf(&b, " (and %" PRIu64 " that failed)", m->failed);
		if (m->bytes) {
			buf_printf(&b, "  ");
			fmt_size(&b, m->bytes, false);
		}
		if (!print_listed_field(w, "MPI-IO", i, w->d.ios.n, &b))
			break;
	}
	buf_release(&b);
}

/* Prints what programs said of themselves. 0, -errno. Nothing where no program said anything. */
static int print_app_log(const struct view *w)
{
	struct app_log_run *runs = NULL;
	size_t n = 0;
	struct buf b = {0};
	int rc = app_log_runs(&w->d, &runs, &n);
	if (rc == 0 && n) {
		if (runs->type.n) {
			fmt_name(&b, runs->type);
			print_field("type", &b);
		}
		words_text(w, TERM_said_tag, "tag");
		configs_text(w, runs);
		metrics_text(w, runs);
	}
	if (rc == 0)
		rc = activities_text(w);
	words_text(w, TERM_said_used, "annotated as used");
	words_text(w, TERM_said_generated, "annotated as made");
	ranks_text(w);
	print_mpi_ios(w);
	uint64_t dropped = app_log_dropped(&w->d);
	if (dropped) {
		buf_reset(&b);
		buf_printf(&b, "%" PRIu64 " word%s left out for lack of space", dropped, str_plural(dropped));
		print_field("dropped", &b);
	}
	buf_release(&b);
	app_log_runs_free(runs, n);
	return rc;
}

int show_print_app_log(struct cmd *c, store_id run, bool all)
{
	struct view w = {.all = all};
	int rc = app_log_load(c->store, run, &w.d);
	if (rc == 0 && !app_log_is_empty(&w.d))
		rc = print_app_log(&w);
	app_log_release(&w.d);
	return rc;
}
