/* plan.h - what a benchmark is going to do: written to the log as a plan before its first run, and sealed by chain_step
 * (trust/chain/chain.h). doc/trust.md says what it proves.
 *
 * Its files are the command's program, first, then the words of the command that are regular files, and the benchmark
 * file; by their names relative to the working directory where they are given so, each with its SHA-256. No printing.
 */
#ifndef STEMMA_TRUST_PLAN_H
#define STEMMA_TRUST_PLAN_H

#include "base/digest.h"
#include "capture/launch/run.h"
#include "trust/elements.h"

struct plan {
	const char *id; /* ULID */
	uint64_t runs, warmup;
	char *const *argv;
	const char *benchfile;             /* path; NULL none */
	const struct elements *parameters; /* that were named */
	const struct elements *invariants; /* of the machine */
	bool digest;                       /* of its files; else only their names */
	struct digest_cache *cache;        /* may be NULL */
};

/* Writes it to the logs of home, and waits for the disk. *ret: where it lies; its segment is malloc'ed. 0, or -errno
 * with a sentence. */
int plan_write(const char *home, const struct plan *p, struct err *err, struct run_place *ret);

#endif
