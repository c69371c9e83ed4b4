#include "answer/zarr/zarr_list.h"

#include "base/map.h"
#include "query/idmap.h"

#include <errno.h>
#include <stdlib.h>

struct finding {
	struct idmap first;  /* node + 1 -> place */
	struct idmap chunks; /* node and chunk */
};

/* Counts version i for its array; it is shown only if it is the first. 0, -ENOMEM. */
static int add_version(struct finding *f, uint32_t i, const struct zarr_part *p, struct zarr_list *l)
{
	bool is_new;
	const uint32_t *at = idmap_add(&f->first, (uint64_t)p->node + 1, i, &is_new);
	if (!at)
		return -ENOMEM;
	l->node[i] = p->node;
	l->first[i] = *at;
	l->n_shown += is_new;
	struct zarr_count *count = &l->count[*at];
	if (!p->chunk)
		return 0;
	if (!idmap_add(&f->chunks, p->key, 1, &is_new))
		return -ENOMEM;
	count->chunks += is_new;
	count->outside |= !p->inside;
	return 0;
}

int zarr_list_make(struct zarr *z, const store_id *versions, size_t n, struct zarr_list *ret)
{
	struct finding f = {.first = {0}};
	*ret = (struct zarr_list){.n = n,
	                          .node = calloc(n + 1, sizeof(*ret->node)),
	                          .first = calloc(n + 1, sizeof(*ret->first)),
	                          .count = calloc(n + 1, sizeof(*ret->count))};
	int r = ret->node && ret->first && ret->count ? 0 : -ENOMEM;
	for (uint32_t i = 0; i < n && r >= 0; i++) {
		struct zarr_part p;
		ret->node[i] = ZARR_NO;
		ret->first[i] = i;
		r = zarr_part_of_version(z, versions[i], &p);
		if (r > 0)
			r = add_version(&f, i, &p, ret);
		else if (r == 0)
			ret->n_shown++;
	}
	idmap_release(&f.first);
	idmap_release(&f.chunks);
	return r < 0 ? r : 0;
}

/* l is empty then. */
void zarr_list_release(struct zarr_list *l)
{
	free(l->node);
	free(l->first);
	free(l->count);
	*l = (struct zarr_list){0};
}
