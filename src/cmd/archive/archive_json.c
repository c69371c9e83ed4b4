/* archive_json.c - statistics as JSON and CSV: all numbers in the unit of their figure (s, B, ...). */
#include "cmd/archive/archive.h"
#include "cmd/ui/amount.h"
#include "cmd/ui/columns.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Without figures only counts. The caller's. */
static json_t *figure_json(const struct archive_figure *f)
{
	enum figure_name name = (enum figure_name)f->figure;
	const struct stats *s = &f->stats;
	json_t *o = json_object(), *counts = json_array(), *h = json_object();
	char key[8];
	js_text(o, "unit", figure_unit(name));
	js_num(o, "count", s->n);
	js_num(o, "bounded", f->bounded);
	js_num(o, "incomplete", f->incomplete);
	js_num(o, "absent", f->absent);
	if (!s->n) {
		json_decref(counts);
		json_decref(h);
		return o;
	}
	amount_json(o, "mean", name, s->mean);
	amount_json(o, "std_dev", name, s->std_dev);
	js_put(o, "skewness", js_real(s->skewness));
	js_put(o, "kurtosis", js_real(s->kurtosis));
	amount_json(o, "min", name, (double)s->min);
	for (unsigned i = 0; i < STATS_QUANTILES; i++) {
		snprintf(key, sizeof(key), "p%u", stats_percents[i]);
		amount_json(o, key, name, s->quantile[i]);
	}
	amount_json(o, "max", name, (double)s->max);
	amount_json(h, "from", name, (double)s->min);
	amount_json(h, "to", name, (double)s->max);
	for (unsigned i = 0; i < ARCHIVE_BINS; i++)
		js_add(counts, json_integer((json_int_t)f->count[i]));
	js_put(h, "counts", counts);
	js_put(o, "histogram", h);
	return o;
}

/* STATUS_OK, or the status to end with. */
int archive_json(const struct archive *a)
{
	json_t *all = json_object(), *groups = json_array();
	char name[160];
	for (size_t g = 0; g < a->h->n_groups; g++) {
		json_t *one = json_object(), *key = json_object(), *figures = json_object();
		for (size_t i = 0; i < a->n_by; i++) {
			const char *v = archive_value(a, g, i);
			js_str(key, archive_key_name(&a->by[i], name), str_of(v));
		}
		for (size_t i = 0; i < a->n_figures; i++)
			js_put(figures, figure_key((enum figure_name)a->figures[i]), figure_json(&a->group[g].v[i]));
		js_put(one, "key", key);
		js_num(one, "tasks", a->group[g].tasks);
		js_put(one, "figures", figures);
		js_add(groups, one);
	}
	js_num(all, "format", 1);
	js_num(all, "tasks", a->h->n);
	js_num(all, "repeated", a->h->repeated);
	js_put(all, "groups", groups);
	return js_print(all, false);
}

/* With a comma before; empty where the value is not known (NaN). */
static void csv_value(enum figure_name f, double v)
{
	struct buf b = {0};
	if (!isnan(v))
		amount_put(&b, f, v, true, true);
	printf(",%s", buf_cstr(&b));
	buf_release(&b);
}

/* With a comma before; empty for NaN. */
static void csv_number(double v)
{
	if (isnan(v))
		putchar(',');
	else
		printf(",%.15g", v);
}

/* STATUS_OK. */
int archive_csv(const struct archive *a)
{
	char name[160];
	for (size_t i = 0; i < a->n_by; i++) {
		print_csv_field(str_of(archive_key_name(&a->by[i], name)), true);
		putchar(',');
	}
	printf("figure,unit,count,bounded,incomplete,absent,mean,std_dev,skewness,kurtosis,min");
	for (unsigned i = 0; i < STATS_QUANTILES; i++)
		printf(",p%u", stats_percents[i]);
	printf(",max\r\n");
	for (size_t g = 0; g < a->h->n_groups; g++)
		for (size_t k = 0; k < a->n_figures; k++) {
			const struct archive_figure *f = &a->group[g].v[k];
			const struct stats *s = &f->stats;
			enum figure_name fn = (enum figure_name)f->figure;
			const double none = (double)NAN;
			for (size_t i = 0; i < a->n_by; i++) {
				print_csv_field(str_of(archive_value(a, g, i)), true);
				putchar(',');
			}
			printf("%s,%s,%zu,%zu,%zu,%zu", figure_key(fn), figure_unit(fn), s->n, f->bounded, f->incomplete,
			       f->absent);
			csv_value(fn, s->n ? s->mean : none);
			csv_value(fn, s->n ? s->std_dev : none);
			csv_number(s->n ? s->skewness : none);
			csv_number(s->n ? s->kurtosis : none);
			csv_value(fn, s->n ? (double)s->min : none);
			for (unsigned i = 0; i < STATS_QUANTILES; i++)
				csv_value(fn, s->n ? s->quantile[i] : none);
			csv_value(fn, s->n ? (double)s->max : none);
			printf("\r\n");
		}
	return STATUS_OK;
}
