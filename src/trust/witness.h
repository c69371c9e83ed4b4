/* witness.h - what provenance saw of runs: inputs, parameters, results and invariants as the sets that trust is
 * measured on, and the variants beside them; several runs (of several hosts, too) combined by eq. 2 and 4 of the paper.
 *
 * Inputs are the regular files that a run read and did not make, without programs, libraries and the machine's own
 * files (base/system.h); they are named relative to the run's working directory where they lie below it. Their values
 * are digests: those that the run recorded, else one recorded for the same fingerprint, else of the file itself where
 * it is still the version that was read.
 *
 * Cost: about 0.3 ms a run and 2 us a property. */
#ifndef STEMMA_TRUST_WITNESS_H
#define STEMMA_TRUST_WITNESS_H

#include "base/digest.h"
#include "store/store.h"
#include "trust/measure.h"

struct witness_options {
	const char *system_extra;
	struct digest_cache *cache; /* NULL none */
};
struct witness {
	struct trust_side side;
	struct elements variant; /* V: names and the values of all runs, before them and after */
	struct elements missing; /* results that could not be taken: why, in each run */
	char **hosts;            /* each once; NULL-terminated */
	char **ulids;            /* of the runs; NULL-terminated */
	size_t n_runs;
	uint64_t gaps; /* bits 1<<term gap, of all runs */
	size_t failed; /* runs that did not end with status 0 */
	/* Runs that had a pipe or socket from outside to read: what came through it is in no set. */
	size_t fed;
};

/* Reads runs as one benchmark. 0 or -errno with a sentence. Release ret in any case. */
int witness_runs(struct store *s, const store_id *runs, size_t n, const struct witness_options *o, struct err *err,
                 struct witness *ret);
void witness_release(struct witness *x);

/* The runs that a word means: one run, RUN..RUN (both and all between, by their beginnings), or bench:ID (of one
 * `stemma bench run`; bench: alone is the last one). Appends. 1; 0: none, with a sentence; -ENOTUNIQ, -errno. */
int witness_find(struct store *s, const char *text, struct err *err, store_id **ids, size_t *n);

#endif
