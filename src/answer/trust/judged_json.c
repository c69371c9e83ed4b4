#include "answer/trust/judged.h"

/* The list of inputs is as complete as the programs of a run are honest: one that means to can open a file to read past
 * every recorder that runs with its user's rights (doc/security.md). What was written is seen in any case. */
#define ASSUMES_HONEST_READS "honest_reads"

/* The values of a claim's element as a list. NULL gives an empty list. The caller owns it. */
static json_t *values_json(const struct element *x)
{
	json_t *a = json_array();
	for (size_t i = 0; x && i < x->n; i++)
		js_add(a, js_string(str_of(x->value[i])));
	return a;
}

/* Elements by name, with their values. The caller's. */
static json_t *set_json(const struct elements *e)
{
	json_t *o = json_object();
	for (size_t i = 0; i < e->n; i++) {
		json_t *one = json_object();
		js_put(one, "values", values_json(&e->v[i]));
		js_bool(one, "varied", e->v[i].varied);
		if (e->v[i].unknown)
			js_text(one, "unknown", e->v[i].unknown);
		js_put(o, e->v[i].name, one);
	}
	return o;
}

/* The caller owns it. */
static json_t *factor_json(const struct trust_factor *f)
{
	json_t *o = json_object();
	js_put(o, "value", json_real(f->value));
	js_put(o, "value_eps", json_real(f->value_eps));
	js_num(o, "seen", f->seen);
	js_num(o, "claimed", f->claimed);
	js_num(o, "differ", f->differ);
	js_num(o, "unknown", f->unknown);
	return o;
}

/* Trust that was not judged is null. */
static void trust_json(json_t *o, const struct trust *t)
{
	json_t *list = json_array();
	js_bool(o, "judged", t->judged);
	js_put(o, "trust", js_real(t->t));
	js_put(o, "trust_eps", js_real(t->t_eps));
	js_put(o, "trust_literal", js_real(t->literal));
	js_put(o, "low", json_real(t->low));
	js_put(o, "high", json_real(t->high));
	js_put(o, "reproducible", t->judged ? json_boolean(t->reproducible) : json_null());
	js_put(o, "results_factor", factor_json(&t->results));
	js_put(o, "inputs_factor", factor_json(&t->inputs));
	for (size_t i = 0; i < t->n; i++) {
		const struct trust_difference *d = &t->v[i];
		json_t *one = json_object();
		js_text(one, "of", trust_part_name(d->part));
		js_text(one, "kind", trust_kind_name(d->kind));
		js_text(one, "name", d->claim ? d->claim->name : d->seen->name);
		js_put(one, "claimed", d->claim ? values_json(d->claim) : json_null());
		js_put(one, "seen", d->seen ? values_json(d->seen) : json_null());
		if (d->why)
			js_text(one, "why", d->why);
		js_bool(one, "within_tolerance", d->within);
		js_add(list, one);
	}
	js_put(o, "differences", list);
}

/* v ends with NULL, and may be NULL itself: an empty list. The caller owns it. */
static json_t *texts_json(char *const *v)
{
	json_t *a = json_array();
	for (size_t i = 0; v && v[i]; i++)
		js_add(a, js_string(str_of(v[i])));
	return a;
}

/* The plan that the runs were made by; null: none was sealed before them. */
static json_t *plan_json(const struct judged *j)
{
	static const char *const verdicts[] = {"fits", "unknown", "unsealed", "picked", "other"};
	const struct plans *p = &j->plans;
	if (!p->n && !j->others_plans)
		return json_null();
	json_t *o = json_object();
	js_put(o, "benches", texts_json(p->ids));
	js_num(o, "planned", p->planned);
	js_num(o, "made", p->made);
	js_num(o, "claimed", p->claimed);
	js_num(o, "others", p->n_others);
	js_num(o, "gone", p->gone);
	js_num(o, "unsealed", p->unsealed);
	js_num(o, "outside", p->outside);
	js_bool(o, "lost", p->lost);
	js_num(o, "not_sealed_so", j->others_plans);
	js_text(o, "verdict", verdicts[judged_by_plan(j)]);
	if (p->n_others) {
		js_num(o, "failed", j->all.failed);
		js_put(o, "other_results", set_json(&j->others.side.part[TRUST_RESULTS]));
	}
	if (p->n_others && j->claimed) {
		js_put(o, "trust", p->gone ? json_null() : js_real(j->trust_all.t));
		js_put(o, "trust_eps", p->gone ? json_null() : js_real(j->trust_all.t_eps));
	}
	return o;
}

json_t *judged_json(const struct judged *j)
{
	const struct witness *x = &j->seen;
	json_t *o = json_object(), *assumes = json_array();
	js_num(o, "format", 1);
	js_put(o, "runs", texts_json(x->ulids));
	js_put(o, "hosts", texts_json(x->hosts));
	js_num(o, "failed", x->failed);
	js_num(o, "fed", x->fed);
	js_gaps(o, "completeness", x->gaps);
	js_add(assumes, js_string(str_of(ASSUMES_HONEST_READS)));
	js_put(o, "assumes", assumes);
	js_put(o, "plan", plan_json(j));
	if (j->claimed) {
		trust_json(o, &j->trust);
		enum judged_plan by = judged_by_plan(j);
		if (by != JUDGED_PLAN_FITS && j->trust.judged && j->trust.reproducible)
			js_put(o, "reproducible", by == JUDGED_PLAN_UNKNOWN ? json_null() : json_false());
	}
	js_put(o, "inputs", set_json(&x->side.part[TRUST_INPUTS]));
	js_put(o, "parameters", set_json(&x->side.part[TRUST_PARAMETERS]));
	js_put(o, "results", set_json(&x->side.part[TRUST_RESULTS]));
	js_put(o, "missing", set_json(&x->missing));
	js_put(o, "invariants", set_json(&x->side.part[TRUST_INVARIANTS]));
	js_put(o, "variants", set_json(&x->variant));
	return o;
}
