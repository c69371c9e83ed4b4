/* sparql_parse_pattern.c - groups and what stands in them; which variables they may bind. */
#include "sparql/sparql_parse_int.h"

#include <errno.h>
#include <string.h>

/* Lives as long as the query. a and b may be NULL. */
static struct sparql_pattern *new_pattern(struct parser *p, enum sparql_pattern_kind kind, struct sparql_pattern *a,
                                          struct sparql_pattern *b)
{
	struct sparql_pattern *x = parse_room(p, sizeof(*x));
	parse_count_node(p);
	x->kind = kind;
	x->a = a;
	x->b = b;
	return x;
}

/* A group as far as it is read. */
struct group {
	struct sparql_pattern *so_far;
	struct triple_list triples; /* the basic pattern at hand */
	struct sparql_expr *filter;
};

/* Joins two patterns. a may be NULL: then it is b. */
static struct sparql_pattern *join(struct parser *p, struct sparql_pattern *a, struct sparql_pattern *b)
{
	return a ? new_pattern(p, PATTERN_JOIN, a, b) : b;
}

/* It has one solution, which binds nothing. */
static struct sparql_pattern *empty_pattern(struct parser *p)
{
	return new_pattern(p, PATTERN_BASIC, NULL, NULL);
}

/* The triples so far become one pattern; blank nodes after it are of another scope. */
static void end_basic(struct parser *p, struct group *g)
{
	static _Thread_local uint64_t scopes;
	if (g->triples.v.n) {
		struct sparql_pattern *b = empty_pattern(p);
		b->triples = parse_keep_triples(p, &g->triples, &b->n_triples);
		g->triples = (struct triple_list){0};
		g->so_far = join(p, g->so_far, b);
	}
	p->scope = ++scopes;
}

/* Never NULL. */
static struct sparql_pattern *so_far(struct parser *p, struct group *g)
{
	return g->so_far ? g->so_far : empty_pattern(p);
}

/* All filters of a group hold for all of it, wherever they stand. */
static void add_filter(struct parser *p, struct group *g, struct sparql_expr *e)
{
	if (!g->filter) {
		g->filter = e;
		return;
	}
	struct sparql_expr *both = parse_room(p, sizeof(*both));
	both->op = OP_AND;
	both->n = 2;
	both->args = parse_room(p, 2 * sizeof(struct sparql_expr *));
	both->args[0] = g->filter;
	both->args[1] = e;
	g->filter = both;
}

/* ---- which variables ---- */

/* Calls take for a variable; a term has no scope. */
static void scope_slot(const struct sparql_slot *s, void (*take)(void *arg, uint32_t var), void *arg)
{
	if (s->is_var)
		take(arg, s->var);
}

/* Calls take for each variable that the pattern itself binds, without those it is made of. */
static void scope_leaf(const struct sparql_pattern *p, void (*take)(void *arg, uint32_t var), void *arg)
{
	for (size_t i = 0; i < p->n_triples; i++) {
		scope_slot(&p->triples[i].s, take, arg);
		if (!p->triples[i].path)
			scope_slot(&p->triples[i].p, take, arg);
		scope_slot(&p->triples[i].o, take, arg);
	}
	if (p->kind == PATTERN_GRAPH)
		scope_slot(&p->graph, take, arg);
	if (p->kind == PATTERN_BIND)
		take(arg, p->var);
	for (size_t i = 0; p->kind == PATTERN_VALUES && i < p->values->n_vars; i++)
		take(arg, p->values->vars[i]);
	for (size_t i = 0; p->kind == PATTERN_SELECT && i < p->query->n_items; i++)
		take(arg, p->query->items[i].var);
}

void sparql_scope(const struct sparql_pattern *p, void (*take)(void *arg, uint32_t var), void *arg)
{
	if (!p)
		return;
	sparql_scope(p->a, take, arg);
	if (p->kind != PATTERN_MINUS)
		sparql_scope(p->b, take, arg);
	scope_leaf(p, take, arg);
}

struct looking {
	uint32_t var;
	bool found;
};

/* A visitor of variables: whether l->var is among them. */
static void look_for(void *arg, uint32_t var)
{
	struct looking *l = arg;
	l->found |= l->var == var;
}

/* Is it bound by the pattern, as SPARQL tells for the whole of it? */
static bool is_in_scope(const struct sparql_pattern *p, uint32_t var)
{
	struct looking l = {.var = var};
	sparql_scope(p, look_for, &l);
	return l.found;
}

/* ---- what stands in a group ---- */

static struct sparql_pattern *parse_group_parts(struct parser *p, struct sparql_expr **ret_filter);
static struct sparql_values *parse_values(struct parser *p); /* behind VALUES */
static struct sparql_query *parse_select(struct parser *p, bool inside);

/* A filter in it may use what is bound outside: it goes with the join. */
static void parse_optional(struct parser *p, struct group *g)
{
	struct sparql_expr *filter = NULL;
	struct sparql_pattern *b = parse_group_parts(p, &filter);
	g->so_far = new_pattern(p, PATTERN_OPTIONAL, so_far(p, g), b);
	g->so_far->expr = filter;
}

/* "AS ?x": the variable's number. */
static uint32_t parse_as(struct parser *p)
{
	parse_want_word(p, "AS");
	if (p->t.kind != TOKEN_VAR)
		parse_fail(p, -EINVAL, "AS wants a variable");
	const uint32_t var = p->rc ? 0 : parse_var(p, p->t.text);
	parse_next(p);
	return var;
}

/* Behind BIND. */
static void parse_bind(struct parser *p, struct group *g)
{
	parse_want_sign(p, "(");
	struct sparql_expr *e = parse_expression(p);
	struct sparql_pattern *b = new_pattern(p, PATTERN_BIND, so_far(p, g), NULL);
	b->expr = e;
	b->var = parse_as(p);
	parse_want_sign(p, ")");
	if (!p->rc && is_in_scope(b->a, b->var))
		parse_fail(p, -EINVAL, "BIND cannot bind a variable that the group has bound before");
	g->so_far = b;
}

/* "GRAPH" was stepped over. g: an IRI or a variable. */
static void parse_graph(struct parser *p, struct group *g)
{
	struct sparql_pattern *x = new_pattern(p, PATTERN_GRAPH, NULL, NULL);
	x->graph = parse_var_or_iri(p);
	x->a = parse_group(p);
	g->so_far = join(p, g->so_far, x);
}

/* Is parsed, but never asked: what to do with it is decided when the query runs. */
static void parse_service(struct parser *p, struct group *g)
{
	struct sparql_pattern *x = new_pattern(p, PATTERN_SERVICE, NULL, NULL);
	x->silent = parse_take_word(p, "SILENT");
	x->graph = parse_var_or_iri(p);
	parse_group(p);
	g->so_far = join(p, g->so_far, x);
}

/* One group, or several with UNION between. */
static void parse_union(struct parser *p, struct group *g)
{
	struct sparql_pattern *x = parse_group(p);
	while (parse_take_word(p, "UNION"))
		x = new_pattern(p, PATTERN_UNION, x, parse_group(p));
	g->so_far = join(p, g->so_far, x);
}

/* One part that is no triples. False: there is none. */
static bool parse_part(struct parser *p, struct group *g)
{
	if (parse_take_word(p, "FILTER")) {
		add_filter(p, g, parse_constraint(p));
		return true;
	}
	const bool known = parse_is_word(p, "OPTIONAL") || parse_is_word(p, "MINUS") || parse_is_word(p, "GRAPH") ||
	                   parse_is_word(p, "SERVICE") || parse_is_word(p, "BIND") || parse_is_word(p, "VALUES") ||
	                   parse_is_sign(p, "{");
	if (!known)
		return false;
	end_basic(p, g);
	if (parse_take_word(p, "OPTIONAL")) {
		parse_optional(p, g);
	} else if (parse_take_word(p, "MINUS")) {
		struct sparql_pattern *b = parse_group(p);
		g->so_far = new_pattern(p, PATTERN_MINUS, so_far(p, g), b);
	} else if (parse_take_word(p, "GRAPH")) {
		parse_graph(p, g);
	} else if (parse_take_word(p, "SERVICE")) {
		parse_service(p, g);
	} else if (parse_take_word(p, "BIND")) {
		parse_bind(p, g);
	} else if (parse_take_word(p, "VALUES")) {
		struct sparql_pattern *x = new_pattern(p, PATTERN_VALUES, NULL, NULL);
		x->values = parse_values(p);
		g->so_far = join(p, g->so_far, x);
	} else {
		parse_union(p, g);
	}
	end_basic(p, g);
	return true;
}

/* Parses what stands within { }. *ret_filter: its FILTERs, which hold for the whole group; NULL: none. */
static struct sparql_pattern *parse_group_parts(struct parser *p, struct sparql_expr **ret_filter)
{
	struct group g = {0};
	if (!parse_enter(p))
		return empty_pattern(p);
	end_basic(p, &g);
	parse_want_sign(p, "{");
	if (parse_is_word(p, "SELECT")) {
		g.so_far = new_pattern(p, PATTERN_SELECT, NULL, NULL);
		g.so_far->query = parse_select(p, true);
	} else {
		while (!p->rc && !parse_is_sign(p, "}")) {
			const size_t before = g.triples.v.n;
			parse_triples(p, &g.triples);
			if (parse_part(p, &g))
				parse_take_sign(p, ".");
			else if (g.triples.v.n == before)
				break;
			else if (!parse_is_sign(p, "}"))
				break;
		}
	}
	parse_want_sign(p, "}");
	end_basic(p, &g);
	parse_leave(p);
	*ret_filter = g.filter;
	return so_far(p, &g);
}

/* "{...}" with its filters around it. */
struct sparql_pattern *parse_group(struct parser *p)
{
	struct sparql_expr *filter = NULL;
	struct sparql_pattern *x = parse_group_parts(p, &filter);
	if (!filter)
		return x;
	x = new_pattern(p, PATTERN_FILTER, x, NULL);
	x->expr = filter;
	return x;
}

/* ---- VALUES ---- */

/* Parses a value of VALUES. 0: UNDEF. */
static rdf_id parse_value(struct parser *p)
{
	if (parse_take_word(p, "UNDEF"))
		return 0;
	return parse_is_literal(p) ? parse_literal(p) : parse_iri(p);
}

/* One variable without brackets, or several with them. */
static struct sparql_values *parse_values(struct parser *p)
{
	VEC(uint32_t) vars = {0};
	VEC(rdf_id) terms = {0};
	size_t n_terms;
	struct sparql_values *v = parse_room(p, sizeof(*v));
	const bool several = parse_take_sign(p, "(");
	while (!p->rc && p->t.kind == TOKEN_VAR) {
		uint32_t *slot = vec_add(&vars);
		if (slot)
			*slot = parse_var(p, p->t.text);
		parse_next(p);
		if (!several)
			break;
	}
	if (several)
		parse_want_sign(p, ")");
	else if (!vars.n)
		parse_fail(p, -EINVAL, "VALUES wants variables");
	parse_want_sign(p, "{");
	while (!p->rc && !parse_is_sign(p, "}")) {
		const size_t before = terms.n;
		if (several)
			parse_want_sign(p, "(");
		while (!p->rc && (several ? !parse_is_sign(p, ")") : terms.n == before)) {
			rdf_id *slot = vec_add(&terms);
			if (slot)
				*slot = parse_value(p);
		}
		if (several)
			parse_want_sign(p, ")");
		if (!p->rc && terms.n - before != vars.n)
			parse_fail(p, -EINVAL, "VALUES has a row of another number of terms");
		v->n_rows++;
	}
	parse_want_sign(p, "}");
	v->vars = PARSE_KEEP(p, &vars, &v->n_vars);
	v->terms = PARSE_KEEP(p, &terms, &n_terms);
	return v;
}

/* ---- SELECT ---- */

struct item_list {
	VEC(struct sparql_item) v;
};

/* Without memory the parser fails. */
static void add_item(struct parser *p, struct item_list *l, struct sparql_item item)
{
	struct sparql_item *slot = vec_add(&l->v);
	if (slot)
		*slot = item;
	else
		parse_fail(p, -ENOMEM, "the query does not fit into memory");
}

/* Is the variable among the items? */
static bool has_item(const struct item_list *l, uint32_t var)
{
	for (size_t i = 0; i < l->v.n; i++)
		if (l->v.v[i].var == var)
			return true;
	return false;
}

/* What stands behind SELECT: into q->items, or q->star. */
static void parse_items(struct parser *p, struct sparql_query *q)
{
	struct item_list l = {0};
	q->star = parse_take_sign(p, "*");
	while (!p->rc && !q->star) {
		struct sparql_item item = {.has_var = true};
		if (p->t.kind == TOKEN_VAR) {
			item.var = parse_var(p, p->t.text);
			parse_next(p);
		} else if (parse_take_sign(p, "(")) {
			item.expr = parse_expression(p);
			item.var = parse_as(p);
			parse_want_sign(p, ")");
			if (!p->rc && has_item(&l, item.var))
				parse_fail(p, -EINVAL, "a variable stands twice in SELECT");
		} else {
			break;
		}
		if (!has_item(&l, item.var))
			add_item(p, &l, item);
	}
	if (!q->star && !l.v.n)
		parse_fail(p, -EINVAL, "SELECT wants variables, or *");
	q->items = PARSE_KEEP(p, &l.v, &q->n_items);
}

/* What has no name gets a hidden variable. */
static void parse_group_by(struct parser *p, struct sparql_query *q)
{
	struct item_list l = {0};
	p->aggregates_allowed = false;
	while (!p->rc) {
		struct sparql_item item = {0};
		if (p->t.kind == TOKEN_VAR) {
			item.var = parse_var(p, p->t.text);
			item.has_var = true;
			parse_next(p);
		} else if (parse_take_sign(p, "(")) {
			item.expr = parse_expression(p);
			item.has_var = parse_is_word(p, "AS");
			item.var = item.has_var ? parse_as(p) : parse_hidden(p);
			parse_want_sign(p, ")");
		} else if (parse_is_constraint(p)) {
			item.expr = parse_constraint(p);
			item.var = parse_hidden(p);
		} else {
			break;
		}
		add_item(p, &l, item);
	}
	if (!l.v.n)
		parse_fail(p, -EINVAL, "GROUP BY wants variables or expressions");
	q->groups = PARSE_KEEP(p, &l.v, &q->n_groups);
	q->grouped = true;
	p->aggregates_allowed = true;
}

/* "HAVING" was stepped over: one condition or more. */
static void parse_having(struct parser *p, struct sparql_query *q)
{
	VEC(struct sparql_expr *) v = {0};
	do {
		struct sparql_expr *e = parse_constraint(p), **slot = vec_add(&v);
		if (slot)
			*slot = e;
	} while (!p->rc && parse_is_constraint(p));
	q->having = PARSE_KEEP(p, &v, &q->n_having);
}

/* "ORDER BY" was stepped over: one or more. */
static void parse_order_by(struct parser *p, struct sparql_query *q)
{
	VEC(struct sparql_order) v = {0};
	for (;;) {
		struct sparql_order o = {.descending = parse_is_word(p, "DESC")};
		const bool word = parse_take_word(p, "ASC") || parse_take_word(p, "DESC");
		if (word && !parse_is_sign(p, "("))
			parse_fail(p, -EINVAL, "ASC and DESC want brackets");
		if (p->rc || !(p->t.kind == TOKEN_VAR || parse_is_constraint(p)))
			break;
		if (p->t.kind == TOKEN_VAR) {
			o.expr = parse_room(p, sizeof(*o.expr));
			o.expr->op = OP_VAR;
			o.expr->var = parse_var(p, p->t.text);
			parse_next(p);
		} else {
			o.expr = parse_constraint(p);
		}
		struct sparql_order *slot = vec_add(&v);
		if (slot)
			*slot = o;
	}
	if (!v.n)
		parse_fail(p, -EINVAL, "ORDER BY wants variables or expressions");
	q->orders = PARSE_KEEP(p, &v, &q->n_orders);
}

/* At most 18 digits. */
static uint64_t parse_whole(struct parser *p)
{
	uint64_t n = 0;
	if (p->t.kind != TOKEN_INTEGER || p->t.text.n > 18)
		parse_fail(p, -EINVAL, "a number is expected");
	for (size_t i = 0; p->t.kind == TOKEN_INTEGER && i < p->t.text.n; i++)
		n = n * 10 + (uint64_t)(p->t.text.p[i] - '0');
	parse_next(p);
	return n;
}

/* All that may stand behind WHERE. limit is UINT64_MAX without one. */
static void parse_modifiers(struct parser *p, struct sparql_query *q)
{
	q->limit = UINT64_MAX;
	p->aggregates_allowed = true;
	if (parse_take_word(p, "GROUP")) {
		parse_want_word(p, "BY");
		parse_group_by(p, q);
	}
	if (parse_take_word(p, "HAVING"))
		parse_having(p, q);
	if (parse_take_word(p, "ORDER")) {
		parse_want_word(p, "BY");
		parse_order_by(p, q);
	}
	for (unsigned i = 0; i < 2; i++) {
		if (parse_take_word(p, "LIMIT"))
			q->limit = parse_whole(p);
		else if (parse_take_word(p, "OFFSET"))
			q->offset = parse_whole(p);
	}
	p->aggregates_allowed = false;
	if (parse_take_word(p, "VALUES")) {
		struct sparql_pattern *x = new_pattern(p, PATTERN_VALUES, NULL, NULL);
		x->values = parse_values(p);
		q->where = join(p, q->where, x);
	}
}

/* ---- what a SELECT may name ---- */

/* Is the variable one by which is grouped? */
static bool is_group_var(const struct sparql_query *q, uint32_t var)
{
	for (size_t i = 0; i < q->n_groups; i++)
		if (q->groups[i].var == var)
			return true;
	return false;
}

/* Outside of aggregates a grouped query knows what it groups by, and what it has named before. */
static bool uses_ungrouped(const struct sparql_query *q, const struct sparql_expr *e, size_t before)
{
	if (e->op == OP_AGGREGATE || !e->args)
		return false;
	if (e->op == OP_VAR) {
		for (size_t i = 0; i < before; i++)
			if (q->items[i].var == e->var && q->items[i].expr)
				return false;
		return !is_group_var(q, e->var);
	}
	for (size_t i = 0; i < e->n; i++)
		if (uses_ungrouped(q, e->args[i], before))
			return true;
	return false;
}

struct star {
	struct parser *p;
	struct item_list l;
};

/* Notes a variable for SELECT *, once; hidden ones are passed over. */
static void take_star(void *arg, uint32_t var)
{
	struct star *s = arg;
	if (s->p->out->vars.v[var].n && !has_item(&s->l, var))
		add_item(s->p, &s->l, (struct sparql_item){.var = var, .has_var = true});
}

/* Fills the items of *, and fails where grouping forbids one. */
static void check_items(struct parser *p, struct sparql_query *q)
{
	struct star s = {.p = p};
	if (q->star && q->grouped)
		parse_fail(p, -EINVAL, "SELECT * and GROUP BY do not go together");
	if (q->star) {
		sparql_scope(q->where, take_star, &s);
		q->items = PARSE_KEEP(p, &s.l.v, &q->n_items);
		return;
	}
	for (size_t i = 0; !p->rc && i < q->n_items; i++) {
		const struct sparql_item *x = &q->items[i];
		if (x->expr && is_in_scope(q->where, x->var))
			parse_fail(p, -EINVAL, "SELECT cannot bind a variable that the pattern has bound before");
		else if (q->grouped && (x->expr ? uses_ungrouped(q, x->expr, i) : !is_group_var(q, x->var)))
			parse_fail(p, -EINVAL, "SELECT has a variable that is not grouped");
	}
}

/* Parses a SELECT query. inside: a query within a pattern, which is parsed to its end; else the caller goes on. */
static struct sparql_query *parse_select(struct parser *p, bool inside)
{
	struct sparql_query *q = parse_room(p, sizeof(*q)), *outer = p->query;
	const bool in_aggregate = p->in_aggregate;
	p->query = q;
	p->in_aggregate = false;
	p->aggregates_allowed = true;
	parse_want_word(p, "SELECT");
	q->form = FORM_SELECT;
	q->distinct = parse_take_word(p, "DISTINCT");
	q->reduced = !q->distinct && parse_take_word(p, "REDUCED");
	parse_items(p, q);
	p->aggregates_allowed = false;
	if (inside) {
		parse_take_word(p, "WHERE");
		q->where = parse_group(p);
		parse_modifiers(p, q);
		check_items(p, q);
	}
	p->query = outer;
	p->in_aggregate = in_aggregate;
	return q;
}

/* ---- the forms ---- */

struct iri_list {
	VEC(rdf_id) v;
};

/* FROM and FROM NAMED; the graphs go to q. */
static void parse_dataset(struct parser *p, struct sparql_query *q)
{
	struct iri_list l[2] = {0};
	while (!p->rc && parse_take_word(p, "FROM")) {
		const bool named = parse_take_word(p, "NAMED");
		const rdf_id id = parse_iri(p);
		rdf_id *slot = vec_add(&l[named].v);
		if (slot)
			*slot = id;
	}
	q->from = PARSE_KEEP(p, &l[0].v, &q->n_from);
	q->from_named = PARSE_KEEP(p, &l[1].v, &q->n_from_named);
}

/* FROM, WHERE and all behind it. q is what is being parsed meanwhile. */
static void parse_where(struct parser *p, struct sparql_query *q)
{
	struct sparql_query *outer = p->query;
	p->query = q;
	parse_dataset(p, q);
	parse_take_word(p, "WHERE");
	q->where = parse_group(p);
	parse_modifiers(p, q);
	p->query = outer;
}

/* Of both forms: with a template, or where the pattern is the template. */
static struct sparql_query *parse_construct(struct parser *p)
{
	struct sparql_query *q = parse_room(p, sizeof(*q));
	struct triple_list v = {0};
	q->form = FORM_CONSTRUCT;
	parse_next(p);
	if (parse_is_sign(p, "{")) {
		parse_next(p);
		p->in_template = true;
		parse_triples(p, &v);
		p->in_template = false;
		parse_want_sign(p, "}");
		q->template = parse_keep_triples(p, &v, &q->n_template);
		p->labels.n = 0;
		parse_where(p, q);
		return q;
	}
	parse_dataset(p, q);
	parse_want_word(p, "WHERE");
	parse_want_sign(p, "{");
	p->in_template = true;
	parse_triples(p, &v);
	p->in_template = false;
	parse_want_sign(p, "}");
	q->template = parse_keep_triples(p, &v, &q->n_template);
	q->where = empty_pattern(p);
	q->where->triples = q->template;
	q->where->n_triples = q->n_template;
	p->query = q;
	parse_modifiers(p, q);
	return q;
}

/* Without WHERE only what it names. */
static struct sparql_query *parse_describe(struct parser *p)
{
	struct sparql_query *q = parse_room(p, sizeof(*q));
	VEC(struct sparql_slot) v = {0};
	q->form = FORM_DESCRIBE;
	q->limit = UINT64_MAX;
	parse_next(p);
	q->star = parse_take_sign(p, "*");
	while (!p->rc && !q->star && (p->t.kind == TOKEN_VAR || parse_is_iri(p))) {
		const struct sparql_slot s = parse_var_or_iri(p);
		struct sparql_slot *slot = vec_add(&v);
		if (slot)
			*slot = s;
	}
	if (!q->star && !v.n)
		parse_fail(p, -EINVAL, "DESCRIBE wants variables or IRIs, or *");
	q->described = PARSE_KEEP(p, &v, &q->n_described);
	parse_dataset(p, q);
	if (parse_is_word(p, "WHERE") || parse_is_sign(p, "{")) {
		parse_take_word(p, "WHERE");
		p->query = q;
		q->where = parse_group(p);
		parse_modifiers(p, q);
	} else {
		q->where = empty_pattern(p);
	}
	return q;
}

struct sparql_query *parse_form(struct parser *p)
{
	struct sparql_query *q;
	if (parse_is_word(p, "SELECT")) {
		q = parse_select(p, false);
		parse_where(p, q);
		check_items(p, q);
	} else if (parse_is_word(p, "ASK")) {
		q = parse_room(p, sizeof(*q));
		q->form = FORM_ASK;
		parse_next(p);
		parse_where(p, q);
	} else if (parse_is_word(p, "CONSTRUCT")) {
		q = parse_construct(p);
	} else if (parse_is_word(p, "DESCRIBE")) {
		q = parse_describe(p);
	} else {
		q = parse_room(p, sizeof(*q));
		parse_fail(p, -EINVAL, "a query begins with SELECT, ASK, CONSTRUCT or DESCRIBE");
	}
	return q;
}
