#include "answer/summaries.h"

#include "summary/summary.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct summaries {
	const struct answer_source *a;
	struct buf *to;
	int64_t n;
};

/* A copy that the caller frees; NULL without memory. */
static char *copy_summary_text(struct str s)
{
	return strndup(s.p ? s.p : "", s.n);
}

/* "key=value" each. False: no memory. */
static bool fill_summary_pairs(const struct strlist *l, struct summary_pair **ret, size_t *ret_n)
{
	struct str s;
	if (!(*ret = calloc(l->count + 1, sizeof(**ret))))
		return false;
	for (size_t at = 0; strlist_next(l, &at, &s);) {
		const char *eq = s.n ? memchr(s.p, '=', s.n) : NULL;
		size_t n = eq ? (size_t)(eq - s.p) : s.n;
		struct summary_pair *p = &(*ret)[(*ret_n)++];
		p->key = copy_summary_text(str_n(s.p, n));
		p->value = copy_summary_text(eq ? str_n(eq + 1, s.n - n - 1) : str_of(""));
		if (!p->key || !p->value)
			return false;
	}
	return true;
}

/* A figure that is not known and has no note stays as summary_init made it. False: no memory. */
static bool fill_summary_figures(const struct answer_source *a, const struct summary_info *m, struct summary *to)
{
	bool ok = true;
	for (int f = 0; f < FIGURES; f++) {
		const struct summary_figure *v = &m->figure[f];
		struct str note = v->note ? store_summary_note(a->store, v->note) : str_of("");
		char *text = note.n ? copy_summary_text(note) : NULL;
		ok = ok && (text || !note.n);
		if (v->known && v->bounded)
			ok = summary_set_bounds(to, (enum figure_name)f, v->value, v->low, v->high, text, v->complete) == 0 && ok;
		else if (v->known)
			ok = summary_set(to, (enum figure_name)f, v->value, text, v->complete) == 0 && ok;
		else if (text)
			ok = summary_absent(to, (enum figure_name)f, text) == 0 && ok;
		free(text);
	}
	return ok;
}

/* Copies all into `to`, after summary_init. False: no memory; release `to` in any case. */
static bool fill_task_summary(const struct answer_source *a, const struct summary_info *m, struct summary *to)
{
	struct str s;
	size_t n = 0;
	bool ok = true;
	if (m->argv.count) {
		if (!(to->argv = calloc(m->argv.count + 1, sizeof(*to->argv))))
			return false;
		for (size_t at = 0; strlist_next(&m->argv, &at, &s);)
			ok = (to->argv[n++] = copy_summary_text(s)) && ok;
	}
	to->run = m->ulid.n ? copy_summary_text(m->ulid) : NULL;
	to->user = m->user.n ? copy_summary_text(m->user) : NULL;
	to->cwd = m->cwd.n ? copy_summary_text(m->cwd) : NULL;
	to->exit_type = (enum exit_type)m->exit_type;
	to->exit_status = m->status;
	to->signal = m->signal;
	to->oom = m->oom;
	ok = ok && (to->run || !m->ulid.n) && (to->user || !m->user.n) && (to->cwd || !m->cwd.n);
	return ok && fill_summary_pairs(&m->host, &to->host, &to->nhost) &&
	       fill_summary_pairs(&m->labels, &to->label, &to->nlabel) && fill_summary_figures(a, m, to);
}

/* Called for each summary; arg is a struct summaries. 0, -ENOMEM, or -errno of the writer. */
static int write_summary_json(void *arg, const struct summary_info *m)
{
	struct summaries *all = arg;
	struct summary s;
	summary_init(&s);
	if (all->n)
		buf_printf(all->to, ",\n");
	int r = fill_task_summary(all->a, m, &s) ? summary_json(&s, false, false, all->to) : -ENOMEM;
	summary_release(&s);
	all->n++;
	return r;
}

int64_t summaries_json(const struct answer_source *a, store_id run, struct buf *ret)
{
	struct summaries all = {a, ret, 0};
	buf_printf(ret, "{\"format\": 1, \"summaries\": [");
	int r = store_summaries(a->store, run, write_summary_json, &all);
	buf_printf(ret, "]}\n");
	return r < 0 ? r : ret->failed ? -ENOMEM : all.n;
}
