/* why_together.c - a file that ranks of one MPI job wrote at the same time: each rank's writes are a version, and what
 * people mean is what all of them made (doc/why.md). */
#include "answer/why/why_int.h"

/* Gives the first of those who wrote the version that is a rank of a job. 1, 0, -errno. */
static int first_rank(struct store *s, store_id version, struct edges *room, store_id *ret)
{
	struct exec_info x;
	int r = store_gens(s, version, room);
	for (size_t i = 0; i < room->n && r == 0; i++) {
		r = store_exec(s, room->v[i].to, &x);
		if (r > 0 && x.rank.n) {
			*ret = room->v[i].to;
			return 1;
		}
		r = r < 0 ? r : 0;
	}
	return r;
}

/* Says whether another rank of the job of `rank` wrote the version, or, where `own`, that one. 1, 0, -errno. */
static int is_of_job(struct store *s, store_id version, store_id rank, bool own, struct edges *room)
{
	int r = store_gens(s, version, room);
	for (size_t i = 0; i < room->n && r == 0; i++)
		r = own && room->v[i].to == rank ? 1 : why_is_other_rank(s, rank, room->v[i].to);
	return r;
}

int why_find_together(struct store *s, store_id version, store_id *ret, size_t max)
{
	struct edges room = {0};
	struct version_info v, before;
	store_id rank = 0;
	size_t n = 1;
	ret[0] = version;
	int r = store_version(s, version, &v);
	if (r > 0)
		r = v.n > 1 ? first_rank(s, version, &room, &rank) : 0;
	while (r > 0 && n < max && v.n > n) {
		r = store_version_of(s, v.file, v.n - n, &ret[n]);
		if (r > 0)
			r = store_version(s, ret[n], &before);
		bool empty = r > 0 && before.has_size && !before.size; /* a rank made the file for all */
		if (r > 0 && before.end <= v.start && !empty)
			break; /* it was whole before this one began */
		if (r > 0)
			r = is_of_job(s, ret[n], rank, empty, &room);
		n += r > 0;
	}
	edges_release(&room);
	return r < 0 ? r : (int)n;
}
