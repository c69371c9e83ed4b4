#include "sparql/sparql_needs.h"

#include <errno.h>

struct needing {
	struct sparql_needs *n;
	bool failed;
};

static void need_pattern(struct needing *x, const struct sparql_pattern *p);
static void need_query(struct needing *x, const struct sparql_query *q);

bool sparql_needs_has(const struct sparql_needs *n, rdf_id predicate)
{
	for (size_t i = 0; i < n->predicates.n; i++)
		if (n->predicates.v[i] == predicate)
			return true;
	return n->all;
}

static void need_predicate(struct needing *x, rdf_id predicate)
{
	for (size_t i = 0; i < x->n->predicates.n; i++)
		if (x->n->predicates.v[i] == predicate)
			return;
	rdf_id *slot = vec_add(&x->n->predicates);
	if (slot)
		*slot = predicate;
	else
		x->failed = true;
}

/* open: both ends are variables, so that a path of no step leads from every node to itself. */
static void need_path(struct needing *x, const struct sparql_path *p, bool open)
{
	if (!p)
		return;
	switch (p->kind) {
	case PATH_IRI:
		need_predicate(x, p->iri);
		return;
	case PATH_NOT:
		x->n->all = true;
		return;
	case PATH_STAR:
	case PATH_OPTIONAL:
		x->n->all |= open;
		break;
	case PATH_INVERSE:
	case PATH_SEQUENCE:
	case PATH_ALTERNATIVE:
	case PATH_PLUS:
		break;
	}
	need_path(x, p->a, open);
	need_path(x, p->b, open);
}

static void need_triples(struct needing *x, const struct sparql_pattern *p)
{
	for (size_t i = 0; i < p->n_triples; i++) {
		const struct sparql_triple *t = &p->triples[i];
		if (t->path)
			need_path(x, t->path, t->s.is_var && t->o.is_var);
		else if (t->p.is_var)
			x->n->all = true;
		else
			need_predicate(x, t->p.term);
	}
}

static void need_expr(struct needing *x, const struct sparql_expr *e)
{
	if (!e)
		return;
	for (size_t i = 0; i < e->n; i++)
		need_expr(x, e->args[i]);
	need_pattern(x, e->pattern);
}

static void need_pattern(struct needing *x, const struct sparql_pattern *p)
{
	if (!p)
		return;
	need_triples(x, p);
	need_pattern(x, p->a);
	need_pattern(x, p->b);
	need_expr(x, p->expr);
	need_query(x, p->query);
}

static void need_items(struct needing *x, const struct sparql_item *items, size_t n)
{
	for (size_t i = 0; i < n; i++)
		need_expr(x, items[i].expr);
}

static void need_query(struct needing *x, const struct sparql_query *q)
{
	if (!q)
		return;
	x->n->all |= q->form == FORM_DESCRIBE;
	need_pattern(x, q->where);
	need_items(x, q->items, q->n_items);
	need_items(x, q->groups, q->n_groups);
	for (size_t i = 0; i < q->n_having; i++)
		need_expr(x, q->having[i]);
	for (size_t i = 0; i < q->n_orders; i++)
		need_expr(x, q->orders[i].expr);
	for (size_t i = 0; i < q->n_aggregates; i++)
		need_expr(x, q->aggregates[i]);
}

int sparql_needs_find(const struct sparql_query *q, struct sparql_needs *ret)
{
	struct needing x = {.n = ret};
	*ret = (struct sparql_needs){0};
	need_query(&x, q);
	return x.failed ? -ENOMEM : 0;
}

void sparql_needs_release(struct sparql_needs *n)
{
	vec_release(&n->predicates);
}
