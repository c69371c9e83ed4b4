#include "answer/methods/methods_int.h"

#include "answer/shape.h"
#include "query/idmap.h"
#include "query/scripts.h"
#include "query/stages/stages.h"
#include "software/recorded.h"

#include <errno.h>
#include <stdlib.h>

/* What was walked. */
struct walked {
	const struct answer_source *a;
	struct methods *m;
	struct lineage l;
	struct lineage_options options;
	struct shape shape;
	bool *certain, *script; /* beside the nodes; script: an input that somebody read as such */
	struct idmap done;
	store_id *execs; /* that are shown, each once */
	bool *sure;      /* beside execs */
	size_t n_execs;
};

void methods_release(struct methods *m)
{
	for (size_t i = 0; i < m->steps.n; i++)
		methods_step_release(&m->steps.v[i]);
	for (size_t i = 0; i < m->machines.n; i++) {
		buf_release(&m->machines.v[i].host);
		buf_release(&m->machines.v[i].about.b);
	}
	vec_release(&m->modules);
	vec_release(&m->steps);
	vec_release(&m->inputs);
	vec_release(&m->machines);
	software_release(&m->software);
}

/* ---- executions ---- */

/* Of a fork the program that it is a fork of; 0 none is known. 0, -errno. */
static int program_of(struct store *s, store_id exec, store_id *ret)
{
	*ret = exec;
	for (unsigned depth = 0; depth < 64 && *ret; depth++) {
		struct exec_brief x;
		int r = store_exec_brief(s, *ret, &x);
		if (r <= 0)
			return r;
		if (x.n)
			return 0;
		*ret = x.parent;
	}
	*ret = 0;
	return 0;
}

/* The executions that are shown, and what could not be seen of all that were met. 0, -errno. */
static int find_execs(struct walked *w)
{
	int r = 0;
	for (size_t i = 0; i < w->l.n_nodes && r >= 0; i++) {
		const struct lineage_node *node = &w->l.nodes[i];
		uint64_t gaps = 0;
		store_id exec = 0;
		bool is_new;
		if (!node->exec)
			continue;
		r = store_exec_gaps(w->a->store, node->id, TIME_NONE, TIME_NONE, &gaps);
		w->m->gaps |= gaps;
		if (r < 0 || !w->shape.shown[i])
			continue;
		r = program_of(w->a->store, w->shape.rep[i] ? w->shape.rep[i] : node->id, &exec);
		if (r < 0 || !exec)
			continue;
		uint32_t *at = idmap_add(&w->done, exec, (uint32_t)w->n_execs, &is_new);
		if (!at)
			return -ENOMEM;
		if (is_new) {
			w->execs[w->n_execs] = exec;
			w->sure[w->n_execs++] = false;
		}
		w->sure[*at] |= w->certain[i];
	}
	return r < 0 ? r : 0;
}

/* Is there one like it? */
static bool has_machine(const struct methods *m, const struct methods_machine *one)
{
	for (size_t i = 0; i < m->machines.n; i++)
		if (str_eq(buf_view(&m->machines.v[i].host), buf_view(&one->host)) &&
		    str_eq(buf_view(&m->machines.v[i].about.b), buf_view(&one->about.b)))
			return true;
	return false;
}

/* The machine of an execution: as its run described it, or by its name alone. 0, -errno. */
static int add_machine(struct walked *w, store_id exec)
{
	struct methods_machine one = {0};
	struct exec_info x;
	struct run_info run;
	struct str s;
	int r = store_exec(w->a->store, exec, &x);
	if (r <= 0)
		return r;
	store_id of = x.run;
	buf_str(&one.host, x.host);
	r = of ? store_run_told(w->a->store, of, &run) : 0;
	for (size_t pos = 0; r > 0 && str_eq(run.host, buf_view(&one.host)) && strlist_next(&run.hostinfo, &pos, &s);)
		methods_add_text(&one.about, s);
	bool has = has_machine(w->m, &one);
	struct methods_machine *to = r < 0 || has ? NULL : vec_add(&w->m->machines);
	if (to) {
		*to = one;
		return one.host.failed || one.about.b.failed ? -ENOMEM : 0;
	}
	buf_release(&one.host);
	buf_release(&one.about.b);
	return r < 0 ? r : has ? 0 : -ENOMEM;
}

/* Is it the package of a program of a step? */
static bool has_program(const struct methods *m, uint32_t package)
{
	for (size_t i = 0; i < m->steps.n; i++) {
		const struct software_file *f = methods_step_file(m, &m->steps.v[i]);
		if (f && f->package == package)
			return true;
	}
	return false;
}

/* Packages of modules, and of libraries that pip installed with them, by name. 0, -ENOMEM. */
static int add_modules(struct methods *m)
{
	const struct package *packages = m->software.packages.v.v;
	for (size_t i = 0; i < m->software.files.n; i++) {
		const struct software_file *f = &m->software.files.v[i];
		bool module =
		    f->package != VEC_NONE && (f->kind == SOFTWARE_MODULE ||
		                               (f->kind == SOFTWARE_LIBRARY && packages[f->package].manager == PACKAGE_pip));
		size_t at = 0;
		while (module && at < m->modules.n && m->modules.v[at] != f->package)
			at++;
		if (!module || at < m->modules.n || has_program(m, f->package))
			continue;
		uint32_t *to = vec_add(&m->modules);
		if (!to)
			return -ENOMEM;
		for (at = m->modules.n - 1; at && strcmp(packages[to[-1]].name, packages[f->package].name) > 0; at--, to--)
			to[0] = to[-1];
		*to = f->package;
	}
	return 0;
}

/* The workflow systems above the executions, also where no file leads to them. 0, -errno. */
static int find_engines(struct walked *w)
{
	struct stages *st = NULL;
	const size_t n = w->n_execs;
	int r = n ? stages_new(w->a->store, &st) : 0;
	if (st)
		stages_want_owners(st);
	for (size_t i = 0; i < n && r >= 0; i++) {
		store_id engine = 0;
		bool is_new = false;
		r = stages_owner(st, w->execs[i], &engine);
		r = r > 0 ? program_of(w->a->store, engine, &engine) : r;
		uint32_t *at = r < 0 || !engine ? NULL : idmap_add(&w->done, engine, (uint32_t)w->n_execs, &is_new);
		if (r >= 0 && engine && !at)
			r = -ENOMEM;
		if (at && is_new) {
			w->execs[w->n_execs] = engine;
			w->sure[w->n_execs++] = false;
		}
		if (at)
			w->sure[*at] |= w->sure[i];
	}
	stages_free(st);
	return r < 0 ? r : 0;
}

/* Software, steps, machines. 0, -errno. */
static int add_steps(struct walked *w)
{
	int r = find_execs(w);
	r = r < 0 ? r : find_engines(w);
	r = r < 0 ? r : software_find(w->a->store, w->execs, w->n_execs, SOFTWARE_LOADED, &w->m->software);
	for (size_t i = 0; i < w->n_execs && r >= 0; i++) {
		r = methods_add_step(w->a->store, w->m, w->execs[i], w->sure[i]);
		r = r < 0 ? r : add_machine(w, w->execs[i]);
	}
	methods_order_steps(w->m);
	r = r < 0 ? r : add_modules(w->m);
	w->m->start = w->m->steps.n ? w->m->steps.v[0].start : TIME_NONE;
	return r;
}

/* ---- files ---- */

/* A version that nobody was seen making. */
static bool is_input(const struct walked *w, uint32_t i)
{
	return !w->l.nodes[i].exec && i >= w->l.n_roots && w->shape.shown[i] && w->shape.first[i] == w->shape.first[i + 1];
}

/* Did the execution read the version as its script? 1, 0, -errno. */
static int is_script_of(struct store *s, store_id exec, store_id version)
{
	struct exec_brief x;
	struct version_sort v;
	struct file_info exe;
	int r = store_exec_brief(s, exec, &x);
	if (r <= 0)
		return r;
	store_id program = x.exe, script = x.script;
	r = program ? store_file(s, program, &exe) : 0;
	struct buf of = {0};
	if (r > 0)
		buf_str(&of, exe.path);
	r = r < 0 ? r : store_version_sort(s, version, &v);
	r = r > 0 ? v.file == script || (script_may_be(v.path) && script_is(buf_view(&of), v.path)) : r;
	buf_release(&of);
	return r;
}

/* Which of the inputs are scripts. 0, -errno. */
static int find_scripts(struct walked *w)
{
	int r = 0;
	for (size_t k = 0; k < w->l.n_edges && r >= 0; k++) {
		const struct lineage_edge *e = &w->l.edges[k];
		if (e->type != LINEAGE_USED || w->script[e->to] || !is_input(w, e->to))
			continue;
		r = is_script_of(w->a->store, w->l.nodes[e->from].id, w->l.nodes[e->to].id);
		w->script[e->to] = r > 0;
	}
	return r < 0 ? r : 0;
}

/* Its digest, as recorded. 0, -errno. */
static int fill_file(struct store *s, struct methods_file *f)
{
	struct version_info v;
	struct file_info of;
	int r = store_version(s, f->version, &v);
	r = r > 0 ? store_file(s, v.file, &of) : r;
	r = r > 0 ? recorded_digest(s, 0, &of, &v, &f->digest) : r;
	f->has_digest = r > 0;
	return r < 0 ? r : 0;
}

/* One node of a file or stream that nobody was seen making. 0, -errno. */
static int add_input(struct walked *w, uint32_t i)
{
	struct methods_file one = {.version = w->l.nodes[i].id, .sure = w->certain[i]};
	struct version_sort v;
	int r = store_version_sort(w->a->store, one.version, &v);
	if (r <= 0)
		return r;
	if (v.kind == TERM_kind_socket || v.kind == TERM_kind_terminal)
		w->m->streams++;
	if (v.kind != TERM_kind_regular)
		return 0;
	one.script = w->script[i];
	r = fill_file(w->a->store, &one);
	struct methods_file *to = r < 0 ? NULL : vec_add(&w->m->inputs);
	if (!to)
		return r < 0 ? r : -ENOMEM;
	*to = one;
	return 0;
}

/* Adds the files that came into the walk from outside of it. 0, -errno. */
static int add_inputs(struct walked *w)
{
	int r = find_scripts(w);
	for (uint32_t i = 0; i < w->l.n_nodes && r >= 0; i++)
		if (is_input(w, i))
			r = add_input(w, i);
	return r;
}

/* An input with what it is ordered by. */
struct ordered {
	struct methods_file file;
	char *path;
	uint64_t n;
};

/* Order of qsort: by path, then by version. */
static int compare_ordered(const void *a, const void *b)
{
	const struct ordered *x = a, *y = b;
	int c = strcmp(x->path, y->path);
	return c ? c : (x->n > y->n) - (x->n < y->n);
}

/* Sorts w->m->inputs by path; an input that the record lacks has the path "". 0, -errno: they are as they were. */
static int order_inputs(struct walked *w)
{
	size_t n = w->m->inputs.n;
	struct ordered *v = calloc(n + 1, sizeof(*v));
	int r = v ? 0 : -ENOMEM;
	for (size_t i = 0; i < n && r >= 0; i++) {
		struct version_info version = {0};
		struct file_info f = {0};
		v[i].file = w->m->inputs.v[i];
		r = store_version(w->a->store, v[i].file.version, &version);
		r = r > 0 ? store_file(w->a->store, version.file, &f) : r;
		v[i].path = strndup(f.path.p ? f.path.p : "", f.path.n);
		v[i].n = version.n;
		r = r >= 0 && !v[i].path ? -ENOMEM : r;
	}
	if (r >= 0 && n)
		qsort(v, n, sizeof(*v), compare_ordered);
	for (size_t i = 0; v && i < n; i++) {
		if (r >= 0)
			w->m->inputs.v[i] = v[i].file;
		free(v[i].path);
	}
	free(v);
	return r < 0 ? r : 0;
}

/* ---- all ---- */

/* The walk, the shape and what is certain. 0, -errno. */
static int walk_up(struct walked *w, store_id version)
{
	struct err err = {0};
	w->options = (struct lineage_options){.skew = w->a->skew, .system_extra = w->a->system_extra};
	int r = lineage_walk(w->a->store, &version, 1, &w->options, &err, &w->l);
	if (r < 0)
		return r;
	w->certain = calloc(w->l.n_nodes + 1, sizeof(*w->certain));
	w->script = calloc(w->l.n_nodes + 1, sizeof(*w->script));
	/* Each may have a workflow system of its own. */
	w->execs = calloc(2 * w->l.n_nodes + 1, sizeof(*w->execs));
	w->sure = calloc(2 * w->l.n_nodes + 1, sizeof(*w->sure));
	r = w->certain && w->script && w->execs && w->sure ? 0 : -ENOMEM;
	r = r < 0 ? r : lineage_certain(w->a->store, &w->l, &w->options, &err, w->certain);
	return r < 0 ? r : shape_make(&(struct shape_of){w->a->store, &w->l, &w->options, false}, &w->shape);
}

int methods_find(const struct answer_source *a, store_id version, struct methods *ret)
{
	struct walked w = {.a = a, .m = ret};
	*ret = (struct methods){.file = {.version = version, .sure = true}, .start = TIME_NONE};
	bool viewing = store_view_begin(a->store, VIEW_WALK) == 0; /* many small questions */
	int r = walk_up(&w, version);
	bool shaped = r == 0;
	r = r < 0 ? r : fill_file(a->store, &ret->file);
	r = r < 0 ? r : add_steps(&w);
	r = r < 0 ? r : add_inputs(&w);
	r = r < 0 ? r : order_inputs(&w);
	if (viewing)
		store_view_end(a->store);
	if (shaped)
		shape_release(&w.shape);
	lineage_release(&w.l);
	idmap_release(&w.done);
	free(w.certain);
	free(w.script);
	free(w.execs);
	free(w.sure);
	if (r < 0)
		methods_release(ret);
	return r;
}
