/* check.h - a document, or what would be exported, against PROV-CONSTRAINTS, as lines for people.
 *
 * A violation is a line with its constraint's number and name, then one with four spaces in front for each statement
 * concerned and its place. Lines may hold any byte but a newline. */
#ifndef STEMMA_IMPORT_CHECK_H
#define STEMMA_IMPORT_CHECK_H

#include "base/err.h"
#include "prov/prov.h"

struct check_report {
	uint64_t statements, violations, remarks;
	uint64_t skipped; /* parts of the document that could not be read (doc.h), and the line of the first */
	uint32_t skipped_line;
};
typedef void check_line(void *arg, struct str line);

/* The document in a file ("-": standard input), in a notation of doc.h. 0, or -errno with a sentence where it is no
 * document. check_source: of what was selected of the record. */
int check_document(const char *path, check_line *say, void *arg, struct err *err, struct check_report *ret);
int check_source(struct prov_source *p, check_line *say, void *arg, struct err *err, struct check_report *ret);

#endif
