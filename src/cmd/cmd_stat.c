/* stemma stat: input and output of a run or a file, by call, by execution, by file. */
#include "cmd/things.h"
#include "query/system.h"
#include "query/target.h"

#include <stdlib.h>

#define DEFAULT_LINES 10

/* Counts of one call, execution or file. Bytes are sums of what is known; whole: all of them are. */
struct sum {
	store_id id;            /* execution or file, unless an api */
	uint64_t reads, writes; /* accesses, repeats counted */
	uint64_t bytes_read, bytes_written;
	bool read_known, write_known, read_whole, write_whole; /* anything is known; all is */
	uint64_t used_by;                                      /* executions */
};

struct sums {
	struct sum *v;
	size_t n, cap;
};

struct stat_of {
	struct cmd *c;
	const struct opts_stat *o;
	struct sum total;
	struct sum api[64];
	struct sums execs, files;
};

static void add_edge(struct sum *s, const struct edge *e, bool read)
{
	uint64_t n = e->count ? e->count : 1;
	if (read) {
		s->read_whole = (s->reads ? s->read_whole : true) && e->has_bytes;
		s->reads += n;
		s->read_known |= e->has_bytes;
		s->bytes_read += e->has_bytes ? e->bytes : 0;
	} else {
		s->write_whole = (s->writes ? s->write_whole : true) && e->has_bytes;
		s->writes += n;
		s->write_known |= e->has_bytes;
		s->bytes_written += e->has_bytes ? e->bytes : 0;
	}
}

static struct sum *sums_add(struct sums *l, store_id id)
{
	if (l->n == l->cap) {
		size_t cap = l->cap ? l->cap * 2 : 64;
		struct sum *v = realloc(l->v, cap * sizeof(*v));
		if (!v)
			return NULL;
		l->v = v;
		l->cap = cap;
	}
	l->v[l->n] = (struct sum){.id = id};
	return &l->v[l->n++];
}

static void merge(struct sum *a, const struct sum *b)
{
	a->read_whole = (!a->reads || a->read_whole) && (!b->reads || b->read_whole);
	a->write_whole = (!a->writes || a->write_whole) && (!b->writes || b->write_whole);
	a->reads += b->reads;
	a->writes += b->writes;
	a->bytes_read += b->bytes_read;
	a->bytes_written += b->bytes_written;
	a->read_known |= b->read_known;
	a->write_known |= b->write_known;
	a->used_by += b->used_by;
}

static int by_id(const void *pa, const void *pb)
{
	const struct sum *a = pa, *b = pb;
	return (a->id > b->id) - (a->id < b->id);
}

/* The most used first: by bytes where known, then by accesses. */
static int by_use(const void *pa, const void *pb)
{
	const struct sum *a = pa, *b = pb;
	uint64_t x = a->bytes_read + a->bytes_written, y = b->bytes_read + b->bytes_written;
	if (x != y)
		return x < y ? 1 : -1;
	x = a->reads + a->writes, y = b->reads + b->writes;
	return x != y ? (x < y ? 1 : -1) : by_id(a, b);
}

static void fold(struct sums *l)
{
	size_t n = 0;
	if (l->n)
		qsort(l->v, l->n, sizeof(*l->v), by_id);
	for (size_t i = 0; i < l->n; i++) {
		if (n && l->v[n - 1].id == l->v[i].id)
			merge(&l->v[n - 1], &l->v[i]);
		else
			l->v[n++] = l->v[i];
	}
	l->n = n;
	if (n)
		qsort(l->v, n, sizeof(*l->v), by_use);
}

/* Does the edge count? Files of the machine and absent paths do only with --all. */
static int wanted(const struct stat_of *w, store_id version, store_id *ret_file)
{
	struct version_info v;
	struct file_info f;
	int r = store_version(w->c->store, version, &v);
	if (r > 0)
		r = store_file(w->c->store, v.file, &f);
	if (r <= 0)
		return r;
	*ret_file = v.file;
	if (w->o->all)
		return 1;
	if (f.kind == TERM_kind_absent || f.kind == TERM_kind_pseudo)
		return 0;
	return f.kind != TERM_kind_regular || system_path(f.path, config_get(&w->c->config, CONFIG_system)) == SYSTEM_NO;
}

static int add(struct stat_of *w, store_id exec, store_id version, const struct edge *e, bool read)
{
	store_id file;
	int r = wanted(w, version, &file);
	if (r <= 0)
		return r;
	struct sum *x = sums_add(&w->execs, exec);
	if (x)
		add_edge(x, e, read);
	struct sum *f = sums_add(&w->files, file);
	if (!x || !f)
		return -1;
	add_edge(f, e, read);
	f->used_by = 1;
	add_edge(&w->total, e, read);
	add_edge(&w->api[e->api < 64 ? e->api : 0], e, read);
	return 0;
}

static int add_exec(struct stat_of *w, store_id exec)
{
	struct edges e = {0};
	int r = store_uses(w->c->store, exec, &e);
	for (size_t i = 0; i < e.n && r >= 0; i++)
		r = add(w, exec, e.v[i].to, &e.v[i], true);
	if (r >= 0)
		r = store_outputs(w->c->store, exec, &e);
	for (size_t i = 0; i < e.n && r >= 0; i++)
		r = add(w, exec, e.v[i].to, &e.v[i], false);
	edges_release(&e);
	return r;
}

static int add_version(struct stat_of *w, store_id version)
{
	struct edges e = {0};
	int r = store_readers(w->c->store, version, &e);
	for (size_t i = 0; i < e.n && r >= 0; i++)
		r = add(w, e.v[i].to, version, &e.v[i], true);
	if (r >= 0)
		r = store_gens(w->c->store, version, &e);
	for (size_t i = 0; i < e.n && r >= 0; i++)
		r = add(w, e.v[i].to, version, &e.v[i], false);
	edges_release(&e);
	return r;
}

/* ---- printing ---- */

static json_t *sum_json(const struct sum *s)
{
	json_t *o = json_object();
	js_num(o, "reads", s->reads);
	js_num(o, "writes", s->writes);
	js_put(o, "bytes_read", s->read_known ? json_integer((json_int_t)s->bytes_read) : json_null());
	js_put(o, "bytes_written", s->write_known ? json_integer((json_int_t)s->bytes_written) : json_null());
	js_bool(o, "bytes_complete", (!s->reads || s->read_whole) && (!s->writes || s->write_whole));
	return o;
}

static void size_cell(struct table *t, uint64_t n, bool known, bool whole, bool any, bool bytes)
{
	struct buf b = {0};
	if (!any)
		buf_char(&b, '-');
	else if (!known)
		buf_char(&b, '?');
	else {
		buf_printf(&b, whole ? "" : ">=");
		fmt_size(&b, n, bytes);
	}
	table_cell(t, buf_view(&b));
	buf_release(&b);
}

static void row(const struct stat_of *w, struct table *t, const struct sum *s, struct str name)
{
	table_cellf(t, "%llu", (unsigned long long)s->reads);
	size_cell(t, s->bytes_read, s->read_known, s->read_whole, s->reads > 0, w->o->bytes);
	table_cellf(t, "%llu", (unsigned long long)s->writes);
	size_cell(t, s->bytes_written, s->write_known, s->write_whole, s->writes > 0, w->o->bytes);
	table_cell(t, name);
}

static int name_of(const struct stat_of *w, const struct sum *s, bool exec, struct buf *b)
{
	struct file_info f;
	buf_reset(b);
	if (exec)
		return exec_name(w->c->store, s->id, true, 200, b);
	int r = store_file(w->c->store, s->id, &f);
	if (r > 0 && f.kind == TERM_kind_pipe)
		buf_printf(b, "pipe");
	else if (r > 0)
		fmt_path(b, f.path);
	return r;
}

static int section(const struct stat_of *w, const char *title, const struct sums *l, bool exec)
{
	static const char *const heads[] = {"READS", "BYTES", "WRITES", "BYTES", ""};
	struct table t = {.heads = heads, .align = "rrrrl", .n_columns = 5};
	struct buf b = {0};
	uint64_t max = w->o->count ? w->o->count : DEFAULT_LINES;
	int r = 0;
	for (size_t i = 0; i < l->n && i < max && r >= 0; i++) {
		r = name_of(w, &l->v[i], exec, &b);
		row(w, &t, &l->v[i], buf_view(&b));
	}
	buf_release(&b);
	printf("\n%s%s\n", title, l->n > max ? ", the most used" : "");
	table_print(&t, &w->c->out, w->c->out.width);
	return r;
}

static int print_text(struct stat_of *w, const char *title)
{
	static const char *const heads[] = {"READS", "BYTES", "WRITES", "BYTES", "CALL"};
	struct table t = {.heads = heads, .align = "rrrrl", .n_columns = 5};
	struct buf b = {0};
	fmt_name(&b, str_of(title));
	printf("%s: %zu execution%s, %zu file%s\n\n", buf_cstr(&b), w->execs.n, w->execs.n == 1 ? "" : "s", w->files.n,
	       w->files.n == 1 ? "" : "s");
	buf_release(&b);
	for (unsigned k = 0; k < 64; k++)
		if (w->api[k].reads || w->api[k].writes)
			row(w, &t, &w->api[k], str_of(term_name(SET_api, k)));
	row(w, &t, &w->total, str_of("all"));
	table_print(&t, &w->c->out, w->c->out.width);
	int r = section(w, "executions", &w->execs, true);
	return r < 0 ? r : section(w, "files", &w->files, false);
}

static int list_json(const struct stat_of *w, const struct sums *l, bool exec, json_t *list)
{
	int r = 0;
	for (size_t i = 0; i < l->n && (!w->o->count || i < w->o->count) && r >= 0; i++) {
		json_t *o = sum_json(&l->v[i]);
		if (exec) {
			struct exec_info x;
			r = store_exec(w->c->store, l->v[i].id, &x);
			if (r > 0) {
				js_pub(o, "id", &x.pub);
				js_list(o, "argv", &x.argv);
			}
		} else {
			struct file_info f;
			r = store_file(w->c->store, l->v[i].id, &f);
			if (r > 0) {
				js_pub(o, "id", &f.pub);
				js_str(o, "path", f.path);
				js_text(o, "kind", term_name(SET_kind, f.kind));
			}
			js_num(o, "edges", l->v[i].used_by);
		}
		js_add(list, o);
	}
	return r;
}

static int print_json(struct stat_of *w, int *ret_status)
{
	json_t *all = json_object(), *apis = json_object(), *execs = json_array(), *files = json_array();
	for (unsigned k = 0; k < 64; k++)
		if (w->api[k].reads || w->api[k].writes)
			js_put(apis, term_name(SET_api, k), sum_json(&w->api[k]));
	int r = list_json(w, &w->execs, true, execs);
	if (r >= 0)
		r = list_json(w, &w->files, false, files);
	js_num(all, "format", 1);
	js_put(all, "total", sum_json(&w->total));
	js_put(all, "api", apis);
	js_put(all, "executions", execs);
	js_put(all, "files", files);
	*ret_status = js_print(all, false);
	return r;
}

int cmd_stat(struct cmd *c, const struct opts_stat *o)
{
	struct err err = {0};
	struct target t;
	if (c->n_operands != 1)
		return say_usage(c, "stat needs one run or file");
	int status = cmd_store(c, o->no_index);
	if (status != STATUS_OK)
		return status;
	int r = target_any(c->store, c->operands[0], c->n_after_dashes > 0, &err, &t);
	if (r <= 0)
		return say_err(&err, cmd_target_status(r));

	struct stat_of w = {.c = c, .o = o};
	struct opts_stat with_all = *o;
	store_id *execs = NULL;
	size_t n = 0;
	if (t.kind == TARGET_RUN) {
		r = store_run_execs(c->store, t.id, &execs, &n);
		for (size_t i = 0; i < n && r >= 0; i++)
			r = add_exec(&w, execs[i]);
	} else if (t.kind == TARGET_EXEC) {
		r = add_exec(&w, t.id);
	} else {
		struct file_info f;
		with_all.all = true; /* who asks about a file of the machine means it */
		w.o = &with_all;
		r = store_file(c->store, t.file.file, &f);
		uint64_t first = t.file.n ? t.file.n : 1, last = t.file.n ? t.file.n : r > 0 ? f.versions : 0;
		for (uint64_t k = first; k <= last && r >= 0; k++) {
			store_id v;
			r = store_version_of(c->store, t.file.file, k, &v);
			if (r > 0)
				r = add_version(&w, v);
		}
	}
	fold(&w.execs);
	fold(&w.files);
	if (r >= 0)
		r = o->json ? print_json(&w, &status) : print_text(&w, c->operands[0]);
	if (r < 0) {
		say("cannot count");
		status = STATUS_SELF;
	}
	free(execs);
	free(w.execs.v);
	free(w.files.v);
	return status;
}
