/* lineage_copiers.c - programs of which it is known that what they wrote came from some of what they read, and from
 * which: who copies files one after the other, and git where it takes files from its store (doc/graph.md, "Copied
 * files"; the tables are copiers.def and checkouts.def). */
#include "query/lineage/lineage_int.h"

#include "base/hash.h"
#include "base/os/system.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char git_folder[] = "/.git/",
                  git_index[] = "/.git/index"; /* what the work folder has, not what is in it */

/* ---- which programs ---- */

/* By the name that it was called by. */
static enum lineage_copier kind_of_name(struct str name)
{
	static const char *const copiers[] = {
#define COPIER(name) name,
#include "query/copiers.def"
#undef COPIER
	};
	struct str base = str_base_name(name);
	for (size_t i = 0; i < sizeof(copiers) / sizeof(copiers[0]); i++)
		if (str_is(base, copiers[i]))
			return LINEAGE_COPIER_file;
	if (str_is(base, "git"))
		return LINEAGE_COPIER_checkout;
	return LINEAGE_COPIER_none;
}

/* Does the option, or a letter of it, ask for anything but what the store has: a merge, parts that are chosen? */
static bool merges(struct str arg)
{
	if (arg.n < 2 || *arg.p != '-')
		return false;
	if (arg.p[1] == '-')
		return arg.n > 2 && memchr("cmp", arg.p[2], 3); /* --conflict, --merge, --patch */
	return memchr(arg.p, 'm', arg.n) || memchr(arg.p, 'p', arg.n);
}

/* Is it one of git's commands that write files of a work folder? */
static bool is_checkout(struct str arg)
{
	static const char *const words[] = {
#define CHECKOUT(word) word,
#include "query/checkouts.def"
#undef CHECKOUT
	};
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (str_is(arg, words[i]))
			return true;
	return false;
}

/* "git checkout x", with git's own options before. */
static bool checks_out(const struct strlist *argv)
{
	struct str arg;
	bool value = false, found = false;
	size_t pos = 0;
	if (!strlist_next(argv, &pos, &arg)) /* the program */
		return false;
	while (strlist_next(argv, &pos, &arg)) {
		if (found && merges(arg))
			return false;
		if (found || value) {
			value = false;
			continue;
		}
		if (str_is(arg, "-C") || str_is(arg, "-c"))
			value = true;
		else if (arg.n && *arg.p == '-')
			continue;
		else if (!(found = is_checkout(arg)))
			return false;
	}
	return found;
}

/* Is the order of what the run's programs opened recorded? In the record of a node it is not: what happened within an
 * interval has one time there. 1, 0, -errno. */
static int has_order(struct store *s, store_id run)
{
	struct run_info info;
	int r = run ? store_run_told(s, run, &info) : 0;
	return r > 0 ? info.mode.n >= 8 && !memcmp(info.mode.p, "complete", 8) : r;
}

/* Is the execution's program one of the machine's, and not of the same name? And does its command line say what kind
 * says? 1, 0, -errno. */
static int is_real(struct lineage_walk *w, store_id exec, enum lineage_copier kind)
{
	struct exec_brief x;
	struct file_info f;
	int r = store_exec_brief(w->s, exec, &x);
	if (r <= 0 || !x.n || !x.exe || x.script || (kind == LINEAGE_COPIER_checkout && !checks_out(&x.argv)))
		return r < 0 ? r : 0;
	r = kind == LINEAGE_COPIER_file ? has_order(w->s, x.run) : 1;
	if (r > 0)
		r = store_file(w->s, x.exe, &f);
	return r > 0 ? system_path(f.path, NULL) == SYSTEM_YES && kind_of_name(f.path) == kind : r;
}

int lineage_copier_kind(struct lineage_walk *w, uint32_t i, enum lineage_copier *ret)
{
	struct lineage_state *st = &w->states[i];
	struct exec_sort x;
	struct str name;
	bool is_new = true;
	*ret = (enum lineage_copier)st->copier;
	if (st->copier != LINEAGE_COPIER_unknown)
		return 0;
	st->copier = LINEAGE_COPIER_none;
	*ret = LINEAGE_COPIER_none;
	int r = store_exec_sort(w->s, w->nodes[i].id, &x);
	if (r <= 0 || !x.n)
		return r < 0 ? r : 0;
	uint32_t *known = x.command ? idmap_add(&w->copiers.by_command, x.command, LINEAGE_COPIER_none, &is_new) : NULL;
	if (x.command && !known)
		return -ENOMEM;
	enum lineage_copier kind = known ? (enum lineage_copier) * known : LINEAGE_COPIER_none;
	if (is_new) {
		r = store_command(w->s, &x, &name);
		if (r < 0)
			return r;
		kind = kind_of_name(name);
		if (known)
			*known = kind;
	}
	r = kind == LINEAGE_COPIER_none ? 0 : is_real(w, w->nodes[i].id, kind);
	if (r > 0)
		w->states[i].copier = (uint8_t)(*ret = kind);
	return r < 0 ? r : 0;
}

/* ---- files that were copied one after the other ---- */

static int compare_by_start(const void *pa, const void *pb)
{
	const struct edge *a = pa, *b = pb;
	if (a->lo != b->lo)
		return a->lo < b->lo ? -1 : 1;
	return (a->to > b->to) - (a->to < b->to);
}

/* Of the edges those to regular files but programs, by their start. 0, -ENOMEM, -errno. */
static int keep_files(struct lineage_walk *w, struct edges *e)
{
	size_t kept = 0;
	for (size_t k = 0; k < e->n; k++) {
		struct version_judged v;
		int r = store_version_judged(w->s, e->v[k].to, w->o->system_extra, &v);
		if (r < 0)
			return r;
		if (r > 0 && v.kind == TERM_kind_regular && !(e->v[k].mode & ACCESS_PROGRAM))
			e->v[kept++] = e->v[k];
	}
	e->n = kept;
	if (kept > 1)
		qsort(e->v, kept, sizeof(*e->v), compare_by_start);
	return 0;
}

/* The places of the edges by version, from 1. 0, -ENOMEM. */
static int index_edges(const struct edges *e, struct idmap *ret)
{
	bool is_new;
	idmap_release(ret);
	for (size_t k = 0; k < e->n; k++)
		if (!idmap_add(ret, e->v[k].to, (uint32_t)k + 1, &is_new))
			return -ENOMEM;
	return 0;
}

/* Of the uses those that stand for several opens: of all but the first of these it is not known when they were. 0,
 * -ENOMEM. */
static int find_again(struct lineage_copied *c)
{
	c->again.n = 0;
	for (size_t k = 0; k < c->used.n; k++) {
		uint32_t *one = c->used.v[k].count > 1 ? vec_add(&c->again) : NULL;
		if (c->used.v[k].count > 1 && !one)
			return -ENOMEM;
		if (one)
			*one = (uint32_t)k;
	}
	return 0;
}

/* What the execution read and made of regular files; those asked for last are kept. 0 or -errno. */
static int load_data(struct lineage_walk *w, store_id exec, struct lineage_copied **ret)
{
	struct lineage_copiers *all = &w->copiers;
	for (size_t i = 0; i < LINEAGE_COPIED; i++)
		if (all->of[i].exec == exec) {
			*ret = &all->of[i];
			return 0;
		}
	struct lineage_copied *c = *ret = &all->of[all->next++ % LINEAGE_COPIED];
	c->exec = 0;
	int r = store_uses(w->s, exec, &c->used);
	if (r == 0)
		r = keep_files(w, &c->used);
	if (r == 0)
		r = store_outputs(w->s, exec, &c->made);
	if (r == 0)
		r = keep_files(w, &c->made);
	if (r == 0)
		r = index_edges(&c->used, &c->used_at);
	if (r == 0)
		r = index_edges(&c->made, &c->made_at);
	if (r == 0)
		r = find_again(c);
	c->exec = r == 0 ? exec : 0;
	return r;
}

/* How many of the edges, by their start, begin at t or before. */
static size_t begun(const struct edges *e, int64_t t)
{
	size_t lo = 0, hi = e->n;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (e->v[mid].lo <= t)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* What the execution opened for the k-th file that it made, in ret: the last that it opened before, and after it made
 * the one before that. Where it opened none for the first time, one of those that it opened several times. None: that
 * is not known, or it made but one file, so that there is nothing to be told apart. 0, -ENOMEM. */
static int sources_of(const struct lineage_copied *c, size_t k, struct edges *ret)
{
	const size_t before = begun(&c->used, c->made.v[k].lo);
	const int64_t since = k ? c->made.v[k - 1].lo : INT64_MIN;
	const bool first = before && c->used.v[before - 1].lo > since;
	int r = 0;
	ret->n = 0;
	if (c->made.n == 1)
		return 0;
	if (first)
		r = edges_add(ret, &c->used.v[before - 1]);
	for (size_t m = 0; r == 0 && !first && m < c->again.n; m++)
		if (c->again.v[m] < before)
			r = edges_add(ret, &c->used.v[c->again.v[m]]);
	for (size_t m = 0; m < ret->n; m++)
		ret->v[m].sure = ret->v[m].sure && ret->n == 1;
	return r;
}

int lineage_copier_sources(struct lineage_walk *w, store_id version, store_id exec, struct edges **ret)
{
	struct lineage_copied *c;
	*ret = &w->copiers.sources;
	(*ret)->n = 0;
	int r = load_data(w, exec, &c);
	const uint32_t *at = r == 0 ? idmap_find(&c->made_at, version) : NULL;
	return at ? sources_of(c, *at - 1, *ret) : r;
}

int lineage_copier_copies(struct lineage_walk *w, store_id version, store_id exec, struct edges *ret)
{
	struct edges *sources = &w->copiers.sources;
	struct lineage_copied *c;
	ret->n = 0;
	int r = load_data(w, exec, &c);
	const uint32_t *at = r == 0 ? idmap_find(&c->used_at, version) : NULL;
	if (!at)
		return r;
	const struct edge *use = &c->used.v[*at - 1];
	const int64_t next = use->count == 1 && *at < c->used.n ? c->used.v[*at].lo : TIME_NEVER; /* opened after it */
	for (size_t k = begun(&c->made, use->lo - 1); r == 0 && k < c->made.n && c->made.v[k].lo < next; k++) {
		struct edge made = c->made.v[k];
		bool is_source = false;
		r = sources_of(c, k, sources);
		for (size_t m = 0; r == 0 && m < sources->n; m++)
			is_source |= sources->v[m].to == version;
		made.sure = made.sure && sources->n == 1 && sources->v[0].sure;
		if (r == 0 && is_source)
			r = edges_add(ret, &made);
	}
	return r;
}

/* ---- files that were taken from a store ---- */

int lineage_is_checked_out(struct lineage_walk *w, store_id version)
{
	struct version_judged v;
	struct version_sort sort;
	int r = store_version_judged(w->s, version, w->o->system_extra, &v);
	if (r <= 0 || v.kind != TERM_kind_regular || v.class != VERSION_DATA)
		return r < 0 ? r : 0;
	r = store_version_sort(w->s, version, &sort);
	return r > 0 ? !memmem(sort.path.p, sort.path.n, git_folder, sizeof(git_folder) - 1) ||
	                   str_ends(sort.path, str_of(git_index))
	             : r;
}

void lineage_copiers_release(struct lineage_copiers *c)
{
	idmap_release(&c->by_command);
	edges_release(&c->sources);
	edges_release(&c->copies);
	for (size_t i = 0; i < LINEAGE_COPIED; i++) {
		edges_release(&c->of[i].used);
		edges_release(&c->of[i].made);
		vec_release(&c->of[i].again);
		idmap_release(&c->of[i].used_at);
		idmap_release(&c->of[i].made_at);
	}
}
