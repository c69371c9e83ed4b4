/* sparql_parse_int.h - what the parts of the parser share: its state, words, terms and paths (sparql_parse.c),
 * expressions (sparql_parse_expr.c), patterns (sparql_parse_pattern.c).
 *
 * After an error the text has ended: every function goes on without harm, and the first sentence stays. */
#ifndef STEMMA_SPARQL_SPARQL_PARSE_INT_H
#define STEMMA_SPARQL_SPARQL_PARSE_INT_H

#include "sparql/sparql_ast.h"
#include "sparql/sparql_lex.h"

enum { PARSE_NODES = 8000 }; /* patterns, operators and paths of a query: they may hang on one another like a chain */
enum { PARSE_DEPTH = 200 };  /* groups, expressions and paths inside each other */

struct parse_label {
	struct str name;
	uint32_t var;
	uint64_t scope;
};
struct parser {
	struct sparql_lexer lexer;
	struct sparql_token t, after; /* the word at hand, and the next */
	struct rdf *r;
	struct sparql *out;
	struct err *err;
	int rc;
	struct str base;
	unsigned depth, nodes;
	uint64_t scope;   /* of blank nodes' labels: the basic graph pattern at hand */
	bool in_template; /* blank nodes are made anew, and there are no paths */
	VEC(struct parse_label) labels;
	struct sparql_query *query; /* the one at hand: its aggregates */
	bool aggregates_allowed, in_aggregate;
};

/* Only the first one counts; from then on the parser sees the end of the query. */
void parse_fail(struct parser *p, int rc, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Zeroed; it lives as long as the query. Never NULL: without memory some place that may be written to, and a failure.
 * */
void *parse_room(struct parser *p, size_t n);

void parse_next(struct parser *p);
bool parse_is_sign(const struct parser *p, const char *sign);
bool parse_is_word(const struct parser *p, const char *word);
bool parse_take_sign(struct parser *p, const char *sign); /* takes it if it is there */
bool parse_take_word(struct parser *p, const char *word);
void parse_want_sign(struct parser *p, const char *sign);
void parse_want_word(struct parser *p, const char *word);
/* Enters a part within another. False, with an error, where things are too deep inside each other; else parse_leave
 * follows. */
bool parse_enter(struct parser *p);
void parse_leave(struct parser *p);
void parse_count_node(struct parser *p); /* fails where a query has too many */

/* The number of the variable, a new one if the name is empty. */
uint32_t parse_var(struct parser *p, struct str name);

uint32_t parse_hidden(struct parser *p);
bool parse_is_iri(const struct parser *p);
/* Parses an IRI or a prefixed name. 0 and a failure: none stands here. */
rdf_id parse_iri(struct parser *p);

bool parse_is_literal(const struct parser *p);
/* A number, which may have a sign, a text or a truth value stands here. */
rdf_id parse_literal(struct parser *p);
/* A variable or an IRI. */
struct sparql_slot parse_var_or_iri(struct parser *p);
/* TriplesBlock or ConstructTriples: appends to v until there are no more. */
struct triple_list {
	VEC(struct sparql_triple) v;
};
/* Inside a template no paths. */
void parse_triples(struct parser *p, struct triple_list *v);
struct sparql_triple *parse_keep_triples(struct parser *p, struct triple_list *v, size_t *ret_n); /* in the arena */

struct sparql_expr *parse_expression(struct parser *p);
struct sparql_expr *parse_constraint(struct parser *p); /* ( expr ), a call, or EXISTS */
bool parse_is_constraint(const struct parser *p);

struct sparql_pattern *parse_group(struct parser *p);
/* The query without its prologue; never NULL. */
struct sparql_query *parse_form(struct parser *p);

#define PARSE_KEEP(p, vec, ret_n) parse_keep(p, (vec)->v, (vec)->n * sizeof(*(vec)->v), (vec)->n, ret_n)
/* The arena's copy of v, which is freed; NULL if n is 0 or parsing failed. *ret_n: how many of it there are. */
void *parse_keep(struct parser *p, void *v, size_t bytes, size_t n, size_t *ret_n);

#endif
