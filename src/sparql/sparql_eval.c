/* sparql_eval.c - patterns. */
#include "sparql/sparql_eval_int.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- may rows be handed in? ---- */

static bool is_certain(const struct sparql_pattern *p, uint32_t var);

/* Not in groups within it. Is the variable in one of the pattern's own triples? */
static bool is_in_triples(const struct sparql_pattern *p, uint32_t var)
{
	for (size_t i = 0; i < p->n_triples; i++) {
		const struct sparql_triple *t = &p->triples[i];
		if ((t->s.is_var && t->s.var == var) || (t->o.is_var && t->o.var == var) ||
		    (!t->path && t->p.is_var && t->p.var == var))
			return true;
	}
	return false;
}

/* Does every solution of p bind the variable? False where that is not sure. */
static bool is_certain(const struct sparql_pattern *p, uint32_t var)
{
	switch (p->kind) {
	case PATTERN_BASIC:
		return is_in_triples(p, var);
	case PATTERN_JOIN:
		return is_certain(p->a, var) || is_certain(p->b, var);
	case PATTERN_UNION:
		return is_certain(p->a, var) && is_certain(p->b, var);
	case PATTERN_FILTER:
	case PATTERN_OPTIONAL:
	case PATTERN_MINUS:
		return is_certain(p->a, var);
	case PATTERN_GRAPH:
		return (p->graph.is_var && p->graph.var == var) || is_certain(p->a, var);
	default:
		return false;
	}
}

/* All that the condition looks at is bound by p itself. */
static bool is_closed(const struct sparql_pattern *p, const struct sparql_expr *x)
{
	if (x->op == OP_EXISTS || x->op == OP_NOT_EXISTS)
		return false;
	if (x->op == OP_VAR)
		return is_certain(p, x->var);
	for (size_t i = 0; i < x->n; i++)
		if (!is_closed(p, x->args[i]))
			return false;
	return true;
}

/* Can it be evaluated from rows that are there, without another result? */
static bool takes_rows(const struct sparql_pattern *p)
{
	switch (p->kind) {
	case PATTERN_BASIC:
	case PATTERN_VALUES:
		return true;
	case PATTERN_JOIN:
	case PATTERN_UNION:
		return takes_rows(p->a) && takes_rows(p->b);
	case PATTERN_GRAPH:
		return takes_rows(p->a);
	case PATTERN_FILTER:
		return takes_rows(p->a) && is_closed(p->a, p->expr);
	default:
		return false;
	}
}

/* One row that binds nothing. */
static bool is_unit(const struct evaluation *e, const struct rows *in)
{
	if (in->n != 1)
		return false;
	for (size_t i = 0; i < e->n_vars; i++)
		if (in->v[i])
			return false;
	return true;
}

/* ---- triples ---- */

/* The row's value of a variable, 0 where it is not bound; else the term. */
static rdf_id value_of(const struct sparql_slot *s, const rdf_id *row)
{
	return s->is_var ? row[s->var] : s->term;
}

/* Binds a place; false: it is bound to another term. */
static bool bind_slot(const struct sparql_slot *s, rdf_id id, rdf_id *row)
{
	if (!s->is_var)
		return true;
	if (row[s->var])
		return row[s->var] == id;
	row[s->var] = id;
	return true;
}

struct extending {
	struct evaluation *e;
	const struct sparql_triple *t;
	const rdf_id *row;
	struct rows *out;
};

/* Adds the row with the triple's values; not if they contradict what is bound in it. p 0: the predicate does not count.
 * */
static void extend_by(struct extending *x, rdf_id s, rdf_id p, rdf_id o)
{
	rdf_id *to = rows_add(x->e, x->out, x->row);
	if (to && !(bind_slot(&x->t->s, s, to) && (!p || bind_slot(&x->t->p, p, to)) && bind_slot(&x->t->o, o, to)))
		x->out->n--;
}

/* Extends the solution by a pair (s, o) that a path joins. For the visit of pairs. */
static void extend_by_pair(void *arg, rdf_id s, rdf_id o)
{
	extend_by(arg, s, 0, o);
}

/* May it have no step at all? */
static bool may_be_empty(const struct sparql_path *p)
{
	switch (p->kind) {
	case PATH_STAR:
	case PATH_OPTIONAL:
		return true;
	case PATH_SEQUENCE:
		return may_be_empty(p->a) && may_be_empty(p->b);
	case PATH_ALTERNATIVE:
		return may_be_empty(p->a) || may_be_empty(p->b);
	case PATH_INVERSE:
	case PATH_PLUS:
		return may_be_empty(p->a);
	default:
		return false;
	}
}

/* Whether id is subject or object of anything in graph g. */
static bool is_node(const struct evaluation *e, rdf_id g, rdf_id id)
{
	return rdf_count(e->r, g, id, 0, 0) || rdf_count(e->r, g, 0, 0, id);
}

/* A path without a step leads from each node of the graph to itself, and from a term of the query; not from what a
 * variable was bound to elsewhere. */
static bool may_match(const struct evaluation *e, const struct sparql_triple *t, rdf_id g, rdf_id s, rdf_id o)
{
	if (!may_be_empty(t->path))
		return true;
	if (t->s.is_var && s && !is_node(e, g, s) && (t->o.is_var || s != o))
		return false;
	return !(t->o.is_var && o && !is_node(e, g, o) && (t->s.is_var || s != o));
}

/* Each solution of the triple that goes with the row, as a row of out. */
static void extend_row(struct evaluation *e, const struct sparql_triple *t, rdf_id g, const rdf_id *row,
                       struct rows *out)
{
	struct extending x = {e, t, row, out};
	const rdf_id s = value_of(&t->s, row), o = value_of(&t->o, row);
	if (t->path) {
		if (!may_match(e, t, g, s, o))
			return;
		eval_path(e, t->path, g, s, o, extend_by_pair, &x);
		return;
	}
	struct rdf_match m = rdf_find(e->r, g, s, value_of(&t->p, row), o);
	for (const struct rdf_quad *q; (q = rdf_next(&m)) && evaluation_goes_on(e);)
		extend_by(&x, q->s, q->p, q->o);
}

/* How many a triple may have after `row`: the fewest go first. */
static double cost_of(const struct evaluation *e, const struct sparql_triple *t, rdf_id g, const bool *bound)
{
	const bool s = !t->s.is_var || bound[t->s.var], o = !t->o.is_var || bound[t->o.var];
	const bool p = t->path || !t->p.is_var || bound[t->p.var];
	const rdf_id ts = t->s.is_var ? 0 : t->s.term, to = t->o.is_var ? 0 : t->o.term;
	const rdf_id tp = t->path || t->p.is_var ? 0 : t->p.term;
	double n = (double)rdf_count(e->r, g, ts, tp, to) + 1;
	if (s && t->s.is_var)
		n /= 1000;
	if (o && t->o.is_var)
		n /= 1000;
	if (!s && !o)
		n *= t->path ? 1e9 : 1e3;
	return p ? n : n * 2;
}

/* Marks the variables of the triple. */
static void note_bound(const struct sparql_triple *t, bool *bound)
{
	if (t->s.is_var)
		bound[t->s.var] = true;
	if (t->o.is_var)
		bound[t->o.var] = true;
	if (!t->path && t->p.is_var)
		bound[t->p.var] = true;
}

/* The cheapest first, and then those that are cheapest with what it binds. bound: which variables are; it is changed.
 * */
static void order_triples(const struct evaluation *e, const struct sparql_pattern *p, rdf_id g, bool *bound,
                          const struct sparql_triple **ret)
{
	bool *used = calloc(p->n_triples, sizeof(bool));
	for (size_t i = 0; i < p->n_triples; i++) {
		size_t best = p->n_triples;
		double least = 0;
		for (size_t k = 0; used && k < p->n_triples; k++) {
			const double c = used[k] ? 0 : cost_of(e, &p->triples[k], g, bound);
			if (!used[k] && (best == p->n_triples || c < least)) {
				best = k;
				least = c;
			}
		}
		best = used ? best : i;
		if (used)
			used[best] = true;
		ret[i] = &p->triples[best];
		note_bound(ret[i], bound);
	}
	free(used);
}

/* Without memory e->rc is set. */
static void copy_rows(struct evaluation *e, const struct rows *in, struct rows *out)
{
	for (size_t i = 0; i < in->n; i++)
		rows_add(e, out, rows_at(e, in, i));
}

/* The rows of in, extended by all triples. Fails in e->rc. */
static void eval_basic(struct evaluation *e, const struct sparql_pattern *p, rdf_id g, const struct rows *in,
                       struct rows *out)
{
	bool *bound = calloc(e->n_vars + 1, sizeof(bool));
	const struct sparql_triple **order = calloc(p->n_triples + 1, sizeof(*order));
	struct rows now = {0};
	if (!bound || !order)
		evaluation_fail(e, -ENOMEM, "out of memory");
	else {
		for (size_t i = 0; in->n && i < e->n_vars; i++)
			bound[i] = in->v[i] != 0;
		order_triples(e, p, g, bound, order);
		copy_rows(e, in, &now);
	}
	for (size_t k = 0; k < p->n_triples && !e->rc; k++) {
		struct rows next = {0};
		for (size_t i = 0; i < now.n && !e->rc; i++)
			extend_row(e, order[k], g, rows_at(e, &now, i), &next);
		rows_release(e, &now);
		now = next;
	}
	free(bound);
	free(order);
	*out = now;
}

/* ---- the other patterns ---- */

/* The solutions of p by itself, without what is bound outside. */
static void eval_alone(struct evaluation *e, const struct sparql_pattern *p, rdf_id g, struct rows *out)
{
	struct rows unit = {0};
	rows_add(e, &unit, NULL);
	eval_pattern(e, p, g, &unit, out);
	rows_release(e, &unit);
}

/* Solutions of a join: both parts, the second with what the first binds. */
static void eval_join(struct evaluation *e, const struct sparql_pattern *p, rdf_id g, const struct rows *in,
                      struct rows *out)
{
	struct rows a = {0};
	eval_pattern(e, p->a, g, in, &a);
	eval_pattern(e, p->b, g, &a, out);
	rows_release(e, &a);
}

/* Each row of a is numbered, so that those that found nothing in b are known. */
static void eval_optional_inside(struct evaluation *e, const struct sparql_pattern *p, rdf_id g, struct rows *a,
                                 struct rows *out)
{
	struct rows b = {0};
	const size_t mark = p->var;
	for (size_t i = 0; i < a->n; i++)
		rows_at(e, a, i)[mark] = (rdf_id)i + 1;
	eval_pattern(e, p->b, g, a, &b);
	size_t k = 0;
	for (size_t i = 0; i < a->n && !e->rc; i++) {
		bool any = false;
		for (; k < b.n && rows_at(e, &b, k)[mark] == i + 1; k++)
			if (!p->expr || eval_holds(e, p->expr, rows_at(e, &b, k), g)) {
				rows_add(e, out, rows_at(e, &b, k));
				any = true;
			}
		if (!any)
			rows_add(e, out, rows_at(e, a, i));
	}
	rows_release(e, &b);
}

/* Triples and their kin keep the order of the rows that were handed in; a union does not. */
static bool keeps_order(const struct sparql_pattern *p)
{
	return p->kind == PATTERN_BASIC || (p->kind == PATTERN_FILTER && keeps_order(p->a)) ||
	       (p->kind == PATTERN_JOIN && keeps_order(p->a) && keeps_order(p->b));
}

/* Rows of the first part without a partner stay as they are. */
static void eval_optional(struct evaluation *e, const struct sparql_pattern *p, rdf_id g, const struct rows *in,
                          struct rows *out)
{
	struct rows a = {0}, b = {0};
	eval_pattern(e, p->a, g, in, &a);
	if (takes_rows(p->b) && keeps_order(p->b)) {
		eval_optional_inside(e, p, g, &a, out);
	} else {
		eval_alone(e, p->b, g, &b);
		rows_join(e, &a, &b, true, p->expr, g, out);
	}
	rows_release(e, &a);
	rows_release(e, &b);
}

/* The rows of either part, the first one's first. */
static void eval_union(struct evaluation *e, const struct sparql_pattern *p, rdf_id g, const struct rows *in,
                       struct rows *out)
{
	struct rows b = {0};
	eval_pattern(e, p->a, g, in, out);
	eval_pattern(e, p->b, g, in, &b);
	copy_rows(e, &b, out);
	rows_release(e, &b);
}

/* The rows of the first part that no row of the second one is compatible with. */
static void eval_minus(struct evaluation *e, const struct sparql_pattern *p, rdf_id g, const struct rows *in,
                       struct rows *out)
{
	struct rows a = {0}, b = {0};
	eval_pattern(e, p->a, g, in, &a);
	eval_alone(e, p->b, g, &b);
	rows_minus(e, &a, &b, out);
	rows_release(e, &a);
	rows_release(e, &b);
}

/* An error in the expression drops the row. */
static void eval_filter(struct evaluation *e, const struct sparql_pattern *p, rdf_id g, const struct rows *in,
                        struct rows *out)
{
	struct rows a = {0};
	eval_pattern(e, p->a, g, in, &a);
	for (size_t i = 0; i < a.n && !e->rc; i++)
		if (eval_holds(e, p->expr, rows_at(e, &a, i), g))
			rows_add(e, out, rows_at(e, &a, i));
	rows_release(e, &a);
}

/* Named graphs only. */
static bool is_graph(const struct rdf *r, rdf_id g)
{
	for (size_t i = 0; i < r->graphs.n; i++)
		if (r->graphs.v[i] == g)
			return true;
	return false;
}

/* Solutions of GRAPH. g: the graph; of a variable it is bound in each row. */
static void eval_in_graph(struct evaluation *e, const struct sparql_pattern *p, rdf_id g, const struct rows *in,
                          struct rows *out)
{
	struct rows found = {0};
	eval_pattern(e, p->a, g, in, &found);
	for (size_t i = 0; i < found.n && !e->rc; i++) {
		rdf_id *row = rows_at(e, &found, i);
		if (!p->graph.is_var || bind_slot(&p->graph, g, row))
			rows_add(e, out, row);
	}
	rows_release(e, &found);
}

/* A variable runs through all named graphs. A graph that is not there gives no rows. */
static void eval_graph(struct evaluation *e, const struct sparql_pattern *p, const struct rows *in, struct rows *out)
{
	if (!p->graph.is_var) {
		if (is_graph(e->r, p->graph.term))
			eval_in_graph(e, p, p->graph.term, in, out);
		return;
	}
	for (size_t i = 0; i < e->r->graphs.n && !e->rc; i++)
		eval_in_graph(e, p, e->r->graphs.v[i], in, out);
}

/* An error in the expression leaves the variable unbound. */
static void eval_bind(struct evaluation *e, const struct sparql_pattern *p, rdf_id g, const struct rows *in,
                      struct rows *out)
{
	eval_pattern(e, p->a, g, in, out);
	for (size_t i = 0; i < out->n && !e->rc; i++) {
		rdf_id *row = rows_at(e, out, i);
		const rdf_id v = eval_expr(e, p->expr, row, g);
		row[p->var] = v;
	}
}

/* Each row with each row of the values that does not contradict it. 0 in them: UNDEF. */
static void eval_values(struct evaluation *e, const struct sparql_pattern *p, const struct rows *in, struct rows *out)
{
	const struct sparql_values *v = p->values;
	for (size_t i = 0; i < in->n; i++)
		for (size_t k = 0; k < v->n_rows && !e->rc; k++) {
			rdf_id *row = rows_add(e, out, rows_at(e, in, i));
			bool fits = row != NULL;
			for (size_t c = 0; fits && c < v->n_vars; c++) {
				const rdf_id id = v->terms[k * v->n_vars + c];
				const struct sparql_slot s = {.is_var = true, .var = v->vars[c]};
				fits = !id || bind_slot(&s, id, row);
			}
			if (row && !fits)
				out->n--;
		}
}

/* Solutions of a pattern, by its kind. in: the rows to extend. What goes wrong is in e->rc. */
static void eval_kind(struct evaluation *e, const struct sparql_pattern *p, rdf_id g, const struct rows *in,
                      struct rows *out)
{
	switch (p->kind) {
	case PATTERN_BASIC:
		eval_basic(e, p, g, in, out);
		break;
	case PATTERN_JOIN:
		eval_join(e, p, g, in, out);
		break;
	case PATTERN_OPTIONAL:
		eval_optional(e, p, g, in, out);
		break;
	case PATTERN_UNION:
		eval_union(e, p, g, in, out);
		break;
	case PATTERN_MINUS:
		eval_minus(e, p, g, in, out);
		break;
	case PATTERN_FILTER:
		eval_filter(e, p, g, in, out);
		break;
	case PATTERN_GRAPH:
		eval_graph(e, p, in, out);
		break;
	case PATTERN_BIND:
		eval_bind(e, p, g, in, out);
		break;
	case PATTERN_VALUES:
		eval_values(e, p, in, out);
		break;
	case PATTERN_SELECT:
		eval_query(e, p->query, g, out);
		break;
	case PATTERN_SERVICE:
		if (p->silent)
			copy_rows(e, in, out);
		else
			evaluation_fail(e, -EINVAL, "SERVICE is not supported: nothing is asked of other machines");
		break;
	}
}

void eval_pattern(struct evaluation *e, const struct sparql_pattern *p, rdf_id g, const struct rows *in,
                  struct rows *out)
{
	if (e->rc)
		return;
	if (is_unit(e, in) || takes_rows(p)) {
		eval_kind(e, p, g, in, out);
		return;
	}
	struct rows alone = {0};
	eval_alone(e, p, g, &alone);
	rows_join(e, in, &alone, false, NULL, g, out);
	rows_release(e, &alone);
}

bool eval_exists(struct evaluation *e, const struct sparql_pattern *p, rdf_id g, const rdf_id *row)
{
	struct rows in = {0}, out = {0};
	rows_add(e, &in, row);
	eval_kind(e, p, g, &in, &out); /* its variables stand for the row's terms, wherever they are */
	const bool any = out.n != 0;
	rows_release(e, &in);
	rows_release(e, &out);
	return any;
}
