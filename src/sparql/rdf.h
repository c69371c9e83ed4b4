/* rdf.h - RDF 1.1 in memory: terms by number, and a dataset of triples with three orders.
 *
 * A term is interned once and known by its number; 0 is none. A literal without a type has xsd:string. Two terms are
 * the same RDF term if their numbers are the same. Quads are added, then rdf_ready sorts them; after that they may be
 * looked up, and more terms, but no more quads, be made.
 *
 * Budget: 16 bytes a quad and 12 for its three orders; a lookup is two binary searches; a term is 40 bytes and its
 * text. Memory belongs to the dataset. Nothing aborts: without memory terms are 0 and `failed` is set. */
#ifndef STEMMA_SPARQL_RDF_H
#define STEMMA_SPARQL_RDF_H

#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

typedef uint32_t rdf_id;

enum rdf_kind { RDF_NONE, RDF_IRI, RDF_BLANK, RDF_LITERAL };

struct rdf_term {
	enum rdf_kind kind;
	struct str text; /* an IRI, a blank node's label, a literal's lexical form */
	rdf_id type;     /* a literal's datatype */
	struct str lang; /* lower case as it was written; empty: none */
};
struct rdf_quad {
	rdf_id g, s, p, o; /* g 0: the default graph */
};

struct table; /* base/map.h */
struct rdf {
	VEC(struct rdf_term) terms; /* [0] is none */
	struct table *by_hash;
	struct arena arena;
	VEC(struct rdf_quad) quads;
	uint32_t *order[3]; /* places of quads by g,s,p,o; g,p,o,s; g,o,s,p */
	VEC(rdf_id) graphs; /* the named ones; rdf_ready lists them */
	uint64_t blanks;    /* labels that were made */
	uint64_t bytes;     /* of terms' texts */
	bool failed;
	/* what is used all the time */
	rdf_id xsd_string, xsd_boolean, xsd_integer, xsd_decimal, xsd_float, xsd_double, xsd_datetime, xsd_date, xsd_time,
	    xsd_duration, xsd_daytime_duration, lang_string, rdf_type, rdf_first, rdf_rest, rdf_nil;
};

#define RDF_NS "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
#define XSD_NS "http://www.w3.org/2001/XMLSchema#"

/* Begins a graph that stays empty. Begins an empty graph. 0, -ENOMEM. */
int rdf_init(struct rdf *r);
void rdf_release(struct rdf *r);

rdf_id rdf_iri(struct rdf *r, struct str iri);
/* type 0: xsd:string, or rdf:langString with a language. */
rdf_id rdf_literal(struct rdf *r, struct str text, rdf_id type, struct str lang);
rdf_id rdf_blank(struct rdf *r, struct str label);
rdf_id rdf_new_blank(struct rdf *r);
/* The term with that number; valid until the next one is made. */
static inline const struct rdf_term *rdf_term(const struct rdf *r, rdf_id id)
{
	return &r->terms.v[id];
}

void rdf_add(struct rdf *r, struct rdf_quad q);
/* Sorts; what is there twice goes. 0, -ENOMEM. */
int rdf_ready(struct rdf *r);

/* The quads of one graph that have these terms; 0 in s, p, o: any. */
struct rdf_match {
	const struct rdf *r;
	const uint32_t *order;
	size_t at, end;
	rdf_id s, p, o;
};
struct rdf_match rdf_find(const struct rdf *r, rdf_id g, rdf_id s, rdf_id p, rdf_id o);
/* The next one, or NULL. */
const struct rdf_quad *rdf_next(struct rdf_match *m);
/* About how many there are: exact but where only subject and object are given. */
size_t rdf_count(const struct rdf *r, rdf_id g, rdf_id s, rdf_id p, rdf_id o);

/* Turtle, N-Triples or TriG. g: the graph that triples go to. base: IRI of the document. Blank nodes of each document
 * are its own. 0, or -errno with a sentence that has line and column. */
int rdf_read(struct rdf *r, struct str text, const char *base, rdf_id g, struct err *err);

#endif
