#include "trust/bench/plans.h"

#include "base/digest.h"
#include "base/hash.h"
#include "base/hex.h"
#include "base/map.h"
#include "base/vec.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STEP_BEGIN 1
#define STEP_REPETITION 2

/* A plan of the record. */
struct known_plan {
	char id[27];
	bool there;  /* its event is */
	bool sealed; /* before its first run */
	bool own;    /* a given run is of it */
	bool chosen; /* it is one of those, or like one */
	uint64_t runs;
	struct digest like, seal; /* seal: where it is sealed, the hash of that */
};
/* A run that is of a plan: by a step that was sealed, or only by its label. */
struct planned_run {
	size_t plan;
	char ulid[27]; /* "" it left no record */
	store_id id;   /* 0: it is not in the record */
	bool given, sealed;
};
struct gathering {
	struct store *s;
	VEC(struct known_plan) plans;
	VEC(struct planned_run) runs;
	struct map by_id;  /* hash of an id -> index in plans, of the first */
	struct map given;  /* store_id -> 1 */
	struct map placed; /* store_id -> index in runs */
};

/* Cut to 26 characters. */
static void copy_id(char ret[27], struct str s)
{
	snprintf(ret, 27, "%.*s", (int)s.n, s.p ? s.p : "");
}

/* The place of a plan. SIZE_MAX: there is none. */
static size_t plan_index(struct gathering *g, struct str id)
{
	uint32_t at = map_get(&g->by_id, hash_bytes(id.p, id.n));
	return at != VEC_NONE && str_is(id, g->plans.v[at].id) ? at : SIZE_MAX;
}

/* Adds a plan. NULL without memory. A second one of the same id is kept, and not found by it. */
static struct known_plan *add_plan(struct gathering *g, struct str id)
{
	struct known_plan *p = vec_add(&g->plans);
	if (!p)
		return NULL;
	*p = (struct known_plan){0};
	copy_id(p->id, id);
	if (plan_index(g, id) == SIZE_MAX && !map_set(&g->by_id, hash_bytes(id.p, id.n), (uint32_t)(g->plans.n - 1)))
		return NULL;
	return p;
}

/* Adds the items that begin with only (NULL: all), so that no two lists have the same sum. */
static void add_list(struct digest_sum *sum, const struct strlist *l, const char *only)
{
	struct str s;
	for (size_t pos = 0; strlist_next(l, &pos, &s);) {
		unsigned char n[8];
		if (only && !str_starts(s, str_of(only)))
			continue;
		for (int k = 0; k < 8; k++)
			n[k] = (unsigned char)((uint64_t)s.n >> 8 * k);
		digest_add(sum, n, sizeof(n));
		digest_add(sum, s.p, s.n);
	}
	digest_add(sum, "\377\377\377\377\377\377\377\377", 8); /* no length: the list is over */
}

/* The hash by which plans are like each other: plans of the same command, files, parameters and machine have the
 * same. */
static void likeness(const struct event_plan *p, struct digest *ret)
{
	struct digest_sum sum;
	digest_begin(&sum);
	add_list(&sum, &p->argv, NULL);
	add_list(&sum, &p->file, NULL);
	add_list(&sum, &p->digest, NULL);
	add_list(&sum, &p->parameter, NULL);
	add_list(&sum, &p->machine, "host=");
	add_list(&sum, &p->machine, "cpu.model=");
	digest_end(&sum, ret);
}

/* All plans of the record. 0 or -errno. */
static int gather_plans(struct gathering *g)
{
	struct reported_list l;
	int rc = store_reported(g->s, 0, EVENT_plan, &l);
	for (size_t i = 0; rc == 0 && i < l.n; i++) {
		const struct event_plan *e = &l.v[i].ev.plan;
		struct known_plan *p = add_plan(g, e->id);
		if (!p) {
			rc = -ENOMEM;
			break;
		}
		p->there = true;
		p->runs = e->runs;
		likeness(e, &p->like);
	}
	reported_list_release(&l);
	return rc;
}

/* Of the run with that id; 0: it is not in the record. */
static int find_stored(struct gathering *g, const char *ulid, store_id *ret)
{
	struct run_info run;
	*ret = 0;
	int rc = strlen(ulid) == 26 ? store_find_run(g->s, ulid, ret) : 0;
	/* One that was forgotten is known by its name yet. */
	if (rc == 1)
		rc = store_run_told(g->s, *ret, &run);
	if (rc != 1 || run.start == TIME_NONE)
		*ret = 0;
	return rc < 0 && rc != -ENOTUNIQ ? rc : 0;
}

/* A run of the plan, once; sealed: a seal says so. 0, -ENOMEM. */
static int add_planned(struct gathering *g, size_t plan, struct str ulid, store_id id, bool sealed)
{
	uint32_t at = id ? map_get(&g->placed, id) : VEC_NONE;
	if (at != VEC_NONE) {
		g->runs.v[at].sealed |= sealed;
		return 0;
	}
	struct planned_run *r = vec_add(&g->runs);
	if (!r)
		return -ENOMEM;
	*r = (struct planned_run){.plan = plan, .id = id, .sealed = sealed};
	copy_id(r->ulid, ulid);
	r->given = id && map_get(&g->given, id) != VEC_NONE;
	g->plans.v[plan].own |= r->given;
	return !id || map_set(&g->placed, id, (uint32_t)(g->runs.n - 1)) ? 0 : -ENOMEM;
}

/* A step that the chain has of a plan. 0, -ENOMEM, -errno. */
static int take_step(struct gathering *g, const struct event_seal *e)
{
	size_t plan = plan_index(g, e->plan);
	store_id id;
	char ulid[27];
	if (plan == SIZE_MAX) {
		if (!add_plan(g, e->plan))
			return -ENOMEM;
		plan = g->plans.n - 1;
	}
	if (e->step == STEP_BEGIN && e->hash.n == DIGEST_BYTES) {
		g->plans.v[plan].sealed = true;
		memcpy(g->plans.v[plan].seal.b, e->hash.p, DIGEST_BYTES);
	}
	if (e->step != STEP_REPETITION)
		return 0;
	copy_id(ulid, e->run);
	int rc = find_stored(g, ulid, &id);
	return rc < 0 ? rc : add_planned(g, plan, e->run, id, true);
}

/* Runs that seals of plans name. 0 or -errno. */
static int gather_steps(struct gathering *g)
{
	struct reported_list l;
	int rc = store_reported(g->s, 0, EVENT_seal, &l);
	for (size_t i = 0; rc == 0 && i < l.n; i++)
		if (l.v[i].ev.seal.step)
			rc = take_step(g, &l.v[i].ev.seal);
	reported_list_release(&l);
	return rc;
}

/* Runs that no step names, and that say whose they are. 0, -errno. */
static int gather_labelled(struct gathering *g)
{
	store_id *all = NULL;
	size_t n = 0;
	int rc = g->plans.n ? store_runs(g->s, 0, &all, &n) : 0;
	rc = rc < 0 ? rc : 0;
	for (size_t i = 0; rc == 0 && i < n; i++) {
		struct run_info run;
		struct str label;
		if (map_get(&g->placed, all[i]) != VEC_NONE)
			continue;
		rc = store_run_told(g->s, all[i], &run);
		if (rc < 0)
			break;
		size_t plan = SIZE_MAX;
		for (size_t pos = 0; rc == 1 && plan == SIZE_MAX && strlist_next(&run.labels, &pos, &label);)
			if (str_starts(label, str_of("bench=")))
				plan = plan_index(g, str_n(label.p + 6, label.n - 6));
		rc = plan == SIZE_MAX ? 0 : add_planned(g, plan, run.ulid, all[i], false);
	}
	free(all);
	return rc;
}

/* Chooses the plans that are told of: the plans of the given runs, and those like them. */
static void choose(struct gathering *g)
{
	for (size_t i = 0; i < g->plans.n; i++) {
		struct known_plan *p = &g->plans.v[i];
		p->chosen = p->own;
		for (size_t k = 0; !p->chosen && p->there && k < g->plans.n; k++)
			p->chosen = g->plans.v[k].own && g->plans.v[k].there && digest_eq(&p->like, &g->plans.v[k].like);
	}
}

/* Of the plans that were chosen: ids and seals. 0, -ENOMEM. */
static int report_ids(const struct gathering *g, struct plans *ret)
{
	char hex[2 * DIGEST_BYTES + 1];
	ret->ids = calloc(g->plans.n + 1, sizeof(*ret->ids));
	ret->seals = calloc(g->plans.n + 1, sizeof(*ret->seals));
	for (size_t i = 0; ret->ids && ret->seals && i < g->plans.n; i++) {
		const struct known_plan *p = &g->plans.v[i];
		if (!p->chosen)
			continue;
		hex_text(p->seal.b, DIGEST_BYTES, hex);
		ret->ids[ret->n] = strdup(p->id);
		ret->seals[ret->n] = strdup(p->sealed ? hex : "");
		if (!ret->ids[ret->n] || !ret->seals[ret->n])
			return -ENOMEM;
		ret->n++;
		ret->planned += p->runs;
		ret->lost |= !p->there || !p->sealed;
	}
	return ret->ids && ret->seals ? 0 : -ENOMEM;
}

/* Reports the runs of the chosen plans. n_given: runs that were asked for. 0, -ENOMEM. */
static int report_runs(const struct gathering *g, size_t n_given, struct plans *ret)
{
	ret->others = calloc(g->runs.n + 1, sizeof(*ret->others));
	if (!ret->others)
		return -ENOMEM;
	uint64_t met = 0;
	for (size_t i = 0; i < g->runs.n; i++) {
		const struct planned_run *r = &g->runs.v[i];
		met += r->given;
		if (!g->plans.v[r->plan].chosen)
			continue;
		ret->made++;
		ret->claimed += r->given;
		ret->gone += !r->id;
		ret->unsealed += r->given && !r->sealed;
		if (r->id && !r->given)
			ret->others[ret->n_others++] = r->id;
	}
	ret->outside = ret->n ? n_given - met : 0;
	return 0;
}

int plans_of_runs(struct store *s, const store_id *runs, size_t n, struct err *err, struct plans *ret)
{
	struct gathering g = {.s = s};
	int rc = 0;
	*ret = (struct plans){0};
	for (size_t i = 0; rc == 0 && i < n; i++)
		rc = map_set(&g.given, runs[i], 1) ? 0 : -ENOMEM;
	if (rc == 0)
		rc = gather_plans(&g);
	if (rc == 0)
		rc = gather_steps(&g);
	if (rc == 0)
		rc = gather_labelled(&g);
	choose(&g);
	if (rc == 0)
		rc = report_ids(&g, ret);
	if (rc == 0)
		rc = report_runs(&g, n, ret);
	vec_release(&g.plans);
	vec_release(&g.runs);
	map_release(&g.by_id);
	map_release(&g.given);
	map_release(&g.placed);
	return rc < 0 ? err_set(err, -rc, "cannot read the plans") : 0;
}

int plans_sealed_so(struct store *s, const char *plan, const char *hash, struct err *err)
{
	struct digest want;
	struct reported_list l;
	bool found = false;
	if (!hex_parse(str_of(hash), want.b, DIGEST_BYTES))
		return 0;
	int rc = store_reported(s, 0, EVENT_seal, &l);
	for (size_t i = 0; rc == 0 && i < l.n && !found; i++) {
		const struct event_seal *e = &l.v[i].ev.seal;
		found = e->step == STEP_BEGIN && str_is(e->plan, plan) && e->hash.n == DIGEST_BYTES &&
		        !memcmp(e->hash.p, want.b, DIGEST_BYTES);
	}
	reported_list_release(&l);
	return rc < 0 ? err_set(err, -rc, "cannot read the plans") : found;
}

/* p is empty then. */
void plans_release(struct plans *p)
{
	for (size_t i = 0; p->ids && p->ids[i]; i++)
		free(p->ids[i]);
	for (size_t i = 0; p->seals && p->seals[i]; i++)
		free(p->seals[i]);
	free(p->ids);
	free(p->seals);
	free(p->others);
	*p = (struct plans){0};
}
