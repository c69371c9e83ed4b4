/* diff_side.c - one side of a diff, read from the store: its executions, what they used and made, and under which
 * names. */
#include "query/diff/diff_int.h"

#include "base/hash.h"
#include "base/os/system.h"
#include "query/lineage/lineage.h"
#include "query/objects.h"
#include "query/stages/stages.h"

#include <errno.h>
#include <stdlib.h>

/* A copy that lives as long as t; empty, and t->failed, without memory. */
struct str diff_keep_text(struct diff_text *t, struct str s)
{
	char *p = s.n ? arena_take(&t->bytes, s.n) : NULL;
	if (!p) {
		t->failed |= s.n != 0;
		return str_of("");
	}
	memcpy(p, s.p, s.n);
	return str_n(p, s.n);
}

/* An argument: a path, or one behind `--x=` or a `-I`. */
static void mask_arg(const struct side *s, struct str arg, struct buf *out)
{
	const char *slash = memchr(arg.p, '/', arg.n);
	size_t before = slash ? (size_t)(slash - arg.p) : arg.n;
	if (!slash || (before && arg.p[before - 1] != '=' && arg.p[0] != '-')) {
		diff_mask_components(arg, 0, false, out);
		return;
	}
	buf_add(out, arg.p, before);
	diff_mask_path(s, str_n(arg.p + before, arg.n - before), out);
}

/* ---- versions ---- */

struct loader {
	struct store *s;
	const struct diff_options *o;
	struct diff_text *text;
	struct side *side;
	struct buf scratch;
	struct edges edges;
	struct objects objects; /* of HDF5 files: they stand for these among what was used */
};

/* The side's number for the path, with what differs from run to run masked; made if need be. 0, -ENOMEM. */
static int number_side_path(struct loader *l, struct str path, uint32_t *ret)
{
	struct side *sd = l->side;
	bool new;
	buf_reset(&l->scratch);
	diff_mask_path(sd, path, &l->scratch);
	if (l->scratch.failed)
		return -ENOMEM;
	struct str key = buf_view(&l->scratch);
	uint64_t hash = hash_str(key);
	for (uint64_t h = hash ? hash : 1;; h += h + 1 ? 1 : 2) { /* other names of this hash: the next free key */
		uint32_t *slot = idmap_add(&sd->by_path, h, (uint32_t)sd->n_paths, &new);
		if (!slot)
			return -ENOMEM;
		if (!new) {
			if (!str_eq(sd->paths[*slot].key, key))
				continue;
			*ret = *slot;
			return 0;
		}
		if (!diff_room(sd->paths, sd->n_paths, sd->cap_paths))
			return -ENOMEM;
		sd->paths[sd->n_paths] =
		    (struct dpath){.key = diff_keep_text(l->text, key),
		                   .path = diff_keep_text(l->text, path),
		                   .hash = hash,
		                   .input = NONE,
		                   .output = NONE,
		                   .absent = NONE,
		                   .made = NONE,
		                   .system = system_path(path, l->o->system_extra) == SYSTEM_YES || stages_bookkeeping(path)};
		*ret = (uint32_t)sd->n_paths++;
		return 0;
	}
}

/* Gives a version its number on the side. used: by an execution of the side. Of what it only made the file stands
 * for the objects in it, but for one that was asked for. 0, -errno. */
static int number_side_version(struct loader *l, store_id id, bool used, uint32_t *ret)
{
	struct side *sd = l->side;
	bool new;
	uint32_t *slot = idmap_add(&sd->by_version, id, (uint32_t)sd->n_versions, &new);
	if (!slot)
		return -ENOMEM;
	*ret = *slot;
	if (!new)
		return 0;
	struct version_info v;
	struct file_info f;
	int r = store_version(l->s, id, &v);
	r = r > 0 ? store_file(l->s, v.file, &f) : r;
	if (r <= 0)
		return r < 0 ? r : -ENOENT;
	if (!diff_room(sd->versions, sd->n_versions, sd->cap_versions))
		return -ENOMEM;
	bool asked = sd->info.what == DIFF_VERSION && id == sd->info.id;
	bool object = (used || asked) && objects_is_object(f.kind);
	struct dversion d = {.id = id,
	                     .file = v.file,
	                     .n = v.n,
	                     .origin = v.origin,
	                     .has_size = v.has_size,
	                     .size = v.size,
	                     .mtime = v.mtime,
	                     .start = v.start,
	                     .end = v.end,
	                     .named = f.named,
	                     .absent = f.kind == TERM_kind_absent,
	                     .stream = f.kind != TERM_kind_regular && f.kind != TERM_kind_absent && !object,
	                     .path = NONE,
	                     .first_user = NONE};
	if (!d.stream && f.path.n) {
		r = number_side_path(l, f.path, &d.path);
		if (r < 0)
			return r;
		d.system = sd->paths[d.path].system;
	}
	sd->versions[sd->n_versions++] = d;
	return 0;
}

/* Loads what an execution of the side used or made. gens: what the execution made, else what it used. 0 or -errno. */
static int load_edges(struct loader *l, uint32_t exec, bool gens)
{
	struct side *sd = l->side;
	struct dexec *x = &sd->execs[exec];
	struct duse **v = gens ? &sd->gens : &sd->uses;
	size_t *n = gens ? &sd->n_gens : &sd->n_uses, *cap = gens ? &sd->cap_gens : &sd->cap_uses;
	struct objects_hidden hidden = {0};
	int r = gens ? store_outputs(l->s, x->id, &l->edges) : store_uses(l->s, x->id, &l->edges);
	if (r == 0 && !gens)
		r = objects_choose(&l->objects, x->id, false, &l->edges, &hidden);
	*(gens ? &x->first_gen : &x->first_use) = (uint32_t)*n;
	for (size_t i = 0; r == 0 && i < l->edges.n; i++) {
		const struct edge *e = &l->edges.v[i];
		uint32_t version;
		if (e->via == TERM_via_sync)
			continue;
		r = number_side_version(l, e->to, !gens, &version);
		if (r < 0)
			break;
		if (!diff_room(*v, *n, *cap))
			return -ENOMEM;
		(*v)[(*n)++] = (struct duse){exec, version, e->mode, e->sure, e->lo, e->hi};
		struct dversion *d = &sd->versions[version];
		if (gens) {
			d->made = true;
			d->sure |= e->sure;
		} else if (d->first_user == NONE)
			d->first_user = exec;
		if (!gens)
			d->mode |= e->mode;
	}
	if (gens)
		x->n_gens = (uint32_t)(*n - x->first_gen);
	else
		x->n_uses = (uint32_t)(*n - x->first_use);
	return r;
}

/* What the execution wrote on to, of what the side used or made: the versions that those it made were derived from. 0,
 * -errno. */
static int load_derived(struct loader *l, uint32_t exec)
{
	struct side *sd = l->side;
	int r = 0;
	for (uint32_t g = 0; r == 0 && g < sd->execs[exec].n_gens; g++) {
		uint32_t to = sd->gens[sd->execs[exec].first_gen + g].version;
		if (sd->versions[to].stream)
			continue;
		r = store_derived(l->s, sd->versions[to].id, &l->edges);
		for (size_t i = 0; r == 0 && i < l->edges.n; i++) {
			const uint32_t *from = idmap_find(&sd->by_version, l->edges.v[i].to);
			if (!from)
				continue;
			if (!diff_room(sd->derived, sd->n_derived, sd->cap_derived))
				return -ENOMEM;
			sd->derived[sd->n_derived++] = (struct dderived){*from, to};
		}
	}
	return r;
}

/* ---- executions ---- */

/* One that is there already stays. 0, -ENOMEM. */
static int append_side_exec(struct side *sd, store_id id)
{
	bool new;
	if (!idmap_add(&sd->by_exec, id, (uint32_t)sd->n_execs, &new))
		return -ENOMEM;
	if (!new)
		return 0;
	if (!diff_room(sd->execs, sd->n_execs, sd->cap_execs))
		return -ENOMEM;
	sd->execs[sd->n_execs++] = (struct dexec){.id = id, .parent = NONE, .partner = NONE};
	return 0;
}

/* All that the executions so far started, by fork and exec: also in other runs (nested ones). 0, -errno. */
static int add_descendants(struct loader *l)
{
	int r = 0;
	for (size_t i = 0; r == 0 && i < l->side->n_execs; i++) {
		r = store_informs(l->s, l->side->execs[i].id, &l->edges);
		for (size_t k = 0; r == 0 && k < l->edges.n; k++)
			if (l->edges.v[k].via == TERM_via_fork)
				r = append_side_exec(l->side, l->edges.v[k].to);
	}
	return r;
}

/* The executions of the run, of the version's lineage, or the one that is asked for. 0, or -errno with a sentence. */
static int find_execs(struct loader *l, enum diff_what what, store_id id, struct err *err)
{
	struct side *sd = l->side;
	int r = 0;
	if (what == DIFF_VERSION) {
		struct lineage walked;
		struct lineage_options o = {
		    .direction = LINEAGE_UP, .nodes = true, .skew = l->o->skew, .system_extra = l->o->system_extra};
		r = lineage_walk(l->s, &id, 1, &o, err, &walked);
		if (r < 0)
			return r;
		for (size_t i = 0; r == 0 && i < walked.n_nodes; i++)
			if (walked.nodes[i].exec)
				r = append_side_exec(sd, walked.nodes[i].id);
		lineage_release(&walked);
		return r;
	}
	if (what == DIFF_EXEC)
		r = append_side_exec(sd, id);
	else {
		store_id *ids = NULL;
		size_t n = 0;
		r = store_run_execs(l->s, id, &ids, &n);
		for (size_t i = 0; r == 0 && i < n; i++)
			r = append_side_exec(sd, ids[i]);
		free(ids);
	}
	return r == 0 ? add_descendants(l) : r;
}

/* Order of qsort: by time. */
static int compare_execs_by_start(const void *a, const void *b)
{
	const struct dexec *x = a, *y = b;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->id > y->id) - (x->id < y->id);
}

/* A copy that lives as long as t. */
static struct strlist keep_list(struct diff_text *t, const struct strlist *l)
{
	return (struct strlist){.count = l->count, .raw = diff_keep_text(t, l->raw)};
}

/* All that is compared of it, copied. 0 or -errno; -ENOENT: it is gone. */
static int load_exec(struct loader *l, struct dexec *x)
{
	struct exec_info info;
	struct file_info f;
	int r = store_exec(l->s, x->id, &info);
	if (r <= 0)
		return r < 0 ? r : -ENOENT;
	x->parent_id = info.parent;
	x->exe = info.exe;
	x->script = info.script;
	x->argv = keep_list(l->text, &info.argv);
	x->env = keep_list(l->text, &info.env);
	buf_reset(&l->scratch);
	diff_mask_path(l->side, info.cwd, &l->scratch);
	x->cwd = diff_keep_text(l->text, buf_view(&l->scratch));
	x->start = info.start;
	x->end = info.end;
	x->cpu = info.cpu;
	x->rss = info.rss;
	x->rchar = info.rchar;
	x->wchar_ = info.wchar_;
	x->known = info.known;
	x->gaps = info.gaps;
	x->ending = info.ending;
	x->code = info.code;
	if (!l->side->hostname.n)
		l->side->hostname = diff_keep_text(l->text, info.host);
	if (!l->side->user.n)
		l->side->user = diff_keep_text(l->text, info.user);
	x->key_rank = info.rank.n ? hash_str(info.rank) : 0;
	x->number = info.n;
	x->key_program = (info.n != 0) * 2 + (info.ending == TERM_ending_unknown);
	for (int script = 0; script < 2; script++) {
		store_id id = script ? x->script : x->exe;
		r = id ? store_file(l->s, id, &f) : 0;
		if (r < 0)
			return r;
		if (!r)
			continue;
		buf_reset(&l->scratch);
		diff_mask_path(l->side, f.path, &l->scratch);
		x->key_program = hash_more(x->key_program + 1, l->scratch.p, l->scratch.n);
		x->program = diff_keep_text(l->text, str_base_name(f.path));
	}
	struct str arg;
	size_t pos = 0;
	x->key_argv = x->argv.count;
	while (strlist_next(&x->argv, &pos, &arg)) {
		buf_reset(&l->scratch);
		mask_arg(l->side, arg, &l->scratch);
		x->key_argv = hash_more(x->key_argv, l->scratch.p, l->scratch.n);
	}
	x->key_name = hash_str(x->program);
	return l->scratch.failed ? -ENOMEM : 0;
}

/* The order of numbers, for qsort. */
static int u64_cmp(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

/* The names of what an execution made, as one key: whatever the order. */
static void key_outputs(struct side *sd, struct dexec *x)
{
	uint64_t few[32], last = 0;
	size_t n = 0;
	for (uint32_t i = 0; i < x->n_gens && n < 32; i++) {
		const struct dversion *v = &sd->versions[sd->gens[x->first_gen + i].version];
		if (v->path != NONE)
			few[n++] = sd->paths[v->path].hash;
	}
	qsort(few, n, sizeof(*few), u64_cmp);
	for (size_t i = 0; i < n; i++)
		if (!i || few[i] != last)
			x->key_outputs = hash_more(x->key_outputs, &few[i], sizeof(few[i])), last = few[i];
}

/* An empty file that somebody had open for writing, and perhaps wrote to, is no output: nothing of the side is in it.
 */
static bool is_untouched(const struct dversion *v)
{
	return v->made && !v->sure && v->has_size && v->size == 0;
}

/* Was the version's file named so when the side ended? Asked of what was made, once. Sets v->named. 0, -errno. */
static int check_named(struct store *s, struct side *sd, struct dversion *v)
{
	bool ended = sd->info.end != TIME_NONE && sd->info.end != TIME_NEVER;
	if (!v->made || v->named || !ended)
		return 0;
	int r = store_named_at(s, v->file, sd->paths[v->path].path, sd->info.end);
	if (r >= 0)
		v->named = r > 0;
	return r < 0 ? r : 0;
}

/* May the version count for its name: as an output the one that was asked for, also where another file took its name
 * since, else one that is named; as an input one that somebody read? */
static bool may_count(const struct side *sd, const struct dversion *v)
{
	if (is_untouched(v))
		return false;
	if (v->made)
		return sd->info.what == DIFF_VERSION ? v->id == sd->info.id : v->named;
	return v->first_user != NONE;
}

/* Did a get its last byte after b? */
static bool is_later(const struct dversion *a, const struct dversion *b)
{
	return a->end != b->end ? a->end > b->end : a->n > b->n;
}

/* Which version counts for a name: of inputs the last that was read and is nobody's of the side; of outputs the last
 * that was made and is named. 0, -errno. */
static int choose_named_versions(struct store *s, struct side *sd)
{
	for (uint32_t i = 0; i < sd->n_versions; i++) {
		struct dversion *v = &sd->versions[i];
		if (v->path == NONE)
			continue;
		int r = check_named(s, sd, v);
		if (r < 0)
			return r;
		struct dpath *p = &sd->paths[v->path];
		p->mode |= v->mode;
		uint32_t *slot = v->absent ? &p->absent : v->made ? &p->output : &p->input;
		if (v->made && (p->made == NONE || sd->versions[p->made].end <= v->end))
			p->made = i;
		if (may_count(sd, v) && (*slot == NONE || is_later(v, &sd->versions[*slot])))
			*slot = i;
	}
	for (size_t i = 0; i < sd->n_paths; i++)
		sd->info.outputs += sd->paths[i].output != NONE && !sd->paths[i].system;
	return 0;
}

enum { ANCESTORS_MAX = 64 }; /* between two executions of a lineage: forks and shells that it does not go through */

/* The nearest ancestor that is of the side: a lineage has the program that started another one, and not the forks and
 * shells between. 1 and *ret; 0 none; -errno. */
static int find_ancestor(struct store *s, const struct side *sd, store_id id, uint32_t *ret)
{
	for (int up = 0; id && up < ANCESTORS_MAX; up++) {
		const uint32_t *at = idmap_find(&sd->by_exec, id);
		struct exec_brief x;
		if (at) {
			*ret = *at;
			return 1;
		}
		int r = sd->info.what == DIFF_VERSION ? store_exec_brief(s, id, &x) : 0;
		if (r <= 0)
			return r;
		id = x.parent;
	}
	return 0;
}

/* x->parent: the nearest ancestor on this side; and numbers the executions. 0 or -errno. */
static int find_parents(struct store *s, struct side *sd)
{
	for (uint32_t i = 0; i < sd->n_execs; i++) {
		struct dexec *x = &sd->execs[i];
		uint32_t p = NONE;
		int r = find_ancestor(s, sd, x->parent_id, &p);
		if (r < 0)
			return r;
		x->at = i;
		x->parent = p != i ? p : NONE;
		x->begun = x->number ? x->start : x->start + 10000000;
	}
	return 0;
}

/* A fork had begun when it became a program. */
static void bound_forks(struct side *sd)
{
	for (uint32_t i = 0; i < sd->n_execs; i++) {
		const struct dexec *x = &sd->execs[i];
		if (x->number && x->parent != NONE && !sd->execs[x->parent].number)
			sd->execs[x->parent].begun = x->start;
	}
}

/* Loads a run as a side. 0 or -errno; -ENOENT: it is gone. */
static int load_run(struct loader *l, store_id id)
{
	struct run_info run;
	int r = store_run(l->s, id, &run);
	if (r <= 0)
		return r < 0 ? r : -ENOENT;
	struct side *sd = l->side;
	sd->cwd = diff_keep_text(l->text, run.cwd);
	sd->host = keep_list(l->text, &run.hostinfo);
	sd->user = diff_keep_text(l->text, run.user);
	sd->hostname = diff_keep_text(l->text, run.host);
	sd->ulid = diff_keep_text(l->text, run.ulid);
	sd->ending = run.ending;
	sd->code = run.code;
	sd->info.start = run.start;
	sd->info.end = run.end;
	sd->info.gaps = run.gaps;
	return 0;
}

/* What there is of the run of a side that is an execution or a version, but not its times and gaps: they are not the
 * side's. 0 or more, -errno. */
static int load_run_around(struct loader *l)
{
	struct side *sd = l->side;
	struct exec_info x;
	int r = store_exec(l->s, sd->execs[0].id, &x);
	if (r <= 0)
		return r;
	sd->cwd = diff_keep_text(l->text, x.cwd);
	r = x.run ? load_run(l, x.run) : 0;
	sd->cwd = diff_keep_text(l->text, x.cwd);
	sd->info.start = TIME_NEVER;
	sd->info.end = TIME_NONE;
	sd->info.gaps = 0;
	return r;
}

/* All executions with their edges; adds up CPU time and gaps. 0 or -errno. */
static int load_execs(struct loader *l, enum diff_what what)
{
	struct side *sd = l->side;
	int r = 0;
	for (size_t i = 0; r == 0 && i < sd->n_execs; i++) {
		const struct dexec *x = &sd->execs[i];
		r = load_exec(l, &sd->execs[i]);
		sd->info.gaps |= x->gaps;
		if (x->known & (1 << 1))
			sd->info.cpu += x->cpu;
		if (what != DIFF_RUN && x->start < sd->info.start)
			sd->info.start = x->start;
		if (what != DIFF_RUN && x->end > sd->info.end)
			sd->info.end = x->end;
	}
	if (r == 0 && sd->n_execs)
		qsort(sd->execs, sd->n_execs, sizeof(*sd->execs), compare_execs_by_start);
	for (uint32_t i = 0; r == 0 && i < sd->n_execs; i++)
		*idmap_find(&sd->by_exec, sd->execs[i].id) = i;
	return r;
}

/* What each execution made and used, and what their versions came from. 0, -errno. */
static int load_all_edges(struct loader *l)
{
	struct side *sd = l->side;
	int r = 0;
	for (uint32_t i = 0; r == 0 && i < sd->n_execs; i++) {
		r = load_edges(l, i, true);
		if (r == 0)
			key_outputs(sd, &sd->execs[i]);
	}
	for (uint32_t i = 0; r == 0 && i < sd->n_execs; i++)
		r = load_edges(l, i, false);
	for (uint32_t i = 0; r == 0 && i < sd->n_execs; i++)
		r = load_derived(l, i);
	return r;
}

int side_load(struct store *s, enum diff_what what, store_id id, const struct diff_options *o, struct diff_text *text,
              struct err *err, struct side *ret)
{
	struct loader l = {.s = s, .o = o, .text = text, .side = ret};
	*ret = (struct side){.info = {.what = what, .id = id, .start = TIME_NEVER, .end = TIME_NONE},
	                     .by_exec = {.near = IDMAP_EXECS},
	                     .by_version = {.near = IDMAP_VERSIONS}};
	int r = objects_begin(&l.objects, s, OBJECTS_FILES);
	if (r == 0)
		r = find_execs(&l, what, id, err);
	if (r == 0 && what == DIFF_RUN)
		r = load_run(&l, id);
	else if (r == 0 && ret->n_execs)
		r = load_run_around(&l);
	if (r == 0)
		r = load_execs(&l, what);
	if (r == 0)
		r = load_all_edges(&l);
	if (r == 0)
		r = find_parents(s, ret);
	if (r == 0) {
		bound_forks(ret);
		r = choose_named_versions(s, ret);
		ret->info.executions = ret->n_execs;
	}
	if (r == 0 && text->failed)
		r = -ENOMEM;
	if (r < 0 && r != -EINVAL)
		err_set(err, -r, "cannot read one side of the comparison");
	buf_release(&l.scratch);
	edges_release(&l.edges);
	objects_end(&l.objects);
	return r;
}

/* s itself may not be used afterwards. */
void side_release(struct side *s)
{
	free(s->execs);
	free(s->uses);
	free(s->gens);
	free(s->derived);
	free(s->versions);
	free(s->paths);
	idmap_release(&s->by_exec);
	idmap_release(&s->by_version);
	idmap_release(&s->by_path);
}
