#include "answer/stages/workflows.h"

#include "answer/entities.h"
#include "base/map.h"
#include "base/os/engine_paths.h"
#include "base/os/system.h"

#include <errno.h>
#include <stdlib.h>

/* ---- who ---- */

/* The workflow of an execution; *ret its place. 1; 0 it has none, -errno. */
static int workflow_of(struct workflows *w, store_id exec, uint32_t *ret)
{
	struct exec_brief x;
	store_id engine = 0;
	bool is_new;
	int r = store_exec_brief(w->s, exec, &x);
	if (r <= 0)
		return r;
	store_id run = x.run;
	r = stages_owner(w->st, exec, &engine);
	if (r < 0 || (!engine && !run))
		return r < 0 ? r : 0;
	uint32_t *at = idmap_add(&w->known, hash_mix(engine ? 2 : 1, engine ? engine : run) | 1, (uint32_t)w->n, &is_new);
	if (!at || !vec_has_room(w->v, w->n, w->cap))
		return -ENOMEM;
	if (is_new)
		w->v[w->n++] = (struct workflow){.engine = engine, .run = run, .start = TIME_NONE};
	*ret = *at;
	return 1;
}

/* Once for each workflow; sure if one of the uses is. 0, -ENOMEM. */
static int add_use(struct workflow_use **v, size_t *n, size_t *cap, uint32_t workflow, bool sure)
{
	for (size_t i = 0; i < *n; i++)
		if ((*v)[i].workflow == workflow) {
			(*v)[i].sure |= sure;
			return 0;
		}
	if (*n >= *cap && !vec_grow((void **)v, cap, *n + 1, sizeof(**v)))
		return -ENOMEM;
	(*v)[(*n)++] = (struct workflow_use){workflow, sure};
	return 0;
}

/* ---- versions ---- */

/* Adds the workflows of those that the edges lead to, to makers or users. 0, -errno. What is of no workflow is passed
 * over. */
static int add_uses(struct workflows *w, struct workflow_shared *to, const struct edges *e, bool makers)
{
	int r = 0;
	for (size_t i = 0; i < e->n && r >= 0; i++) {
		uint32_t at;
		r = workflow_of(w, e->v[i].to, &at);
		if (r <= 0)
			continue;
		r = makers ? add_use(&to->makers, &to->n_makers, &to->cap_makers, at, e->v[i].sure)
		           : add_use(&to->users, &to->n_users, &to->cap_users, at, e->v[i].sure);
	}
	return r < 0 ? r : 0;
}

static void release_shared(struct workflow_shared *s)
{
	free(s->makers);
	free(s->users);
}

/* Makers and users are one workflow, or one of the two is none. */
static bool is_by_one(const struct workflow_shared *s)
{
	for (size_t i = 0; i < s->n_makers; i++)
		for (size_t k = 0; k < s->n_users; k++)
			if (s->makers[i].workflow != s->users[k].workflow)
				return false;
	return true;
}

/* Is the version somebody's data: a regular file, not of the system and none that an engine keeps for itself? 1 it
 * is somebody's data; 0, -errno. */
static int is_data(const struct workflows *w, store_id version)
{
	struct version_sort v;
	int r = store_version_sort(w->s, version, &v);
	return r <= 0 ? r
	              : v.kind == TERM_kind_regular && !v.within && !engine_own_file(v.path) &&
	                    system_path(v.path, w->system_extra) != SYSTEM_YES;
}

/* Who used it and, if anybody did or always, who made it. 0, -errno. */
static int find_uses(struct workflows *w, bool always, struct workflow_shared *to)
{
	struct edges e = {0};
	int r = store_readers(w->s, to->version, &e);
	if (r == 0)
		r = add_uses(w, to, &e, false);
	if (r == 0 && (to->n_users || always))
		r = store_gens(w->s, to->version, &e);
	else
		e.n = 0;
	if (r == 0)
		r = add_uses(w, to, &e, true);
	edges_release(&e);
	return r;
}

/* Adds a version that workflows share, with who made and who used it. always: also where one workflow alone has to
 * do with it. Each version once. 0, -errno. */
static int add_version(struct workflows *w, store_id version, bool always)
{
	struct workflow_shared one = {.version = version};
	bool is_new;
	if (!idmap_add(&w->versions, version, 1, &is_new))
		return -ENOMEM;
	if (!is_new)
		return 0;
	int r = find_uses(w, always, &one);
	bool wanted = r == 0 && (always || !is_by_one(&one));
	if (wanted && !vec_has_room(w->shared, w->n_shared, w->cap_shared))
		r = -ENOMEM;
	if (wanted && r == 0)
		w->shared[w->n_shared++] = one;
	else
		release_shared(&one);
	return r;
}

/* The data that the execution made, as far as two workflows share it. 0, -errno. */
static int add_outputs(struct workflows *w, store_id exec)
{
	struct edges e = {0};
	int r = store_outputs(w->s, exec, &e);
	for (size_t i = 0; i < e.n && r >= 0; i++) {
		r = is_data(w, e.v[i].to);
		if (r > 0)
			r = add_version(w, e.v[i].to, false);
	}
	edges_release(&e);
	return r < 0 ? r : 0;
}

/* Adds the versions that a run has made. As add_outputs, of all its executions. 0, -errno. */
static int add_run(struct workflows *w, store_id run)
{
	store_id *execs = NULL;
	size_t n = 0;
	int r = store_run_execs(w->s, run, &execs, &n);
	for (size_t i = 0; i < n && r >= 0; i++)
		r = add_outputs(w, execs[i]);
	free(execs);
	return r < 0 ? r : 0;
}

/* Adds all runs, the oldest first. 0, -errno. */
static int add_runs(struct workflows *w)
{
	store_id *runs = NULL;
	size_t n = 0;
	int r = store_runs(w->s, 0, &runs, &n);
	for (size_t i = n; i-- > 0 && r >= 0;)
		r = add_run(w, runs[i]);
	free(runs);
	return r < 0 ? r : 0;
}

/* Adds a file: all its versions, also where one workflow alone has to do with them. 0, -errno. */
static int add_file(struct workflows *w, store_id file)
{
	struct file_info f;
	int r = store_file(w->s, file, &f);
	uint64_t n = r > 0 ? f.versions : 0;
	for (uint64_t k = 1; k <= n && r >= 0; k++) {
		store_id version;
		r = store_version_of(w->s, file, k, &version);
		if (r > 0)
			r = add_version(w, version, true);
	}
	return r < 0 ? r : 0;
}

/* ---- what is told of each ---- */

/* Sets when each began: its engine, or its run. 0, -errno. */
static int add_times(struct workflows *w)
{
	int r = 0;
	for (size_t i = 0; i < w->n && r >= 0; i++) {
		struct exec_info x;
		struct run_info run;
		r = w->v[i].engine ? store_exec(w->s, w->v[i].engine, &x) : store_run_told(w->s, w->v[i].run, &run);
		if (r > 0)
			w->v[i].start = w->v[i].engine ? x.start : run.start;
	}
	return r < 0 ? r : 0;
}

/* Counts for each known workflow its stages; those of an unknown one are passed over. 0, -errno. */
static int count_stages(struct workflows *w)
{
	int r = 0;
	for (size_t i = 0; i < stages_count(w->st) && r >= 0; i++) {
		const struct stage *g = stages_get(w->st, (uint32_t)i);
		store_id by = g->n_execs ? g->execs[0] : g->workflow;
		store_id engine = 0;
		r = by ? stages_owner(w->st, by, &engine) : 0;
		store_id key = engine ? engine : g->run;
		const uint32_t *at = r >= 0 ? idmap_find(&w->known, hash_mix(engine ? 2 : 1, key) | 1) : NULL;
		if (at)
			w->v[*at].stages++;
	}
	return r < 0 ? r : 0;
}

int workflows_find(const struct answer_source *a, store_id file, struct workflows *ret)
{
	*ret = (struct workflows){.s = a->store, .system_extra = a->system_extra};
	bool viewing = store_view_begin(a->store, VIEW_PASS) == 0;
	int r = stages_new(a->store, &ret->st);
	if (r == 0) {
		stages_want_owners(ret->st);
		r = file ? add_file(ret, file) : add_runs(ret);
	}
	if (r == 0)
		r = add_times(ret);
	if (r == 0)
		r = count_stages(ret);
	if (viewing)
		store_view_end(a->store);
	return r;
}

/* w is empty then. */
void workflows_release(struct workflows *w)
{
	for (size_t i = 0; i < w->n_shared; i++)
		release_shared(&w->shared[i]);
	free(w->shared);
	free(w->v);
	idmap_release(&w->known);
	idmap_release(&w->versions);
	stages_free(w->st);
	*w = (struct workflows){0};
}

int workflow_argv(const struct workflows *w, uint32_t i, struct strlist *ret, struct str *ret_ulid)
{
	struct exec_info x;
	struct run_info run = {0};
	int r = w->v[i].run ? store_run_told(w->s, w->v[i].run, &run) : 0;
	*ret_ulid = r > 0 ? run.ulid : (struct str){0};
	*ret = run.argv;
	if (r < 0 || !w->v[i].engine)
		return r;
	r = store_exec(w->s, w->v[i].engine, &x);
	if (r > 0)
		*ret = x.argv;
	return r;
}

/* ---- JSON ---- */

/* The engine's public id or the run's. 0; -ENOENT: the record does not have it; -errno. */
static int workflow_id(const struct workflows *w, uint32_t i, char ret[40])
{
	struct exec_info x;
	struct run_info run;
	int r = w->v[i].engine ? store_exec(w->s, w->v[i].engine, &x) : store_run_told(w->s, w->v[i].run, &run);
	if (r > 0 && w->v[i].engine)
		snprintf(ret, 40, "%.*s", (int)sizeof(x.pub.text), x.pub.text);
	else if (r > 0)
		snprintf(ret, 40, "%.*s", (int)run.ulid.n, run.ulid.p);
	return r > 0 ? 0 : r < 0 ? r : -ENOENT;
}

/* Adds what was found out to the list, also where -errno is returned. */
static int put_workflow(const struct workflows *w, uint32_t i, json_t *list)
{
	char id[40];
	struct run_info run;
	struct strlist argv;
	struct str ulid;
	enum stage_engine e = ENGINE_NONE;
	json_t *one = json_object();
	int r = workflow_id(w, i, id);
	if (r == 0) {
		js_text(one, "id", id);
		r = w->v[i].engine ? stages_engine(w->s, w->v[i].engine, &e) : 0;
	}
	if (r >= 0)
		r = workflow_argv(w, i, &argv, &ulid);
	if (r >= 0) {
		js_str(one, "run", ulid);
		js_put(one, "engine", e ? json_string(stage_engine_name(e)) : json_null());
		js_list(one, "argv", &argv);
		js_time(one, "start", w->v[i].start);
		js_num(one, "stages", w->v[i].stages);
		r = w->v[i].run ? store_run_told(w->s, w->v[i].run, &run) : 0;
	}
	if (r > 0) {
		js_str(one, "user", run.user);
		js_str(one, "host", run.host);
	}
	js_add(list, one);
	return r < 0 ? r : 0;
}

/* Puts the workflows that made or used a version into o, with certainty. 0; -errno, the list is put in that case,
 * too. */
static int put_uses(const struct workflows *w, const struct workflow_use *v, size_t n, json_t *o, const char *key)
{
	json_t *list = json_array();
	int r = 0;
	for (size_t i = 0; i < n && r == 0; i++) {
		char id[40];
		json_t *one = json_object();
		r = workflow_id(w, v[i].workflow, id);
		js_text(one, "workflow", r == 0 ? id : "");
		js_text(one, "certainty", v[i].sure ? "must" : "may");
		js_add(list, one);
	}
	js_put(o, key, list);
	return r;
}

/* Adds the version to entities and its makers and users to list. 0, -errno. */
static int put_shared(const struct workflows *w, const struct workflow_shared *x, json_t *list, json_t *entities)
{
	struct version_info v;
	struct file_info f;
	json_t *one = json_object();
	int r = store_version(w->s, x->version, &v);
	if (r > 0)
		r = store_file(w->s, v.file, &f);
	if (r > 0) {
		js_pub(one, "entity", &v.pub);
		js_add(entities, entity_json(&v, &f));
		r = put_uses(w, x->makers, x->n_makers, one, "made_by");
		if (r == 0)
			r = put_uses(w, x->users, x->n_users, one, "used_by");
	}
	js_add(list, one);
	return r < 0 ? r : 0;
}

int workflows_json(const struct workflows *w, json_t **ret)
{
	json_t *all = json_object(), *flows = json_array(), *shared = json_array(), *entities = json_array();
	bool *told = calloc(w->n + 1, sizeof(*told));
	int r = told ? 0 : -ENOMEM;
	for (size_t i = 0; i < w->n_shared && r == 0; i++) {
		const struct workflow_shared *x = &w->shared[i];
		for (size_t k = 0; k < x->n_makers; k++)
			told[x->makers[k].workflow] = true;
		for (size_t k = 0; k < x->n_users; k++)
			told[x->users[k].workflow] = true;
		r = put_shared(w, x, shared, entities);
	}
	for (uint32_t i = 0; i < w->n && r == 0; i++)
		r = told[i] ? put_workflow(w, i, flows) : 0;
	free(told);
	js_num(all, "format", 1);
	js_put(all, "workflows", flows);
	js_put(all, "shared", shared);
	js_put(all, "entities", entities);
	if (r < 0)
		json_decref(all);
	else
		*ret = all;
	return r;
}
