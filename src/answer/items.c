#include "answer/items.h"

#include <errno.h>
#include <stdlib.h>

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

static int compare_items(const void *a, const void *b)
{
	const struct item *x = a, *y = b;
	return (x->version > y->version) - (x->version < y->version);
}

/* Each version once, with the strongest of its edges. */
static void merge(struct items *l)
{
	size_t n = 0;
	if (l->n)
		qsort(l->v, l->n, sizeof(*l->v), compare_items);
	for (size_t i = 0; i < l->n; i++) {
		if (n && l->v[n - 1].version == l->v[i].version) {
			struct edge *e = &l->v[n - 1].e;
			const struct edge *f = &l->v[i].e;
			e->sure |= f->sure;
			e->count += f->count;
			e->has_bytes &= f->has_bytes;
			e->bytes += f->bytes;
			e->mode &= f->mode; /* a program to all of them */
			e->via = f->via < e->via ? f->via : e->via;
			e->reading = f->reading > e->reading ? f->reading : e->reading;
		} else {
			l->v[n++] = l->v[i];
		}
	}
	l->n = n;
}

/* What the run used and did not make, and what it made. */
int items_of_run(struct store *s, const store_id *execs, size_t n, struct items *used, struct items *made)
{
	struct edges e = {0};
	int r = 0;
	for (size_t i = 0; i < n && r >= 0; i++) {
		r = store_outputs(s, execs[i], &e);
		if (r >= 0)
			r = items_add(&e, made);
		if (r >= 0)
			r = store_uses(s, execs[i], &e);
		if (r >= 0)
			r = items_add(&e, used);
	}
	edges_release(&e);
	merge(made);
	merge(used);
	size_t kept = 0;
	for (size_t i = 0; i < used->n; i++)
		if (!made->n || !bsearch(&used->v[i], made->v, made->n, sizeof(*made->v), compare_items))
			used->v[kept++] = used->v[i];
	used->n = kept;
	return r;
}

int items_count(const struct answer_source *a, store_id run, uint64_t *ret_used, uint64_t *ret_made)
{
	return store_run_data(a->store, run, a->system_extra, ret_used, ret_made);
}
