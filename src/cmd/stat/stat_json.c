#include "base/unsafe_char.h"
#include "cmd/stat/stat.h"
#include "cmd/stat/stat_when.h"

#include <inttypes.h>
#include <stdio.h>

/* ---- JSON ---- */

static void moved_json(json_t *o, const struct moved *m)
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

static json_t *moved_or_null(const struct moved *m, bool counted)
{
	if (!m->any && !counted)
		return json_null();
	json_t *o = json_object();
	struct moved none = {.first = TIME_NONE, .last = TIME_NONE};
	moved_json(o, m->any ? m : &none);
	return o;
}

static json_t *sum_json(const struct sum *s)
{
	static const char *const accesses[] = {"reads", "writes"};
	static const char *const bytes[] = {"bytes_read", "bytes_written"};
	static const char *const ways[] = {"read", "written"};
	json_t *o = json_object(), *calls = json_object();
	bool whole = true, counted = true;
	for (unsigned k = 0; k < STAT_WAYS; k++) {
		const struct way *w = &s->way[k];
		struct stat_bytes b = stat_bytes(w);
		js_num(o, accesses[k], w->accesses);
		js_put(o, bytes[k], b.known ? json_integer((json_int_t)b.n) : json_null());
		whole &= b.any ? b.whole : !w->partial;
		counted &= !w->uncounted && !w->unseen;
		js_put(calls, ways[k], moved_or_null(&w->io, w->counted));
	}
	js_put(calls, "mapped", moved_or_null(&s->mapped, false));
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

static int append_sums_json(const struct stat_sums *w, const struct opts_stat *opts, const struct sums *l, bool exec,
                            json_t *list)
{
	struct buf user = {0};
	int r = 0;
	for (size_t i = 0; i < l->n && (!opts->count || i < opts->count) && r >= 0; i++) {
		json_t *o = sum_json(&l->v[i]);
		if (exec) {
			struct exec_info x;
			r = store_exec(w->c->store, l->v[i].id, &x);
			if (r > 0) {
				js_pub(o, "id", &x.pub);
				js_list(o, "argv", &x.argv);
				js_str_if(o, "rank", x.rank);
				js_str_if(o, "ranks", x.ranks);
				js_str(o, "host", x.host);
				process_json(o, &x);
				r = exec_user(w->c->store, l->v[i].id, &user);
				js_str(o, "user", buf_view(&user));
				buf_reset(&user);
			}
		} else {
			struct file_info f;
			r = store_file(w->c->store, l->v[i].id, &f);
			if (r > 0) {
				js_pub(o, "id", &f.pub);
				js_str(o, "path", f.path);
				js_text(o, "kind", term_name(SET_kind, f.kind));
			}
			js_num(o, "edges", l->v[i].edges);
		}
		js_add(list, o);
	}
	buf_release(&user);
	return r < 0 ? r : 0;
}

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

int stat_json(const struct stat_sums *w, const struct opts_stat *o, const struct stat_when *when, int *ret_status)
{
	json_t *all = json_object(), *apis = json_object(), *calls = json_array(), *execs = json_array(),
	       *files = json_array();
	for (unsigned k = 0; k < 64; k++)
		if (w->api[k].way[STAT_READ].accesses || w->api[k].way[STAT_WRITE].accesses)
			js_put(apis, term_name(SET_api, k), sum_json(&w->api[k]));
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
	int r = append_sums_json(w, o, &w->execs, true, execs);
	if (r >= 0)
		r = append_sums_json(w, o, &w->files, false, files);
	js_num(all, "format", 1);
	js_gaps(all, "unseen", w->unseen);
	js_put(all, "total", sum_json(&w->total));
	js_put(all, "api", apis);
	js_put(all, "calls", calls);
	js_put(all, "executions", execs);
	js_put(all, "files", files);
	if (o->times) {
		slices_json(all, when);
		js_num(all, "untimed", when->untimed);
	}
	*ret_status = js_print(all, false);
	return r;
}

/* ---- TSV ---- */

void stat_tsv_head(void)
{
	fputs("execution\tcommand\tfile\tpath\tdirection\tapi\tcalls\tfailed\tbytes\tlargest\tspent_ns\tfirst\tlast",
	      stdout);
	for (unsigned i = 0; i < IO_SIZES; i++)
		printf("\tsize%u", i);
	putchar('\n');
}

static void print_tsv_number(uint64_t n, bool known)
{
	if (known)
		printf("\t%" PRIu64, n);
	else
		fputs("\t?", stdout);
}

static void print_tsv_time(int64_t t)
{
	if (t == TIME_NONE)
		fputs("\t?", stdout);
	else
		printf("\t%" PRId64, t);
}

static const char *formula_mark(const struct buf *b)
{
	return unsafe_formula(buf_view(b)) ? "'" : "";
}

int stat_tsv_row(void *cmd, const struct stat_row *row)
{
	struct cmd *c = cmd;
	struct exec_info x;
	struct file_info f;
	struct buf b = {0}, path = {0};
	bool counted = row->api >= 0;
	int r = store_exec(c->store, row->exec, &x);
	struct pubid exec = r > 0 ? x.pub : (struct pubid){0};
	if (r > 0)
		r = exec_name(c->store, row->exec, false, SIZE_MAX, &b);
	r = r < 0 ? r : store_file(c->store, row->file, &f);
	if (r > 0) {
		fmt_name(&path, f.path);
		printf("%s\t%s%s\t%s\t%s%s\t%s\t%s", exec.text, formula_mark(&b), b.n ? buf_cstr(&b) : "", f.pub.text,
		       formula_mark(&path), path.n ? buf_cstr(&path) : "", row->write ? "write" : "read",
		       counted ? term_name(SET_ioapi, (unsigned)row->api) : "?");
		print_tsv_number(row->io.calls, counted);
		bool whole = counted && !row->io.bare;
		print_tsv_number(row->io.failed, whole);
		print_tsv_number(row->io.bytes, row->bytes_known);
		print_tsv_number(row->io.largest, whole);
		print_tsv_number(row->io.spent, whole && !row->io.untimed);
		print_tsv_time(counted ? row->io.first : TIME_NONE);
		print_tsv_time(counted ? row->io.last : TIME_NONE);
		for (unsigned i = 0; i < IO_SIZES; i++)
			print_tsv_number(row->io.size[i], whole);
		putchar('\n');
	}
	buf_release(&b);
	buf_release(&path);
	return r < 0 ? r : 0;
}
