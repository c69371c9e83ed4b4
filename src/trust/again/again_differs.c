/* again_differs.c - which executions of two runs differ: in what they were started with, what they read, and how they
 * ended. */
#include "trust/again/again_parts.h"

#include "base/hash.h"
#include "base/map.h"
#include "spec/objects.h"
#include "spec/spec.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

/* Points into path; path itself where it is not below cwd. */
static const char *relative_to_cwd(const char *path, const char *cwd)
{
	return again_is_below(path, cwd) ? path + strlen(cwd) : path;
}

/* One version, or by digests where both are known, else by size and modification time; false where neither is known. */
static bool same_content(const struct again_content *a, const struct again_content *b)
{
	if (a->v.id == b->v.id)
		return true;
	if (*a->digest && *b->digest)
		return !strcmp(a->digest, b->digest);
	return a->v.has_size && b->v.has_size && a->v.size == b->v.size && a->v.mtime == b->v.mtime &&
	       a->v.mtime != TIME_NONE;
}

/* Whether content was read, and not only handed on by fork or sync. */
static bool reads_data(const struct edge *e)
{
	return e->via != TERM_via_sync && e->via != TERM_via_fork && e->mode & ACCESS_READ;
}

/* What an execution read, to be found by its version, or by its name below the working directory. */
struct reads {
	struct map versions;         /* all that it used */
	VEC(struct again_content) v; /* regular files */
	struct table by_name;
	const char *cwd;
};

/* The hash of a path below a folder. The same for the same path below either side's folder. */
static uint32_t name_hash(const char *path, const char *cwd)
{
	return hash_fold(hash_str(str_of(relative_to_cwd(path, cwd))));
}

/* What the execution read, each version once, by its name. 0 or -errno; reads_release frees in both cases. */
static int reads_of(struct again_planning *p, const struct again_exec *x, const char *cwd, struct reads *ret)
{
	*ret = (struct reads){.cwd = cwd};
	for (size_t i = 0; i < x->uses.n; i++) {
		struct again_content s;
		bool again = map_get(&ret->versions, x->uses.v[i].to) == 1;
		if (!map_set(&ret->versions, x->uses.v[i].to, again || reads_data(&x->uses.v[i])))
			return again_oom(p);
		if (again || !reads_data(&x->uses.v[i]))
			continue;
		int r = again_read_content(p, x->uses.v[i].to, &s);
		struct again_content *kept = r == 0 && s.regular ? vec_add(&ret->v) : NULL;
		if (kept)
			*kept = s;
		else
			again_content_release(&s);
		if (r == 0 && s.regular && (!kept || !table_add(&ret->by_name, name_hash(s.path, cwd), (uint32_t)ret->v.n - 1)))
			r = again_oom(p);
		if (r < 0)
			return r;
	}
	return 0;
}

/* It may not be used afterwards. */
static void reads_release(struct reads *r)
{
	for (size_t i = 0; i < r->v.n; i++)
		again_content_release(&r->v.v[i]);
	vec_release(&r->v);
	map_release(&r->versions);
	table_release(&r->by_name);
}

/* Is there a file of that name and content among them? */
static bool has_read(const struct reads *r, const struct again_content *x, const char *cwd)
{
	uint32_t i;
	for (size_t pos = TABLE_START; (i = table_next(&r->by_name, name_hash(x->path, cwd), &pos)) != VEC_NONE;) {
		const struct again_content *y = &r->v.v[i];
		if (!strcmp(relative_to_cwd(x->path, cwd), relative_to_cwd(y->path, r->cwd)) && same_content(x, y))
			return true;
	}
	return false;
}

/* Did x read, of its side, what y did not read of its own, or another version of it? 1, 0, -errno. */
static int read_otherwise(struct again_planning *p, int k, const struct again_exec *x, const struct again_exec *y)
{
	const char *cwd = p->a->side[k].cwd;
	struct reads other;
	int r = reads_of(p, y, p->a->side[!k].cwd, &other);
	for (size_t i = 0; r == 0 && i < x->uses.n; i++) {
		struct again_content a;
		store_id version = x->uses.v[i].to;
		if (!reads_data(&x->uses.v[i]) || map_get(&other.versions, version) != VEC_NONE)
			continue;
		const struct again_maker *m = again_maker_of(&p->side[k], version);
		if (m && p->side[k].v[m->at].id == x->id)
			continue;
		r = again_read_content(p, version, &a);
		if (r == 0 && a.regular && !has_read(&other, &a, cwd))
			r = 1;
		again_content_release(&a);
	}
	reads_release(&other);
	return r;
}

/* Are both command lines the same? Both end with NULL; all words in the same order. */
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

/* Without what belongs to the place (PWD and its like). */
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

/* Do two executions that belong together differ? 1, 0 or -errno. 1: they do, in how they ended, arguments, variables
 * or what they read. */
static int pair_differs(struct again_planning *p, const struct again_exec *a, const struct again_exec *b)
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

/* By its last part, once. 0, -ENOMEM with a sentence. */
static int add_program(struct again_planning *p, const char *path)
{
	size_t n = 0;
	for (; p->a->programs && p->a->programs[n]; n++)
		if (!strcmp(p->a->programs[n], again_last_part(path)))
			return 0;
	char **v = realloc(p->a->programs, (n + 2) * sizeof(*v));
	if (!v)
		return again_oom(p);
	p->a->programs = v;
	v[n] = strdup(again_last_part(path));
	v[n + 1] = NULL;
	return v[n] ? 0 : again_oom(p);
}

/* Did another of the run, which differs, send it something? What went through a stream is not in the record. 1, 0,
 * -errno. */
static int was_fed_otherwise(struct again_planning *p, const struct again_loaded *s, const struct again_exec *x)
{
	for (size_t i = 0; i < x->uses.n; i++) {
		struct version_sort v;
		if (!reads_data(&x->uses.v[i]))
			continue;
		if (store_version_sort(p->s, x->uses.v[i].to, &v) != 1)
			return err_set(p->err, EIO, "cannot read the record");
		if (!again_is_stream(v.kind))
			continue;
		for (size_t k = 0; k < s->makers.n; k++)
			if (s->makers.v[k].version == x->uses.v[i].to && s->v[s->makers.v[k].at].id != x->id &&
			    s->v[s->makers.v[k].at].differs)
				return 1;
	}
	return 0;
}

/* Which executions differ: those that have no partner, those that ran with something else, and whom these fed. */
/* The executions of a pair; false: one of them is not of its run. */
static bool find_pair(struct again_planning *p, const struct diff *d, size_t i, struct again_exec **ret_a,
                      struct again_exec **ret_b)
{
	*ret_a = again_find_exec(&p->side[0], d->pairs[i].exec[0]);
	*ret_b = again_find_exec(&p->side[1], d->pairs[i].exec[1]);
	return *ret_a && *ret_b;
}

/* Marks the pairs that were fed by what differs, once through. *ret: were there any? 0, -errno. */
static int mark_fed(struct again_planning *p, const struct diff *d, bool *ret)
{
	int r = 0;
	*ret = false;
	for (size_t i = 0; r >= 0 && i < d->paired; i++) {
		struct again_exec *a, *b;
		if (!find_pair(p, d, i, &a, &b) || a->differs)
			continue;
		r = was_fed_otherwise(p, &p->side[0], a);
		if (r == 0)
			r = was_fed_otherwise(p, &p->side[1], b);
		if (r > 0)
			a->differs = b->differs = *ret = true;
	}
	return r < 0 ? r : 0;
}

/* Marks executions that differ between the runs, or are in one only. 0 or -errno. */
static int find_differing(struct again_planning *p, const struct diff *d)
{
	int r = 0;
	for (int k = 0; k < 2; k++)
		for (size_t i = 0; i < p->side[k].n; i++)
			p->side[k].v[i].differs = p->side[k].v[i].n != 0;
	for (size_t i = 0; r >= 0 && i < d->paired; i++) {
		struct again_exec *a, *b;
		if (!find_pair(p, d, i, &a, &b))
			continue;
		r = pair_differs(p, a, b);
		a->differs = b->differs = r > 0;
	}
	for (bool more = true; r >= 0 && more;)
		r = mark_fed(p, d, &more);
	return r < 0 ? r : 0;
}

/* How many programs ran on one side only. */
static void count_unpaired(struct again_planning *p, const struct diff *d)
{
	for (int k = 0; k < 2; k++) {
		for (size_t i = 0; i < p->side[k].n; i++)
			p->a->unpaired += p->side[k].v[i].n != 0;
		for (size_t i = 0; i < d->paired; i++) {
			struct again_exec *x = again_find_exec(&p->side[k], d->pairs[i].exec[k]);
			p->a->unpaired -= x && x->n;
		}
	}
}

/* A pair that differs and leaves no traces. */
static void count_untraced(struct again *r, const struct again_exec *a, const struct again_exec *b)
{
	r->untraced++;
	if (r->first_untraced)
		return;
	const struct again_exec *gone = access(a->exe, F_OK) < 0 ? a : access(b->exe, F_OK) < 0 ? b : NULL;
	r->untraced_gone = gone != NULL;
	r->first_untraced = strdup(gone ? gone->exe : *a->script ? a->script : a->exe);
}

int again_find_pairs(struct again_planning *p, const struct diff *d)
{
	int r = find_differing(p, d);
	count_unpaired(p, d);
	for (size_t i = 0; r == 0 && i < d->paired; i++) {
		struct again_exec *a, *b;
		if (!find_pair(p, d, i, &a, &b) || !a->n || !b->n || !*a->exe || !*b->exe || !a->differs)
			continue;
		if (can_trace(a->exe) && can_trace(b->exe)) {
			a->pair = b->pair = p->a->pairs++;
			r = add_program(p, a->exe);
			if (r == 0)
				r = add_program(p, b->exe);
		} else {
			count_untraced(p->a, a, b);
		}
	}
	return r;
}
