/* constraints.h - is a PROV document valid? W3C PROV-CONSTRAINTS (Recommendation, 2013), by the numbers of its
 * constraints.
 *
 * The document itself and each of its bundles are checked for themselves. Uniqueness: statements that must be one are
 * compared in what both tell. Ordering: events are nodes of a graph whose edges say "not after" or "before"; the
 * document is invalid where a cycle has a "before" in it. The times that statements give play no part, as in the
 * Recommendation: clocks differ; those that contradict the order are given as remarks (constraint numbers of the order,
 * remark true).
 *
 * Memory: about 100 bytes a statement; time linear but for sorting. */
#ifndef STEMMA_IMPORT_CONSTRAINTS_H
#define STEMMA_IMPORT_CONSTRAINTS_H

#include "import/doc.h"

struct violation {
	unsigned number;
	bool remark; /* only of times: no violation */
	/* The statements concerned, in order (of a cycle: once around it); n may be more than are there. */
	const uint32_t *statements;
	size_t n;
	struct str about; /* the name it is about, may be empty */
};

/* Calls say for each. The number of violations (remarks not counted), or -ENOMEM. */
long doc_check(const struct doc *d, void (*say)(void *arg, const struct violation *v), void *arg);
/* "unique-generation"; "" for a number that is not checked. */
const char *constraint_name(unsigned number);

#endif
