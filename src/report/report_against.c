/* report_against.c - what differs from another run or version: the answer of `stemma diff`, and, where both runs were
 * traced, the lines of the source at which their programs took different ways. */
#include "answer/diff/diff_build.h"
#include "answer/diff/diff_content.h"
#include "answer/diff/diff_json.h"
#include "answer/trace/trace_compare.h"
#include "report/report_int.h"

#include <errno.h>
#include <stdlib.h>

#define MOST_ITEMS 100     /* of a category; of more it is said how many there are */
#define MOST_DIVERGENCES 5 /* of two threads */
#define LINES_AROUND 6     /* of the source */
#define MOST_THREADS 50

/* What differs, as "diff". -errno, mostly with a sentence. */
static int add_diff(const struct report *r, const store_id ids[2], enum diff_what what, struct err *err, json_t *o)
{
	struct diff_content_source content = {.s = r->a->store};
	struct diff_options options = {
	    .system_extra = r->a->system_extra, .skew = r->a->skew, .content = diff_content_of, .content_arg = &content};
	struct diff d;
	json_t *answer = NULL;
	int rc = diff_make(r->a->store, what, ids, &options, err, &d);
	if (rc < 0)
		return rc;
	rc = diff_builds(r->a->store, &d, err);
	if (rc == 0)
		rc = trace_lines(r->a->store, &d, err);
	if (rc == 0)
		rc = diff_json(r->a, &d, &answer);
	diff_release(&d);
	if (rc < 0)
		return rc;
	size_t i;
	json_t *category;
	json_array_foreach(json_object_get(answer, "rungs"), i, category) report_shorten(category, MOST_ITEMS);
	js_put(o, "diff", answer);
	return 0;
}

/* ---- lines of the source ---- */

/* Adds the source around a difference. Nothing if the source cannot be shown. */
static void add_source(const struct trace_pair *p, const struct difference *d, json_t *o)
{
	struct source_lines lines;
	unsigned marked;
	if (source_of_difference(p, d, LINES_AROUND, &lines, &marked) <= 0)
		return;
	json_t *source = json_object();
	js_num(source, "first", lines.first);
	js_num(source, "marked", marked);
	js_str(source, "text", str_of(lines.text));
	js_put(o, "source", source);
	free(lines.text);
}

/* A new object. source: with lines of the source. */
static json_t *divergence_about(const struct trace_pair *p, const struct difference *d, bool source)
{
	json_t *o = json_object();
	struct buf b = {0};
	trace_words_divergence(p, d, &b);
	js_str(o, "words", buf_view(&b));
	for (int side = 0; side < 2; side++) {
		buf_reset(&b);
		trace_words_side_operands(p, d, side, &b);
		js_str(o, side ? "b" : "a", buf_view(&b));
	}
	buf_reset(&b);
	trace_words_stack(p, d, 1, &b);
	js_str_if(o, "called", buf_view(&b));
	if (source)
		add_source(p, d, o);
	buf_release(&b);
	return o;
}

/* A new object. */
static json_t *pair_about(const struct trace_pair *p)
{
	json_t *o = json_object(), *list = json_array();
	js_str(o, "program", str_of(p->side[1].exe));
	js_str(o, "thread", str_of(p->side[1].thread));
	js_text(o, "verdict", trace_verdict_word(trace_verdict(p)));
	js_num(o, "total", p->c.result.total);
	js_bool(o, "threads", p->side[0].n_threads > 1 || p->side[1].n_threads > 1);
	for (size_t i = 0; i < p->c.n; i++)
		js_add(list, divergence_about(p, &p->c.v[i], i == 0));
	js_put(o, "divergences", list);
	return o;
}

/* Adds where the traces of both runs part. Both runs' traces, where both have some. What is wrong with a trace is
 * said, and no more is known then. -ENOMEM, else 0. */
static int add_traces(const struct report *r, const store_id ids[2], json_t *o)
{
	struct trace_comparison j = {0};
	struct compare_options options = {.max = MOST_DIVERGENCES};
	struct err why = {0};
	json_t *list = json_array();
	size_t left = 0;
	int rc = 0;
	for (int side = 0; side < 2 && rc == 0; side++)
		rc = trace_set_of_run(r->a->store, ids[side], 0, &why, &j.set[side]);
	if (rc == 0 && j.set[0].n && j.set[1].n)
		rc = trace_compare(r->a, &options, &why, &j);
	for (size_t i = 0; i < j.view.n && rc == 0; i++) {
		if (j.view.v[i].c.equal)
			continue;
		if (json_array_size(list) < MOST_THREADS)
			js_add(list, pair_about(&j.view.v[i]));
		else
			left++;
	}
	js_put(o, "traces", list);
	if (left)
		js_num(o, "traces_left_out", left);
	if (rc < 0 && rc != -ENOMEM)
		js_text(o, "traces_failed", why.text);
	trace_comparison_release(&j);
	return rc == -ENOMEM ? rc : 0;
}

int report_against(const struct report *r, struct err *err, json_t *o)
{
	const struct target *mine = &r->q->target, *other = &r->q->other;
	bool run = mine->kind == TARGET_RUN;
	const store_id ids[2] = {run ? other->id : other->file.version, run ? mine->id : mine->file.version};
	if (!r->q->against) {
		js_put(o, "against", json_null());
		return 0;
	}
	json_t *against = json_object();
	js_str(against, "asked", str_of(r->q->against));
	int rc = add_diff(r, ids, run ? DIFF_RUN : DIFF_VERSION, err, against);
	if (rc == 0 && run)
		rc = add_traces(r, ids, against);
	js_put(o, "against", against);
	return rc;
}
