/* read_json.h - what the readers of PROV-JSON and PROV-JSONLD share. Private to the import. */
#ifndef STEMMA_IMPORT_READ_JSON_H
#define STEMMA_IMPORT_READ_JSON_H

#include "import/doc.h"

#include <jansson.h>

struct json_scope {
	struct json_scope *outer; /* of a bundle: the document's */
	json_t *prefixes;         /* NULL none */
	uint32_t bundle;
};

struct json_reader {
	struct doc *d;
	const char *name;
	struct err *err;
	struct buf path, iri;
	uint32_t w_qualified;
};

/* Goes one step down: what JSON pointers have between slashes. Returns where to go back to (path.n). */
size_t json_descend_key(struct json_reader *r, const char *key);
size_t json_descend_index(struct json_reader *r, size_t i);
/* Errors at the place where the reader is: -EBADMSG; -EFBIG or -ENOMEM. */
int json_report_bad(struct json_reader *r, const char *what, const char *word);
int json_report_full(struct json_reader *r);
/* A qualified name as a whole IRI. 0 or -errno with a sentence. */
int json_expand_name(struct json_reader *r, const struct json_scope *s, const char *name, uint32_t *ret);
/* An attribute of the last statement: a literal of that type, 0 a string. 0 or -errno with a sentence. */
int json_add_attribute(struct json_reader *r, uint32_t name, struct str text, uint32_t type);
int json_read_time(struct json_reader *r, json_t *v, int64_t *ret);
/* A number, true or false as text; false: it is none of these. */
bool json_print_scalar(const json_t *j, char *ret, size_t n);

/* PROV-JSONLD (W3C member submission, 2024), as stemma writes it and others do: a context, and objects with the names
 * of PROV's relations. The names of the context are taken for what the submission makes of them; a context's prefixes
 * are read, one behind an address is not fetched. 0 or -errno with a sentence. */
int jsonld_read(struct json_reader *r, json_t *all);

#endif
