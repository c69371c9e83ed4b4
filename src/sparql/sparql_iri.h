/* sparql_iri.h - relative IRIs: RFC 3986, section 5.2. */
#ifndef STEMMA_SPARQL_SPARQL_IRI_H
#define STEMMA_SPARQL_SPARQL_IRI_H

#include "base/buf.h"

/* Appends iri, resolved against base. A base that is not absolute changes nothing. */
void sparql_iri_resolve(struct str base, struct str iri, struct buf *ret);

#endif
