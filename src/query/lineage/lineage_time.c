/* lineage_time.c - the bounds of a walk: what may be followed in time, by the clocks of several hosts (B4, B9). */
#include "query/lineage/lineage_int.h"

#include "base/hash.h"

#include <errno.h>
#include <stdlib.h>

/* Without passing the ends of int64_t. ns. */
static int64_t offset_time(int64_t t, int64_t by)
{
	int64_t sum;
	return __builtin_add_overflow(t, by, &sum) ? (by < 0 ? INT64_MIN : INT64_MAX) : sum;
}

/* By how much a bound moves, towards allowing more, at a host with another clock. ns. */
static int64_t skew_widening(const struct lineage_walk *w)
{
	int64_t twice = w->o->skew > INT64_MAX / 2 ? INT64_MAX : 2 * w->o->skew;
	return w->o->direction == LINEAGE_UP ? twice : -twice;
}

/* Of two times, does the first allow more? */
static bool is_better_time(const struct lineage_walk *w, int64_t a, int64_t b)
{
	return w->o->direction == LINEAGE_UP ? a > b : a < b;
}

/* The time that allows least: nothing is worse. */
int64_t lineage_worst_time(const struct lineage_walk *w)
{
	return w->o->direction == LINEAGE_UP ? INT64_MIN : INT64_MAX;
}

/* The bound as the clock of a host shows it. */
static int64_t at_host(const struct lineage_walk *w, struct lineage_bound b, uint32_t host)
{
	return !b.host || b.host == host ? b.t : offset_time(b.t, skew_widening(w));
}

/* Betters *b by `by`; false if that already allows as much. Moments of two clocks within the skew cannot be ordered:
 * then both give way to one that allows what either does, so that nothing true is missed. */
bool lineage_improve(const struct lineage_walk *w, struct lineage_bound *b, struct lineage_bound by)
{
	if (!w->o->skew || b->host == by.host) {
		if (!is_better_time(w, by.t, b->t))
			return false;
		*b = by;
		return true;
	}
	int64_t mine = b->host ? offset_time(b->t, skew_widening(w)) : b->t;
	int64_t its = by.host ? offset_time(by.t, skew_widening(w)) : by.t;
	if (!is_better_time(w, its, b->t))
		return false;
	*b = !is_better_time(w, mine, by.t) ? by : (struct lineage_bound){is_better_time(w, its, mine) ? its : mine, 0};
	return true;
}

/* May the walk follow an edge that holds over [lo, hi] at an execution of `host`, and with which bound does it go on?
 * Up: the later thing's end bounds what it can have taken in. Down is the same relation reversed: what began bounds
 * where it can have ended up. */
bool lineage_passes(const struct lineage_walk *w, struct lineage_bound b, uint32_t host, int64_t lo, int64_t hi,
                    struct lineage_bound *ret)
{
	if (hi == TIME_NONE)
		hi = TIME_NEVER;
	int64_t t = at_host(w, b, host), limit = w->o->direction == LINEAGE_UP ? hi : lo;
	if (w->o->direction == LINEAGE_UP ? lo > t : hi < t)
		return false;
	*ret = is_better_time(w, t, limit) ? (struct lineage_bound){limit, host} : b;
	return true;
}

/* The number of an execution's host; 0 where clocks are taken as one. */
int lineage_exec_host(struct lineage_walk *w, store_id exec, uint32_t *ret)
{
	struct exec_info x;
	*ret = 0;
	int r = w->o->skew ? store_exec(w->s, exec, &x) : 0;
	if (r <= 0)
		return r;
	bool is_new;
	uint32_t *at = idmap_add(&w->hosts, hash_str(x.host) | 1, (uint32_t)w->hosts.n + 1, &is_new);
	if (!at)
		return -ENOMEM;
	*ret = *at;
	return 0;
}

/* ---- parts of an execution ---- */

/* Where the bound of a part of execution i is kept; NULL without memory, or, where none is made, if there is none. */
struct lineage_bound *lineage_part_bound(struct lineage_walk *w, uint32_t i, uint32_t part, bool object, bool make)
{
	if (!part)
		return &w->states[i].settled[object];
	for (uint32_t k = w->states[i].ways; k; k = w->ways[k].next)
		if (w->ways[k].part == part && w->ways[k].object == object)
			return &w->ways[k].bound;
	if (!make)
		return NULL;
	if (w->n_ways + 1 >= w->cap_ways) {
		size_t cap = w->cap_ways ? w->cap_ways * 2 : 64;
		struct lineage_way *v = realloc(w->ways, cap * sizeof(*v));
		if (!v)
			return NULL;
		w->ways = v;
		w->cap_ways = cap;
	}
	w->ways[++w->n_ways] = (struct lineage_way){part, w->states[i].ways, object, {lineage_worst_time(w), 0}};
	w->states[i].ways = (uint32_t)w->n_ways;
	return &w->ways[w->n_ways].bound;
}

int lineage_is_object(struct lineage_walk *w, store_id version)
{
	struct version_sort v;
	int r = w->objects.any ? store_version_sort(w->s, version, &v) : 0;
	return r > 0 ? objects_is_object(v.kind) : r;
}

/* Does what e says surely come in time for the edges by which execution i was reached, and was it the same part of it
 * that did both? What may have come too late, or too early, is possible; so is what another part did, and what is
 * between two objects. *ret: where it is sure, the bound with which it goes on. */
void lineage_settle(struct lineage_walk *w, uint32_t i, uint32_t host, bool object, struct edge *e,
                    struct lineage_bound *ret)
{
	bool up = w->o->direction == LINEAGE_UP, in_time = false, computed = false, reached = false;
	const struct lineage_bound *from[] = {&w->states[i].informed, lineage_part_bound(w, i, e->part, false, false),
	                                      lineage_part_bound(w, i, e->part, true, false)};
	struct lineage_bound best = {lineage_worst_time(w), 0}, then;
	for (size_t k = 0; k < sizeof(from) / sizeof(from[0]); k++) {
		const bool between = object && k == 2; /* from an object to an object */
		reached |= k && from[k] && from[k]->t != lineage_worst_time(w);
		if (!from[k] || !lineage_passes(w, *from[k], host, e->lo, up ? INT64_MAX : e->over, &then))
			continue;
		if (!between || w->o->computed)
			lineage_improve(w, &best, then);
		in_time |= !between;
		computed |= between;
	}
	e->computed = e->sure && computed && !in_time;
	e->sure &= in_time;
	e->folded = !in_time && !reached;
	if (w->o->certain && (in_time || (computed && w->o->computed)))
		*ret = best;
}

/* Adds an edge to a run of edges of the same two ends. bound: the best of them holds. */
void lineage_run_add(const struct lineage_walk *w, struct lineage_run *run, const struct edge *e,
                     struct lineage_bound bound)
{
	if (!run->n++) {
		*run = (struct lineage_run){*e, bound, 1};
		return;
	}
	edge_fold(&run->e, e);
	run->e.computed = !run->e.sure && (run->e.computed || e->computed);
	lineage_improve(w, &run->bound, bound);
}
