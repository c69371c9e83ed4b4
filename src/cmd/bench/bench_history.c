#include "cmd/bench/bench_history.h"

#include "cmd/ui/columns.h"
#include "cmd/ui/js_print.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WALL_TIME "wall time"

/* ---- series ---- */

/* The numbers that a benchmark has under a name; malloc'ed. */
static double *numbers_of(const struct past_bench *b, const char *name, size_t *ret_n)
{
	const struct element *x = elements_find(&b->w.side.part[TRUST_RESULTS], str_of(name));
	bool wall = !strcmp(name, WALL_TIME) && !x;
	size_t n = wall ? b->n : x ? x->n : 0;
	double *v = malloc((n + 1) * sizeof(*v));
	*ret_n = 0;
	for (size_t i = 0; v && i < n; i++) {
		if (wall && !isnan(b->wall[i]))
			v[(*ret_n)++] = b->wall[i];
		else if (!wall && value_number(x->value[i], &v[*ret_n]))
			++*ret_n;
	}
	return v;
}

/* Order of qsort: the least first. */
static int compare_medians(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* Sorts v. NAN of none. */
static double median_in_place(double *v, size_t n)
{
	if (!n)
		return NAN;
	qsort(v, n, sizeof(*v), compare_medians);
	return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

/* How far the groups' medians lie from that of their part, as a share of it: half of them less. */
static double spread_of(const struct past_series *x, const struct change_group *g)
{
	double *medians = malloc((x->n + 1) * sizeof(*medians)), *off = malloc((x->n + 1) * sizeof(*off));
	double *part = malloc((x->n + 1) * sizeof(*part)), ret = NAN;
	bool ok = medians && off && part;
	for (size_t i = 0; ok && i < x->n; i++) {
		double *v = malloc(g[i].n * sizeof(*v));
		ok = v != NULL;
		if (ok) {
			memcpy(v, g[i].v, g[i].n * sizeof(*v));
			medians[i] = median_in_place(v, g[i].n);
		}
		free(v);
	}
	for (size_t from = 0, c = 0; ok && from < x->n; c++) {
		size_t to = c < x->n_changes ? x->changes[c].at : x->n;
		memcpy(part, medians + from, (to - from) * sizeof(*part));
		double middle = median_in_place(part, to - from);
		for (; from < to; from++)
			off[from] = middle != 0 ? fabs(medians[from] / middle - 1) : 0;
	}
	if (ok)
		ret = median_in_place(off, x->n);
	free(medians);
	free(off);
	free(part);
	return ret;
}

/* x is empty then. */
static void release_series(struct past_series *x)
{
	free(x->bench);
	free(x->changes);
	*x = (struct past_series){0};
}

/* Of the benchmarks that have numbers of that name. 0 or -errno; a series without groups is released. */
static int make_series(const struct past *p, const char *name, struct past_series *ret)
{
	struct change_group *g = calloc(p->n + 1, sizeof(*g));
	int rc = 0;
	*ret = (struct past_series){.name = name, .bench = calloc(p->n + 1, sizeof(*ret->bench))};
	if (!g || !ret->bench)
		rc = -ENOMEM;
	for (size_t i = 0; rc == 0 && i < p->n; i++) {
		size_t n;
		double *v = numbers_of(&p->v[i], name, &n);
		rc = v ? 0 : -ENOMEM;
		if (!n) {
			free(v);
			continue;
		}
		g[ret->n] = (struct change_group){v, n};
		ret->bench[ret->n++] = i;
	}
	if (rc == 0)
		rc = changes_find(g, ret->n, &ret->changes, &ret->n_changes);
	if (rc == 0)
		ret->spread = spread_of(ret, g);
	for (size_t i = 0; g && i < ret->n; i++)
		free((void *)g[i].v);
	free(g);
	return rc;
}

/* Names of results that are numbers in some benchmark; then the wall time. Each once; malloc'ed. */
static const char **series_names(const struct past *p, size_t *ret_n)
{
	size_t most = 1;
	for (size_t i = 0; i < p->n; i++)
		most += p->v[i].w.side.part[TRUST_RESULTS].n;
	const char **names = calloc(most, sizeof(*names));
	double unused;
	*ret_n = 0;
	for (size_t i = 0; names && i < p->n; i++) {
		const struct elements *e = &p->v[i].w.side.part[TRUST_RESULTS];
		for (size_t k = 0; k < e->n; k++) {
			bool met = !e->v[k].n || !value_number(e->v[k].value[0], &unused);
			for (size_t m = 0; m < *ret_n && !met; m++)
				met = !strcmp(names[m], e->v[k].name);
			if (!met)
				names[(*ret_n)++] = e->v[k].name;
		}
	}
	if (names)
		names[(*ret_n)++] = WALL_TIME;
	return names;
}

/* ---- what is told ---- */

/* "bench:" with the last 8 letters of the id, and when it began. */
static void put_bench(struct buf *b, const struct past_bench *x)
{
	size_t n = strlen(x->id);
	buf_printf(b, "bench:%s of ", n > 8 ? x->id + n - 8 : x->id);
	fmt_time(b, x->start, true);
}

/* So many of what is no more than hexadecimal digits, or of digits behind a word and a colon. */
#define DIGITS_SHOWN 12

/* Digests and the like are told apart by their beginnings. */
static void put_short(struct buf *b, const char *text)
{
	const char *colon = strchr(text, ':');
	const char *digits = colon ? colon + 1 : text;
	size_t n = strspn(digits, "0123456789abcdef");
	bool cut = n > 2 * DIGITS_SHOWN && !digits[n];
	if (!*text)
		buf_str(b, str_of("nothing"));
	fmt_name(b, cut ? str_n(text, (size_t)(digits - text) + DIGITS_SHOWN) : str_of(text));
	if (cut)
		buf_str(b, str_of("…"));
}

/* Releases the list of what differs. */
static void release_differences(struct past_difference *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(v[i].name);
		free(v[i].before);
		free(v[i].after);
	}
	free(v);
}

/* A line for each, or one that says that nothing else changed. */
static void print_differences(const struct past_difference *v, size_t n)
{
	struct buf b = {0};
	for (size_t i = 0; i < n; i++) {
		buf_reset(&b);
		buf_printf(&b, "%s ", v[i].of);
		fmt_name(&b, str_of(v[i].name));
		buf_str(&b, str_of(": "));
		put_short(&b, v[i].before);
		buf_str(&b, str_of(" → "));
		put_short(&b, v[i].after);
		printf("  %s\n", buf_cstr(&b));
	}
	if (!n)
		printf("  the record shows no other change at this point\n");
	buf_release(&b);
}

/* Prints one change of a benchmark's results, with what differs since. 0 or -errno. */
static int print_change(struct store *s, const struct past *p, const struct past_series *x,
                        const struct change_point *c)
{
	struct past_difference *v = NULL;
	size_t n = 0;
	struct buf b = {0};
	fmt_name(&b, str_of(x->name));
	buf_printf(&b, ": %.6g → %.6g", c->before, c->after);
	if (c->before != 0)
		buf_printf(&b, " (%+.3g %%)", (c->after / c->before - 1) * 100);
	buf_str(&b, str_of(" since "));
	put_bench(&b, &p->v[x->bench[c->at]]);
	printf("%s\n", buf_cstr(&b));
	buf_release(&b);
	int rc = past_differ(s, p, x, c->at, &v, &n);
	if (rc == 0)
		print_differences(v, n);
	release_differences(v, n);
	return rc;
}

/* Prints how a benchmark's results have changed. 0; -errno, of what changed. */
static int print_series(struct store *s, const struct past *p, const struct past_series *x)
{
	struct buf b = {0};
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < x->n_changes; i++)
		rc = print_change(s, p, x, &x->changes[i]);
	fmt_name(&b, str_of(x->name));
	if (x->n < CHANGES_LEAST)
		buf_printf(&b, ": %zu benchmark%s; fewer than %d are not judged", x->n, str_plural(x->n), CHANGES_LEAST);
	else
		buf_printf(&b, ": %sdifferences up to %.3g %% between benchmarks are noise", x->n_changes ? "" : "no change; ",
		           x->spread * 100);
	printf("%s\n", buf_cstr(&b));
	buf_release(&b);
	return rc;
}

/* What is empty becomes null. The caller owns it. */
static json_t *difference_json(const struct past_difference *d)
{
	json_t *o = json_object();
	js_text(o, "of", d->of);
	js_text(o, "name", d->name);
	js_put(o, "before", *d->before ? js_string(str_of(d->before)) : json_null());
	js_put(o, "after", *d->after ? js_string(str_of(d->after)) : json_null());
	return o;
}

/* Makes the object of one change, with what differs since. *ret_rc: 0, or -errno: then it is not whole. The
 * caller's. */
static json_t *change_json(struct store *s, const struct past *p, const struct past_series *x,
                           const struct change_point *c, int *ret_rc)
{
	json_t *o = json_object(), *a = json_array();
	const struct past_bench *b = &p->v[x->bench[c->at]];
	struct past_difference *v = NULL;
	size_t n = 0;
	js_text(o, "bench", b->id);
	js_time(o, "start", b->start);
	js_put(o, "before", json_real(c->before));
	js_put(o, "after", json_real(c->after));
	js_put(o, "p", json_real(c->p));
	*ret_rc = past_differ(s, p, x, c->at, &v, &n);
	for (size_t i = 0; i < n; i++)
		js_add(a, difference_json(&v[i]));
	release_differences(v, n);
	js_put(o, "changed", a);
	return o;
}

/* Makes the object of a benchmark's results. As change_json. */
static json_t *series_json(struct store *s, const struct past *p, const struct past_series *x, int *ret_rc)
{
	json_t *o = json_object(), *a = json_array();
	js_text(o, "name", x->name);
	js_num(o, "benches", x->n);
	js_bool(o, "judged", x->n >= CHANGES_LEAST);
	js_put(o, "noise", js_real(x->spread));
	for (size_t i = 0; *ret_rc == 0 && i < x->n_changes; i++)
		js_add(a, change_json(s, p, x, &x->changes[i], ret_rc));
	js_put(o, "changes", a);
	return o;
}

/* The caller owns it. */
static json_t *past_json(const struct past *p)
{
	json_t *o = json_object(), *a = json_array();
	js_num(o, "format", 1);
	js_text(o, "benchmark", p->title);
	for (size_t i = 0; i < p->n; i++) {
		json_t *b = json_object();
		js_text(b, "bench", p->v[i].id);
		js_time(b, "start", p->v[i].start);
		js_num(b, "runs", p->v[i].n);
		js_add(a, b);
	}
	js_put(o, "benches", a);
	return o;
}

/* p must have a benchmark. How many there are, of what, and from when to when. */
static void print_past_head(const struct past *p)
{
	struct buf b = {0};
	size_t runs = 0;
	for (size_t i = 0; i < p->n; i++)
		runs += p->v[i].n;
	buf_printf(&b, "%zu benchmark%s of ", p->n, str_plural(p->n));
	fmt_name(&b, str_of(p->title));
	buf_printf(&b, ", %zu run%s, ", runs, str_plural(runs));
	fmt_time(&b, p->v[0].start, true);
	buf_str(&b, str_of(" to "));
	fmt_time(&b, p->v[p->n - 1].start, true);
	printf("%s\n", buf_cstr(&b));
	buf_release(&b);
}

/* Prints all series. A status, reported. */
static int tell_past(struct cmd *c, const struct past *p, bool json)
{
	struct err err = {0};
	size_t n = 0;
	const char **names = series_names(p, &n);
	json_t *o = json ? past_json(p) : NULL, *all = json ? json_array() : NULL;
	int rc = names ? 0 : -ENOMEM;
	if (!json)
		print_past_head(p);
	for (size_t i = 0; rc == 0 && i < n; i++) {
		struct past_series x;
		rc = make_series(p, names[i], &x);
		if (rc == 0 && json && x.n)
			js_add(all, series_json(c->store, p, &x, &rc));
		else if (rc == 0 && x.n)
			rc = print_series(c->store, p, &x);
		release_series(&x);
	}
	free(names);
	if (json)
		js_put(o, "series", all);
	if (rc < 0) {
		json_decref(o);
		err_set(&err, -rc, "cannot read the benchmarks");
		return report_err(&err, STATUS_SELF);
	}
	return json ? js_print(o, false) : STATUS_OK;
}

/* Whether an option is set that is not for history. */
static bool has_others_options(const struct opts_bench *o)
{
	bool run =
	    o->runs || o->warmup || o->file || o->label.n || o->no_digest || o->keep_inputs || o->output || o->witness;
	return run || o->by_run || o->dot;
}

/* Gives the exit status. */
int bench_history(struct cmd *c, const struct opts_bench *o)
{
	struct past p;
	if (has_others_options(o))
		return report_usage(c, "history takes --json and --no-index only");
	if (c->n_operands > 2)
		return report_usage(c, "history takes one benchmark: bench:ID");
	int status = cmd_store(c, o->no_index);
	if (status != STATUS_OK)
		return status;
	status = past_find(c, c->n_operands > 1 ? c->operands[1] : "bench:", &p);
	if (status == STATUS_OK && !p.n) {
		report("no benchmark of '%s' succeeded", p.title);
		status = STATUS_NOTHING;
	} else if (status == STATUS_OK) {
		status = tell_past(c, &p, o->json);
	}
	past_release(&p);
	return status;
}
