/* resolve_holders.c - who had an empty version open, and wrote nothing: rule 5 of doc/graph.md. */
#include "graph/resolve_int.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A log that all programs of a job had open, and that stayed empty, is nobody's result: it would have a maker for each
 * of them. */
#define HOLDERS_MAX 256

bool resolve_is_holder(const struct gaccess *a)
{
	return a->via == TERM_via_descriptor && (a->mode & (ACCESS_READ | ACCESS_WRITE)) == ACCESS_WRITE &&
	       !(a->flags & (GACCESS_KEPT | GACCESS_ALIAS));
}

/* Begins the holdings of a file. Those of the holders that begin before a version later than v does are looked at
 * from now on. 0, -ENOMEM. */
static int begin_holding(struct resolver *r, const struct rversion *v)
{
	for (; r->holders_seen < r->holders.n; r->holders_seen++) {
		const uint32_t at = r->holders.v[r->holders_seen];
		uint32_t *one = r->g->accesses.v[at].start < v->later ? vec_add(&r->holding) : NULL;
		if (r->g->accesses.v[at].start >= v->later)
			return 0;
		if (!one)
			return -ENOMEM;
		*one = at;
	}
	return 0;
}

/* Moves those that had version v of the file open, the n-th one, to the front of r->holding and counts them to it;
 * those that no version from here on can have are taken out. How many are at the front. */
static size_t take_holders(struct resolver *r, const struct rversion *v, uint32_t n)
{
	const int64_t passed = v->start < v->later ? v->start : v->later; /* no version from here on begins before */
	size_t kept = 0, taken = 0;
	for (size_t k = 0; k < r->holding.n; k++) {
		const uint32_t at = r->holding.v[k];
		struct gaccess *a = &r->g->accesses.v[at];
		if (a->end <= passed)
			continue;
		r->holding.v[kept] = at;
		if (a->end > v->start) {
			r->holding.v[kept] = r->holding.v[taken];
			r->holding.v[taken++] = at;
			a->gen = n;
			a->gen_via = a->via;
		}
		kept++;
	}
	r->holding.n = kept;
	return taken;
}

/* The first n of r->holding are taken out; told: they count to the version. */
static void settle_holders(struct resolver *r, size_t n, bool told)
{
	for (size_t k = 0; k < n && !told; k++)
		r->g->accesses.v[r->holding.v[k]].gen = 0;
	memmove(r->holding.v, r->holding.v + n, (r->holding.n - n) * sizeof(*r->holding.v));
	r->holding.n -= n;
}

int resolve_made(struct resolver *r, struct gversion *gv, const struct rversion *v, bool empty)
{
	int rc = empty && r->holders.n ? begin_holding(r, v) : 0;
	size_t held = rc == 0 && empty ? take_holders(r, v, gv->n) : 0;
	if (held > HOLDERS_MAX) {
		settle_holders(r, held, false);
		held = 0;
	}
	if (rc < 0 || !held)
		return rc < 0 ? rc : resolve_gens(r, gv, r->writes.v + v->first, v->n);
	VEC(uint32_t) both = {0};
	if (!vec_room(&both, v->n + held))
		return -ENOMEM;
	memcpy(both.v, r->writes.v + v->first, v->n * sizeof(*both.v));
	memcpy(both.v + v->n, r->holding.v, held * sizeof(*both.v));
	rc = resolve_gens(r, gv, both.v, v->n + held);
	settle_holders(r, held, true);
	vec_release(&both);
	return rc;
}
