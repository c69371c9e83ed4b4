/* sparql_expr.c - operators (SPARQL 1.1, 17.3 and 17.4.1). */
#include "sparql/sparql_eval_int.h"

#include "sparql/sparql_functions.h"
#include "sparql/sparql_value.h"

#include <string.h>

/* The truth value of an expression. 1, 0; -1: an error, or no truth value. */
static int truth_of(struct evaluation *e, const struct sparql_expr *x, const rdf_id *row, rdf_id g)
{
	const rdf_id id = eval_expr(e, x, row, g);
	return id ? sparql_truth(e->r, id) : -1;
}

/* An error counts as false. */
bool eval_holds(struct evaluation *e, const struct sparql_expr *x, const rdf_id *row, rdf_id g)
{
	return truth_of(e, x, row, g) == 1;
}

/* An error on one side is none where the other side decides. 1, 0; -1: an error. */
static int eval_logic(struct evaluation *e, const struct sparql_expr *x, const rdf_id *row, rdf_id g)
{
	const int decides = x->op == OP_OR, a = truth_of(e, x->args[0], row, g);
	if (a == decides)
		return decides;
	const int b = truth_of(e, x->args[1], row, g);
	return b == decides ? decides : a < 0 || b < 0 ? -1 : !decides;
}

/* Compares two terms. 1, 0, -1: an error of the expression. */
static int eval_comparison(struct evaluation *e, enum sparql_op op, rdf_id a, rdf_id b)
{
	if (!a || !b)
		return -1;
	if (op == OP_EQ || op == OP_NE) {
		const int same = sparql_equal(e->r, a, b);
		return same < 0 ? -1 : op == OP_EQ ? same : !same;
	}
	const int c = sparql_compare(e->r, a, b);
	if (c == SPARQL_UNKNOWN)
		return -1;
	return op == OP_LT ? c < 0 : op == OP_GT ? c > 0 : op == OP_LE ? c <= 0 : c >= 0;
}

/* IN and NOT IN: is the first argument equal to one of the others? 1, 0, -1: an error of the expression. */
static int eval_in(struct evaluation *e, const struct sparql_expr *x, const rdf_id *row, rdf_id g)
{
	const rdf_id a = eval_expr(e, x->args[0], row, g);
	int found = 0;
	for (size_t i = 1; i < x->n && found != 1; i++) {
		const int same = eval_comparison(e, OP_EQ, a, eval_expr(e, x->args[i], row, g));
		found = same == 1 ? 1 : same < 0 ? -1 : found;
	}
	return found < 0 ? -1 : x->op == OP_IN ? found : !found;
}

/* The number with a sign. 0 (an error) of what is no number. */
static rdf_id eval_sign(struct evaluation *e, const struct sparql_expr *x, rdf_id a)
{
	struct sparql_value v = sparql_value_of(e->r, a);
	if (!sparql_is_number(&v))
		return 0;
	if (x->op == OP_PLUS)
		return a;
	v.m = -v.m;
	v.d = -v.d;
	return sparql_number(e->r, &v);
}

/* The result of + - * /. 0: an error, of either side or of the calculation. */
static rdf_id eval_calculation(struct evaluation *e, const struct sparql_expr *x, const rdf_id *row, rdf_id g)
{
	static const enum sparql_arithmetic how[] = {
	    [OP_ADD] = ARITHMETIC_ADD, [OP_SUB] = ARITHMETIC_SUB, [OP_MUL] = ARITHMETIC_MUL, [OP_DIV] = ARITHMETIC_DIV};
	const rdf_id a = eval_expr(e, x->args[0], row, g), b = eval_expr(e, x->args[1], row, g);
	return a && b ? sparql_calculate(e->r, how[x->op], a, b) : 0;
}

/* The term in another datatype, as xsd:integer(?x). 0: an error. */
static rdf_id eval_cast(struct evaluation *e, const struct sparql_expr *x, const rdf_id *row, rdf_id g)
{
	const rdf_id a = x->n == 1 ? eval_expr(e, x->args[0], row, g) : 0;
	return a ? sparql_cast(e->r, x->term, a) : 0;
}

/* The result of an operator. 0: an error of the expression. */
static rdf_id eval_operator(struct evaluation *e, const struct sparql_expr *x, const rdf_id *row, rdf_id g)
{
	int t;
	switch (x->op) {
	case OP_OR:
	case OP_AND:
		return eval_bool(e, eval_logic(e, x, row, g));
	case OP_NOT:
		t = truth_of(e, x->args[0], row, g);
		return eval_bool(e, t < 0 ? -1 : !t);
	case OP_IN:
	case OP_NOT_IN:
		return eval_bool(e, eval_in(e, x, row, g));
	case OP_EXISTS:
	case OP_NOT_EXISTS:
		t = eval_exists(e, x->pattern, g, row);
		return eval_bool(e, x->op == OP_EXISTS ? t : !t);
	case OP_PLUS:
	case OP_MINUS:
		return eval_sign(e, x, eval_expr(e, x->args[0], row, g));
	case OP_ADD:
	case OP_SUB:
	case OP_MUL:
	case OP_DIV:
		return eval_calculation(e, x, row, g);
	default:
		return eval_bool(e,
		                 eval_comparison(e, x->op, eval_expr(e, x->args[0], row, g), eval_expr(e, x->args[1], row, g)));
	}
}

rdf_id eval_expr(struct evaluation *e, const struct sparql_expr *x, const rdf_id *row, rdf_id g)
{
	if (!evaluation_goes_on(e))
		return 0;
	switch (x->op) {
	case OP_TERM:
		return x->term;
	case OP_VAR:
	case OP_AGGREGATE:
		return row[x->var];
	case OP_CALL:
		return eval_function(e, x, row, g);
	case OP_CAST:
		return eval_cast(e, x, row, g);
	default:
		return eval_operator(e, x, row, g);
	}
}
