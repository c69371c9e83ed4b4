#include "archive/history.h"

#include "archive/inputs.h"
#include "base/hash.h"
#include "base/map.h"
#include "summary/summary.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is known of each summary met, whether it counts or not. */
struct met {
	uint64_t id; /* of what it tells: hash of the run's id, or of the text */
	bool own;    /* its run's recorder said it */
	int64_t time;
	uint64_t session, seq;
	uint32_t task; /* VEC_NONE: it was not taken */
};

struct loading {
	struct store *s;
	const struct history_options *o;
	VEC(struct task) tasks;
	VEC(struct history_figure) figures;
	VEC(struct met) met;
	struct table table, group_table;
	VEC(char *) groups;
	VEC(uint64_t) group_hash;
	struct buf key;
	size_t repeated;
};

/* ---- each once ---- */

/* Whether a comes first: by time, then by session and number. */
static bool met_before(const struct met *a, const struct met *b)
{
	if (a->time != b->time)
		return a->time < b->time;
	return a->session != b->session ? a->session < b->session : a->seq < b->seq;
}

/* Does a hold, of two that tell of the same? */
static bool met_holds(const struct met *a, const struct met *b)
{
	if (a->own != b->own)
		return a->own;
	return a->own ? met_before(b, a) : met_before(a, b);
}

/* The place for what the summary tells of; NULL: another one holds. */
static int meet_summary(struct loading *l, const struct summary_info *m, struct met **ret)
{
	struct met new = {.id = m->ulid.n ? hash_str(m->ulid) : m->hash,
	                  .own = m->ulid.n && !m->source.n && !m->set.n,
	                  .time = m->time,
	                  .session = m->session,
	                  .seq = m->seq,
	                  .task = VEC_NONE};
	uint32_t at;
	*ret = NULL;
	for (size_t pos = TABLE_START; (at = table_next(&l->table, hash_fold(new.id), &pos)) != VEC_NONE;) {
		struct met *old = &l->met.v[at];
		if (old->id != new.id)
			continue;
		l->repeated++;
		if (!met_holds(&new, old))
			return 0;
		if (old->task != VEC_NONE)
			l->tasks.v[old->task].group = VEC_NONE; /* it goes */
		*old = new;
		*ret = old;
		return 0;
	}
	struct met *slot = vec_add(&l->met);
	if (!slot || !table_add(&l->table, hash_fold(new.id), (uint32_t)(l->met.n - 1)))
		return -ENOMEM;
	*slot = new;
	*ret = slot;
	return 0;
}

/* ---- groups ---- */

/* Finds the group of a task by the values of the keys that were asked for. *ret: the number of the group whose
 * values the task has; a new one where there is none. 0, -errno. */
static int find_group(struct loading *l, const struct summary_info *m, uint32_t *ret)
{
	struct buf *b = &l->key;
	buf_reset(b);
	for (size_t i = 0; i < l->o->n_by; i++) {
		size_t from = b->n;
		int rc = task_value(l->s, m, &l->o->by[i], b);
		if (rc < 0)
			return rc;
		for (size_t k = from; k < b->n; k++) /* it ends a value */
			b->p[k] = b->p[k] ? b->p[k] : '?';
		buf_char(b, '\0');
	}
	uint64_t hash = hash_bytes(b->p, b->n);
	uint32_t at;
	for (size_t pos = TABLE_START; (at = table_next(&l->group_table, hash_fold(hash), &pos)) != VEC_NONE;)
		if (l->group_hash.v[at] == hash) {
			*ret = at;
			return 0;
		}
	char *copy = malloc(b->n + 1);
	char **slot = copy ? vec_add(&l->groups) : NULL;
	uint64_t *h = slot ? vec_add(&l->group_hash) : NULL;
	if (!h || b->failed) {
		if (slot)
			l->groups.n--;
		free(copy);
		return -ENOMEM;
	}
	memcpy(copy, b->p ? b->p : "", b->n);
	copy[b->n] = '\0';
	*slot = copy;
	*h = hash;
	*ret = (uint32_t)(l->groups.n - 1);
	return table_add(&l->group_table, hash_fold(hash), *ret) ? 0 : -ENOMEM;
}

/* ---- reading ---- */

/* Called for each summary; arg is a struct loading. Summaries that were met, or do not fit, are passed over. 0, -errno.
 * */
static int append_history_task(void *arg, const struct summary_info *m)
{
	struct loading *l = arg;
	struct met *met;
	uint32_t group = 0;
	int rc = meet_summary(l, m, &met);
	if (rc < 0 || !met)
		return rc;
	rc = l->o->only ? l->o->only(l->o->arg, m) : 1;
	if (rc > 0)
		rc = where_holds(l->o->where, l->s, m);
	if (rc <= 0)
		return rc;
	if (l->o->n_by && (rc = find_group(l, m, &group)) < 0)
		return rc;
	struct task *t = vec_add(&l->tasks);
	if (!t || !vec_room(&l->figures, l->o->n_figures))
		return -ENOMEM;
	const struct summary_figure *start = &m->figure[FIGURE_start];
	*t = (struct task){.start = start->known ? start->value : m->time,
	                   .session = m->session,
	                   .seq = m->seq,
	                   .run = m->run,
	                   .input = l->o->input ? task_label_input(m) : -1,
	                   .named = -1,
	                   .group = group,
	                   .end = task_end(m)};
	t->named = t->input;
	met->task = (uint32_t)(l->tasks.n - 1);
	for (size_t i = 0; i < l->o->n_figures; i++) {
		const struct summary_figure *f = &m->figure[l->o->figures[i]];
		l->figures.v[l->figures.n++] =
		    (struct history_figure){f->value, f->low, f->high, f->known, f->bounded, f->complete};
	}
	return 0;
}

/* An order of its own for each, by when the task began. */
static int compare_tasks_by_start(const void *pa, const void *pb)
{
	const struct task *a = pa, *b = pb;
	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a->session != b->session)
		return a->session < b->session ? -1 : 1;
	return (a->seq > b->seq) - (a->seq < b->seq);
}

struct order {
	const char *group;
	uint32_t was;
};

/* The least bytes of a group named "2GB-4GB"; -1 if the name is none. For sorting. */
static int64_t parse_group_size(const char *text)
{
	int64_t v;
	return where_value(str_n(text, strcspn(text, "-")), "B", 0, &v) == 0 ? v : -1;
}

/* Value by value; sizes as sizes. Order of qsort_r. */
static int compare_groups(const void *pa, const void *pb, void *arg)
{
	const struct history_options *o = arg;
	const char *a = ((const struct order *)pa)->group, *b = ((const struct order *)pb)->group;
	for (size_t i = 0; i < o->n_by; i++) {
		int64_t x = o->by[i].key == TASK_input_size ? parse_group_size(a) : 0;
		int64_t y = o->by[i].key == TASK_input_size ? parse_group_size(b) : 0;
		int c = x != y ? (x > y) - (x < y) : strcmp(a, b);
		if (c)
			return c;
		a += strlen(a) + 1;
		b += strlen(b) + 1;
	}
	return 0;
}

/* Drops the groups that lost their tasks, and sorts the others. 0; -ENOMEM, then h is as it was. */
static int settle_groups(struct loading *l, struct history *h)
{
	size_t n = l->o->n_by ? l->groups.n : 1, kept = 0;
	struct order *v = calloc(n + 1, sizeof(*v));
	uint32_t *now = malloc((n + 1) * sizeof(*now));
	char **group = calloc(n + 1, sizeof(*group));
	if (!v || !now || !group) {
		free(v);
		free(now);
		free(group);
		return -ENOMEM;
	}
	memset(now, 0xff, (n + 1) * sizeof(*now));
	for (size_t i = 0; i < h->n; i++)
		now[h->v[i].group] = 0;
	for (uint32_t i = 0; i < n; i++)
		if (now[i] == 0)
			v[kept++] = (struct order){l->o->n_by ? l->groups.v[i] : "", i};
	qsort_r(v, kept, sizeof(*v), compare_groups, (void *)l->o);
	for (uint32_t i = 0; i < kept; i++) {
		now[v[i].was] = i;
		group[i] = l->o->n_by ? l->groups.v[v[i].was] : NULL;
		if (l->o->n_by)
			l->groups.v[v[i].was] = NULL;
	}
	for (size_t i = 0; i < h->n; i++)
		h->v[i].group = now[h->v[i].group];
	h->group = group;
	h->n_groups = kept;
	free(v);
	free(now);
	return 0;
}

/* Only of tasks whose input is not known by a label. 0, -errno. */
static int find_inputs(struct loading *l, struct history *h)
{
	struct input_cache *c = input_cache_new(l->o->system_extra);
	int rc = c ? store_view_begin(l->s, VIEW_WALK) : -ENOMEM;
	bool viewing = rc == 0;
	for (size_t i = 0; rc == 0 && i < h->n; i++)
		if (h->v[i].input < 0 && h->v[i].run)
			rc = input_of_run(l->s, c, h->v[i].run, &h->v[i].input, &h->v[i].named);
	if (viewing)
		store_view_end(l->s);
	input_cache_free(c);
	return rc;
}

int history_load(struct store *s, const struct history_options *o, struct err *err, struct history *ret)
{
	struct loading l = {.s = s, .o = o};
	*ret = (struct history){0};
	int rc = store_summaries(s, 0, append_history_task, &l);
	ret->figures = l.figures.v;
	ret->v = l.tasks.v;
	for (size_t i = 0; i < l.tasks.n; i++)
		if (l.tasks.v[i].group != VEC_NONE) {
			struct task t = l.tasks.v[i];
			t.figure = l.figures.v + i * o->n_figures;
			ret->v[ret->n++] = t;
		}
	ret->repeated = l.repeated;
	if (rc == 0 && ret->n)
		qsort(ret->v, ret->n, sizeof(*ret->v), compare_tasks_by_start);
	if (rc == 0)
		rc = settle_groups(&l, ret);
	if (rc == 0 && o->input)
		rc = find_inputs(&l, ret);
	for (size_t i = 0; i < l.groups.n; i++)
		free(l.groups.v[i]);
	vec_release(&l.groups);
	vec_release(&l.group_hash);
	vec_release(&l.met);
	table_release(&l.table);
	table_release(&l.group_table);
	buf_release(&l.key);
	return rc < 0 ? err_set(err, -rc, "cannot read the summaries") : 0;
}

/* h is empty then. */
void history_release(struct history *h)
{
	for (size_t i = 0; i < h->n_groups; i++)
		free(h->group[i]);
	free(h->group);
	free(h->v);
	free(h->figures);
	*h = (struct history){0};
}
