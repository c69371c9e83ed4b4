/* ix_pairs.c - pairs of numbers that an indexing gathers: sorted, and written as lists. */
#include "store/index/index.h"

#include <stdlib.h>

/* Order of qsort. */
static int pair_cmp(const void *pa, const void *pb)
{
	const struct ix_pair *a = pa, *b = pb;
	if (a->a != b->a)
		return a->a < b->a ? -1 : 1;
	return (a->b > b->b) - (a->b < b->b);
}

void ix_pairs_sort(struct ix_pairs *v)
{
	bool sorted = true;
	for (size_t i = 1; i < v->n; i++)
		sorted = sorted && pair_cmp(&v->v[i - 1], &v->v[i]) < 0;
	if (sorted)
		return;
	qsort(v->v, v->n, sizeof(*v->v), pair_cmp);
	size_t kept = 1;
	for (size_t i = 1; i < v->n; i++)
		if (pair_cmp(&v->v[i], &v->v[kept - 1]))
			v->v[kept++] = v->v[i];
	v->n = kept;
}

/* 0, -ENOMEM with a sentence. */
int ix_pairs_add(struct ix *x, struct ix_pairs *v, uint64_t a, uint64_t b)
{
	struct ix_pair *p = vec_add(v);
	if (!p)
		return ix_oom(x);
	*p = (struct ix_pair){a, b};
	return 0;
}

int ix_pairs_write(struct ix *x, struct ix_pairs *v, enum list_kind kind)
{
	struct ids values = {0};
	int rc = 0;
	ix_pairs_sort(v);
	for (size_t i = 0, k; rc == 0 && i < v->n; i = k) {
		values.n = 0;
		for (k = i; rc == 0 && k < v->n && v->v[k].a == v->v[i].a; k++)
			rc = ids_add(&values, v->v[k].b);
		if (rc == 0)
			rc = lists_add(x->s, list_key(kind, v->v[i].a), values.v, values.n, x->err);
	}
	free(values.v);
	return rc;
}
