/* claim.h - what somebody publishes of a benchmark: inputs, parameters, results, and what it was made with
 * (doc/format/claim.md). Read and written; nothing here compares.
 *
 * Hostile texts are expected: at most CLAIM_BYTES and CLAIM_ELEMENTS, depth by jansson. No printing. */
#ifndef STEMMA_TRUST_CLAIM_H
#define STEMMA_TRUST_CLAIM_H

#include "base/buf.h"
#include "trust/measure.h"

#define CLAIM_FORMAT 1
#define CLAIM_BYTES (16u << 20)
#define CLAIM_ELEMENTS 10000

struct claim {
	struct trust_side side;
	char **runs; /* ids of the runs it is of, as they stand there; NULL-terminated, NULL none */
	char *benchmark;
	/* The plans that the runs were made by: id, and the hash of the seal before the first run as 64 digits; of both as
	 * many. NULL-terminated, NULL none. */
	char **plans, **seals;
};

/* Reads a claim. 0; -EBADMSG with a sentence that says where; -ENOMEM. *ret is to be released on success only. */
int claim_read(const char *text, size_t n, struct err *err, struct claim *ret);
void claim_release(struct claim *c);
/* Appends the claim as JSON: what claim_read reads. 0 or -ENOMEM. */
int claim_write(const struct claim *c, struct buf *ret);

#endif
