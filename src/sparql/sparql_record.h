/* sparql_record.h - the record as RDF: what `stemma export -f turtle` writes (doc/format/prov.md), in memory. */
#ifndef STEMMA_SPARQL_SPARQL_RECORD_H
#define STEMMA_SPARQL_SPARQL_RECORD_H

#include "sparql/rdf.h"
#include "store/store.h"

/* Adds all of the record to r's default graph. Cost and memory grow with the record: about 150 bytes a triple.
 * 0, or -errno with a sentence. */
int sparql_record(struct rdf *r, struct store *s, struct err *err);
/* The prefixes of the record's vocabulary, for sparql_parse. */
extern const char *const sparql_record_prefixes[][2];
extern const size_t sparql_record_n_prefixes;
/* Was stemma built with what SPARQL needs? */
bool sparql_is_there(void);

#endif
