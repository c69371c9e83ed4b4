#include "answer/stat/stat_count.h"
#include "base/os/system.h"

#include <errno.h>
#include <stdlib.h>

#define NOT_WANTED UINT32_MAX

const struct stat_moved stat_nothing_moved = {0};

/* The earlier of two times. TIME_NONE is no time: then the other one. ns. */
static int64_t earlier_time(int64_t a, int64_t b)
{
	return a == TIME_NONE || (b != TIME_NONE && b < a) ? b : a;
}

/* Adds figures of what was moved. from: nothing where it has not moved anything (`any`). Times: from the earliest to
 * the latest. */
static void add_moved(struct stat_moved *to, const struct stat_moved *from)
{
	if (!from->any)
		return;
	to->first = to->any ? earlier_time(to->first, from->first) : from->first;
	to->last = to->any && to->last > from->last ? to->last : from->last; /* TIME_NONE is the least */
	to->any = true;
	to->untimed |= from->untimed;
	to->bare |= from->bare;
	to->calls += from->calls;
	to->failed += from->failed;
	to->bytes += from->bytes;
	to->largest = from->largest > to->largest ? from->largest : to->largest;
	to->spent += from->spent;
	for (unsigned i = 0; i < IO_SIZES; i++)
		to->size[i] += from->size[i];
}

/* Adds figures. The same to figures that are made where there are none yet. False: no memory. */
static bool add_moved_to(struct stat_sums *w, struct stat_moved **to, const struct stat_moved *from)
{
	if (!*to) {
		if (!(*to = arena_take(&w->moved, sizeof(**to))))
			return false;
		**to = stat_nothing_moved;
	}
	add_moved(*to, from);
	return true;
}

/* Whether an interface is one of HDF5's (or netCDF's), whose calls are not system calls. */
static bool is_hdf5_api(unsigned api)
{
	return api >= TERM_ioapi_data && api < STAT_APIS;
}

/* Was the row counted without sizes? Of run --count there is no size of any call; moments are there with
 * --granularity=access, and times never. */
static bool is_count_only(const struct io_info *io)
{
	for (unsigned i = 0; i < IO_SIZES; i++)
		if (io->size[i])
			return false;
	return io->calls && !io->spent && !is_hdf5_api(io->api);
}

/* Calls without times (untimed), and calls of which only their number is known (bare), are marked, so that sums tell
 * it. */
static struct stat_moved moved_of(const struct io_info *io)
{
	bool untimed = (io->calls || io->failed) && io->first == TIME_NONE && !io->spent;
	struct stat_moved m = {.calls = io->calls,
	                       .failed = io->failed,
	                       .bytes = io->bytes,
	                       .largest = io->largest,
	                       .spent = io->spent,
	                       .first = io->first,
	                       .last = io->last,
	                       .any = true,
	                       .untimed = untimed,
	                       .bare = is_count_only(io)};
	memcpy(m.size, io->size, sizeof(m.size));
	return m;
}

/* A new one at the end. NULL: no memory. The pointer holds until the next one is added. */
static struct stat_sum *append_sum(struct stat_list *l, store_id id)
{
	if (!vec_has_room(l->v, l->n, l->cap))
		return NULL;
	l->v[l->n] = (struct stat_sum){.id = id};
	return &l->v[l->n++];
}

/* The sum that of the execution that is counted: executions are counted one after the other. As append_sum. */
static struct stat_sum *sum_of_exec(struct stat_sums *w, store_id exec)
{
	struct stat_list *l = &w->execs;
	return l->n && l->v[l->n - 1].id == exec ? &l->v[l->n - 1] : append_sum(l, exec);
}

/* Looked at: does the file count? Those of the machine and absent paths do only with --all. 1, 0 or -errno. */
static int look_at_file(const struct stat_sums *w, store_id file)
{
	struct file_brief f;
	int r = store_file_brief(w->source->store, file, &f);
	if (r <= 0 || w->objects || f.within) /* an object's bytes are its file's, too */
		return r < 0 ? r : r && w->objects == (f.within != 0);
	if (w->all)
		return 1;
	if (f.kind == TERM_kind_absent || f.kind == TERM_kind_pseudo)
		return 0;
	return f.kind != TERM_kind_regular || system_path(f.path, w->source->system_extra) == SYSTEM_NO;
}

/* The sum of a file that counts; each file is looked at once. *ret holds until the next one is found. 1; 0: it does not
 * count; -errno. */
static int find_file_sum(struct stat_sums *w, store_id file, struct stat_sum **ret)
{
	bool is_new;
	const uint32_t *at = idmap_find(&w->files_at, file);
	if (at) {
		*ret = *at == NOT_WANTED ? NULL : &w->files.v[*at];
		return *ret != NULL;
	}
	int r = w->file ? file == w->file : look_at_file(w, file);
	if (r < 0 || !idmap_add(&w->files_at, file, r ? (uint32_t)w->files.n : NOT_WANTED, &is_new))
		return r < 0 ? r : -ENOMEM;
	*ret = r ? append_sum(&w->files, file) : NULL;
	return r && !*ret ? -ENOMEM : r;
}

/* By file, then reads before writes, then the call: what is one row lies together. */
static int compare_by_target_and_api(const void *pa, const void *pb)
{
	const struct io_info *a = pa, *b = pb;
	if (a->target != b->target)
		return a->target < b->target ? -1 : 1;
	if (a->write != b->write)
		return a->write - b->write;
	return (a->api > b->api) - (a->api < b->api);
}

/* Whether calls on the file were counted, one way; what was mapped was counted with them, and leaves bytes unknown. An
 * access of several versions has an edge to each, which all say its bytes: *bytes becomes what of the calls' bytes no
 * edge has taken yet. (The calls' own sums have been made by then.) */
static bool is_counted(const struct ios *l, store_id file, unsigned way, bool *ret_mapped, uint64_t *bytes)
{
	bool moved = false;
	uint64_t taken = 0;
	size_t lo = 0, hi = l->n;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (l->v[mid].target < file)
			lo = mid + 1;
		else
			hi = mid;
	}
	*ret_mapped = false;
	for (; lo < l->n && l->v[lo].target == file; lo++) {
		struct io_info *io = &l->v[lo];
		bool mapped = io->api == TERM_ioapi_mmap;
		*ret_mapped |= mapped;
		if (mapped || io->write != (way == STAT_WRITE))
			continue;
		uint64_t take = *bytes - taken < io->bytes ? *bytes - taken : io->bytes;
		io->bytes -= take;
		taken += take;
		moved = true;
	}
	if (moved)
		*bytes = taken;
	return moved;
}

/* Adds one access, an edge of the graph, to a sum of this way (reading or writing). called: it was begun by a call
 * that could be counted, not by an exec, which loads without one. bytes: those that no counted call has told. */
static void add_access_to_sum(struct stat_sum *s, const struct edge *e, unsigned way, bool counted, bool called,
                              uint64_t bytes)
{
	struct stat_way *to = &s->way[way];
	to->partial |= called && !e->has_bytes;
	to->accesses += e->count ? e->count : 1;
	to->known |= e->has_bytes;
	to->bytes += e->has_bytes ? bytes : 0;
	to->counted |= counted;
	to->uncounted |= called && !counted;
}

/* An access whose calls were not counted, as a row of its own. 0, or what w->say gives. */
static int say_uncounted(struct stat_sums *w, store_id exec, store_id file, const struct edge *e, unsigned way)
{
	struct stat_row row = {.exec = exec, .file = file, .api = -1, .write = way, .bytes_known = e->has_bytes};
	row.io.bytes = e->bytes;
	return w->say ? w->say(w->arg, &row) : 0;
}

/* An access of a file that counts. Where nothing moved there is no call to count; where bytes are unknown for no
 * mapping, calls were not seen. 0, -ENOMEM, or what w->say returned below 0. */
static int count_access(struct stat_sums *w, store_id exec, struct stat_sum *f, const struct edge *e, unsigned way)
{
	bool mapped;
	uint64_t bytes = e->has_bytes ? e->bytes : 0;
	bool moved = is_counted(&w->ios, f->id, way, &mapped, &bytes), any = moved || mapped;
	bool counted = e->has_bytes ? any || !e->bytes : any && mapped;
	bool called = e->api != TERM_api_exec;
	struct stat_sum *x = sum_of_exec(w, exec);
	if (!x)
		return -ENOMEM;
	uint64_t untold = moved ? 0 : bytes;
	add_access_to_sum(x, e, way, counted, called, untold);
	add_access_to_sum(f, e, way, counted, called, untold);
	f->edges++;
	add_access_to_sum(&w->total, e, way, counted, called, untold);
	add_access_to_sum(&w->api[e->api < STAT_ACCESS_APIS ? e->api : 0], e, way, counted, called, bytes);
	return counted || !called ? 0 : say_uncounted(w, exec, f->id, e, way);
}

/* Counts an access to a version towards its file. 0, also where the version or its file is not what is asked for;
 * -errno. */
static int count_file_edge(struct stat_sums *w, store_id exec, const struct edge *e, unsigned way)
{
	struct stat_sum *f;
	if (w->version && e->to != w->version)
		return 0;
	int r = find_file_sum(w, store_file_of_version(e->to), &f);
	return r <= 0 ? r : count_access(w, exec, f, e, way);
}

/* One file, way and call of an execution. Adds m to the execution, the file, all, and the call; maps apart. 0, -ENOMEM,
 * or what w->say returned. */
static int count_calls_of_file(struct stat_sums *w, store_id exec, struct stat_sum *f, const struct io_info *like,
                               const struct stat_moved *m)
{
	struct stat_sum *x = sum_of_exec(w, exec);
	if (!x)
		return -ENOMEM;
	struct stat_sum *const to[] = {x, f, &w->total};
	for (unsigned i = 0; i < 3; i++) {
		struct stat_way *way = &to[i]->way[like->write];
		bool mapped = like->api == TERM_ioapi_mmap;
		if (!add_moved_to(w, mapped ? &to[i]->mapped : &way->io, m))
			return -ENOMEM;
		way->counted |= !mapped;
	}
	add_moved(&w->io_api[like->api < STAT_APIS ? like->api : 0][like->write], m);
	if (!w->say)
		return 0;
	struct stat_row row = {
	    .exec = exec, .file = like->target, .api = (int)like->api, .write = like->write, .bytes_known = true, .io = *m};
	return w->say(w->arg, &row);
}

void stat_not_all(struct stat_sum *s)
{
	for (unsigned k = 0; k < STAT_WAYS; k++)
		s->way[k].partial = s->way[k].unseen = true;
}

/* Notes whether all calls of the execution's run were seen: w->inexact is set where not, or where no run is known. One
 * query for each run, not for each execution. 0, -errno. */
static int add_mode(struct stat_sums *w, store_id run)
{
	struct run_info info;
	if (run && run == w->run)
		return 0;
	int r = run ? store_run_told(w->source->store, run, &info) : 0;
	w->inexact |= r <= 0 || !str_ends(info.mode, str_of("/exact"));
	w->run = run;
	return r < 0 ? r : 0;
}

/* The figures of an execution's calls, of the version that is asked for; of one file, way and call together. w->ios
 * holds them behind it. 0 or more, -errno. */
static int count_calls(struct stat_sums *w, store_id exec)
{
	struct ios *l = &w->ios;
	size_t kept = 0;
	int r = w->without_calls ? 0 : store_io(w->source->store, exec, l);
	if (r < 0 || w->without_calls)
		return r;
	for (size_t i = 0; i < l->n; i++)
		if (!w->version || l->v[i].generated == w->version || l->v[i].used == w->version)
			l->v[kept++] = l->v[i];
	l->n = kept;
	if (l->n)
		qsort(l->v, l->n, sizeof(*l->v), compare_by_target_and_api);
	for (size_t i = 0, k; r >= 0 && i < l->n; i = k) {
		struct stat_moved m = {0};
		for (k = i; k < l->n && !compare_by_target_and_api(&l->v[i], &l->v[k]); k++) {
			struct stat_moved one = moved_of(&l->v[k]);
			add_moved(&m, &one);
		}
		struct stat_sum *f;
		r = find_file_sum(w, l->v[i].target, &f);
		if (r > 0)
			r = count_calls_of_file(w, exec, f, &l->v[i], &m);
	}
	return r;
}

/* Its accesses, one way. 0, -errno. */
static int count_edges(struct stat_sums *w, store_id exec, unsigned way)
{
	int r = way == STAT_READ ? store_uses(w->source->store, exec, &w->edges)
	                         : store_outputs(w->source->store, exec, &w->edges);
	for (size_t i = 0; i < w->edges.n && r >= 0; i++)
		r = count_file_edge(w, exec, &w->edges.v[i], way);
	return r;
}

int stat_count(struct stat_sums *w, store_id exec)
{
	store_id run = 0;
	uint64_t gaps = 0;
	size_t before = w->execs.n;
	int r = store_exec_state(w->source->store, exec, &run, &gaps);
	uint64_t unseen = gaps_that_lack(gaps, GAP_ACCESSES);
	if (r > 0)
		r = add_mode(w, run);
	if (r < 0)
		return r;
	w->unseen |= unseen;
	r = count_calls(w, exec);
	for (unsigned way = 0; way < STAT_WAYS && r >= 0; way++)
		r = count_edges(w, exec, way);
	if (unseen && w->execs.n > before)
		stat_not_all(&w->execs.v[before]);
	return r < 0 ? r : 0;
}

/* w itself may not be used afterwards. */
void stat_release(struct stat_sums *w)
{
	free(w->execs.v);
	free(w->files.v);
	idmap_release(&w->files_at);
	arena_release(&w->moved);
	ios_release(&w->ios);
	edges_release(&w->edges);
}
