/* sparql.h - SPARQL 1.1 Query over a dataset in memory: SELECT, ASK, CONSTRUCT, DESCRIBE, with property paths,
 * sub-queries, aggregates and all functions. Not: Update, SERVICE (but SERVICE SILENT, which is as if the service did
 * not answer), entailment.
 *
 * Patterns are evaluated from the bottom up, as section 18 of the recommendation says; where that makes no difference
 * the rows so far are handed into a pattern, so that it is looked up instead of scanned.
 *
 * Every query is hostile: it ends with an error at a bound of rows, bytes or time. */
#ifndef STEMMA_SPARQL_SPARQL_H
#define STEMMA_SPARQL_SPARQL_H

#include "base/buf.h"
#include "base/err.h"
#include "sparql/rdf.h"
#include "sparql/sparql_ast.h"

#include <stdio.h>

struct sparql_bounds {
	uint64_t rows;  /* of any intermediate result */
	uint64_t bytes; /* of all that are kept at once, and of new terms */
	int64_t ns;     /* of wall time */
};
struct sparql_result {
	enum sparql_form form;
	bool answer;          /* of ASK */
	const uint32_t *vars; /* of SELECT: numbers of the query's */
	size_t n_vars, n_rows;
	rdf_id *terms;          /* row by row */
	struct rdf_quad *quads; /* of CONSTRUCT, DESCRIBE: g is 0 */
	size_t n_quads;
};
/* Runs a query that was parsed for r; r gets the terms that it makes. 0, or with a sentence: -EINVAL it cannot be
 * answered, -E2BIG a bound of rows or bytes, -ETIME one of time, -ENOMEM. */
int sparql_run(struct rdf *r, struct sparql *q, const struct sparql_bounds *b, struct err *err,
               struct sparql_result *ret);
void sparql_result_release(struct sparql_result *r);

/* Results as text, appended. sparql_write: form "json", "xml", "csv", "tsv" of SELECT and ASK (ASK: json and xml
 * alone), "turtle" (N-Triples, which are Turtle) of the others. 0, -EINVAL: the form does not fit, -ENOMEM. */
int sparql_write(const struct rdf *r, const struct sparql *q, const struct sparql_result *x, const char *form,
                 struct buf *ret);

#endif
