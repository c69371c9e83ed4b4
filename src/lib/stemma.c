/* stemma.c - the functions of include/stemma/stemma.h. */
#include "stemma/stemma.h"

#include "answer/diff_build.h"
#include "answer/diff_json.h"
#include "answer/found.h"
#include "answer/lineage_json.h"
#include "answer/runs.h"
#include "answer/show/show.h"
#include "answer/stat/stat.h"
#include "answer/stat/stat_when.h"
#include "answer/summaries.h"
#include "answer/why.h"
#include "base/config.h"
#include "base/late/late.h"
#include "query/target.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORTED __attribute__((visibility("default")))

struct stemma_record {
	struct answer_source source;
	struct config config;
};

/* ---- errors ---- */

/* code, with the sentence of err, or else `what` and the system's words. */
static int fail_with(int code, const struct err *err, const char *what, struct stemma_error *ret)
{
	if (!ret)
		return code;
	if (err && err->text[0])
		snprintf(ret->text, sizeof(ret->text), "%s", err->text);
	else if (code < 0 && code != -EINVAL) /* that is the caller's mistake, and `what` says which */
		snprintf(ret->text, sizeof(ret->text), "%s: %s", what, strerror(-code));
	else
		snprintf(ret->text, sizeof(ret->text), "%s", what);
	snprintf(ret->hint, sizeof(ret->hint), "%s", err ? err->hint : "");
	return code;
}

/* What target_file and its like returned, where it is not 1. */
static int fail_to_resolve(int r, const struct err *err, struct stemma_error *ret)
{
	bool nothing = r == 0 || r == -ENOENT || r == -EISDIR || r == -ENOTUNIQ;
	return fail_with(nothing ? STEMMA_NOTHING : r, err, "nothing is recorded of it", ret);
}

/* The text of o, which is released; *ret is the caller's. */
static int give_json(json_t *o, char **ret, struct stemma_error *err)
{
	*ret = o ? json_dumps(o, JSON_INDENT(1)) : NULL;
	json_decref(o);
	return *ret ? 0 : fail_with(-ENOMEM, NULL, "cannot write the answer", err);
}

/* ---- the record ---- */

static void ignore_warning(void *arg, const char *line)
{
	(void)arg;
	(void)line;
}

/* Is there a record at all? A question must not create one. */
static int check_store_exists(const char *home, struct stemma_error *ret)
{
	struct err err = {0};
	char *place = NULL;
	struct buf logs = {0};
	int r = store_places(home, &err, &place, NULL);
	if (r < 0)
		return fail_with(r, &err, "cannot find the record", ret);
	buf_printf(&logs, "%s/logs", place);
	if (access(buf_cstr(&logs), R_OK | X_OK) < 0) {
		r = errno == ENOENT || errno == ENOTDIR ? STEMMA_NOTHING : -errno;
		err_set(&err, r < 0 ? -r : 0, r < 0 ? "cannot open '%s'" : "nothing has been recorded in '%s' yet", place);
		fail_with(r, &err, "", ret);
	}
	buf_release(&logs);
	free(place);
	return r;
}

static int open_record(struct stemma_record *r, const char *home, unsigned flags, struct stemma_error *ret)
{
	struct err err = {0};
	unsigned how = flags & STEMMA_IN_MEMORY   ? STORE_WRITE | STORE_MEMORY
	               : flags & STEMMA_READ_ONLY ? STORE_READ
	                                          : STORE_WRITE;
	struct store_index_options o = {.skew = r->source.skew};
	struct store_index_stats stats;
	int rc = store_open(home, how, &err, &r->source.store);
	if (rc == 0 && how & STORE_WRITE)
		rc = store_index(r->source.store, &o, &err, &stats);
	if (rc == 0)
		rc = store_check_pages(r->source.store, &err);
	return rc < 0 ? fail_with(rc, &err, "cannot open the record", ret) : 0;
}

EXPORTED int stemma_open(const char *store, unsigned flags, struct stemma_record **ret, struct stemma_error *err)
{
	struct err e = {0};
	*ret = NULL;
	if (late_load(&late_sqlite, &e) < 0 || late_load(&late_jansson, &e) < 0)
		return fail_with(-ELIBACC, &e, "", err);
	struct stemma_record *r = calloc(1, sizeof(*r));
	if (!r || config_load(&r->config, ignore_warning, NULL) < 0) {
		stemma_close(r);
		return fail_with(-ENOMEM, NULL, "cannot open the record", err);
	}
	const char *set = config_get(&r->config, CONFIG_store), *home = store ? store : *set ? set : NULL;
	r->source.skew = config_duration(&r->config, CONFIG_skew);
	r->source.system_extra = config_get(&r->config, CONFIG_system);
	int rc = check_store_exists(home, err);
	if (rc == 0)
		rc = open_record(r, home, flags, err);
	if (rc)
		stemma_close(r);
	else
		*ret = r;
	return rc;
}

EXPORTED int stemma_update(struct stemma_record *r, struct stemma_error *err)
{
	struct err e = {0};
	struct store_index_options o = {.skew = r->source.skew};
	struct store_index_stats stats;
	int rc = store_index(r->source.store, &o, &e, &stats);
	return rc < 0 ? fail_with(rc, &e, "cannot bring the index up to date", err) : 0;
}

EXPORTED void stemma_close(struct stemma_record *r)
{
	if (!r)
		return;
	store_close(r->source.store);
	config_release(&r->config);
	free(r);
}

EXPORTED int stemma_damage(struct stemma_record *r, uint64_t *ret_places, uint64_t *ret_recordings,
                           struct stemma_error *err)
{
	struct store_damage d;
	int rc = store_damage(r->source.store, &d);
	if (rc < 0)
		return fail_with(rc, NULL, "cannot read the record", err);
	*ret_places = d.places;
	*ret_recordings = d.sessions;
	return 0;
}

/* ---- names ---- */

/* STEMMA_DISK_... is enum disk_state, in its order. */
_Static_assert((int)STEMMA_DISK_SAME == (int)DISK_SAME && (int)STEMMA_DISK_CHANGED == (int)DISK_CHANGED &&
                   (int)STEMMA_DISK_REPLACED == (int)DISK_REPLACED && (int)STEMMA_DISK_GONE == (int)DISK_GONE &&
                   (int)STEMMA_DISK_AROUND == (int)DISK_AROUND && (int)STEMMA_DISK_DELETED == (int)DISK_DELETED,
               "the public states of a file are those of query/target.h");

/* Writes the public id of t; -ENOENT if the record no longer has it. */
static int describe_target(struct store *s, const struct target *t, struct stemma_target *ret)
{
	int r = 1;
	*ret = (struct stemma_target){.kind = t->kind == TARGET_RUN    ? STEMMA_RUN
	                                      : t->kind == TARGET_FILE ? STEMMA_FILE
	                                                               : STEMMA_EXECUTION};
	if (t->kind == TARGET_RUN) {
		struct run_info run;
		r = store_run(s, t->id, &run);
		if (r > 0)
			snprintf(ret->id, sizeof(ret->id), "%.*s", (int)run.ulid.n, run.ulid.p);
	} else if (t->kind == TARGET_EXEC) {
		struct exec_info x;
		r = store_exec(s, t->id, &x);
		if (r > 0)
			snprintf(ret->id, sizeof(ret->id), "%.*s", (int)sizeof(x.pub.text), x.pub.text);
	} else if (t->file.version) {
		struct version_info v;
		r = store_version(s, t->file.version, &v);
		if (r > 0) {
			snprintf(ret->id, sizeof(ret->id), "%.*s", (int)sizeof(v.pub.text), v.pub.text);
			ret->version = v.n;
		}
	}
	if (t->kind == TARGET_FILE)
		ret->disk = (enum stemma_disk)t->file.disk;
	return r > 0 ? 0 : r < 0 ? r : -ENOENT;
}

EXPORTED int stemma_resolve(struct stemma_record *r, const char *text, struct stemma_target *ret,
                            struct stemma_error *err)
{
	struct err e = {0};
	struct target t;
	int rc = target_any(r->source.store, text, false, &e, &t);
	if (rc <= 0)
		return fail_to_resolve(rc, &e, err);
	rc = describe_target(r->source.store, &t, ret);
	return rc < 0 ? fail_with(rc, NULL, "cannot read the record", err) : 0;
}

/* A file that has a version. */
static int find_version(struct stemma_record *r, const char *file, struct file_target *ret, struct stemma_error *err)
{
	struct err e = {0};
	int rc = target_file(r->source.store, file, &e, ret);
	if (rc <= 0)
		return fail_to_resolve(rc, &e, err);
	if (!ret->version)
		return fail_with(STEMMA_NOTHING, NULL, "the file is known by name only; no content of it is recorded", err);
	return 0;
}

/* ---- answers ---- */

EXPORTED int stemma_why(struct stemma_record *r, const char *file, unsigned flags, char **ret, struct stemma_error *err)
{
	struct file_target t;
	struct why w;
	json_t *one = NULL;
	*ret = NULL;
	(void)flags; /* all is told: JSON folds nothing */
	int rc = find_version(r, file, &t, err);
	if (rc)
		return rc;
	rc = why_find(&r->source, t.version, true, &w);
	if (rc < 0)
		return fail_with(rc, NULL, "cannot read the record", err);
	rc = why_json(&r->source, &t, &w, &one);
	why_release(&w);
	if (rc < 0)
		return fail_with(rc, NULL, "cannot read the record", err);
	json_t *list = json_array(), *all = json_object();
	js_add(list, one);
	js_num(all, "format", 1);
	js_put(all, "answers", list);
	return give_json(all, ret, err);
}

EXPORTED int stemma_lineage(struct stemma_record *r, const char *file, unsigned flags, unsigned depth, char **ret,
                            struct stemma_error *err)
{
	struct err e = {0};
	struct file_target t;
	struct lineage l;
	json_t *o = NULL;
	struct lineage_options options = {
	    .direction = flags & STEMMA_DOWN ? LINEAGE_DOWN : LINEAGE_UP,
	    .depth = depth,
	    .all = flags & STEMMA_ALL,
	    .fork = flags & STEMMA_FORKS,
	    .certain = flags & STEMMA_CERTAIN,
	    .skew = r->source.skew,
	    .system_extra = r->source.system_extra,
	};
	*ret = NULL;
	int rc = find_version(r, file, &t, err);
	if (rc)
		return rc;
	rc = lineage_walk(r->source.store, &t.version, 1, &options, &e, &l);
	if (rc < 0)
		return fail_with(rc, &e, "cannot read the record", err);
	bool viewing = store_view_begin(r->source.store, VIEW_WALK) == 0; /* many small questions */
	rc = lineage_json(r->source.store, &l, &o);
	if (viewing)
		store_view_end(r->source.store);
	lineage_release(&l);
	return rc < 0 ? fail_with(rc, NULL, "cannot read the record", err) : give_json(o, ret, err);
}

EXPORTED int stemma_runs(struct stemma_record *r, unsigned flags, uint64_t count, char **ret, struct stemma_error *err)
{
	json_t *o = NULL;
	*ret = NULL;
	int rc = runs_json(&r->source, flags & STEMMA_ALL, count, &o);
	return rc < 0 ? fail_with(rc, NULL, "cannot list the runs", err) : give_json(o, ret, err);
}

EXPORTED int stemma_find(struct stemma_record *r, const char *expression, unsigned flags, char **ret,
                         struct stemma_error *err)
{
	struct err e = {0};
	struct expr *x = NULL;
	enum expr_kind kind = EXPR_ANY;
	struct found f;
	json_t *o = NULL;
	char *words[] = {(char *)expression, NULL};
	*ret = NULL;
	int rc = expr_parse(words, 1, &e, &x, &kind);
	if (rc == 0)
		rc = found_make(&r->source, x, kind == EXPR_ANY ? EXPR_FILES : kind, flags & STEMMA_ALL, &e, &f);
	expr_free(x);
	if (rc == -ENOENT)
		return fail_to_resolve(rc, &e, err);
	if (rc < 0)
		return fail_with(rc, &e, "cannot read the record", err);
	rc = found_json(&r->source, &f, &o);
	found_rows_release(&f);
	return rc < 0 ? fail_with(rc, NULL, "cannot read the record", err) : give_json(o, ret, err);
}

/* A side of a diff: its kind and the id of what is compared. */
static int find_side(struct stemma_record *r, const char *text, enum diff_what *ret_what, store_id *ret_id,
                     struct stemma_error *err)
{
	struct err e = {0};
	struct target t;
	int rc = target_any(r->source.store, text, false, &e, &t);
	if (rc <= 0)
		return fail_to_resolve(rc, &e, err);
	if (t.kind == TARGET_FILE && !t.file.version)
		return fail_with(STEMMA_NOTHING, NULL, "the file is known by name only; no content of it is recorded", err);
	*ret_what = t.kind == TARGET_RUN ? DIFF_RUN : t.kind == TARGET_EXEC ? DIFF_EXEC : DIFF_VERSION;
	*ret_id = t.kind == TARGET_FILE ? t.file.version : t.id;
	return 0;
}

EXPORTED int stemma_diff(struct stemma_record *r, const char *a, const char *b, char **ret, struct stemma_error *err)
{
	struct err e = {0};
	enum diff_what what[2];
	store_id ids[2];
	struct diff d;
	json_t *o = NULL;
	struct diff_options options = {.system_extra = r->source.system_extra, .skew = r->source.skew};
	*ret = NULL;
	int rc = find_side(r, a, &what[0], &ids[0], err);
	if (rc == 0)
		rc = find_side(r, b, &what[1], &ids[1], err);
	if (rc)
		return rc;
	if (what[0] != what[1])
		return fail_with(-EINVAL, NULL, "the two are of different kinds", err);
	rc = diff_make(r->source.store, what[0], ids, &options, &e, &d);
	if (rc < 0)
		return fail_with(rc, &e, "cannot compare them", err);
	rc = diff_builds(r->source.store, &d, &e);
	if (rc == 0)
		rc = diff_json(&r->source, &d, &o);
	diff_release(&d);
	return rc < 0 ? fail_with(rc, &e, "cannot compare them", err) : give_json(o, ret, err);
}

/* A run, execution or file, whatever is recorded of it. */
static int find_target(struct stemma_record *r, const char *text, struct target *ret, struct stemma_error *err)
{
	struct err e = {0};
	int rc = target_any(r->source.store, text, false, &e, ret);
	return rc <= 0 ? fail_to_resolve(rc, &e, err) : 0;
}

EXPORTED int stemma_show(struct stemma_record *r, const char *target, unsigned flags, char **ret,
                         struct stemma_error *err)
{
	struct err e = {0};
	struct show_found f;
	bool sources = flags & STEMMA_SOURCES, differs = false;
	*ret = NULL;
	int rc = show_find(&r->source, target, false, sources, &e, &f);
	if (rc <= 0)
		return fail_to_resolve(rc, &e, err);
	e = (struct err){0};
	json_t *all = json_object(), *list = json_array();
	rc = show_json(&r->source, &f, target, flags & STEMMA_ALL, sources, &e, list, &differs);
	show_found_release(&f);
	js_num(all, "format", 1);
	js_put(all, "things", list);
	if (rc == 0)
		return give_json(all, ret, err);
	json_decref(all);
	return fail_with(rc, &e, "cannot read the record", err);
}

/* Counts what the target read and wrote, and makes the answer of it: `when` if it has a moment, else the sums. */
static int answer_stat(struct stemma_record *r, const char *target, unsigned flags, uint64_t count,
                       struct stat_when *when, char **ret, struct stemma_error *err)
{
	struct target t;
	struct stat_sums w = {.source = &r->source, .all = flags & STEMMA_ALL, .objects = flags & STEMMA_OBJECTS};
	json_t *o = NULL;
	*ret = NULL;
	int rc = find_target(r, target, &t, err);
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
		rc = stat_json(&w, count, when, &o);
	}
	store_view_end(r->source.store);
	stat_release(&w);
	return rc < 0 ? fail_with(rc, NULL, "cannot count", err) : give_json(o, ret, err);
}

EXPORTED int stemma_stat(struct stemma_record *r, const char *target, unsigned flags, uint64_t count, char **ret,
                         struct stemma_error *err)
{
	struct stat_when when = {0};
	int rc = answer_stat(r, target, flags, count, flags & STEMMA_TIMES ? &when : NULL, ret, err);
	stat_when_release(&when);
	return rc;
}

EXPORTED int stemma_stat_at(struct stemma_record *r, const char *target, unsigned flags, int64_t at, char **ret,
                            struct stemma_error *err)
{
	struct stat_when when = {.has_at = true, .at = at};
	int rc = answer_stat(r, target, flags, 0, &when, ret, err);
	stat_when_release(&when);
	return rc;
}

EXPORTED int stemma_summaries(struct stemma_record *r, const char *run, char **ret, struct stemma_error *err)
{
	struct err e = {0};
	struct target t = {.kind = TARGET_RUN};
	struct buf b = {0};
	*ret = NULL;
	int rc = run ? target_any(r->source.store, run, false, &e, &t) : 1;
	if (rc <= 0)
		return fail_to_resolve(rc, &e, err);
	if (t.kind != TARGET_RUN)
		return fail_with(-EINVAL, NULL, "it is no run", err);
	int64_t n = summaries_json(&r->source, t.id, &b);
	if (n > 0)
		*ret = strdup(buf_cstr(&b));
	buf_release(&b);
	if (n == 0)
		return fail_with(STEMMA_NOTHING, NULL, "no summary was recorded", err);
	return n < 0  ? fail_with((int)n, NULL, "cannot read the record", err)
	       : *ret ? 0
	              : fail_with(-ENOMEM, NULL, "cannot write the answer", err);
}

EXPORTED void stemma_free(char *text)
{
	free(text);
}

EXPORTED const char *stemma_version(void)
{
	return STEMMA_VERSION;
}
