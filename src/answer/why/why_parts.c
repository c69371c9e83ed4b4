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
	size_t n_queue;
};

static int class_of(const struct parts *p, uint32_t node, enum fold_class *ret)
{
	int r = fold_class(p->m->s, p->n->l.nodes[node].id, ret);
	if (r == 0)
		*ret = FOLD_program;
	return r < 0 ? r : 0;
}

static void add_part(struct parts *p, uint32_t node, enum part part)
{
	if (p->part[node] != PART_NONE)
		return;
	p->part[node] = (unsigned char)part;
	p->queue[p->n_queue++] = node;
}

/* Those who generated the version itself, without those who only opened it, which are kept apart. n->opener: the last
 * of those that only opened it. 0, -errno. */
static int add_direct(struct parts *p)
{
	struct why *n = p->n;
	const struct lineage_node *v = &n->l.nodes[0];
	for (uint32_t k = 0; k < v->n; k++) {
		const struct lineage_edge *e = &n->l.edges[v->first + k];
		if (e->type != LINEAGE_GENERATED)
			continue;
		int role = maker_role(p->m, 0, e);
		if (role < 0)
			return role;
		if (role == MAKER_WRITER) {
			n->sure &= p->part[e->to] != PART_NONE || e->e.sure;
			add_part(p, e->to, PART_STAGE);
			continue;
		}
		uint32_t from = maker_forked_from(p->m, e->to);
		n->opener = from != UINT32_MAX ? from : e->to;
		if (role == MAKER_BOTH)
			n->is[n->opener] |= WHY_IS_DOUBTFUL;
	}
	return 0;
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

/* clients: also who only connected to it. 0, -errno. */
static int add_stream_writers(struct parts *p, uint32_t reader, uint32_t stream, bool clients)
{
	const struct lineage_node *v = &p->n->l.nodes[stream];
	int pipe = is_pipe(p, stream);
	for (uint32_t k = 0; k < v->n && pipe >= 0; k++) {
		const struct lineage_edge *e = &p->n->l.edges[v->first + k];
		if (e->type != LINEAGE_GENERATED || (!clients && edge_is_client(&e->e)))
			continue;
		int role = maker_role(p->m, stream, e);
		int part = role == MAKER_WRITER ? part_of_writer(p, reader, e->to, pipe) : role;
		if (part < 0)
			return part;
		if (role == MAKER_WRITER)
			add_part(p, e->to, (enum part)part);
	}
	return pipe < 0 ? pipe : 0;
}

/* Who wrote to a stream; and, where that was asked for, to another connection of the same server. */
static int add_writers(struct parts *p, uint32_t reader, uint32_t stream)
{
	const struct lineage_node *v = &p->n->l.nodes[stream];
	int r = add_stream_writers(p, reader, stream, false);
	for (uint32_t k = 0; k < v->n && r == 0; k++) {
		const struct lineage_edge *e = &p->n->l.edges[v->first + k];
		if (e->type == LINEAGE_DERIVED && e->e.via == TERM_via_socket)
			r = add_stream_writers(p, reader, e->to, true);
	}
	return r;
}

/* Who wrote to the streams that a part read, and what it is a fork of, for a fork knows what its parent had read. 0,
 * -errno. */
static int add_upstream(struct parts *p, uint32_t part)
{
	const struct lineage_node *x = &p->n->l.nodes[part];
	int r = 0;
	for (uint32_t k = 0; k < x->n && r == 0; k++) {
		const struct lineage_edge *e = &p->n->l.edges[x->first + k];
		if (e->type == LINEAGE_USED && p->n->l.nodes[e->to].stream)
			r = add_writers(p, part, e->to);
		else if (why_is_fork(e))
			add_part(p, e->to, (enum part)p->part[part]);
	}
	return r;
}

/* A launcher that wrote for its commands is none of the makers: they are. Only where it is the one that wrote. *direct
 * becomes the launcher and its commands, which follow it in the queue. 0, -errno. */
static int replace_launcher(struct parts *p, size_t *direct)
{
	enum fold_class c;
	if (p->all || *direct != 1)
		return 0;
	uint32_t launcher = p->queue[0];
	int r = class_of(p, launcher, &c);
	if (r < 0 || c != FOLD_launcher)
		return r;
	r = add_upstream(p, launcher);
	size_t commands = 0;
	for (size_t i = 1; i < p->n_queue && r >= 0; i++) {
		if (p->part[p->queue[i]] != PART_STAGE)
			continue;
		r = maker_descends(p->m, p->queue[i], launcher);
		if (r == 0) /* it was not started by the launcher: it gave it something */
			p->part[p->queue[i]] = PART_HELPER;
		commands += r > 0;
	}
	if (r >= 0 && commands) {
		p->part[launcher] = PART_LAUNCHER;
		*direct = 1 + commands;
	}
	return r < 0 ? r : 0;
}

int why_add_parts(struct makers *m, struct why *n, bool all)
{
	struct parts p = {m, n, all, calloc(n->l.n_nodes + 1, sizeof(*p.queue)), calloc(n->l.n_nodes + 1, sizeof(*p.part)),
	                  0};
	int r = p.queue && p.part ? add_direct(&p) : -ENOMEM;
	size_t direct = p.n_queue;
	if (r == 0)
		r = replace_launcher(&p, &direct);
	for (size_t i = 0; i < p.n_queue && r == 0; i++)
		if (p.part[p.queue[i]] != PART_LAUNCHER)
			r = add_upstream(&p, p.queue[i]);
	for (size_t i = 0; i < p.n_queue && r == 0; i++) {
		if (p.part[p.queue[i]] == PART_STAGE) {
			n->makers[n->n_makers++] = p.queue[i];
			n->n_direct += i < direct;
			n->is[p.queue[i]] |= i < direct ? WHY_IS_MAKER | WHY_IS_DIRECT : WHY_IS_MAKER;
		} else {
			n->helpers[n->n_helpers++] = p.queue[i];
			n->is[p.queue[i]] |= WHY_IS_HELPER;
		}
	}
	free(p.queue);
	free(p.part);
	return r;
}
