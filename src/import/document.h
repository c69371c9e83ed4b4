/* document.h - a PROV document, of stemma or of another program, taken into the record.
 *
 * The document is read and checked whole; then its events are added as one segment logs/<host of
 * origin>/import/<hash>.stl (place.h). They are ordinary events, which give what the document says by the rules of
 * doc/graph.md; accesses have the keys of the originals where they are known. So an export that is imported elsewhere
 * gives the same versions with the same ids, and adds nothing to what it came from; the same document again is found
 * and adds nothing. Runs that were forgotten here do not come back. */
#ifndef STEMMA_IMPORT_DOCUMENT_H
#define STEMMA_IMPORT_DOCUMENT_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct import_document_report {
	uint64_t statements, passed; /* passed: the record has no place for them */
	uint64_t executions, versions, accesses;
	uint64_t forgotten;    /* statements about what was forgotten here: they are passed over */
	uint64_t skipped;      /* parts of the document that could not be read; only of PROV-IO's tools */
	uint32_t skipped_line; /* the first of them */
	uint64_t unread_times; /* times that are none */
	bool added;            /* false: it is there already */
	bool future;           /* it tells of times that are yet to come */
};

/* Adds a document of PROV to the record. path: a file, or "-". 0, or -errno with a sentence that names the place,
 * and then nothing was added. */
int import_document(const char *home, const char *path, int64_t now, struct err *err,
                    struct import_document_report *ret);

#endif
