/* imported_order.c - times for what other programs tell without, or with times that contradict it.
 *
 * The events are put in an order in which every version is made before it is used, an activity begins before what it
 * does and ends after it, and, where that is possible, an activity uses before it makes (PROV does not say so, but
 * lineage asks what was read before something was written). Each event's time is what the document says, or the least
 * that comes after what it follows. What stemma itself recorded keeps its times. Linear in statements. */
#include "import/imported.h"

#include <errno.h>
#include <stdlib.h>

struct queue {
	uint32_t *v;
	size_t head, tail;
};
struct order {
	struct imported *t;
	size_t na, nx, nv, n;        /* accesses, activities, versions; nodes */
	uint32_t *first, *to, *left; /* edges by node; predecessors not placed yet */
	int64_t *at;
	uint32_t *uses;                 /* by activity: uses not placed yet */
	int64_t *used;                  /* by activity: when the last of those that are was */
	bool *placed, *has_start;       /* by node; by activity */
	struct queue any, makes, early; /* what can be placed: whatever; what activities make, after their uses; before */
};

/* The node of an activity's start in the order of events. Nodes: start and end of activities, accesses, versions
 * made. */
static uint32_t activity_start_node(uint32_t a)
{
	return 2 * a;
}
/* The number of access i in the graph: after two of each execution. */
static uint32_t access_node(const struct order *o, uint32_t i)
{
	return (uint32_t)(2 * o->nx) + i;
}
/* The number of version v in the graph: after the accesses. */
static uint32_t version_node(const struct order *o, uint32_t v)
{
	return (uint32_t)(2 * o->nx + o->na) + v;
}

/* Calls add for every edge: counted first, then filed. */
static void for_each_edge(struct order *o, void (*add)(struct order *o, uint32_t from, uint32_t to))
{
	for (uint32_t i = 0; i < o->nx; i++)
		add(o, activity_start_node(i), activity_start_node(i) + 1);
	for (uint32_t i = 0; i < o->na; i++) {
		const struct imported_access *a = &o->t->accesses.v[i];
		bool regular = imported_regular(o->t, a->version);
		if (a->foreign) {
			add(o, activity_start_node(a->activity), access_node(o, i));
			add(o, access_node(o, i), activity_start_node(a->activity) + 1);
		}
		/* What changes is not made before it is used, where the times say when. */
		const struct imported_version *v = &o->t->versions.v[a->version];
		if (a->foreign && v->changes && !v->untimed)
			continue;
		if (a->write)
			add(o, access_node(o, i), version_node(o, a->version));
		else if (a->foreign && regular)
			add(o, version_node(o, a->version), access_node(o, i));
	}
}

/* First pass: counts the edge at both ends. */
static void count_edge(struct order *o, uint32_t from, uint32_t to)
{
	o->first[from + 1]++;
	o->left[to]++;
}

/* Second pass: places the edge. first[from] moves on. */
static void file_edge(struct order *o, uint32_t from, uint32_t to)
{
	o->to[o->first[from]++] = to;
}

/* There must be room: each node comes once. */
static void queue_push_node(struct queue *q, uint32_t node)
{
	q->v[q->tail++] = node;
}

/* Queues a node of which all before it are placed: what activities make apart, so that it can come after their uses. */
static void enqueue_ready(struct order *o, uint32_t node)
{
	uint32_t i = node - (uint32_t)(2 * o->nx);
	const struct imported_access *a = node >= 2 * o->nx && i < o->na ? &o->t->accesses.v[i] : NULL;
	if (!a || !a->write || !a->foreign)
		queue_push_node(&o->any, node);
	else
		queue_push_node(o->uses[a->activity] ? &o->early : &o->makes, node);
}

/* The time that is told of an access, TIME_NONE: none is. *ret_fixed: stemma saw it itself. *at: the least that it may
 * be, which what its activity used raises. */
static int64_t place_access(struct order *o, const struct imported_access *a, int64_t *at, bool *ret_fixed)
{
	int64_t known_time = a->foreign ? a->lo : a->hi == TIME_NONE ? a->lo : a->hi;
	int64_t *used = &o->used[a->activity];
	*ret_fixed = !a->foreign;
	if (a->foreign && a->write && known_time == TIME_NONE && *at <= *used)
		*at = *used < INT64_MAX ? *used + 1 : *used; /* what it made came of what it used */
	if (!a->write && a->foreign) {
		int64_t when = known_time > *at ? known_time : *at;
		o->uses[a->activity]--;
		*used = when > *used ? when : *used;
	}
	return known_time;
}

/* The moment of an event that is placed, and of what it allows. */
static void place_event(struct order *o, uint32_t node)
{
	struct imported *t = o->t;
	int64_t at = o->at[node], known_time = TIME_NONE;
	bool fixed = false;
	if (node < 2 * o->nx) {
		const struct imported_activity *a = &t->activities.v[node / 2];
		known_time = node % 2 ? a->end : a->start;
		fixed = a->own;
	} else if (node - 2 * o->nx < o->na) {
		known_time = place_access(o, &t->accesses.v[node - 2 * o->nx], &at, &fixed);
	}
	o->placed[node] = true;
	o->at[node] = at = known_time != TIME_NONE && (fixed || known_time > at) ? known_time : at;
	for (uint32_t k = node ? o->first[node - 1] : 0; k < o->first[node]; k++) {
		uint32_t to = o->to[k];
		if (o->at[to] <= at)
			o->at[to] = at < INT64_MAX ? at + 1 : at;
		if (--o->left[to] == 0)
			enqueue_ready(o, to);
	}
}

/* Places what can be placed until nothing is ready; what waits for itself in a circle is left. */
static void place_all_events(struct order *o)
{
	for (;;) {
		uint32_t node;
		if (o->any.head < o->any.tail)
			node = o->any.v[o->any.head++];
		else if (o->makes.head < o->makes.tail)
			node = o->makes.v[o->makes.head++];
		else {
			/* Of what was ready before its activity's uses: one whose uses are placed by now, else the first. */
			size_t best = o->early.head;
			for (size_t i = o->early.head, tries = 0; i < o->early.tail && tries < 64; i++, tries++) {
				uint32_t a = o->t->accesses.v[o->early.v[i] - 2 * o->nx].activity;
				if (!o->uses[a]) {
					best = i;
					break;
				}
			}
			if (best >= o->early.tail)
				return;
			node = o->early.v[best];
			o->early.v[best] = o->early.v[o->early.head++];
		}
		place_event(o, node);
	}
}

/* Where events go in a circle nothing can be made before it is used. Always -EBADMSG, with a sentence. */
static int report_circle(struct order *o)
{
	for (uint32_t i = 0; i < o->na; i++)
		if (!o->placed[access_node(o, i)] && !o->t->accesses.v[i].write)
			return imported_wrong(o->t, &o->t->d->st.v[o->t->accesses.v[i].st], "cyclic derivation");
	return imported_wrong(o->t, &o->t->d->st.v[0], "cyclic derivation");
}

/* The times of activities that others tell of. */
static void take_activity_times(struct order *o)
{
	struct imported *t = o->t;
	for (uint32_t i = 0; i < o->nx; i++)
		if (!t->activities.v[i].own) {
			o->has_start[i] = t->activities.v[i].start != TIME_NONE;
			t->activities.v[i].start = o->at[activity_start_node(i)];
			t->activities.v[i].end = o->at[activity_start_node(i) + 1];
		}
}

/* The times of accesses that others tell of. least: by version, its first foreign write. */
static void take_access_times(struct order *o, uint32_t *least)
{
	struct imported *t = o->t;
	for (uint32_t v = 0; v < o->nv; v++)
		least[v] = VEC_NONE;
	for (uint32_t i = 0; i < o->na; i++) {
		struct imported_access *a = &t->accesses.v[i];
		int64_t at = o->at[access_node(o, i)];
		if (!a->foreign)
			continue;
		a->lo = at;
		a->hi = at < INT64_MAX ? at + 1 : at;
		if (a->write && (least[a->version] == VEC_NONE || at < t->accesses.v[least[a->version]].lo))
			least[a->version] = i;
	}
}

/* An activity whose start is not told began with the first that it did. */
static void take_missing_starts(struct order *o)
{
	struct imported *t = o->t;
	for (uint32_t i = 0; i < o->nx; i++) {
		struct imported_activity *x = &t->activities.v[i];
		int64_t first = INT64_MAX;
		for (uint32_t k = x->first; k != VEC_NONE; k = t->accesses.v[k].next)
			first = t->accesses.v[k].lo < first ? t->accesses.v[k].lo : first;
		if (!x->own && !o->has_start[i] && first != INT64_MAX)
			x->start = first - 1;
	}
}

/* Writes the placed times into activities and accesses; o->uses is used up for other figures. */
static void take_times(struct order *o)
{
	struct imported *t = o->t;
	uint32_t *least = o->uses; /* not needed any more for what it was */
	take_activity_times(o);
	take_access_times(o, least);
	take_missing_starts(o);
	/* Further writes of one version go on where the first ended. */
	for (uint32_t i = 0; i < o->na; i++) {
		struct imported_access *a = &t->accesses.v[i];
		bool regular = imported_regular(t, a->version);
		if (a->foreign && a->write && regular && (least[a->version] != i || t->versions.v[a->version].own))
			a->mode = ACCESS_WRITE | ACCESS_APPEND;
	}
}

static void order_release(struct order *o)
{
	free(o->first);
	free(o->left);
	free(o->to);
	free(o->at);
	free(o->uses);
	free(o->used);
	free(o->placed);
	free(o->has_start);
	free(o->any.v);
	free(o->makes.v);
	free(o->early.v);
}

/* Room for all but the edges. False: no memory. */
static bool order_room(struct order *o)
{
	size_t scratch = (o->nx > o->nv ? o->nx : o->nv) + 1;
	o->first = calloc(o->n + 2, sizeof(*o->first));
	o->left = calloc(o->n + 1, sizeof(*o->left));
	o->at = malloc((o->n + 1) * sizeof(*o->at));
	o->uses = calloc(scratch, sizeof(*o->uses));
	o->used = malloc((o->nx + 1) * sizeof(*o->used));
	o->placed = calloc(o->n + 1, sizeof(*o->placed));
	o->has_start = calloc(o->nx + 1, sizeof(*o->has_start));
	bool ok = o->first && o->left && o->at && o->uses && o->used && o->placed && o->has_start;
	struct queue *const queues[] = {&o->any, &o->makes, &o->early};
	for (unsigned i = 0; i < 3; i++) {
		queues[i]->v = malloc((o->n + 1) * sizeof(uint32_t));
		ok = ok && queues[i]->v;
	}
	return ok;
}

/* The edges by the node that they begin at. Afterwards those of node i are to[i ? first[i - 1] : 0] up to, not with,
 * to[first[i]]. False: no memory. */
static bool order_edges(struct order *o)
{
	for_each_edge(o, count_edge);
	for (size_t i = 0; i < o->n; i++)
		o->first[i + 1] += o->first[i];
	o->to = malloc((o->first[o->n] + 1) * sizeof(*o->to));
	if (!o->to)
		return false;
	for_each_edge(o, file_edge); /* first[i] is now where the edges of i end */
	return true;
}

/* A time before all that are told: what has none happened before all that has. ns. */
static int64_t time_before_all(const struct order *o)
{
	const struct imported *t = o->t;
	int64_t base = TIME_NEVER;
	for (size_t i = 0; i < o->nx; i++)
		if (t->activities.v[i].start != TIME_NONE && t->activities.v[i].start < base)
			base = t->activities.v[i].start;
	for (size_t i = 0; i < o->na; i++)
		if (t->accesses.v[i].lo != TIME_NONE && t->accesses.v[i].lo < base)
			base = t->accesses.v[i].lo;
	base = base == TIME_NEVER ? t->now : base;
	return base > INT64_MIN / 2 ? base - (int64_t)o->n : base;
}

/* Places all that can be placed. Could everything be? */
static bool place_all(struct order *o)
{
	const int64_t base = time_before_all(o);
	size_t placed = 0;
	for (size_t i = 0; i < o->na; i++)
		if (!o->t->accesses.v[i].write && o->t->accesses.v[i].foreign)
			o->uses[o->t->accesses.v[i].activity]++;
	for (size_t i = 0; i < o->nx; i++)
		o->used[i] = TIME_NONE;
	for (size_t i = 0; i < o->n; i++) {
		o->at[i] = base;
		if (!o->left[i])
			enqueue_ready(o, (uint32_t)i);
	}
	place_all_events(o);
	for (size_t i = 0; i < o->n; i++)
		placed += o->placed[i];
	return placed == o->n;
}

int imported_order(struct imported *t)
{
	struct order o = {.t = t, .na = t->accesses.n, .nx = t->activities.n, .nv = t->versions.n};
	int rc = 0;
	if (!t->foreign)
		return 0;
	o.n = 2 * o.nx + o.na + o.nv;
	if (!order_room(&o) || !order_edges(&o))
		rc = imported_oom(t);
	else if (place_all(&o))
		take_times(&o);
	else
		rc = report_circle(&o);
	order_release(&o);
	return rc;
}
