/* why_parts.c - who took part in making a version: the stages, which are named, and the helpers, which are not
 * (doc/why.md). */
#include "answer/why/why_int.h"

#include "query/fold.h"

#include <errno.h>

bool why_is_fork(const struct lineage_edge *e)
{
	return e->type == LINEAGE_INFORMED && e->e.sure && e->e.via == TERM_via_fork;
}

/* What a node of an execution is to the answer. */
enum part {
	PART_NONE,
	PART_STAGE,
	PART_SHELL,    /* a helper: a shell that wrote to a pipe; what it read through pipes may be a stage */
	PART_LAUNCHER, /* wrote to the version what its commands gave it: these are the makers */
	PART_HELPER,   /* a helper, and so are all from which it had something */
};

/* The parts in the order in which they were met: each is looked at once. */
struct parts {
	struct makers *m;
	struct why *n;
	bool all; /* each is a stage */
	uint32_t *queue;
	unsigned char *part; /* of each node: enum part */
	bool *direct;        /* of each node: it generated the version, or its launcher did for it */
	bool *handed;        /* of each node: it wrote to a file that a part had handed it, and read again */
	size_t n_queue;
};

/* A program's, where none other is known. 0, -errno. */
static int class_of(const struct parts *p, uint32_t node, enum fold_class *ret)
{
	int r = fold_class(p->m->s, p->n->l.nodes[node].id, ret);
	if (r == 0)
		*ret = FOLD_program;
	return r < 0 ? r : 0;
}

/* Gives the node a part and queues it. stage: n->stage of it. A node that has a part keeps it. The queue has room for
 * each node once. */
static void add_part(struct parts *p, uint32_t node, enum part part, uint32_t stage)
{
	if (p->part[node] != PART_NONE)
		return;
	p->part[node] = (unsigned char)part;
	p->n->stage[node] = stage;
	p->queue[p->n_queue++] = node;
}

/* Adds those who generated the version itself, without those who only opened it, which are kept apart. n->opener: the
 * last of those that only opened it. 0, -errno. */
static int add_direct_of(struct parts *p, uint32_t version, bool *sure)
{
	struct why *n = p->n;
	const struct lineage_node *v = &n->l.nodes[version];
	for (uint32_t k = 0; k < v->n; k++) {
		const struct lineage_edge *e = &n->l.edges[v->first + k];
		if (e->type != LINEAGE_GENERATED)
			continue;
		int role = maker_role(p->m, version, e);
		if (role < 0)
			return role;
		if (role == MAKER_WRITER) {
			*sure &= p->part[e->to] != PART_NONE || e->e.sure;
			add_part(p, e->to, PART_STAGE, 0);
			continue;
		}
		uint32_t from = maker_forked_from(p->m, e->to);
		n->opener = from != UINT32_MAX ? from : e->to;
		if (role == MAKER_BOTH)
			n->is[n->opener] |= WHY_IS_DOUBTFUL;
	}
	return 0;
}

/* Those who generated the version, and those that were written together with it: that one of these was surely made is
 * enough. 0, -errno. */
static int add_direct(struct parts *p)
{
	bool any = false;
	int r = 0;
	for (uint32_t v = 0; v < p->n->l.n_roots && r == 0; v++) {
		bool sure = true;
		r = add_direct_of(p, v, &sure);
		any |= sure;
	}
	p->n->sure &= any;
	return r;
}

/* Of a stream: can it be between the commands of a pipeline? 1, 0, -errno. */
static int is_pipe(const struct parts *p, uint32_t stream)
{
	struct version_sort v;
	int r = store_version_sort(p->m->s, p->n->l.nodes[stream].id, &v);
	return r > 0 ? v.kind == TERM_kind_pipe || v.kind == TERM_kind_fifo || v.kind == TERM_kind_terminal : r;
}

/* What is `writer`, who wrote to a stream that `reader` read? A part, or -errno. */
static int part_of_writer(struct parts *p, uint32_t reader, uint32_t writer, bool pipe)
{
	enum part to = (enum part)p->part[reader];
	enum fold_class rc, wc;
	if (p->all)
		return PART_STAGE;
	if (!pipe || to == PART_HELPER)
		return PART_HELPER;
	int r = why_is_other_rank(p->m->s, p->n->l.nodes[reader].id, p->n->l.nodes[writer].id);
	if (r > 0)
		return PART_HELPER;
	if (r == 0)
		r = class_of(p, reader, &rc);
	if (r == 0)
		r = class_of(p, writer, &wc);
	if (r < 0)
		return r;
	if (!fold_is_shell(rc) && rc != FOLD_launcher) {
		r = maker_descends(p->m, writer, reader);
		if (r)
			return r < 0 ? r : PART_HELPER;
	}
	return fold_is_shell(wc) ? PART_SHELL : wc == FOLD_launcher ? PART_HELPER : PART_STAGE;
}

/* Adds those who wrote into a stream that the reader read from. clients: also who only connected to it; others: they
 * wrote for another program, and are helpers. 0, -errno. */
static int add_stream_writers(struct parts *p, uint32_t reader, uint32_t stream, bool clients, bool others)
{
	const struct lineage_node *v = &p->n->l.nodes[stream];
	int pipe = v->stream ? is_pipe(p, stream) : true;
	for (uint32_t k = 0; k < v->n && pipe >= 0; k++) {
		const struct lineage_edge *e = &p->n->l.edges[v->first + k];
		if (e->type != LINEAGE_GENERATED || (!clients && edge_is_client(&e->e)))
			continue;
		int role = maker_role(p->m, stream, e);
		int part = role != MAKER_WRITER ? role : others ? PART_HELPER : part_of_writer(p, reader, e->to, pipe);
		if (part < 0)
			return part;
		if (role == MAKER_WRITER)
			add_part(p, e->to, (enum part)part, p->n->stage[reader] + (p->part[reader] == PART_STAGE));
	}
	return pipe < 0 ? pipe : 0;
}

/* Adds who wrote to a stream (others: for another program); and, where that was asked for, to another connection of
 * the same server. 0, -errno. */
static int add_writers(struct parts *p, uint32_t reader, uint32_t stream, bool others)
{
	const struct lineage_node *v = &p->n->l.nodes[stream];
	int r = add_stream_writers(p, reader, stream, false, others);
	for (uint32_t k = 0; k < v->n && r == 0; k++) {
		const struct lineage_edge *e = &p->n->l.edges[v->first + k];
		if (e->type == LINEAGE_DERIVED && e->e.via == TERM_via_socket)
			r = add_stream_writers(p, reader, e->to, true, others);
	}
	return r;
}

#define HANDED_VERSIONS 32 /* of a file that are looked at for the one that a launcher made as it opened the file */

/* Did the reader open the file itself, hand it on, and read what came? The writers then gave it something, as through a
 * pipe. 1, 0, -errno. */
static int is_handed_back(const struct parts *p, uint32_t reader, uint32_t version)
{
	const struct lineage_node *v = &p->n->l.nodes[version];
	const store_id by = p->n->l.nodes[reader].id;
	struct version_sort sort;
	store_id one;
	struct edges e = {0};
	bool opened = false;
	int r = v->near && !v->stream ? store_version_sort(p->m->s, v->id, &sort) : 0;
	for (uint64_t n = 1; r > 0 && n <= HANDED_VERSIONS && !opened; n++) {
		r = store_version_of(p->m->s, sort.file, n, &one);
		if (r > 0 && (r = store_gens(p->m->s, one, &e)) == 0)
			r = 1;
		for (size_t k = 0; r > 0 && k < e.n; k++)
			opened |= e.v[k].to == by;
	}
	edges_release(&e);
	return r < 0 ? r : opened;
}

/* Marks who wrote the version as handed on, and adds the writers of a stream. 0, -errno. */
static int add_handed_writers(struct parts *p, uint32_t reader, uint32_t version)
{
	const struct lineage_node *v = &p->n->l.nodes[version];
	for (uint32_t k = 0; k < v->n; k++)
		if (p->n->l.edges[v->first + k].type == LINEAGE_GENERATED)
			p->handed[p->n->l.edges[v->first + k].to] = true;
	return add_stream_writers(p, reader, version, true, false);
}

/* Is it only possible that the part read the stream by that edge, and sure that another program did? It held a
 * descriptor on its way there, and who wrote to the stream wrote for the other one. 1, 0, -errno. */
static int is_others(const struct parts *p, uint32_t part, const struct lineage_edge *e)
{
	struct edges readers = {0};
	bool found = false;
	int r = e->e.sure || p->all ? 0 : store_readers(p->m->s, p->n->l.nodes[e->to].id, &readers);
	for (size_t k = 0; r == 0 && k < readers.n; k++)
		found |= readers.v[k].sure && readers.v[k].to != p->n->l.nodes[part].id;
	edges_release(&readers);
	return r < 0 ? r : found;
}

/* Adds who wrote to the streams that a part read, and what it is a fork of, for a fork knows what its parent had
 * read. 0, -errno. */
static int add_upstream(struct parts *p, uint32_t part)
{
	const struct lineage_node *x = &p->n->l.nodes[part];
	int r = 0;
	for (uint32_t k = 0; k < x->n && r == 0; k++) {
		const struct lineage_edge *e = &p->n->l.edges[x->first + k];
		if (e->type == LINEAGE_USED && p->n->l.nodes[e->to].stream)
			r = (r = is_others(p, part, e)) < 0 ? r : add_writers(p, part, e->to, r > 0);
		else if (e->type == LINEAGE_USED && (r = is_handed_back(p, part, e->to)) > 0)
			r = add_handed_writers(p, part, e->to);
		else if (why_is_fork(e))
			add_part(p, e->to, (enum part)p->part[part], p->n->stage[part]);
	}
	return r;
}

/* A launcher that wrote for its commands is none of the makers: they are. Only where it is the one that wrote. Sets
 * p->direct anew. 0, -errno. */
static int replace_launcher(struct parts *p)
{
	enum fold_class c;
	if (p->all || p->n_queue != 1)
		return 0;
	uint32_t launcher = p->queue[0];
	int r = class_of(p, launcher, &c);
	if (r < 0 || c != FOLD_launcher)
		return r;
	r = add_upstream(p, launcher);
	size_t commands = 0;
	bool handed = false;
	for (size_t i = 1; i < p->n_queue; i++)
		handed |= p->handed[p->queue[i]];
	for (size_t i = 1; i < p->n_queue && r >= 0; i++) {
		if (p->part[p->queue[i]] != PART_STAGE)
			continue;
		/* Where it took what its commands print through files, what it read from pipes was for itself. */
		r = handed && !p->handed[p->queue[i]] ? 0 : maker_descends(p->m, p->queue[i], launcher);
		if (r == 0) /* it was not started by the launcher: it gave it something */
			p->part[p->queue[i]] = PART_HELPER;
		p->direct[p->queue[i]] = r > 0;
		commands += r > 0;
	}
	if (r >= 0 && commands) {
		p->part[launcher] = PART_LAUNCHER;
		p->direct[launcher] = false;
	}
	return r < 0 ? r : 0;
}

/* The makers, the direct ones first, and the helpers. */
static void list_parts(const struct parts *p)
{
	struct why *n = p->n;
	for (int direct = 1; direct >= 0; direct--)
		for (size_t i = 0; i < p->n_queue; i++) {
			uint32_t node = p->queue[i];
			if (p->part[node] != PART_STAGE || p->direct[node] != direct)
				continue;
			n->makers[n->n_makers++] = node;
			n->n_direct += p->direct[node];
			n->is[node] |= direct ? WHY_IS_MAKER | WHY_IS_DIRECT : WHY_IS_MAKER;
		}
	for (size_t i = 0; i < p->n_queue; i++) {
		if (p->part[p->queue[i]] == PART_STAGE)
			continue;
		n->helpers[n->n_helpers++] = p->queue[i];
		n->is[p->queue[i]] |= WHY_IS_HELPER;
	}
}

int why_add_parts(struct makers *m, struct why *n, bool all)
{
	size_t nodes = n->l.n_nodes + 1;
	struct parts p = {.m = m,
	                  .n = n,
	                  .all = all,
	                  .queue = calloc(nodes, sizeof(*p.queue)),
	                  .part = calloc(nodes, sizeof(*p.part)),
	                  .direct = calloc(nodes, sizeof(*p.direct)),
	                  .handed = calloc(nodes, sizeof(*p.handed))};
	int r = p.queue && p.part && p.direct && p.handed ? add_direct(&p) : -ENOMEM;
	for (size_t i = 0; i < p.n_queue && r == 0; i++)
		p.direct[p.queue[i]] = true;
	if (r == 0)
		r = replace_launcher(&p);
	for (size_t i = 0; i < p.n_queue && r == 0; i++)
		if (p.part[p.queue[i]] != PART_LAUNCHER)
			r = add_upstream(&p, p.queue[i]);
	if (r == 0)
		list_parts(&p);
	free(p.queue);
	free(p.part);
	free(p.direct);
	free(p.handed);
	return r;
}
