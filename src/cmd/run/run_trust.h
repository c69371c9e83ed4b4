/* run_trust.h - what `stemma run --machine --digest --results` and `stemma bench` keep of a run beside its record. A
 * failure is said and changes no status. */
#ifndef STEMMA_CMD_RUN_RUN_TRUST_H
#define STEMMA_CMD_RUN_RUN_TRUST_H

#include "cmd/cmd.h"
#include "trust/bench/benchfile.h"
#include "trust/early.h"
#include "trust/record.h"

struct run_trust {
	bool machine, digest, keep, quiet;
	bool received; /* as in struct run_options */
	int (*confine)(void *arg);
	void *confine_arg;
	char *home, *cache;
	const char *system_extra;
	struct run_place place;
	struct run_place kept; /* what was kept of it beside its record */
	struct early early;    /* copies of inputs before they are changed; for run_options where keep */
	struct machine before, after;
	struct benchfile file; /* its results and parameters; n_results 0: none are looked for */
	char *const *argv;
	/* After run_trust_finish: */
	struct session_files files;
	struct trust_results *results;
	size_t n_results;
	struct elements parameters;
};

/* Before the run. home is copied. */
void run_trust_begin(struct run_trust *t, const char *home, const char *index);
/* After it: reads, extracts, records. out: what the command printed, and how much; NULL where it was not kept. */
void run_trust_finish(struct run_trust *t, const char *out, size_t n_out);
/* Instead of it: digests of what it made, by a process that goes on when this returns; where lazy.h allows any. */
void run_trust_later(struct run_trust *t);
/* All but the benchmark file. */
void run_trust_release(struct run_trust *t);

#endif
