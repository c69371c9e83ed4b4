/* compare.h - two runs of one command: are their results and outputs the same? */
#ifndef STEMMA_TRUST_COMPARE_H
#define STEMMA_TRUST_COMPARE_H

#include "trust/outputs.h"

/* From the best to the worst. */
enum compare_verdict {
	COMPARE_IDENTICAL,
	COMPARE_WITHIN,
	COMPARE_ALIKE, /* as far as the record says: it has sizes and no bytes */
	COMPARE_UNKNOWN,
	COMPARE_DIFFERENT
};
const char *compare_verdict_name(enum compare_verdict v);

struct compare_item {
	char *name;
	bool file; /* an output; else a result */
	/* The command did not open it, but was handed it by its caller (2>log), who is another one now: it is in no verdict
	 * unless both have it, alike. */
	bool handed;
	enum compare_verdict verdict;
	enum output_by by;    /* of an output */
	bool dates;           /* both files are there as they were, and differ in dates alone (dates.h) */
	char *before, *after; /* values, digests, sizes ("12 B"); NULL: that run has none, "": nothing is known of it */
};
struct compare {
	/* The worst. Where there was nothing to compare: ALIKE if neither run left anything, else UNKNOWN. */
	enum compare_verdict verdict;
	struct compare_item *v; /* all of them, results first */
	size_t n;
	bool seen;     /* the record says which files both made */
	size_t engine; /* names of files that are a workflow system's own: these are not compared */
};

/* tolerance: NULL none. Output files are compared by what is known of them (outputs.h): digests, else sizes; those
 * whose digests differ, where both are still there as they were, number by number. printed: digest of what the second
 * run printed, NULL not known: a file that the first was handed and that holds the same is identical. 0 or -errno. */
int compare_runs(struct store *s, store_id before, store_id after, const struct witness_options *o,
                 const char *tolerance, const char *printed, struct err *err, struct compare *ret);
/* How many of them are in the verdict. */
size_t compare_counted(const struct compare *c);
void compare_release(struct compare *c);

#endif
