#include "keep/gc.h"

#include "base/fileid.h"
#include "keep/builds.h"
#include "keep/logs.h"
#include "query/idset.h"
#include "query/lineage/lineage.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

/* ---- what is still there ---- */

typedef VEC(int64_t) time_list;

/* The version, if it is its file's latest, and the file, if it is an ordinary one with a name. 1, 0, -errno. */
static int load_latest(struct store *s, store_id version, struct version_info *ret, struct file_info *ret_file)
{
	store_id latest = 0;
	int r = store_version(s, version, ret);
	if (r > 0)
		r = store_version_of(s, ret->file, 0, &latest);
	if (r <= 0 || latest != version)
		return r < 0 ? r : 0;
	r = store_file(s, ret->file, ret_file);
	return r <= 0 ? r : ret_file->kind == TERM_kind_regular && ret_file->path.n;
}

/* Is the file on disk as the version left it? 1, 0, -ENOMEM. */
static int is_on_disk(const struct version_info *v, const struct file_info *f)
{
	struct fileid now;
	char *path = strndup(f->path.p, f->path.n);
	if (!path)
		return -ENOMEM;
	bool there = fileid_get(AT_FDCWD, path, false, &now) == 0;
	free(path);
	if (!there || !S_ISREG(now.st.stx_mode) || now.ino != f->ino || now.gen != f->gen ||
	    !str_is(f->domain, now.domain->name))
		return 0;
	return (!v->has_size || v->size == now.st.stx_size) &&
	       (v->mtime == TIME_NONE || v->mtime == fileid_time(&now.st.stx_mtime));
}

/* Is the version its file's latest, and the file on disk as it left it? 1, 0, -errno. If so, when it got its name goes
 * into named: without the run that gave it the file would be looked for under another one, and not be there. */
static int is_latest_there(struct store *s, store_id version, time_list *named)
{
	struct version_info v;
	struct file_info f;
	int64_t since;
	int r = load_latest(s, version, &v, &f);
	if (r > 0)
		r = is_on_disk(&v, &f);
	if (r <= 0)
		return r;
	int got = store_named_since(s, f.id, f.path, &since);
	int64_t *slot = got > 0 ? vec_add(named) : NULL;
	if (slot)
		*slot = since;
	return got < 0 ? got : got > 0 && !slot ? -ENOMEM : 1;
}

/* The versions a run made that are still there, added to roots. named: when they got their names. -errno, or 0. The set
 * is not closed. */
static int find_roots(struct store *s, store_id run, struct idset *roots, time_list *named)
{
	store_id *execs = NULL;
	size_t n = 0;
	struct edges e = {0};
	int r = store_run_execs(s, run, &execs, &n);
	for (size_t i = 0; r >= 0 && i < n; i++) {
		r = store_outputs(s, execs[i], &e);
		for (size_t k = 0; r >= 0 && k < e.n; k++) {
			r = is_latest_there(s, e.v[k].to, named);
			if (r > 0)
				r = idset_add(roots, e.v[k].to);
		}
	}
	free(execs);
	edges_release(&e);
	return r < 0 ? r : 0;
}

/* Order of qsort: the earliest first. */
static int compare_times(const void *pa, const void *pb)
{
	int64_t a = *(const int64_t *)pa, b = *(const int64_t *)pb;
	return (a > b) - (a < b);
}

/* The runs that went on while one of those files got its name. Sorts named. -errno, or 0. */
static int find_namers(struct store *s, const store_id *runs, size_t n, time_list *named, struct idset *needed)
{
	int r = 0;
	if (named->n)
		qsort(named->v, named->n, sizeof(*named->v), compare_times);
	for (size_t i = 0; r >= 0 && named->n && i < n; i++) {
		struct run_info run;
		r = store_run_told(s, runs[i], &run);
		if (r <= 0)
			continue;
		size_t lo = 0, hi = named->n;
		while (lo < hi) {
			size_t mid = lo + (hi - lo) / 2;
			if (named->v[mid] < run.start)
				lo = mid + 1;
			else
				hi = mid;
		}
		if (lo < named->n && (run.end == TIME_NONE || named->v[lo] <= run.end))
			r = idset_add(needed, runs[i]);
	}
	return r < 0 ? r : 0;
}

/* The runs that those versions came from. Closes needed. -errno, reported where the walk failed. */
static int find_needed_runs(struct store *s, const struct idset *roots, int64_t skew, struct err *err,
                            struct idset *needed)
{
	struct lineage l;
	/* What one object of a file came from may have made the file what it is, in which others lie. */
	struct lineage_options o = {.direction = LINEAGE_UP, .wholes = true, .nodes = true, .skew = skew};
	int r = roots->n ? lineage_walk(s, roots->v, roots->n, &o, err, &l) : 0;
	if (!roots->n || r < 0)
		return r;
	for (size_t i = 0; r >= 0 && i < l.n_nodes; i++) {
		struct exec_info x;
		if (!l.nodes[i].exec)
			continue;
		r = store_exec(s, l.nodes[i].id, &x);
		if (r > 0 && x.run)
			r = idset_add(needed, x.run);
	}
	lineage_release(&l);
	idset_close(needed);
	return r < 0 ? r : 0;
}

/* ---- sizes ---- */

struct sizes {
	struct store *s;
	store_id run;    /* of the session at hand */
	struct map rows; /* run -> index in v */
	VEC(uint64_t) v;
};

/* A keep_logs_events callback: 1 after the first event. z->run: 0 where it is not in the index. */
static int find_session_run(void *arg, const struct event *ev)
{
	struct sizes *z = arg;
	char ulid[32];
	if (ev->kind == EVENT_session && ev->session.run.n && ev->session.run.n < sizeof(ulid)) {
		memcpy(ulid, ev->session.run.p, ev->session.run.n);
		ulid[ev->session.run.n] = '\0';
		if (store_find_run(z->s, ulid, &z->run) != 1)
			z->run = 0;
	}
	return 1; /* the first event says it */
}

/* Sums the bytes of the sessions of each run, in z. -errno, reported. */
static int measure_runs(struct sizes *z, struct keep_logs *l, struct err *err)
{
	for (size_t i = 0; i < l->sessions.n; i++) {
		z->run = 0;
		int r = keep_logs_events(l, &l->sessions.v[i], err, find_session_run, z);
		if (r < 0)
			return r;
		uint32_t at = z->run ? map_get(&z->rows, z->run) : 0;
		if (z->run && at == VEC_NONE) {
			at = (uint32_t)z->v.n;
			uint64_t *slot = vec_add(&z->v);
			if (!slot || !map_set(&z->rows, z->run, at))
				return err_set(err, ENOMEM, "cannot measure the runs");
			*slot = 0;
		}
		if (z->run)
			z->v.v[at] += l->sessions.v[i].bytes;
	}
	return 0;
}

/* How many bytes of the logs a run takes. 0: not known. */
static uint64_t run_size(const struct sizes *z, store_id run)
{
	uint32_t at = map_get(&z->rows, run);
	return at == VEC_NONE ? 0 : z->v.v[at];
}

/* ---- choosing ---- */

/* Order of qsort: the oldest first. */
static int compare_runs_by_end(const void *pa, const void *pb)
{
	const struct gc_run *a = pa, *b = pb;
	if (a->end != b->end)
		return a->end < b->end ? -1 : 1;
	return (a->id > b->id) - (a->id < b->id);
}

/* What the choice of builds rests on. */
struct build_choice {
	const struct gc_options *o;
	struct keep_build *v;
	size_t n;
	struct idset gone; /* runs that go */
	struct map bytes;  /* session -> its bytes, if they are in 32 bits */
};

/* Is a build to be forgotten with its run? It was made in a run that is forgotten. */
static bool goes_with_run(const struct build_choice *b, const struct keep_build *k)
{
	return k->run && idset_has(&b->gone, k->run);
}

/* Is a build too old? It ended before the time asked for; TIME_NONE: none is too old. */
static bool is_old_build(const struct build_choice *b, const struct keep_build *k)
{
	return b->o->before != TIME_NONE && k->end < b->o->before;
}

/* May builds be forgotten at all? May any go: is one old or of a run that goes, or is there too much without those
 * runs? */
static bool may_choose_builds(const struct build_choice *b, uint64_t left)
{
	if (left > b->o->max_bytes)
		return true;
	for (size_t i = 0; i < b->n; i++)
		if (is_old_build(b, &b->v[i]) || goes_with_run(b, &b->v[i]))
			return true;
	return false;
}

/* Which builds are needed, and how large their sessions are. 0, -errno. */
static int measure_builds(struct store *s, struct keep_logs *l, struct build_choice *b, struct err *err)
{
	int r = b->n ? keep_builds_needed(s, b->v, b->n, &b->gone, b->o->force, err) : 0;
	for (size_t i = 0; r >= 0 && i < l->sessions.n; i++)
		if (l->sessions.v[i].bytes < UINT32_MAX &&
		    !map_set(&b->bytes, l->sessions.v[i].number, (uint32_t)l->sessions.v[i].bytes))
			r = -ENOMEM;
	return r;
}

/* Puts the builds that go into c, with the run that each goes with. */
static void take_builds(const struct build_choice *b, uint64_t left, struct gc_choice *c)
{
	for (size_t i = 0; i < b->n; i++) {
		const struct keep_build *k = &b->v[i];
		bool with = goes_with_run(b, k);
		if (k->needed || (!with && !is_old_build(b, k) && left <= b->o->max_bytes))
			continue;
		size_t run = 0;
		while (run < c->n && (!with || c->runs[run].id != k->run))
			run++;
		uint32_t size = map_get(&b->bytes, k->session);
		left -= size != VEC_NONE && size < left ? size : 0;
		c->builds[c->n_builds++] = (struct keep_whole){k->session, run};
	}
}

/* Builds that may go: those of runs that go, and what is old, or too much even without these; never what is needed.
 * c->builds is the caller's to free, on errors, too. left: bytes without the runs that go. -errno, or 0. */
static int choose_builds(struct store *s, struct keep_logs *l, const struct gc_options *o, struct err *err,
                         uint64_t left, struct gc_choice *c)
{
	struct build_choice b = {.o = o};
	int r = keep_builds(s, err, &b.v, &b.n);
	for (size_t i = 0; r >= 0 && i < c->n; i++)
		r = idset_add(&b.gone, c->runs[i].id);
	idset_close(&b.gone);
	bool any = r >= 0 && may_choose_builds(&b, left);
	if (any)
		r = measure_builds(s, l, &b, err);
	c->builds = r >= 0 ? calloc(b.n + 1, sizeof(*c->builds)) : NULL;
	if (r >= 0 && !c->builds)
		r = -ENOMEM;
	if (r >= 0 && any)
		take_builds(&b, left, c);
	map_release(&b.bytes);
	idset_release(&b.gone);
	free(b.v);
	return r < 0 ? r : 0;
}

/* The runs that are not to go: what is still there came from them, or was named in them. The set is closed. With
 * o->force none. -errno. */
static int find_needed(struct store *s, const store_id *runs, size_t n, const struct gc_options *o, struct err *err,
                       struct idset *needed)
{
	struct idset roots = {0};
	time_list named = {0};
	int r = 0;
	for (size_t i = 0; r >= 0 && !o->force && i < n; i++)
		r = find_roots(s, runs[i], &roots, &named);
	idset_close(&roots);
	if (r >= 0)
		r = find_namers(s, runs, n, &named, needed);
	if (r >= 0)
		r = find_needed_runs(s, &roots, o->skew, err, needed);
	idset_release(&roots);
	vec_release(&named);
	return r;
}

/* Lists runs. All runs, by their ends, with their sizes: free(*ret). One that is not there has id 0. -errno: nothing
 * is in *ret. */
static int list_runs_by_end(struct store *s, struct keep_logs *l, const store_id *ids, size_t n, struct err *err,
                            struct gc_run **ret)
{
	struct sizes sizes = {.s = s};
	struct gc_run *all = calloc(n + 1, sizeof(*all));
	int r = all ? measure_runs(&sizes, l, err) : -ENOMEM;
	for (size_t i = 0; r >= 0 && i < n; i++) {
		struct run_info run;
		r = store_run_told(s, ids[i], &run);
		if (r > 0)
			all[i] = (struct gc_run){ids[i], run_size(&sizes, ids[i]), run.end == TIME_NONE ? run.start : run.end};
	}
	map_release(&sizes.rows);
	vec_release(&sizes.v);
	if (r < 0) {
		free(all);
		return r;
	}
	qsort(all, n, sizeof(*all), compare_runs_by_end);
	*ret = all;
	return 0;
}

/* Leaves those of c->runs[0..n) that may go. Returns how many bytes are left then. */
static uint64_t take_runs(const struct gc_options *o, const struct idset *needed, size_t n, struct gc_choice *c)
{
	uint64_t left = c->bytes;
	for (size_t i = 0; i < n; i++) {
		const struct gc_run run = c->runs[i];
		bool old = o->before != TIME_NONE && run.end < o->before;
		if (!run.id || (!old && left <= o->max_bytes))
			continue;
		if (idset_has(needed, run.id)) {
			c->kept++;
			continue;
		}
		left -= run.bytes < left ? run.bytes : left;
		c->runs[c->n++] = run;
	}
	return left;
}

int gc_choose(struct store *s, struct keep_logs *l, const struct gc_options *o, struct err *err, struct gc_choice *ret)
{
	struct idset needed = {0};
	store_id *ids = NULL;
	size_t n = 0;
	struct gc_choice c = {0};
	int r = store_runs(s, UINT64_MAX, &ids, &n);
	for (size_t i = 0; i < l->segments.n; i++)
		c.bytes += l->segments.v[i].size;
	if (r >= 0)
		r = find_needed(s, ids, n, o, err, &needed);
	if (r >= 0)
		r = list_runs_by_end(s, l, ids, n, err, &c.runs);
	if (r >= 0) {
		uint64_t left = take_runs(o, &needed, n, &c);
		r = choose_builds(s, l, o, err, left, &c);
	}
	if (r == 0)
		*ret = c;
	else
		gc_release(&c);
	if (r < 0)
		err_set(err, -r, "cannot choose what may go");
	free(ids);
	idset_release(&needed);
	return r;
}

/* c is empty then. */
void gc_release(struct gc_choice *c)
{
	free(c->runs);
	free(c->builds);
	*c = (struct gc_choice){0};
}
