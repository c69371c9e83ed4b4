/* tombs.c - sessions that were forgotten: their frames do not count wherever they are met.
 *
 * A list holds their numbers without the last bit, so that its order is that of what SQLite can hold; two sessions that
 * differ only there will not be met. */
#include "graph/collect.h"
#include "store/store_int.h"

int tombs_get(struct store *s, struct ids *ret)
{
	int rc = lists_get(s, list_key(LIST_TOMB, 0), ret);
	ids_sort(ret);
	return rc;
}

int tombs_put(struct store *s, const struct ids *tombs, struct err *err)
{
	return lists_add(s, list_key(LIST_TOMB, 0), tombs->v, tombs->n, err);
}

int tombs_add(struct ids *tombs, uint64_t session)
{
	return ids_add(tombs, session >> 1);
}

bool tombs_has(const struct ids *tombs, uint64_t session)
{
	size_t lo = 0, hi = tombs->n;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (tombs->v[mid] < session >> 1)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < tombs->n && tombs->v[lo] == session >> 1;
}

size_t tombs_filter(const struct ids *tombs, struct collect *w)
{
	size_t kept = 0, had = w->frames.n;
	for (size_t i = 0; tombs->n && i < had; i++)
		if (!tombs_has(tombs, w->frames.v[i].session))
			w->frames.v[kept++] = w->frames.v[i];
	if (tombs->n)
		w->frames.n = kept;
	return had - w->frames.n;
}
