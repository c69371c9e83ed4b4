/* read_rdf.h - what read_rdf.c, which makes statements of triples, and read_rdf_triples.c, which reads them by serd,
 * share. Private to the import. */
#ifndef STEMMA_IMPORT_READ_RDF_H
#define STEMMA_IMPORT_READ_RDF_H

#include "base/hash.h"
#include "import/doc.h"

#include <serd/serd.h>

struct triple {
	uint32_t s, p, o, type;
	uint32_t line;
	uint32_t next; /* of the same subject */
	bool literal;
};

/* Words; iri VEC_NONE: serd knows it. */
struct prefix {
	uint32_t name, iri;
};

struct rdf_reader {
	struct doc *d;
	const char *name;
	struct err *err;
	/* reading */
	const char *p, *end;
	const char *then, *then_end; /* what is read when p has come to its end; NULL: nothing */
	const char *bottom;          /* of the stack */
	bool deep, failed;
	uint32_t line;
	SerdEnv *env;
	/* serd looks through all prefixes for each name, so those of whole names are kept here: words, by the prefix's
	 * hash. */
	struct map prefix;
	VEC(struct prefix) prefixes;
	char *why; /* serd's message */
	unsigned why_line, why_column;
	VEC(struct triple) t;
	struct table said; /* triples in PROV-IO's words, which two namespaces may say twice */
	/* by word */
	uint32_t *first, *last;
	struct table qualified; /* qualified relations, by kind and ends */
	uint8_t *qualifier;     /* it is the object of a prov:qualified...: no thing of its own */
	uint32_t w_type, w_label, w_prov_type, w_prov_label, w_qualified, w_location, w_prov_location;
};

/* Reads all triples, in a document of PROV-IO's tools those that can be read. 0, or -errno with a sentence. */
int rdf_read_triples(struct rdf_reader *r);

#endif
