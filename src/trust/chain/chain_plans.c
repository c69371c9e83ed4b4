/* chain_plans.c - what became of the plans of benchmarks: by the steps that the chain has of them, and by what else the
 * record says of their runs. */
#include "base/hash.h"
#include "trust/chain/chain_parts.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct plan_state {
	struct chain_plan p;
	int64_t written; /* when, just before it was sealed; TIME_NONE: not known */
	size_t others;   /* runs that call themselves its own and are in no step of it */
	uint64_t other;  /* session of the last of them */
};

struct checking_plans {
	struct chain *c;
	void (*say)(void *arg, const char *line);
	void *arg;
	struct chain_report *r;
	struct map named; /* index of a part that is the run of a step -> 1 */
	struct map by_id; /* hash of an id -> index in plans */
	struct map runs;  /* hash of a run's id -> index in c->labelled */
	VEC(struct plan_state) plans;
};

/* Counts and tells a problem. As printf. */
static __attribute__((format(printf, 2, 3))) void plan_problem(struct checking_plans *x, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	chain_problem(x->r, x->say, x->arg, fmt, ap);
	va_end(ap);
}

/* The name of a plan, bench:XXXXXXXX, as people type it. */
static const char *plan_name(const char *id)
{
	static char text[40];
	size_t n = strlen(id);
	snprintf(text, sizeof(text), "bench:%s", n > 8 ? id + n - 8 : id);
	return text;
}

/* Finds a plan by its id. NULL: there is none. */
static struct plan_state *find_plan(struct checking_plans *x, const char *id)
{
	uint32_t at = map_get(&x->by_id, hash_bytes(id, strlen(id)));
	return at != VEC_NONE && !strcmp(x->plans.v[at].p.id, id) ? &x->plans.v[at] : NULL;
}

/* Made if it is not there. NULL: no memory. Valid until another is made. */
static struct plan_state *plan_at(struct checking_plans *x, const char *id)
{
	struct plan_state *p = find_plan(x, id);
	if (p)
		return p;
	p = vec_add(&x->plans);
	if (!p || !map_set(&x->by_id, hash_bytes(id, strlen(id)), (uint32_t)(x->plans.n - 1)))
		return NULL;
	*p = (struct plan_state){.written = TIME_NONE};
	snprintf(p->p.id, sizeof(p->p.id), "%s", id);
	return p;
}

/* Which repetition of its benchmark a run was. VEC_NONE: the record has no such run that says that a benchmark made
 * it. */
static uint32_t part_of_run(const struct checking_plans *x, const char *run)
{
	uint32_t at = map_get(&x->runs, hash_bytes(run, strlen(run)));
	return at != VEC_NONE && !strcmp(x->c->labelled.v[at].run, run) ? (uint32_t)x->c->labelled.v[at].part : VEC_NONE;
}

/* A seal that says which repetition of the plan was made. What is wrong is a problem of the plan. 0, -ENOMEM. */
static int take_repetition(struct checking_plans *x, struct plan_state *state, const struct chain_link *s)
{
	struct chain_plan *p = &state->p;
	if (s->repetition != ++p->made) {
		plan_problem(x, "the repetition after %llu of %s has the number %llu", (unsigned long long)p->made - 1,
		             plan_name(p->id), (unsigned long long)s->repetition);
		p->made = s->repetition;
	}
	if (!*s->run)
		return 0;
	uint32_t at = part_of_run(x, s->run);
	if (at == VEC_NONE) {
		p->forgotten += map_get(&x->c->dead_runs, hash_bytes(s->run, strlen(s->run))) != VEC_NONE;
		return 0;
	}
	p->there++;
	int64_t began = x->c->parts.v[at].began, written = state->written;
	if (began != TIME_NONE && written != TIME_NONE && began < written)
		plan_problem(x, "repetition %llu of %s says that it began before its plan was sealed",
		             (unsigned long long)s->repetition, plan_name(p->id));
	else if (began != TIME_NONE && began > s->time)
		plan_problem(x, "repetition %llu of %s says that it began after it was sealed",
		             (unsigned long long)s->repetition, plan_name(p->id));
	return map_set(&x->named, at, 1) ? 0 : -ENOMEM;
}

/* A seal that is a step of a plan; others are passed over. 0, -ENOMEM. */
static int take_step(struct checking_plans *x, const struct chain_link *s)
{
	struct plan_state *state = s->step != CHAIN_STEP_NONE ? plan_at(x, s->plan) : NULL;
	if (!state)
		return s->step == CHAIN_STEP_NONE ? 0 : -ENOMEM;
	struct chain_plan *p = &state->p;
	switch (s->step) {
	case CHAIN_STEP_BEGIN:
		if (p->began || p->made)
			plan_problem(x, "%s was sealed twice, or after its first run", plan_name(p->id));
		p->began = true;
		if (state->written == TIME_NONE)
			state->written = s->time;
		return 0;
	case CHAIN_STEP_REPETITION:
		if (p->over)
			plan_problem(x, "%s has a repetition after its end", plan_name(p->id));
		return take_repetition(x, state, s);
	case CHAIN_STEP_END:
		p->over = true;
		if (s->repetition != p->made)
			plan_problem(x, "%s ended with %llu repetitions, but there are %llu", plan_name(p->id),
			             (unsigned long long)s->repetition, (unsigned long long)p->made);
		return 0;
	case CHAIN_STEP_NONE:
		break;
	}
	return 0;
}

/* Runs that say that a benchmark made them, and are in no step of its plan. One such run is what was cut off when the
 * benchmark was killed; there cannot be two. */
static void check_labelled(struct checking_plans *x)
{
	for (size_t k = 0; k < x->c->labelled.n; k++) {
		const struct chain_labelled *l = &x->c->labelled.v[k];
		struct plan_state *p = find_plan(x, l->bench);
		if (!p || map_get(&x->named, l->part) != VEC_NONE)
			continue;
		p->others++;
		p->other = x->c->parts.v[l->part].number;
	}
	for (size_t i = 0; i < x->plans.n; i++) {
		const struct plan_state *p = &x->plans.v[i];
		if (p->others > (p->p.over ? 0 : 1))
			plan_problem(x, "of %s there %s %zu run%s that no repetition of it names (session %016llx)",
			             plan_name(p->p.id), p->others == 1 ? "is" : "are", p->others, str_plural(p->others),
			             (unsigned long long)p->other);
	}
}

/* The plans as their events have them. 0, -ENOMEM. */
static int take_planned(struct checking_plans *x)
{
	for (size_t i = 0; i < x->c->planned.n; i++) {
		struct plan_state *p = plan_at(x, x->c->planned.v[i].id);
		if (!p)
			return -ENOMEM;
		if (p->p.known)
			plan_problem(x, "there are two plans %s", plan_name(p->p.id));
		p->p.known = true;
		p->p.planned = x->c->planned.v[i].runs;
		p->written = x->c->planned.v[i].time;
	}
	return 0;
}

/* Each plan must have been sealed before its runs, and be there. */
static void check_beginnings(struct checking_plans *x)
{
	for (size_t i = 0; i < x->plans.n; i++) {
		const struct chain_plan *p = &x->plans.v[i].p;
		if (!p->began)
			plan_problem(x, "the seal of the plan of %s before its runs is missing: it was sealed later, or cut",
			             plan_name(p->id));
		if (!p->known)
			plan_problem(x, "the plan of %s is missing", plan_name(p->id));
	}
}

/* Hands the plans over. The list becomes the report's. 0, -ENOMEM. */
static int report_plans(const struct checking_plans *x)
{
	x->r->plans = calloc(x->plans.n + 1, sizeof(*x->r->plans));
	if (!x->r->plans)
		return -ENOMEM;
	for (size_t i = 0; i < x->plans.n; i++)
		x->r->plans[i] = x->plans.v[i].p;
	x->r->n_plans = x->plans.n;
	return 0;
}

int chain_check_plans(struct chain *c, void (*say)(void *arg, const char *line), void *arg, struct chain_report *r)
{
	struct checking_plans x = {.c = c, .say = say, .arg = arg, .r = r};
	int rc = take_planned(&x);
	for (size_t i = 0; rc == 0 && i < c->labelled.n; i++)
		rc =
		    map_set(&x.runs, hash_bytes(c->labelled.v[i].run, strlen(c->labelled.v[i].run)), (uint32_t)i) ? 0 : -ENOMEM;
	for (size_t i = 0; rc == 0 && i < c->seals.n; i++)
		rc = take_step(&x, &c->seals.v[i]);
	check_beginnings(&x);
	check_labelled(&x);
	if (rc == 0)
		rc = report_plans(&x);
	map_release(&x.named);
	map_release(&x.by_id);
	map_release(&x.runs);
	vec_release(&x.plans);
	return rc;
}

/* It may be released twice. */
void chain_report_release(struct chain_report *r)
{
	free(r->plans);
	r->plans = NULL;
	r->n_plans = 0;
}
