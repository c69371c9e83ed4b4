/* sparql_parse_expr.c - expressions: operators, functions, aggregates. */
#include "sparql/sparql_functions.h"
#include "sparql/sparql_parse_int.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

/* Lives as long as the query. a and b may be NULL. */
static struct sparql_expr *new_expr(struct parser *p, enum sparql_op op, struct sparql_expr *a, struct sparql_expr *b)
{
	struct sparql_expr *e = parse_room(p, sizeof(*e));
	parse_count_node(p);
	e->op = op;
	e->n = (a != NULL) + (b != NULL);
	e->args = parse_room(p, 2 * sizeof(struct sparql_expr *));
	e->args[0] = a;
	e->args[1] = b;
	return e;
}

struct expr_list {
	VEC(struct sparql_expr *) v;
};

/* Without memory the parser fails. */
static void add_expr(struct parser *p, struct expr_list *l, struct sparql_expr *e)
{
	struct sparql_expr **slot = vec_add(&l->v);
	if (slot)
		*slot = e;
	else
		parse_fail(p, -ENOMEM, "the query does not fit into memory");
}

/* Behind the opening bracket, up to the closing one. */
static void parse_arguments(struct parser *p, struct sparql_expr *e)
{
	struct expr_list l = {0};
	if (!parse_is_sign(p, ")"))
		do
			add_expr(p, &l, parse_expression(p));
		while (parse_take_sign(p, ","));
	parse_want_sign(p, ")");
	e->args = PARSE_KEEP(p, &l.v, &e->n);
}

/* ---- calls ---- */

static const struct {
	const char *word;
	unsigned least, most;
} functions[] = {
#define FUNCTION(name, least, most, word) {word, least, most},
#include "sparql/functions.def"
#undef FUNCTION
};
static const char *const aggregates[] = {"COUNT", "SUM", "MIN", "MAX", "AVG", "SAMPLE", "GROUP_CONCAT"};

/* Which function or aggregate the word is; -1: none. */
static int find_word(const struct parser *p, bool aggregate)
{
	const size_t n = aggregate ? sizeof(aggregates) / sizeof(aggregates[0]) : sizeof(functions) / sizeof(functions[0]);
	for (size_t i = 0; p->t.kind == TOKEN_WORD && i < n; i++)
		if (parse_is_word(p, aggregate ? aggregates[i] : functions[i].word))
			return (int)i;
	return -1;
}

/* Parses the call of a built-in function. which: a row of the functions. Fails if it cannot have so many arguments.
 */
static struct sparql_expr *parse_function(struct parser *p, int which)
{
	struct sparql_expr *e = new_expr(p, OP_CALL, NULL, NULL);
	e->function = (unsigned)which;
	parse_next(p);
	parse_want_sign(p, "(");
	parse_arguments(p, e);
	if (e->n < functions[which].least || e->n > functions[which].most)
		parse_fail(p, -EINVAL, "%s has another number of arguments", functions[which].word);
	if (which == FUNCTION_bound && e->n && e->args[0]->op != OP_VAR)
		parse_fail(p, -EINVAL, "BOUND wants a variable");
	return e;
}

/* It is of the query that is being read, which is then a grouped one. */
static void keep_aggregate(struct parser *p, struct sparql_expr *e)
{
	struct sparql_query *q = p->query;
	struct sparql_expr **v = parse_room(p, (q->n_aggregates + 1) * sizeof(struct sparql_expr *));
	if (p->rc)
		return;
	if (q->n_aggregates)
		memcpy(v, q->aggregates, q->n_aggregates * sizeof(struct sparql_expr *));
	v[q->n_aggregates++] = e;
	q->aggregates = v;
	q->grouped = true;
}

/* Parses an aggregate. which: of aggregates. A failure where none may stand. */
static struct sparql_expr *parse_aggregate(struct parser *p, int which)
{
	struct sparql_expr *e = new_expr(p, OP_AGGREGATE, NULL, NULL);
	e->function = (unsigned)which;
	e->separator = str_of(" ");
	if (!p->aggregates_allowed || p->in_aggregate)
		parse_fail(p, -EINVAL, "%s cannot stand here", aggregates[which]);
	p->in_aggregate = true;
	parse_next(p);
	parse_want_sign(p, "(");
	e->distinct = parse_take_word(p, "DISTINCT");
	if (which == AGG_COUNT && parse_take_sign(p, "*")) {
		e->n = 0;
	} else {
		e->args[0] = parse_expression(p);
		e->n = 1;
	}
	if (which == AGG_CONCAT && parse_take_sign(p, ";")) {
		parse_want_word(p, "SEPARATOR");
		parse_want_sign(p, "=");
		e->separator = p->t.text;
		if (p->t.kind != TOKEN_STRING)
			parse_fail(p, -EINVAL, "SEPARATOR is a string");
		parse_next(p);
	}
	parse_want_sign(p, ")");
	p->in_aggregate = false;
	e->var = parse_hidden(p);
	if (!p->rc)
		keep_aggregate(p, e);
	return e;
}

/* Aggregates are not allowed in it, and its blank nodes are its own. */
static struct sparql_expr *parse_exists(struct parser *p, bool not )
{
	struct sparql_expr *e = new_expr(p, not ? OP_NOT_EXISTS : OP_EXISTS, NULL, NULL);
	const uint64_t scope = p->scope;
	const bool allowed = p->aggregates_allowed;
	p->aggregates_allowed = false;
	e->pattern = parse_group(p);
	p->aggregates_allowed = allowed;
	p->scope = scope;
	return e;
}

/* An IRI, or a call of the function that it names. */
static struct sparql_expr *parse_iri_or_call(struct parser *p)
{
	const rdf_id id = parse_iri(p);
	struct sparql_expr *e = new_expr(p, OP_TERM, NULL, NULL);
	e->term = id;
	if (parse_take_sign(p, "(")) {
		e->op = OP_CAST;
		parse_take_word(p, "DISTINCT");
		parse_arguments(p, e);
	}
	return e;
}

/* Never NULL; nor those below, which read operators of one rank each. */
static struct sparql_expr *parse_primary(struct parser *p)
{
	struct sparql_expr *e;
	int which;
	if (parse_take_sign(p, "(")) {
		e = parse_expression(p);
		parse_want_sign(p, ")");
		return e;
	}
	if (p->t.kind == TOKEN_VAR) {
		e = new_expr(p, OP_VAR, NULL, NULL);
		e->var = parse_var(p, p->t.text);
		parse_next(p);
		return e;
	}
	if (parse_is_literal(p)) {
		e = new_expr(p, OP_TERM, NULL, NULL);
		e->term = parse_literal(p);
		return e;
	}
	if (parse_is_iri(p))
		return parse_iri_or_call(p);
	if (parse_take_word(p, "EXISTS"))
		return parse_exists(p, false);
	if (parse_take_word(p, "NOT")) {
		parse_want_word(p, "EXISTS");
		return parse_exists(p, true);
	}
	if ((which = find_word(p, true)) >= 0)
		return parse_aggregate(p, which);
	if ((which = find_word(p, false)) >= 0)
		return parse_function(p, which);
	parse_fail(p, -EINVAL, "an expression is expected");
	return new_expr(p, OP_TERM, NULL, NULL);
}

/* ---- operators ---- */

/* Too deep a nesting fails. */
static struct sparql_expr *parse_unary(struct parser *p)
{
	struct sparql_expr *e;
	if (!parse_enter(p))
		return new_expr(p, OP_TERM, NULL, NULL);
	if (parse_take_sign(p, "!"))
		e = new_expr(p, OP_NOT, parse_unary(p), NULL);
	else if (!parse_is_literal(p) && parse_take_sign(p, "-"))
		e = new_expr(p, OP_MINUS, parse_unary(p), NULL);
	else if (!parse_is_literal(p) && parse_take_sign(p, "+"))
		e = new_expr(p, OP_PLUS, parse_unary(p), NULL);
	else
		e = parse_primary(p);
	parse_leave(p);
	return e;
}

/* From left to right. */
static struct sparql_expr *parse_multiplicative(struct parser *p)
{
	struct sparql_expr *e = parse_unary(p);
	for (;;) {
		if (parse_take_sign(p, "*"))
			e = new_expr(p, OP_MUL, e, parse_unary(p));
		else if (parse_take_sign(p, "/"))
			e = new_expr(p, OP_DIV, e, parse_unary(p));
		else
			return e;
	}
}

/* From left to right. */
static struct sparql_expr *parse_additive(struct parser *p)
{
	struct sparql_expr *e = parse_multiplicative(p);
	for (;;) {
		if (parse_take_sign(p, "+"))
			e = new_expr(p, OP_ADD, e, parse_multiplicative(p));
		else if (parse_take_sign(p, "-"))
			e = new_expr(p, OP_SUB, e, parse_multiplicative(p));
		else
			return e;
	}
}

/* e IN (list): the list's members follow e among the arguments. */
static struct sparql_expr *parse_in(struct parser *p, struct sparql_expr *e, bool not )
{
	struct sparql_expr list = {0};
	parse_want_sign(p, "(");
	parse_arguments(p, &list);
	struct sparql_expr *in = new_expr(p, not ? OP_NOT_IN : OP_IN, NULL, NULL);
	in->args = parse_room(p, (list.n + 1) * sizeof(struct sparql_expr *));
	in->args[0] = e;
	for (size_t i = 0; !p->rc && i < list.n; i++)
		in->args[i + 1] = list.args[i];
	in->n = p->rc ? 1 : list.n + 1;
	return in;
}

/* At most one comparison: a = b = c is none. */
static struct sparql_expr *parse_relational(struct parser *p)
{
	static const struct {
		const char *sign;
		enum sparql_op op;
	} signs[] = {{"=", OP_EQ}, {"!=", OP_NE}, {"<", OP_LT}, {">", OP_GT}, {"<=", OP_LE}, {">=", OP_GE}};
	struct sparql_expr *e = parse_additive(p);
	for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++)
		if (parse_take_sign(p, signs[i].sign))
			return new_expr(p, signs[i].op, e, parse_additive(p));
	if (parse_take_word(p, "IN"))
		return parse_in(p, e, false);
	if (parse_take_word(p, "NOT")) {
		parse_want_word(p, "IN");
		return parse_in(p, e, true);
	}
	return e;
}

/* From left to right. */
static struct sparql_expr *parse_and(struct parser *p)
{
	struct sparql_expr *e = parse_relational(p);
	while (parse_take_sign(p, "&&"))
		e = new_expr(p, OP_AND, e, parse_relational(p));
	return e;
}

/* The whole expression. Too deep a nesting fails. */
struct sparql_expr *parse_expression(struct parser *p)
{
	if (!parse_enter(p))
		return new_expr(p, OP_TERM, NULL, NULL);
	struct sparql_expr *e = parse_and(p);
	while (parse_take_sign(p, "||"))
		e = new_expr(p, OP_OR, e, parse_and(p));
	parse_leave(p);
	return e;
}

/* Whether one of FILTER, HAVING or ORDER BY can begin here. */
bool parse_is_constraint(const struct parser *p)
{
	return parse_is_sign(p, "(") || parse_is_iri(p) || parse_is_word(p, "EXISTS") || parse_is_word(p, "NOT") ||
	       find_word(p, true) >= 0 || find_word(p, false) >= 0;
}

/* Fails if none stands there. */
struct sparql_expr *parse_constraint(struct parser *p)
{
	if (!parse_is_constraint(p))
		parse_fail(p, -EINVAL, "a condition is expected: (expression), or a call");
	return parse_primary(p);
}
