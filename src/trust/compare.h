/* compare.h - two runs of one command: are their results and outputs the same? */
#ifndef STEMMA_TRUST_COMPARE_H
#define STEMMA_TRUST_COMPARE_H

#include "trust/witness.h"

enum compare_verdict { COMPARE_IDENTICAL, COMPARE_WITHIN, COMPARE_DIFFERENT, COMPARE_UNKNOWN };
const char *compare_verdict_name(enum compare_verdict v);

struct compare_item {
	char *name;
	bool file; /* an output; else a result */
	/* The command did not open it, but was handed it by its caller (2>log), who is another one now: it is in no verdict
	 * unless both have it, alike. */
	bool handed;
	enum compare_verdict verdict;
	char *before, *after; /* values, digests; NULL: that run has none */
};
struct compare {
	enum compare_verdict verdict; /* the worst; UNKNOWN where there was nothing to compare */
	struct compare_item *v;       /* all of them, results first */
	size_t n;
};

/* tolerance: NULL none. Output files are compared by the digests that the runs recorded; those that differ, where both
 * are still there as they were, number by number. dir: where the second ran. 0 or -errno with a sentence. */
int compare_runs(struct store *s, store_id before, store_id after, const struct witness_options *o,
                 const char *tolerance, struct err *err, struct compare *ret);
void compare_release(struct compare *c);

#endif
