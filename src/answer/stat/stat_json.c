#include "answer/stat/stat.h"
#include "answer/stat/stat_when.h"

/* What is not known is null: bare figures have calls and bytes alone. */
static void moved_json(json_t *o, const struct stat_moved *m)
{
	json_t *sizes = json_array();
	js_num(o, "calls", m->calls);
	js_num(o, "bytes", m->bytes);
	if (m->untimed || m->bare)
		js_put(o, "spent_ns", json_null());
	else
		js_big(o, "spent_ns", m->spent);
	js_time(o, "first", m->untimed ? TIME_NONE : m->first);
	js_time(o, "last", m->untimed ? TIME_NONE : m->last);
	if (m->bare) {
		static const char *const unknown[] = {"failed", "largest", "sizes"};
		for (unsigned i = 0; i < 3; i++)
			js_put(o, unknown[i], json_null());
		json_decref(sizes);
		return;
	}
	js_num(o, "failed", m->failed);
	js_num(o, "largest", m->largest);
	for (unsigned i = 0; i < IO_SIZES; i++)
		js_add(sizes, json_integer((json_int_t)m->size[i]));
	js_put(o, "sizes", sizes);
}

/* null only if nothing was moved, and that was not counted either; else the figures, which may be 0. */
static json_t *moved_or_null(const struct stat_moved *m, bool counted)
{
	if (!m->any && !counted)
		return json_null();
	json_t *o = json_object();
	struct stat_moved none = {.first = TIME_NONE, .last = TIME_NONE};
	moved_json(o, m->any ? m : &none);
	return o;
}

/* Bytes are null where they are not known at all; bytes_complete is false where they are a lower bound. The caller's.
 * */
static json_t *sum_json(const struct stat_sum *s)
{
	static const char *const accesses[] = {"reads", "writes"};
	static const char *const bytes[] = {"bytes_read", "bytes_written"};
	static const char *const ways[] = {"read", "written"};
	json_t *o = json_object(), *calls = json_object();
	bool whole = true, counted = true;
	for (unsigned k = 0; k < STAT_WAYS; k++) {
		const struct stat_way *w = &s->way[k];
		struct stat_bytes b = stat_bytes(w);
		js_num(o, accesses[k], w->accesses);
		js_put(o, bytes[k], b.known ? json_integer((json_int_t)b.n) : json_null());
		whole &= b.any ? b.whole : !w->partial;
		counted &= !w->uncounted && !w->unseen;
		js_put(calls, ways[k], moved_or_null(stat_io(w), w->counted));
	}
	js_put(calls, "mapped", moved_or_null(stat_mapped(s), false));
	js_bool(o, "bytes_complete", whole);
	js_put(o, "calls", calls);
	js_bool(o, "calls_complete", counted);
	return o;
}

/* All that the process read and wrote, since it began: null where it was not read. */
static void process_json(json_t *o, const struct exec_info *x)
{
	static const char *const names[] = {"read", "written", "read_from_storage", "written_to_storage"};
	const uint64_t figures[] = {x->rchar, x->wchar_, x->read_bytes, x->write_bytes};
	json_t *process = json_object();
	for (unsigned i = 0; i < 4; i++)
		js_put(process, names[i], x->known >> (5 + i) & 1 ? json_integer((json_int_t)figures[i]) : json_null());
	js_put(o, "process", process);
}

/* Puts what names an execution into its row. 1, 0: the record does not have it, o is as it was; -errno. */
static int exec_sum_json(struct store *s, store_id exec, json_t *o)
{
	struct buf user = {0};
	struct exec_info x;
	int r = store_exec(s, exec, &x);
	if (r <= 0)
		return r;
	js_pub(o, "id", &x.pub);
	js_list(o, "argv", &x.argv);
	js_str_if(o, "rank", x.rank);
	js_str_if(o, "ranks", x.ranks);
	js_str(o, "host", x.host);
	process_json(o, &x);
	r = exec_user(s, exec, &user);
	js_str(o, "user", buf_view(&user));
	buf_release(&user);
	return r;
}

/* Puts what names a file into its row. As exec_sum_json, but 0 in both cases. */
static int file_sum_json(struct store *s, store_id file, json_t *o)
{
	struct file_info f;
	int r = store_file(s, file, &f);
	if (r <= 0)
		return r;
	js_pub(o, "id", &f.pub);
	js_str(o, "path", f.path);
	js_text(o, "kind", term_name(SET_kind, f.kind));
	return 0;
}

/* Appends a row for each sum. count: rows at most, 0 all. 0, -errno. */
static int append_sums_json(const struct stat_sums *w, uint64_t count, const struct stat_list *l, bool exec,
                            json_t *list)
{
	int r = 0;
	for (size_t i = 0; i < l->n && (!count || i < count) && r >= 0; i++) {
		json_t *o = sum_json(&l->v[i]);
		r = exec ? exec_sum_json(w->source->store, l->v[i].id, o) : file_sum_json(w->source->store, l->v[i].id, o);
		if (!exec)
			js_num(o, "edges", l->v[i].edges);
		js_add(list, o);
	}
	return r < 0 ? r : 0;
}

/* Sets "over_time" of all: for each slice what was read and written. spent_ns is null where the time was not measured.
 * */
static void slices_json(json_t *all, const struct stat_when *when)
{
	static const char *const ways[] = {"read", "written"};
	struct stat_slice v[STAT_SLICES];
	json_t *list = json_array();
	size_t n = stat_slices(when, v);
	for (size_t i = 0; i < n; i++) {
		json_t *o = json_object();
		js_time(o, "from", v[i].from);
		js_time(o, "to", v[i].to);
		for (unsigned k = 0; k < STAT_WAYS; k++) {
			json_t *way = json_object();
			js_num(way, "calls", v[i].way[k].calls);
			js_num(way, "bytes", v[i].way[k].bytes);
			if (v[i].way[k].bare)
				js_put(way, "spent_ns", json_null());
			else
				js_big(way, "spent_ns", v[i].way[k].spent);
			js_put(o, ways[k], way);
		}
		js_add(list, o);
	}
	js_put(all, "over_time", list);
}

/* The caller owns it. Interfaces without an access are left out. */
static json_t *apis_json(const struct stat_sums *w)
{
	json_t *apis = json_object();
	for (unsigned k = 0; k < STAT_ACCESS_APIS; k++)
		if (stat_has_accesses(&w->api[k]))
			js_put(apis, term_name(SET_api, k), sum_json(&w->api[k]));
	return apis;
}

/* Each call and direction that anything is known of. The caller's. */
static json_t *calls_json(const struct stat_sums *w)
{
	json_t *calls = json_array();
	for (unsigned api = 0; api < STAT_APIS; api++)
		for (unsigned k = 0; k < STAT_WAYS; k++) {
			if (!w->io_api[api][k].any)
				continue;
			json_t *one = json_object();
			js_text(one, "api", term_name(SET_ioapi, api));
			js_text(one, "direction", k == STAT_READ ? "read" : "write");
			moved_json(one, &w->io_api[api][k]);
			js_add(calls, one);
		}
	return calls;
}

int stat_json(const struct stat_sums *w, uint64_t count, const struct stat_when *when, json_t **ret)
{
	json_t *all = json_object(), *execs = json_array(), *files = json_array();
	int r = append_sums_json(w, count, &w->execs, true, execs);
	if (r >= 0)
		r = append_sums_json(w, count, &w->files, false, files);
	js_num(all, "format", 1);
	js_gaps(all, "unseen", w->unseen);
	js_put(all, "total", sum_json(&w->total));
	js_put(all, "api", apis_json(w));
	js_put(all, "calls", calls_json(w));
	js_put(all, "executions", execs);
	js_put(all, "files", files);
	if (when) {
		slices_json(all, when);
		js_num(all, "untimed", when->untimed);
	}
	if (r < 0) {
		json_decref(all);
		return r;
	}
	*ret = all;
	return 0;
}
