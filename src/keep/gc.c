#include "keep/gc.h"

#include "base/fileid.h"
#include "keep/builds.h"
#include "keep/logs.h"
#include "query/idset.h"
#include "query/lineage.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

/* ---- what is still there ---- */

typedef VEC(int64_t) time_list;

/* Is the version its file's latest, and the file on disk as it left it? 1, 0, -errno. If so, when it got its name goes
 * into named: without the run that gave it the file would be looked for under another one, and not be there. */
static int is_latest_there(struct store *s, store_id version, time_list *named)
{
	struct version_info v;
	struct file_info f;
	struct fileid now;
	store_id latest = 0;
	int r = store_version(s, version, &v);
	if (r > 0)
		r = store_version_of(s, v.file, 0, &latest);
	if (r <= 0 || latest != version)
		return r < 0 ? r : 0;
	r = store_file(s, v.file, &f);
	if (r <= 0 || f.kind != TERM_kind_regular || !f.path.n)
		return r < 0 ? r : 0;
	char *path = strndup(f.path.p, f.path.n);
	if (!path)
		return -ENOMEM;
	r = fileid_get(AT_FDCWD, path, false, &now) == 0;
	free(path);
	r = r && S_ISREG(now.st.stx_mode) && now.ino == f.ino && now.gen == f.gen && str_is(f.domain, now.domain->name) &&
	    (!v.has_size || v.size == now.st.stx_size) &&
	    (v.mtime == TIME_NONE || v.mtime == fileid_time(&now.st.stx_mtime));
	int64_t since;
	int got = r ? store_named_since(s, f.id, f.path, &since) : 0;
	int64_t *slot = got > 0 ? vec_add(named) : NULL;
	if (slot)
		*slot = since;
	return got < 0 ? got : got > 0 && !slot ? -ENOMEM : r;
}

/* The versions a run made that are still there, added to roots. */
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

static int compare_times(const void *pa, const void *pb)
{
	int64_t a = *(const int64_t *)pa, b = *(const int64_t *)pb;
	return (a > b) - (a < b);
}

/* The runs that went on while one of those files got its name. */
static int find_namers(struct store *s, const store_id *runs, size_t n, time_list *named, struct idset *needed)
{
	int r = 0;
	if (named->n)
		qsort(named->v, named->n, sizeof(*named->v), compare_times);
	for (size_t i = 0; r >= 0 && named->n && i < n; i++) {
		struct run_info run;
		r = store_run(s, runs[i], &run);
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

/* The runs that those versions came from. */
static int find_needed_runs(struct store *s, const struct idset *roots, int64_t skew, struct err *err,
                            struct idset *needed)
{
	struct lineage l;
	struct lineage_options o = {.direction = LINEAGE_UP, .skew = skew};
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

static uint64_t run_size(const struct sizes *z, store_id run)
{
	uint32_t at = map_get(&z->rows, run);
	return at == VEC_NONE ? 0 : z->v.v[at];
}

/* ---- choosing ---- */

static int compare_runs_by_end(const void *pa, const void *pb)
{
	const struct gc_run *a = pa, *b = pb;
	if (a->end != b->end)
		return a->end < b->end ? -1 : 1;
	return (a->id > b->id) - (a->id < b->id);
}

/* Builds that may go: those of runs that go, and what is old, or too much even without these; never what is needed. */
static int choose_builds(struct store *s, struct keep_logs *l, const struct gc_options *o, struct err *err,
                         uint64_t left, struct gc_choice *c)
{
	struct keep_build *v = NULL;
	struct idset gone = {0};
	struct map bytes = {0};
	size_t n = 0;
	int r = keep_builds(s, err, &v, &n);
	for (size_t i = 0; r >= 0 && i < c->n; i++)
		r = idset_add(&gone, c->runs[i].id);
	idset_close(&gone);
	bool any = left > o->max_bytes;
	for (size_t i = 0; i < n && !any; i++)
		any = (o->before != TIME_NONE && v[i].end < o->before) || (v[i].run && idset_has(&gone, v[i].run));
	if (r >= 0 && n && any)
		r = keep_builds_needed(s, v, n, &gone, o->force, err);
	for (size_t i = 0; r >= 0 && i < l->sessions.n && any; i++)
		if (l->sessions.v[i].bytes < UINT32_MAX &&
		    !map_set(&bytes, l->sessions.v[i].number, (uint32_t)l->sessions.v[i].bytes))
			r = -ENOMEM;
	c->builds = r >= 0 ? calloc(n + 1, sizeof(*c->builds)) : NULL;
	if (r >= 0 && !c->builds)
		r = -ENOMEM;
	for (size_t i = 0; r >= 0 && any && i < n; i++) {
		bool with = v[i].run && idset_has(&gone, v[i].run);
		bool old = o->before != TIME_NONE && v[i].end < o->before;
		if (v[i].needed || (!with && !old && left <= o->max_bytes))
			continue;
		size_t run = 0;
		while (run < c->n && (!with || c->runs[run].id != v[i].run))
			run++;
		uint32_t size = map_get(&bytes, v[i].session);
		left -= size != VEC_NONE && size < left ? size : 0;
		c->builds[c->n_builds++] = (struct keep_whole){v[i].session, run};
	}
	map_release(&bytes);
	idset_release(&gone);
	free(v);
	return r < 0 ? r : 0;
}

int gc_choose(struct store *s, struct keep_logs *l, const struct gc_options *o, struct err *err, struct gc_choice *ret)
{
	struct idset roots = {0}, needed = {0};
	time_list named = {0};
	struct sizes sizes = {.s = s};
	store_id *ids = NULL;
	size_t n = 0;
	struct gc_choice c = {0};
	int r = store_runs(s, UINT64_MAX, &ids, &n);
	for (size_t i = 0; i < l->segments.n; i++)
		c.bytes += l->segments.v[i].size;
	for (size_t i = 0; r >= 0 && !o->force && i < n; i++)
		r = find_roots(s, ids[i], &roots, &named);
	idset_close(&roots);
	if (r >= 0)
		r = find_namers(s, ids, n, &named, &needed);
	if (r >= 0)
		r = find_needed_runs(s, &roots, o->skew, err, &needed);
	if (r >= 0)
		r = measure_runs(&sizes, l, err);
	struct gc_run *all = r >= 0 ? calloc(n + 1, sizeof(*all)) : NULL;
	if (r >= 0 && !all)
		r = -ENOMEM;
	for (size_t i = 0; r >= 0 && i < n; i++) {
		struct run_info run;
		r = store_run(s, ids[i], &run);
		if (r > 0)
			all[i] = (struct gc_run){ids[i], run_size(&sizes, ids[i]), run.end == TIME_NONE ? run.start : run.end};
	}
	if (r < 0)
		goto out;
	qsort(all, n, sizeof(*all), compare_runs_by_end);
	uint64_t left = c.bytes;
	for (size_t i = 0; i < n; i++) {
		bool old = o->before != TIME_NONE && all[i].end < o->before;
		if (!all[i].id || (!old && left <= o->max_bytes))
			continue;
		if (idset_has(&needed, all[i].id)) {
			c.kept++;
			continue;
		}
		left -= all[i].bytes < left ? all[i].bytes : left;
		all[c.n++] = all[i];
	}
	c.runs = all;
	all = NULL;
	r = choose_builds(s, l, o, err, left, &c);
	if (r == 0)
		*ret = c;
	else
		gc_release(&c);
out:
	if (r < 0)
		err_set(err, -r, "cannot choose what may go");
	free(all);
	free(ids);
	idset_release(&roots);
	idset_release(&needed);
	vec_release(&named);
	map_release(&sizes.rows);
	vec_release(&sizes.v);
	return r;
}

void gc_release(struct gc_choice *c)
{
	free(c->runs);
	free(c->builds);
	*c = (struct gc_choice){0};
}
