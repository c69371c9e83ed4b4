/* sparql_ast.h - a parsed query. All of it lives in the query's arena; terms are numbers of the dataset that it was
 * parsed for.
 *
 * Patterns are those of SPARQL 1.1, section 18.2, before simplification. */
#ifndef STEMMA_SPARQL_SPARQL_AST_H
#define STEMMA_SPARQL_SPARQL_AST_H

#include "base/err.h"
#include "sparql/rdf.h"

struct sparql_expr;
struct sparql_pattern;
struct sparql_query;

/* A place in a pattern: a term, or a variable by its number. */
struct sparql_slot {
	bool is_var;
	uint32_t var;
	rdf_id term;
};

enum sparql_path_kind {
	PATH_IRI,
	PATH_INVERSE,
	PATH_SEQUENCE,
	PATH_ALTERNATIVE,
	PATH_STAR,
	PATH_PLUS,
	PATH_OPTIONAL,
	PATH_NOT
};
struct sparql_path {
	enum sparql_path_kind kind;
	rdf_id iri;
	const struct sparql_path *a, *b;
	/* PATH_NOT: what is left out, forwards and backwards. any_...: whether that direction is looked at at all. */
	const rdf_id *not_forward, *not_backward;
	size_t n_forward, n_backward;
	bool any_forward, any_backward;
};

struct sparql_triple {
	struct sparql_slot s, p, o;
	const struct sparql_path *path; /* in the place of p, or NULL */
};

enum sparql_pattern_kind {
	PATTERN_BASIC,    /* triples */
	PATTERN_JOIN,     /* a, b */
	PATTERN_OPTIONAL, /* a, b; expr: the filters of b's group, or NULL */
	PATTERN_UNION,    /* a, b */
	PATTERN_MINUS,    /* a, b */
	PATTERN_FILTER,   /* a, expr */
	PATTERN_GRAPH,    /* graph, a */
	PATTERN_BIND,     /* a, expr, var */
	PATTERN_VALUES,   /* values */
	PATTERN_SELECT,   /* query */
	PATTERN_SERVICE   /* silent */
};
struct sparql_values {
	const uint32_t *vars;
	size_t n_vars, n_rows;
	const rdf_id *terms; /* row by row; 0: UNDEF */
};
struct sparql_pattern {
	enum sparql_pattern_kind kind;
	struct sparql_pattern *a, *b;
	struct sparql_triple *triples;
	size_t n_triples;
	struct sparql_expr *expr;
	struct sparql_slot graph;
	uint32_t var;
	const struct sparql_values *values;
	struct sparql_query *query;
	bool silent;
};

enum sparql_op {
	OP_TERM,
	OP_VAR,
	OP_OR,
	OP_AND,
	OP_NOT,
	OP_EQ,
	OP_NE,
	OP_LT,
	OP_GT,
	OP_LE,
	OP_GE,
	OP_IN,
	OP_NOT_IN,
	OP_ADD,
	OP_SUB,
	OP_MUL,
	OP_DIV,
	OP_PLUS,
	OP_MINUS,
	OP_EXISTS,
	OP_NOT_EXISTS,
	OP_CALL,     /* function: a row of functions.def */
	OP_CAST,     /* term: the type */
	OP_AGGREGATE /* function: a row of aggregates; var: its place */
};
enum sparql_aggregate { AGG_COUNT, AGG_SUM, AGG_MIN, AGG_MAX, AGG_AVG, AGG_SAMPLE, AGG_CONCAT };
struct sparql_expr {
	enum sparql_op op;
	struct sparql_expr **args;
	size_t n;
	rdf_id term;
	uint32_t var; /* OP_VAR; of an aggregate: the hidden variable that has its value */
	unsigned function;
	struct sparql_pattern *pattern;
	bool distinct; /* of an aggregate */
	struct str separator;
};

struct sparql_item { /* of SELECT, GROUP BY: (expr AS ?var), or ?var with no expr */
	uint32_t var;
	bool has_var;
	struct sparql_expr *expr;
};
struct sparql_order {
	struct sparql_expr *expr;
	bool descending;
};
enum sparql_form { FORM_SELECT, FORM_ASK, FORM_CONSTRUCT, FORM_DESCRIBE };
struct sparql_query {
	enum sparql_form form;
	bool distinct, reduced, star;
	struct sparql_item *items; /* of a SELECT * what it comes to */
	size_t n_items;
	struct sparql_pattern *where;
	struct sparql_item *groups;
	size_t n_groups;
	bool grouped; /* there is GROUP BY, or an aggregate */
	struct sparql_expr **having;
	size_t n_having;
	struct sparql_order *orders;
	size_t n_orders;
	struct sparql_expr **aggregates;
	size_t n_aggregates;
	uint64_t limit, offset; /* limit UINT64_MAX: none */
	struct sparql_triple *template;
	size_t n_template;
	struct sparql_slot *described;
	size_t n_described;
	const rdf_id *from, *from_named;
	size_t n_from, n_from_named;
};

/* A whole text. */
struct sparql {
	struct arena arena;
	struct sparql_query *query;
	struct str base;          /* of IRI() */
	VEC(struct str) vars;     /* names; hidden ones are empty */
	VEC(struct str) prefixes; /* name, IRI, name, IRI, ... */
};

/* Parses a query against r, which gets its terms. base: IRI, or "". prefixes: pairs that are there from the beginning.
 * 0, or -EINVAL with a sentence that has line and column, -ENOMEM. */
int sparql_parse(struct rdf *r, struct str text, const char *base, const char *const (*prefixes)[2], size_t n_prefixes,
                 struct err *err, struct sparql *ret);
void sparql_release(struct sparql *q);

/* Variables that may be bound by a pattern (section 18.2.1): calls take for each, maybe more than once. */
void sparql_scope(const struct sparql_pattern *p, void (*take)(void *arg, uint32_t var), void *arg);

#endif
