/* toml.h - the part of TOML 1.0 that a benchmark file needs: tables, arrays of tables, and keys whose values are
 * strings, numbers, booleans or lists of these. Dates, inline tables and dotted keys are refused with a sentence.
 * Debian has no TOML library for C, else it would be taken.
 *
 * Bounds: TOML_BYTES of text, TOML_KEYS keys. Every value is a text here. Memory belongs to the struct. Pure. */
#ifndef STEMMA_TRUST_TOML_H
#define STEMMA_TRUST_TOML_H

#include "base/err.h"
#include "base/str.h"

#define TOML_BYTES (1u << 20)
#define TOML_KEYS 10000

struct toml_key {
	char *table;    /* "" at the top */
	unsigned index; /* of an array of tables, from 1; 0: a plain table */
	char *key;
	char **value;
	size_t n;
	bool list; /* it stood in [] */
	unsigned line;
};
struct toml {
	struct toml_key *v; /* in the order of the file */
	size_t n;
};

/* Reads a document of TOML. 0; -EBADMSG with a sentence that names the line; -ENOMEM. Release ret in any case. */
int toml_read(const char *text, size_t n, const char *name, struct err *err, struct toml *ret);
void toml_release(struct toml *t);

#endif
