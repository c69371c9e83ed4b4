#include "query/idset.h"

#include "base/vec.h"

#include <errno.h>
#include <stdlib.h>

/* s is empty then. */
void idset_release(struct idset *s)
{
	free(s->v);
	*s = (struct idset){0};
}

int idset_add(struct idset *s, store_id id)
{
	if (!vec_has_room(s->v, s->n, s->cap))
		return -ENOMEM;
	s->v[s->n++] = id;
	return 0;
}

static int compare_set_ids(const void *a, const void *b)
{
	store_id x = *(const store_id *)a, y = *(const store_id *)b;
	return (x > y) - (x < y);
}

/* Sorts, and takes out what is there twice. */
void idset_close(struct idset *s)
{
	size_t n = 0;
	if (s->n)
		qsort(s->v, s->n, sizeof(*s->v), compare_set_ids);
	for (size_t i = 0; i < s->n; i++)
		if (!n || s->v[n - 1] != s->v[i])
			s->v[n++] = s->v[i];
	s->n = n;
}

/* Only after idset_close. */
bool idset_has(const struct idset *s, store_id id)
{
	return s->n && bsearch(&id, s->v, s->n, sizeof(*s->v), compare_set_ids);
}

int idset_unite(struct idset *a, const struct idset *b)
{
	int r = 0;
	for (size_t i = 0; i < b->n && r == 0; i++)
		r = idset_add(a, b->v[i]);
	idset_close(a);
	return r;
}

/* Keeps of a what b has (want), or has not. */
static void idset_filter(struct idset *a, const struct idset *b, bool want)
{
	size_t n = 0;
	for (size_t i = 0; i < a->n; i++)
		if (idset_has(b, a->v[i]) == want)
			a->v[n++] = a->v[i];
	a->n = n;
}

/* a becomes what is in both. */
void idset_meet(struct idset *a, const struct idset *b)
{
	idset_filter(a, b, true);
}

/* a loses what is in b. */
void idset_take(struct idset *a, const struct idset *b)
{
	idset_filter(a, b, false);
}
