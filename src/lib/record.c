/* record.c - opening a record, and what its names mean. */
#include "lib/record.h"

#include "answer/js.h"
#include "base/late/late.h"
#include "query/target.h"
#include "site/index_source.h"
#include "store/elsewhere/source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- errors ---- */

int record_fail(int code, const struct err *err, const char *what, struct stemma_error *ret)
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

int record_fail_to_resolve(int r, const struct err *err, struct stemma_error *ret)
{
	bool nothing = r == 0 || r == -ENOENT || r == -EISDIR || r == -ENOTUNIQ;
	return record_fail(nothing ? STEMMA_NOTHING : r, err, "nothing is recorded of it", ret);
}

/* ---- answers ---- */

int record_give_json(json_t *o, char **ret, struct stemma_error *err)
{
	*ret = o ? json_dumps(o, JSON_INDENT(1)) : NULL;
	json_decref(o);
	return *ret ? 0 : record_fail(-ENOMEM, NULL, "cannot write the answer", err);
}

int record_give_text(struct buf *b, char **ret, struct stemma_error *err)
{
	buf_char(b, '\0');
	*ret = b->failed ? NULL : b->p;
	if (!*ret)
		buf_release(b);
	return *ret ? 0 : record_fail(-ENOMEM, NULL, "cannot write the answer", err);
}

/* ---- the record ---- */

/* Takes a warning about the settings and does nothing with it. */
static void ignore_warning(void *arg, const char *line)
{
	(void)arg;
	(void)line;
}

/* Is there a record at all? A question must not create one. 0, or what record_fail gives, as *ret: STEMMA_NOTHING if
 * there is none, -errno. */
static int check_store_exists(const char *home, struct stemma_error *ret)
{
	struct err err = {0};
	char *place = NULL;
	struct buf logs = {0};
	int r = store_places(home, &err, &place, NULL);
	if (r < 0)
		return record_fail(r, &err, "cannot find the record", ret);
	buf_printf(&logs, "%s/logs", place);
	if (access(buf_cstr(&logs), R_OK | X_OK) < 0) {
		r = errno == ENOENT || errno == ENOTDIR ? STEMMA_NOTHING : -errno;
		err_set(&err, r < 0 ? -r : 0, r < 0 ? "cannot open '%s'" : "no runs have been recorded in '%s' yet", place);
		record_fail(r, &err, "", ret);
	}
	buf_release(&logs);
	free(place);
	return r;
}

/* Opens the store and brings it up to date; an index that is found damaged meanwhile is made again, at most once.
 * again: it was. -errno, reported: nothing is open then. */
static int open_store(struct stemma_record *r, bool again, struct err *err)
{
	unsigned how = r->flags & STEMMA_IN_MEMORY   ? STORE_WRITE | STORE_MEMORY
	               : r->flags & STEMMA_READ_ONLY ? STORE_READ
	               : again                       ? STORE_WRITE | STORE_REBUILD
	                                             : STORE_WRITE | STORE_MEND;
	struct store_index_options o = {.skew = r->source.skew, .system_extra = r->source.system_extra};
	struct store_index_stats stats;
	if (r->url)
		return index_source_open(r->url, err, &r->source.store);
	int rc = store_open(r->home, how, err, &r->source.store);
	if (rc < 0)
		return rc;
	if (how & STORE_WRITE)
		rc = store_index(r->source.store, &o, err, &stats);
	if (rc == 0)
		return 0;
	bool damaged = !again && store_is_damaged(r->source.store);
	store_close(r->source.store);
	r->source.store = NULL;
	if (!damaged)
		return rc;
	err_clear(err);
	return open_store(r, true, err);
}

/* Opens the store that answers come from. 0; else as record_fail. */
static int open_record(struct stemma_record *r, bool again, struct stemma_error *ret)
{
	struct err err = {0};
	int rc = open_store(r, again, &err);
	return rc < 0 ? record_fail(rc, &err, "cannot open the record", ret) : 0;
}

/* The index is damaged: what was read of it is of no use. Read-only, it is only reported, with a hint. 0; else what
 * record_fail gives, with a sentence. */
static int make_again(struct stemma_record *r, struct stemma_error *ret)
{
	struct err err = {0};
	if (r->flags & STEMMA_READ_ONLY || r->url) {
		err_set(&err, 0, "the index '%s' is damaged", store_index_path(r->source.store));
		err_hint(&err, "%s",
		         r->url
		             ? "to write the index again, run stemma site load --questions on the machine that has the record"
		             : "stemma index --rebuild rebuilds it from the logs");
		return record_fail(-ENOTRECOVERABLE, &err, "", ret);
	}
	store_close(r->source.store);
	r->source.store = NULL;
	return open_record(r, true, ret);
}

/* Frees an answer of a question that failed after all. */
static void drop_answer(const struct record_question *q)
{
	if (q->ret) {
		free(*q->ret);
		*q->ret = NULL;
	}
}

/* Opens the record anew if it has changed. Of a record in a database each question is asked of the latest state that
 * is there. What was read of an older one is forgotten, and a connection that was lost is made again. 0; else as
 * record_fail, and no store is open. */
static int renew_record(struct stemma_record *r, struct stemma_error *ret)
{
	struct store_source *source = r->source.store ? store_source_of(r->source.store) : NULL;
	if (source && source->renew(source, NULL) == 0)
		return 0;
	if (source) {
		store_close(r->source.store);
		r->source.store = NULL;
	}
	return r->source.store ? 0 : open_record(r, false, ret);
}

/* Between two questions no transaction of a database is open. */
static void rest_record(struct stemma_record *r)
{
	struct store_source *source = r->source.store ? store_source_of(r->source.store) : NULL;
	if (source)
		source->rest(source);
}

/* Asks the question again while what it read was incomplete, as record_ask, once there is a store. */
static int ask_whole(struct stemma_record *r, const struct record_question *q, struct stemma_error *err)
{
	int rc = 0;
	for (int again = 0; rc == 0; again++) {
		bool viewing = store_view_begin(r->source.store, VIEW_WALK) == 0; /* one state of the index */
		uint64_t failed = store_reads_failed_in(r->source.store);
		rc = q->ask(r, q, err);
		bool whole = rc < 0 || store_reads_failed_in(r->source.store) == failed;
		if (viewing)
			store_view_end(r->source.store);
		if (whole && !store_is_damaged(r->source.store))
			return rc;
		drop_answer(q);
		if (!store_is_damaged(r->source.store))
			return record_fail(-EIO, NULL, "the index could not be read, so this answer may be incomplete", err);
		if (again)
			return record_fail(-ENOTRECOVERABLE, NULL, "the index is damaged although it has just been rebuilt", err);
		rc = make_again(r, err);
	}
	return rc;
}

int record_ask(struct stemma_record *r, const struct record_question *q, struct stemma_error *err)
{
	if (q->ret)
		*q->ret = NULL;
	int rc = renew_record(r, err);
	if (rc == 0)
		rc = ask_whole(r, q, err);
	rest_record(r);
	return rc;
}

/* Notes where the record is, in a folder or in a database. 0; else as record_fail. */
static int find_record(struct stemma_record *r, const char *store, struct stemma_error *err)
{
	const char *set = config_get(&r->config, CONFIG_store), *home = store ? store : *set ? set : NULL;
	const char *url = index_source_url(home);
	r->home = home ? strdup(home) : NULL;
	r->url = url ? strdup(url) : NULL;
	if ((home && !r->home) || (url && !r->url))
		return record_fail(-ENOMEM, NULL, "cannot open the record", err);
	return url ? 0 : check_store_exists(home, err);
}

/* 0, with *ret to close; else *ret is NULL, with the reason in err. */
EXPORTED int stemma_open(const char *store, unsigned flags, struct stemma_record **ret, struct stemma_error *err)
{
	struct err e = {0};
	*ret = NULL;
	if (late_load(&late_sqlite, &e) < 0 || late_load(&late_jansson, &e) < 0)
		return record_fail(-ELIBACC, &e, "", err);
	struct stemma_record *r = calloc(1, sizeof(*r));
	if (!r || config_load(&r->config, ignore_warning, NULL) < 0) {
		stemma_close(r);
		return record_fail(-ENOMEM, NULL, "cannot open the record", err);
	}
	r->flags = flags;
	r->source.skew = config_duration(&r->config, CONFIG_skew);
	r->source.system_extra = config_get(&r->config, CONFIG_system);
	int rc = find_record(r, store, err);
	if (rc == 0)
		rc = open_record(r, false, err);
	rest_record(r);
	if (rc)
		stemma_close(r);
	else
		*ret = r;
	return rc;
}

/* Answers stemma_update. 0; else as record_fail. */
static int ask_update(struct stemma_record *r, const struct record_question *q, struct stemma_error *err)
{
	struct err e = {0};
	struct store_index_options o = {.skew = r->source.skew, .system_extra = r->source.system_extra};
	struct store_index_stats stats;
	(void)q;
	if (r->url) /* each question asks the latest state */
		return 0;
	int rc = store_index(r->source.store, &o, &e, &stats);
	return rc < 0 ? record_fail(rc, &e, "cannot update the index", err) : 0;
}

/* Brings the index up to date; see stemma.h. */
EXPORTED int stemma_update(struct stemma_record *r, struct stemma_error *err)
{
	return record_ask(r, &(struct record_question){.ask = ask_update}, err);
}

/* NULL is no error. */
EXPORTED void stemma_close(struct stemma_record *r)
{
	if (!r)
		return;
	store_close(r->source.store);
	config_release(&r->config);
	free(r->home);
	free(r->url);
	free(r);
}

/* Answers stemma_damage. 0; else what record_fail gives, with a sentence. */
static int ask_damage(struct stemma_record *r, const struct record_question *q, struct stemma_error *err)
{
	int rc = store_damage(r->source.store, q->arg);
	return rc < 0 ? record_fail(rc, NULL, "cannot read the record", err) : 0;
}

/* *ret_places and *ret_recordings are set only with 0. */
EXPORTED int stemma_damage(struct stemma_record *r, uint64_t *ret_places, uint64_t *ret_recordings,
                           struct stemma_error *err)
{
	struct store_damage d = {0};
	int rc = record_ask(r, &(struct record_question){.ask = ask_damage, .arg = &d}, err);
	if (rc)
		return rc;
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
		r = store_run_told(s, t->id, &run);
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

/* *q->arg gets what is known of the target. 0; else what record_fail gives, with a sentence. */
static int ask_resolve(struct stemma_record *r, const struct record_question *q, struct stemma_error *err)
{
	struct err e = {0};
	struct target t;
	int rc = target_any(r->source.store, q->a, false, &e, &t);
	if (rc <= 0)
		return record_fail_to_resolve(rc, &e, err);
	rc = describe_target(r->source.store, &t, q->arg);
	return rc < 0 ? record_fail(rc, NULL, "cannot read the record", err) : 0;
}

EXPORTED int stemma_resolve(struct stemma_record *r, const char *text, struct stemma_target *ret,
                            struct stemma_error *err)
{
	return record_ask(r, &(struct record_question){.ask = ask_resolve, .a = text, .arg = ret}, err);
}

/* For what the functions gave in *ret. NULL is no error. */
EXPORTED void stemma_free(char *text)
{
	free(text);
}

/* Static. */
EXPORTED const char *stemma_version(void)
{
	return STEMMA_VERSION;
}
