#include "trust/measure.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* s is empty then. */
void trust_side_release(struct trust_side *s)
{
	for (int i = 0; i < TRUST_PARTS; i++) {
		elements_release(&s->part[i]);
		free(s->absent[i]);
	}
	*s = (struct trust_side){0};
}

/* Static. */
const char *trust_part_name(enum trust_part p)
{
	static const char *const words[] = {"input", "parameter", "result", "invariant"};
	return words[p];
}

/* Static. */
const char *trust_kind_name(enum trust_kind k)
{
	static const char *const words[] = {"differs", "not seen", "not claimed", "unknown", "varied"};
	return words[k];
}

bool tolerance_read(const char *text, double *ret_relative, double *ret_absolute)
{
	char number[64];
	size_t n = strlen(text);
	double d;
	bool percent = n && text[n - 1] == '%';
	n -= percent;
	if (!n || n >= sizeof(number))
		return false;
	memcpy(number, text, n);
	number[n] = '\0';
	if (!value_number(number, &d) || d < 0)
		return false;
	*ret_relative = percent ? d / 100 : 0;
	*ret_absolute = percent ? 0 : d;
	return true;
}

/* ---- one element ---- */

static int compare_measures(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* The number what one number a claim gives is compared with where several runs gave several. False: it is not known
 * how. */
static bool combined(const struct element *seen, const char *statistic, double *ret)
{
	double *v = malloc(seen->n * sizeof(*v)), sum = 0;
	bool known = v && seen->n;
	for (size_t i = 0; known && i < seen->n; i++) {
		known = value_number(seen->value[i], &v[i]);
		sum += known ? v[i] : 0;
	}
	if (known) {
		size_t n = seen->n;
		qsort(v, n, sizeof(*v), compare_measures);
		if (!statistic || !strcmp(statistic, "median"))
			*ret = n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
		else if (!strcmp(statistic, "mean"))
			*ret = sum / (double)n;
		else if (!strcmp(statistic, "min"))
			*ret = v[0];
		else if (!strcmp(statistic, "max"))
			*ret = v[n - 1];
		else
			known = false;
	}
	free(v);
	return known;
}

bool trust_median(const struct element *x, double *ret)
{
	return combined(x, NULL, ret);
}

/* Of the larger one, or absolute; what is no number only as the same text. */
static bool is_within_tolerance(const char *a, const char *b, double relative, double absolute)
{
	double x, y;
	if (value_same(a, b))
		return true;
	if (!value_number(a, &x) || !value_number(b, &y))
		return false;
	double gap = fabs(x - y), most = fmax(fabs(x), fabs(y));
	return gap <= absolute || gap <= relative * most;
}

/* One by one, in order. */
static bool lists_same(const struct element *a, const struct element *b, double relative, double absolute)
{
	if (a->n != b->n)
		return false;
	for (size_t i = 0; i < a->n; i++)
		if (!is_within_tolerance(a->value[i], b->value[i], relative, absolute))
			return false;
	return true;
}

/* Order of qsort: as numbers where both are, else as texts. */
static int compare_values(const void *a, const void *b)
{
	const char *s = *(const char *const *)a, *t = *(const char *const *)b;
	double x, y;
	if (value_number(s, &x) && value_number(t, &y) && x != y)
		return x < y ? -1 : 1;
	return strcmp(s, t);
}

/* Are the values of both elements the same: the same values in whatever order: both sorted, numbers by size. */
static bool bags_same(const struct element *a, const struct element *b, double relative, double absolute)
{
	struct element x = *a, y = *b;
	if (a->n != b->n || a->n < 2)
		return false;
	x.value = malloc(a->n * sizeof(*x.value));
	y.value = malloc(b->n * sizeof(*y.value));
	bool same = false;
	if (x.value && y.value) {
		memcpy(x.value, a->value, a->n * sizeof(*x.value));
		memcpy(y.value, b->value, b->n * sizeof(*y.value));
		qsort(x.value, x.n, sizeof(*x.value), compare_values);
		qsort(y.value, y.n, sizeof(*y.value), compare_values);
		same = lists_same(&x, &y, relative, absolute);
	}
	free(x.value);
	free(y.value);
	return same;
}

/* One value against the median of all runs, or another statistic that the claim names. */
static bool agrees_with_statistic(const struct element *claim, const struct element *seen, double relative,
                                  double absolute, bool *ret_eps)
{
	double number, says;
	bool known = combined(seen, claim->statistic, &number) && value_number(claim->value[0], &says);
	*ret_eps =
	    known && (fabs(number - says) <= absolute || fabs(number - says) <= relative * fmax(fabs(number), fabs(says)));
	return known && number == says;
}

/* One value against that of each run. */
static bool agrees_with_every(const char *value, const struct element *seen, double relative, double absolute,
                              bool *ret_eps)
{
	bool same = true;
	*ret_eps = true;
	for (size_t i = 0; i < seen->n; i++) {
		same &= value_same(value, seen->value[i]);
		*ret_eps &= is_within_tolerance(value, seen->value[i], relative, absolute);
	}
	return same;
}

/* Does what was seen agree with what is claimed? *ret_eps: within the tolerance. */
static bool agree(const struct element *claim, const struct element *seen, double relative, double absolute,
                  bool *ret_eps)
{
	*ret_eps = true;
	if (!claim->n && !claim->unknown)
		return true; /* its name is all that is claimed */
	if (claim->n == 1 && seen->varied) {
		bool every = claim->statistic && !strcmp(claim->statistic, "all");
		return every ? agrees_with_every(claim->value[0], seen, relative, absolute, ret_eps)
		             : agrees_with_statistic(claim, seen, relative, absolute, ret_eps);
	}
	if (lists_same(claim, seen, 0, 0))
		return true;
	*ret_eps = lists_same(claim, seen, relative, absolute) || bags_same(claim, seen, relative, absolute);
	return false;
}

/* ---- the sets ---- */

/* claim and seen are not copied; one of them may be NULL. Belongs to t, valid until the next one. NULL without memory.
 * */
static struct trust_difference *append_difference(struct trust *t, enum trust_part part, enum trust_kind kind,
                                                  const struct element *claim, const struct element *seen)
{
	struct trust_difference *more = realloc(t->v, (t->n + 1) * sizeof(*more));
	if (!more)
		return NULL;
	t->v = more;
	t->v[t->n] = (struct trust_difference){.part = part, .kind = kind, .claim = claim, .seen = seen};
	return &t->v[t->n++];
}

/* Compares what both sides have. 0; -EINVAL, -ENOMEM, with a sentence. */
static int both(const struct element *c, const struct element *s, enum trust_part part, const char *tolerance,
                struct trust_factor *f, struct err *err, struct trust *t)
{
	double relative = 0, absolute = 0;
	const char *text = c->tolerance ? c->tolerance : part == TRUST_RESULTS ? tolerance : NULL;
	struct trust_difference *d;
	bool eps;
	if (text && !tolerance_read(text, &relative, &absolute))
		return (err_set(err, 0, "the tolerance '%s' of '%s' is neither a number nor a percentage", text, c->name),
		        -EINVAL);
	if (s->unknown && c->n) {
		f->unknown++;
		d = append_difference(t, part, TRUST_UNKNOWN, c, s);
		if (d)
			d->why = s->unknown;
		return d ? 0 : -ENOMEM;
	}
	if (agree(c, s, relative, absolute, &eps))
		return 0;
	f->differ++;
	f->differ_eps += !eps;
	f->exclusive += 2;
	d = append_difference(t, part, TRUST_DIFFERS, c, s);
	if (d)
		d->within = eps;
	return d ? 0 : -ENOMEM;
}

/* Compares one part of a claim with what was seen. Both are sorted by name. Names that one side alone has differ. 0;
 * -EINVAL, -ENOMEM. */
static int measure_part(struct trust_side *seen, struct trust_side *claim, enum trust_part part, const char *tolerance,
                        struct trust_factor *f, struct err *err, struct trust *t)
{
	struct elements *s = &seen->part[part], *c = &claim->part[part];
	int rc = 0;
	elements_sort(s);
	elements_sort(c);
	if (seen->absent[part]) { /* nothing at all is known of it */
		for (size_t k = 0; k < c->n; k++) {
			struct trust_difference *d = append_difference(t, part, TRUST_UNKNOWN, &c->v[k], NULL);
			if (!d)
				return -ENOMEM;
			d->why = seen->absent[part];
		}
		f->unknown += c->n;
		f->claimed += c->n;
		return 0;
	}
	for (size_t i = 0, k = 0; rc == 0 && (i < s->n || k < c->n);) {
		int order = i == s->n ? 1 : k == c->n ? -1 : strcmp(s->v[i].name, c->v[k].name);
		if (order == 0) {
			rc = both(&c->v[k++], &s->v[i++], part, tolerance, f, err, t);
			continue;
		}
		f->differ++;
		f->differ_eps++;
		f->exclusive++;
		struct trust_difference *d = order < 0 ? append_difference(t, part, TRUST_NOT_CLAIMED, NULL, &s->v[i++])
		                                       : append_difference(t, part, TRUST_NOT_SEEN, &c->v[k++], NULL);
		rc = d ? 0 : -ENOMEM;
	}
	f->seen += s->n;
	f->claimed += c->n;
	return rc;
}

/* The factor of one part: the part that does not differ, 0 to 1; of nothing 1. */
static double factor(size_t differ, size_t most)
{
	double v = most ? 1 - (double)differ / (double)most : differ ? 0 : 1;
	return v < 0 ? 0 : v;
}

/* Sets value, its bound from below where something is unknown, and the literal one (NaN: of nothing). */
static void compute_factor(struct trust_factor *f)
{
	size_t most = f->seen > f->claimed ? f->seen : f->claimed;
	f->value = factor(f->differ, most);
	f->value_eps = factor(f->differ_eps, most);
	f->low = factor(f->differ + f->unknown, most);
	f->literal = most ? 1 - (double)f->exclusive / (double)most : NAN;
}

/* Compares what should not vary. A claim need not list every invariant: only those it names are compared. 0;
 * -EINVAL, -ENOMEM. */
static int invariants(struct trust_side *seen, struct trust_side *claim, struct err *err, struct trust *t)
{
	struct trust_factor unused = {0};
	elements_sort(&seen->part[TRUST_INVARIANTS]);
	elements_sort(&claim->part[TRUST_INVARIANTS]);
	for (size_t k = 0; k < claim->part[TRUST_INVARIANTS].n; k++) {
		const struct element *c = &claim->part[TRUST_INVARIANTS].v[k];
		const struct element *s = elements_find(&seen->part[TRUST_INVARIANTS], str_of(c->name));
		int rc = 0;
		if (s && !s->varied) {
			rc = both(c, s, TRUST_INVARIANTS, NULL, &unused, err, t);
		} else if (!s) {
			struct trust_difference *d = append_difference(t, TRUST_INVARIANTS, TRUST_UNKNOWN, c, NULL);
			if (d)
				d->why = "the record does not have it";
			rc = d ? 0 : -ENOMEM;
		}
		if (rc < 0)
			return rc;
	}
	for (size_t i = 0; i < seen->part[TRUST_INVARIANTS].n; i++) {
		const struct element *s = &seen->part[TRUST_INVARIANTS].v[i];
		if (!s->varied)
			continue;
		if (!append_difference(t, TRUST_INVARIANTS, TRUST_VARIED,
		                       elements_find(&claim->part[TRUST_INVARIANTS], str_of(s->name)), s))
			return -ENOMEM;
	}
	for (size_t i = 0; i < t->n; i++)
		if (t->v[i].part == TRUST_INVARIANTS)
			*(t->v[i].kind == TRUST_UNKNOWN ? &t->invariants_unknown : &t->invariants_differ) += 1;
	return 0;
}

/* The figures of the whole, from those of the parts. */
static void compute_trust(struct trust *t)
{
	compute_factor(&t->inputs);
	compute_factor(&t->results);
	t->high = t->inputs.value * t->results.value;
	t->low = t->inputs.low * t->results.low;
	t->judged = t->inputs.unknown + t->results.unknown == 0 || t->low == t->high;
	t->t = t->judged ? t->high : NAN;
	t->t_eps = t->judged ? t->inputs.value_eps * t->results.value_eps : NAN;
	t->literal = t->inputs.literal * t->results.literal;
	t->reproducible = t->judged && t->inputs.differ + t->results.differ == 0 &&
	                  t->inputs.unknown + t->results.unknown == 0 && t->invariants_differ + t->invariants_unknown == 0;
}

int trust_measure(struct trust_side *seen, struct trust_side *claim, const char *tolerance, struct err *err,
                  struct trust *ret)
{
	struct trust t = {0};
	double unused;
	int rc = 0;
	if (tolerance && !tolerance_read(tolerance, &unused, &unused))
		return (err_set(err, 0, "the tolerance '%s' is neither a number nor a percentage", tolerance), -EINVAL);
	for (int i = 0; i < TRUST_PARTS; i++)
		if (seen->part[i].failed || claim->part[i].failed)
			return err_set(err, ENOMEM, "cannot compare");
	rc = measure_part(seen, claim, TRUST_INPUTS, tolerance, &t.inputs, err, &t);
	if (rc == 0)
		rc = measure_part(seen, claim, TRUST_PARAMETERS, tolerance, &t.inputs, err, &t);
	if (rc == 0)
		rc = measure_part(seen, claim, TRUST_RESULTS, tolerance, &t.results, err, &t);
	if (rc == 0)
		rc = invariants(seen, claim, err, &t);
	if (rc < 0) {
		trust_release(&t);
		return err_set(err, -rc, "cannot compare the claim with the record");
	}
	compute_trust(&t);
	*ret = t;
	return 0;
}

/* t is empty then. */
void trust_release(struct trust *t)
{
	free(t->v);
	*t = (struct trust){0};
}
