/* tombstones.c - sessions that were forgotten: their frames do not count wherever they are met.
 *
 * A list holds their numbers without the last bit, so that its order is that of what SQLite can hold; two sessions that
 * differ only there will not be met. */
#include "graph/collect.h"
#include "store/store_int.h"

int tombstones_get(struct store *s, struct ids *ret)
{
	int rc = lists_get(s, list_key(LIST_TOMBSTONE, 0), ret);
	ids_sort(ret);
	return rc;
}

/* 0, -errno with a sentence. */
int tombstones_put(struct store *s, const struct ids *tombstones, struct err *err)
{
	return lists_add(s, list_key(LIST_TOMBSTONE, 0), tombstones->v, tombstones->n, err);
}

/* 0, -ENOMEM. */
int tombstones_add(struct ids *tombstones, uint64_t session)
{
	return ids_add(tombstones, session >> 1);
}

bool tombstones_has(const struct ids *tombstones, uint64_t session)
{
	size_t lo = 0, hi = tombstones->n;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (tombstones->v[mid] < session >> 1)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < tombstones->n && tombstones->v[lo] == session >> 1;
}

size_t tombstones_filter(const struct ids *tombstones, struct collect *w)
{
	size_t kept = 0, had = w->frames.n;
	for (size_t i = 0; tombstones->n && i < had; i++)
		if (!tombstones_has(tombstones, w->frames.v[i].session))
			w->frames.v[kept++] = w->frames.v[i];
	if (tombstones->n)
		w->frames.n = kept;
	return had - w->frames.n;
}
