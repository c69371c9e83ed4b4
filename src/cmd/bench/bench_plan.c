#include "cmd/bench/bench_plan.h"

#include "trust/chain/chain.h"
#include "trust/extract.h"
#include "trust/plan.h"

#include <stdlib.h>
#include <string.h>

static void seal_step(struct bench_plan *p, const struct chain_step *step)
{
	struct err err = {0};
	struct chain_seal_result r;
	if (chain_step(p->home, step, &err, &r) == 0)
		return;
	p->on = false;
	report("this benchmark is not sealed from here on, so a claim of it cannot be shown to leave nothing out: %s",
	       err.text);
}

void bench_plan_begin(struct bench_plan *p, const struct run_trust *t, uint64_t runs, uint64_t warmup,
                      const char *benchfile, const char *index)
{
	struct err err = {0};
	struct elements parameters = {0};
	struct machine machine = {0};
	struct run_place place;
	const char *slash = index ? strrchr(index, '/') : NULL;
	char *dir = slash ? strndup(index, (size_t)(slash - index)) : NULL;
	if (!p->home) {
		free(dir);
		return;
	}
	machine_read(&machine);
	extract_parameters(&t->file, t->argv, &parameters);
	struct plan plan = {.id = p->id,
	                    .runs = runs,
	                    .warmup = warmup,
	                    .argv = t->argv,
	                    .benchfile = benchfile,
	                    .parameters = &parameters,
	                    .invariants = &machine.invariant,
	                    .digest = t->digest,
	                    .cache = dir && t->digest ? digest_cache_open(dir) : NULL};
	p->on = plan_write(p->home, &plan, &err, &place) == 0;
	if (p->on)
		seal_step(p, &(struct chain_step){
		                 .kind = CHAIN_STEP_BEGIN, .plan = p->id, .run = "", .places = &place, .n_places = 1});
	else
		report("the plan of this benchmark is not sealed: %s", err.text);
	digest_cache_close(plan.cache);
	elements_release(&parameters);
	machine_release(&machine);
	free(place.segment);
	free(dir);
}

void bench_plan_repetition(struct bench_plan *p, const struct bench_once *o)
{
	p->made++;
	if (p->on)
		seal_step(p, &(struct chain_step){.kind = CHAIN_STEP_REPETITION,
		                                  .plan = p->id,
		                                  .repetition = p->made,
		                                  .run = o->run,
		                                  .places = o->places,
		                                  .n_places = o->n_places});
}

void bench_plan_end(struct bench_plan *p)
{
	if (p->on)
		seal_step(p, &(struct chain_step){.kind = CHAIN_STEP_END, .plan = p->id, .run = "", .repetition = p->made});
}
