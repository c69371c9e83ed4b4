/* serve_dataset.h - SPARQL over HTTP: the record as a dataset in memory, in a worker of its own, kept as long as the
 * index does not change. Queries are hostile: src/sparql bounds their time, rows and memory. */
#ifndef STEMMA_SERVE_SERVE_DATASET_H
#define STEMMA_SERVE_SERVE_DATASET_H

#include "serve/serve_answer.h"
#include "sparql/sparql.h"

enum { SERVE_ROWS_MOST = 20000000 }; /* of an intermediate result */

struct serve_dataset {
	struct rdf rdf;
	bool loaded;
	uint64_t bytes, stamp; /* of terms, when it was loaded; of the index that it was made from */
	bool all;              /* queries need all of the record; else triples with the predicates in wanted */
	struct {
		char **v;
		size_t n, cap;
	} wanted;
};

/* Answers a request to /sparql. accept: the header, NULL none; ns, memory: of the query alone. */
void serve_dataset_answer(struct serve_answerer *a, struct serve_dataset *d, const struct serve_request *q,
                          const char *accept, int64_t ns, uint64_t memory, struct serve_answered *ret);

#endif
