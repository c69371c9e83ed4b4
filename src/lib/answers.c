/* answers.c - the answers, as JSON texts. */
#include "lib/record.h"

#include "answer/diff/diff_build.h"
#include "answer/diff/diff_content.h"
#include "answer/diff/diff_json.h"
#include "answer/found.h"
#include "answer/lineage_json.h"
#include "answer/runs.h"
#include "answer/show/show.h"
#include "answer/stages/stage_view.h"
#include "answer/stat/stat.h"
#include "answer/stat/stat_when.h"
#include "answer/summaries.h"
#include "answer/trace/trace_compare.h"
#include "answer/why/why.h"
#include "query/target.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A file that has a version. 0; else what record_fail gives, with a sentence. */
static int find_version(struct stemma_record *r, const char *file, struct file_target *ret, struct stemma_error *err)
{
	struct err e = {0};
	int rc = target_file(r->source.store, file, &e, ret);
	if (rc <= 0)
		return record_fail_to_resolve(rc, &e, err);
	if (!ret->version)
		return record_fail(STEMMA_NOTHING, NULL, "only the name of the file is recorded, not its content", err);
	return 0;
}

/* *q->ret: the text, the asker's. 0, STEMMA_NOTHING, -errno with err's sentence; so all ask_ functions. */
static int ask_why(struct stemma_record *r, const struct record_question *q, struct stemma_error *err)
{
	struct file_target t;
	struct why w;
	json_t *one = NULL;
	int rc = find_version(r, q->a, &t, err);
	if (rc)
		return rc;
	rc = why_find(&r->source, t.version, q->flags & STEMMA_ALL ? WHY_ALL : WHY_UNFOLDED, &w);
	if (rc < 0)
		return record_fail(rc, NULL, "cannot read the record", err);
	rc = why_json(&r->source, &t, &w, &one);
	why_release(&w);
	if (rc < 0)
		return record_fail(rc, NULL, "cannot read the record", err);
	json_t *list = json_array(), *all = json_object();
	js_add(list, one);
	js_num(all, "format", 1);
	js_put(all, "answers", list);
	return record_give_json(all, q->ret, err);
}

/* Asks the record; see stemma.h. */
EXPORTED int stemma_why(struct stemma_record *r, const char *file, unsigned flags, char **ret, struct stemma_error *err)
{
	return record_ask(r, &(struct record_question){.ask = ask_why, .a = file, .flags = flags, .ret = ret}, err);
}

/* The lineage by stages. 0 or -errno. */
static int stages_json(struct stemma_record *r, const struct lineage *l, const struct lineage_options *o, json_t **ret)
{
	struct stages *st;
	struct stage_view w = {0};
	int rc = stages_new(r->source.store, &st);
	if (rc == 0)
		rc = stage_view_make(&(struct shape_of){r->source.store, l, o}, st, &w);
	if (rc == 0)
		rc = stage_view_json(&w, o->direction == LINEAGE_UP, ret);
	stage_view_release(&w);
	stages_free(st);
	return rc;
}

/* Appends a piece of the answer. 0, -ENOMEM. */
static int keep_piece(void *arg, struct str piece)
{
	struct buf *b = arg;
	buf_str(b, piece);
	return b->failed ? -ENOMEM : 0;
}

/* Answers stemma_lineage. 0; else what record_fail gives, with a sentence. */
static int ask_lineage(struct stemma_record *r, const struct record_question *q, struct stemma_error *err)
{
	struct err e = {0};
	struct file_target t;
	struct lineage l;
	json_t *o = NULL;
	struct lineage_options options = {
	    .direction = q->flags & STEMMA_DOWN ? LINEAGE_DOWN : LINEAGE_UP,
	    .depth = q->depth,
	    .all = q->flags & STEMMA_ALL,
	    .fork = q->flags & STEMMA_FORKS,
	    .certain = q->flags & STEMMA_CERTAIN,
	    .read = q->flags & STEMMA_READ,
	    .skew = r->source.skew,
	    .system_extra = r->source.system_extra,
	};
	int rc = find_version(r, q->a, &t, err);
	if (rc)
		return rc;
	rc = lineage_walk(r->source.store, &t.version, 1, &options, &e, &l);
	if (rc < 0)
		return record_fail(rc, &e, "cannot read the record", err);
	bool viewing = store_view_begin(r->source.store, VIEW_WALK) == 0; /* many small questions */
	struct buf text = {0};
	rc = q->flags & STEMMA_STAGES ? stages_json(r, &l, &options, &o)
	                              : lineage_json(r->source.store, &l, 0, keep_piece, &text);
	if (viewing)
		store_view_end(r->source.store);
	lineage_release(&l);
	if (rc < 0) {
		buf_release(&text);
		return record_fail(rc, NULL, "cannot read the record", err);
	}
	return o ? record_give_json(o, q->ret, err) : record_give_text(&text, q->ret, err);
}

/* Asks the record; see stemma.h. */
EXPORTED int stemma_lineage(struct stemma_record *r, const char *file, unsigned flags, unsigned depth, char **ret,
                            struct stemma_error *err)
{
	return record_ask(
	    r, &(struct record_question){.ask = ask_lineage, .a = file, .flags = flags, .depth = depth, .ret = ret}, err);
}

/* Answers stemma_runs. 0; else as record_fail. *q->ret: text, to be freed. */
static int ask_runs(struct stemma_record *r, const struct record_question *q, struct stemma_error *err)
{
	json_t *o = NULL;
	int rc = runs_json(&r->source, NULL, q->flags & STEMMA_ALL, q->count, &o);
	return rc < 0 ? record_fail(rc, NULL, "cannot list the runs", err) : record_give_json(o, q->ret, err);
}

/* Asks the record; see stemma.h. */
EXPORTED int stemma_runs(struct stemma_record *r, unsigned flags, uint64_t count, char **ret, struct stemma_error *err)
{
	return record_ask(r, &(struct record_question){.ask = ask_runs, .flags = flags, .count = count, .ret = ret}, err);
}

/* STEMMA_NOTHING, or what record_fail_to_resolve gives, where a name in the question is not recorded. */
static int ask_find(struct stemma_record *r, const struct record_question *q, struct stemma_error *err)
{
	struct err e = {0};
	struct expr *x = NULL;
	enum expr_kind kind = EXPR_ANY;
	struct found f;
	json_t *o = NULL;
	char *words[] = {(char *)q->a, NULL};
	int rc = expr_parse(words, 1, &e, &x, &kind);
	if (rc == 0)
		rc = found_make(&r->source, x, kind == EXPR_ANY ? EXPR_FILES : kind, q->flags & STEMMA_ALL, &e, &f);
	expr_free(x);
	if (rc == -ENOENT)
		return record_fail_to_resolve(rc, &e, err);
	if (rc < 0)
		return record_fail(rc, &e, "cannot read the record", err);
	rc = found_json(&r->source, &f, &o);
	found_rows_release(&f);
	return rc < 0 ? record_fail(rc, NULL, "cannot read the record", err) : record_give_json(o, q->ret, err);
}

/* Asks the record; see stemma.h. */
EXPORTED int stemma_find(struct stemma_record *r, const char *expression, unsigned flags, char **ret,
                         struct stemma_error *err)
{
	return record_ask(r, &(struct record_question){.ask = ask_find, .a = expression, .flags = flags, .ret = ret}, err);
}

/* A side of a diff: its kind and the id of what is compared. 0, or a code with err's sentence; STEMMA_NOTHING also for
 * a file of which only the name is recorded. */
static int find_side(struct stemma_record *r, const char *text, enum diff_what *ret_what, store_id *ret_id,
                     struct stemma_error *err)
{
	struct err e = {0};
	struct target t;
	int rc = target_any(r->source.store, text, false, &e, &t);
	if (rc <= 0)
		return record_fail_to_resolve(rc, &e, err);
	if (t.kind == TARGET_FILE && !t.file.version)
		return record_fail(STEMMA_NOTHING, NULL, "only the name of the file is recorded, not its content", err);
	*ret_what = t.kind == TARGET_RUN ? DIFF_RUN : t.kind == TARGET_EXEC ? DIFF_EXEC : DIFF_VERSION;
	*ret_id = t.kind == TARGET_FILE ? t.file.version : t.id;
	return 0;
}

/* Answers stemma_diff. -EINVAL: a run is compared with a file, say. */
static int ask_diff(struct stemma_record *r, const struct record_question *q, struct stemma_error *err)
{
	struct err e = {0};
	enum diff_what what[2];
	store_id ids[2];
	struct diff d;
	json_t *o = NULL;
	struct diff_content_source content = {.s = r->source.store};
	struct diff_options options = {.system_extra = r->source.system_extra,
	                               .skew = r->source.skew,
	                               .content = diff_content_of,
	                               .content_arg = &content};
	int rc = find_side(r, q->a, &what[0], &ids[0], err);
	if (rc == 0)
		rc = find_side(r, q->b, &what[1], &ids[1], err);
	if (rc)
		return rc;
	if (what[0] != what[1])
		return record_fail(-EINVAL, NULL, "the two are of different kinds", err);
	rc = diff_make(r->source.store, what[0], ids, &options, &e, &d);
	if (rc < 0)
		return record_fail(rc, &e, "cannot compare them", err);
	rc = diff_builds(r->source.store, &d, &e);
	if (rc == 0)
		rc = trace_lines(r->source.store, &d, &e);
	if (rc == 0)
		rc = diff_json(&r->source, &d, &o);
	diff_release(&d);
	return rc < 0 ? record_fail(rc, &e, "cannot compare them", err) : record_give_json(o, q->ret, err);
}

/* Asks the record; see stemma.h. */
EXPORTED int stemma_diff(struct stemma_record *r, const char *a, const char *b, char **ret, struct stemma_error *err)
{
	return record_ask(r, &(struct record_question){.ask = ask_diff, .a = a, .b = b, .ret = ret}, err);
}

/* The traces that a word means. Files, or else those of recorded runs. 0, or a code with err's sentence. *ret is the
 * caller's. */
static int find_traces(struct stemma_record *r, const char *text, struct trace_set *ret, struct stemma_error *err)
{
	struct err e = {0};
	int rc = trace_set_find_files(text, NULL, 0, &e, ret);
	if (rc == 0) {
		err_clear(&e);
		rc = trace_set_find_recorded(r->source.store, text, &e, ret);
	}
	if (rc < 0)
		return record_fail(rc, &e, "cannot read the traces", err);
	if (rc == 0 || ret->n)
		return rc ? 0 : record_fail(STEMMA_NOTHING, &e, "nothing is recorded of it", err);
	err_set(&e, 0, "'%s' contains no trace", text);
	err_hint(&e, "link programs with stemma cc --trace and record traces with stemma run --trace");
	return record_fail(STEMMA_NOTHING, &e, "", err);
}

/* Compares the traces of two runs. 0; else what record_fail gives, with a sentence. */
static int ask_diff_trace(struct stemma_record *r, const struct record_question *q, struct stemma_error *err)
{
	struct err e = {0};
	struct trace_comparison j = {0};
	struct compare_options options = {.max = q->flags & STEMMA_ALL ? 10000 : 20};
	json_t *o = NULL;
	int rc = find_traces(r, q->a, &j.set[0], err);
	if (rc == 0)
		rc = find_traces(r, q->b, &j.set[1], err);
	if (rc == 0 && (rc = trace_compare(&r->source, &options, &e, &j)) < 0)
		record_fail(rc, &e, "cannot compare the traces", err);
	if (rc == 0) {
		j.view.what[0] = q->a;
		j.view.what[1] = q->b;
		o = trace_json(&j.view);
	}
	trace_comparison_release(&j);
	return rc ? rc : record_give_json(o, q->ret, err);
}

/* Asks the record; see stemma.h. */
EXPORTED int stemma_diff_trace(struct stemma_record *r, const char *a, const char *b, unsigned flags, char **ret,
                               struct stemma_error *err)
{
	return record_ask(r, &(struct record_question){.ask = ask_diff_trace, .a = a, .b = b, .flags = flags, .ret = ret},
	                  err);
}

/* A run, execution or file, whatever is recorded of it. 0; else what record_fail gives, with a sentence. */
static int find_target(struct stemma_record *r, const char *text, struct target *ret, struct stemma_error *err)
{
	struct err e = {0};
	int rc = target_any(r->source.store, text, false, &e, ret);
	return rc <= 0 ? record_fail_to_resolve(rc, &e, err) : 0;
}

/* Answers stemma_show. 0; else as record_fail. *q->ret: text, to be freed. */
static int ask_show(struct stemma_record *r, const struct record_question *q, struct stemma_error *err)
{
	struct err e = {0};
	struct show_found f;
	bool sources = q->flags & STEMMA_SOURCES, differs = false;
	int rc = show_find(&r->source, q->a, false, sources, &e, &f);
	if (rc <= 0)
		return record_fail_to_resolve(rc, &e, err);
	e = (struct err){0};
	json_t *all = json_object(), *list = json_array();
	rc = show_json(&r->source, &f, q->a, q->flags & STEMMA_ALL, sources, &e, list, &differs);
	show_found_release(&f);
	js_num(all, "format", 1);
	js_put(all, "things", list);
	if (rc == 0)
		return record_give_json(all, q->ret, err);
	json_decref(all);
	return record_fail(rc, &e, "cannot read the record", err);
}

/* Asks the record; see stemma.h. */
EXPORTED int stemma_show(struct stemma_record *r, const char *target, unsigned flags, char **ret,
                         struct stemma_error *err)
{
	return record_ask(r, &(struct record_question){.ask = ask_show, .a = target, .flags = flags, .ret = ret}, err);
}

/* Counts what the target read and wrote, and makes the answer of it: if `when` has a moment of that, else of the sums.
 * when: the caller's to release. NULL: only sums. */
static int answer_stat(struct stemma_record *r, const struct record_question *q, struct stat_when *when,
                       struct stemma_error *err)
{
	struct target t;
	struct stat_sums w = {.source = &r->source, .all = q->flags & STEMMA_ALL, .objects = q->flags & STEMMA_OBJECTS};
	w.most = q->count;
	json_t *o = NULL;
	int rc = find_target(r, q->a, &t, err);
	if (rc)
		return rc;
	if (when)
		w.say = stat_when_row, w.arg = when;
	rc = store_view_begin(r->source.store, VIEW_PASS);
	rc = rc < 0 ? rc : stat_count_target(&w, &t);
	if (rc >= 0 && when && when->has_at) {
		stat_when_sort(when);
		rc = stat_at_json(r->source.store, when, &o);
	} else if (rc >= 0) {
		rc = stat_json(&w, q->count, when, &o);
	}
	store_view_end(r->source.store);
	stat_release(&w);
	return rc < 0 ? record_fail(rc, NULL, "cannot count", err) : record_give_json(o, q->ret, err);
}

/* Answers stemma_stat. 0; else as record_fail. *q->ret: text, to be freed. */
static int ask_stat(struct stemma_record *r, const struct record_question *q, struct stemma_error *err)
{
	struct stat_when when = {0};
	int rc = answer_stat(r, q, q->flags & STEMMA_TIMES ? &when : NULL, err);
	stat_when_release(&when);
	return rc;
}

/* Asks the record; see stemma.h. */
EXPORTED int stemma_stat(struct stemma_record *r, const char *target, unsigned flags, uint64_t count, char **ret,
                         struct stemma_error *err)
{
	return record_ask(
	    r, &(struct record_question){.ask = ask_stat, .a = target, .flags = flags, .count = count, .ret = ret}, err);
}

/* Answers stemma_stat_at. 0; else what record_fail gives, with a sentence. */
static int ask_stat_at(struct stemma_record *r, const struct record_question *q, struct stemma_error *err)
{
	struct stat_when when = {.has_at = true, .at = q->at};
	int rc = answer_stat(r, q, &when, err);
	stat_when_release(&when);
	return rc;
}

/* Asks the record; see stemma.h. */
EXPORTED int stemma_stat_at(struct stemma_record *r, const char *target, unsigned flags, int64_t at, char **ret,
                            struct stemma_error *err)
{
	return record_ask(
	    r, &(struct record_question){.ask = ask_stat_at, .a = target, .flags = flags, .at = at, .ret = ret}, err);
}

/* All runs' where q->a is NULL; -EINVAL: it names no run. */
static int ask_summaries(struct stemma_record *r, const struct record_question *q, struct stemma_error *err)
{
	struct err e = {0};
	struct target t = {.kind = TARGET_RUN};
	struct buf b = {0};
	int rc = q->a ? target_any(r->source.store, q->a, false, &e, &t) : 1;
	if (rc <= 0)
		return record_fail_to_resolve(rc, &e, err);
	if (t.kind != TARGET_RUN)
		return record_fail(-EINVAL, NULL, "it is not a run", err);
	int64_t n = summaries_json(&r->source, t.id, &b);
	if (n > 0)
		*q->ret = strdup(buf_cstr(&b));
	buf_release(&b);
	if (n == 0)
		return record_fail(STEMMA_NOTHING, NULL, "no summary was recorded", err);
	return n < 0     ? record_fail((int)n, NULL, "cannot read the record", err)
	       : *q->ret ? 0
	                 : record_fail(-ENOMEM, NULL, "cannot write the answer", err);
}

/* Asks the record; see stemma.h. */
EXPORTED int stemma_summaries(struct stemma_record *r, const char *run, char **ret, struct stemma_error *err)
{
	return record_ask(r, &(struct record_question){.ask = ask_summaries, .a = run, .ret = ret}, err);
}
