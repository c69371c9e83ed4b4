/* constraints_int.h - what the parts of the check share. */
#ifndef STEMMA_IMPORT_CONSTRAINTS_INT_H
#define STEMMA_IMPORT_CONSTRAINTS_INT_H

#include "import/constraints.h"

enum { IS_ENTITY = 1, IS_ACTIVITY = 2, IS_AGENT = 4, IS_EMPTY = 8 };

/* One instance: the document without its bundles, or a bundle. */
struct check {
	const struct doc *d;
	const uint32_t *st; /* its statements, by place in the document */
	size_t n;
	uint8_t *is;      /* by word: what it is, of this instance */
	uint32_t *marked; /* words of which that is not 0 */
	size_t n_marked;
	uint32_t *why[2]; /* by word: the statement that makes it an entity, an activity */
	long violations;
	void (*say)(void *arg, const struct violation *v);
	void *arg;
	bool failed; /* no memory */
};

/* Tells of a violation of PROV-CONSTRAINTS. */
void check_report(struct check *c, unsigned number, bool remark, const uint32_t *st, size_t n, uint32_t about);

/* Which events must come before which, and that none comes before itself. No memory: c->failed. */
void check_order(struct check *c);

/* Is the word the name of a blank node? */
static inline bool is_blank_node(const struct doc *d, uint32_t word)
{
	return str_starts(doc_str(d, word), str_of("_:"));
}

#endif
