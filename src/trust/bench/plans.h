/* plans.h - which runs belong together: all repetitions of the plan that given runs were made by, and of all plans like
 * it, wherever in the record. So a claim of the best three of twelve is known to be one.
 *
 * Two plans are alike if their command, the names and digests of their files, their parameters, and the machine's name
 * and processor are the same. How many repetitions are planned does not matter.
 *
 * By what the record says: whether the record is as it was sealed is another question (trust/chain/chain.h). Cost:
 * about 2 us a seal of the record and 0.3 ms a repetition. */
#ifndef STEMMA_TRUST_PLANS_H
#define STEMMA_TRUST_PLANS_H

#include "base/err.h"
#include "store/store.h"

struct plans {
	char **ids;        /* ULIDs of the plans; NULL-terminated */
	char **seals;      /* of each the hash of the seal before its first run, as 64 digits; "" it is not there */
	size_t n;          /* how many they are; 0: no plan was sealed before the runs */
	uint64_t planned;  /* repetitions, of those plans that are there */
	uint64_t made;     /* repetitions that are sealed, and runs that only say that they are some */
	uint64_t claimed;  /* of the given runs */
	uint64_t gone;     /* repetitions whose runs the record does not have (any more) */
	uint64_t unsealed; /* of the given runs: those that say that they are of a plan, which does not have them */
	uint64_t outside;  /* of the given runs: those of no plan, beside others that are of one */
	bool lost;         /* a plan, or that it was sealed before its first run, is not in the record */
	store_id *others;  /* repetitions that are in the record and not among the given runs */
	size_t n_others;
};

/* Finds the plans of runs, and runs of the same plans that were not given. 0 or -errno with a sentence. Release ret
 * in any case. */
int plans_of_runs(struct store *s, const store_id *runs, size_t n, struct err *err, struct plans *ret);
void plans_release(struct plans *p);

/* Does a seal with this hash (64 digits) say that it was made before the first run of the plan? 1, 0, or -errno with a
 * sentence. Whether the hash is right is another question (trust/chain/chain.h). */
int plans_sealed_so(struct store *s, const char *plan, const char *hash, struct err *err);

#endif
