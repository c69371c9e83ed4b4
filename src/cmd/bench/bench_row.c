#include "cmd/bench/bench_row.h"

#include "cmd/ui/columns.h"

#include <math.h>
#include <stdlib.h>

/* Order of qsort: the least first. */
static int compare_row_values(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* Between the order statistics around (n - 1) q. v is sorted. */
static double quantile(const double *v, size_t n, double q)
{
	double at = (double)(n - 1) * q;
	size_t i = (size_t)at;
	return i + 1 < n ? v[i] + (v[i + 1] - v[i]) * (at - (double)i) : v[n - 1];
}

/* Sets the quantiles of a row from its values. v: sorted by it; n > 0. */
static void set_quantiles(double *v, size_t n, struct bench_row *r)
{
	qsort(v, n, sizeof(*v), compare_row_values);
	r->number = true;
	r->n = n;
	r->median = quantile(v, n, 0.5);
	r->low = quantile(v, n, 0.25);
	r->high = quantile(v, n, 0.75);
	r->min = v[0];
	r->max = v[n - 1];
	r->same = v[0] == v[n - 1];
}

void bench_row_values(const struct element *x, size_t runs, struct bench_row *r)
{
	size_t each = runs && x->n % runs == 0 ? x->n / runs : 0;
	if (each > 1) { /* a list from each run */
		*r = (struct bench_row){.name = x->name, .n = runs, .same = true, .each = each};
		for (size_t i = each; i < x->n; i++)
			r->same &= value_same(x->value[i], x->value[i % each]);
		return;
	}
	double *v = malloc((x->n + 1) * sizeof(*v));
	bool numbers = v != NULL && x->n;
	*r = (struct bench_row){.name = x->name, .n = x->n, .same = true, .text = x->n ? x->value[0] : ""};
	for (size_t i = 0; i < x->n; i++) {
		r->same &= value_same(x->value[i], x->value[0]);
		numbers = numbers && value_number(x->value[i], &v[i]);
	}
	if (numbers) {
		bool same = r->same;
		set_quantiles(v, x->n, r);
		r->same = same;
	}
	free(v);
}

void bench_row_times(const char *name, double *v, size_t n, struct bench_row *r)
{
	size_t known = 0;
	*r = (struct bench_row){.name = name, .time = true, .text = "not known"};
	for (size_t i = 0; i < n; i++)
		if (!isnan(v[i]))
			v[known++] = v[i];
	if (known)
		set_quantiles(v, known, r);
}

/* Appends a value with the unit of its row. v: seconds where the row is of times, else a plain number; not negative.
 */
static void format_row_number(struct buf *b, const struct bench_row *r, double v)
{
	if (r->time)
		fmt_duration(b, (uint64_t)(v * 1e9));
	else
		buf_printf(b, "%.6g", v);
}

/* The titles of the columns that bench_row_print prints. */
void bench_row_head(void)
{
	printf("%-20s  %-12s  quartiles  (least … most)\n", "", "median");
}

/* Prints one line: a text, how many values a run has, or median and quartiles. */
void bench_row_print(const struct bench_row *r)
{
	struct buf name = {0}, text = {0};
	fmt_name(&name, str_of(r->name));
	if (r->each) {
		printf("%-20s  %zu values a run%s\n", buf_cstr(&name), r->each,
		       r->same ? ", the same in all" : "  (they differ from run to run)");
	} else if (!r->number) {
		fmt_name(&text, str_of(r->text));
		printf("%-20s  %s%s\n", buf_cstr(&name), buf_cstr(&text),
		       r->same || r->time ? "" : "  (differs from run to run)");
	} else {
		format_row_number(&text, r, r->median);
		printf("%-20s  %-12s", buf_cstr(&name), buf_cstr(&text));
		buf_reset(&text);
		if (r->same) {
			if (r->n > 1)
				buf_printf(&text, "the same %zu times", r->n);
			else
				buf_str(&text, str_of("once"));
		} else {
			format_row_number(&text, r, r->low);
			buf_str(&text, str_of(" … "));
			format_row_number(&text, r, r->high);
			buf_str(&text, str_of("  ("));
			format_row_number(&text, r, r->min);
			buf_str(&text, str_of(" … "));
			format_row_number(&text, r, r->max);
			buf_char(&text, ')');
		}
		printf("  %s\n", buf_cstr(&text));
	}
	buf_release(&name);
	buf_release(&text);
}

/* What it has depends on the row: figures, the number of values, or the text. The caller owns it. */
json_t *bench_row_json(const struct bench_row *r)
{
	json_t *o = json_object();
	js_num(o, "n", r->n);
	js_bool(o, "same", r->same);
	if (r->number) {
		js_put(o, "median", json_real(r->median));
		js_put(o, "q1", json_real(r->low));
		js_put(o, "q3", json_real(r->high));
		js_put(o, "min", json_real(r->min));
		js_put(o, "max", json_real(r->max));
	} else if (r->each) {
		js_num(o, "values", r->each);
	} else if (!r->time) {
		js_text(o, "value", r->text);
	}
	return o;
}
