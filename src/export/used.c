/* used.c - what runs used, as resource_monitor and kickstart tell it (src/summary/read_any.h): one summary for each run
 * of the selection that was measured, in the order of their ends. Of the whole record then also those of tasks that
 * were not recorded here.
 *
 * A run whose processes outlived it has two: the later one counts. Memory: 24 bytes a run. */
#include "base/vec.h"
#include "export/export.h"
#include "export/work.h"
#include "summary/read_any.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct chosen {
	store_id run, id;
	int64_t time;
};

struct used {
	struct chosen *v;
	size_t n, cap;
	const store_id *runs; /* only of these; NULL: of all */
	size_t n_runs;
	bool others; /* there are tasks of no run */
	enum summary_form form;
	struct store *s;
	struct out *out;
	struct buf text;
};

/* ---- which ---- */

/* Order of qsort. */
static int compare_store_ids(const void *a, const void *b)
{
	const store_id *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

/* Order of qsort: by run, then by time. */
static int compare_chosen_by_run(const void *a, const void *b)
{
	const struct chosen *x = a, *y = b;
	int c = compare_store_ids(&x->run, &y->run);
	return c ? c : x->time != y->time ? (x->time < y->time ? -1 : 1) : compare_store_ids(&x->id, &y->id);
}

/* Order of qsort: by time. */
static int compare_chosen_by_time(const void *a, const void *b)
{
	const struct chosen *x = a, *y = b;
	return x->time != y->time ? (x->time < y->time ? -1 : 1) : compare_store_ids(&x->id, &y->id);
}

/* Called for each summary; keeps those of the runs that are wanted. 0, -ENOMEM. */
static int append_chosen_summary(void *arg, const struct summary_info *m)
{
	struct used *u = arg;
	if (!m->run) {
		u->others = !u->runs;
		return 0;
	}
	if (u->runs && !bsearch(&m->run, u->runs, u->n_runs, sizeof(*u->runs), compare_store_ids))
		return 0;
	if (!vec_has_room(u->v, u->n, u->cap))
		return -ENOMEM;
	u->v[u->n++] = (struct chosen){m->run, m->id, m->time};
	return 0;
}

/* Chooses the summaries of the runs. Of each run the last one, in order of time. 0, -errno. */
static int choose_summaries(struct used *u)
{
	int rc = store_summaries(u->s, 0, append_chosen_summary, u);
	if (rc < 0)
		return rc;
	qsort(u->v, u->n, sizeof(*u->v), compare_chosen_by_run);
	size_t kept = 0;
	for (size_t i = 0; i < u->n; i++)
		if (i + 1 == u->n || u->v[i + 1].run != u->v[i].run)
			u->v[kept++] = u->v[i];
	u->n = kept;
	qsort(u->v, u->n, sizeof(*u->v), compare_chosen_by_time);
	return 0;
}

/* ---- one, as others take it ---- */

/* The caller frees it; NULL without memory. */
static char *copy_used_text(struct str s)
{
	return strndup(s.p ? s.p : "", s.n);
}

/* "key=value" each. False: no memory; what is there is *ret's. */
static bool copy_summary_pairs(const struct strlist *l, struct summary_pair **ret, size_t *ret_n)
{
	struct str s;
	struct summary_pair *v = calloc(l->count + 1, sizeof(*v));
	if (!v)
		return false;
	*ret = v;
	for (size_t i = 0, at = 0; out_list_next(l, &i, &at, &s);) {
		const char *eq = s.n ? memchr(s.p, '=', s.n) : NULL;
		size_t n = eq ? (size_t)(eq - s.p) : s.n;
		v[*ret_n] = (struct summary_pair){copy_used_text(str_n(s.p, n)),
		                                  copy_used_text(eq ? str_n(eq + 1, s.n - n - 1) : str_of(""))};
		(*ret_n)++;
		if (!v[*ret_n - 1].key || !v[*ret_n - 1].value)
			return false;
	}
	return true;
}

/* "name=peak/limit" each. What is none is left out. False: no memory. */
static bool copy_exceeded_limits(const struct strlist *l, struct summary *to)
{
	struct str s;
	to->exceeded = calloc(l->count + 1, sizeof(*to->exceeded));
	if (!to->exceeded)
		return false;
	for (size_t i = 0, at = 0; out_list_next(l, &i, &at, &s);) {
		char *text = copy_used_text(s), *eq = text ? strchr(text, '=') : NULL;
		struct summary_limit *e = &to->exceeded[to->nexceeded];
		if (eq && sscanf(eq + 1, "%" SCNd64 "/%" SCNd64, &e->peak, &e->limit) == 2) {
			*eq = '\0';
			e->name = text;
			to->nexceeded++;
		} else {
			free(text);
			if (!text)
				return false;
		}
	}
	return true;
}

/* The words of a command; false without memory. */
static bool copy_argv(const struct strlist *argv, struct summary *to)
{
	struct str s;
	size_t n = 0;
	if (!argv->count)
		return true;
	if (!(to->argv = calloc(argv->count + 1, sizeof(*to->argv))))
		return false;
	for (size_t i = 0, at = 0; out_list_next(argv, &i, &at, &s);)
		if (!(to->argv[n++] = copy_used_text(s)))
			return false; /* what stood behind it would not be given back */
	return true;
}

/* A copy, NULL of nothing; *ok is lost without memory. */
static char *copy_if_any(struct str s, bool *ok)
{
	char *text = s.n ? copy_used_text(s) : NULL;
	*ok &= text || !s.n;
	return text;
}

/* Makes a summary of what the record has of a task. False: no memory; release `to` in any case. */
static bool fill_summary(struct summary *to, const struct summary_info *m)
{
	bool ok = true;
	if (!copy_argv(&m->argv, to))
		return false;
	to->user = copy_if_any(m->user, &ok);
	to->cwd = copy_if_any(m->cwd, &ok);
	to->exit_type = (enum exit_type)m->exit_type;
	to->exit_status = m->status;
	to->signal = m->signal;
	to->oom = m->oom;
	for (int f = 0; f < FIGURES; f++) {
		const struct summary_figure *v = &m->figure[f];
		if (v->known)
			ok = summary_set(to, (enum figure_name)f, v->value, NULL, v->complete) == 0 && ok;
	}
	return ok && copy_exceeded_limits(&m->beyond, to) && copy_summary_pairs(&m->host, &to->host, &to->nhost) &&
	       copy_summary_pairs(&m->labels, &to->label, &to->nlabel);
}

/* Writes the summary of a task. 0, -ENOMEM. What goes wrong with the output is in u->out. */
static int write_used_summary(struct used *u, const struct summary_info *m)
{
	struct summary s;
	summary_init(&s);
	buf_reset(&u->text);
	int rc = fill_summary(&s, m) ? summary_write_as(u->form, &s, false, &u->text) : -ENOMEM;
	if (rc == 0)
		out_str(u->out, buf_view(&u->text));
	summary_release(&s);
	return rc;
}

struct wanted {
	struct used *u;
	store_id id;
};

/* A visitor of summaries: writes the one that is wanted. 0, -errno. */
static int put_wanted(void *arg, const struct summary_info *m)
{
	const struct wanted *w = arg;
	return m->id == w->id ? write_used_summary(w->u, m) : 0;
}

/* A visitor of summaries: writes those that belong to no run. 0, -errno. */
static int put_other(void *arg, const struct summary_info *m)
{
	return m->run ? 0 : write_used_summary(arg, m);
}

/* Writes the summaries of all tasks of the selection. 0, -errno. */
static int write_used_summaries(struct used *u)
{
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < u->n; i++) {
		struct wanted w = {.u = u, .id = u->v[i].id};
		rc = store_summaries(u->s, u->v[i].run, put_wanted, &w);
	}
	return rc == 0 && u->others ? store_summaries(u->s, 0, put_other, u) : rc;
}

/* ---- the formats ---- */

/* The runs that were selected, and those of the executions that were, sorted. *ret is malloc'ed where it is 0. A run
 * may stand there more than once. -errno with a sentence, or -ENOMEM. */
static int runs_of(struct prov_source *p, struct err *err, store_id **ret, size_t *ret_n)
{
	const struct prov_select *sel = prov_selection(p);
	struct work w;
	int rc = work_collect(p, err, &w);
	if (rc < 0)
		return rc;
	store_id *v = calloc(w.n_execs + sel->n_runs + 1, sizeof(*v));
	size_t n = 0;
	for (size_t i = 0; v && i < w.n_execs; i++)
		v[n++] = w.execs[i].run;
	for (size_t i = 0; v && i < sel->n_runs; i++)
		v[n++] = sel->runs[i];
	work_release(&w);
	if (!v)
		return -ENOMEM;
	qsort(v, n, sizeof(*v), compare_store_ids);
	*ret = v;
	*ret_n = n;
	return 0;
}

/* Everything where nothing was selected. 0; -EINVAL: none was measured; -errno; with a sentence. */
static int export_used(struct prov_source *p, struct out *out, enum summary_form form, struct err *err)
{
	const struct prov_select *sel = prov_selection(p);
	struct used u = {.form = form, .s = prov_store(p), .out = out};
	store_id *runs = NULL;
	int rc = 0;
	bool all = !sel->n_versions && !sel->n_runs && !sel->n_execs && sel->since == TIME_NONE && sel->until == TIME_NONE;
	if (!all) {
		rc = runs_of(p, err, &runs, &u.n_runs);
		u.runs = runs;
	}
	if (rc == 0)
		rc = choose_summaries(&u);
	if (rc == 0 && !u.n && !u.others) {
		err_set(err, 0, "none of the selected runs was measured");
		rc = -EINVAL;
	}
	if (rc == 0)
		rc = write_used_summaries(&u);
	if (rc == -ENOMEM)
		err_set(err, ENOMEM, "cannot export resource use");
	free(runs);
	free(u.v);
	buf_release(&u.text);
	return rc;
}

/* Writes summaries in the form of resource_monitor. 0, -errno with a sentence. */
int export_resource_monitor(struct prov_source *p, struct out *out, const struct export_options *o, struct err *err)
{
	(void)o;
	return export_used(p, out, SUMMARY_RESOURCE_MONITOR, err);
}

/* Writes summaries in the form of kickstart. 0, -errno with a sentence. */
int export_kickstart(struct prov_source *p, struct out *out, const struct export_options *o, struct err *err)
{
	(void)o;
	return export_used(p, out, SUMMARY_KICKSTART, err);
}
