#include "query/find/select_int.h"

#include "base/os/system.h"
#include "query/idset.h"
#include "query/lineage/lineage.h"
#include "query/objects.h"
#include "query/stages/stages_called.h"
#include "query/target.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- everything there is ---- */

/* Adds the first column of all rows. 0 or -errno. */
static int all_ids(const struct select *w, const char *sql, struct idset *ret)
{
	sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(store_sqlite(w->s), sql, -1, &st, NULL), r = 0;
	while (rc == SQLITE_OK && r == 0 && (rc = sqlite3_step(st)) == SQLITE_ROW) {
		r = idset_add(ret, (store_id)sqlite3_column_int64(st, 0));
		rc = SQLITE_OK;
	}
	if (r == 0 && rc != SQLITE_DONE)
		r = err_set(w->err, EIO, "cannot read the index (%s)", sqlite3_errmsg(store_sqlite(w->s)));
	sqlite3_finalize(st);
	idset_close(ret);
	return r;
}

/* All of this kind. 0 or -errno. */
static int select_all(const struct select *w, enum expr_kind kind, struct idset *ret)
{
	return all_ids(w,
	               kind == EXPR_RUNS    ? "SELECT id FROM run"
	               : kind == EXPR_EXECS ? "SELECT id FROM execution"
	                                    : "SELECT id FROM version",
	               ret);
}

/* ---- from executions to what is looked for ---- */

/* Only certain ones where the question says so (w->sure). 0, -ENOMEM. */
static int add_edge_targets(const struct select *w, struct idset *to, const struct edges *e)
{
	int r = 0;
	for (size_t i = 0; i < e->n && r == 0; i++)
		if (e->v[i].sure || !w->sure)
			r = idset_add(to, e->v[i].to);
	return r;
}

typedef int edge_call(struct store *s, store_id id, struct edges *e);

/* All that `call` leads to from the ids of `from`. 0, -errno. */
static int follow_edges(const struct select *w, const struct idset *from, edge_call *call, struct idset *to)
{
	struct edges e = {0};
	int r = 0;
	for (size_t i = 0; i < from->n && r == 0; i++) {
		r = call(w->s, from->v[i], &e);
		if (r == 0)
			r = add_edge_targets(w, to, &e);
	}
	edges_release(&e);
	return r;
}

/* Adds to ret what is looked for (w->kind) of these executions: themselves, the files that they made, or their runs.
 * Both sets are closed afterwards; the caller releases both. 0, -errno. */
static int lift_execs(const struct select *w, struct idset *execs, struct idset *ret)
{
	int r = 0;
	idset_close(execs);
	if (w->kind == EXPR_EXECS) {
		r = idset_unite(ret, execs);
	} else if (w->kind == EXPR_FILES) {
		r = follow_edges(w, execs, store_outputs, ret);
	} else {
		for (size_t i = 0; i < execs->n && r == 0; i++) {
			struct exec_info x;
			r = store_exec(w->s, execs->v[i], &x);
			if (r > 0)
				r = x.run ? idset_add(ret, x.run) : 0;
		}
	}
	idset_close(ret);
	return r;
}

/* ---- conditions about files ---- */

/* Tells of other files whose version N it might have been. 0 or more, -errno. */
static int report_namesakes(const struct select *w, const char *text)
{
	store_id *others = NULL;
	size_t n = 0;
	int r = w->o->namesake ? target_namesakes(w->s, text, &others, &n) : 0;
	for (size_t i = 0; i < n && r >= 0; i++)
		r = w->o->namesake(w->o->arg, text, others[i]);
	free(others);
	return r;
}

/* Adds version `only` of the file, or (0) all of them. text: what the user wrote for it. */
static int add_file_versions(const struct select *w, const char *text, store_id file, uint64_t only, struct idset *ret)
{
	struct file_info f;
	int r = store_file(w->s, file, &f);
	uint64_t last = r > 0 ? f.versions : 0;
	if (r > 0 && only > last) {
		err_set(w->err, 0, "'%.300s' is not recorded: the versions of the file are 1 to %llu", text,
		        (unsigned long long)last);
		return -ENOENT;
	}
	for (uint64_t k = only ? only : 1; r > 0 && k <= (only ? only : last); k++) {
		store_id v;
		r = store_version_of(w->s, file, k, &v);
		if (r > 0 && idset_add(ret, v) < 0)
			r = -ENOMEM;
		else if (r == 0)
			r = 1;
	}
	return r;
}

/* The versions that FILE or FILE@{N} means; ret_one (may be NULL): it is a certain one. */
static int versions_of(const struct select *w, const char *text, struct idset *ret, bool *ret_one)
{
	store_id *files = NULL;
	size_t n = 0;
	uint64_t only = 0;
	int r = target_files(w->s, text, w->err, &files, &n, &only);
	if (r == 0) { /* perhaps the id of a version */
		struct err again = {0};
		struct file_target t;
		r = target_file(w->s, text, &again, &t);
		if (r > 0 && ret_one)
			*ret_one = true;
		if (r > 0)
			return idset_add(ret, t.version);
		return r < 0 ? r : -ENOENT;
	}
	if (ret_one)
		*ret_one = only > 0;
	if (r > 0 && only && report_namesakes(w, text) < 0)
		r = -ENOMEM;
	for (size_t i = 0; i < n && r > 0; i++)
		r = add_file_versions(w, text, files[i], only, ret);
	free(files);
	idset_close(ret);
	return r < 0 ? r : 0;
}

/* Is one of them a version of an object in a file? 1, 0, -errno. */
static int has_objects(const struct select *w, const struct idset *versions)
{
	for (size_t i = 0; i < versions->n; i++) {
		struct version_sort v;
		int r = store_version_sort(w->s, versions->v[i], &v);
		if (r < 0 || (r > 0 && objects_is_object(v.kind)))
			return r;
	}
	return 0;
}

/* Of what was found, datasets and attributes are shown as objects: but not those that HDF5 and netCDF keep a file in
 * order by. 0, -errno. */
static int show_objects(const struct select *w, const struct idset *found)
{
	int r = 0;
	for (size_t i = 0; i < found->n && r >= 0; i++) {
		struct version_sort v;
		r = store_version_sort(w->s, found->v[i], &v);
		bool data = r > 0 && (v.kind == TERM_kind_dataset || v.kind == TERM_kind_attribute);
		if (data && !objects_is_housekeeping(v.kind, v.path))
			r = idset_add(w->objects, found->v[i]);
	}
	idset_close(w->objects);
	return r < 0 ? r : 0;
}

/* Finds what has to do with a file. call: which edges of a version are followed. What is found is lifted to what is
 * asked for: executions, runs or versions; of an object, objects are among these. 0, or -errno with a sentence. */
static int select_touching(const struct select *w, const char *text, edge_call *call, struct idset *ret)
{
	struct idset versions = {0}, execs = {0};
	int r = versions_of(w, text, &versions, NULL);
	if (r == 0)
		r = follow_edges(w, &versions, call, &execs);
	if (r == 0)
		r = lift_execs(w, &execs, ret);
	int objects = r == 0 && w->kind == EXPR_FILES ? has_objects(w, &versions) : 0;
	if (objects)
		r = objects < 0 ? objects : show_objects(w, ret);
	idset_release(&versions);
	idset_release(&execs);
	return r;
}

/* What lies on the lineage of the file that `text` names. 0, or -errno with a sentence. */
static int select_reachable(const struct select *w, const char *text, enum lineage_direction direction,
                            struct idset *ret)
{
	struct idset roots = {0}, execs = {0};
	struct lineage l = {0};
	struct lineage_options o = {.direction = direction,
	                            .skew = w->o->skew,
	                            .system_extra = w->o->system_extra,
	                            .all = w->o->all,
	                            .certain = w->sure,
	                            .nodes = true};
	bool one = false;
	int r = versions_of(w, text, &roots, &one);
	/* Who names a version means it, and not what somebody made of it in an editor. */
	o.seen_only = one && direction == LINEAGE_DOWN;
	if (r == 0)
		r = lineage_walk(w->s, roots.v, roots.n, &o, w->err, &l);
	for (size_t i = 0; r == 0 && i < l.n_nodes; i++) {
		const struct lineage_node *n = &l.nodes[i];
		if (n->exec)
			r = idset_add(&execs, n->id);
		else if (w->kind == EXPR_FILES && !idset_has(&roots, n->id))
			r = idset_add(ret, n->id);
		if (r == 0 && !n->exec && n->object && w->kind == EXPR_FILES)
			r = idset_add(w->objects, n->id);
	}
	if (r == 0 && w->kind != EXPR_FILES)
		r = lift_execs(w, &execs, ret);
	if (r == 0 && w->o->ret_unseen && !w->o->sure)
		*w->o->ret_unseen += l.omitted[OMIT_unseen];
	if (r == 0 && w->o->ret_forks && !w->o->sure)
		*w->o->ret_forks += l.omitted[OMIT_fork] + l.omitted[OMIT_shm];
	idset_close(ret);
	lineage_release(&l);
	idset_release(&roots);
	idset_release(&execs);
	return r;
}

/* A relative glob with a slash is one from here: whole is the buffer for it. */
static const char *absolute_glob(const char *glob, struct buf *whole)
{
	if (*glob == '/' || !strchr(glob, '/'))
		return glob;
	char *cwd = getcwd(NULL, 0);
	while (glob[0] == '.' && glob[1] == '/')
		glob += 2;
	buf_printf(whole, "%s/%s", cwd ? cwd : "", glob);
	free(cwd);
	return buf_cstr(whole);
}

/* The files whose paths the glob can match: all, or, where it is a path, those that show it. 0, -errno. */
static int files_to_match(const struct select *w, const char *glob, struct idset *ret)
{
	store_id *files = NULL;
	size_t n = 0;
	if (*glob != '/' || strpbrk(glob, "*?[\\") || strstr(glob, "//"))
		return all_ids(w, "SELECT id FROM file", ret);
	int r = store_files_showing(w->s, str_of(glob), &files, &n);
	for (size_t i = 0; i < n && r == 0; i++)
		r = idset_add(ret, files[i]);
	idset_close(ret);
	free(files);
	return r;
}

/* Adds all versions of the files whose paths the glob matches. 0 or more, -errno. */
static int add_matching_versions(const struct select *w, const char *glob, struct idset *ret)
{
	struct idset files = {0};
	struct buf tmp = {0};
	int r = files_to_match(w, glob, &files);
	for (size_t i = 0; i < files.n && r == 0; i++) {
		struct file_info f;
		r = store_file(w->s, files.v[i], &f);
		uint64_t n = r > 0 && select_path_matches(glob, f.path, &tmp) ? f.versions : 0;
		for (; n > 0 && r >= 0; n--) {
			store_id v;
			r = store_version_of(w->s, files.v[i], n, &v);
			if (r > 0)
				r = idset_add(ret, v);
		}
		r = r < 0 ? r : 0;
	}
	idset_release(&files);
	buf_release(&tmp);
	return r;
}

/* Files whose name the glob fits, or who used or made them. 0 or -errno. */
static int select_by_path(const struct select *w, const char *glob, struct idset *ret)
{
	struct idset versions = {0}, execs = {0};
	struct buf whole = {0};
	int r = add_matching_versions(w, absolute_glob(glob, &whole), &versions);
	idset_close(&versions);
	if (r == 0 && w->kind == EXPR_FILES) {
		r = idset_unite(ret, &versions);
	} else if (r == 0) {
		r = follow_edges(w, &versions, store_readers, &execs);
		if (r == 0)
			r = follow_edges(w, &versions, store_gens, &execs);
		if (r == 0)
			r = lift_execs(w, &execs, ret);
	}
	idset_release(&versions);
	idset_release(&execs);
	buf_release(&whole);
	return r;
}

/* ---- conditions about executions and runs ---- */

/* Executions that the condition is true of, lifted to what is asked for. 0 or -errno. */
static int by_exec(const struct select *w, const struct ask *a, struct idset *ret)
{
	struct idset all = {0}, execs = {0};
	struct buf tmp = {0};
	int r = select_all(w, EXPR_EXECS, &all);
	for (size_t i = 0; i < all.n && r >= 0; i++) {
		struct exec_info x;
		r = store_exec(w->s, all.v[i], &x);
		if (r > 0)
			r = select_ask_exec(w, a, &x, &tmp);
		if (r > 0)
			r = idset_add(&execs, all.v[i]);
	}
	if (r >= 0)
		r = lift_execs(w, &execs, ret);
	idset_release(&all);
	idset_release(&execs);
	buf_release(&tmp);
	return r;
}

/* Runs that the condition is true of, lifted. 0 or -errno. */
static int select_by_run(const struct select *w, const struct ask *a, struct idset *ret)
{
	struct idset all = {0};
	struct buf tmp = {0};
	int r = select_all(w, EXPR_RUNS, &all);
	for (size_t i = 0; i < all.n && r >= 0; i++) {
		struct run_info run;
		r = store_run_told(w->s, all.v[i], &run);
		if (r > 0 && select_ask_run(a, &run, &tmp))
			r = idset_add(ret, all.v[i]);
	}
	idset_close(ret);
	idset_release(&all);
	buf_release(&tmp);
	return r < 0 ? r : 0;
}

/* Versions that were written then. 0 or -errno. */
static int by_version_time(const struct select *w, const struct ask *a, struct idset *ret)
{
	struct idset all = {0};
	int r = select_all(w, EXPR_FILES, &all);
	for (size_t i = 0; i < all.n && r >= 0; i++) {
		struct version_info v;
		r = store_version(w->s, all.v[i], &v);
		/* What was only found was written when its time of modification says. */
		bool found = r > 0 && v.origin != ORIGIN_OBSERVED;
		if (r > 0 && select_ask_time(a, found ? v.mtime : v.start, found ? v.mtime : v.end))
			r = idset_add(ret, all.v[i]);
	}
	idset_close(ret);
	idset_release(&all);
	return r < 0 ? r : 0;
}

/* Adds what is looked for of one run. 0, -errno. */
static int add_run_execs(const struct select *w, store_id run, struct idset *execs)
{
	store_id *ids = NULL;
	size_t n = 0;
	int r = store_run_execs(w->s, run, &ids, &n);
	for (size_t i = 0; i < n && r >= 0; i++)
		r = idset_add(execs, ids[i]);
	free(ids);
	return r;
}

/* A label by its key, or whole. */
static bool has_label(const char *glob, const struct run_info *run, struct buf *tmp)
{
	struct str label;
	for (size_t pos = 0; strlist_next(&run->labels, &pos, &label);) {
		const char *eq = label.n ? memchr(label.p, '=', label.n) : NULL;
		if (eq && !strchr(glob, '='))
			label.n = (size_t)(eq - label.p);
		if (select_glob_is(glob, label, tmp))
			return true;
	}
	return false;
}

/* Runs with a label, or what belongs to them. 0, -errno. */
static int select_by_label(const struct select *w, const char *glob, struct idset *ret)
{
	struct idset all = {0}, execs = {0};
	struct buf tmp = {0};
	int r = select_all(w, EXPR_RUNS, &all);
	for (size_t i = 0; i < all.n && r >= 0; i++) {
		struct run_info run;
		r = store_run_told(w->s, all.v[i], &run);
		if (r > 0 && has_label(glob, &run, &tmp))
			r = w->kind == EXPR_RUNS ? idset_add(ret, all.v[i]) : add_run_execs(w, all.v[i], &execs);
	}
	if (r >= 0 && w->kind != EXPR_RUNS)
		r = lift_execs(w, &execs, ret);
	idset_release(&all);
	idset_release(&execs);
	buf_release(&tmp);
	return r < 0 ? r : 0;
}

/* What the stages that are called so did. 0, -errno. */
static int select_by_stage(const struct select *w, const char *glob, struct idset *ret)
{
	struct idset execs = {0};
	struct stages *st;
	int r = stages_new(w->s, &st);
	if (r == 0)
		r = stages_called(st, glob, &execs);
	if (r == 0)
		r = lift_execs(w, &execs, ret);
	stages_free(st);
	idset_release(&execs);
	return r;
}

/* The one run, or what is in it. 0, or -errno with a sentence: none, or several, are meant. */
static int of_run(const struct select *w, const char *text, struct idset *ret)
{
	store_id run;
	int r = store_find_run(w->s, text, &run);
	if (r == 0 || r == -ENOTUNIQ) {
		err_set(w->err, 0, r ? "'%.100s' is ambiguous: several runs match" : "there is no run '%.100s'", text);
		err_hint(w->err, r ? "type more of the id; stemma log --json prints whole ids" : "stemma log lists the runs");
		return r ? r : -ENOENT;
	}
	if (r > 0 && w->kind == EXPR_RUNS)
		return idset_add(ret, run);
	struct idset execs = {0};
	if (r > 0)
		r = add_run_execs(w, run, &execs);
	if (r >= 0)
		r = lift_execs(w, &execs, ret);
	idset_release(&execs);
	return r < 0 ? r : 0;
}

/* ---- the tree ---- */

/* One condition that is not `and`, `or`, `not`. 0, or -errno with a sentence. */
static int eval_condition(const struct select *w, const struct expr *e, struct idset *ret)
{
	struct ask a;
	switch (e->op) {
	case EXPR_used:
		return select_touching(w, e->value, store_readers, ret);
	case EXPR_made:
		return select_touching(w, e->value, store_gens, ret);
	case EXPR_from:
		return select_reachable(w, e->value, LINEAGE_DOWN, ret);
	case EXPR_into:
		return select_reachable(w, e->value, LINEAGE_UP, ret);
	case EXPR_path:
		return select_by_path(w, e->value, ret);
	case EXPR_stage:
		return select_by_stage(w, e->value, ret);
	case EXPR_label:
		return select_by_label(w, e->value, ret);
	case EXPR_run:
		return of_run(w, e->value, ret);
	default:
		break;
	}
	int r = select_ask_prepare(w, e, &a);
	if (r < 0)
		return r;
	bool timed = e->op == EXPR_since || e->op == EXPR_before;
	if (w->kind == EXPR_FILES && timed)
		return by_version_time(w, &a, ret);
	if (w->kind == EXPR_RUNS && e->op != EXPR_exe && e->op != EXPR_arg && e->op != EXPR_job)
		return select_by_run(w, &a, ret);
	return by_exec(w, &a, ret);
}

/* Finds what fits the condition. ret: empty at first. "not" turns sure into possible, so that what is left is sure;
 * and possible into sure, so that what only may fit the condition is still possible. 0, -errno. */
static int eval_expr(const struct select *w, const struct expr *e, struct idset *ret)
{
	struct idset other = {0};
	struct select not = *w;
	int r;
	switch (e->op) {
	case EXPR_NOT:
		not .sure = !w->sure;
		r = eval_expr(&not, e->a, &other);
		if (r == 0)
			r = select_all(w, w->kind, ret);
		if (r == 0)
			idset_take(ret, &other);
		break;
	case EXPR_AND:
	case EXPR_OR:
		r = eval_expr(w, e->a, ret);
		if (r == 0)
			r = eval_expr(w, e->b, &other);
		if (r == 0 && e->op == EXPR_AND)
			idset_meet(ret, &other);
		else if (r == 0)
			r = idset_unite(ret, &other);
		break;
	default:
		r = eval_condition(w, e, ret);
		idset_close(ret);
		break;
	}
	idset_release(&other);
	return r;
}

/* Leaves the versions of regular files that are somebody's work, and objects that were met on the way. 0, -errno. */
static int only_work(const struct select *w, struct idset *v)
{
	size_t n = 0;
	for (size_t i = 0; i < v->n; i++) {
		struct version_info ver;
		struct file_info f;
		int r = store_version(w->s, v->v[i], &ver);
		if (r > 0)
			r = store_file(w->s, ver.file, &f);
		if (r < 0)
			return r;
		bool shown = r > 0 && (f.kind == TERM_kind_regular || idset_has(w->objects, v->v[i]));
		if (shown && system_path(f.path, w->o->system_extra) == SYSTEM_NO)
			v->v[n++] = v->v[i];
	}
	v->n = n;
	return 0;
}

int select_eval(struct store *s, const struct expr *e, enum expr_kind kind, const struct select_options *o,
                struct err *err, struct idset *ret)
{
	struct idset set = {0}, objects = {0};
	struct select w = {s, o, err, kind == EXPR_ANY ? EXPR_FILES : kind, o->sure, &objects};
	int r = eval_expr(&w, e, &set);
	idset_close(&objects);
	if (r == 0 && w.kind == EXPR_FILES && !o->all)
		r = only_work(&w, &set);
	idset_release(&objects);
	if (r < 0) {
		err_set(err, -r, "cannot evaluate the expression");
		idset_release(&set);
		return r;
	}
	*ret = set;
	return 0;
}
