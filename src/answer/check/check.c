#include "answer/check/check_targets.h"

#include "query/scripts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* One job while it is looked at. */
struct job {
	const struct answer_source *a;
	struct check *c;
	uint32_t stage;
	struct check_declared declared;
	struct idmap files;            /* files that were told, or that the job made -> place in inputs + 1; 0: made */
	struct idmap engine;           /* files that the engine read to plan -> 1 */
	struct buf path;               /* of the file at hand */
	struct buf program;            /* of the execution at hand */
	bool engines;                  /* the execution at hand is an engine */
	store_id engine_loaded;        /* whose files are in `engine` */
	struct check_targets *targets; /* of a target; else NULL */
};

/* Adds the files of the versions that the edges lead to, with that value where they are new. 0 or -errno. */
static int add_files(struct store *s, const struct edges *e, uint32_t value, struct idmap *to)
{
	bool is_new;
	for (size_t k = 0; k < e->n; k++) {
		store_id file;
		int got = store_version_file(s, e->v[k].to, &file);
		if (got < 0 || (got && !idmap_add(to, file, value, &is_new)))
			return got < 0 ? got : -ENOMEM;
	}
	return 0;
}

/* What all executions of the job made is no input of it, in whichever version. 0 or -errno. */
static int load_own(struct job *j)
{
	const struct stage *g = stages_get(j->c->st, j->stage);
	struct edges e = {0};
	int r = 0;
	for (size_t i = 0; i < g->n_execs && r == 0; i++) {
		r = store_outputs(j->c->s, g->execs[i], &e);
		r = r == 0 ? add_files(j->c->s, &e, 0, &j->files) : r;
	}
	edges_release(&e);
	return r;
}

/* The files that the engine itself used. 0 or -errno. */
static int load_engine(struct job *j, store_id engine)
{
	struct edges e = {0};
	if (j->engine_loaded == engine || !engine)
		return 0;
	idmap_release(&j->engine);
	j->engine = (struct idmap){0};
	int r = store_uses(j->c->s, engine, &e);
	r = r == 0 ? add_files(j->c->s, &e, 1, &j->engine) : r;
	edges_release(&e);
	j->engine_loaded = r == 0 ? engine : 0;
	return r;
}

/* Settings of the user or a program (~/.Rprofile, .git), and what Snakemake keeps: a part of the path, below the
 * engine's folder or anywhere, begins with a dot. */
static bool is_hidden(struct str path, struct str folder)
{
	size_t from = str_starts(path, folder) ? folder.n : 0;
	for (size_t i = from; i + 1 < path.n; i++)
		if (path.p[i] == '/' && path.p[i + 1] == '.')
			return true;
	return false;
}

/* Is the version a file that the rule would have to declare? j->path is its path then. 1, 0, -errno. */
static int is_to_be_declared(struct job *j, const struct edge *e)
{
	struct version_judged v;
	struct file_info f;
	int r = store_version_judged(j->c->s, e->to, j->a->system_extra, &v);
	if (r <= 0 || v.kind != TERM_kind_regular || (v.class != VERSION_DATA && v.class != VERSION_SCRIPT))
		return r < 0 ? r : 0;
	r = store_file(j->c->s, v.file, &f);
	if (r <= 0 || !f.path.n)
		return r < 0 ? r : 0;
	const uint32_t *told = idmap_find(&j->files, v.file);
	if (j->targets && check_targets_own(j->targets, v.file))
		return 0;
	if ((told && !*told) || (j->engines && idmap_find(&j->engine, v.file)))
		return 0;
	buf_reset(&j->path);
	buf_str(&j->path, f.path);
	if (j->path.failed)
		return -ENOMEM;
	return !is_hidden(buf_view(&j->path), buf_view(&j->declared.folder)) &&
	       !check_declares(&j->declared, buf_view(&j->path));
}

/* Notes that the execution read e's version, once for each file: a later edge may only make it sure. 0 also where the
 * version or its file is not in the store; -errno. */
static int add_undeclared(struct job *j, store_id exec, const struct edge *e)
{
	store_id file;
	bool is_new;
	int r = store_version_file(j->c->s, e->to, &file);
	if (r <= 0)
		return r;
	uint32_t *at = idmap_add(&j->files, file, (uint32_t)j->c->inputs.n + 1, &is_new);
	if (!at)
		return -ENOMEM;
	if (!is_new) {
		j->c->inputs.v[*at - 1].sure |= e->sure;
		return 0;
	}
	struct check_input *in = vec_add(&j->c->inputs);
	if (!in)
		return -ENOMEM;
	*in =
	    (struct check_input){.stage = j->stage,
	                         .version = e->to,
	                         .reader = exec,
	                         .script = e->mode & ACCESS_PROGRAM || script_is(buf_view(&j->program), buf_view(&j->path)),
	                         .sure = e->sure};
	return 0;
}

/* Fills j->program with the path of the execution's program, empty where it is not known, and with it whether an engine
 * starts it. 0, -errno. */
static int load_program(struct job *j, store_id exec)
{
	struct exec_brief x;
	struct file_info f;
	store_id engine;
	int r = store_exec_brief(j->c->s, exec, &x);
	buf_reset(&j->program);
	if (r > 0 && x.exe && (r = store_file(j->c->s, x.exe, &f)) > 0)
		buf_str(&j->program, f.path);
	if (r < 0)
		return r;
	enum stage_engine is = ENGINE_NONE;
	r = stages_engine(j->c->s, exec, &is);
	j->engines = r > 0 && is == ENGINE_SNAKEMAKE;
	engine = stages_get(j->c->st, j->stage)->workflow;
	return r < 0 ? r : j->program.failed ? -ENOMEM : j->engines ? load_engine(j, engine) : 0;
}

/* What an execution of the job used. 0 or -errno. */
static int look_at_exec(struct job *j, store_id exec)
{
	struct edges e = {0};
	int r = load_program(j, exec);
	if (r == 0)
		r = store_uses(j->c->s, exec, &e);
	for (size_t k = 0; k < e.n && r == 0; k++) {
		r = is_to_be_declared(j, &e.v[k]);
		r = r > 0 ? add_undeclared(j, exec, &e.v[k]) : r;
		r = r < 0 ? r : 0;
	}
	edges_release(&e);
	return r;
}

/* Adds what one job read to the check's inputs; a job whose declared inputs cannot be told goes to c->unknown instead.
 * 0, -errno. */
static int look_at_job(const struct answer_source *a, struct check *c, uint32_t stage, struct check_targets *targets)
{
	struct job j = {.a = a, .c = c, .stage = stage, .targets = targets};
	const size_t before = c->inputs.n;
	enum check_why why;
	int r = targets ? check_targets_load(targets, c->st, stage, &j.declared, &why)
	                : check_declared_load(c->st, stage, &j.declared, &why);
	c->n_jobs++;
	if (r == 0) {
		struct check_unknown *one = vec_add(&c->unknown);
		if (one)
			*one = (struct check_unknown){stage, why};
		r = one ? 0 : -ENOMEM;
	} else if (r > 0) {
		const struct stage *g = stages_get(c->st, stage);
		r = load_own(&j);
		for (size_t i = 0; i < g->n_execs && r == 0; i++)
			r = look_at_exec(&j, g->execs[i]);
	}
	bool sure = false;
	for (size_t i = before; i < c->inputs.n; i++)
		sure |= c->inputs.v[i].sure;
	c->n_undeclared += sure;
	check_declared_release(&j.declared);
	idmap_release(&j.files);
	idmap_release(&j.engine);
	buf_release(&j.path);
	buf_release(&j.program);
	return r;
}

/* Is it a target of make or ninja? */
static bool is_target(const struct stage *g)
{
	return g->kind == STAGE_TARGET && (g->engine == ENGINE_MAKE || g->engine == ENGINE_NINJA);
}

int check_run(const struct answer_source *a, store_id run, const struct buf *make_database, struct check *ret)
{
	struct run_info info;
	struct check_targets targets = {.s = a->store, .database = make_database};
	*ret = (struct check){.s = a->store};
	int r = store_run(a->store, run, &info);
	if (r <= 0)
		return r < 0 ? r : -ENOENT;
	ret->gaps = info.gaps;
	r = stages_new(a->store, &ret->st);
	if (r == 0)
		r = stages_look(ret->st, run);
	for (size_t i = 0; r == 0 && i < stages_count(ret->st); i++)
		if (stages_get(ret->st, (uint32_t)i)->kind == STAGE_RULE)
			r = look_at_job(a, ret, (uint32_t)i, NULL);
	/* What jobs of Snakemake build is a part of these. */
	const bool rules = ret->n_jobs > 0;
	for (size_t i = 0; r == 0 && !rules && i < stages_count(ret->st); i++)
		if (is_target(stages_get(ret->st, (uint32_t)i)))
			r = look_at_job(a, ret, (uint32_t)i, &targets);
	check_targets_release(&targets);
	return r;
}

/* c itself may not be used afterwards. */
void check_release(struct check *c)
{
	vec_release(&c->inputs);
	vec_release(&c->unknown);
	stages_free(c->st);
}

const char *check_why_words(enum check_why why)
{
	static const char *const words[] = {
	    [CHECK_FAILED] = "it failed",
	    [CHECK_UNFINISHED] = "Snakemake's metadata mark it as unfinished, or have no list of inputs",
	    [CHECK_NO_METADATA] = "Snakemake's metadata of its outputs are missing or have changed",
	    [CHECK_NO_DATABASE] = "the database of make is needed (--make-database)",
	    [CHECK_NO_BUILD_FILE] = "build.ninja is missing, or has changed since",
	    [CHECK_NO_RULE] = "no rule of the build makes its output"};
	return words[why];
}

bool check_is_clean(const struct check *c)
{
	return c->n_jobs && !c->inputs.n && !c->unknown.n && !c->gaps;
}
