#include "cmd/bench/bench_plan.h"

#include "trust/chain/chain.h"
#include "trust/extract.h"
#include "trust/plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define WAITING_MAX 256 /* sessions; more are left to stemma trust --seal */

static void forget_waiting(struct bench_plan *p)
{
	for (size_t i = 0; i < p->n_waiting; i++)
		free(p->waiting[i].segment);
	free(p->waiting);
	p->waiting = NULL;
	p->n_waiting = 0;
}

/* Keeps those of the places that are not sealed for the next step. */
static void keep_waiting(struct bench_plan *p, const struct run_place *places, const bool *sealed, size_t n)
{
	struct run_place *more = calloc(n + 1, sizeof(*more));
	size_t k = 0;
	for (size_t i = 0; more && i < n && k < WAITING_MAX; i++) {
		if (sealed[i] || !places[i].segment || !(more[k].segment = strdup(places[i].segment)))
			continue;
		more[k].session = places[i].session;
		more[k++].from = places[i].from;
	}
	forget_waiting(p);
	p->waiting = more;
	p->n_waiting = more ? k : 0;
}

/* With what earlier steps left. */
static void seal_step(struct bench_plan *p, struct chain_step step)
{
	struct err err = {0};
	struct chain_seal_result r;
	size_t n = step.n_places + p->n_waiting;
	struct run_place *places = calloc(n + 1, sizeof(*places));
	step.sealed = calloc(n + 1, sizeof(*step.sealed));
	int rc = places && step.sealed ? 0 : err_set(&err, ENOMEM, "cannot seal");
	if (rc == 0) {
		if (step.n_places)
			memcpy(places, step.places, step.n_places * sizeof(*places));
		if (p->n_waiting)
			memcpy(places + step.n_places, p->waiting, p->n_waiting * sizeof(*places));
		step.places = places;
		step.n_places = n;
		rc = chain_step(p->home, &step, &err, &r);
	}
	if (rc == 0) {
		keep_waiting(p, places, step.sealed, n);
	} else {
		p->on = false;
		report("this benchmark is not sealed from here on, so a claim of it cannot be shown to leave nothing out: %s",
		       err.text);
	}
	free(places);
	free(step.sealed);
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
		seal_step(p, (struct chain_step){
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
		seal_step(p, (struct chain_step){.kind = CHAIN_STEP_REPETITION,
		                                 .plan = p->id,
		                                 .repetition = p->made,
		                                 .run = o->run,
		                                 .places = o->places,
		                                 .n_places = o->n_places});
}

void bench_plan_end(struct bench_plan *p)
{
	if (p->on)
		seal_step(p, (struct chain_step){.kind = CHAIN_STEP_END, .plan = p->id, .run = "", .repetition = p->made});
	forget_waiting(p);
}
