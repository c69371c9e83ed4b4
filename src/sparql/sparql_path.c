/* sparql_path.c - property paths (SPARQL 1.1, 9 and 18.4). */
#include "sparql/sparql_eval_int.h"

#include "base/map.h"

#include <errno.h>

struct path_emit {
	void (*emit)(void *arg, rdf_id s, rdf_id o);
	void *arg;
};
struct id_set {
	VEC(rdf_id) list;
	struct map seen;
};

/* Adds a term to a set. true: it was not there. false also without memory, which fails e. */
static bool set_add(struct evaluation *e, struct id_set *s, rdf_id id)
{
	if (map_get(&s->seen, id) != VEC_NONE)
		return false;
	rdf_id *slot = vec_add(&s->list);
	if (!slot || !map_set(&s->seen, id, 1)) {
		evaluation_fail(e, -ENOMEM, "out of memory");
		return false;
	}
	*slot = id;
	return true;
}

/* It may not be used afterwards. */
static void set_release(struct id_set *s)
{
	vec_release(&s->list);
	map_release(&s->seen);
}

/* All that stands as subject or object in the graph. */
static void all_nodes(struct evaluation *e, rdf_id g, struct id_set *ret)
{
	struct rdf_match m = rdf_find(e->r, g, 0, 0, 0);
	for (const struct rdf_quad *q; (q = rdf_next(&m)) && evaluation_goes_on(e);) {
		set_add(e, ret, q->s);
		set_add(e, ret, q->o);
	}
}

struct collecting {
	struct evaluation *e;
	struct id_set *to;
	bool subjects;
};

/* Called for each pair of a path: collects one end of each pair. */
static void collect(void *arg, rdf_id s, rdf_id o)
{
	struct collecting *c = arg;
	set_add(c->e, c->to, c->subjects ? s : o);
}

/* Finds what a path with * or + reaches: from one node on (or back), any number of steps. zero: it is reached itself
 * without one. */
static void closure(struct evaluation *e, const struct sparql_path *p, rdf_id g, rdf_id from, bool backwards, bool zero,
                    struct id_set *ret)
{
	struct collecting c = {e, ret, backwards};
	if (zero)
		set_add(e, ret, from);
	else
		eval_path(e, p, g, backwards ? 0 : from, backwards ? from : 0, collect, &c);
	for (size_t i = 0; i < ret->list.n && evaluation_goes_on(e); i++) {
		const rdf_id at = ret->list.v[i];
		eval_path(e, p, g, backwards ? 0 : at, backwards ? at : 0, collect, &c);
	}
}

/* Emits the pairs of path* or path+ (zero: with no step). At least one end is given; 0: any. */
static void emit_closure(struct evaluation *e, const struct sparql_path *p, rdf_id g, rdf_id s, rdf_id o, bool zero,
                         struct path_emit to)
{
	struct id_set reached = {0};
	const bool backwards = !s;
	closure(e, p, g, backwards ? o : s, backwards, zero, &reached);
	for (size_t i = 0; i < reached.list.n; i++) {
		const rdf_id x = reached.list.v[i];
		if (backwards)
			to.emit(to.arg, x, o);
		else if (!o || x == o)
			to.emit(to.arg, s, x);
	}
	set_release(&reached);
}

/* Pairs that are joined by one step or more, or by none, too. s, o: 0: any. */
static void eval_closure(struct evaluation *e, const struct sparql_path *p, rdf_id g, rdf_id s, rdf_id o,
                         struct path_emit to)
{
	const bool zero = p->kind == PATH_STAR;
	struct id_set nodes = {0};
	if (s || o) {
		emit_closure(e, p->a, g, s, o, zero, to);
		return;
	}
	all_nodes(e, g, &nodes);
	for (size_t i = 0; i < nodes.list.n && evaluation_goes_on(e); i++)
		emit_closure(e, p->a, g, nodes.list.v[i], 0, zero, to);
	set_release(&nodes);
}

/* No step, or one. */
static void eval_optional(struct evaluation *e, const struct sparql_path *p, rdf_id g, rdf_id s, rdf_id o,
                          struct path_emit to)
{
	struct id_set nodes = {0};
	if (!s && !o)
		all_nodes(e, g, &nodes);
	else
		set_add(e, &nodes, s ? s : o);
	for (size_t i = 0; i < nodes.list.n && evaluation_goes_on(e); i++) {
		struct id_set reached = {0};
		struct collecting c = {e, &reached, !s && o};
		const rdf_id at = nodes.list.v[i];
		set_add(e, &reached, at);
		eval_path(e, p->a, g, c.subjects ? 0 : at, c.subjects ? at : 0, collect, &c);
		for (size_t k = 0; k < reached.list.n; k++) {
			const rdf_id x = reached.list.v[k];
			if (c.subjects)
				to.emit(to.arg, x, o);
			else if (!o || x == o)
				to.emit(to.arg, at, x);
		}
		set_release(&reached);
	}
	set_release(&nodes);
}

struct pair {
	rdf_id s, o;
};
struct pair_list {
	VEC(struct pair) v;
	struct evaluation *e;
};

/* A path_emit callback. Fails e beyond e->bounds.rows. */
static void keep_pair(void *arg, rdf_id s, rdf_id o)
{
	struct pair_list *l = arg;
	if (!evaluation_goes_on(l->e))
		return;
	if (l->v.n >= l->e->bounds.rows) {
		evaluation_fail(l->e, -E2BIG, "a path has too many solutions");
		return;
	}
	if (!vec_room(&l->v, 1)) {
		evaluation_fail(l->e, -ENOMEM, "out of memory");
		return;
	}
	l->v.v[l->v.n].s = s;
	l->v.v[l->v.n++].o = o;
}

struct second_half {
	rdf_id fixed;
	bool fixed_subject;
	struct path_emit to;
};

/* The end that was given stands in place of the one that was found. */
static void emit_half(void *arg, rdf_id s, rdf_id o)
{
	const struct second_half *h = arg;
	h->to.emit(h->to.arg, h->fixed_subject ? h->fixed : s, h->fixed_subject ? o : h->fixed);
}

/* From the end that is bound. */
static void eval_sequence(struct evaluation *e, const struct sparql_path *p, rdf_id g, rdf_id s, rdf_id o,
                          struct path_emit to)
{
	struct pair_list half = {.e = e};
	const bool from_end = !s && o;
	eval_path(e, from_end ? p->b : p->a, g, from_end ? 0 : s, from_end ? o : 0, keep_pair, &half);
	for (size_t i = 0; i < half.v.n && evaluation_goes_on(e); i++) {
		struct second_half h = {from_end ? half.v.v[i].o : half.v.v[i].s, !from_end, to};
		if (from_end)
			eval_path(e, p->a, g, 0, half.v.v[i].s, emit_half, &h);
		else
			eval_path(e, p->b, g, half.v.v[i].o, o, emit_half, &h);
	}
	vec_release(&half.v);
}

/* Is the term in the list? */
static bool is_listed(const rdf_id *v, size_t n, rdf_id id)
{
	for (size_t i = 0; i < n; i++)
		if (v[i] == id)
			return true;
	return false;
}

/* Pairs that are joined by a predicate that is not listed. */
static void eval_negated(struct evaluation *e, const struct sparql_path *p, rdf_id g, rdf_id s, rdf_id o,
                         struct path_emit to)
{
	struct rdf_match m = rdf_find(e->r, g, s, 0, o);
	for (const struct rdf_quad *q; p->any_forward && (q = rdf_next(&m)) && evaluation_goes_on(e);)
		if (!is_listed(p->not_forward, p->n_forward, q->p))
			to.emit(to.arg, q->s, q->o);
	m = rdf_find(e->r, g, o, 0, s);
	for (const struct rdf_quad *q; p->any_backward && (q = rdf_next(&m)) && evaluation_goes_on(e);)
		if (!is_listed(p->not_backward, p->n_backward, q->p))
			to.emit(to.arg, q->o, q->s);
}

/* For a path that is taken backwards. */
static void emit_turned(void *arg, rdf_id s, rdf_id o)
{
	const struct path_emit *to = arg;
	to->emit(to->arg, o, s);
}

void eval_path(struct evaluation *e, const struct sparql_path *p, rdf_id g, rdf_id s, rdf_id o,
               void (*emit)(void *arg, rdf_id s, rdf_id o), void *arg)
{
	struct path_emit to = {emit, arg};
	struct rdf_match m;
	if (!evaluation_goes_on(e))
		return;
	switch (p->kind) {
	case PATH_IRI:
		m = rdf_find(e->r, g, s, p->iri, o);
		for (const struct rdf_quad *q; (q = rdf_next(&m)) && evaluation_goes_on(e);)
			emit(arg, q->s, q->o);
		break;
	case PATH_INVERSE:
		eval_path(e, p->a, g, o, s, emit_turned, &to);
		break;
	case PATH_SEQUENCE:
		eval_sequence(e, p, g, s, o, to);
		break;
	case PATH_ALTERNATIVE:
		eval_path(e, p->a, g, s, o, emit, arg);
		eval_path(e, p->b, g, s, o, emit, arg);
		break;
	case PATH_STAR:
	case PATH_PLUS:
		eval_closure(e, p, g, s, o, to);
		break;
	case PATH_OPTIONAL:
		eval_optional(e, p, g, s, o, to);
		break;
	case PATH_NOT:
		eval_negated(e, p, g, s, o, to);
		break;
	}
}
