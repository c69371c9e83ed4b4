/* bench_plan.h - the plan of a benchmark: sealed before its first run, with each repetition, and at the end
 * (doc/trust.md). What fails here is said, and the benchmark goes on without. */
#ifndef STEMMA_CMD_BENCH_BENCH_PLAN_H
#define STEMMA_CMD_BENCH_BENCH_PLAN_H

#include "cmd/bench/bench_once.h"

struct bench_plan {
	const char *home; /* NULL: nothing is recorded */
	const char *id;   /* ULID */
	bool on;          /* the plan is sealed, and so is what follows */
	uint64_t made;    /* repetitions */
	/* A shell's command that signs a head (stemma trust --witness); asked before the first run, and at the end. What it
	 * prints is kept in seals/HOST.statements of the record. NULL: nobody is asked. */
	const char *witness;
	/* Of earlier repetitions, where something that the command started goes on: sealed with a later step. */
	struct run_place *waiting;
	size_t n_waiting;
};

/* Before the first run, warm-ups too. benchfile: its path; NULL none. index: where the digests of files are kept. */
void bench_plan_begin(struct bench_plan *p, const struct run_trust *t, uint64_t runs, uint64_t warmup,
                      const char *benchfile, const char *index);
/* After a repetition, whatever became of it. */
void bench_plan_repetition(struct bench_plan *p, const struct bench_once *o);
/* No more are made. */
void bench_plan_end(struct bench_plan *p);

#endif
