#include "answer/check/check_targets.h"

#include "adopt/ninja.h"
#include "base/hash.h"
#include "base/io.h"
#include "base/path.h"
#include "software/recorded.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#define FILE_MOST ((size_t)256 << 20) /* bytes of build.ninja: Chromium's has 100 MB */

static void graph_release(struct check_graph *g)
{
	idmap_release(&g->made);
	idmap_release(&g->own);
	free(g->edges);
	vec_release(&g->ins);
	*g = (struct check_graph){.engine = 0};
}

void check_targets_release(struct check_targets *t)
{
	graph_release(&t->graph);
}

/* ---- the graph ---- */

/* As check_declared has them. */
static uint64_t hash_path(struct str path)
{
	return hash_str(path) | 1;
}

/* Of `path` in `folder`. False: no memory. */
static bool hash_absolute(struct str folder, struct str path, uint64_t *ret)
{
	struct buf b = {0};
	if (!path.n || *path.p != '/')
		path_append(&b, 0, folder);
	path_append(&b, 0, path);
	*ret = hash_path(buf_view(&b));
	bool good = !b.failed;
	buf_release(&b);
	return good;
}

/* outs are made from ins. 0, -ENOMEM. */
static int add_rule(struct check_graph *g, const uint64_t *outs, size_t n_outs, const uint64_t *ins, size_t n_ins)
{
	size_t first = g->ins.n;
	for (size_t i = 0; i < n_ins; i++) {
		uint64_t *slot = vec_add(&g->ins);
		if (!slot)
			return -ENOMEM;
		*slot = ins[i];
	}
	for (size_t i = 0; i < n_outs; i++) {
		bool is_new;
		if (!vec_has_room(g->edges, g->n_edges, g->cap_edges))
			return -ENOMEM;
		uint32_t *at = idmap_add(&g->made, outs[i], 0, &is_new);
		if (!at)
			return -ENOMEM;
		g->edges[g->n_edges] = (struct check_edge){*at, first, n_ins};
		*at = (uint32_t)++g->n_edges;
	}
	return 0;
}

/* Rules while they are read. */
struct reading {
	struct check_graph *g;
	struct str folder;
};

/* Hashes of n paths behind those in *ret, which has room. False: no memory. */
static bool hash_paths(const struct reading *r, const struct str *paths, size_t n, uint64_t *ret)
{
	for (size_t i = 0; i < n; i++)
		if (!hash_absolute(r->folder, paths[i], &ret[i]))
			return false;
	return true;
}

/* For check_make_each. */
static int take_make_rule(void *arg, const struct str *paths, size_t n)
{
	const struct reading *r = arg;
	uint64_t *hash = calloc(n, sizeof(*hash));
	int rc = hash && hash_paths(r, paths, n, hash) ? add_rule(r->g, hash, 1, hash + 1, n - 1) : -ENOMEM;
	free(hash);
	return rc;
}

/* For ninja_each_edge. */
static int take_ninja_edge(void *arg, const struct ninja_edge *e)
{
	const struct reading *r = arg;
	size_t n = e->n_outs + e->n_ins + e->n_order_only;
	uint64_t *hash = calloc(n + 1, sizeof(*hash));
	int rc = hash && hash_paths(r, e->outs, n, hash) /* they stand one behind the other */
	             ? add_rule(r->g, hash, e->n_outs, hash + e->n_outs, n - e->n_outs)
	             : -ENOMEM;
	free(hash);
	return rc;
}

/* For ninja_each_deps. */
static int take_ninja_deps(void *arg, struct str output, const struct str *ins, size_t n)
{
	const struct reading *r = arg;
	uint64_t *hash = calloc(n + 1, sizeof(*hash));
	int rc = hash && hash_paths(r, &output, 1, hash) && hash_paths(r, ins, n, hash + 1)
	             ? add_rule(r->g, hash, 1, hash + 1, n)
	             : -ENOMEM;
	free(hash);
	return rc;
}

/* ---- what an engine left ---- */

/* A file of the engine's, by the last part of its path, that is as it was recorded: its text and folder. 1, 0 (it is
 * not there, or has changed), -errno. */
static int read_engine_file(struct store *s, const struct edges *e, const char *name, struct buf *ret_text,
                            struct buf *ret_folder)
{
	int r = 0;
	for (size_t i = e->n; i-- && r == 0;) {
		struct version_info v;
		struct file_info f;
		r = store_version(s, e->v[i].to, &v);
		r = r > 0 ? store_file(s, v.file, &f) : r;
		if (r <= 0 || f.kind != TERM_kind_regular || !str_is(str_base_name(f.path), name)) {
			r = r < 0 ? r : 0;
			continue;
		}
		r = recorded_lies_there(s, &f, &v);
		buf_reset(ret_text);
		buf_reset(ret_folder);
		buf_str(ret_folder, str_n(f.path.p, f.path.n - strlen(name)));
		struct buf path = {0};
		buf_str(&path, f.path);
		if (r > 0)
			r = io_read_file(buf_cstr(&path), FILE_MOST, ret_text) == 0 && !ret_folder->failed;
		buf_release(&path);
	}
	return r;
}

/* What ninja wrote and read as its own: build.ninja, and .ninja_deps where there is one. 0, -errno. */
static int load_ninja(struct check_targets *t)
{
	struct edges used = {0}, made = {0};
	struct buf text = {0}, folder = {0}, deps = {0}, other = {0};
	struct check_graph *g = &t->graph;
	int r = store_uses(t->s, g->engine, &used);
	r = r < 0 ? r : store_outputs(t->s, g->engine, &made);
	r = r < 0 ? r : read_engine_file(t->s, &used, "build.ninja", &text, &folder);
	if (r > 0) {
		struct reading reading = {g, buf_view(&folder)};
		r = ninja_each_edge(buf_view(&text), take_ninja_edge, &reading);
		g->known = r == 0;
		int has = r < 0 ? r : read_engine_file(t->s, &made, ".ninja_deps", &deps, &other);
		has = has ? has : r < 0 ? r : read_engine_file(t->s, &used, ".ninja_deps", &deps, &other);
		if (has > 0)
			has = ninja_each_deps(buf_view(&deps), take_ninja_deps, &reading);
		r = has == -ENOMEM ? has : r;
	}
	edges_release(&used);
	edges_release(&made);
	buf_release(&text);
	buf_release(&folder);
	buf_release(&deps);
	buf_release(&other);
	return r < 0 ? r : 0;
}

/* The database that was given. 0, -errno. */
static int load_make(struct check_targets *t)
{
	struct exec_info x;
	struct buf folder = {0};
	int r = t->database ? store_exec(t->s, t->graph.engine, &x) : 0;
	if (r > 0) {
		buf_str(&folder, x.cwd);
		struct reading reading = {&t->graph, buf_view(&folder)};
		r = check_make_each(buf_view(t->database), buf_view(&folder), take_make_rule, &reading);
		t->graph.known = r == 0;
	}
	buf_release(&folder);
	return r < 0 ? r : 0;
}

/* What the engine itself wrote: response files, logs. 0, -errno. */
static int load_engine_own(struct check_targets *t)
{
	struct edges e = {0};
	int r = store_outputs(t->s, t->graph.engine, &e);
	for (size_t i = 0; i < e.n && r >= 0; i++) {
		store_id file;
		bool is_new;
		r = store_version_file(t->s, e.v[i].to, &file);
		if (r > 0 && !idmap_add(&t->graph.own, file, 1, &is_new))
			r = -ENOMEM;
	}
	edges_release(&e);
	return r < 0 ? r : 0;
}

/* Reads the rules of the workflow that the stage belongs to, unless they are there already. 0, -errno. */
static int load_graph(struct check_targets *t, const struct stage *g)
{
	if (t->graph.engine == g->workflow && g->workflow)
		return 0;
	graph_release(&t->graph);
	t->graph.engine = g->workflow;
	if (!g->workflow)
		return 0;
	int r = g->engine == ENGINE_NINJA ? load_ninja(t) : load_make(t);
	return r < 0 ? r : load_engine_own(t);
}

/* ---- one target ---- */

/* Adds all that the output is made from, over however many rules, to d->paths. True: a rule makes it. */
static int add_prerequisites(const struct check_graph *g, uint64_t output, struct check_declared *d)
{
	VEC(uint64_t) stack = {0};
	const uint32_t *at = idmap_find(&g->made, output);
	uint64_t *slot = at ? vec_add(&stack) : NULL;
	int r = at ? slot ? 1 : -ENOMEM : 0;
	if (slot)
		*slot = output;
	while (stack.n && r > 0) {
		at = idmap_find(&g->made, stack.v[--stack.n]);
		for (uint32_t e = at ? *at : 0; e && r > 0; e = g->edges[e - 1].next)
			for (size_t i = 0; i < g->edges[e - 1].n && r > 0; i++) {
				bool is_new = false;
				uint64_t in = g->ins.v[g->edges[e - 1].first + i];
				if (!idmap_add(&d->paths, in, 1, &is_new) || (is_new && !(slot = vec_add(&stack))))
					r = -ENOMEM;
				else if (is_new)
					*slot = in;
			}
	}
	vec_release(&stack);
	return r;
}

/* What the rules of the execution's outputs declare. 1 one is known, 0 none, -errno. */
static int add_exec(struct check_targets *t, store_id exec, struct check_declared *d)
{
	struct edges e = {0};
	int r = store_outputs(t->s, exec, &e), found = 0;
	for (size_t i = 0; i < e.n && r >= 0; i++) {
		struct version_sort v;
		r = store_version_sort(t->s, e.v[i].to, &v);
		if (r > 0 && v.kind == TERM_kind_regular && v.path.n)
			r = add_prerequisites(&t->graph, hash_path(v.path), d);
		else
			r = r < 0 ? r : 0;
		found |= r > 0;
	}
	edges_release(&e);
	return r < 0 ? r : found;
}

int check_targets_load(struct check_targets *t, struct stages *st, uint32_t stage, struct check_declared *ret,
                       enum check_why *ret_why)
{
	const struct stage *g = stages_get(st, stage);
	int r = load_graph(t, g), found = 0;
	*ret = (struct check_declared){0};
	*ret_why = t->graph.known ? CHECK_NO_RULE : g->engine == ENGINE_NINJA ? CHECK_NO_BUILD_FILE : CHECK_NO_DATABASE;
	for (size_t i = 0; r >= 0 && t->graph.known && i < g->n_execs; i++) {
		r = add_exec(t, g->execs[i], ret);
		found |= r > 0;
	}
	return r < 0 ? r : found;
}

bool check_targets_own(const struct check_targets *t, store_id file)
{
	return idmap_find(&t->graph.own, file) != NULL;
}
