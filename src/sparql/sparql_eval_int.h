/* sparql_eval_int.h - what the parts of the evaluation share: rows (sparql_rows.c), patterns (sparql_eval.c), paths
 * (sparql_path.c), expressions (sparql_expr.c, sparql_functions.c), solution modifiers (sparql_solve.c). */
#ifndef STEMMA_SPARQL_SPARQL_EVAL_INT_H
#define STEMMA_SPARQL_SPARQL_EVAL_INT_H

#include "sparql/sparql.h"

#include <time.h>

/* Solutions: `width` terms a row; the first n_vars are the query's variables, the others are places of the evaluation's
 * own. */
struct rows {
	rdf_id *v;
	size_t n, cap; /* rows */
};
struct rows_blank {
	rdf_id label, node;
};
struct evaluation {
	struct rdf *r;
	struct sparql *q;
	struct err *err;
	int rc; /* of the first failure: after it everything is empty */
	size_t n_vars, width;
	struct sparql_bounds bounds;
	uint64_t bytes; /* in rows */
	int64_t deadline;
	unsigned ticks;
	rdf_id yes, no;
	struct timespec now;
	VEC(struct rows_blank) blanks; /* of BNODE(label), in the row at hand */
};

/* The i-th row: a term for each variable, 0 unbound. */
static inline rdf_id *rows_at(const struct evaluation *e, const struct rows *r, size_t i)
{
	return r->v + i * e->width;
}
/* A new row, a copy of `like` (NULL: nothing bound); NULL after a failure. */
rdf_id *rows_add(struct evaluation *e, struct rows *r, const rdf_id *like);
void rows_release(struct evaluation *e, struct rows *r);
/* Counts work; false when it is time to end. */
bool evaluation_goes_on(struct evaluation *e);
/* Does the evaluation go on, as evaluation_goes_on says? Looks at the clock each time: for what may take a
 * millisecond itself. */
bool evaluation_has_time(struct evaluation *e);
/* The first one counts. */
void evaluation_fail(struct evaluation *e, int rc, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* All pairs that fit; with left, those of a that fit with none too. expr: what must hold of a pair. */
void rows_join(struct evaluation *e, const struct rows *a, const struct rows *b, bool left,
               const struct sparql_expr *expr, rdf_id g, struct rows *out);
void rows_minus(struct evaluation *e, const struct rows *a, const struct rows *b, struct rows *out);
/* Of rows that have the same terms in the first n columns the first stays. */
void rows_distinct(struct evaluation *e, struct rows *r, const uint32_t *columns, size_t n);

/* Solutions of a pattern. out: the solutions of p that fit with those in `in`. p may be evaluated with them (see
 * sparql.h) or is joined. */
void eval_pattern(struct evaluation *e, const struct sparql_pattern *p, rdf_id g, const struct rows *in,
                  struct rows *out);
/* The solutions of a sub-query, or of the whole: rows with its items alone. */
void eval_query(struct evaluation *e, const struct sparql_query *q, rdf_id g, struct rows *out);
/* Is there one that fits with the row? */
bool eval_exists(struct evaluation *e, const struct sparql_pattern *p, rdf_id g, const rdf_id *row);

/* Pairs of a path; 0 in s or o: any. */
void eval_path(struct evaluation *e, const struct sparql_path *p, rdf_id g, rdf_id s, rdf_id o,
               void (*emit)(void *arg, rdf_id s, rdf_id o), void *arg);

/* The value of an expression in a row; 0: unbound, or an error. g: the graph of EXISTS. */
rdf_id eval_expr(struct evaluation *e, const struct sparql_expr *x, const rdf_id *row, rdf_id g);
bool eval_holds(struct evaluation *e, const struct sparql_expr *x, const rdf_id *row, rdf_id g);
/* The result of a function. 0 also where an argument is. */
rdf_id eval_function(struct evaluation *e, const struct sparql_expr *x, const rdf_id *row, rdf_id g);
/* The term for a truth value; 0 (an error) for a negative one. */
static inline rdf_id eval_bool(const struct evaluation *e, int truth)
{
	return truth < 0 ? 0 : truth ? e->yes : e->no;
}

#endif
