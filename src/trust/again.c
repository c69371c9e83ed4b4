#include "trust/again.h"

#include "base/buf.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/strv.h"
#include "query/system.h"
#include "spec/objects.h"
#include "spec/spec.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* An execution of the run, with all of its edges. */
struct one {
	store_id id;
	size_t parent; /* AGAIN_NONE */
	uint64_t pid, n, ending, code;
	int64_t start;
	char *exe, *script, *cwd;
	char **argv, **env;
	struct edges uses, gens;
	size_t pair;
	bool differs;
};
struct maker {
	store_id version;
	size_t at;
	bool inherited;
};
struct side {
	struct again_side *out;
	struct one *v;
	size_t n;
	VEC(struct maker) makers; /* sorted by version */
	bool redacted;
};
struct planning {
	struct store *s;
	const struct witness_options *o;
	const char *home, *dir;
	struct err *err;
	struct again *a;
	struct side side[2];
	size_t fetched;
};

static int again_oom(struct planning *p)
{
	return err_set(p->err, ENOMEM, "cannot plan what to run again");
}

static char *copy_again_text(struct str s)
{
	return strndup(s.p ? s.p : "", s.n);
}

static const char *base(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

static bool is_path_below(const char *path, const char *folder)
{
	size_t n = strlen(folder);
	return n > 1 && !strncmp(path, folder, n) && path[n] == '/';
}

/* ---- the run's executions ---- */

static char *copy_file_path(struct store *s, store_id file)
{
	struct file_info f;
	return file && store_file(s, file, &f) == 1 ? copy_again_text(f.path) : strdup("");
}

static int compare_by_version_made(const void *x, const void *y)
{
	const struct maker *a = x, *b = y;
	if (a->version != b->version)
		return a->version < b->version ? -1 : 1;
	return (a->at > b->at) - (a->at < b->at);
}

static int load_one(struct planning *p, struct side *s, store_id id, struct one *ret, store_id *ret_parent)
{
	struct exec_info x;
	*ret = (struct one){.id = id, .parent = AGAIN_NONE, .pair = AGAIN_NONE};
	if (store_exec(p->s, id, &x) != 1)
		return err_set(p->err, EIO, "cannot read the record");
	ret->pid = x.pid;
	ret->n = x.n;
	ret->ending = x.ending;
	ret->code = x.code;
	ret->start = x.start;
	ret->cwd = copy_again_text(x.cwd);
	ret->argv = strlist_copy(&x.argv);
	ret->env = strlist_copy(&x.env);
	s->redacted |= rerun_has_redacted(&x.argv);
	*ret_parent = x.parent;
	store_id exe = x.exe, script = x.script;
	ret->exe = copy_file_path(p->s, exe);
	ret->script = copy_file_path(p->s, script);
	if (!ret->cwd || !ret->argv || !ret->env || !ret->exe || !ret->script)
		return again_oom(p);
	int r = store_uses(p->s, id, &ret->uses);
	return r < 0 ? r : store_outputs(p->s, id, &ret->gens);
}

static int load_side(struct planning *p, int k, store_id run)
{
	struct side *s = &p->side[k];
	struct run_info info;
	store_id *ids = NULL, *parents = NULL;
	struct map by_id = {0};
	s->out = &p->a->side[k];
	s->out->run = run;
	if (store_run(p->s, run, &info) != 1)
		return err_set(p->err, EIO, "cannot read the run");
	s->out->ulid = copy_again_text(info.ulid);
	s->out->cwd = copy_again_text(info.cwd);
	int r = s->out->ulid && s->out->cwd ? store_run_execs(p->s, run, &ids, &s->n) : again_oom(p);
	if (r >= 0) {
		s->v = calloc(s->n + 1, sizeof(*s->v));
		parents = calloc(s->n + 1, sizeof(*parents));
		r = s->v && parents ? 0 : again_oom(p);
	}
	for (size_t i = 0; r >= 0 && i < s->n; i++)
		r = load_one(p, s, ids[i], &s->v[i], &parents[i]);
	for (size_t i = 0; r >= 0 && i < s->n; i++)
		if (!map_set(&by_id, s->v[i].id, (uint32_t)i))
			r = again_oom(p);
	for (size_t i = 0; r >= 0 && i < s->n; i++) {
		uint32_t j = parents[i] ? map_get(&by_id, parents[i]) : VEC_NONE;
		if (j != VEC_NONE && j != i)
			s->v[i].parent = j;
	}
	for (size_t i = 0; r >= 0 && i < s->n; i++)
		for (size_t j = 0; r >= 0 && j < s->v[i].gens.n; j++) {
			struct maker *m = vec_add(&s->makers);
			if (m)
				*m = (struct maker){s->v[i].gens.v[j].to, i, s->v[i].gens.v[j].api == TERM_api_inherit};
			else
				r = again_oom(p);
		}
	if (r >= 0 && s->makers.n)
		qsort(s->makers.v, s->makers.n, sizeof(*s->makers.v), compare_by_version_made);
	map_release(&by_id);
	free(ids);
	free(parents);
	return r < 0 ? r : 0;
}

/* The first who made it; NULL: it is not of the run. */
static const struct maker *maker_of(const struct side *s, store_id version)
{
	size_t lo = 0, hi = s->makers.n;
	while (lo < hi) {
		size_t mid = (lo + hi) / 2;
		if (s->makers.v[mid].version < version)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < s->makers.n && s->makers.v[lo].version == version ? &s->makers.v[lo] : NULL;
}

/* A parent's number may stand behind its child's; rings there are none in a record that is whole. */
static bool has_ancestor(const struct side *s, size_t at, size_t top)
{
	for (size_t guard = 0; at != AGAIN_NONE && guard <= s->n; guard++, at = s->v[at].parent)
		if (at == top)
			return true;
	return false;
}

/* ---- what differs ---- */

/* The digest that the record has of the version; "" none. NULL without memory. */
static char *digest_of(struct planning *p, const struct version_info *v, const struct file_info *f)
{
	struct event_digest like = {.domain = f->domain, .ino = f->ino, .gen = f->gen, .size = v->size, .mtime = v->mtime};
	struct reported_list l = {0};
	char *found = NULL;
	if (v->has_size && store_digests(p->s, &like, &l) == 0)
		for (size_t i = 0; !found && i < l.n; i++) {
			const struct event_digest *d = &l.v[i].ev.digest;
			if (d->digest.n && d->ino == like.ino && d->gen == like.gen && d->size == like.size &&
			    d->mtime == like.mtime && str_eq(d->domain, like.domain))
				found = copy_again_text(d->digest);
		}
	reported_list_release(&l);
	return found ? found : strdup("");
}

struct content {
	bool regular, named;
	struct version_info v;
	char *path, *digest;
};

static int read_content(struct planning *p, store_id version, struct content *ret)
{
	struct file_info f;
	*ret = (struct content){0};
	if (store_version(p->s, version, &ret->v) != 1 || store_file(p->s, ret->v.file, &f) != 1)
		return err_set(p->err, EIO, "cannot read the record");
	ret->regular = f.kind == TERM_kind_regular && f.path.n;
	ret->named = f.named;
	ret->path = copy_again_text(f.path);
	if (ret->path && ret->regular)
		ret->digest = digest_of(p, &ret->v, &f);
	return ret->path && (ret->digest || !ret->regular) ? 0 : again_oom(p);
}

static void content_release(struct content *x)
{
	free(x->path);
	free(x->digest);
}

static const char *relative_to_cwd(const char *path, const char *cwd)
{
	return is_path_below(path, cwd) ? path + strlen(cwd) : path;
}

static bool same_content(const struct content *a, const struct content *b)
{
	if (a->v.id == b->v.id)
		return true;
	if (*a->digest && *b->digest)
		return !strcmp(a->digest, b->digest);
	return a->v.has_size && b->v.has_size && a->v.size == b->v.size && a->v.mtime == b->v.mtime &&
	       a->v.mtime != TIME_NONE;
}

static bool reads_data(const struct edge *e)
{
	return e->via != TERM_via_sync && e->via != TERM_via_fork && e->mode & ACCESS_READ;
}

/* What an execution read, to be found by its version, or by its name below the working directory. */
struct reads {
	struct map versions;   /* all that it used */
	VEC(struct content) v; /* regular files */
	struct table by_name;
	const char *cwd;
};

static uint32_t name_hash(const char *path, const char *cwd)
{
	return hash_fold(hash_str(str_of(relative_to_cwd(path, cwd))));
}

static int reads_of(struct planning *p, const struct one *x, const char *cwd, struct reads *ret)
{
	*ret = (struct reads){.cwd = cwd};
	for (size_t i = 0; i < x->uses.n; i++) {
		struct content s;
		bool again = map_get(&ret->versions, x->uses.v[i].to) == 1;
		if (!map_set(&ret->versions, x->uses.v[i].to, again || reads_data(&x->uses.v[i])))
			return again_oom(p);
		if (again || !reads_data(&x->uses.v[i]))
			continue;
		int r = read_content(p, x->uses.v[i].to, &s);
		struct content *kept = r == 0 && s.regular ? vec_add(&ret->v) : NULL;
		if (kept)
			*kept = s;
		else
			content_release(&s);
		if (r == 0 && s.regular && (!kept || !table_add(&ret->by_name, name_hash(s.path, cwd), (uint32_t)ret->v.n - 1)))
			r = again_oom(p);
		if (r < 0)
			return r;
	}
	return 0;
}

static void reads_release(struct reads *r)
{
	for (size_t i = 0; i < r->v.n; i++)
		content_release(&r->v.v[i]);
	vec_release(&r->v);
	map_release(&r->versions);
	table_release(&r->by_name);
}

/* Is there a file of that name and content among them? */
static bool has_read(const struct reads *r, const struct content *x, const char *cwd)
{
	uint32_t i;
	for (size_t pos = TABLE_START; (i = table_next(&r->by_name, name_hash(x->path, cwd), &pos)) != VEC_NONE;) {
		const struct content *y = &r->v.v[i];
		if (!strcmp(relative_to_cwd(x->path, cwd), relative_to_cwd(y->path, r->cwd)) && same_content(x, y))
			return true;
	}
	return false;
}

/* Did x read, of its side, what y did not read of its own, or another version of it? 1, 0, -errno. */
static int read_otherwise(struct planning *p, int k, const struct one *x, const struct one *y)
{
	const char *cwd = p->a->side[k].cwd;
	struct reads other;
	int r = reads_of(p, y, p->a->side[!k].cwd, &other);
	for (size_t i = 0; r == 0 && i < x->uses.n; i++) {
		struct content a;
		store_id version = x->uses.v[i].to;
		if (!reads_data(&x->uses.v[i]) || map_get(&other.versions, version) != VEC_NONE)
			continue;
		const struct maker *m = maker_of(&p->side[k], version);
		if (m && p->side[k].v[m->at].id == x->id)
			continue;
		r = read_content(p, version, &a);
		if (r == 0 && a.regular && !has_read(&other, &a, cwd))
			r = 1;
		content_release(&a);
	}
	reads_release(&other);
	return r;
}

static bool is_same_argv(char *const *a, char *const *b)
{
	size_t i = 0;
	for (; a[i] && b[i]; i++)
		if (strcmp(a[i], b[i]) != 0)
			return false;
	return !a[i] && !b[i];
}

/* Variables that name the place or the job, not the work. */
static bool of_the_place(const char *v)
{
	static const char *const names[] = {"PWD=", "OLDPWD=", "SHLVL=", "_=", "STEMMA", "SLURM_", "PBS_", NULL};
	for (size_t i = 0; names[i]; i++)
		if (!strncmp(v, names[i], strlen(names[i])))
			return true;
	return false;
}

static bool same_env(char *const *a, char *const *b)
{
	for (int k = 0; k < 2; k++) {
		char *const *x = k ? b : a, *const *y = k ? a : b;
		for (size_t i = 0; x[i]; i++) {
			bool met = of_the_place(x[i]);
			for (size_t j = 0; !met && y[j]; j++)
				met = !strcmp(x[i], y[j]);
			if (!met)
				return false;
		}
	}
	return true;
}

static int pair_differs(struct planning *p, const struct one *a, const struct one *b)
{
	if (a->ending != b->ending || a->code != b->code || !is_same_argv(a->argv, b->argv) || !same_env(a->env, b->env))
		return 1;
	int r = read_otherwise(p, 0, a, b);
	return r ? r : read_otherwise(p, 1, b, a);
}

/* Does the program that lies there leave traces? */
static bool can_trace(const char *path)
{
	struct objects_bytes b;
	struct str section;
	struct err unused = {0};
	if (!*path || objects_map(path, &unused, &b) < 0)
		return false;
	struct str file = {b.p, b.n};
	bool can = objects_is_elf(file) && objects_section(file, SPEC_SECTION, &section) == 0;
	objects_unmap(&b);
	return can;
}

static struct one *find_execution(struct side *s, store_id exec)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->v[i].id == exec)
			return &s->v[i];
	return NULL;
}

static int add_program(struct planning *p, const char *path)
{
	size_t n = 0;
	for (; p->a->programs && p->a->programs[n]; n++)
		if (!strcmp(p->a->programs[n], base(path)))
			return 0;
	char **v = realloc(p->a->programs, (n + 2) * sizeof(*v));
	if (!v)
		return again_oom(p);
	p->a->programs = v;
	v[n] = strdup(base(path));
	v[n + 1] = NULL;
	return v[n] ? 0 : again_oom(p);
}

static bool is_stream_kind(uint64_t kind)
{
	return kind == TERM_kind_fifo || kind == TERM_kind_pipe || kind == TERM_kind_socket || kind == TERM_kind_shm;
}

/* Did another of the run, which differs, send it something? What went through a stream is not in the record. 1, 0,
 * -errno. */
static int was_fed_otherwise(struct planning *p, const struct side *s, const struct one *x)
{
	for (size_t i = 0; i < x->uses.n; i++) {
		struct version_sort v;
		if (!reads_data(&x->uses.v[i]))
			continue;
		if (store_version_sort(p->s, x->uses.v[i].to, &v) != 1)
			return err_set(p->err, EIO, "cannot read the record");
		if (!is_stream_kind(v.kind))
			continue;
		for (size_t k = 0; k < s->makers.n; k++)
			if (s->makers.v[k].version == x->uses.v[i].to && s->v[s->makers.v[k].at].id != x->id &&
			    s->v[s->makers.v[k].at].differs)
				return 1;
	}
	return 0;
}

/* Which executions differ: those that have no partner, those that ran with something else, and whom these fed. */
static int find_differing(struct planning *p, const struct diff *d)
{
	int r = 0;
	for (int k = 0; k < 2; k++)
		for (size_t i = 0; i < p->side[k].n; i++)
			p->side[k].v[i].differs = p->side[k].v[i].n != 0;
	for (size_t i = 0; r >= 0 && i < d->paired; i++) {
		struct one *a = find_execution(&p->side[0], d->pairs[i].exec[0]),
		           *b = find_execution(&p->side[1], d->pairs[i].exec[1]);
		if (!a || !b)
			continue;
		r = pair_differs(p, a, b);
		a->differs = b->differs = r > 0;
	}
	for (bool more = true; r >= 0 && more;) {
		more = false;
		for (size_t i = 0; r >= 0 && i < d->paired; i++) {
			struct one *a = find_execution(&p->side[0], d->pairs[i].exec[0]),
			           *b = find_execution(&p->side[1], d->pairs[i].exec[1]);
			if (!a || !b || a->differs)
				continue;
			r = was_fed_otherwise(p, &p->side[0], a);
			if (r == 0)
				r = was_fed_otherwise(p, &p->side[1], b);
			if (r > 0)
				a->differs = b->differs = more = true;
		}
	}
	return r < 0 ? r : 0;
}

static int find_pairs(struct planning *p, const struct diff *d)
{
	int r = find_differing(p, d);
	for (int k = 0; k < 2; k++) {
		for (size_t i = 0; i < p->side[k].n; i++)
			p->a->unpaired += p->side[k].v[i].n != 0;
		for (size_t i = 0; i < d->paired; i++) {
			struct one *x = find_execution(&p->side[k], d->pairs[i].exec[k]);
			p->a->unpaired -= x && x->n;
		}
	}
	for (size_t i = 0; r == 0 && i < d->paired; i++) {
		struct one *a = find_execution(&p->side[0], d->pairs[i].exec[0]),
		           *b = find_execution(&p->side[1], d->pairs[i].exec[1]);
		if (!a || !b || !a->n || !b->n || !*a->exe || !*b->exe || !a->differs)
			continue;
		if (can_trace(a->exe) && can_trace(b->exe)) {
			a->pair = b->pair = p->a->pairs++;
			r = add_program(p, a->exe);
			if (r == 0)
				r = add_program(p, b->exe);
		} else {
			p->a->untraced++;
			const struct one *gone = access(a->exe, F_OK) < 0 ? a : access(b->exe, F_OK) < 0 ? b : NULL;
			if (!p->a->first_untraced) {
				p->a->untraced_gone = gone != NULL;
				p->a->first_untraced = strdup(gone ? gone->exe : *a->script ? a->script : a->exe);
			}
		}
	}
	return r;
}

/* ---- steps ---- */

static int set_reason(struct planning *p, char **ret, const char *one, const char *words, const char *other)
{
	struct buf b = {0};
	if (*ret)
		return 0;
	buf_printf(&b, "%s%s%s", one, words, other);
	*ret = b.failed ? NULL : strdup(buf_cstr(&b));
	buf_release(&b);
	return *ret ? 0 : again_oom(p);
}

/* Is what this execution did all to be seen in files that it opened itself? If not, out->whole says why. 0 or -errno.
 */
static int look_alone(struct planning *p, struct side *s, size_t at, size_t top)
{
	struct one *x = &s->v[at];
	struct edges informed = {0};
	int r = 0;
	for (size_t i = 0; r == 0 && !s->out->whole && i < x->uses.n; i++) {
		const struct edge *e = &x->uses.v[i];
		struct version_sort v;
		if (store_version_sort(p->s, e->to, &v) != 1)
			return err_set(p->err, EIO, "cannot read the record");
		const struct maker *m = maker_of(s, e->to);
		if (is_stream_kind(v.kind) && m && !has_ancestor(s, m->at, top))
			r = set_reason(p, &s->out->whole, base(s->v[top].exe), " reads what another program sent it", "");
		else if (v.kind == TERM_kind_regular && e->api == TERM_api_inherit && e->mode & ACCESS_READ &&
		         !(e->mode & ACCESS_WRITE))
			r = set_reason(p, &s->out->whole, base(s->v[top].exe), " inherited an open file", "");
	}
	if (r == 0)
		r = store_informed(p->s, x->id, &informed);
	for (size_t i = 0; r == 0 && !s->out->whole && i < informed.n; i++) {
		const struct edge *e = &informed.v[i];
		bool inner = false;
		for (size_t j = 0; !inner && j < s->n; j++)
			inner = s->v[j].id == e->to && has_ancestor(s, j, top);
		if (!inner && (e->via == TERM_via_shm || e->via == TERM_via_socket))
			r = set_reason(p, &s->out->whole, base(s->v[top].exe), " talks to another program", "");
	}
	edges_release(&informed);
	return r;
}

static struct again_step *add_step(struct side *s, size_t top)
{
	struct again_step *v = realloc(s->out->v, (s->out->n + 1) * sizeof(*v));
	struct one *x = &s->v[top];
	struct buf b = {0};
	if (!v)
		return NULL;
	s->out->v = v;
	struct again_step *t = &v[s->out->n++];
	*t = (struct again_step){.exec = x->id, .pair = x->pair, .pid = x->pid, .ending = x->ending, .code = x->code};
	t->start = x->start;
	t->program = strdup(*x->script ? x->script : x->exe);
	t->argv = strv_copy(x->argv);
	t->env = strv_copy(x->env);
	t->cwd = strdup(x->cwd);
	for (size_t i = 0; x->argv[i]; i++)
		buf_printf(&b, "%s%s", i ? " " : "", x->argv[i]);
	t->shown = b.failed ? NULL : strdup(buf_cstr(&b));
	buf_release(&b);
	return t->program && t->argv && t->env && t->cwd && t->shown ? t : NULL;
}

/* The topmost execution from `at` upwards that began with a program: what a child of fork did, its parent's program
 * did. */
static size_t program_ancestor(const struct side *s, size_t at)
{
	for (size_t guard = 0; guard <= s->n && at != AGAIN_NONE && !s->v[at].n; guard++)
		at = s->v[at].parent;
	return at;
}

static bool is_of_a_step(struct side *s, size_t at)
{
	for (size_t i = 0; i < s->out->n; i++)
		if (has_ancestor(s, at, (size_t)(find_execution(s, s->out->v[i].exec) - s->v)))
			return true;
	return false;
}

static int want_file(struct planning *p, struct side *s, struct again_step *t, const char *reader, struct content *x,
                     bool program, bool *ret_lacks);

/* What one execution of a step read: each to be had, or made by a step. 0 or -errno; out->whole may be said. */
static int look_inputs(struct planning *p, struct side *s, size_t at, size_t top, size_t step)
{
	struct one *x = &s->v[at];
	int r = 0;
	for (size_t i = 0; r == 0 && !s->out->whole && i < x->uses.n; i++) {
		const struct edge *e = &x->uses.v[i];
		const struct maker *m = maker_of(s, e->to);
		struct content seen;
		if (e->via == TERM_via_sync || (m && has_ancestor(s, m->at, top)))
			continue;
		r = read_content(p, e->to, &seen);
		size_t before = s->out->v[step].n_files, maker = m ? program_ancestor(s, m->at) : AGAIN_NONE;
		bool lacks = false;
		if (r == 0 && seen.regular)
			r = want_file(p, s, &s->out->v[step], base(s->v[top].exe), &seen, (e->mode & ACCESS_PROGRAM) != 0, &lacks);
		if (r == 0 && lacks && m && (m->inherited || maker == AGAIN_NONE))
			r = set_reason(p, &s->out->whole, base(seen.path),
			               " was written through a descriptor that another had opened", "");
		else if (r == 0 && lacks && m && !is_of_a_step(s, maker))
			r = add_step(s, maker) ? 0 : again_oom(p);
		/* What a step makes is not put there. */
		if (r == 0 && maker != AGAIN_NONE && is_of_a_step(s, maker))
			s->out->v[step].n_files = before;
		content_release(&seen);
	}
	return r;
}

/* Adds the file to those that the step needs, looked for and, where it is not as it was, brought back. */
static int want_file(struct planning *p, struct side *s, struct again_step *t, const char *reader, struct content *x,
                     bool program, bool *ret_lacks)
{
	bool inner = is_path_below(x->path, s->out->cwd);
	struct file_info f;
	size_t at = 0;
	if (!inner && system_path(str_of(x->path), p->o->system_extra) != SYSTEM_NO)
		return 0;
	while (at < s->out->n_files && s->out->files[at].version != x->v.id)
		at++;
	if (at == s->out->n_files) {
		struct again_file *v = realloc(s->out->files, (at + 1) * sizeof(*v));
		if (!v)
			return again_oom(p);
		s->out->files = v;
		v[at] = (struct again_file){.version = x->v.id, .reader = strdup(reader)};
		s->out->n_files++;
		struct rerun_file *y = &v[at].f;
		*y = (struct rerun_file){.path = strdup(x->path),
		                         .name = strdup(inner ? x->path + strlen(s->out->cwd) + 1 : x->path),
		                         .want = strdup(x->digest),
		                         .below = inner,
		                         .program = program,
		                         .mode = program ? 0755 : 0644};
		if (!v[at].reader || !y->path || !y->name || !y->want || store_file(p->s, x->v.file, &f) != 1)
			return again_oom(p);
		rerun_look(y, p->o, &f, &x->v);
		if (inner && *y->want && (y->state == RERUN_DIFFERS || y->state == RERUN_GONE)) {
			char *to = NULL;
			if (asprintf(&to, "%s/%zu", p->dir, p->fetched++) < 0)
				return again_oom(p);
			int r = rerun_bring(y, p->home, to);
			if (r < 0 || (y->state != RERUN_KEPT && y->state != RERUN_GIT)) {
				free(to);
				if (r < 0)
					return err_set(p->err, -r, "cannot bring '%s' back", y->name);
			} else {
				v[at].fetched = to;
			}
		}
	}
	size_t *files = realloc(t->files, (t->n_files + 1) * sizeof(*files));
	if (!files)
		return again_oom(p);
	t->files = files;
	files[t->n_files++] = at;
	*ret_lacks = rerun_lacks(&s->out->files[at].f);
	return 0;
}

static int add_made(struct planning *p, struct side *s, struct again_step *t, const struct one *x)
{
	int r = 0;
	for (size_t i = 0; r == 0 && i < x->gens.n; i++) {
		struct content y;
		r = read_content(p, x->gens.v[i].to, &y);
		if (r == 0 && y.regular && x->gens.v[i].sure && x->gens.v[i].api != TERM_api_inherit) {
			if (!is_path_below(y.path, s->out->cwd) && y.named) /* what was there for a time only is no result */
				r = set_reason(p, &s->out->refused, y.path, " was written, outside the working directory", "");
			struct again_made *v = NULL;
			size_t at = 0;
			while (at < t->n_made && strcmp(t->made[at].path, y.path) != 0)
				at++;
			if (at == t->n_made) {
				v = realloc(t->made, (at + 1) * sizeof(*v));
				if (v) {
					t->made = v;
					v[t->n_made++] = (struct again_made){.path = strdup(y.path), .digest = strdup("")};
				}
			}
			if (at == t->n_made || !t->made[at].path)
				r = again_oom(p);
			/* The last version stands for the file. */
			if (r == 0 && (!t->made[at].has_size || y.v.mtime >= t->made[at].mtime)) {
				free(t->made[at].digest);
				t->made[at].digest = strdup(y.digest);
				t->made[at].has_size = y.v.has_size;
				t->made[at].size = y.v.size;
				t->made[at].mtime = y.v.mtime;
			}
		}
		content_release(&y);
	}
	return r;
}

static int by_start(const void *x, const void *y)
{
	const struct again_step *a = x, *b = y;
	return (a->start > b->start) - (a->start < b->start);
}

static void drop_steps(struct again_side *o)
{
	for (size_t i = 0; i < o->n; i++) {
		struct again_step *t = &o->v[i];
		for (size_t k = 0; k < t->n_made; k++) {
			free(t->made[k].path);
			free(t->made[k].digest);
		}
		free(t->made);
		free(t->files);
		free(t->program);
		free(t->shown);
		strv_free(t->argv);
		strv_free(t->env);
		free(t->cwd);
		free(t->standard_input);
	}
	free(o->v);
	o->v = NULL;
	o->n = 0;
	for (size_t i = 0; i < o->n_files; i++) {
		rerun_file_release(&o->files[i].f);
		free(o->files[i].fetched);
		free(o->files[i].reader);
	}
	free(o->files);
	o->files = NULL;
	o->n_files = 0;
}

/* Would a step find what a later one left, or the other way round? Then the order of single programs is not enough. */
static int look_order(struct planning *p, struct side *s)
{
	struct again_side *o = s->out;
	int r = 0;
	for (size_t i = 0; r == 0 && i < o->n; i++)
		for (size_t k = 0; r == 0 && k < s->n; k++) {
			struct one *x = &s->v[k];
			if (!has_ancestor(s, k, (size_t)(find_execution(s, o->v[i].exec) - s->v)))
				continue;
			for (size_t j = 0; r == 0 && j < x->uses.n; j++) {
				const struct maker *m = maker_of(s, x->uses.v[j].to);
				size_t top = m ? program_ancestor(s, m->at) : AGAIN_NONE, from = AGAIN_NONE;
				for (size_t q = 0; top != AGAIN_NONE && q < o->n; q++)
					if (has_ancestor(s, m->at, (size_t)(find_execution(s, o->v[q].exec) - s->v)))
						from = q;
				if (from == AGAIN_NONE || from == i)
					continue;
				struct content y;
				r = read_content(p, x->uses.v[j].to, &y);
				for (size_t q = from + 1; r == 0 && y.regular && q < i; q++)
					for (size_t z = 0; z < o->v[q].n_made; z++)
						if (!strcmp(o->v[q].made[z].path, y.path))
							r = set_reason(p, &o->whole, y.path, " was written by several programs", "");
				if (r == 0 && y.regular && from > i)
					r = set_reason(p, &o->whole, y.path, " was read while it was written", "");
				content_release(&y);
			}
		}
	return r;
}

static int plan_alone(struct planning *p, struct side *s)
{
	int r = 0;
	for (size_t i = 0; r == 0 && i < s->n; i++) {
		if (s->v[i].pair == AGAIN_NONE)
			continue;
		bool inner = false; /* one that another one started is run with it */
		for (size_t k = 0; k < s->n; k++)
			inner |= k != i && s->v[k].pair != AGAIN_NONE && has_ancestor(s, i, k);
		if (inner)
			continue;
		r = add_step(s, i) ? 0 : again_oom(p);
	}
	/* Steps are added behind while they are looked at. */
	for (size_t i = 0; r == 0 && !s->out->whole && i < s->out->n; i++) {
		size_t top = (size_t)(find_execution(s, s->out->v[i].exec) - s->v);
		for (size_t k = 0; r == 0 && !s->out->whole && k < s->n; k++) {
			if (!has_ancestor(s, k, top))
				continue;
			r = look_alone(p, s, k, top);
			if (r == 0 && !s->out->whole)
				r = look_inputs(p, s, k, top, i);
			if (r == 0)
				r = add_made(p, s, &s->out->v[i], &s->v[k]);
		}
	}
	if (r == 0 && s->out->n)
		qsort(s->out->v, s->out->n, sizeof(*s->out->v), by_start);
	return r == 0 && !s->out->whole ? look_order(p, s) : r;
}

static int plan_whole(struct planning *p, struct side *s)
{
	struct again_side *o = s->out;
	size_t top = 0;
	int r = 0;
	drop_steps(o);
	while (top < s->n && !s->v[top].n)
		top++;
	for (size_t i = 0; i < s->n; i++)
		if (s->v[i].n && s->v[i].start < s->v[top].start)
			top = i;
	if (top == s->n)
		return set_reason(p, &o->refused, "the record has no program of the run", "", "");
	struct again_step *t = add_step(s, top);
	if (!t)
		return again_oom(p);
	t->pair = AGAIN_NONE;
	for (size_t i = 0; r == 0 && i < s->n; i++) {
		for (size_t k = 0; r == 0 && k < s->v[i].uses.n; k++) {
			const struct edge *e = &s->v[i].uses.v[k];
			struct content seen;
			bool lacks;
			if (e->via == TERM_via_sync || maker_of(s, e->to))
				continue;
			r = read_content(p, e->to, &seen);
			if (r == 0 && seen.regular)
				r = want_file(p, s, t, base(*s->v[i].exe ? s->v[i].exe : s->v[top].exe), &seen,
				              (e->mode & ACCESS_PROGRAM) != 0, &lacks);
			/* The caller's file, which the first program had as it began. */
			if (r == 0 && seen.regular && i == top && e->api == TERM_api_inherit && e->mode & ACCESS_READ &&
			    !(e->mode & ACCESS_WRITE) && !t->standard_input)
				t->standard_input = strdup(seen.path);
			content_release(&seen);
		}
		if (r == 0)
			r = add_made(p, s, t, &s->v[i]);
	}
	return r;
}

static int add_reads(struct planning *p, struct side *s)
{
	struct again_side *o = s->out;
	size_t room = 0;
	for (size_t i = 0; i < s->n; i++)
		room += s->v[i].uses.n;
	o->reads = calloc(room + 1, sizeof(*o->reads));
	if (!o->reads)
		return again_oom(p);
	for (size_t i = 0; i < s->n; i++)
		for (size_t k = 0; k < s->v[i].uses.n; k++) {
			struct version_sort v;
			if (store_version_sort(p->s, s->v[i].uses.v[k].to, &v) == 1 &&
			    (v.kind == TERM_kind_regular || v.kind == TERM_kind_directory) && rerun_is_path(v.path, false) &&
			    !(o->reads[o->n_reads++] = copy_again_text(v.path)))
				return again_oom(p);
		}
	return 0;
}

static int finish_side(struct planning *p, struct side *s)
{
	struct again_side *o = s->out;
	int r = add_reads(p, s);
	if (s->redacted)
		r = set_reason(p, &o->refused, "an argument was a secret and is not in the record", "", "");
	if (r == 0 && strlen(o->cwd) < 2)
		r = set_reason(p, &o->refused, "its working directory is the root of all", "", "");
	for (size_t i = 0; i < o->n; i++)
		for (size_t k = 0; k < o->v[i].n_files; k++) {
			struct again_file *f = &o->files[o->v[i].files[k]];
			o->missing += rerun_lacks(&f->f);
		}
	return r;
}

int again_plan(struct store *s, const struct diff *d, const struct witness_options *o, const char *home,
               const char *dir, bool whole, struct err *err, struct again *ret)
{
	struct planning p = {.s = s, .o = o, .home = home, .dir = dir, .err = err, .a = ret};
	*ret = (struct again){0};
	int r = 0;
	for (int k = 0; r == 0 && k < 2; k++)
		r = load_side(&p, k, d->side[k].id);
	if (r == 0)
		r = find_pairs(&p, d);
	for (int k = 0; r == 0 && ret->pairs && !whole && k < 2; k++)
		r = plan_alone(&p, &p.side[k]);
	bool any = whole || ret->side[0].whole || ret->side[1].whole;
	for (int k = 0; r == 0 && ret->pairs && any && k < 2; k++) {
		/* Traces of single programs and of a whole command are not easily paired. */
		if (!ret->side[k].whole)
			r = set_reason(&p, &ret->side[k].whole, ret->side[!k].whole ? "as the other side" : "as was asked for", "",
			               "");
		if (r == 0)
			r = plan_whole(&p, &p.side[k]);
	}
	for (int k = 0; r == 0 && k < 2; k++)
		r = finish_side(&p, &p.side[k]);
	for (int k = 0; k < 2; k++) {
		for (size_t i = 0; i < p.side[k].n && p.side[k].v; i++) {
			struct one *x = &p.side[k].v[i];
			edges_release(&x->uses);
			edges_release(&x->gens);
			free(x->exe);
			free(x->script);
			free(x->cwd);
			strv_free(x->argv);
			strv_free(x->env);
		}
		free(p.side[k].v);
		vec_release(&p.side[k].makers);
	}
	return r < 0 ? err_set(err, -r, "cannot plan what to run again") : 0;
}

void again_release(struct again *a)
{
	for (int k = 0; k < 2; k++) {
		struct again_side *o = &a->side[k];
		drop_steps(o);
		free(o->ulid);
		free(o->cwd);
		free(o->whole);
		free(o->refused);
		for (size_t i = 0; i < o->n_reads; i++)
			free(o->reads[i]);
		free(o->reads);
	}
	strv_free(a->programs);
	free(a->first_untraced);
	*a = (struct again){0};
}
