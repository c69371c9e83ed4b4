/* adj_processes.c - the rows of segments that are processes: their executions, who forked them and what they were
 * linked with, and what each execution used and made. Written and read as in adj_files.c. */
#include "store/adjacency/adjacency.h"

#include <errno.h>

/* ---- writing ---- */

/* A row that is being written: its head, and the edges of its executions behind that. */
struct adj_process_put {
	struct store *s;
	struct buf head, body;
	struct edges edges;
};

/* What an execution used, or made, to the body; its length to the head. 1, 0 it does not fit, -errno. */
static int adj_put_touched(struct adj_process_put *p, store_id exec, enum adj_edges which)
{
	const size_t from = p->body.n;
	p->edges.parts = true; /* so that it shows where there are any */
	int rc = which == ADJ_USES ? store_uses(p->s, exec, &p->edges) : store_outputs(p->s, exec, &p->edges);
	if (rc < 0)
		return rc;
	if (p->edges.n && !adj_put_edges(&p->body, which, p->s->base, &p->edges))
		return 0;
	buf_varint(&p->head, p->body.n - from);
	return 1;
}

/* Writes an execution. before: number of the execution before it, of which the difference is written. 0 or -errno. */
static int adj_put_exec(struct adj_process_put *p, uint64_t process, const struct view_exec *e, uint32_t before)
{
	uint64_t command;
	struct str text;
	int rc = plist_first(e->fact.argv, &command, &text);
	if (rc < 0)
		return rc;
	buf_varint(&p->head, e->n - before);
	buf_zigzag(&p->head, time_sub(e->start, p->s->base));
	buf_zigzag(&p->head, time_sub(e->end, e->start));
	buf_varint(&p->head, e->fact.env);
	buf_varint(&p->head, command);
	buf_varint(&p->head, e->fact.script);
	rc = adj_put_touched(p, exec_id(process, e->n), ADJ_USES);
	return rc == 1 ? adj_put_touched(p, exec_id(process, e->n), ADJ_OUTPUTS) : rc;
}

/* Times go as distances, links as they are. */
static void adj_put_forks(struct adj_process_put *p, uint64_t process, const struct process_view *v)
{
	buf_varint(&p->head, v->forks.n);
	for (size_t i = 0; i < v->forks.n; i++) {
		const struct pproc_fork *f = &v->forks.v[i].fact;
		buf_zigzag(&p->head, time_sub((int64_t)process, (int64_t)f->parent));
		buf_zigzag(&p->head, time_sub(f->time, p->s->base));
		buf_zigzag(&p->head, time_sub(f->forked, f->time));
	}
	buf_varint(&p->head, v->links.n);
	for (size_t i = 0; i < v->links.n; i++) {
		const struct pproc_link *l = &v->links.v[i];
		buf_varint(&p->head, l->n);
		buf_varint(&p->head, l->other);
		buf_varint(&p->head, l->sure);
		buf_varint(&p->head, l->via);
		buf_zigzag(&p->head, time_sub(l->time, p->s->base));
	}
}

int adj_put_process(struct store *s, uint64_t id, struct buf *out)
{
	struct adj_process_put p = {.s = s};
	const struct process_view *v = &s->reader->a;
	uint32_t before = 0;
	int rc = id ? read_process(s, id, &s->reader->a) : 0; /* 0 is none */
	if (rc == 1) {
		buf_varint(&p.head, v->execs.n);
		adj_put_forks(&p, id, v);
	}
	for (size_t i = 0; rc == 1 && i < v->execs.n; i++) {
		rc = adj_put_exec(&p, id, &v->execs.v[i], before);
		before = v->execs.v[i].n;
	}
	if (rc == 1) {
		buf_str(out, buf_view(&p.head));
		buf_str(out, buf_view(&p.body));
	}
	if (p.head.failed || p.body.failed || out->failed)
		rc = -ENOMEM;
	buf_release(&p.head);
	buf_release(&p.body);
	edges_release(&p.edges);
	return rc < 0 ? rc : 0;
}

/* ---- reading ---- */

#define ADJ_EXEC_LEAST 8 /* bytes */
#define ADJ_FORK_LEAST 3
#define ADJ_LINK_LEAST 5

/* Reads the forks of a process. 0; damage stays in c->bad; -ENOMEM. */
static int adj_get_forks(struct store *s, struct cur *c, uint64_t process, struct process_view *v)
{
	uint64_t n = cur_u(c);
	if (n > (uint64_t)(c->end - c->p) / ADJ_FORK_LEAST || !vec_room(&v->forks, n))
		return n > (uint64_t)(c->end - c->p) / ADJ_FORK_LEAST ? 0 : -ENOMEM;
	for (; n; n--) {
		struct view_fork *f = &v->forks.v[v->forks.n++];
		*f = (struct view_fork){0};
		f->fact.parent = (uint64_t)time_sub((int64_t)process, cur_z(c));
		f->fact.time = time_add(s->base, cur_z(c));
		f->fact.forked = time_add(f->fact.time, cur_z(c));
	}
	n = cur_u(c);
	if (n > (uint64_t)(c->end - c->p) / ADJ_LINK_LEAST || !vec_room(&v->links, n))
		return n > (uint64_t)(c->end - c->p) / ADJ_LINK_LEAST ? 0 : -ENOMEM;
	for (; n; n--) {
		struct pproc_link *l = &v->links.v[v->links.n++];
		*l = (struct pproc_link){.n = cur_u(c)};
		l->other = cur_u(c);
		l->sure = cur_u(c);
		l->via = cur_u(c);
		l->time = time_add(s->base, cur_z(c));
	}
	return !c->bad;
}

/* Reads the executions of a process. 1, 0 damaged, -ENOMEM. */
static int adj_get_execs(struct store *s, struct cur *c, uint64_t count, struct process_view *v)
{
	uint64_t n = 0, bytes = 0;
	if (!count || count > (uint64_t)(c->end - c->p) / ADJ_EXEC_LEAST)
		return 0;
	if (!vec_room(&v->execs, count))
		return -ENOMEM;
	for (; count; count--) {
		struct view_exec *e = &v->execs.v[v->execs.n++];
		const uint64_t more = cur_u(c);
		n += more;
		if (n >= 1u << EXEC_BITS || (v->execs.n > 1) != (more > 0)) /* ascending, and 0 is there */
			return 0;
		*e = (struct view_exec){.n = (uint32_t)n};
		e->start = time_add(s->base, cur_z(c));
		e->end = time_add(e->start, cur_z(c));
		e->fact.env = cur_u(c);
		e->command = cur_u(c);
		e->fact.script = cur_u(c);
		e->uses_n = cur_u(c);
		e->outputs_n = cur_u(c);
		bytes += e->uses_n;
		if (e->uses_n > bytes || e->outputs_n > UINT64_MAX - bytes)
			return 0;
		bytes += e->outputs_n;
	}
	if (c->bad || bytes != (uint64_t)(c->end - c->p))
		return 0;
	for (size_t i = 0; i < v->execs.n; i++) {
		struct view_exec *e = &v->execs.v[i];
		e->touched = (const char *)c->p;
		c->p += e->uses_n + e->outputs_n;
	}
	return 1;
}

int adj_process(struct store *s, uint64_t id, struct process_view *v)
{
	struct str row;
	if (s->adj && s->adj->making)
		return 0;
	if (s->viewing && v->id == id)
		return v->told;
	int rc = adj_row(s, BLOCK_PROCESS, id, &row);
	if (rc <= 0)
		return rc;
	struct cur c = cur_of(row);
	const uint64_t count = cur_u(&c);
	v->execs.n = v->forks.n = v->links.n = v->gaps.n = v->sessions.n = 0;
	v->exited = false;
	v->id = 0;
	rc = adj_get_forks(s, &c, id, v);
	if (rc == 1)
		rc = adj_get_execs(s, &c, count, v);
	if (rc == 0)
		return adj_drop(s, BLOCK_PROCESS, id);
	v->id = rc == 1 ? id : 0;
	v->told = rc == 1;
	return rc;
}

int adj_exec_edges(struct store *s, store_id exec, enum adj_edges which, struct edges *ret)
{
	struct process_view *v = &s->reader->told_a;
	int rc = adj_process(s, exec_process(exec), v);
	const struct view_exec *e = rc == 1 ? view_exec(v, exec_n(exec)) : NULL;
	if (!e)
		return rc < 0 ? rc : 0;
	rc = adj_get_edges(which == ADJ_USES ? str_n(e->touched, e->uses_n) : str_n(e->touched + e->uses_n, e->outputs_n),
	                   which, s->base, ret);
	if (rc == 0) {
		v->id = 0;
		return adj_drop(s, BLOCK_PROCESS, exec_process(exec));
	}
	return rc;
}
