#include "answer/trust/judged.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The runs that were named; else those that the claim names; else the last one. Appends to *ids. 1; 0 or -ENOTUNIQ as
 * witness_find; -EINVAL: the claim's id is not whole; -errno; with a sentence. */
static int find_runs(struct store *s, char *const *words, size_t n_words, const struct claim *claim, struct err *err,
                     store_id **ids, size_t *n)
{
	int rc = 1;
	for (size_t i = 0; rc == 1 && i < n_words; i++)
		rc = witness_find(s, words[i], err, ids, n);
	for (size_t i = 0; rc == 1 && !n_words && claim && claim->runs && claim->runs[i]; i++) {
		/* A claim names runs by their whole ids: "@" would be another one tomorrow. */
		if (strlen(claim->runs[i]) != 26)
			return (err_set(err, 0, "the claim names the run '%s', which is not a complete id", claim->runs[i]),
			        -EINVAL);
		rc = witness_find(s, claim->runs[i], err, ids, n);
	}
	if (rc == 1 && !*n)
		rc = witness_find(s, "@", err, ids, n);
	return rc;
}

/* One run named twice counts once. */
static void drop_repeated(store_id *ids, size_t *n)
{
	for (size_t i = 0; i < *n; i++)
		for (size_t k = i + 1; k < *n;)
			if (ids[k] == ids[i])
				ids[k] = ids[--*n];
			else
				k++;
}

/* The runs beside the claimed ones, and all together. 0; -errno with a sentence; ret is to be released in any case. */
static int judge_plan(struct store *s, const store_id *ids, size_t n, struct claim *claim, const char *tolerance,
                      const struct witness_options *o, struct err *err, struct judged *ret)
{
	const struct plans *p = &ret->plans;
	int r = plans_of_runs(s, ids, n, err, &ret->plans);
	for (size_t i = 0; r == 0 && claim && claim->plans && claim->plans[i]; i++) {
		r = plans_sealed_so(s, claim->plans[i], claim->seals[i], err);
		ret->others_plans += r == 0;
		r = r < 0 ? r : 0;
	}
	if (r < 0 || !p->n_others)
		return r;
	store_id *all = calloc(n + p->n_others, sizeof(*all));
	if (!all)
		return err_set(err, ENOMEM, "cannot read the other runs of the plan");
	memcpy(all, ids, n * sizeof(*all));
	memcpy(all + n, p->others, p->n_others * sizeof(*all));
	r = witness_runs(s, p->others, p->n_others, o, err, &ret->others);
	if (r == 0)
		r = witness_runs(s, all, n + p->n_others, o, err, &ret->all);
	if (r == 0 && claim)
		r = trust_measure(&ret->all.side, &claim->side, tolerance, err, &ret->trust_all);
	free(all);
	return r;
}

int judged_make(const struct answer_source *a, char *const *words, size_t n, struct claim *claim, const char *tolerance,
                struct digest_cache *cache, struct err *err, struct judged *ret)
{
	store_id *ids = NULL;
	size_t n_ids = 0;
	struct witness_options o = {.system_extra = a->system_extra, .cache = cache};
	*ret = (struct judged){.claimed = claim};
	int r = find_runs(a->store, words, n, claim, err, &ids, &n_ids);
	if (r == 1) {
		drop_repeated(ids, &n_ids);
		r = witness_runs(a->store, ids, n_ids, &o, err, &ret->seen);
		if (r == 0 && claim)
			r = trust_measure(&ret->seen.side, &claim->side, tolerance, err, &ret->trust);
		if (r == 0)
			r = judge_plan(a->store, ids, n_ids, claim, tolerance, &o, err, ret);
		r = r < 0 ? r : 1;
	}
	free(ids);
	if (r <= 0)
		judged_release(ret);
	return r;
}

/* j is empty then. */
void judged_release(struct judged *j)
{
	trust_release(&j->trust);
	trust_release(&j->trust_all);
	witness_release(&j->seen);
	witness_release(&j->others);
	witness_release(&j->all);
	plans_release(&j->plans);
	*j = (struct judged){0};
}

bool judged_agrees(const struct judged *j)
{
	return j->trust.judged && j->trust.t >= 1 && j->trust.reproducible && !j->seen.failed &&
	       judged_by_plan(j) == JUDGED_PLAN_FITS;
}

/* The worst that holds, or that it fits. */
enum judged_plan judged_by_plan(const struct judged *j)
{
	const struct plans *p = &j->plans;
	if (j->others_plans)
		return JUDGED_PLAN_OTHER;
	if (p->n_others && j->claimed && j->trust_all.judged && j->trust_all.t_eps < 1)
		return JUDGED_PLAN_PICKED;
	if (p->n_others && j->all.failed > j->seen.failed)
		return JUDGED_PLAN_PICKED;
	if (p->unsealed || p->outside)
		return JUDGED_PLAN_UNSEALED;
	bool known = !p->gone && !p->lost && (!p->n_others || !j->claimed || j->trust_all.judged);
	return known ? JUDGED_PLAN_FITS : JUDGED_PLAN_UNKNOWN;
}

/* ---- the claim that would agree ---- */

/* What others can compare with theirs; not the user's environment, nor what one machine has by chance. */
static bool is_published(const char *name)
{
	static const char *const names[] = {"binary",        "library.", "program.", "build.", "cpu.model",
	                                    "cpu.microcode", "kernel",   "machine",  "os",     "libc"};
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		size_t n = strlen(names[i]);
		if (names[i][n - 1] == '.' ? !strncmp(name, names[i], n) : !strcmp(name, names[i]))
			return true;
	}
	return false;
}

/* Puts the median in the place of several numbers; what is none stays. */
static void put_median(struct element *x)
{
	double *v = malloc((x->n + 1) * sizeof(*v));
	char text[40];
	bool numbers = v && x->n;
	for (size_t i = 0; numbers && i < x->n; i++)
		numbers = value_number(x->value[i], &v[i]);
	for (size_t i = 1; numbers && i < x->n; i++) /* few; sorted by insertion */
		for (size_t k = i; k && v[k - 1] > v[k]; k--) {
			double t = v[k];
			v[k] = v[k - 1];
			v[k - 1] = t;
		}
	if (numbers) {
		double m = x->n % 2 ? v[x->n / 2] : (v[x->n / 2 - 1] + v[x->n / 2]) / 2;
		snprintf(text, sizeof(text), "%.17g", m);
		char *own = strdup(text);
		if (own) {
			for (size_t i = 0; i < x->n; i++)
				free(x->value[i]);
			x->value[0] = own;
			x->n = 1;
		}
	}
	free(v);
}

/* Puts the median where results vary: of several runs that differ the claim says the median of numbers, and nothing
 * of what is none. */
static void put_medians(struct elements *results)
{
	for (size_t i = 0; i < results->n; i++)
		if (results->v[i].varied)
			put_median(&results->v[i]);
}

/* Brings the invariants that held and can be published to the front; how many they are. */
static size_t keep_published(struct elements *v)
{
	size_t kept = 0;
	for (size_t i = 0; i < v->n; i++) {
		struct element t = v->v[kept];
		if (v->v[i].varied || !is_published(v->v[i].name))
			continue;
		v->v[kept] = v->v[i];
		v->v[i] = t;
		kept++;
	}
	return kept;
}

int judged_claim(struct judged *j, struct buf *ret)
{
	struct claim c = {.side = j->seen.side, .runs = j->seen.ulids, .plans = j->plans.ids, .seals = j->plans.seals};
	struct elements *v = &c.side.part[TRUST_INVARIANTS];
	size_t all = v->n;
	put_medians(&c.side.part[TRUST_RESULTS]);
	v->n = keep_published(v);
	int r = claim_write(&c, ret);
	v->n = all;
	j->seen.side = c.side;
	return r;
}
