#include "cmd/trust/trust_view.h"

#include "cmd/ui/columns.h"
#include "cmd/ui/js_print.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define VALUES_SHOWN 4

/* "a", "a, b, c, ... (10)" */
static void put_values(struct buf *b, const struct element *x)
{
	size_t shown = 0;
	for (size_t i = 0; i < x->n; i++) {
		bool seen = false;
		for (size_t k = 0; k < i && !seen; k++)
			seen = value_same(x->value[k], x->value[i]);
		if (seen && x->varied)
			continue;
		if (shown == VALUES_SHOWN) {
			buf_printf(b, ", … (%zu)", x->n);
			break;
		}
		if (shown++)
			buf_str(b, str_of(", "));
		struct str v = str_of(x->value[i]);
		/* Digests are told apart by their beginnings. */
		bool digest = v.n > 24 && str_starts(v, str_of("sha256:"));
		fmt_name(b, digest ? str_n(v.p, 19) : v);
		if (digest)
			buf_str(b, str_of("…"));
	}
	if (!x->n)
		buf_str(b, str_of("?"));
}

static void put_difference(struct buf *b, const struct trust_difference *d)
{
	const struct element *any = d->claim ? d->claim : d->seen;
	buf_printf(b, "%-9s  ", trust_part_name(d->part));
	fmt_name(b, str_of(any->name));
	buf_str(b, str_of(": "));
	switch (d->kind) {
	case TRUST_DIFFERS:
		buf_str(b, str_of("claimed "));
		put_values(b, d->claim);
		buf_str(b, str_of(", seen "));
		put_values(b, d->seen);
		if (d->within)
			buf_str(b, str_of("  (within the tolerance)"));
		break;
	case TRUST_NOT_SEEN:
		buf_str(b, str_of("claimed "));
		if (d->claim->n)
			put_values(b, d->claim);
		buf_str(b, str_of(d->claim->n ? ", not seen" : "but not seen"));
		break;
	case TRUST_NOT_CLAIMED:
		buf_str(b, str_of("seen "));
		if (d->seen->n)
			put_values(b, d->seen);
		buf_str(b, str_of(d->seen->n ? ", not claimed" : "but not claimed"));
		break;
	case TRUST_UNKNOWN:
		buf_str(b, str_of("cannot be judged: "));
		fmt_name(b, str_of(d->why));
		break;
	case TRUST_VARIED:
		buf_str(b, str_of("was supposed to stay and varied: "));
		put_values(b, d->seen);
		break;
	}
}

static void format_trust_number(struct buf *b, double v)
{
	if (isnan(v))
		buf_str(b, str_of("0/0"));
	else
		buf_printf(b, "%.4g", v == 0 ? 0 : v);
}

void trust_view_median(struct element *x)
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

static void runs_line(const struct witness *x)
{
	struct buf b = {0};
	for (size_t i = 0; x->hosts && x->hosts[i]; i++) {
		buf_str(&b, str_of(i ? ", " : ""));
		fmt_name(&b, str_of(x->hosts[i]));
	}
	if (x->n_runs == 1)
		printf("run %s on %s\n", x->ulids[0] + 18, buf_cstr(&b));
	else
		printf("%zu runs on %s\n", x->n_runs, buf_cstr(&b));
	buf_release(&b);
	if (x->failed)
		printf("%zu of them did not end well\n", x->failed);
	if (x->gaps &
	    (1u << TERM_gap_lost | 1u << TERM_gap_io_uring | 1u << TERM_gap_recorder_died | 1u << TERM_gap_tree_only |
	     1u << TERM_gap_unreadable | 1u << TERM_gap_limit | 1u << TERM_gap_damaged | 1u << TERM_gap_unended))
		printf("part of the record is missing (stemma show says what): inputs may be, too\n");
}

/* The list of inputs is as complete as the programs of a run are honest: one that means to can open a file to read past
 * every recorder that runs with its user's rights (doc/security.md). What was written is seen in any case. */
#define ASSUMES_HONEST_READS "honest_reads"

static void assumed_line(void)
{
	printf("inputs: complete only if no program of the run hid what it read\n");
}

/* It may have brought inputs; it may have been there for nothing. */
static void fed_line(const struct witness *x)
{
	if (x->fed && x->n_runs == 1)
		printf("a pipe or socket from outside could be read: what came through it is not among the inputs\n");
	else if (x->fed)
		printf(
		    "in %zu run%s a pipe or socket from outside could be read: what came through it is not among the inputs\n",
		    x->fed, str_plural(x->fed));
}

static void print_trust_verdict(const struct trust *t, const struct witness *x)
{
	struct buf b = {0};
	if (t->judged) {
		buf_str(&b, str_of("T = "));
		format_trust_number(&b, t->t);
		buf_str(&b, str_of(" = "));
		format_trust_number(&b, t->results.value);
		buf_str(&b, str_of(" (results) × "));
		format_trust_number(&b, t->inputs.value);
		buf_str(&b, str_of(" (inputs)"));
		if (t->t_eps != t->t) {
			buf_str(&b, str_of("; T_eps = "));
			format_trust_number(&b, t->t_eps);
		}
	} else {
		buf_str(&b, str_of("T cannot be judged; it lies between "));
		format_trust_number(&b, t->low);
		buf_str(&b, str_of(" and "));
		format_trust_number(&b, t->high);
	}
	buf_str(&b, str_of("; by the letter of the formula "));
	format_trust_number(&b, t->literal);
	printf("%s\n", buf_cstr(&b));
	printf("results: %zu claimed, %zu seen, %zu differ; inputs and parameters: %zu claimed, %zu seen, %zu differ\n",
	       t->results.claimed, t->results.seen, t->results.differ, t->inputs.claimed, t->inputs.seen, t->inputs.differ);
	if (t->reproducible && x->failed) {
		if (x->n_runs == 1)
			printf("reproducible, but the run failed: what agrees is what a failure left\n");
		else
			printf("reproducible, but %zu of %zu runs failed: what agrees is what failures left, too\n", x->failed,
			       x->n_runs);
		buf_release(&b);
		return;
	}
	printf("%s\n", t->reproducible                                      ? "reproducible"
	               : !t->judged || (t->t >= 1 && !t->invariants_differ) ? "whether it is reproducible is not known"
	               : t->invariants_differ && t->t >= 1 ? "not reproducible: what it was made with differs"
	                                                   : "not reproducible");
	buf_release(&b);
}

static void varied(const struct witness *x)
{
	const struct elements *v = &x->side.part[TRUST_INVARIANTS];
	size_t some = 0;
	struct buf b = {0};
	for (size_t i = 0; i < v->n; i++) {
		if (!v->v[i].varied)
			continue;
		some++;
		buf_reset(&b);
		fmt_name(&b, str_of(v->v[i].name));
		buf_str(&b, str_of(": "));
		put_values(&b, &v->v[i]);
		printf("supposed to stay, and varied: %s\n", buf_cstr(&b));
	}
	if (!v->n)
		printf("nothing is known of the machine (stemma run --machine, stemma bench run)\n");
	else if (!some)
		printf("%zu invariant%s, none varied; %zu variant%s\n", v->n, str_plural(v->n), x->variant.n,
		       str_plural(x->variant.n));
	buf_release(&b);
}

/* That a claim agrees with the median of runs does not say that these agree with each other. */
static void disagree(const struct elements *results)
{
	struct buf b = {0};
	for (size_t i = 0; i < results->n; i++) {
		if (!results->v[i].varied)
			continue;
		buf_reset(&b);
		fmt_name(&b, str_of(results->v[i].name));
		buf_str(&b, str_of(": the runs do not agree: "));
		put_values(&b, &results->v[i]);
		printf("result     %s\n", buf_cstr(&b));
	}
	buf_release(&b);
}

static void print_elements(const char *title, const struct elements *e)
{
	struct buf b = {0};
	for (size_t i = 0; i < e->n; i++) {
		buf_reset(&b);
		fmt_name(&b, str_of(e->v[i].name));
		buf_str(&b, str_of(": "));
		if (e->v[i].unknown)
			fmt_name(&b, str_of(e->v[i].unknown));
		else
			put_values(&b, &e->v[i]);
		printf("%-9s  %s\n", title, buf_cstr(&b));
	}
	buf_release(&b);
}

void trust_view_text(const struct witness *x, const struct trust *t)
{
	struct buf b = {0};
	runs_line(x);
	assumed_line();
	fed_line(x);
	if (!t) {
		print_elements("input", &x->side.part[TRUST_INPUTS]);
		print_elements("parameter", &x->side.part[TRUST_PARAMETERS]);
		print_elements("result", &x->side.part[TRUST_RESULTS]);
		if (x->side.absent[TRUST_RESULTS])
			printf("result     %s\n", x->side.absent[TRUST_RESULTS]);
		print_elements("missing", &x->missing);
		varied(x);
		return;
	}
	print_trust_verdict(t, x);
	disagree(&x->side.part[TRUST_RESULTS]);
	size_t unknown = 0;
	for (size_t i = 0; i < t->n; i++) {
		const struct trust_difference *d = &t->v[i];
		if (d->part == TRUST_INVARIANTS && d->kind == TRUST_UNKNOWN) {
			unknown++;
			continue;
		}
		buf_reset(&b);
		put_difference(&b, d);
		printf("%s\n", buf_cstr(&b));
	}
	if (unknown)
		printf("%zu claimed invariant%s cannot be judged: the record does not have %s\n", unknown, str_plural(unknown),
		       unknown == 1 ? "it" : "them");
	if (!t->results.claimed)
		printf("no results are claimed\n");
	buf_release(&b);
}

/* ---- JSON ---- */

static json_t *values_json(const struct element *x)
{
	json_t *a = json_array();
	for (size_t i = 0; x && i < x->n; i++)
		js_add(a, js_string(str_of(x->value[i])));
	return a;
}

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

static void judged_json(json_t *o, const struct trust *t)
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

static json_t *texts_json(char *const *v)
{
	json_t *a = json_array();
	for (size_t i = 0; v && v[i]; i++)
		js_add(a, js_string(str_of(v[i])));
	return a;
}

int trust_view_json(const struct witness *x, const struct trust *t)
{
	json_t *o = json_object();
	js_num(o, "format", 1);
	js_put(o, "runs", texts_json(x->ulids));
	js_put(o, "hosts", texts_json(x->hosts));
	js_num(o, "failed", x->failed);
	js_num(o, "fed", x->fed);
	js_gaps(o, "completeness", x->gaps);
	json_t *assumes = json_array();
	js_add(assumes, js_string(str_of(ASSUMES_HONEST_READS)));
	js_put(o, "assumes", assumes);
	if (t)
		judged_json(o, t);
	js_put(o, "inputs", set_json(&x->side.part[TRUST_INPUTS]));
	js_put(o, "parameters", set_json(&x->side.part[TRUST_PARAMETERS]));
	js_put(o, "results", set_json(&x->side.part[TRUST_RESULTS]));
	js_put(o, "missing", set_json(&x->missing));
	js_put(o, "invariants", set_json(&x->side.part[TRUST_INVARIANTS]));
	js_put(o, "variants", set_json(&x->variant));
	return js_print(o, false);
}
