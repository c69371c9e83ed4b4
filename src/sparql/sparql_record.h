/* sparql_record.h - the record as RDF: what `stemma export -f turtle` writes (doc/format/prov.md), in memory. */
#ifndef STEMMA_SPARQL_SPARQL_RECORD_H
#define STEMMA_SPARQL_SPARQL_RECORD_H

#include "sparql/rdf.h"
#include "sparql/sparql_needs.h"
#include "store/store.h"

/* Adds the record to r's default graph: what a query can need of it, or all of it (needs NULL). Cost and memory grow
 * with that: about 150 bytes a triple. What needs have no kind of statement for is not even read. 0, or -errno with a
 * sentence. */
int sparql_record(struct rdf *r, struct store *s, const struct sparql_needs *needs, struct err *err);
/* The prefixes of the record's vocabulary, for sparql_parse. */
extern const char *const sparql_record_prefixes[][2];
extern const size_t sparql_record_n_prefixes;
/* Was stemma built with what SPARQL needs? */
bool sparql_is_there(void);

#endif
