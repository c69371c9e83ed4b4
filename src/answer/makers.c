#include "answer/makers.h"
#include "query/fold.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define GENERATIONS 64 /* forks and execs between the shell that opened a file and the program that wrote it */

int makers_init(struct makers *m, struct store *s, const struct lineage *l)
{
	*m = (struct makers){.s = s, .l = l, .writers.version = UINT32_MAX, .handed_to = UINT32_MAX};
	m->first = calloc(l->n_nodes + 2, sizeof(*m->first));
	m->users = calloc(l->n_edges + 1, sizeof(*m->users));
	m->holds = calloc(l->n_edges + 1, sizeof(*m->holds));
	m->holders_known = calloc(l->n_nodes + 1, sizeof(*m->holders_known));
	m->handed = calloc(l->n_nodes + 1, sizeof(*m->handed));
	if (!m->first || !m->users || !m->holds || !m->holders_known || !m->handed) {
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

/* m is empty then. */
void makers_release(struct makers *m)
{
	free(m->users);
	free(m->first);
	free(m->holds);
	free(m->holders_known);
	free(m->handed);
	free(m->writers.v);
	vec_release(&m->ancestors);
	idmap_release(&m->ancestor_of);
	edges_release(&m->got);
	*m = (struct makers){0};
}

/* ---- ancestors ---- */

/* Where an execution stands among those that were met. 0 or -ENOMEM. */
static int find_ancestor(struct makers *m, store_id id, uint32_t *ret)
{
	bool is_new;
	uint32_t *at = idmap_add(&m->ancestor_of, id, (uint32_t)m->ancestors.n, &is_new);
	if (!at)
		return -ENOMEM;
	*ret = *at;
	if (!is_new)
		return 0;
	struct maker_ancestor *one = vec_add(&m->ancestors);
	if (!one)
		return -ENOMEM;
	*one = (struct maker_ancestor){.id = id};
	return 0;
}

/* From the execution at place *at to the one that it was forked or executed from. 1, 0 there is none, -errno. */
static int to_parent(struct makers *m, uint32_t *at)
{
	struct maker_ancestor *x = &m->ancestors.v[*at];
	if (!x->known) {
		struct exec_info info;
		uint32_t parent = VEC_NONE;
		int r = store_exec(m->s, x->id, &info);
		if (r > 0 && info.parent)
			r = find_ancestor(m, info.parent, &parent);
		if (r < 0)
			return r;
		x = &m->ancestors.v[*at];
		x->parent = parent;
		x->by_exec = r >= 0 && parent != VEC_NONE && info.n > 0;
		x->known = true;
	}
	if (x->parent == VEC_NONE)
		return 0;
	*at = x->parent;
	return 1;
}

/* Did x come from `from` by forks and execs? 1, 0, -errno. */
static int descends(struct makers *m, store_id x, store_id from)
{
	uint32_t at = 0;
	int r = x ? find_ancestor(m, x, &at) : 0;
	for (int i = 0; i < GENERATIONS && x && r == 0; i++) {
		r = to_parent(m, &at);
		if (r <= 0)
			return r;
		if (m->ancestors.v[at].id == from)
			return 1;
		r = 0;
	}
	return r;
}

/* Numbers what is marked, so that marks of before count no more. */
static uint32_t next_mark(struct makers *m)
{
	if (++m->mark == 0) { /* once in 2^32 */
		for (size_t i = 0; i < m->ancestors.n; i++)
			m->ancestors.v[i].mark = m->ancestors.v[i].walk = 0;
		m->mark = 1;
	}
	return m->mark;
}

/* The edge by which somebody may have written to node `version` through a descriptor? */
static bool is_handed_edge(const struct lineage_edge *e)
{
	return e->type == LINEAGE_GENERATED && e->e.via == TERM_via_descriptor;
}

/* Marks what the execution node `writer` used. */
static void mark_handed(struct makers *m, uint32_t writer)
{
	const struct lineage_node *n = &m->l->nodes[writer];
	if (m->handed_to == writer)
		return;
	m->handed_to = writer;
	for (uint32_t k = 0; k < n->n; k++) {
		const struct lineage_edge *e = &m->l->edges[n->first + k];
		if (e->type == LINEAGE_USED)
			m->handed[e->to] = writer + 1;
	}
}

/* Did execution node x use something of its own after `since`? What it opened for the program only does not count. 1,
 * 0, -errno. */
static int used_since(struct makers *m, uint32_t x, uint32_t writer, int64_t since)
{
	const struct lineage_node *n = &m->l->nodes[x];
	mark_handed(m, writer);
	for (uint32_t k = 0; k < n->n; k++) {
		const struct lineage_edge *e = &m->l->edges[n->first + k];
		if (e->type != LINEAGE_USED || e->e.via != TERM_via_data || e->e.lo <= since || e->e.mode & ACCESS_PROGRAM)
			continue;
		int r = m->handed[e->to] == writer + 1 ? 1 : maker_own(m, e);
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

/* ---- the writers of one version ---- */

/* What is known of those that generated a version, beside its edges: what each is to those after it. All zero. 0,
 * -ENOMEM. */
static int alloc_writers(struct makers *m, uint32_t version)
{
	const struct lineage_node *v = &m->l->nodes[version];
	struct maker_writer *w = realloc(m->writers.v, ((size_t)v->n + 1) * sizeof(*w));
	if (!w)
		return -ENOMEM;
	memset(w, 0, ((size_t)v->n + 1) * sizeof(*w));
	for (uint32_t k = 0; k < v->n; k++)
		w[k].at = w[k].last = VEC_NONE;
	m->writers = (struct maker_writers){.v = w, .version = UINT32_MAX};
	return 0;
}

/* Tells the ancestors of writer k, who was handed the descriptor, that it wrote: those that generated the version, too.
 * 0, -errno. */
static int tell_openers(struct makers *m, const struct lineage_node *v, uint32_t k, uint32_t mark)
{
	const struct lineage_edge *edges = m->l->edges + v->first;
	bool nearer = false; /* one that opened it itself stands between */
	uint32_t at = m->writers.v[k].at, walk = next_mark(m), below = at;
	m->ancestors.v[at].walk = walk;
	for (int i = 0; i < GENERATIONS; i++) {
		int r = to_parent(m, &at);
		if (r <= 0)
			return r;
		struct maker_ancestor *x = &m->ancestors.v[at];
		if (x->walk == walk) /* a circle: a record may hold anything */
			return 0;
		x->walk = walk;
		if (x->mark == mark) {
			struct maker_writer *opener = &m->writers.v[x->writer];
			opener->handed_on = true;
			opener->stayed |= !m->ancestors.v[below].by_exec;
			opener->for_another |= nearer;
			opener->last = nearer ? opener->last : edges[k].to;
			nearer |= !is_handed_edge(&edges[x->writer]);
		}
		below = at;
	}
	return 0;
}

/* Finds out, once for all writers of a version, who handed it on to whom. 0 or -errno. */
static int load_writers(struct makers *m, uint32_t version)
{
	const struct lineage_node *v = &m->l->nodes[version];
	if (m->writers.version == version)
		return 0;
	int r = alloc_writers(m, version);
	uint32_t mark = next_mark(m);
	for (uint32_t k = 0; k < v->n && r == 0; k++) {
		const struct lineage_edge *e = &m->l->edges[v->first + k];
		if (e->type != LINEAGE_GENERATED)
			continue;
		r = find_ancestor(m, m->l->nodes[e->to].id, &m->writers.v[k].at);
		if (r < 0)
			break;
		m->ancestors.v[m->writers.v[k].at].mark = mark;
		m->ancestors.v[m->writers.v[k].at].writer = k;
	}
	for (uint32_t k = 0; k < v->n && r == 0; k++)
		if (is_handed_edge(&m->l->edges[v->first + k]))
			r = tell_openers(m, v, k, mark);
	if (r == 0)
		m->writers.version = version;
	return r;
}

/* By how much the version grew, and what all its writers together gave out. 0 or -errno. */
static int load_bytes(struct makers *m, const struct lineage_node *v)
{
	struct maker_writers *w = &m->writers;
	struct version_info info, before;
	if (w->counted)
		return 0;
	int r = store_version(m->s, v->id, &info);
	w->grew = r > 0 && info.has_size;
	w->grown = w->grew ? info.size : 0;
	for (uint32_t k = 0; k < v->n && r >= 0 && w->grew; k++) {
		const struct lineage_edge *e = &m->l->edges[v->first + k];
		if (e->type == LINEAGE_DERIVED) {
			r = store_version(m->s, m->l->nodes[e->to].id, &before);
			w->grew = r > 0 && before.has_size && before.size <= w->grown;
			w->grown -= w->grew ? before.size : 0;
		} else if (e->type == LINEAGE_GENERATED) {
			r = e->e.mode & ACCESS_MAPPED ? 0 : gave_out(m->s, m->l->nodes[e->to].id, &m->got, &w->v[k].bytes);
			w->v[k].known = r > 0;
			w->all += r > 0 ? w->v[k].bytes : 0;
			w->unknown += r == 0;
		}
	}
	w->counted = r >= 0;
	return r < 0 ? r : 0;
}

/* Of the bytes by which the version grew, how many can those that generated it not account for, without writer k?
 * Nothing if they gave out more than that. False: that cannot be told. */
static int unaccounted(struct makers *m, const struct lineage_node *v, uint32_t k, uint64_t *ret_less,
                       uint64_t *ret_more)
{
	const struct maker_writers *w = &m->writers;
	int r = load_bytes(m, v);
	if (r < 0 || !w->grew || w->unknown > !w->v[k].known)
		return r;
	uint64_t others = w->all - (w->v[k].known ? w->v[k].bytes : 0);
	*ret_less = w->grown > others ? w->grown - others : 0;
	*ret_more = others > w->grown ? others - w->grown : 0;
	return 1;
}

/* Who was handed the descriptor, and may have written, and handed it on: it did not if the others' bytes are just those
 * that came. MAKER_OPENER or MAKER_WRITER; -errno. */
static int role_of_holder(struct makers *m, const struct lineage_node *v, uint32_t k)
{
	uint64_t less, more;
	int r = m->l->edges[v->first + k].e.sure ? 0 : unaccounted(m, v, k, &less, &more);
	return r < 0 ? r : r && !less && !more ? MAKER_OPENER : MAKER_WRITER;
}

/* May an opener that others wrote for have written too? It stayed meanwhile, or became the writer. 1, 0, -errno. */
static int also_wrote(struct makers *m, const struct lineage_node *v, uint32_t k)
{
	const struct lineage_edge *e = &m->l->edges[v->first + k];
	const struct maker_writer *w = &m->writers.v[k];
	uint64_t own, less, more;
	int r = w->stayed ? gave_out(m->s, m->l->nodes[e->to].id, &m->got, &own) : 0;
	if (r < 0 || (r && !own && !(e->e.mode & ACCESS_MAPPED)))
		return r < 0 ? r : 0;
	r = unaccounted(m, v, k, &less, &more);
	if (r < 0 || (r && less))
		return r;
	if (w->stayed)
		return !r;
	return e->e.count > 1 ? 1 : used_since(m, e->to, w->last, e->e.lo);
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

/* As makers.h says: MAKER_WRITER, MAKER_OPENER or MAKER_BOTH; -errno. */
int maker_role(struct makers *m, uint32_t version, const struct lineage_edge *e)
{
	const struct lineage_node *v = &m->l->nodes[version];
	uint32_t k = (uint32_t)(e - (m->l->edges + v->first));
	int r = load_writers(m, version);
	if (r < 0)
		return r;
	const struct maker_writer *w = &m->writers.v[k];
	if (!w->handed_on)
		return MAKER_WRITER;
	if (v->stream) {
		r = is_memory(m, v->id);
		return r < 0 ? r : r ? MAKER_WRITER : MAKER_OPENER;
	}
	if (is_handed_edge(e))
		return role_of_holder(m, v, k);
	if (w->last == VEC_NONE && !w->for_another)
		return MAKER_WRITER;
	r = also_wrote(m, v, k);
	if (r < 0)
		return r;
	return !r ? MAKER_OPENER : w->last == VEC_NONE ? MAKER_WRITER : MAKER_BOTH;
}

/* Finds out, once for all users of a version, whose forks and programs used it too. 0 or -errno. */
static int load_holders(struct makers *m, uint32_t version)
{
	const struct lineage *l = m->l;
	uint32_t mark = next_mark(m), at;
	int r = 0;
	if (m->holders_known[version])
		return 0;
	for (uint32_t k = m->first[version]; k < m->first[version + 1] && r == 0; k++) {
		r = find_ancestor(m, l->nodes[l->edges[m->users[k]].from].id, &at);
		if (r < 0)
			return r;
		m->ancestors.v[at].mark = mark;
		m->ancestors.v[at].holds = false;
	}
	for (uint32_t k = m->first[version]; k < m->first[version + 1] && r == 0; k++) {
		store_id user = l->nodes[l->edges[m->users[k]].from].id, program = 0;
		r = fold_representative(m->s, user, &program);
		r = r < 0 ? r : find_ancestor(m, user, &at);
		for (int i = 0; i < GENERATIONS && r == 0; i++) {
			r = to_parent(m, &at);
			if (r <= 0)
				break;
			struct maker_ancestor *x = &m->ancestors.v[at];
			/* A worker that a program forked is part of the program, which did not hand the stream on to it. */
			if (x->mark == mark && x->id != user && x->id != program)
				x->holds = true;
			r = 0;
		}
	}
	for (uint32_t k = m->first[version]; k < m->first[version + 1] && r == 0; k++) {
		r = find_ancestor(m, l->nodes[l->edges[m->users[k]].from].id, &at);
		m->holds[m->users[k]] = r == 0 && m->ancestors.v[at].holds;
	}
	m->holders_known[version] = r == 0;
	return r;
}

int maker_held(struct makers *m, const struct lineage_edge *e)
{
	const struct lineage *l = m->l;
	if (e->type != LINEAGE_USED || e->e.sure || e->e.via != TERM_via_descriptor || !l->nodes[e->to].stream)
		return 0;
	int r = load_holders(m, e->to);
	return r < 0 ? r : m->holds[e - l->edges];
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
	return descends(m, m->l->nodes[x].id, m->l->nodes[from].id);
}
