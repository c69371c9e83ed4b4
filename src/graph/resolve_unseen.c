/* resolve_unseen.c - changes of regular files that nobody was seen to make: rule 1 of doc/graph.md. */
#include "graph/resolve_regular_int.h"

#include <errno.h>

/* The two latest ends, per host, of accesses that may be writing. */
struct live {
	uint32_t host;
	int64_t end[2];
	uint32_t access[2];
};

static int live_add(struct live *v, size_t *n, size_t cap, const struct resolver *r, uint32_t i)
{
	const struct gaccess *a = acc_of(r, i);
	uint32_t host = r->slack ? access_host(r->g, a) : HOST_ANY;
	size_t k = 0;
	while (k < *n && v[k].host != host)
		k++;
	if (k == *n) {
		if (k == cap)
			return -1;
		v[(*n)++] = (struct live){host, {INT64_MIN, INT64_MIN}, {VEC_NONE, VEC_NONE}};
	}
	if (a->end > v[k].end[0] || v[k].access[0] == VEC_NONE) {
		v[k].end[1] = v[k].end[0];
		v[k].access[1] = v[k].access[0];
		v[k].end[0] = a->end;
		v[k].access[0] = i;
	} else if (a->end > v[k].end[1] || v[k].access[1] == VEC_NONE) {
		v[k].end[1] = a->end;
		v[k].access[1] = i;
	}
	return 0;
}

static bool live_other(const struct live *v, size_t n, const struct resolver *r, uint32_t i)
{
	const struct gaccess *a = acc_of(r, i);
	uint32_t host = access_host(r->g, a);
	for (size_t k = 0; k < n; k++) {
		int which = v[k].access[0] == i;
		if (v[k].access[which] != VEC_NONE && !resolved_before(r, v[k].end[which], v[k].host, a->start, host))
			return true;
	}
	return false;
}

/* Whether an access of another host that may be writing starts within the skew after a; `from` is the first that starts
 * after it. It cannot have ended before a. */
static bool live_soon(const struct resolver *r, size_t from, const struct gaccess *a)
{
	for (size_t k = from; r->slack && k < r->nacc; k++) {
		const struct gaccess *o = acc_of(r, r->acc[k]);
		if (o->start > add_time_slack(a->start, r->slack))
			break;
		if ((o->mode & ACCESS_WRITE) && access_host(r->g, o) != access_host(r->g, a))
			return true;
	}
	return false;
}

static bool append_unobserved(struct resolver *r, uint32_t i, bool external)
{
	const struct gfp *fp = opening_fp(r->g, acc_of(r, i));
	struct runobserved *u = vec_add(&r->unobserved);
	if (!u)
		return false;
	*u = (struct runobserved){.t = acc_of(r, i)->start, .access = i, .fp = fp, .external = external};
	/* k: how many with this fingerprint came before; the first of them keeps count. */
	uint32_t hash = fp ? hash_fold(hash_mix(fp->size, (uint64_t)fp->mtime)) : 0, first;
	for (size_t pos = TABLE_START; (first = table_next(&r->unobserved_table, hash, &pos)) != VEC_NONE;) {
		const struct gfp *o = r->unobserved.v[first].fp;
		if (fp && o ? fp_same(fp, o) : fp == o) {
			u->k = ++r->unobserved.v[first].repeats;
			return true;
		}
	}
	return table_add(&r->unobserved_table, hash, (uint32_t)(r->unobserved.n - 1));
}

/* Walks back, by recorded ends, over the writes that ended before access i and the unobserved changes made so far: *w
 * and *u count those not passed yet. Gives a write, or else a change (with *ret_write NULL); false at the beginning. */
static bool step_back_write(const struct resolver *r, uint32_t i, size_t *w, size_t *u,
                            const struct gaccess **ret_write, const struct runobserved **ret_unobserved)
{
	const struct gaccess *a = acc_of(r, i), *write = NULL;
	for (; *w > 0; --*w) {
		const struct gaccess *c = acc_of(r, r->writes.v[*w - 1]);
		if (r->writes.v[*w - 1] != i &&
		    resolved_before(r, c->end, access_host(r->g, c), a->start, access_host(r->g, a))) {
			write = c;
			break;
		}
	}
	const struct runobserved *last = *u ? &r->unobserved.v[*u - 1] : NULL;
	if (!write && !last)
		return false;
	if (last && (!write || !unobserved_first(r, last, write, recorded_span))) {
		*ret_write = NULL;
		*ret_unobserved = last;
		--*u;
	} else {
		*ret_write = write;
		--*w;
	}
	return true;
}

/* What changed unobserved. Writes must be sorted by their recorded ends. */
int resolve_unseen(struct resolver *r)
{
	struct live few[4], *live = few;
	size_t nlive = 0, cap = 4, opened = 0, ended = 0;
	int rc = -ENOMEM;
	if (r->slack && r->g->hosts.n + 1 > cap) {
		cap = r->g->hosts.n + 1;
		if (!(live = malloc(cap * sizeof *live)))
			return -ENOMEM;
	}
	for (size_t k = 0; k < r->nacc; k++) {
		uint32_t i = r->acc[k];
		const struct gaccess *a = acc_of(r, i);
		const struct gfp *is = opening_fp(r->g, a);
		for (; opened < r->nacc && acc_of(r, r->acc[opened])->start <= a->start; opened++)
			if ((acc_of(r, r->acc[opened])->mode & ACCESS_WRITE) && live_add(live, &nlive, cap, r, r->acc[opened]) < 0)
				goto out;
		if (!(a->flags & GACCESS_KEPT) || (a->flags & GACCESS_CREATES) || (!is && (a->flags & GACCESS_TRUNCS)))
			continue;
		if (live_other(live, nlive, r, i) || live_soon(r, opened, a))
			continue;
		while (ended < r->writes.n && acc_of(r, r->writes.v[ended])->end <= a->start)
			ended++;
		size_t w = ended, u = r->unobserved.n;
		const struct gaccess *write = NULL;
		const struct runobserved *last = NULL;
		if (!step_back_write(r, i, &w, &u, &write, &last)) {
			if (!append_unobserved(r, i, true))
				goto out;
			continue;
		}
		if (!is)
			continue;
		bool more = true;
		while (more && write && (write->flags & GACCESS_ALIAS))
			more = step_back_write(r, i, &w, &u, &write, &last);
		const struct gfp *was = !more ? NULL : write ? closing_fp(r->g, write) : last->fp;
		if (was && fp_differ(was, is) && !append_unobserved(r, i, false))
			goto out;
	}
	rc = 0;
out:
	if (live != few)
		free(live);
	return rc;
}
