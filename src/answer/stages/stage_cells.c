#include "answer/stages/stage_cells.h"

#include "query/app_log.h"

#include <errno.h>
#include <stdlib.h>

#define CELLS_MAX 100000 /* of all runs; a loop that calls each turn a part is no notebook */

/* Keeps one that is within no other. 0 or -errno. */
static int keep_cell(struct app_log *d, const struct reported_event *t, struct stage_cells *c)
{
	const struct event_app_activity *a = &t->ev.app_activity;
	const struct app_log_image *by = a->activity ? NULL : app_log_image_of(d, t, a->app);
	store_id exec = 0;
	int r = by && c->v.n < CELLS_MAX ? app_log_exec(d, by, t->ev.time, &exec) : 0;
	if (r <= 0)
		return r;
	struct stage_cell *one = vec_add(&c->v);
	if (!one)
		return -ENOMEM;
	*one = (struct stage_cell){.exec = exec,
	                           .start = t->ev.time,
	                           .end = a->until == TIME_NONE ? TIME_NEVER : a->until,
	                           .n = a->n,
	                           .name = strndup(a->name.n ? a->name.p : "", a->name.n)};
	return one->name ? 0 : -ENOMEM;
}

/* Keeps the cells that a program of the run told of, once for each run. 0, -errno. */
static int load_run(struct store *s, store_id run, struct stage_cells *c)
{
	struct app_log d;
	bool is_new;
	if (!idmap_add(&c->runs, run, 1, &is_new))
		return -ENOMEM;
	if (!is_new)
		return 0;
	int r = app_log_load(s, run, &d);
	for (size_t i = 0; i < d.activities.n && r >= 0; i++)
		r = keep_cell(&d, &d.activities.v[i], c);
	app_log_release(&d);
	return r < 0 ? r : 0;
}

/* Order of qsort: by execution, then by time. */
static int compare_cells(const void *pa, const void *pb)
{
	const struct stage_cell *a = pa, *b = pb;
	if (a->exec != b->exec)
		return a->exec < b->exec ? -1 : 1;
	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->n != b->n ? (a->n > b->n) - (a->n < b->n) : (int)a->between - (int)b->between;
}

/* What follows the part at place i, up to the next one. 0 or -ENOMEM. */
static int add_between(struct stage_cells *c, size_t i, size_t n)
{
	struct stage_cell *one = vec_add(&c->v), *before = &c->v.v[i];
	bool last = i + 1 == n || before[1].exec != before->exec;
	if (!one)
		return -ENOMEM;
	if (!last && before->end > before[1].start)
		before->end = before[1].start;
	*one = *before;
	one->between = true;
	one->start = before->end;
	one->end = last ? TIME_NEVER : before[1].start;
	one->name = strdup(before->name);
	return one->name ? 0 : -ENOMEM;
}

/* The next one of an execution ends what is not over, and its place is known by the execution. 0 or -ENOMEM. */
static int settle(struct stage_cells *c)
{
	size_t n = c->v.n;
	bool is_new;
	int r = 0;
	if (n)
		qsort(c->v.v, n, sizeof(*c->v.v), compare_cells);
	for (size_t i = 0; i < n && r == 0; i++)
		r = add_between(c, i, n);
	if (c->v.n)
		qsort(c->v.v, c->v.n, sizeof(*c->v.v), compare_cells);
	for (size_t i = 0; i < c->v.n && r == 0; i++)
		r = idmap_add(&c->first, c->v.v[i].exec, (uint32_t)i + 1, &is_new) ? 0 : -ENOMEM;
	return r;
}

int stage_cells_load(struct store *s, const struct lineage *l, struct stage_cells *ret)
{
	int r = 0;
	*ret = (struct stage_cells){0};
	for (size_t i = 0; i < l->n_nodes && r >= 0; i++) {
		struct exec_brief x;
		r = l->nodes[i].exec ? store_exec_brief(s, l->nodes[i].id, &x) : 0;
		if (r > 0 && x.run)
			r = load_run(s, x.run, ret);
	}
	return r < 0 ? r : settle(ret);
}

/* c itself may not be used afterwards. */
void stage_cells_release(struct stage_cells *c)
{
	for (size_t i = 0; i < c->v.n; i++)
		free(c->v.v[i].name);
	vec_release(&c->v);
	idmap_release(&c->runs);
	idmap_release(&c->first);
}

bool stage_cells_has(const struct stage_cells *c, store_id exec)
{
	return idmap_find(&c->first, exec) != NULL;
}

uint32_t stage_cells_at(const struct stage_cells *c, store_id exec, int64_t time)
{
	const uint32_t *first = idmap_find(&c->first, exec);
	size_t lo = first ? *first - 1 : c->v.n, hi = lo;
	for (size_t step = 1; first && hi < c->v.n && c->v.v[hi].exec == exec; step *= 2)
		hi = hi + step < c->v.n ? hi + step : c->v.n;
	size_t from = lo;
	while (lo < hi) { /* the first that begins later, or is another one's */
		size_t mid = lo + (hi - lo) / 2;
		if (c->v.v[mid].exec == exec && c->v.v[mid].start <= time)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo > from ? (uint32_t)lo - 1 : STAGE_NO_CELL;
}
