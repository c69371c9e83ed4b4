/* judged.h - what a record shows of runs, and how far a claim agrees with it: what `stemma trust` answers.
 *
 * Cost: about 0.3 ms a run, and a digest of each input whose digest is in no record. */
#ifndef STEMMA_ANSWER_TRUST_JUDGED_H
#define STEMMA_ANSWER_TRUST_JUDGED_H

#include "answer/js.h"
#include "answer/source.h"
#include "trust/bench/plans.h"
#include "trust/claim.h"
#include "trust/witness.h"

/* The list of inputs is as complete as the programs of a run are honest: each answer assumes so (judged_json.c). */
struct judged {
	struct witness seen;
	bool claimed; /* there is a claim, and `trust` says how far it agrees */
	struct trust trust;
	/* The plan that the runs were made by. Where it has others: what those give, and how far the claim agrees with all.
	 */
	struct plans plans;
	size_t others_plans; /* plans that the claim names, with seals that the record does not have */
	struct witness others, all;
	struct trust trust_all;
};

/* The runs are those of the n words (witness_find), else those that the claim names, else the last one. claim: NULL
 * there is none. tolerance, of numbers among the results: "5%", "0.01"; NULL none. cache may be NULL. 1; 0 or -ENOTUNIQ
 * with a sentence: there is no such run; -EINVAL: the claim or the tolerance makes no sense; -errno. */
int judged_make(const struct answer_source *a, char *const *words, size_t n, struct claim *claim, const char *tolerance,
                struct digest_cache *cache, struct err *err, struct judged *ret);
void judged_release(struct judged *j);
/* Is the claim reproducible by this record? What failed in the same way again is the same again, and nobody's result.
 * Where the runs were made by a plan, by all runs of that plan, those that nobody claims too. */
bool judged_agrees(const struct judged *j);
/* What the plan of the runs says against the claim. JUDGED_PLAN_UNKNOWN: what the plan holds cannot be read any more.
 * */
enum judged_plan {
	JUDGED_PLAN_FITS,     /* nothing, or there is no plan */
	JUDGED_PLAN_UNKNOWN,  /* what some runs of it gave is not known any more */
	JUDGED_PLAN_UNSEALED, /* a claimed run is not of it, though it says so */
	JUDGED_PLAN_PICKED,   /* other runs of it do not give what is claimed, or failed */
	JUDGED_PLAN_OTHER,    /* the claim was made of a plan that was sealed otherwise, or is not there */
};
enum judged_plan judged_by_plan(const struct judged *j);
/* A new reference. */
json_t *judged_json(const struct judged *j);
/* Appends the claim that the record would agree with, as JSON (doc/format/claim.md): what varied among the results is
 * then the median in j, too. 0 or -ENOMEM. */
int judged_claim(struct judged *j, struct buf *ret);

#endif
