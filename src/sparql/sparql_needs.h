/* sparql_needs.h - which triples of a dataset can have a part in the answer of a query: those of the predicates that it
 * names. So of a record only these need to be there (sparql_record.h).
 *
 * A query needs all triples where a predicate is a variable, in a negated property set, of DESCRIBE, and where a path
 * may have no step between two variables: that is true of every node there is. */
#ifndef STEMMA_SPARQL_SPARQL_NEEDS_H
#define STEMMA_SPARQL_SPARQL_NEEDS_H

#include "sparql/sparql_ast.h"

struct sparql_needs {
	bool all;
	VEC(rdf_id) predicates; /* each once */
};

/* Release ret in any case. 0 or -ENOMEM. */
int sparql_needs_find(const struct sparql_query *q, struct sparql_needs *ret);
bool sparql_needs_has(const struct sparql_needs *n, rdf_id predicate);
void sparql_needs_release(struct sparql_needs *n);

#endif
