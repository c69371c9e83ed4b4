#include "keep/builds.h"

#include "base/vec.h"
#include "query/idset.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- all of them ---- */

/* Copies what names a build and when it ended. arg: a struct keep_build, which gets the build's id, session and end.
 * Always 0. */
static int copy_build_end(void *arg, const struct store_build *b)
{
	struct keep_build *k = arg;
	*k = (struct keep_build){.id = b->id, .session = b->session, .end = b->time};
	return 0;
}

/* Copies which execution made a build. arg: a struct pubid, which gets the build's execution. Always 0. */
static int copy_build_exec(void *arg, const struct store_build *b)
{
	*(struct pubid *)arg = b->exec;
	return 0;
}

/* Sets k->run; it stays 0 where its execution is not in the record. -errno. */
static int find_run(struct store *s, struct keep_build *k)
{
	struct pubid exec = {0};
	struct exec_info x;
	store_id id;
	char kind = 0;
	int r = store_build(s, k->id, copy_build_exec, &exec);
	if (r >= 0 && exec.text[0]) {
		r = store_by_pubid(s, exec.text, &kind, &id);
		if (r > 0 && kind == 'x' && (r = store_exec(s, id, &x)) > 0)
			k->run = x.run;
	}
	return r == -ENOTUNIQ ? 0 : r < 0 ? r : 0;
}

/* Order of qsort: the oldest first. */
static int compare_builds_by_end(const void *pa, const void *pb)
{
	const struct keep_build *a = pa, *b = pb;
	if (a->end != b->end)
		return a->end < b->end ? -1 : 1;
	return (a->id > b->id) - (a->id < b->id);
}

int keep_builds(struct store *s, struct err *err, struct keep_build **ret, size_t *ret_n)
{
	store_id *ids = NULL;
	size_t n = 0;
	int r = store_builds(s, &ids, &n);
	struct keep_build *v = r >= 0 ? calloc(n + 1, sizeof(*v)) : NULL;
	if (r >= 0 && !v)
		r = -ENOMEM;
	for (size_t i = 0; r >= 0 && i < n; i++) {
		r = store_build(s, ids[i], copy_build_end, &v[i]);
		if (r >= 0)
			r = find_run(s, &v[i]);
	}
	free(ids);
	if (r < 0) {
		free(v);
		return err_set(err, -r, "cannot read the builds");
	}
	qsort(v, n, sizeof(*v), compare_builds_by_end);
	*ret = v;
	*ret_n = n;
	return 0;
}

/* ---- who needs them ---- */

struct needed {
	struct store *s;
	struct idset builds;
	store_id *todo; /* of builds: their inputs are to be looked at */
	size_t n, room;
	int rc;
};

/* Adds a build to those of which it is to be found out what they need. 0, -ENOMEM. */
static int append_needed_build(struct needed *w, store_id build)
{
	if (!vec_has_room(w->todo, w->n, w->room))
		return -ENOMEM;
	w->todo[w->n++] = build;
	return 0;
}

/* Adds the builds and all that they need. 0, -errno. */
static int need_all(struct needed *w, const store_id *ids, size_t n)
{
	int r = 0;
	for (size_t i = 0; r == 0 && i < n; i++)
		r = append_needed_build(w, ids[i]);
	return r;
}

/* Is one of its outputs as it left it? By size and time: what has been written since is another one's. */
static int is_output_there(void *arg, const struct store_build *b)
{
	bool *there = arg;
	for (size_t i = 0; i < b->nfiles && !*there; i++) {
		const struct store_build_file *f = &b->files[i];
		struct stat st;
		char *path = f->role == TERM_role_output ? strndup(f->path.p, f->path.n) : NULL;
		*there = path && stat(path, &st) == 0 && (uint64_t)st.st_size == f->size &&
		         (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec == f->mtime;
		free(path);
	}
	return 0;
}

/* Adds to the builds that are needed. Who made what this one was made from: objects, archives, libraries, and all
 * else that was compiled. A store_build callback; adds to w, its errors in w->rc. */
static int need_inputs(void *arg, const struct store_build *b)
{
	struct needed *w = arg;
	for (size_t i = 0; w->rc == 0 && i < b->nfiles; i++) {
		const struct store_build_file *f = &b->files[i];
		store_id *ids = NULL;
		size_t n = 0;
		if (f->role == TERM_role_output || f->role == TERM_role_tool || f->role == TERM_role_source ||
		    f->role == TERM_role_header || !f->digest.n)
			continue;
		w->rc = store_builds_of(w->s, f->digest, str_of(""), str_of(""), &ids, &n);
		if (w->rc == 0)
			w->rc = need_all(w, ids, n);
		free(ids);
	}
	return w->rc;
}

/* The versions that a run used; each is looked up once, when the set of all is closed. -errno, or 0; the set is not
 * closed. */
static int used_by(struct store *s, store_id run, struct idset *versions)
{
	store_id *execs = NULL;
	size_t n = 0;
	struct edges e = {0};
	int r = store_run_execs(s, run, &execs, &n);
	for (size_t i = 0; r >= 0 && i < n; i++) {
		r = store_uses(s, execs[i], &e);
		for (size_t k = 0; r >= 0 && k < e.n; k++)
			r = idset_add(versions, e.v[k].to);
	}
	free(execs);
	edges_release(&e);
	return r < 0 ? r : 0;
}

/* Builds that made files which runs not in gone used. -errno, or 0. */
static int need_of_runs(struct needed *w, const struct idset *gone)
{
	store_id *runs = NULL;
	size_t n = 0;
	struct idset used = {0};
	int r = store_runs(w->s, UINT64_MAX, &runs, &n);
	for (size_t i = 0; r >= 0 && i < n; i++)
		if (!idset_has(gone, runs[i]))
			r = used_by(w->s, runs[i], &used);
	idset_close(&used);
	for (size_t i = 0; r >= 0 && i < used.n; i++) {
		struct version_info v;
		store_id *ids = NULL;
		size_t k = 0;
		r = store_version(w->s, used.v[i], &v);
		if (r <= 0 || !v.has_size || v.mtime == TIME_NONE)
			continue;
		r = store_builds_stamped(w->s, v.size, v.mtime, &ids, &k);
		if (r >= 0)
			r = need_all(w, ids, k);
		free(ids);
	}
	free(runs);
	idset_release(&used);
	return r < 0 ? r : 0;
}

static int compare_build_ids(const void *pa, const void *pb)
{
	store_id a = *(const store_id *)pa, b = *(const store_id *)pb;
	return (a > b) - (a < b);
}

/* Chooses builds that are to be looked at. Those of todo[from..to) that were not met before, each once, into *ret;
 * they are met then. 0, -ENOMEM. */
static int meet_builds(struct needed *w, size_t from, size_t to, struct idset *ret)
{
	int r = 0;
	qsort(w->todo + from, to - from, sizeof(*w->todo), compare_build_ids);
	for (size_t i = from; r >= 0 && i < to; i++)
		if (!idset_has(&w->builds, w->todo[i]) && (i == from || w->todo[i] != w->todo[i - 1]))
			r = idset_add(ret, w->todo[i]);
	idset_close(ret);
	return r < 0 ? r : idset_unite(&w->builds, ret);
}

/* Round by round: what those that the last round met for the first time were made from. -errno, or 0. */
static int need_all_inputs(struct needed *w)
{
	int r = 0;
	for (size_t from = 0; r >= 0 && from < w->n;) {
		size_t to = w->n;
		struct idset fresh = {0};
		r = meet_builds(w, from, to, &fresh);
		for (size_t i = 0; r >= 0 && i < fresh.n; i++)
			r = store_build(w->s, fresh.v[i], need_inputs, w);
		idset_release(&fresh);
		from = to;
	}
	return r;
}

int keep_builds_needed(struct store *s, struct keep_build *v, size_t n, const struct idset *gone, bool force,
                       struct err *err)
{
	struct needed w = {.s = s};
	int r = n ? need_of_runs(&w, gone) : 0;
	for (size_t i = 0; r >= 0 && !force && i < n; i++) {
		bool there = false;
		r = store_build(s, v[i].id, is_output_there, &there);
		if (r >= 0 && there)
			r = append_needed_build(&w, v[i].id);
	}
	if (r >= 0)
		r = need_all_inputs(&w);
	for (size_t i = 0; r >= 0 && i < n; i++)
		v[i].needed = idset_has(&w.builds, v[i].id);
	free(w.todo);
	idset_release(&w.builds);
	return r < 0 ? err_set(err, -r, "cannot find out which builds are needed") : 0;
}
