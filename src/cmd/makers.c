#include "cmd/makers.h"

#define GENERATIONS 64 /* forks and execs between the shell that opened a file and the program that wrote it */

/* Did x come from `from` by forks and execs? */
static int descends(struct store *s, store_id x, store_id from)
{
	struct exec_info info;
	for (int i = 0; i < GENERATIONS && x; i++) {
		int r = store_exec(s, x, &info);
		if (r <= 0)
			return r;
		x = info.parent;
		if (x == from)
			return 1;
	}
	return 0;
}

int maker_is_opener(struct store *s, const struct lineage *l, uint32_t version, const struct lineage_edge *e)
{
	const struct lineage_node *v = &l->nodes[version];
	for (uint32_t k = 0; k < v->n; k++) {
		const struct lineage_edge *other = &l->edges[v->first + k];
		if (other == e || other->type != LINEAGE_GENERATED || other->e.via != TERM_via_descriptor)
			continue;
		int r = descends(s, l->nodes[other->to].id, l->nodes[e->to].id);
		if (r)
			return r;
	}
	return 0;
}

bool use_is_repeated(struct store *s, const struct lineage *l, const struct lineage_edge *e)
{
	struct exec_info x;
	if (e->type != LINEAGE_USED || e->e.sure || e->e.via != TERM_via_descriptor ||
	    store_exec(s, l->nodes[e->from].id, &x) <= 0 || x.n)
		return false;
	for (size_t k = 0; k < l->n_edges; k++) {
		const struct lineage_edge *other = &l->edges[k];
		if (other->type == LINEAGE_USED && other->to == e->to && other->from != e->from &&
		    store_exec(s, l->nodes[other->from].id, &x) > 0 && x.n && x.parent == l->nodes[e->from].id)
			return true;
	}
	return false;
}

uint32_t maker_forked_from(struct store *s, const struct lineage *l, uint32_t exec)
{
	const struct lineage_node *n = &l->nodes[exec];
	struct exec_info x;
	uint32_t parent = UINT32_MAX;
	if (store_exec(s, n->id, &x) <= 0 || x.n)
		return UINT32_MAX;
	for (uint32_t k = 0; k < n->n; k++) {
		const struct lineage_edge *e = &l->edges[n->first + k];
		if (e->type == LINEAGE_INFORMED && e->e.sure && parent == UINT32_MAX)
			parent = e->to;
		else if (!use_is_repeated(s, l, e))
			return UINT32_MAX;
	}
	return parent;
}
