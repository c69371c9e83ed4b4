/* stages.c - the tree of processes of a run, cut into units below its engines. */
#include "query/stages/stages_int.h"

#include "base/map.h"

#include <errno.h>

#define DEEP 4096 /* forks and execs above one another that are looked at */

static const char *const kind_names[] = {"rule", "task", "target", "notebook"};
static const char *const engine_names[] = {NULL, "snakemake", "nextflow", "make", "ninja", "jupyter"};
static const char *const named_names[] = {NULL, "arguments", "log", "script", "metadata", "output"};

const char *stage_kind_name(enum stage_kind k)
{
	return kind_names[k];
}

/* Static. */
const char *stage_engine_name(enum stage_engine e)
{
	return engine_names[e];
}

/* NULL of NAMED_NOT. Static. */
const char *stage_named_name(enum stage_named n)
{
	return named_names[n];
}

/* ---- what an execution is ---- */

/* Is the word among the arguments? */
static bool has_word(const struct strlist *argv, const char *word)
{
	struct str arg;
	for (size_t pos = 0; strlist_next(argv, &pos, &arg);)
		if (str_is(arg, word))
			return true;
	return false;
}

/* python -m MODULE */
static bool runs_module(const struct strlist *argv, const char *module)
{
	struct str arg, last = {0};
	for (size_t pos = 0; strlist_next(argv, &pos, &arg); last = arg)
		if (str_is(last, "-m"))
			return str_is(arg, module);
	return false;
}

/* Does the program run notebooks? */
static bool is_notebook(struct str script, const struct strlist *argv)
{
	if (str_is(script, "jupyter-nbconvert") || (str_is(script, "jupyter") && has_word(argv, "nbconvert")) ||
	    runs_module(argv, "nbconvert"))
		return has_word(argv, "--execute");
	return str_is(script, "jupyter-execute") || str_is(script, "papermill") || runs_module(argv, "papermill");
}

/* One of its arguments is the script of a Nextflow task. */
static bool is_task(const struct strlist *argv)
{
	struct str arg;
	for (size_t pos = 0; strlist_next(argv, &pos, &arg);) {
		struct str base = str_base_name(arg);
		if (str_is(base, ".command.run") || str_is(base, ".command.sh"))
			return true;
	}
	return false;
}

/* The workflow system that is a program of its own. ENGINE_NONE: it is none. */
static enum stage_engine engine_of_program(struct str exe)
{
	if (str_is(exe, "make") || str_is(exe, "gmake"))
		return ENGINE_MAKE;
	return str_is(exe, "ninja") || str_is(exe, "ninja-build") || str_is(exe, "samu") ? ENGINE_NINJA : ENGINE_NONE;
}

/* exe, script: last parts of their paths. *ret_itself: it is the program of a stage. ENGINE_NONE: it is none. */
static enum stage_engine find_engine(struct str exe, struct str script, const struct strlist *argv, bool *ret_itself)
{
	enum stage_engine e = engine_of_program(exe);
	*ret_itself = false;
	if (e != ENGINE_NONE)
		return e;
	if (str_is(script, "snakemake") || runs_module(argv, "snakemake")) {
		*ret_itself = stages_is_job(argv);
		return ENGINE_SNAKEMAKE;
	}
	if (str_is(script, "nextflow") || has_word(argv, "nextflow.cli.Launcher"))
		return ENGINE_NEXTFLOW;
	*ret_itself = true;
	if (is_notebook(script, argv))
		return ENGINE_JUPYTER;
	if (is_task(argv))
		return ENGINE_NEXTFLOW;
	*ret_itself = false;
	return ENGINE_NONE;
}

/* Finds which workflow system an execution is of. *ret_itself: it is the system, not a job of it. 1, 0, -errno. */
static int look_at(struct store *s, store_id id, struct exec_brief *x, enum stage_engine *ret, bool *ret_itself)
{
	struct file_info f;
	char exe[64] = "", script[64] = "";
	*ret = ENGINE_NONE;
	*ret_itself = false;
	int r = store_exec_brief(s, id, x);
	if (r <= 0 || !x->n)
		return r;
	store_id files[] = {x->exe, x->script};
	for (int i = 0; i < 2 && r >= 0; i++) {
		int found = files[i] ? store_file(s, files[i], &f) : 0;
		struct str base = found > 0 ? str_base_name(f.path) : (struct str){0};
		if (base.n && base.n < sizeof(exe)) {
			memcpy(i ? script : exe, base.p, base.n);
			(i ? script : exe)[base.n] = '\0';
		}
		r = found < 0 ? found : r;
	}
	if (r > 0)
		*ret = find_engine(str_of(exe), str_of(script), &x->argv, ret_itself);
	return r;
}

int stages_engine(struct store *s, store_id exec, enum stage_engine *ret)
{
	struct exec_brief x;
	bool itself;
	return look_at(s, exec, &x, ret, &itself);
}

/* ---- the tree ---- */

/* Engines that start each other count as one. */
static enum stage_engine family_of(uint8_t e)
{
	return e == ENGINE_NINJA ? ENGINE_MAKE : (enum stage_engine)e; /* one starts the other */
}

/* What is under no other engine: it is a unit of its own, or the engine of what runs under it. */
static void settle_free(struct stage_exec *x, uint32_t i)
{
	x->kind = x->engine;
	x->unit = x->itself ? i : NOT_THERE;
	x->under = x->engine && !x->itself ? i : NOT_THERE;
}

/* Is execution i, whose parent is p, below no engine, or is it what an engine became? */
static bool is_free(const struct stage_exec *x, const struct stage_exec *p)
{
	if (!p || p->state != 2)
		return true;
	if (p->unit != NOT_THERE)
		return false;
	return p->under == NOT_THERE || (p->under == x->parent && x->image);
}

/* What execution i is below, where its parent is settled. */
static void settle_exec(struct stage_run *r, uint32_t i)
{
	struct stage_exec *x = &r->x[i];
	const struct stage_exec *p = x->parent == NOT_THERE ? NULL : &r->x[x->parent];
	x->state = 2;
	x->top = p && p->state == 2 && p->top != NOT_THERE ? p->top : x->engine && !x->itself ? i : NOT_THERE;
	if (is_free(x, p)) {
		settle_free(x, i);
		return;
	}
	x->kind = p->kind;
	x->under = p->under;
	x->unit = p->unit == NOT_THERE ? i : p->unit;
	if (!x->engine || family_of(x->engine) != family_of(p->kind))
		return;
	if (!x->itself) {
		x->kind = x->engine;
		x->under = i;
		x->unit = NOT_THERE;
	} else if (x->engine != ENGINE_NEXTFLOW || !r->x[x->unit].itself) {
		x->unit = i; /* .command.sh, though, is of the .command.run that started it */
	}
}

/* Settles the execution and all above it, from the top. */
static void settle_from(struct stage_run *r, uint32_t i)
{
	uint32_t above[DEEP];
	size_t n = 0;
	for (uint32_t at = i; at != NOT_THERE && r->x[at].state == 0 && n < DEEP; at = r->x[at].parent) {
		above[n++] = at;
		r->x[at].state = 1;
	}
	while (n)
		settle_exec(r, above[--n]);
}

/* An execution that is not in the record is an engine of none. places: of ids, by execution. -errno, or 0. */
static int load_exec(struct stage_run *r, const store_id *ids, size_t i, const struct idmap *places)
{
	struct stage_exec *x = &r->x[i];
	struct exec_brief b;
	enum stage_engine e;
	int found = look_at(r->st->s, ids[i], &b, &e, &x->itself);
	if (found < 0)
		return found;
	const uint32_t *parent = found && b.parent ? idmap_find(places, b.parent) : NULL;
	x->id = ids[i];
	x->parent = parent ? *parent : NOT_THERE;
	x->engine = (uint8_t)e;
	x->image = found && b.n;
	x->under = x->unit = x->top = NOT_THERE;
	r->next[i] = r->head[i] = r->stage[i] = NOT_THERE;
	return 0;
}

/* Reads all executions of a run. 0 or -errno. */
static int load_run(struct stage_run *r, const store_id *ids)
{
	struct idmap places = {0};
	bool is_new;
	int ret = 0;
	for (size_t i = 0; i < r->n && ret == 0; i++)
		ret = idmap_add(&places, ids[i], (uint32_t)i, &is_new) ? 0 : -ENOMEM;
	for (size_t i = 0; i < r->n && ret == 0; i++)
		ret = load_exec(r, ids, i, &places);
	idmap_release(&places);
	for (size_t i = 0; i < r->n && ret == 0; i++)
		settle_from(r, (uint32_t)i);
	for (size_t i = r->n; i-- > 0 && ret == 0;) {
		uint32_t u = r->x[i].unit;
		if (u == NOT_THERE)
			continue;
		r->next[i] = r->head[u];
		r->head[u] = (uint32_t)i;
	}
	return ret;
}

/* ---- names ---- */

/* An execution that is a job by itself gets its stage. 0 or -errno. */
static int name_itself(struct stage_run *r, uint32_t u)
{
	if (!r->x[u].itself || r->x[u].unit != u || r->stage[u] != NOT_THERE)
		return 0;
	switch ((enum stage_engine)r->x[u].engine) {
	case ENGINE_SNAKEMAKE:
		return stages_name_job(r, u);
	case ENGINE_NEXTFLOW:
		return stages_name_task(r, u);
	case ENGINE_JUPYTER:
		return stages_name_notebook(r, u);
	default:
		return 0;
	}
}

/* Names the jobs that an engine has started. 0 or -errno. */
static int name_below(struct stage_run *r, uint32_t e)
{
	bool engine = r->x[e].under == e && r->x[e].unit == NOT_THERE;
	return engine && r->x[e].engine == ENGINE_SNAKEMAKE ? stages_name_snakemake(r, e) : 0;
}

/* Remembers the engine above execution i, if owners are asked for. 0, -ENOMEM. */
static int keep_owner(struct stage_run *r, uint32_t i)
{
	struct stages *st = r->st;
	bool is_new;
	if (!st->owners || r->x[i].top == NOT_THERE)
		return 0;
	if (!vec_has_room(st->engine_ids, st->n_engines, st->cap_engines))
		return -ENOMEM;
	st->engine_ids[st->n_engines++] = r->x[r->x[i].top].id;
	return idmap_add(&st->owner, r->x[i].id, (uint32_t)st->n_engines, &is_new) ? 0 : -ENOMEM;
}

/* Executions that are an engine, a fork of one that became nothing else, or what Snakemake starts for no job. 0, also
 * where it is none of these; -ENOMEM. */
static int keep_engine(struct stage_run *r, uint32_t i)
{
	struct stages *st = r->st;
	const struct stage_exec *x = &r->x[i];
	bool is_new;
	if (x->under == NOT_THERE || r->x[x->under].unit != NOT_THERE)
		return 0;
	bool of_none = x->unit != NOT_THERE && r->stage[x->unit] == NOT_THERE;
	bool alone = of_none && x->unit == i && !x->image;
	bool helps = of_none && r->x[x->under].engine == ENGINE_SNAKEMAKE; /* its solver */
	if (x->under != i && !alone && !helps)
		return 0;
	if (!vec_has_room(st->engine_ids, st->n_engines, st->cap_engines))
		return -ENOMEM;
	st->engine_ids[st->n_engines++] = r->x[x->under].id;
	return idmap_add(&st->engines, x->id, (uint32_t)st->n_engines, &is_new) ? 0 : -ENOMEM;
}

/* Gives all units of a run their stages, engines first. 0 or -errno. */
static int name_units(struct stage_run *r)
{
	int ret = 0;
	for (uint32_t i = 0; i < r->n && ret == 0; i++)
		ret = name_below(r, i);
	if (ret == 0)
		ret = stages_name_targets(r);
	for (uint32_t i = 0; i < r->n && ret == 0; i++)
		ret = name_itself(r, i);
	for (uint32_t i = 0; i < r->n && ret == 0; i++)
		ret = keep_engine(r, i);
	for (uint32_t i = 0; i < r->n && ret == 0; i++)
		ret = keep_owner(r, i);
	return ret;
}

int stages_look(struct stages *st, store_id run)
{
	bool is_new;
	store_id *ids = NULL;
	struct stage_run r = {.st = st, .id = run};
	if (!idmap_add(&st->runs, run, 1, &is_new))
		return -ENOMEM;
	if (!is_new)
		return 0;
	int ret = store_run_execs(st->s, run, &ids, &r.n);
	if (ret < 0)
		return ret;
	r.x = calloc(r.n + 1, sizeof(*r.x));
	r.next = calloc(r.n + 1, sizeof(*r.next));
	r.head = calloc(r.n + 1, sizeof(*r.head));
	r.stage = calloc(r.n + 1, sizeof(*r.stage));
	ret = r.x && r.next && r.head && r.stage ? load_run(&r, ids) : -ENOMEM;
	if (ret == 0)
		ret = name_units(&r);
	free(ids);
	free(r.x);
	free(r.next);
	free(r.head);
	free(r.stage);
	return ret < 0 ? ret : st->no_memory ? -ENOMEM : 0;
}

/* ---- stages ---- */

int stages_new(struct store *s, struct stages **ret)
{
	*ret = calloc(1, sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	(*ret)->s = s;
	return 0;
}

/* Frees all of it; NULL is no error. */
void stages_free(struct stages *st)
{
	if (!st)
		return;
	for (size_t i = 0; i < st->n; i++)
		free(st->v[i].execs);
	free(st->v);
	free(st->engine_ids);
	free(st->missed);
	idmap_release(&st->runs);
	idmap_release(&st->of);
	idmap_release(&st->engines);
	idmap_release(&st->made);
	idmap_release(&st->owner);
	arena_release(&st->text);
	free(st);
}

char *stages_keep(struct stages *st, struct str text)
{
	char *p = arena_take(&st->text, text.n + 1);
	if (!p) {
		st->no_memory = true;
		return NULL;
	}
	if (text.n)
		memcpy(p, text.p, text.n);
	p[text.n] = '\0';
	return p;
}

struct stage *stages_add(struct stages *st, uint32_t *ret)
{
	if (!vec_has_room(st->v, st->n, st->cap)) {
		st->no_memory = true;
		return NULL;
	}
	*ret = (uint32_t)st->n;
	st->v[st->n] = (struct stage){0};
	return &st->v[st->n++];
}

int stages_join(struct stage_run *r, uint32_t u, uint32_t stage)
{
	struct stage *g = &r->st->v[stage];
	bool is_new;
	r->stage[u] = stage;
	g->run = r->id;
	for (uint32_t i = r->head[u]; i != NOT_THERE; i = r->next[i]) {
		if (!vec_has_room(g->execs, g->n_execs, g->cap_execs) || !idmap_add(&r->st->of, r->x[i].id, stage + 1, &is_new))
			return -ENOMEM;
		g->execs[g->n_execs++] = r->x[i].id;
	}
	return 0;
}

/* Finds the stages of the execution's run, once. 0 or -errno. */
static int look_at_run_of(struct stages *st, store_id exec)
{
	struct exec_brief x;
	int r = store_exec_brief(st->s, exec, &x);
	return r <= 0 || !x.run ? r < 0 ? r : 0 : stages_look(st, x.run);
}

int stages_find(struct stages *st, store_id exec, uint32_t *ret)
{
	int r = look_at_run_of(st, exec);
	const uint32_t *at = r == 0 ? idmap_find(&st->of, exec) : NULL;
	if (at)
		*ret = *at - 1;
	return r < 0 ? r : at != NULL;
}

int stages_is_engine(struct stages *st, store_id exec, store_id *ret)
{
	int r = look_at_run_of(st, exec);
	const uint32_t *at = r == 0 ? idmap_find(&st->engines, exec) : NULL;
	if (at)
		*ret = st->engine_ids[*at - 1];
	return r < 0 ? r : at != NULL;
}

int stages_owner(struct stages *st, store_id exec, store_id *ret)
{
	int r = look_at_run_of(st, exec);
	const uint32_t *at = r == 0 ? idmap_find(&st->owner, exec) : NULL;
	if (at)
		*ret = st->engine_ids[*at - 1];
	return r < 0 ? r : at != NULL;
}

/* From now on it is noted whose each execution is. Before the first question. */
void stages_want_owners(struct stages *st)
{
	st->owners = true;
}

int stages_made_for(struct stages *st, store_id engine, store_id version, uint32_t *ret)
{
	const uint32_t *at = idmap_find(&st->made, hash_mix(engine, version) | 1);
	if (at)
		*ret = *at - 1;
	return at != NULL;
}

/* i below stages_count. Valid until more are added. */
const struct stage *stages_get(const struct stages *st, uint32_t i)
{
	return &st->v[i];
}

/* How many are known up to now. */
size_t stages_count(const struct stages *st)
{
	return st->n;
}

size_t stages_missed(const struct stages *st)
{
	return st->n_missed;
}

/* It lives as long as st. */
const char *stages_missed_path(const struct stages *st, size_t i)
{
	return st->missed[i];
}
