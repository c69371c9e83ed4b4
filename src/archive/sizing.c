#include "archive/sizing.h"

#include "base/vec.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MARGIN 1.2  /* of the method maximum */
#define GROWTH 32   /* a back-test fits anew where the history grew by one part in so many */
#define ATTEMPTS 64 /* doubling reaches any need before */

struct residual {
	double value;
	bool censored;
};

struct sizing {
	double quantile;
	VEC(struct sizing_task) tasks; /* sorted by need, of equals the censored last; those behind `fitted` are new */
	VEC(struct sizing_task) room;  /* for merging */
	VEC(double) weight;            /* beside tasks: P */
	VEC(struct residual) residuals;
	size_t fitted, censored;
	double most, top; /* the largest value; a_m, which is more where P has a rest */
	double answer[METHODS];
	bool open; /* P has a rest, and the quantile lies in it */
	bool line;
	double offset, slope, r2;
	double margin[METHODS]; /* of the methods that go by the line */
};

static const char *const names[METHODS] = {
#define METHOD(name, meaning) #name,
#include "archive/methods.def"
};

/* Static. */
const char *method_name(enum method m)
{
	return names[m];
}

int method_by_name(const char *name)
{
	for (int i = 0; i < METHODS; i++)
		if (strcmp(name, names[i]) == 0)
			return i;
	return -1;
}

/* The share of tasks that is to lie below the method's line and margin; 0: it goes by no line. */
static double share_below(const struct sizing *s, enum method m)
{
	return m == METHOD_regression ? s->quantile : m == METHOD_regression97 ? 0.97 : m == METHOD_regression95 ? 0.95 : 0;
}

struct sizing *sizing_new(double quantile)
{
	struct sizing *s = calloc(1, sizeof(*s));
	if (s)
		s->quantile = quantile;
	return s;
}

/* NULL is no error. */
void sizing_free(struct sizing *s)
{
	if (!s)
		return;
	vec_release(&s->tasks);
	vec_release(&s->room);
	vec_release(&s->weight);
	vec_release(&s->residuals);
	free(s);
}

int sizing_add(struct sizing *s, const struct sizing_task *t)
{
	struct sizing_task *slot = vec_add(&s->tasks);
	if (!slot)
		return -ENOMEM;
	*slot = *t;
	return 0;
}

/* Order of qsort: the least need first; what was cut off after what was not. */
static int compare_tasks_by_need(const void *pa, const void *pb)
{
	const struct sizing_task *a = pa, *b = pb;
	if (a->need != b->need)
		return a->need < b->need ? -1 : 1;
	return (int)a->censored - (int)b->censored;
}

/* Sorts the tasks that came since the last fit into the others. 0, -ENOMEM. */
static int merge_new_tasks(struct sizing *s)
{
	size_t n = s->tasks.n, i = 0, k = s->fitted;
	struct sizing_task *v = s->tasks.v;
	qsort(v + k, n - k, sizeof(*v), compare_tasks_by_need);
	s->room.n = 0;
	if (!vec_room(&s->room, n))
		return -ENOMEM;
	struct sizing_task *to = s->room.v;
	while (i < s->fitted || k < n)
		*to++ = k == n || (i < s->fitted && compare_tasks_by_need(&v[i], &v[k]) <= 0) ? v[i++] : v[k++];
	memcpy(v, s->room.v, n * sizeof(*v));
	s->fitted = n;
	return 0;
}

/* What is left of P after one more of n - i tasks: a censored one leaves its share to those behind it. */
static double step_survival(double *left, size_t at_risk, bool censored)
{
	double w = censored ? 0 : *left / (double)at_risk;
	*left = at_risk == 1 && !censored ? 0 : *left - w;
	return w;
}

/* The first allocations: one look from the top, for the sums over what lies above a candidate. */
static void first_allocations(struct sizing *s, double rest)
{
	const struct sizing_task *v = s->tasks.v;
	const double *w = s->weight.v;
	size_t n = s->fitted;
	double mean_time = 0, times = 0;
	for (size_t i = 0; i < n; i++) {
		mean_time += w[i] * v[i].time;
		times += v[i].time / (double)n;
	}
	mean_time += rest * times;
	double above = rest, above_time = rest * times, least = INFINITY, best = 0;
	s->top = rest > 0 ? 2 * s->most : s->most;
	s->answer[METHOD_waste] = s->answer[METHOD_throughput] = s->top;
	if (rest > 0) {
		least = s->top * mean_time;
		best = 1 / mean_time;
	}
	for (size_t i = n; i-- > 0;) {
		double a = v[i].need;
		if (w[i] > 0 && a > 0 && (i + 1 == n || v[i + 1].need != a)) {
			double waste = a * mean_time + s->top * above_time;
			double rate = (s->top / a * (1 - above) + above) / (mean_time + above_time);
			if (waste < least) {
				least = waste;
				s->answer[METHOD_waste] = a;
			}
			if (rate > best) {
				best = rate;
				s->answer[METHOD_throughput] = a;
			}
		}
		above += w[i];
		above_time += w[i] * v[i].time;
	}
}

/* Ascending; of equal ones those that were cut off come last, as the estimate of Kaplan and Meier has it. */
static int residual_cmp(const void *pa, const void *pb)
{
	const struct residual *a = pa, *b = pb;
	if (a->value != b->value)
		return a->value < b->value ? -1 : 1;
	return (int)a->censored - (int)b->censored;
}

/* The k-th least, by Hoare's selection. */
static double select_kth(struct residual *v, size_t n, size_t k)
{
	size_t lo = 0, hi = n - 1;
	while (lo < hi) {
		double pivot = v[lo + (hi - lo) / 2].value;
		size_t i = lo, j = hi;
		for (;;) {
			while (v[i].value < pivot)
				i++;
			while (v[j].value > pivot)
				j--;
			if (i >= j)
				break;
			struct residual t = v[i];
			v[i++] = v[j];
			v[j--] = t;
		}
		/* [lo, i) is at most the pivot, (j, hi] at least; between them stands at most the pivot itself. */
		if (i == j && v[i].value <= pivot)
			i++;
		if (k < i)
			hi = i - 1;
		else
			lo = i;
	}
	return v[k].value;
}

/* Least share q of n in whole tasks; what rounding adds to q n is not one more. */
static size_t least_share(double q, size_t n)
{
	double k = ceil(q * (double)n - 1e-9 * (double)n);
	return k < 1 ? 1 : k > (double)n ? n : (size_t)k;
}

/* So much above the line that the share q lies below; where a censored one hides that, the most there is. */
static double residual_quantile(struct sizing *s, double share, bool censored)
{
	struct residual *v = s->residuals.v;
	size_t n = s->residuals.n;
	if (!censored)
		return select_kth(v, n, least_share(share, n) - 1);
	qsort(v, n, sizeof(*v), residual_cmp);
	double left = 1;
	for (size_t i = 0; i < n; i++) {
		step_survival(&left, n - i, v[i].censored);
		if (1 - left >= share - 1e-9)
			return v[i].value;
	}
	return v[n - 1].value;
}

/* Of each method that goes by the line, from its residuals. */
static void fit_margins(struct sizing *s, bool censored)
{
	for (int m = 0; m < METHODS; m++)
		if (share_below(s, (enum method)m) > 0)
			s->margin[m] = residual_quantile(s, share_below(s, (enum method)m), censored);
}

/* Need by input, of the tasks that have one; s->line is false where there are too few, or needs do not grow with it. 0,
 * -ENOMEM. */
static int fit_line(struct sizing *s)
{
	size_t n = 0;
	double mx = 0, my = 0, sxx = 0, sxy = 0, syy = 0;
	bool censored = false;
	s->line = false;
	for (size_t i = 0; i < s->fitted; i++) {
		const struct sizing_task *t = &s->tasks.v[i];
		if (t->input < 0 || t->censored)
			continue;
		n++;
		mx += (t->input - mx) / (double)n;
		my += (t->need - my) / (double)n;
	}
	for (size_t i = 0; i < s->fitted; i++) {
		const struct sizing_task *t = &s->tasks.v[i];
		if (t->input < 0 || t->censored)
			continue;
		sxx += (t->input - mx) * (t->input - mx);
		sxy += (t->input - mx) * (t->need - my);
		syy += (t->need - my) * (t->need - my);
	}
	if (n < 3 || !(sxx > 0) || !(sxy > 0))
		return 0;
	s->slope = sxy / sxx;
	s->offset = my - s->slope * mx;
	s->r2 = syy > 0 ? sxy * sxy / (sxx * syy) : 1;
	s->residuals.n = 0;
	if (!vec_room(&s->residuals, s->fitted))
		return -ENOMEM;
	for (size_t i = 0; i < s->fitted; i++) {
		const struct sizing_task *t = &s->tasks.v[i];
		if (t->input < 0)
			continue;
		censored |= t->censored;
		s->residuals.v[s->residuals.n++] = (struct residual){t->need - s->offset - s->slope * t->input, t->censored};
	}
	fit_margins(s, censored);
	s->line = true;
	return 0;
}

/* Computes the answers anew; nothing to do where no task came since. 0, -ENOMEM. */
int sizing_fit(struct sizing *s)
{
	if (!s->tasks.n || s->fitted == s->tasks.n)
		return 0;
	s->weight.n = 0;
	if (merge_new_tasks(s) < 0 || !vec_room(&s->weight, s->fitted))
		return -ENOMEM;
	size_t n = s->fitted;
	double left = 1, total = 0;
	bool found = false;
	s->censored = 0;
	for (size_t i = 0; i < n; i++) {
		const struct sizing_task *t = &s->tasks.v[i];
		s->censored += t->censored;
		s->weight.v[i] = step_survival(&left, n - i, t->censored);
		total += s->weight.v[i];
		bool enough = s->censored ? total >= s->quantile - 1e-9 : i + 1 >= least_share(s->quantile, n);
		if (!found && enough) {
			found = true;
			s->answer[METHOD_quantile] = t->need;
		}
	}
	s->most = s->tasks.v[n - 1].need;
	s->open = !found;
	first_allocations(s, left > 1e-12 ? left : 0);
	if (!found)
		s->answer[METHOD_quantile] = s->top;
	s->answer[METHOD_maximum] = MARGIN * s->most;
	return fit_line(s);
}

/* How many tasks the last fit was made of. */
size_t sizing_tasks(const struct sizing *s)
{
	return s->fitted;
}

/* Tasks of the last fit that were killed, so that they would have needed more. */
size_t sizing_censored(const struct sizing *s)
{
	return s->censored;
}

double sizing_most(const struct sizing *s)
{
	return s->most;
}

bool sizing_ask(const struct sizing *s, enum method m, double input, double *ret, bool *ret_open)
{
	if (ret_open)
		*ret_open = m == METHOD_quantile && s->open;
	bool line = share_below(s, m) > 0;
	if (!s->fitted || (line && (!s->line || input < 0)))
		return false;
	*ret = line ? s->offset + s->slope * input + s->margin[m] : s->answer[m];
	return *ret > 0;
}

bool sizing_line(const struct sizing *s, double *ret_offset, double *ret_slope, double *ret_r2)
{
	if (!s->line)
		return false;
	*ret_offset = s->offset;
	*ret_slope = s->slope;
	*ret_r2 = s->r2;
	return true;
}

/* After a failed attempt with a: the most ever seen if that is more, else twice as much. */
static double sizing_again(const struct sizing *s, double a)
{
	return s->most > a ? s->most : 2 * a;
}

/* ---- back-test ---- */

/* What the task would have been given, and again after each failure, by a method that knows only the tasks before it.
 * Nothing where the method cannot answer. */
static void backtest_task(const struct sizing *s, enum method m, const struct sizing_task *t, struct backtest *b)
{
	double a;
	if (!sizing_ask(s, m, t->input, &a, NULL))
		return;
	b->tasks++;
	b->attempts++;
	b->failed += a < t->need;
	for (unsigned i = 0; a < t->need && i < ATTEMPTS; i++) {
		b->allocated += a * t->time;
		b->attempts++;
		a = sizing_again(s, a);
	}
	b->allocated += a * t->time;
	b->used += t->need * t->time;
}

int backtest_run(const struct sizing_task *v, size_t n, size_t warm_up, double quantile, struct backtest ret[METHODS])
{
	struct sizing *s = sizing_new(quantile);
	int rc = s ? 0 : -ENOMEM;
	memset(ret, 0, METHODS * sizeof(*ret));
	for (size_t i = 0; rc == 0 && i < n; i++) {
		if (i >= warm_up && s->tasks.n && s->tasks.n - s->fitted >= 1 + s->fitted / GROWTH)
			rc = sizing_fit(s);
		for (int m = 0; rc == 0 && i >= warm_up && !v[i].censored && m < METHODS; m++)
			backtest_task(s, (enum method)m, &v[i], &ret[m]);
		if (rc == 0)
			rc = sizing_add(s, &v[i]);
	}
	sizing_free(s);
	return rc;
}
