/* picture_alike.c - which nodes of a picture are alike: colours are refined by those of the neighbours until nothing
 * changes (the coarsest bisimulation), then files with the same neighbours stand in one list. */
#include "answer/picture/picture_int.h"

#include "base/hash.h"
#include "base/map.h"
#include "query/idmap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 30000000 }; /* edges that are looked at; a graph that needs more stays as it is */

struct half_edge {
	uint32_t at;   /* the node */
	uint64_t what; /* the other end's colour, the direction, whether it is sure */
};
struct refining {
	struct picture_graph *g;
	uint64_t *colours, *fresh;
	struct half_edge *halves; /* two for each edge, and for each node in a frame */
	size_t n_halves;
};

static int compare_halves(const void *pa, const void *pb)
{
	const struct half_edge *a = pa, *b = pb;
	return a->at != b->at ? (a->at > b->at) - (a->at < b->at) : (a->what > b->what) - (a->what < b->what);
}

static void add_half(struct refining *r, uint32_t at, uint32_t other, uint64_t way)
{
	const uint64_t what[] = {r->colours[other], way};
	r->halves[r->n_halves++] = (struct half_edge){at, hash_bytes(what, sizeof(what))};
}

/* How many different ones there are; SIZE_MAX without memory. */
static size_t count_colours(const uint64_t *colours, size_t n)
{
	struct idmap seen = {0};
	bool is_new = false, ok = true;
	for (size_t i = 0; i < n && ok; i++)
		ok = idmap_add(&seen, colours[i] ? colours[i] : 1, 1, &is_new);
	const size_t many = ok ? seen.n : SIZE_MAX;
	idmap_release(&seen);
	return many;
}

/* One round: each node's colour, and the set of those of its neighbours. */
static void refine(struct refining *r)
{
	const struct picture_graph *g = r->g;
	r->n_halves = 0;
	for (size_t k = 0; k < g->edges.n; k++) {
		const struct graph_edge *e = &g->edges.v[k];
		const uint64_t how = (uint64_t)e->sure << 1 | e->pipe;
		add_half(r, e->from, e->to, how << 2);
		add_half(r, e->to, e->from, how << 2 | 1);
	}
	for (uint32_t i = 0; i < g->nodes.n; i++)
		if (g->nodes.v[i].frame != VEC_NONE) {
			add_half(r, i, g->nodes.v[i].frame, 2);
			add_half(r, g->nodes.v[i].frame, i, 3);
		}
	qsort(r->halves, r->n_halves, sizeof(*r->halves), compare_halves);
	for (size_t i = 0, k = 0; i < g->nodes.n; i++) {
		uint64_t h = r->colours[i];
		for (uint64_t last = 0, first = 1; k < r->n_halves && r->halves[k].at == i; k++) {
			if (first || r->halves[k].what != last)
				h = hash_more(h, &r->halves[k].what, sizeof(r->halves[k].what));
			last = r->halves[k].what;
			first = 0;
		}
		r->fresh[i] = h;
	}
}

/* 1: colours are those of nodes that are alike. 0: that would take too long; -ENOMEM. */
static int find_colours(struct refining *r)
{
	struct picture_graph *g = r->g;
	size_t many = 0, steps = 0;
	for (size_t i = 0; i < g->nodes.n; i++) {
		const uint64_t own[] = {g->nodes.v[i].colour, g->nodes.v[i].kind, g->nodes.v[i].root ? i + 1 : 0};
		r->colours[i] = hash_bytes(own, sizeof(own));
	}
	for (;;) {
		refine(r);
		const size_t now = count_colours(r->fresh, g->nodes.n);
		if (now == SIZE_MAX)
			return -ENOMEM;
		memcpy(r->colours, r->fresh, g->nodes.n * sizeof(*r->colours));
		if (now == many)
			return 1;
		many = now;
		steps += r->n_halves + g->nodes.n;
		if (steps > STEPS)
			return 0;
	}
}

/* ---- groups ---- */

struct keyed {
	uint64_t key;
	uint32_t node;
};

static int compare_keys(const void *pa, const void *pb)
{
	const struct keyed *a = pa, *b = pb;
	return a->key != b->key ? (a->key > b->key) - (a->key < b->key) : (a->node > b->node) - (a->node < b->node);
}

/* Of the nodes in keys, `least` or more with equal keys become one group, that of the first of them. */
static void join_equal(struct picture_graph *g, struct keyed *keys, size_t n, size_t least, bool listed)
{
	qsort(keys, n, sizeof(*keys), compare_keys);
	for (size_t i = 0, end; i < n; i = end) {
		for (end = i + 1; end < n && keys[end].key == keys[i].key; end++)
			;
		for (size_t k = i; k < end && end - i >= least; k++) {
			g->nodes.v[keys[k].node].group = keys[i].node;
			g->nodes.v[keys[k].node].listed = listed;
		}
	}
}

/* Frames first: what stands in a frame is one with others only where the frames are. keys has room for all nodes. */
static void join_alike(struct picture_graph *g, const uint64_t *colours, struct keyed *keys)
{
	for (int frames = 1; frames >= 0; frames--) {
		size_t n = 0;
		for (uint32_t i = 0; i < g->nodes.n; i++) {
			const struct graph_node *t = &g->nodes.v[i];
			if ((t->kind == PICTURE_FRAME) != (frames == 1) || t->root)
				continue;
			const uint64_t key[] = {colours[i], t->frame == VEC_NONE ? VEC_NONE : g->nodes.v[t->frame].group};
			keys[n++] = (struct keyed){hash_bytes(key, sizeof(key)), i};
		}
		join_equal(g, keys, n, PICTURE_ALIKE, false);
	}
}

/* Files that are no group yet, in no frame, and have the same neighbours. 0 or -ENOMEM. */
static int join_listed(struct picture_graph *g, struct keyed *keys)
{
	uint64_t *sums = calloc(g->nodes.n + 1, sizeof(*sums));
	uint32_t *many = calloc(g->nodes.n + 1, sizeof(*many));
	size_t n = 0;
	for (uint32_t i = 0; many && i < g->nodes.n; i++)
		many[g->nodes.v[i].group]++;
	for (size_t k = 0; sums && many && k < g->edges.n; k++) {
		const struct graph_edge *e = &g->edges.v[k];
		const uint64_t to[] = {g->nodes.v[e->to].group, 0, e->sure}, from[] = {g->nodes.v[e->from].group, 1, e->sure};
		sums[e->from] += hash_bytes(to, sizeof(to)); /* a sum: in whatever order */
		sums[e->to] += hash_bytes(from, sizeof(from));
	}
	for (uint32_t i = 0; sums && many && i < g->nodes.n; i++) {
		const struct graph_node *t = &g->nodes.v[i];
		if (t->kind > PICTURE_SOURCE || t->root || t->frame != VEC_NONE || many[t->group] > 1)
			continue;
		const uint64_t key[] = {sums[i], t->kind};
		keys[n++] = (struct keyed){hash_bytes(key, sizeof(key)), i};
	}
	const int rc = sums && many ? 0 : -ENOMEM;
	if (rc == 0)
		join_equal(g, keys, n, PICTURE_LISTED, true);
	free(sums);
	free(many);
	return rc;
}

int picture_graph_merge(struct picture_graph *g, bool all)
{
	struct refining r = {.g = g};
	struct keyed *keys = NULL;
	int rc = 0;
	for (uint32_t i = 0; i < g->nodes.n; i++)
		g->nodes.v[i].group = i;
	if (all)
		return 0;
	r.colours = calloc(g->nodes.n + 1, sizeof(*r.colours));
	r.fresh = calloc(g->nodes.n + 1, sizeof(*r.fresh));
	r.halves = calloc(2 * (g->edges.n + g->nodes.n) + 1, sizeof(*r.halves));
	keys = calloc(g->nodes.n + 1, sizeof(*keys));
	rc = r.colours && r.fresh && r.halves && keys ? find_colours(&r) : -ENOMEM;
	if (rc > 0)
		join_alike(g, r.colours, keys);
	if (rc >= 0)
		rc = join_listed(g, keys);
	free(r.colours);
	free(r.fresh);
	free(r.halves);
	free(keys);
	return rc;
}
