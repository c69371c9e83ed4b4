#include "cmd/makers.h"

#include <errno.h>
#include <stdlib.h>

#define GENERATIONS 64 /* forks and execs between the shell that opened a file and the program that wrote it */

int makers_init(struct makers *m, struct store *s, const struct lineage *l)
{
	*m = (struct makers){.s = s, .l = l};
	m->first = calloc(l->n_nodes + 2, sizeof(*m->first));
	m->users = calloc(l->n_edges + 1, sizeof(*m->users));
	if (!m->first || !m->users) {
		makers_release(m);
		return -ENOMEM;
	}
	/* Counting sort of the edges by what was used. */
	for (size_t k = 0; k < l->n_edges; k++)
		if (l->edges[k].type == LINEAGE_USED)
			m->first[l->edges[k].to + 2]++;
	for (size_t i = 2; i < l->n_nodes + 2; i++)
		m->first[i] += m->first[i - 1];
	for (size_t k = 0; k < l->n_edges; k++)
		if (l->edges[k].type == LINEAGE_USED)
			m->users[m->first[l->edges[k].to + 1]++] = (uint32_t)k;
	return 0;
}

void makers_release(struct makers *m)
{
	free(m->users);
	free(m->first);
	edges_release(&m->got);
	*m = (struct makers){0};
}

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

int maker_is_opener(struct makers *m, uint32_t version, const struct lineage_edge *e)
{
	const struct lineage *l = m->l;
	const struct lineage_node *v = &l->nodes[version];
	for (uint32_t k = 0; k < v->n; k++) {
		const struct lineage_edge *other = &l->edges[v->first + k];
		if (other == e || other->type != LINEAGE_GENERATED || other->e.via != TERM_via_descriptor)
			continue;
		int r = descends(m->s, l->nodes[other->to].id, l->nodes[e->to].id);
		if (r)
			return r;
	}
	return 0;
}

int maker_held(struct makers *m, const struct lineage_edge *e)
{
	const struct lineage *l = m->l;
	if (e->type != LINEAGE_USED || e->e.sure || e->e.via != TERM_via_descriptor || !l->nodes[e->to].stream)
		return 0;
	for (uint32_t k = m->first[e->to]; k < m->first[e->to + 1]; k++) {
		const struct lineage_edge *other = &l->edges[m->users[k]];
		int r = other->from != e->from ? descends(m->s, l->nodes[other->from].id, l->nodes[e->from].id) : 0;
		if (r)
			return r;
	}
	return 0;
}

uint32_t maker_forked_from(struct makers *m, uint32_t exec)
{
	const struct lineage_node *n = &m->l->nodes[exec];
	struct exec_info x;
	uint32_t parent = UINT32_MAX;
	if (store_exec(m->s, n->id, &x) <= 0 || x.n)
		return UINT32_MAX;
	for (uint32_t k = 0; k < n->n; k++) {
		const struct lineage_edge *e = &m->l->edges[n->first + k];
		if (e->type == LINEAGE_INFORMED && e->e.sure && parent == UINT32_MAX)
			parent = e->to;
		else if (maker_held(m, e) <= 0)
			return UINT32_MAX;
	}
	return parent;
}

int maker_own(struct makers *m, const struct lineage_edge *e)
{
	if (e->type != LINEAGE_USED)
		return 0;
	int r = store_gens(m->s, m->l->nodes[e->to].id, &m->got);
	if (r < 0 || m->got.n != 1 || m->got.v[0].to != m->l->nodes[e->from].id)
		return r;
	r = store_derived(m->s, m->l->nodes[e->to].id, &m->got);
	return r < 0 ? r : !m->got.n;
}
