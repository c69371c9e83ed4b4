#include "answer/makers.h"

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

/* Did x come from `from` by forks and execs? *ret_became (may be NULL): `from` itself went on as that by exec. */
static int descends(struct store *s, store_id x, store_id from, bool *ret_became)
{
	struct exec_info info;
	for (int i = 0; i < GENERATIONS && x; i++) {
		int r = store_exec(s, x, &info);
		if (r <= 0)
			return r;
		x = info.parent;
		if (x == from) {
			if (ret_became)
				*ret_became = info.n > 0;
			return 1;
		}
	}
	return 0;
}

/* The edge by which somebody may have written to node `version` through a descriptor? */
static bool is_handed_edge(const struct lineage_edge *e)
{
	return e->type == LINEAGE_GENERATED && e->e.via == TERM_via_descriptor;
}

/* Of those that opened the version, is there one between `writer` and `opener`? Then it is whose descriptor it was. */
static int opened_nearer(struct makers *m, uint32_t version, store_id writer, store_id opener)
{
	const struct lineage_node *v = &m->l->nodes[version];
	int r = 0;
	for (uint32_t k = 0; k < v->n && r == 0; k++) {
		const struct lineage_edge *e = &m->l->edges[v->first + k];
		store_id x = m->l->nodes[e->to].id;
		if (e->type != LINEAGE_GENERATED || is_handed_edge(e) || x == opener || x == writer)
			continue;
		r = descends(m->s, writer, x, NULL);
		if (r > 0)
			r = descends(m->s, x, opener, NULL);
	}
	return r;
}

/* Did execution node x use something of its own after `since`? What it opened for the program only does not count. */
static int used_since(struct makers *m, uint32_t x, uint32_t writer, int64_t since)
{
	const struct lineage_node *n = &m->l->nodes[x];
	for (uint32_t k = 0; k < n->n; k++) {
		const struct lineage_edge *e = &m->l->edges[n->first + k];
		bool handed_on = false;
		if (e->type != LINEAGE_USED || e->e.via != TERM_via_data || e->e.lo <= since || e->e.mode & ACCESS_PROGRAM)
			continue;
		for (uint32_t j = m->first[e->to]; j < m->first[e->to + 1]; j++)
			handed_on |= m->l->edges[m->users[j]].from == writer;
		int r = handed_on ? 1 : maker_own(m, e);
		if (r <= 0)
			return r < 0 ? r : 1;
	}
	return 0;
}

/* Bytes that an execution's process gave out in its life, to anything. False: not counted. */
static int gave_out(struct store *s, store_id exec, struct edges *tmp, uint64_t *ret)
{
	const uint64_t counted = 1u << 6; /* wchar, of the fields of the event exit */
	struct exec_info x;
	int r = store_exec(s, exec, &x);
	for (int i = 0; i < GENERATIONS && r > 0 && !(x.known & counted); i++) {
		/* The figures stand at the last execution of a process. */
		uint64_t pid = x.pid, n = x.n;
		r = store_informs(s, exec, tmp);
		exec = 0;
		for (size_t k = 0; k < tmp->n && r == 0 && !exec; k++) {
			r = store_exec(s, tmp->v[k].to, &x);
			exec = r > 0 && x.pid == pid && x.n == n + 1 ? tmp->v[k].to : 0;
			r = r < 0 ? r : 0;
		}
		r = r < 0 ? r : exec != 0;
	}
	if (r > 0 && (!(x.known & counted) || x.gaps >> TERM_gap_io_uring & 1))
		r = 0;
	if (r > 0)
		*ret = x.wchar_;
	return r;
}

/* Of the bytes by which node `version` grew, how many can those that generated it not account for, without the
 * execution of edge e? Nothing if they gave out more than that. False: that cannot be told. */
static int unaccounted(struct makers *m, uint32_t version, const struct lineage_edge *e, uint64_t *ret_less,
                       uint64_t *ret_more)
{
	const struct lineage_node *v = &m->l->nodes[version];
	struct version_info info, before;
	uint64_t grown, others = 0;
	int r = store_version(m->s, v->id, &info);
	if (r <= 0 || !info.has_size)
		return r < 0 ? r : 0;
	grown = info.size;
	for (uint32_t k = 0; k < v->n; k++) {
		const struct lineage_edge *other = &m->l->edges[v->first + k];
		uint64_t one;
		if (other->type == LINEAGE_DERIVED) {
			r = store_version(m->s, m->l->nodes[other->to].id, &before);
			if (r <= 0 || !before.has_size || before.size > grown)
				return r < 0 ? r : 0;
			grown -= before.size;
			continue;
		}
		if (other->type != LINEAGE_GENERATED || other == e)
			continue;
		r = other->e.mode & ACCESS_MAPPED ? 0 : gave_out(m->s, m->l->nodes[other->to].id, &m->got, &one);
		if (r <= 0)
			return r;
		others += one;
	}
	*ret_less = grown > others ? grown - others : 0;
	*ret_more = others > grown ? others - grown : 0;
	return 1;
}

/* Who was handed the descriptor, and may have written, and handed it on: it did not if the others' bytes are just those
 * that came. */
static int role_of_holder(struct makers *m, uint32_t version, const struct lineage_edge *e)
{
	uint64_t less, more;
	int r = e->e.sure ? 0 : unaccounted(m, version, e, &less, &more);
	return r < 0 ? r : r && !less && !more ? MAKER_OPENER : MAKER_WRITER;
}

/* May an opener that others wrote for have written too? It stayed meanwhile, or became the writer. */
static int also_wrote(struct makers *m, uint32_t version, const struct lineage_edge *e, bool stayed, uint32_t writer)
{
	uint64_t own, less, more;
	int r = stayed ? gave_out(m->s, m->l->nodes[e->to].id, &m->got, &own) : 0;
	if (r < 0 || (r && !own && !(e->e.mode & ACCESS_MAPPED)))
		return r < 0 ? r : 0;
	r = unaccounted(m, version, e, &less, &more);
	if (r < 0 || (r && less))
		return r;
	if (stayed)
		return !r;
	return e->e.count > 1 ? 1 : used_since(m, e->to, writer, e->e.lo);
}

/* Memory with a descriptor (memfd) is filled by who made it, and not only handed on as a pipe is. 1, 0, -errno. */
static int is_memory(struct makers *m, store_id version)
{
	struct version_info v;
	struct file_info f;
	int r = store_version(m->s, version, &v);
	r = r > 0 ? store_file(m->s, v.file, &f) : r;
	return r > 0 ? f.kind == TERM_kind_shm : r;
}

int maker_role(struct makers *m, uint32_t version, const struct lineage_edge *e)
{
	const struct lineage *l = m->l;
	const struct lineage_node *v = &l->nodes[version];
	store_id x = l->nodes[e->to].id;
	bool for_another = false, stayed = false;
	uint32_t writer = UINT32_MAX;
	for (uint32_t k = 0; k < v->n; k++) {
		const struct lineage_edge *other = &l->edges[v->first + k];
		bool became = false;
		if (other == e || !is_handed_edge(other))
			continue;
		int r = descends(m->s, l->nodes[other->to].id, x, &became);
		if (r > 0 && v->stream) {
			r = is_memory(m, v->id);
			return r < 0 ? r : r ? MAKER_WRITER : MAKER_OPENER;
		}
		if (r > 0 && is_handed_edge(e))
			return role_of_holder(m, version, e);
		if (r > 0) {
			stayed |= !became;
			r = opened_nearer(m, version, l->nodes[other->to].id, x);
			for_another |= r > 0;
			writer = r ? writer : other->to;
		}
		if (r < 0)
			return r;
	}
	if (writer == UINT32_MAX && !for_another)
		return MAKER_WRITER;
	int r = also_wrote(m, version, e, stayed, writer);
	if (r < 0)
		return r;
	return !r ? MAKER_OPENER : writer == UINT32_MAX ? MAKER_WRITER : MAKER_BOTH;
}

int maker_held(struct makers *m, const struct lineage_edge *e)
{
	const struct lineage *l = m->l;
	if (e->type != LINEAGE_USED || e->e.sure || e->e.via != TERM_via_descriptor || !l->nodes[e->to].stream)
		return 0;
	for (uint32_t k = m->first[e->to]; k < m->first[e->to + 1]; k++) {
		const struct lineage_edge *other = &l->edges[m->users[k]];
		int r = other->from != e->from ? descends(m->s, l->nodes[other->from].id, l->nodes[e->from].id, NULL) : 0;
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
	struct version_info v;
	struct file_info f;
	if (e->type != LINEAGE_USED)
		return 0;
	int r = store_gens(m->s, m->l->nodes[e->to].id, &m->got);
	if (r < 0 || m->got.n != 1 || m->got.v[0].to != m->l->nodes[e->from].id)
		return r;
	r = store_version(m->s, m->l->nodes[e->to].id, &v);
	if (r > 0)
		r = store_file(m->s, v.file, &f);
	if (r <= 0 || f.kind == TERM_kind_socket) /* somebody is at the other end, seen or not */
		return r < 0 ? r : 0;
	r = store_derived(m->s, m->l->nodes[e->to].id, &m->got);
	return r < 0 ? r : !m->got.n;
}

int maker_descends(struct makers *m, uint32_t x, uint32_t from)
{
	return descends(m->s, m->l->nodes[x].id, m->l->nodes[from].id, NULL);
}
