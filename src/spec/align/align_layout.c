#include "spec/align/align_layout.h"

#include "base/vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Edges by the node they leave: those of node i are to[first[i]] .. to[first[i + 1]]. */
struct graph {
	uint32_t n;
	uint32_t *first, *to;
};

static void flow_graph_release(struct graph *g)
{
	free(g->first);
	free(g->to);
}

/* The edges by the node that they leave (backward: enter). 0, -ENOMEM. */
static int graph_make(uint32_t n, const struct layout_edge *e, size_t n_edges, bool backward, struct graph *ret)
{
	struct graph g = {.n = n};
	g.first = calloc(n + 2, sizeof(*g.first));
	g.to = malloc((n_edges ? n_edges : 1) * sizeof(*g.to));
	if (!g.first || !g.to) {
		flow_graph_release(&g);
		return -ENOMEM;
	}
	for (size_t i = 0; i < n_edges; i++)
		g.first[(backward ? e[i].to : e[i].from) + 2]++;
	for (uint32_t i = 2; i < n + 2; i++)
		g.first[i] += g.first[i - 1];
	for (size_t i = 0; i < n_edges; i++)
		g.to[g.first[(backward ? e[i].to : e[i].from) + 1]++] = backward ? e[i].from : e[i].to;
	*ret = g;
	return 0;
}

struct edges {
	struct layout_edge *v;
	size_t n, cap;
};

/* Adds an edge of a function's graph. 0, -ENOMEM, -E2BIG: too many edges. */
static int edge_add(struct edges *e, uint32_t from, uint32_t to)
{
	if (!vec_has_room(e->v, e->n, e->cap))
		return -ENOMEM;
	e->v[e->n++] = (struct layout_edge){from, to};
	return e->n > LAYOUT_EDGES ? -E2BIG : 0;
}

/* The edges between seen nodes (and from the entry), paths through unseen ones taken as one edge. Nodes from which no
 * seen node can be reached get one to `exit`, and so does what ends the function. 0, -ENOMEM; -E2BIG: that takes too
 * long. */
static int contract_unobserved(const struct graph *g, const bool *seen, uint32_t entry, uint32_t exit,
                               struct edges *ret)
{
	uint32_t *mark = calloc(g->n, sizeof(*mark)), *work = malloc((g->n + 1) * sizeof(*work));
	int r = mark && work ? 0 : -ENOMEM;
	size_t budget = 50 * (size_t)LAYOUT_EDGES; /* some 0.1 s */
	for (uint32_t i = 0; r == 0 && i < g->n; i++) {
		size_t n = 0;
		bool ends = false;
		if (!seen[i] && i != entry)
			continue;
		work[n++] = i;
		while (r == 0 && n) {
			uint32_t at = work[--n];
			ends |= g->first[at] == g->first[at + 1];
			for (uint32_t k = g->first[at]; r == 0 && k < g->first[at + 1]; k++) {
				uint32_t to = g->to[k];
				if (budget-- == 0)
					r = -E2BIG;
				if (mark[to] == i + 1)
					continue;
				mark[to] = i + 1;
				if (seen[to])
					r = edge_add(ret, i, to);
				else
					work[n++] = to;
			}
		}
		if (r == 0 && ends)
			r = edge_add(ret, i, exit);
	}
	free(mark);
	free(work);
	return r;
}

/* Nodes in the order in which a depth-first walk from root leaves them; ret_place is LAYOUT_NONE where it does not
 * come. Both have room for all nodes. 0, -ENOMEM. */
static int post_order(const struct graph *g, uint32_t root, uint32_t *ret_order, uint32_t *ret_place, uint32_t *ret_n)
{
	uint32_t *stack = malloc((g->n + 1) * sizeof(*stack)), *next = malloc((g->n + 1) * sizeof(*next));
	uint32_t depth = 0, n = 0;
	if (!stack || !next) {
		free(stack);
		free(next);
		return -ENOMEM;
	}
	memset(ret_place, 0xff, g->n * sizeof(*ret_place));
	memcpy(next, g->first, g->n * sizeof(*next));
	stack[depth++] = root;
	ret_place[root] = 0;
	while (depth) {
		uint32_t at = stack[depth - 1];
		if (next[at] < g->first[at + 1]) {
			uint32_t to = g->to[next[at]++];
			if (ret_place[to] == LAYOUT_NONE) {
				ret_place[to] = 0;
				stack[depth++] = to;
			}
		} else {
			ret_place[at] = n;
			ret_order[n++] = at;
			depth--;
		}
	}
	*ret_n = n;
	free(stack);
	free(next);
	return 0;
}

/* Immediate dominators from root (Cooper, Harvey, Kennedy 2001). `back` has the edges turned round. LAYOUT_NONE: not
 * reached. 0, -ENOMEM. */
static int find_dominators(const struct graph *g, const struct graph *back, uint32_t root, uint32_t *ret_idom)
{
	uint32_t *order = malloc((g->n + 1) * sizeof(*order)), *place = malloc((g->n + 1) * sizeof(*place)), n = 0;
	int r = order && place ? post_order(g, root, order, place, &n) : -ENOMEM;
	bool changed = true;
	memset(ret_idom, 0xff, g->n * sizeof(*ret_idom));
	ret_idom[root] = root;
	while (r == 0 && changed) {
		changed = false;
		for (uint32_t i = n - 1; i-- > 0;) {
			uint32_t at = order[i], best = LAYOUT_NONE;
			for (uint32_t k = back->first[at]; k < back->first[at + 1]; k++) {
				uint32_t p = back->to[k];
				if (place[p] == LAYOUT_NONE || ret_idom[p] == LAYOUT_NONE)
					continue;
				if (best == LAYOUT_NONE)
					best = p;
				while (p != best)
					if (place[p] < place[best])
						p = ret_idom[p];
					else
						best = ret_idom[best];
			}
			if (best != ret_idom[at]) {
				ret_idom[at] = best;
				changed = true;
			}
		}
	}
	free(order);
	free(place);
	return r;
}

/* ---- loops ---- */

struct tarjan {
	uint32_t *index, *low, *stack, *path, *next, *member; /* by node or place */
	uint32_t *inside; /* which component of the level above a node is in; edges between components do not count */
};

/* Adds a loop of a function. 0, -ENOMEM. */
static int add_loop(struct flow_layout *s, uint32_t head, uint32_t parent)
{
	struct layout_loop *p = realloc(s->loops, (s->n_loops + 1) * sizeof(*p));
	if (!p)
		return -ENOMEM;
	s->loops = p;
	s->loops[s->n_loops++] = (struct layout_loop){head, parent};
	return 0;
}

/* Is there an edge that counts at this level: within the loop `outer`, and not into its head? */
static bool edge_counts_in_loop(const struct flow_layout *s, uint32_t to, uint32_t outer)
{
	return s->loop[to] == outer && (outer == LAYOUT_NONE || s->loops[outer].head != to);
}

/* One level: finds the components of the nodes whose loop is `outer`, without edges into its head; each of more than
 * one node, or with an edge to itself, is a loop. (Tarjan 1972, without recursion.) 0, -ENOMEM. */
static int find_loop_components(struct flow_layout *s, const struct graph *g, const uint32_t *place,
                                const uint32_t *members, uint32_t n, uint32_t outer, struct tarjan *t)
{
	uint32_t clock = 0, depth = 0, top = 0;
	int r = 0;
	for (uint32_t i = 0; i < n; i++)
		t->index[members[i]] = 0;
	for (uint32_t i = 0; r == 0 && i < n; i++) {
		if (t->index[members[i]])
			continue;
		t->path[depth++] = members[i];
		t->index[members[i]] = t->low[members[i]] = ++clock;
		t->next[members[i]] = g->first[members[i]];
		t->stack[top++] = members[i];
		while (r == 0 && depth) {
			uint32_t at = t->path[depth - 1];
			if (t->next[at] < g->first[at + 1]) {
				uint32_t to = g->to[t->next[at]++];
				if (!edge_counts_in_loop(s, to, outer) || place[to] == LAYOUT_NONE)
					continue;
				if (!t->index[to]) {
					t->path[depth++] = to;
					t->index[to] = t->low[to] = ++clock;
					t->next[to] = g->first[to];
					t->stack[top++] = to;
				} else if (t->index[to] != UINT32_MAX && t->index[to] < t->low[at]) {
					t->low[at] = t->index[to];
				}
				continue;
			}
			depth--;
			if (depth && t->low[at] < t->low[t->path[depth - 1]])
				t->low[t->path[depth - 1]] = t->low[at];
			if (t->low[at] != t->index[at])
				continue;
			uint32_t start = top, head = at;
			bool loop = false;
			do {
				start--;
				t->index[t->stack[start]] = UINT32_MAX; /* its component is complete */
				if (place[t->stack[start]] > place[head])
					head = t->stack[start]; /* entered first: left last */
			} while (t->stack[start] != at);
			loop = top - start > 1;
			for (uint32_t k = g->first[at]; !loop && k < g->first[at + 1]; k++)
				loop = g->to[k] == at && edge_counts_in_loop(s, at, outer);
			if (loop) {
				r = add_loop(s, head, outer);
				for (uint32_t k = start; r == 0 && k < top; k++)
					t->inside[t->stack[k]] = s->n_loops - 1;
			}
			top = start;
		}
	}
	for (uint32_t i = 0; r == 0 && i < n; i++)
		if (t->inside[members[i]] != LAYOUT_NONE) {
			s->loop[members[i]] = t->inside[members[i]];
			t->inside[members[i]] = LAYOUT_NONE;
		}
	return r;
}

/* All loops, the outer ones first. place: LAYOUT_NONE for nodes that are not reached. 0, -ENOMEM; -E2BIG: too many. */
static int find_loop_nest(struct flow_layout *s, const struct graph *g, const uint32_t *place)
{
	struct tarjan t = {0};
	uint32_t *all = malloc(6 * (size_t)g->n * sizeof(*all)), *members = malloc((size_t)g->n * sizeof(*members));
	t.inside = malloc((size_t)g->n * sizeof(*t.inside));
	int r = all && members && t.inside ? 0 : -ENOMEM;
	if (r == 0) {
		t.index = all, t.low = all + g->n, t.stack = all + 2 * (size_t)g->n, t.path = all + 3 * (size_t)g->n;
		t.next = all + 4 * (size_t)g->n;
		memset(t.inside, 0xff, (size_t)g->n * sizeof(*t.inside));
		uint32_t n = 0;
		for (uint32_t i = 0; i < g->n; i++)
			if (place[i] != LAYOUT_NONE)
				members[n++] = i;
		r = find_loop_components(s, g, place, members, n, LAYOUT_NONE, &t);
		/* Loops are found in the order of their depth, so each is looked into once. */
		for (uint32_t l = 0; r == 0 && l < s->n_loops; l++) {
			if ((uint64_t)s->n_loops * g->n > 200000000) /* 0.1 s */
				r = -E2BIG;
			n = 0;
			for (uint32_t i = 0; r == 0 && i < g->n; i++)
				if (s->loop[i] == l)
					members[n++] = i;
			if (r == 0)
				r = find_loop_components(s, g, place, members, n, l, &t);
		}
	}
	free(all);
	free(members);
	free(t.inside);
	return r;
}

/* Where the exit cannot be reached from (an endless loop) it is given an edge from there, so that all nodes have
 * post-dominators: from the heads of outermost loops, and then from whatever is left. 0, -ENOMEM. */
static int join_endless(const struct flow_layout *s, struct edges *e, uint32_t exit, const uint32_t *place)
{
	uint32_t *order = malloc(((size_t)exit + 2) * sizeof(*order)),
	         *to_exit = malloc(((size_t)exit + 2) * sizeof(*to_exit));
	int r = order && to_exit ? 0 : -ENOMEM;
	for (int pass = 0; r == 0 && pass < 2; pass++) {
		struct graph back;
		uint32_t n;
		r = graph_make(exit + 1, e->v, e->n, true, &back);
		if (r < 0)
			break;
		r = post_order(&back, exit, order, to_exit, &n);
		flow_graph_release(&back);
		for (uint32_t l = 0; r == 0 && pass == 0 && l < s->n_loops; l++)
			if (s->loops[l].parent == LAYOUT_NONE && to_exit[s->loops[l].head] == LAYOUT_NONE)
				r = edge_add(e, s->loops[l].head, exit);
		for (uint32_t i = 0; r == 0 && pass == 1 && i < exit; i++)
			if (to_exit[i] == LAYOUT_NONE && place[i] != LAYOUT_NONE)
				r = edge_add(e, i, exit);
	}
	free(order);
	free(to_exit);
	return r;
}

/* What making a layout works with. */
struct layout_work {
	struct graph all, thin, back; /* as given; of what was observed, with the exit; that, backwards */
	struct edges e;               /* of `thin` */
	uint32_t *order, *place, *idom;
};

/* Are all sizes and numbers within their bounds? 0 or -errno. */
static int check_flow(uint32_t n, uint32_t entry, const struct layout_edge *edges, size_t n_edges)
{
	if (n > LAYOUT_NODES || n_edges > LAYOUT_EDGES)
		return -E2BIG;
	if (entry >= n)
		return -EINVAL;
	for (size_t i = 0; i < n_edges; i++)
		if (edges[i].from >= n || edges[i].to >= n)
			return -EINVAL;
	return 0;
}

/* Room for a flow of n nodes. 0 or -ENOMEM. */
static int make_layout_room(struct flow_layout *s, struct layout_work *w, uint32_t n)
{
	s->join = malloc((size_t)n * sizeof(*s->join));
	s->loop = malloc(((size_t)n + 1) * sizeof(*s->loop)); /* one more for the exit */
	w->order = malloc(((size_t)n + 2) * sizeof(*w->order));
	w->place = malloc(((size_t)n + 2) * sizeof(*w->place));
	w->idom = malloc(((size_t)n + 2) * sizeof(*w->idom));
	if (!s->join || !s->loop || !w->order || !w->place || !w->idom)
		return -ENOMEM;
	memset(s->join, 0xff, (size_t)n * sizeof(*s->join));
	memset(s->loop, 0xff, ((size_t)n + 1) * sizeof(*s->loop));
	return 0;
}

/* Finds the loops, and gives those that never end an edge to the exit. 0 or -errno. */
static int find_loops(struct flow_layout *s, struct layout_work *w, const bool *seen, uint32_t entry)
{
	uint32_t reached = 0;
	int r = contract_unobserved(&w->all, seen, entry, s->n, &w->e);
	if (r == 0)
		r = graph_make(s->n + 1, w->e.v, w->e.n, false, &w->thin);
	if (r == 0)
		r = post_order(&w->thin, entry, w->order, w->place, &reached);
	if (r == 0)
		r = find_loop_nest(s, &w->thin, w->place);
	return r == 0 ? join_endless(s, &w->e, s->n, w->place) : r;
}

/* Where the ways from each node that chooses come together again: in the loop that it is in, and not at its head. 0 or
 * -errno. */
static int find_joins(struct flow_layout *s, struct layout_work *w, const bool *seen)
{
	flow_graph_release(&w->thin);
	w->thin = (struct graph){0};
	int r = graph_make(s->n + 1, w->e.v, w->e.n, false, &w->thin);
	if (r == 0)
		r = graph_make(s->n + 1, w->e.v, w->e.n, true, &w->back);
	if (r == 0)
		r = find_dominators(&w->back, &w->thin, s->n, w->idom);
	for (uint32_t i = 0; r == 0 && i < s->n; i++) {
		const uint32_t join = w->idom[i], loop = s->loop[i];
		bool chooses = w->thin.first[i + 1] - w->thin.first[i] > 1;
		if (chooses && seen[i] && join < s->n && seen[join] &&
		    (loop == LAYOUT_NONE || (layout_in_loop(s, join, loop) && s->loops[loop].head != join)))
			s->join[i] = join;
	}
	return r;
}

int flow_layout_make(uint32_t n, const bool *seen, uint32_t entry, const struct layout_edge *edges, size_t n_edges,
                     struct flow_layout *ret)
{
	struct flow_layout s = {.n = n};
	struct layout_work w = {0};
	int r = check_flow(n, entry, edges, n_edges);
	if (r < 0)
		return r;
	r = make_layout_room(&s, &w, n);
	if (r == 0)
		r = graph_make(n, edges, n_edges, false, &w.all);
	if (r == 0)
		r = find_loops(&s, &w, seen, entry);
	if (r == 0)
		r = find_joins(&s, &w, seen);
	flow_graph_release(&w.all);
	flow_graph_release(&w.thin);
	flow_graph_release(&w.back);
	free(w.e.v);
	free(w.order);
	free(w.place);
	free(w.idom);
	if (r < 0)
		flow_layout_release(&s);
	else
		*ret = s;
	return r < 0 ? r : 0;
}

/* s is empty then. */
void flow_layout_release(struct flow_layout *s)
{
	free(s->join);
	free(s->loop);
	free(s->loops);
	*s = (struct flow_layout){0};
}
