/* record.h - writes down what `stemma run --machine`, `--digest` and `stemma bench` know of a run when it is over: a
 * session of its own (mode `keeping`) that names the run by its ULID. The run is never made to wait, and what fails
 * here is said and harms nobody.
 *
 * Cost on a warm store: one lease, one write; 0.2 ms, and what session_files and the digests take. */
#ifndef STEMMA_TRUST_RECORD_H
#define STEMMA_TRUST_RECORD_H

#include "base/digest.h"
#include "event/log_writer.h"
#include "trust/machine.h"
#include "trust/session.h"

struct trust_results {
	char *source;                    /* path, or "stdout" */
	struct elements values, missing; /* missing: name -> why */
};

struct trust_record {
	const char *home;
	const struct run_place *place;
	const struct session_files *files;    /* of the run */
	const struct machine *before, *after; /* NULL: not wanted */
	const struct elements *parameters;    /* NULL: none were named */
	bool keep;                            /* copies of the inputs (kept.h); needs digest */
	const char *early;                    /* folder of copies that were made before (early.h); NULL none; with keep */
	bool digest;                          /* of inputs and outputs, not only of programs */
	bool lazy;                            /* digests of outputs, within the bounds of lazy.h, and nothing else */
	const char *cache;                    /* folder of the digests that are kept; NULL none */
	struct trust_results *results;
	size_t n_results;
	struct run_place *kept; /* filled in: where this was written; its segment is malloc'ed. NULL: not asked for */
};

/* Writes what a benchmark needs of a run: machine, digests, results. 0 or -errno with a sentence. */
int trust_record(const struct trust_record *t, struct err *err);

/* name=value for each value, as a list of an event. Release the two with free and buf_release. False: no memory. */
bool trust_record_pairs(const struct elements *e, bool redacted, struct buf *text, struct str **ret, size_t *ret_n);
/* Where a session lies that was just begun. False: no memory. */
bool trust_record_place(const struct log_writer *log, struct run_place *ret);

#endif
