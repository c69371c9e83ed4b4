/* lineage_reach.c - what the walk has come to: its nodes, edges and queues, and the step along one edge to a version or
 * an execution. */
#include "query/lineage/lineage_int.h"

#include "base/hash.h"
#include "base/vec.h"

#include <errno.h>
#include <stdlib.h>

/* ---- nodes ---- */

/* A hash of the node (id, exec). */
static uint32_t lineage_node_hash(store_id id, bool exec)
{
	return (uint32_t)hash_mix(id << 1 | exec, 0);
}

void lineage_prefetch_targets(const struct lineage_walk *w, const struct edges *e, bool exec)
{
	for (size_t k = 0; w->seen.slot && k < e->n; k++)
		__builtin_prefetch(&w->seen.slot[lineage_node_hash(e->v[k].to, exec) & w->seen.mask]);
	for (size_t k = 0; w->seen.slot && k < e->n;
	     k++) { /* and the nodes that are there already, mostly in their own slot */
		const uint32_t hash = lineage_node_hash(e->v[k].to, exec), at = w->seen.slot[hash & w->seen.mask].val;
		if (at == VEC_NONE || w->seen.slot[hash & w->seen.mask].hash != hash)
			continue;
		__builtin_prefetch(&w->nodes[at]);
		__builtin_prefetch(&w->states[at]);
	}
}

bool lineage_find_node(const struct lineage_walk *w, store_id id, bool exec, uint32_t *ret)
{
	uint32_t hash = lineage_node_hash(id, exec), at;
	for (size_t pos = TABLE_START; (at = table_next(&w->seen, hash, &pos)) != VEC_NONE;)
		if (w->nodes[at].id == id && w->nodes[at].exec == exec) {
			*ret = at;
			return true;
		}
	return false;
}

int lineage_node_of(struct lineage_walk *w, store_id id, bool exec, uint32_t *ret)
{
	if (lineage_find_node(w, id, exec, ret))
		return 0;
	if (w->n_nodes == VEC_NONE)
		return -E2BIG;
	if (w->n_nodes == w->cap_nodes) {
		size_t cap = w->cap_nodes ? w->cap_nodes * 2 : 256;
		struct lineage_node *nodes = realloc(w->nodes, cap * sizeof(*nodes));
		if (!nodes)
			return -ENOMEM;
		w->nodes = nodes;
		struct lineage_state *states = realloc(w->states, cap * sizeof(*states));
		if (!states)
			return -ENOMEM;
		w->states = states;
		w->cap_nodes = cap;
	}
	w->nodes[w->n_nodes] = (struct lineage_node){.id = id, .exec = exec};
	w->states[w->n_nodes] = (struct lineage_state){.pending = {lineage_worst_time(w), 0},
	                                               .settled = {{lineage_worst_time(w), 0}, {lineage_worst_time(w), 0}},
	                                               .informed = {lineage_worst_time(w), 0}};
	if (!table_add(&w->seen, lineage_node_hash(id, exec), (uint32_t)w->n_nodes))
		return -ENOMEM;
	*ret = (uint32_t)w->n_nodes++;
	return 0;
}

void lineage_mark_reached(struct lineage_walk *w, uint32_t i, uint32_t depth)
{
	if (!w->states[i].reached) {
		w->states[i].reached = true;
		w->nodes[i].depth = depth;
	}
}

/* With a limit, a stream is as near as what led to it. */
static uint32_t node_depth_at(const struct lineage_walk *w, uint32_t i, uint32_t level)
{
	return level - (w->o->depth && w->nodes[i].near && level);
}

/* ---- queues ---- */

/* Appends a node to the queue. 0, -ENOMEM. */
static int queue_push(struct lineage_queue *q, uint32_t i)
{
	if (!vec_has_room(q->v, q->n, q->cap))
		return -ENOMEM;
	q->v[q->n++] = i;
	return 0;
}

int lineage_enqueue(struct lineage_walk *w, struct lineage_queue *q, uint32_t i)
{
	if (w->states[i].queued & q->place)
		return 0;
	w->states[i].queued |= (uint8_t)q->place;
	return queue_push(q, i);
}

int lineage_reach_whole(struct lineage_walk *w, uint32_t i)
{
	if (w->states[i].whole)
		return 0;
	w->states[i].whole = true;
	return lineage_enqueue(w, w->execs, i);
}

int lineage_reach_partly(struct lineage_walk *w, uint32_t i)
{
	if (w->states[i].partly)
		return 0;
	w->states[i].partly = true;
	return lineage_enqueue(w, w->execs, i);
}

int lineage_reach_tree(struct lineage_walk *w, uint32_t i)
{
	if (w->states[i].tree)
		return 0;
	w->states[i].tree = true;
	return lineage_enqueue(w, w->execs, i);
}

int lineage_settle_part(struct lineage_walk *w, uint32_t i, uint32_t part, bool object, struct lineage_bound bound)
{
	struct lineage_bound *at = lineage_part_bound(w, i, part, object, true);
	if (!at)
		return -ENOMEM;
	return lineage_improve(w, at, bound) ? lineage_enqueue(w, w->execs, i) : 0;
}

/* ---- edges ---- */

size_t lineage_run_end(const struct edges *e, size_t k)
{
	size_t end = k + 1;
	while (end < e->n && e->v[end].to == e->v[k].to)
		end++;
	return end;
}

/* Why an edge of any type is not followed, or OMIT_COUNT. */
static enum lineage_omit edge_omitted(const struct lineage_walk *w, enum lineage_edge_type type, const struct edge *e)
{
	if (w->o->read && type == LINEAGE_USED && e->reading < TERM_reading_read)
		return OMIT_unread;
	if (e->via == TERM_via_sync && !w->o->all)
		return OMIT_sync;
	if (!e->sure && !w->o->fork) {
		if (e->via == TERM_via_fork)
			return OMIT_fork;
		if (e->via == TERM_via_shm)
			return OMIT_shm;
	}
	if (!e->sure && w->o->certain && !(e->computed && w->o->computed))
		return OMIT_uncertain;
	return OMIT_COUNT;
}

int lineage_record_omission(struct lineage_walk *w, uint32_t node, enum lineage_omit why)
{
	struct lineage_state *st = &w->states[node];
	if (!st->omitted) {
		if (w->n_omitted + 1 >= w->cap_omitted) {
			size_t cap = w->cap_omitted ? w->cap_omitted * 2 : 64;
			struct lineage_omitted *v = realloc(w->omitted, cap * sizeof(*v));
			if (!v)
				return -ENOMEM;
			w->omitted = v;
			w->cap_omitted = cap;
		}
		w->omitted[++w->n_omitted] = (struct lineage_omitted){{0}};
		st->omitted = (uint32_t)w->n_omitted;
	}
	w->omitted[st->omitted].count[why]++;
	return 0;
}

/* A place in w->edges: one that is done with, where only nodes are asked for, else a new one. 0, -E2BIG, -ENOMEM. */
static int take_edge(struct lineage_walk *w, uint32_t *ret)
{
	if (w->free_edges) {
		*ret = w->free_edges - 1;
		w->free_edges = w->edges[*ret].from;
		return 0;
	}
	if (w->n_edges == w->cap_edges) {
		if (w->n_edges >= UINT32_MAX / 2)
			return -E2BIG;
		size_t cap = w->cap_edges ? w->cap_edges * 2 : 1024;
		struct lineage_edge *v = realloc(w->edges, cap * sizeof(*v));
		if (!v)
			return -ENOMEM;
		w->edges = v;
		w->cap_edges = cap;
	}
	*ret = (uint32_t)w->n_edges++;
	return 0;
}

/* The place is used for the next edge. Nothing may refer to it any more. */
static void give_edge_back(struct lineage_walk *w, uint32_t at)
{
	w->edges[at].from = w->free_edges;
	w->free_edges = at + 1;
}

/* Appends an edge to the result. untold: it is not known yet whether it counts, so it is kept in any case. */
static int append_lineage_edge(struct lineage_walk *w, enum lineage_edge_type type, uint32_t node, uint32_t other,
                               const struct edge *e, bool untold, uint32_t *ret)
{
	*ret = VEC_NONE;
	if (w->o->nodes && !untold)
		return 0;
	int r = take_edge(w, ret);
	if (r < 0)
		return r;
	bool up = w->o->direction == LINEAGE_UP;
	w->edges[*ret] = (struct lineage_edge){.from = up ? node : other, .to = up ? other : node, .type = type, .e = *e};
	w->nodes[node].n += !w->o->nodes;
	return 0;
}

void lineage_begin_expansion(struct lineage_walk *w, uint32_t i)
{
	struct lineage_state *st = &w->states[i];
	struct lineage_node *n = &w->nodes[i];
	/* What an earlier expansion found comes again. */
	for (uint32_t k = 0; k < n->n; k++)
		w->edges[n->first + k].type = LINEAGE_GONE;
	if (st->omitted)
		w->omitted[st->omitted] = (struct lineage_omitted){{0}};
	st->expanded = true;
	n->first = (uint32_t)w->n_edges;
	n->n = 0;
}

/* ---- the step along one edge ---- */

/* Are versions classified at all? */
static bool classifies_versions(const struct lineage_walk *w)
{
	return !w->o->all || w->o->depth;
}

/* The node is looked at again if the bound lets more through than those before. 0, -ENOMEM. */
static int arrive_with_bound(struct lineage_walk *w, struct lineage_queue *q, uint32_t i, struct lineage_bound bound)
{
	struct lineage_state *st = &w->states[i];
	return lineage_improve(w, &st->pending, bound) || !st->expanded ? lineage_enqueue(w, q, i) : 0;
}

/* Comes to a version of which it is not known yet whether it counts. */
static int arrive_untold(struct lineage_walk *w, uint32_t i, uint32_t edge, struct lineage_bound bound)
{
	uint32_t at = w->free_arrivals;
	if (at)
		w->free_arrivals = w->arrivals[at].next;
	if (!at && w->n_arrivals + 1 >= w->cap_arrivals) {
		size_t cap = w->cap_arrivals ? w->cap_arrivals * 2 : 1024;
		struct lineage_arrival *v = realloc(w->arrivals, cap * sizeof(*v));
		if (!v)
			return -ENOMEM;
		w->arrivals = v;
		w->cap_arrivals = cap;
	}
	if (!at)
		at = (uint32_t)++w->n_arrivals;
	w->arrivals[at] = (struct lineage_arrival){edge, w->states[i].arrivals, bound};
	w->states[i].arrivals = at;
	return lineage_enqueue(w, w->versions, i);
}

/* Comes to version node i, classified, by e from node `other`: is that sure? Of an empty version a walk down goes on
 * only where it came by another version. */
static bool settle_way(struct lineage_walk *w, uint32_t i, const struct edge *e, uint32_t other)
{
	struct lineage_state *st = &w->states[i];
	const bool made = w->nodes[other].exec;
	st->derived |= !made;
	return e->sure && !(st->empty && made && w->o->direction == LINEAGE_DOWN && !w->o->all);
}

int lineage_classify_expanded(struct lineage_walk *w, uint32_t i)
{
	if (!classifies_versions(w) || w->nodes[i].classified)
		return 0;
	int r = lineage_classify(w, i);
	for (uint32_t k = w->states[i].arrivals, next; k && r == 0; k = next) {
		struct lineage_arrival *a = &w->arrivals[k];
		struct lineage_edge *e = &w->edges[a->edge];
		enum lineage_omit why;
		next = a->next;
		r = lineage_judge(w, i, &e->e, lineage_other(e, i), &why);
		if (r == 0 && why == OMIT_COUNT) {
			e->e.sure = settle_way(w, i, &e->e, lineage_other(e, i));
			lineage_improve(w, &w->states[i].pending, a->bound);
			lineage_mark_reached(w, i, node_depth_at(w, i, w->depth));
		} else if (r == 0) {
			e->type = LINEAGE_GONE;
		}
		if (w->o->nodes)
			give_edge_back(w, a->edge);
		a->next = w->free_arrivals;
		w->free_arrivals = k;
	}
	w->states[i].arrivals = 0;
	return r;
}

int lineage_to_version(struct lineage_walk *w, enum lineage_edge_type type, uint32_t node, const struct edge *e,
                       struct lineage_bound bound)
{
	uint32_t i, edge;
	enum lineage_omit why = edge_omitted(w, type, e);
	if (why != OMIT_COUNT && why != OMIT_unread)
		return lineage_record_omission(w, node, why);
	int r = lineage_node_of(w, e->to, false, &i);
	if (r < 0)
		return r;
	if (why == OMIT_unread) { /* counted at the end, by what it is */
		w->states[i].unread = true;
		return lineage_classify(w, i);
	}
	if (classifies_versions(w) && !w->nodes[i].classified) {
		r = append_lineage_edge(w, type, node, i, e, true, &edge);
		return r < 0 ? r : arrive_untold(w, i, edge, bound);
	}
	r = lineage_judge(w, i, e, node, &why);
	if (r < 0 || why != OMIT_COUNT)
		return r; /* folded versions are counted once, at the end */
	const bool derived = w->states[i].derived;
	struct edge way = *e;
	way.sure = settle_way(w, i, e, node);
	r = append_lineage_edge(w, type, node, i, &way, false, &edge);
	if (r == 0 && w->states[i].empty && w->states[i].derived != derived)
		r = lineage_enqueue(w, w->versions, i);
	if (r < 0)
		return r;
	lineage_mark_reached(w, i, node_depth_at(w, i, w->depth + (w->versions == &w->next)));
	return arrive_with_bound(w, w->versions, i, bound);
}

int lineage_to_exec(struct lineage_walk *w, enum lineage_edge_type type, uint32_t node, const struct edge *e,
                    struct lineage_bound bound, uint32_t *ret)
{
	uint32_t i, edge;
	enum lineage_omit why = edge_omitted(w, type, e);
	*ret = VEC_NONE;
	if (why != OMIT_COUNT)
		return lineage_record_omission(w, node, why);
	int r = lineage_node_of(w, e->to, true, &i);
	if (r == 0)
		r = append_lineage_edge(w, type, node, i, e, false, &edge);
	if (r < 0)
		return r;
	lineage_mark_reached(w, i, w->depth - (w->versions == &w->now && w->depth));
	/* What wrote a cache's entry took the rest of its inputs for itself (B14). */
	if (type == LINEAGE_GENERATED && e->via == TERM_via_cache && !w->o->all)
		return lineage_record_omission(w, node, OMIT_cache);
	if (type == LINEAGE_GENERATED && w->states[node].empty && (!w->states[node].root || w->o->certain) && !w->o->all)
		return lineage_record_omission(w, node, OMIT_empty);
	*ret = i;
	return arrive_with_bound(w, w->execs, i, bound);
}
