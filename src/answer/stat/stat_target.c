/* stat_target.c - counting a run, an execution or a file; what its sums are, in words. */
#include "answer/stat/stat_count.h"

#include <errno.h>
#include <stdlib.h>

/* What nobody saw in the run of an execution may have been of this file, too. Each run once. 0 or more, -errno. */
static int add_unobserved(struct stat_sums *w, store_id exec, struct idmap *runs)
{
	struct exec_info x;
	struct run_info info;
	bool is_new = false;
	int r = store_exec(w->source->store, exec, &x);
	if (r <= 0 || !x.run)
		return r;
	if (!idmap_add(runs, x.run, 0, &is_new))
		return -ENOMEM;
	r = is_new ? store_run(w->source->store, x.run, &info) : 0;
	if (r > 0)
		w->unseen |= gaps_that_lack(info.gaps, GAP_ACCESSES);
	return r;
}

/* The executions of the edges that were not counted yet. 0 or more, -ENOMEM or -errno. done and runs hold what was
 * counted. */
static int count_execs(struct stat_sums *w, const struct edges *e, struct idmap *done, struct idmap *runs)
{
	int r = 0;
	for (size_t i = 0; i < e->n && r >= 0; i++) {
		bool is_new = false;
		if (!idmap_add(done, e->v[i].to, 0, &is_new))
			return -ENOMEM;
		if (is_new)
			r = add_unobserved(w, e->v[i].to, runs);
		if (is_new && r >= 0)
			r = stat_count(w, e->v[i].to);
	}
	return r;
}

/* Counts all executions that read or made one of the versions. Of one version only, where t->n says so: then
 * w->version is set. 0 or more, -errno. */
static int count_file(struct stat_sums *w, const struct file_target *t)
{
	struct store *s = w->source->store;
	struct file_info f;
	struct edges e = {0};
	struct idmap done = {0}, runs = {0};
	int r = store_file(s, t->file, &f);
	uint64_t first = t->n ? t->n : 1, last = t->n ? t->n : r > 0 ? f.versions : 0;
	w->file = t->file;
	for (uint64_t k = first; k <= last && r >= 0; k++) {
		store_id v = 0;
		r = store_version_of(s, t->file, k, &v);
		if (r > 0 && t->n)
			w->version = v;
		for (unsigned way = 0; way < STAT_WAYS && r >= 0 && v; way++) {
			r = way == STAT_READ ? store_readers(s, v, &e) : store_gens(s, v, &e);
			r = r < 0 ? r : count_execs(w, &e, &done, &runs);
		}
	}
	edges_release(&e);
	idmap_release(&done);
	idmap_release(&runs);
	return r;
}

/* Sets w->unseen to the run's gaps in what was accessed. 0 or more, -errno. */
static int count_run(struct stat_sums *w, store_id run)
{
	store_id *execs = NULL;
	size_t n = 0;
	struct run_info info;
	int r = store_run(w->source->store, run, &info);
	w->unseen = r > 0 ? gaps_that_lack(info.gaps, GAP_ACCESSES) : 0;
	if (r >= 0)
		r = store_run_execs(w->source->store, run, &execs, &n);
	for (size_t i = 0; i < n && r >= 0; i++)
		r = stat_count(w, execs[i]);
	free(execs);
	return r;
}

int stat_count_target(struct stat_sums *w, const struct target *t)
{
	int any = store_has_io(w->source->store);
	w->without_calls = any == 0;
	w->files_at.near = IDMAP_FILES;
	int r = any < 0                  ? any
	        : t->kind == TARGET_RUN  ? count_run(w, t->id)
	        : t->kind == TARGET_EXEC ? stat_count(w, t->id)
	                                 : count_file(w, &t->file);
	return r < 0 ? r : stat_finish(w);
}

/* ---- what the sums are, in words ---- */

bool stat_has_calls(const struct stat_sums *w)
{
	bool any = stat_mapped(&w->total)->any;
	for (unsigned k = 0; k < STAT_WAYS; k++)
		any |= stat_io(&w->total.way[k])->any;
	return any;
}

bool stat_has_accesses(const struct stat_sum *of_api)
{
	return of_api->way[STAT_READ].accesses || of_api->way[STAT_WRITE].accesses;
}

/* STAT_LACKS_NOTHING where the sums are whole. */
enum stat_lack stat_lack(const struct stat_sums *w)
{
	const struct stat_way *read = &w->total.way[STAT_READ], *write = &w->total.way[STAT_WRITE];
	const bool counted = stat_has_calls(w);
	if (!read->uncounted && !write->uncounted)
		return stat_has_accesses(&w->total) && !counted && !read->known && !write->known ? STAT_NO_CALLS
		                                                                                 : STAT_LACKS_NOTHING;
	if (stat_io(read)->bare || stat_io(write)->bare)
		return STAT_UNPROVED;
	if (!w->inexact)
		return STAT_MAPPED;
	return counted ? STAT_SOME_CALLS : STAT_ACCESSES;
}

/* known: at least some of them were counted; whole: all were. */
struct stat_bytes stat_bytes(const struct stat_way *w)
{
	struct stat_bytes b = {
	    .n = w->bytes + stat_io(w)->bytes, .any = w->accesses || stat_io(w)->any, .known = w->known || stat_io(w)->any};
	b.whole = b.known && !w->partial;
	return b;
}

const char *stat_call(unsigned api, bool write)
{
	static const char *const names[STAT_APIS][STAT_WAYS] = {
	    [TERM_ioapi_other] = {"other, reading", "other, writing"},
	    [TERM_ioapi_read] = {"read", "write"},
	    [TERM_ioapi_pread] = {"pread", "pwrite"},
	    [TERM_ioapi_readv] = {"readv", "writev"},
	    [TERM_ioapi_preadv] = {"preadv", "pwritev"},
	    [TERM_ioapi_recv] = {"recv", "send"},
	    [TERM_ioapi_sendfile] = {"sendfile, from", "sendfile, to"},
	    [TERM_ioapi_splice] = {"splice, from", "splice, to"},
	    [TERM_ioapi_copy] = {"copy_file_range, from", "copy_file_range, to"},
	    [TERM_ioapi_clone] = {"clone, from", "clone, to"},
	    [TERM_ioapi_mmap] = {"mmap", "mmap, to write"},
	    [TERM_ioapi_data] = {"H5Dread", "H5Dwrite"},
	    [TERM_ioapi_attr] = {"H5Aread", "H5Awrite"},
	    [TERM_ioapi_create] = {"-", "create"},
	    [TERM_ioapi_h5open] = {"open", "-"},
	    [TERM_ioapi_flush] = {"-", "flush"},
	    [TERM_ioapi_rename] = {"-", "rename"},
	    [TERM_ioapi_extent] = {"-", "H5Dset_extent"},
	    [TERM_ioapi_delete] = {"-", "delete"},
	};
	return names[api < STAT_APIS ? api : 0][write];
}

int stat_name(struct store *s, store_id id, bool exec, struct buf *b)
{
	struct file_info f;
	buf_reset(b);
	if (exec)
		return exec_name(s, id, true, 200, b);
	int r = store_file(s, id, &f);
	if (r > 0 && f.kind == TERM_kind_regular && !f.path.n)
		buf_printf(b, "nameless file");
	else if (r > 0 && (f.kind == TERM_kind_pipe || !f.path.n))
		buf_printf(b, "%s", term_name(SET_kind, f.kind));
	else if (r > 0)
		fmt_path(b, f.path);
	return r;
}
