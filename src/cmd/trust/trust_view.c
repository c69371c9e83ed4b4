#include "cmd/trust/trust_view.h"

#include "cmd/ui/columns.h"

#include <math.h>

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

/* Appends a difference between what was claimed and what was seen. */
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
		buf_str(b, str_of("should not vary, but varied: "));
		put_values(b, d->seen);
		break;
	}
}

/* "0/0" for NaN. */
static void format_trust_number(struct buf *b, double v)
{
	if (isnan(v))
		buf_str(b, str_of("0/0"));
	else
		buf_printf(b, "%.4g", v == 0 ? 0 : v);
}

/* How many runs on which hosts, whether some failed, and whether their record has gaps. */
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
		printf("%zu of them failed\n", x->failed);
	if (gaps_that_lack(x->gaps, GAP_ACCESSES))
		printf("the record is incomplete (stemma show lists the gaps): inputs may be missing\n");
}

/* Prints what is taken for granted of the inputs. */
static void assumed_line(void)
{
	printf("inputs: complete unless a program of the run hid its reads\n");
}

/* Prints the line of a connection that was there during the run. It may have brought inputs; it may have been there
 * for nothing. */
static void fed_line(const struct witness *x)
{
	if (x->fed && x->n_runs == 1)
		printf("an external pipe or socket could be read; its data are not among the inputs\n");
	else if (x->fed)
		printf("in %zu run%s an external pipe or socket could be read; its data are not among the inputs\n", x->fed,
		       str_plural(x->fed));
}

/* What the other runs of the plan gave of what is claimed; without a claim, all that they gave. */
static void print_others(const struct judged *j)
{
	const struct elements *given = &j->others.side.part[TRUST_RESULTS];
	struct buf b = {0};
	for (size_t i = 0; i < given->n; i++) {
		double median;
		buf_reset(&b);
		fmt_name(&b, str_of(given->v[i].name));
		buf_str(&b, str_of(": "));
		put_values(&b, &given->v[i]);
		if (given->v[i].varied && trust_median(&given->v[i], &median))
			buf_printf(&b, "; median %.6g", median);
		printf("  %s\n", buf_cstr(&b));
	}
	if (!given->n)
		printf("  no results: %s\n",
		       j->others.side.absent[TRUST_RESULTS] ? j->others.side.absent[TRUST_RESULTS] : "none was found");
	buf_release(&b);
}

/* What the record lacks of the plan, and what it has that is none of it. */
static void print_plan_lacks(const struct plans *p)
{
	if (p->gone)
		printf("%llu run%s of the plan %s no longer in the record: the results of %s are unknown\n",
		       (unsigned long long)p->gone, str_plural(p->gone), p->gone == 1 ? "is" : "are",
		       p->gone == 1 ? "it" : "them");
	if (p->unsealed)
		printf("%llu of the runs name%s the plan, but the plan has no seal for %s\n", (unsigned long long)p->unsealed,
		       p->unsealed == 1 ? "s" : "", p->unsealed == 1 ? "it" : "them");
	if (p->outside)
		printf("%llu of the runs %s not part of a plan\n", (unsigned long long)p->outside,
		       p->outside == 1 ? "is" : "are");
	if (p->lost)
		printf("the record does not prove that the plan was sealed before its first run\n");
}

/* How many of the runs that were planned and made are claimed, and what the others give. */
static void print_plan(const struct judged *j)
{
	const struct plans *p = &j->plans;
	if (j->others_plans)
		printf("the record has no seal, or another one, for %zu plan%s that the claim names\n", j->others_plans,
		       str_plural(j->others_plans));
	if (!p->n) {
		printf("no plan was sealed before %s: whether there were other runs is unknown\n",
		       j->seen.n_runs == 1 ? "this run" : "these runs");
		return;
	}
	printf("%llu of %llu run%s of the same plan", (unsigned long long)p->claimed, (unsigned long long)p->made,
	       str_plural(p->made));
	if (p->n > 1)
		printf(", in %zu benchmarks", p->n);
	if (p->planned != p->made)
		printf(" (%llu planned)", (unsigned long long)p->planned);
	if (p->n_others)
		printf("; the other %zu give%s:", p->n_others, p->n_others == 1 ? "s" : "");
	printf("\n");
	if (p->n_others)
		print_others(j);
	if (j->others.failed)
		printf("%zu of these %zu failed\n", j->others.failed, p->n_others);
	print_plan_lacks(p);
}

/* T of all runs of the plan. */
static void print_trust_of_all(const struct judged *j)
{
	struct buf b = {0};
	const struct trust *t = &j->trust_all;
	if (!j->plans.n_others && !j->plans.gone)
		return;
	uint64_t all = j->plans.made + j->plans.outside;
	buf_printf(&b, "T of all %llu ", (unsigned long long)all);
	if (j->plans.gone) {
		buf_str(&b, str_of("is unknown"));
	} else if (t->judged) {
		buf_str(&b, str_of("= "));
		format_trust_number(&b, t->t);
		if (t->t_eps != t->t) {
			buf_str(&b, str_of("; T_eps = "));
			format_trust_number(&b, t->t_eps);
		}
	} else {
		buf_str(&b, str_of("is unknown, because the record is incomplete; it lies between "));
		format_trust_number(&b, t->low);
		buf_str(&b, str_of(" and "));
		format_trust_number(&b, t->high);
	}
	printf("%s\n", buf_cstr(&b));
	buf_release(&b);
}

/* The last word on a claim that its own runs agree with. */
static const char *verdict_by_plan(enum judged_plan by)
{
	static const char *const words[] = {
	    "reproducible", "reproducibility is unknown: some runs of the plan are unknown",
	    "not reproducible: the claim has runs that the plan does not have",
	    "not reproducible: all runs of the plan together do not support the claim",
	    "not reproducible: the claim was made from another record, or the record was rewritten"};
	return words[by];
}

/* Trust as a product, or between what it lies where the record is incomplete. */
static void print_trust_verdict(const struct judged *j)
{
	const struct trust *t = &j->trust;
	const struct witness *x = &j->seen;
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
		buf_str(&b, str_of("T is unknown, because the record is incomplete; it lies between "));
		format_trust_number(&b, t->low);
		buf_str(&b, str_of(" and "));
		format_trust_number(&b, t->high);
	}
	buf_str(&b, str_of("; by the published formula "));
	format_trust_number(&b, t->literal);
	printf("%s\n", buf_cstr(&b));
	print_trust_of_all(j);
	printf("results: %zu claimed, %zu recorded, %zu differ; inputs and parameters: %zu claimed, %zu recorded, %zu "
	       "differ\n",
	       t->results.claimed, t->results.seen, t->results.differ, t->inputs.claimed, t->inputs.seen, t->inputs.differ);
	if (t->reproducible && x->failed) {
		if (x->n_runs == 1)
			printf("reproducible, but the run failed: equal results are those of a failed run\n");
		else
			printf("reproducible, but %zu of %zu runs failed: equal results include those of failed runs\n", x->failed,
			       x->n_runs);
		buf_release(&b);
		return;
	}
	printf("%s\n", t->reproducible                                      ? verdict_by_plan(judged_by_plan(j))
	               : !t->judged || (t->t >= 1 && !t->invariants_differ) ? "reproducibility is unknown"
	               : t->invariants_differ && t->t >= 1 ? "not reproducible: inputs or parameters differ"
	                                                   : "not reproducible");
	buf_release(&b);
}

/* What should not vary in the runs and did, or how many there are of either. */
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
		printf("should not vary, but varied: %s\n", buf_cstr(&b));
	}
	if (!v->n)
		printf("the machine was not recorded (use stemma run --machine or stemma bench run)\n");
	else if (!some)
		printf("%zu invariant%s, none varied; %zu variant%s\n", v->n, str_plural(v->n), x->variant.n,
		       str_plural(x->variant.n));
	buf_release(&b);
}

/* Prints that results disagree. That a claim agrees with the median of runs does not say that these agree with each
 * other. */
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

/* A line for each; where it is not known, why. */
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

/* Without a claim: what the runs used and gave. */
void trust_view_text(const struct judged *j)
{
	const struct witness *x = &j->seen;
	const struct trust *t = j->claimed ? &j->trust : NULL;
	struct buf b = {0};
	runs_line(x);
	assumed_line();
	fed_line(x);
	print_plan(j);
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
	print_trust_verdict(j);
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
