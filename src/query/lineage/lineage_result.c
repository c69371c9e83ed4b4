/* lineage_result.c - what a walk gives: the nodes that it reached, and which of them are sure. */
#include "query/lineage/lineage_int.h"

#include <errno.h>
#include <stdlib.h>

const char *const lineage_omit_name[OMIT_COUNT] = {
    [OMIT_system] = "system",
    [OMIT_absent] = "absent",
    [OMIT_cache] = "cache",
    [OMIT_fork] = "fork",
    [OMIT_shm] = "shm",
    [OMIT_sync] = "sync",
    [OMIT_uncertain] = "uncertain",
    [OMIT_unseen] = "unseen",
    [OMIT_unread] = "unread",
    [OMIT_object] = "object",
    [OMIT_empty] = "empty",
    [OMIT_container] = "container",
    [OMIT_engine] = "engine",
    [OMIT_housekeeping] = "housekeeping",
    [OMIT_transport] = "transport",
};

/* Is a version of that class data, or a script? */
static bool is_data(unsigned class)
{
	return class == VERSION_DATA || class == VERSION_SCRIPT;
}

int lineage_compact(struct lineage_walk *w, struct lineage *ret)
{
	bool up = w->o->direction == LINEAGE_UP;
	uint32_t *renumber = malloc((w->n_nodes + 1) * sizeof(*renumber));
	if (!renumber)
		return -ENOMEM;
	struct lineage l = {.nodes = w->nodes, .edges = w->edges, .cut = w->cut};
	for (size_t i = 0; i < w->n_nodes; i++) {
		const struct lineage_state *st = &w->states[i];
		renumber[i] = (uint32_t)l.n_nodes;
		if (!st->reached) {
			l.omitted[st->empty && !w->o->all && !up                    ? OMIT_empty
			          : st->unread && (w->o->all || is_data(st->class)) ? OMIT_unread
			          : st->housekeeping                                ? OMIT_housekeeping
			          : st->class == VERSION_ABSENT                     ? OMIT_absent
			          : st->class == VERSION_ENGINE || st->copied       ? OMIT_engine
			                                                            : OMIT_system]++;
			continue;
		}
		l.n_roots += st->root;
		for (int k = 0; st->omitted && k < OMIT_COUNT; k++)
			l.omitted[k] += w->omitted[st->omitted].count[k];
		l.nodes[l.n_nodes] = w->nodes[i];
		l.nodes[l.n_nodes].first = l.nodes[l.n_nodes].n = 0;
		l.n_nodes++;
	}
	if (w->o->nodes)
		w->n_edges = 0;
	/* The edges of a node stand side by side: each expansion added its own in one go. */
	for (size_t k = 0; k < w->n_edges; k++) {
		struct lineage_edge e = w->edges[k];
		if (e.type == LINEAGE_GONE)
			continue;
		e.from = renumber[e.from];
		e.to = renumber[e.to];
		struct lineage_node *owner = &l.nodes[up ? e.from : e.to];
		if (!owner->n++)
			owner->first = (uint32_t)l.n_edges;
		l.edges[l.n_edges++] = e;
	}
	w->nodes = NULL;
	w->edges = NULL;
	free(renumber);
	*ret = l;
	return 0;
}

/* The key of a node in a map: its id and what it is. */
static uint64_t node_key(const struct lineage_node *n)
{
	return n->id << 1 | n->exec;
}

int lineage_certain(struct store *s, const struct lineage *l, const struct lineage_options *o, struct err *err,
                    bool *ret)
{
	struct lineage_options only = *o;
	struct lineage sure = {0};
	struct idmap map = {0};
	bool is_new;
	only.certain = only.nodes = true;
	store_id *roots = malloc((l->n_roots + 1) * sizeof(*roots));
	for (size_t i = 0; i < l->n_roots && roots; i++)
		roots[i] = l->nodes[i].id;
	int r = roots ? lineage_walk(s, roots, l->n_roots, &only, err, &sure) : -ENOMEM;
	free(roots);
	for (size_t i = 0; i < sure.n_nodes && r == 0; i++)
		if (!idmap_add(&map, node_key(&sure.nodes[i]), 1, &is_new))
			r = -ENOMEM;
	for (size_t i = 0; i < l->n_nodes; i++)
		ret[i] = r == 0 && idmap_find(&map, node_key(&l->nodes[i]));
	idmap_release(&map);
	lineage_release(&sure);
	return r;
}

/* l is empty then. */
void lineage_release(struct lineage *l)
{
	free(l->nodes);
	free(l->edges);
	*l = (struct lineage){0};
}
