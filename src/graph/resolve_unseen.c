/* resolve_unseen.c - changes of regular files that nobody was seen to make: rule 1 of doc/graph.md. */
#include "graph/resolve_regular_int.h"

#include <errno.h>
#include <stdlib.h>

/* The two latest ends, per host, of accesses that may be writing. */
struct live {
	uint32_t host;
	int64_t end[2];
	uint32_t access[2];
};

/* Adds an access to those that are open. Of the accesses that are open keeps, for each host, the two that end last.
 * -1: there is room for no other host; 0. */
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

/* Was another access than i still open, as far as clocks of two hosts can tell, when i began? */
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

/* Does the access count as one that is writing at the moment that is looked at? May it be writing? counting: does
 * it, as far as is known? */
static bool is_live(const struct gaccess *a, bool counting)
{
	return counting ? (a->flags & GACCESS_WRITES) != 0 : (a->mode & ACCESS_WRITE) != 0;
}

/* Whether an access of another host that may be writing starts within the skew after a; `from` is the first that starts
 * after it. It cannot have ended before a. */
static bool live_soon(const struct resolver *r, size_t from, const struct gaccess *a, bool counting)
{
	for (size_t k = from; r->slack && k < r->nacc; k++) {
		const struct gaccess *o = acc_of(r, r->acc[k]);
		if (o->start > add_time_slack(a->start, r->slack))
			break;
		if (is_live(o, counting) && access_host(r->g, o) != access_host(r->g, a))
			return true;
	}
	return false;
}

/* A version that nobody was seen to write, found by access i. external: it was there before all that is recorded.
 * False: no memory. */
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

/* Accesses that may be writing at the moment that is looked at: all, and those whose writing counts. */
struct living {
	struct live few[2][4], *v[2];
	size_t n[2], cap, opened;
};

/* Begins to walk through accesses in the order of time, with those that are alive at each moment. 0, -ENOMEM;
 * living_end frees in both cases. */
static int living_begin(struct living *l, const struct resolver *r)
{
	size_t cap = r->slack && r->g->hosts.n + 1 > 4 ? r->g->hosts.n + 1 : 4;
	*l = (struct living){.cap = cap};
	for (int k = 0; k < 2; k++)
		if (!(l->v[k] = cap > 4 ? malloc(cap * sizeof(*l->v[k])) : l->few[k]))
			return -ENOMEM;
	return 0;
}

/* The few that are kept in l itself are not freed. */
static void living_end(struct living *l)
{
	for (int k = 0; k < 2; k++)
		if (l->v[k] != l->few[k])
			free(l->v[k]);
}

/* Goes on to the moment t: the accesses that have begun by then are among those that may be writing. 0 or -ENOMEM. */
static int living_advance(struct living *l, const struct resolver *r, int64_t t)
{
	for (; l->opened < r->nacc && acc_of(r, r->acc[l->opened])->start <= t; l->opened++)
		for (int k = 0; k < 2; k++)
			if (is_live(acc_of(r, r->acc[l->opened]), k) &&
			    live_add(l->v[k], &l->n[k], l->cap, r, r->acc[l->opened]) < 0)
				return -ENOMEM;
	return 0;
}

/* Could anybody but access i have been writing when it began? counting: was somebody, as far as is known? */
static bool living_others(const struct living *l, const struct resolver *r, uint32_t i, bool counting)
{
	return live_other(l->v[counting], l->n[counting], r, i) || live_soon(r, l->opened, acc_of(r, i), counting);
}

/* Size and time of change; of two that are alike it is the same. */
static uint32_t fp_hash(const struct gfp *fp)
{
	return hash_fold(hash_mix(fp->size, (uint64_t)fp->mtime));
}

/* One more fingerprint that was found, in their order. 0, -ENOMEM. */
static int chain_add(struct times_chain *c, const struct gfp *fp)
{
	const struct gfp **slot = vec_add(&c->found);
	if (!slot)
		return -ENOMEM;
	*slot = fp;
	return table_add(&c->table, fp_hash(fp), (uint32_t)(c->found.n - 1)) ? 0 : -ENOMEM;
}

/* Is `is` what base left as `was` at m, or what it went on to until then? 1, 0, -ENOMEM. Bases come in version order,
 * and moments ascend, but between hosts: then it begins anew. */
static int went_on_to(struct resolver *r, uint64_t base, const struct gfp *was, int64_t m, uint32_t host,
                      const struct gfp *is, int64_t until)
{
	struct times_chain *c = &r->chain;
	if (!fp_differ(was, is))
		return 1;
	if (!r->times.n)
		return 0;
	if (c->base != base) {
		c->base = base;
		c->next = c->found.n = 0;
		table_clear(&c->table);
		if (chain_add(c, was) < 0)
			return -ENOMEM;
	}
	for (; c->next < r->times.n; c->next++) {
		const struct gaccess *t = acc_of(r, r->times.v[c->next]);
		if (t->start > until)
			break;
		if (sets_later(r, t, m, host) && fp_same(&r->g->fps.v[t->fps], c->found.v[c->found.n - 1]) &&
		    chain_add(c, &r->g->fps.v[t->fpe]) < 0)
			return -ENOMEM;
	}
	uint32_t k;
	for (size_t pos = TABLE_START; (k = table_next(&c->table, fp_hash(is), &pos)) != VEC_NONE;)
		if (fp_same(c->found.v[k], is))
			return 1;
	return 0;
}

/* What access i found, where nobody was writing: was it there before all, or is it something else than what was left
 * there? Not the latter where somebody may have been writing (live). 0 or -ENOMEM. */
static int look_at_opening(struct resolver *r, uint32_t i, size_t ended, bool live)
{
	const struct gfp *is = opening_fp(r->g, acc_of(r, i));
	size_t w = ended, u = r->unobserved.n;
	const struct gaccess *write = NULL;
	const struct runobserved *last = NULL;
	bool more = step_back_write(r, i, &w, &u, &write, &last);
	if (!more)
		return append_unobserved(r, i, true) ? 0 : -ENOMEM;
	if (live || !is)
		return 0;
	while (more && write && (write->flags & GACCESS_ALIAS))
		more = step_back_write(r, i, &w, &u, &write, &last);
	const struct gfp *was = !more ? NULL : write ? closing_fp(r->g, write) : last->fp;
	if (!was)
		return 0;
	uint64_t base = write ? (uint64_t)(write - r->g->accesses.v) : CHAIN_CHANGE | (uint64_t)(last - r->unobserved.v);
	int64_t m = write ? write->end : last->t;
	int rc = went_on_to(r, base, was, m, write ? access_host(r->g, write) : HOST_ANY, is, acc_of(r, i)->start);
	return rc < 0 || (!rc && !append_unobserved(r, i, false)) ? -ENOMEM : 0;
}

/* What changed unobserved. Writes must be sorted by their recorded ends. 0, -ENOMEM. */
int resolve_unseen(struct resolver *r)
{
	struct living l;
	size_t ended = 0;
	r->chain.base = UINT64_MAX;
	int rc = living_begin(&l, r);
	for (size_t k = 0; k < r->nacc && rc == 0; k++) {
		uint32_t i = r->acc[k];
		const struct gaccess *a = acc_of(r, i);
		rc = living_advance(&l, r, a->start);
		if (rc < 0 || !(a->flags & GACCESS_KEPT) || (a->flags & GACCESS_CREATES) ||
		    (!opening_fp(r->g, a) && (a->flags & GACCESS_TRUNCS)))
			continue;
		bool live = living_others(&l, r, i, false);
		if (live && living_others(&l, r, i, true))
			continue;
		while (ended < r->writes.n && acc_of(r, r->writes.v[ended])->end <= a->start)
			ended++;
		rc = look_at_opening(r, i, ended, live);
	}
	living_end(&l);
	return rc;
}
