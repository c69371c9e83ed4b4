#include "answer/show/show.h"

#include "query/submit/submit.h"

#include <errno.h>
#include <stdlib.h>

/* ---- what was used and made ---- */

/* Adds it to the list. 0, also where the record does not have it; -errno. */
static int item_json(struct store *s, store_id exec, const struct item *item, bool used, json_t *list)
{
	const struct edge *e = &item->e;
	struct version_info v;
	struct file_info f;
	int r = store_version(s, item->version, &v);
	if (r > 0)
		r = store_file(s, v.file, &f);
	if (r <= 0)
		return r;
	json_t *one = entity_json(&v, &f);
	if (e->has_bytes)
		js_num(one, "bytes", e->bytes);
	if (e->count)
		js_num(one, "count", e->count);
	js_text(one, "certainty", e->sure ? "must" : "may");
	if (used)
		js_text(one, "evidence", term_name(SET_reading, e->reading));
	js_text(one, "via", term_name(SET_via, e->via));
	r = exec ? opened_name_json(s, one, exec, v.file) : 0;
	js_add(list, one);
	return r;
}

/* Lists files those that are listed, under the key. 0, negative: not all of them. */
static int items_json(struct store *s, const struct show_items *l, bool used, json_t *o, const char *key)
{
	json_t *list = json_array();
	int r = 0;
	for (size_t i = 0; i < l->items.n && r >= 0; i++)
		if (l->sorts[i] != SHOW_UNLISTED)
			r = item_json(s, l->exec, &l->items.v[i], used, list);
	js_put(o, key, list);
	return r;
}

/* ---- an execution ---- */

/* Adds the execution that submitted a job, or was submitted (of_job), to the list. 1: added; 0: the record does not
 * have the execution; -errno. */
static int submission_json(struct store *s, const struct submission *one, bool of_job, json_t *list)
{
	struct exec_info x;
	int r = store_exec(s, one->exec, &x);
	if (r <= 0)
		return r;
	json_t *o = json_object();
	if (of_job)
		js_text(o, "job", one->job);
	js_pub(o, of_job ? "first" : "id", &x.pub);
	js_list(o, "argv", &x.argv);
	js_time(o, "start", one->start);
	js_text(o, "certainty", one->sure ? "must" : "may");
	js_put(o, "same_name", json_boolean(one->named));
	js_add(list, o);
	return 1;
}

/* "submitted_by", who may have submitted its job, or "jobs" that it may have submitted; nothing where there is none. 0,
 * -errno. */
static int submissions_json(const struct answer_source *a, store_id exec, bool of_job, json_t *o)
{
	struct submissions l = {0};
	json_t *list = json_array();
	int r = of_job ? submit_jobs(a->store, exec, a->skew, &l) : submit_of(a->store, exec, a->skew, &l);
	for (size_t i = 0; i < l.n && r >= 0; i++)
		r = submission_json(a->store, &l.v[i], of_job, list);
	submissions_release(&l);
	if (json_array_size(list))
		js_put(o, of_job ? "jobs" : "submitted_by", list);
	else
		json_decref(list);
	return r < 0 ? r : 0;
}

/* Makes the object of an execution, with its environment. *ret may be set where -errno is returned; it is the
 * caller's. The environment is left out where the execution cannot be read again. */
static int exec_with_env_json(const struct answer_source *a, const struct show_exec *x, json_t **ret)
{
	struct exec_info info;
	int r = store_exec(a->store, x->id, &info);
	if (r > 0)
		r = exec_json(a->store, &info, ret);
	if (r >= 0 && store_exec(a->store, x->id, &info) > 0)
		js_list(*ret, "environment", &info.env);
	return r;
}

/* Adds the execution to the list, or what of it could be read. 0 or more, or -errno. */
static int append_exec_json(const struct answer_source *a, store_id exec, bool all, json_t *list)
{
	struct show_exec x;
	json_t *o = NULL;
	int r = show_exec_load(a, exec, all, &x);
	if (r < 0)
		return r;
	r = exec_with_env_json(a, &x, &o);
	if (r >= 0)
		r = submissions_json(a, exec, false, o);
	if (r >= 0)
		r = submissions_json(a, exec, true, o);
	js_text(o, "kind", "execution");
	if (r >= 0)
		r = items_json(a->store, &x.used, true, o, "used");
	if (r >= 0)
		r = items_json(a->store, &x.made, false, o, "generated");
	js_add(list, o);
	show_exec_release(&x);
	return r;
}

/* ---- a run ---- */

/* Puts the run's executions into o as a list. 0 or more; -errno, the list is put in that case, too. */
static int execs_json(struct store *s, const struct show_run *run, json_t *o)
{
	json_t *list = json_array();
	int r = 0;
	for (size_t i = 0; i < run->n && r >= 0; i++) {
		struct exec_info info;
		json_t *one = NULL;
		r = store_exec(s, run->execs[i], &info);
		if (r > 0)
			r = exec_json(s, &info, &one);
		if (one && r >= 0)
			r = representative_json(s, run->execs[i], one);
		if (one)
			js_add(list, one);
	}
	js_put(o, "executions", list);
	return r;
}

/* Appends a run, with what it used and made. 0 where the record does not have the run: nothing is added; -errno. */
static int append_run_json(const struct answer_source *a, store_id id, bool all, json_t *list)
{
	struct show_run x;
	int r = show_run_load(a, id, all, &x);
	if (r <= 0)
		return r;
	const struct run_info *run = &x.run;
	json_t *o = run_json(a, run);
	js_text(o, "kind", "run");
	js_str(o, "group", run->group);
	js_str_if(o, "outer", run->outer);
	js_pairs(o, "machine", &run->hostinfo);
	js_str(o, "mode", run->mode);
	js_gaps(o, "completeness", run->gaps);
	js_num(o, "executions_total", run->executions);
	js_num(o, "calls_stopped", run->traps);
	js_big(o, "recorder_cpu", run->recorder_cpu);
	r = execs_json(a->store, &x, o);
	if (r >= 0)
		r = items_json(a->store, &x.used, true, o, "used");
	if (r >= 0)
		r = items_json(a->store, &x.made, false, o, "generated");
	if (r >= 0)
		r = notes_json(a->store, o, NOTES_RUN, id, 0);
	if (r >= 0)
		r = app_log_json(a->store, id, o);
	js_add(list, o);
	show_run_release(&x);
	return r;
}

/* ---- a file ---- */

/* Appends the executions to which the edges lead, with certainty and times. 0; -EIO: an edge leads to what the
 * record does not have; -errno. */
static int exec_ids_json(struct store *s, const struct edges *e, json_t *list)
{
	for (size_t i = 0; i < e->n; i++) {
		struct exec_info x;
		int r = store_exec(s, e->v[i].to, &x);
		if (r <= 0)
			return r < 0 ? r : -EIO;
		json_t *one = json_object();
		js_pub(one, "id", &x.pub);
		js_text(one, "certainty", e->v[i].sure ? "must" : "may");
		js_times(one, "time", e->v[i].lo, e->v[i].hi);
		js_add(list, one);
	}
	return 0;
}

/* Adds the version with its makers and readers to versions; null where the record does not have it. 1, 0: it does not
 * have it; -errno. */
static int version_json(struct store *s, store_id id, json_t *versions)
{
	struct version_info v;
	struct file_info f;
	struct edges e = {0};
	json_t *gens = json_array(), *readers = json_array(), *o = NULL;
	int r = store_version(s, id, &v);
	if (r > 0)
		r = store_file(s, v.file, &f);
	if (r > 0)
		o = entity_json(&v, &f);
	if (r >= 0)
		r = store_gens(s, id, &e);
	if (r >= 0)
		r = exec_ids_json(s, &e, gens);
	if (r >= 0)
		r = store_readers(s, id, &e);
	if (r >= 0)
		r = exec_ids_json(s, &e, readers);
	js_put(o, "wasGeneratedBy", gens);
	js_put(o, "usedBy", readers);
	js_add(versions, o);
	edges_release(&e);
	return r;
}

/* Appends a file with its versions. only: this version alone; 0: all. *ret is what was appended. */
static int append_file_json(struct store *s, store_id file, uint64_t only, json_t *list, json_t **ret)
{
	struct file_info f;
	int r = store_file(s, file, &f);
	if (r <= 0)
		return r;
	json_t *o = json_object(), *versions = json_array();
	uint64_t from = only ? only : 1, to = only ? only : f.versions;
	js_text(o, "kind", "file");
	js_pub(o, "id", &f.pub);
	js_str(o, "path", f.path);
	js_bool(o, "named", f.named);
	js_text(o, "type", term_name(SET_kind, f.kind));
	js_str(o, "domain", f.domain);
	js_big(o, "inode", f.ino);
	js_big(o, "generation", f.gen);
	js_put(o, "versions", versions);
	r = notes_json(s, o, NOTES_FILE, file, 0);
	js_add(list, o);
	*ret = o;
	for (uint64_t k = from; k <= to && r >= 0; k++) {
		store_id id;
		r = store_version_of(s, file, k, &id);
		if (r > 0)
			r = version_json(s, id, versions);
	}
	return r;
}

/* The file that was asked for and those that had the name before, as show_files. 0 or more, -errno. */
static int append_files_json(struct store *s, const char *text, const struct file_target *t, json_t *list)
{
	store_id *files = NULL;
	size_t n = 0;
	int r = show_files(s, text, t, &files, &n);
	for (size_t i = 0; i < n && r >= 0; i++) {
		json_t *o = NULL;
		r = append_file_json(s, files[i], i ? 0 : t->n, list, &o);
		if (r >= 0 && i == 0 && t->disk == DISK_DELETED)
			r = deleted_json(s, &t->deleted, o);
	}
	free(files);
	return r;
}

/* ---- whatever was found ---- */

/* Appends a build with its sources. check: compares the sources with the disk; *ret_differs becomes true where one
 * is not the same, and else stays. */
static int append_build_json(const struct answer_source *a, const struct build *b, bool check, struct err *err,
                             json_t *list, bool *ret_differs)
{
	struct show_build v;
	int r = show_build_load(a, b, check, NULL, err, &v);
	if (r < 0)
		return r;
	js_add(list, show_build_json(&v));
	*ret_differs |= v.differs;
	show_build_release(&v);
	return 0;
}

int show_json(const struct answer_source *a, const struct show_found *f, const char *text, bool all, bool check,
              struct err *err, json_t *list, bool *ret_differs)
{
	const struct target *t = &f->target;
	int r = f->builds.n ? append_build_json(a, &f->builds.v[f->build], check, err, list, ret_differs) : 0;
	if (r < 0 || !f->has_target)
		return r;
	r = t->kind == TARGET_RUN    ? append_run_json(a, t->id, all, list)
	    : t->kind == TARGET_EXEC ? append_exec_json(a, t->id, all, list)
	                             : append_files_json(a->store, text, &t->file, list);
	return r < 0 ? r : 0;
}
