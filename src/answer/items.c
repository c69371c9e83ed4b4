#include "answer/items.h"

#include "base/vec.h"
#include "query/idmap.h"

#include <errno.h>
#include <stdlib.h>

/* l is empty then. */
void items_release(struct items *l)
{
	free(l->v);
	*l = (struct items){0};
}

int items_add(const struct edges *e, struct items *l)
{
	if (l->cap - l->n < e->n) {
		size_t cap = l->n + e->n + l->cap;
		struct item *v = realloc(l->v, cap * sizeof(*v));
		if (!v)
			return -ENOMEM;
		l->v = v;
		l->cap = cap;
	}
	for (size_t i = 0; i < e->n; i++)
		l->v[l->n++] = (struct item){e->v[i].to, e->v[i]};
	return 0;
}

bool item_is_data(const struct answer_source *a, const struct edge *e, const struct version_info *v,
                  const struct file_info *f)
{
	struct touched_version t = {f->kind, e->via, e->mode & ACCESS_PROGRAM, v->origin == ORIGIN_OBSERVED};
	return store_is_data(&t, f->path, a->system_extra);
}

/* Order of qsort: by version. */
static int compare_items(const void *a, const void *b)
{
	const struct item *x = a, *y = b;
	return (x->version > y->version) - (x->version < y->version);
}

/* Versions of a run while they are gathered: each once, with the strongest of its edges. */
struct gathered {
	struct items *l;
	struct idmap at;             /* version -> place */
	const struct idmap *without; /* versions that are left out; may be NULL */
};

/* Adds f to e, an edge between the same two: sums the counts, and keeps only the mode and the bytes that hold for both.
 * */
static void merge_item(struct edge *e, const struct edge *f)
{
	e->sure |= f->sure;
	e->count += f->count;
	e->has_bytes &= f->has_bytes;
	e->bytes += f->bytes;
	e->mode &= f->mode; /* a program to all of them */
	e->via = f->via < e->via ? f->via : e->via;
	e->reading = f->reading > e->reading ? f->reading : e->reading;
}

/* Like items_add, but each version once; edges to one are merged. 0, -ENOMEM. */
static int gather(struct gathered *g, const struct edges *e)
{
	for (size_t i = 0; i < e->n; i++) {
		bool is_new;
		if (g->without && idmap_find(g->without, e->v[i].to))
			continue;
		uint32_t *at = idmap_add(&g->at, e->v[i].to, (uint32_t)g->l->n, &is_new);
		if (!at || (is_new && !vec_has_room(g->l->v, g->l->n, g->l->cap)))
			return -ENOMEM;
		if (is_new)
			g->l->v[g->l->n++] = (struct item){e->v[i].to, e->v[i]};
		else
			merge_item(&g->l->v[*at].e, &e->v[i]);
	}
	return 0;
}

/* Most of a run are gathered in their order. */
static void sort_gathered(struct items *l)
{
	size_t i = 1;
	while (i < l->n && l->v[i - 1].version < l->v[i].version)
		i++;
	if (i < l->n)
		qsort(l->v, l->n, sizeof(*l->v), compare_items);
}

/* What the run used and did not make, and what it made. Each version once, sorted. used and made are empty before. Of
 * what it made little is used before that is known, and nothing of the rest is gathered. 0, -errno; they are the
 * caller's in any case. */
int items_of_run(struct store *s, const store_id *execs, size_t n, struct items *used, struct items *made)
{
	struct edges e = {0};
	struct gathered of_making = {.l = made, .at = {.near = IDMAP_VERSIONS}};
	struct gathered of_use = {.l = used, .at = {.near = IDMAP_VERSIONS}, .without = &of_making.at};
	int r = 0;
	for (size_t i = 0; i < n && r >= 0; i++) {
		r = store_outputs(s, execs[i], &e);
		if (r >= 0)
			r = gather(&of_making, &e);
		if (r >= 0)
			r = store_uses(s, execs[i], &e);
		if (r >= 0)
			r = gather(&of_use, &e);
	}
	edges_release(&e);
	size_t kept = 0;
	for (size_t i = 0; i < used->n; i++)
		if (!idmap_find(&of_making.at, used->v[i].version))
			used->v[kept++] = used->v[i];
	used->n = kept;
	idmap_release(&of_use.at);
	idmap_release(&of_making.at);
	sort_gathered(made);
	sort_gathered(used);
	return r;
}

int items_count(const struct answer_source *a, store_id run, uint64_t *ret_used, uint64_t *ret_made)
{
	return store_run_data(a->store, run, a->system_extra, ret_used, ret_made);
}
