#include "answer/show/show.h"

#include <errno.h>
#include <stdlib.h>

/* Is it listed without --all? of_run: its pipes are its own affair. */
static bool is_listed(const struct answer_source *a, const struct edge *e, const struct version_sort *f, bool of_run)
{
	struct touched_version t = {f->kind, e->via, e->mode & ACCESS_PROGRAM, f->origin == ORIGIN_OBSERVED};
	if (f->kind == TERM_kind_regular)
		return store_is_data(&t, f->path, a->system_extra);
	return !of_run && kind_is_stream(f->kind) && e->via != TERM_via_sync;
}

/* Sets sorts[] of each item and counts them in of[]; what is not listed is SHOW_UNLISTED. 0, -errno. */
static int sort_items(const struct answer_source *a, bool all, bool of_run, struct show_items *l)
{
	l->sorts = calloc(l->items.n + 1, sizeof(*l->sorts));
	if (!l->sorts)
		return -ENOMEM;
	for (size_t i = 0; i < l->items.n; i++) {
		const struct edge *e = &l->items.v[i].e;
		struct version_sort f;
		int r = store_version_sort(a->store, l->items.v[i].version, &f);
		if (r < 0)
			return r;
		bool listed = r > 0 && (all || is_listed(a, e, &f, of_run));
		l->sorts[i] = (uint8_t)(listed ? entity_sort(f.kind, f.path) : SHOW_UNLISTED);
		if (l->sorts[i] == ENTITY_DATA && (e->mode & ACCESS_PROGRAM || kind_is_stream(f.kind)))
			l->sorts[i] = ENTITY_PROGRAM;
		l->of[l->sorts[i]] += r > 0;
	}
	return 0;
}

/* l is empty then. */
static void items_and_sorts_release(struct show_items *l)
{
	items_release(&l->items);
	free(l->sorts);
	*l = (struct show_items){0};
}

/* ---- a run ---- */

int show_run_load(const struct answer_source *a, store_id run, bool all, struct show_run *ret)
{
	*ret = (struct show_run){.id = run};
	int r = store_run_execs(a->store, run, &ret->execs, &ret->n);
	if (r >= 0)
		r = items_of_run(a->store, ret->execs, ret->n, &ret->used.items, &ret->made.items);
	if (r >= 0)
		r = sort_items(a, all, true, &ret->used);
	if (r >= 0)
		r = sort_items(a, all, true, &ret->made);
	if (r >= 0)
		r = store_run(a->store, run, &ret->run);
	if (r <= 0)
		show_run_release(ret);
	return r;
}

/* r is empty then. */
void show_run_release(struct show_run *r)
{
	free(r->execs);
	items_and_sorts_release(&r->used);
	items_and_sorts_release(&r->made);
	*r = (struct show_run){0};
}

/* ---- an execution ---- */

int show_exec_load(const struct answer_source *a, store_id exec, bool all, struct show_exec *ret)
{
	struct edges e = {0};
	*ret = (struct show_exec){.id = exec, .used = {.exec = exec}};
	int r = store_uses(a->store, exec, &e);
	if (r >= 0)
		r = items_add(&e, &ret->used.items);
	if (r >= 0)
		r = store_outputs(a->store, exec, &e);
	if (r >= 0)
		r = items_add(&e, &ret->made.items);
	if (r >= 0)
		r = sort_items(a, all, false, &ret->used);
	if (r >= 0)
		r = sort_items(a, all, false, &ret->made);
	edges_release(&e);
	if (r < 0)
		show_exec_release(ret);
	return r;
}

/* x is empty then. */
void show_exec_release(struct show_exec *x)
{
	items_and_sorts_release(&x->used);
	items_and_sorts_release(&x->made);
	*x = (struct show_exec){0};
}
