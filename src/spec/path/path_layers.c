#include "spec/path/path_layers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* l is empty then. */
void path_layers_release(struct layers *l)
{
	free(l->first);
	free(l->node);
	*l = (struct layers){0};
}

/* Can call i be of node `to`, if the one before was of `from`? */
static bool can_follow(const struct next *nx, const struct layers *l, uint32_t i, uint32_t from, uint32_t to)
{
	const int way = l->way;
	if (i && l->broken[i - 1])
		return true;
	for (uint32_t q = nx->first[way][from]; q < nx->first[way][from + 1]; q++)
		if (nx->to[way][q] == to)
			return true;
	return false;
}

/* What layers are made with: a mark for each node, and the room of l->node. */
struct growing {
	struct frame_search *x;
	const struct next *nx;
	struct layers *l;
	uint32_t *mark; /* by node: the layer + 1 that it stands in last */
	size_t used, cap;
};

/* Adds a node to the layer. 0, -ENOMEM, -E2BIG. */
static int add_node(struct growing *g, uint32_t node)
{
	if (g->used == g->cap) {
		size_t cap = g->cap ? 2 * g->cap : 64;
		uint32_t *p = cap > PATH_STATES ? NULL : realloc(g->l->node, cap * sizeof(*p));
		if (!p)
			return cap > PATH_STATES ? -E2BIG : -ENOMEM;
		g->l->node = p;
		g->cap = cap;
	}
	g->l->node[g->used++] = node;
	return 0;
}

/* Adds to layer i what can follow the node `at` and be call i; any: it may go on anywhere. 0, -ENOMEM. */
static int add_followers(struct growing *g, uint32_t i, uint32_t at, bool any, uint32_t name)
{
	const struct next *nx = g->nx;
	const int way = g->l->way;
	const uint32_t *v = any ? nx->all : nx->to[way] + nx->first[way][at];
	uint32_t n = any ? nx->n_all : nx->first[way][at + 1] - nx->first[way][at];
	int r = 0;
	for (uint32_t q = 0; r == 0 && q < n; q++) {
		if (g->mark[v[q]] == i + 1 || !frame_search_may_call(g->x, g->l->function, v[q], name))
			continue;
		g->mark[v[q]] = i + 1;
		r = add_node(g, v[q]);
	}
	return r;
}

/* Layer by layer from the entry on. 1, 0: there is no path, or -errno. */
static int go_forward(struct growing *g, const uint32_t *names)
{
	struct layers *l = g->l;
	int r = 0;
	for (uint32_t i = 0; i < l->n; i++) {
		size_t from = i ? l->first[i - 1] : 0, to = i ? g->used : 1;
		bool any = i && l->broken[i - 1];
		l->first[i] = g->used;
		for (size_t k = any ? to - 1 : from; r == 0 && k < to; k++)
			r = add_followers(g, i, i ? l->node[k] : 0, any, names[i]);
		if (r < 0 || g->used == l->first[i])
			return r;
	}
	l->first[l->n] = g->used;
	return 1;
}

/* Takes away nodes that lead nowhere. Backwards: what cannot come to the end goes. Kept nodes move down to the front
 * of their layer, holes are SPEC_NONE. False: nothing is left. */
static bool drop_dead_ends(const struct next *nx, struct layers *l, bool whole)
{
	size_t end = l->n ? l->first[l->n] : 0;
	for (uint32_t i = l->n; i-- > 0;) {
		size_t keep = l->first[i], stop = l->first[i + 1];
		for (size_t k = l->first[i]; k < stop; k++) {
			bool good = i + 1 < l->n ? false : !whole || l->broken[i] || nx->ends[l->way][l->node[k]];
			for (size_t q = stop; !good && i + 1 < l->n && q < end; q++)
				good = can_follow(nx, l, i + 1, l->node[k], l->node[q]);
			if (good)
				l->node[keep++] = l->node[k];
		}
		if (keep == l->first[i])
			return false;
		for (size_t k = keep; k < stop; k++)
			l->node[k] = SPEC_NONE;
		end = keep;
	}
	return true;
}

/* What stands behind a SPEC_NONE in a layer is dropped. */
static void close_holes(struct layers *l)
{
	size_t used = 0;
	for (uint32_t i = 0; i < l->n; i++) {
		size_t from = l->first[i], stop = l->first[i + 1];
		l->first[i] = used;
		for (size_t k = from; k < stop && l->node[k] != SPEC_NONE; k++)
			l->node[used++] = l->node[k];
	}
	l->first[l->n] = used;
}

int path_layers_find(struct frame_search *x, uint32_t function, const uint32_t *names, const bool *broken, uint32_t n,
                     bool whole, int way, struct layers *ret)
{
	struct layers l = {.n = n, .way = way, .function = function, .broken = broken};
	struct growing g = {.x = x, .nx = &x->next[function], .l = &l};
	int r = g.nx->made[way] ? 0 : frame_search_make_next(x, function, way);
	g.mark = calloc((size_t)x->s->functions[function].n_nodes + 1, sizeof(*g.mark));
	l.first = malloc(((size_t)n + 2) * sizeof(*l.first));
	if (r == 0)
		r = g.mark && l.first ? go_forward(&g, names) : -ENOMEM;
	free(g.mark);
	if (r == 1 && ((whole && !n && !g.nx->ends[way][0]) || !drop_dead_ends(g.nx, &l, whole)))
		r = 0;
	if (r == 1) {
		close_holes(&l);
		*ret = l;
	} else {
		path_layers_release(&l);
	}
	return r;
}

bool path_layers_are_ambiguous(const struct layers *l)
{
	return l->first[l->n] > l->n;
}

uint64_t path_layers_count(const struct frame_search *x, const struct layers *l)
{
	const struct next *nx = &x->next[l->function];
	uint64_t *ways = calloc(l->first[l->n] + 1, sizeof(*ways)), sum = l->n == 0;
	for (uint32_t i = 0; ways && i < l->n; i++)
		for (size_t k = l->first[i]; k < l->first[i + 1]; k++) {
			if (!i)
				ways[k] = 1;
			for (size_t q = i ? l->first[i - 1] : 0; i && q < l->first[i]; q++)
				if (can_follow(nx, l, i, l->node[q], l->node[k]))
					ways[k] += ways[q];
			if (ways[k] > PATH_WAYS)
				ways[k] = PATH_WAYS;
			if (i + 1 == l->n)
				sum += ways[k];
		}
	free(ways);
	return sum < PATH_WAYS ? sum : PATH_WAYS;
}

void path_layers_choose_smallest(const struct frame_search *x, const struct layers *l, uint32_t *path, uint32_t n_fixed)
{
	const struct next *nx = &x->next[l->function];
	for (uint32_t i = n_fixed; i < l->n; i++) {
		path[i] = SPEC_NONE;
		for (size_t k = l->first[i]; k < l->first[i + 1]; k++)
			if (l->node[k] < path[i] && can_follow(nx, l, i, i ? path[i - 1] : 0, l->node[k]))
				path[i] = l->node[k];
	}
}

uint32_t path_layers_choose_common(const struct frame_search *x, const struct layers l[2], uint32_t most,
                                   uint32_t *path)
{
	const struct next *nx = &x->next[l[0].function];
	size_t *first = calloc((size_t)most + 1, sizeof(*first)), used = 0;
	uint32_t *node = malloc((l[0].first[l[0].n] + 1) * sizeof(*node)), length = 0;
	if (!first || !node)
		most = 0;
	for (uint32_t i = 0; i < most; i++) {
		size_t start = used;
		for (size_t k = l[0].first[i]; k < l[0].first[i + 1]; k++) {
			bool both = false, led = !i && can_follow(nx, &l[0], 0, 0, l[0].node[k]);
			for (size_t q = l[1].first[i]; !both && q < l[1].first[i + 1]; q++)
				both = l[1].node[q] == l[0].node[k];
			for (size_t q = i ? first[i - 1] : 0; i && !led && q < start; q++)
				led = can_follow(nx, &l[0], i, node[q], l[0].node[k]);
			if (both && led)
				node[used++] = l[0].node[k];
		}
		if (used == start)
			break;
		first[i] = start;
		length = i + 1;
	}
	/* From the end back: the smallest that leads on. */
	for (uint32_t i = length; i-- > 0;) {
		size_t stop = i + 1 < length ? first[i + 1] : used;
		path[i] = SPEC_NONE;
		for (size_t k = first[i]; k < stop; k++)
			if (node[k] < path[i] && (i + 1 == length || can_follow(nx, &l[0], i + 1, node[k], path[i + 1])))
				path[i] = node[k];
	}
	free(first);
	free(node);
	return length;
}

/* ---- decisions between two calls ---- */

/* Marks what can be come to from there without a call that leaves a mark (way 1), or without any. */
static void mark_reachable(const struct frame_search *x, uint32_t function, uint32_t from, int way, bool *ret)
{
	const struct spec_node *n = spec_node(x->s, function, from);
	for (uint32_t e = 0; e < n->n_edges; e++) {
		uint32_t to = spec_edge(x->s, n, e)->to;
		if (ret[to])
			continue;
		ret[to] = true;
		if (!frame_search_is_call(spec_node(x->s, function, to)) ||
		    (way == 1 && !frame_search_may_leave_mark(x, function, to)))
			mark_reachable(x, function, to, way, ret);
	}
}

int path_layers_decisions(struct frame_search *x, uint32_t function, uint32_t from, const uint32_t end[2], int way)
{
	uint32_t n = x->s->functions[function].n_nodes;
	/* The walk is recursive: not for graphs in which it may go too deep. */
	if (n > 20000)
		return 0;
	bool *seen = calloc((size_t)n + 1, 1), *on = calloc((size_t)n + 1, 1);
	x->found->decisions = malloc(((size_t)n + 1) * sizeof(uint32_t));
	if (!seen || !on || !x->found->decisions) {
		free(seen);
		free(on);
		return -ENOMEM;
	}
	mark_reachable(x, function, from, way, on);
	on[from] = true;
	for (uint32_t d = 0; d < n; d++) {
		const struct spec_node *node = spec_node(x->s, function, d);
		bool passed =
		    d == from ||
		    (on[d] && (!frame_search_is_call(node) || (way == 1 && !frame_search_may_leave_mark(x, function, d))));
		bool to[2] = {false, false};
		uint32_t ways[2] = {SPEC_NONE, SPEC_NONE};
		if (!passed || node->n_edges < 2)
			continue;
		bool different = false;
		for (uint32_t e = 0; e < node->n_edges; e++) {
			uint32_t first = spec_edge(x->s, node, e)->to;
			memset(seen, 0, n);
			seen[first] = true;
			if (!frame_search_is_call(spec_node(x->s, function, first)) ||
			    (way == 1 && !frame_search_may_leave_mark(x, function, first)))
				mark_reachable(x, function, first, way, seen);
			for (int s = 0; s < 2; s++) {
				bool leads = false;
				for (uint32_t i = 0; i < n && !leads; i++)
					leads = seen[i] &&
					        (end[s] == SPEC_NONE ? spec_node(x->s, function, i)->kind == SPEC_RETURN : i == end[s]);
				if (!leads)
					continue;
				to[s] = true;
				different |= ways[!s] != SPEC_NONE && ways[!s] != e;
				ways[s] = e;
			}
		}
		if (to[0] && to[1] && different)
			x->found->decisions[x->found->n_decisions++] = d;
	}
	free(seen);
	free(on);
	return 0;
}
