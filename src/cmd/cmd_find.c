/* stemma find: files, runs or executions that an expression describes. */
#include "cmd/ui/things_print.h"
#include "query/idset.h"
#include "query/select.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

struct find {
	struct cmd *c;
	const struct opts_find *o;
	json_t *list; /* --json */
};

struct row {
	store_id id;
	bool sure; /* else it is only possible */
	char *key; /* what it is sorted by, and for files printed */
	int64_t time;
	uint64_t n;
	uint64_t gaps; /* of the run or the execution; of a file those of who made it */
};

static int by_key(const void *pa, const void *pb)
{
	const struct row *a = pa, *b = pb;
	int c = a->key && b->key ? strcmp(a->key, b->key) : 0;
	if (c)
		return c;
	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	return a->n != b->n ? (a->n < b->n ? -1 : 1) : (a->id > b->id) - (a->id < b->id);
}

static int gaps_of_makers(struct store *s, store_id version, uint64_t *ret)
{
	struct edges e = {0};
	struct exec_info x;
	int r = store_gens(s, version, &e);
	for (size_t i = 0; i < e.n && r >= 0; i++) {
		r = store_exec(s, e.v[i].to, &x);
		*ret |= r > 0 ? x.gaps : 0;
	}
	edges_release(&e);
	return r < 0 ? r : 0;
}

/* Sets what the row is sorted by: files by path and version, runs and executions by start. 1, 0 gone, -errno. */
static int prepare(struct store *s, enum expr_kind kind, struct row *row)
{
	int r;
	if (kind == EXPR_RUNS) {
		struct run_info run;
		r = store_run(s, row->id, &run);
		row->time = r > 0 ? run.start : 0;
		row->gaps = r > 0 ? run.gaps : 0;
	} else if (kind == EXPR_EXECS) {
		struct exec_info x;
		r = store_exec(s, row->id, &x);
		row->time = r > 0 ? x.start : 0;
		row->n = r > 0 ? x.n : 0;
		row->gaps = r > 0 ? x.gaps : 0;
	} else {
		struct version_info v;
		struct file_info f;
		r = store_version(s, row->id, &v);
		if (r > 0)
			r = store_file(s, v.file, &f);
		if (r > 0) {
			row->key = strndup(f.path.n ? f.path.p : "", f.path.n);
			row->n = v.n;
			r = row->key ? gaps_of_makers(s, row->id, &row->gaps) : -ENOMEM;
			r = r < 0 ? r : 1;
		}
	}
	return r;
}

static int put_json(const struct find *w, const struct row *row, json_t *one)
{
	js_str(one, "certainty", str_of(row->sure ? "must" : "may"));
	if (!json_object_get(one, "completeness"))
		js_gaps(one, "completeness", row->gaps);
	if (w->list) {
		js_add(w->list, one);
		return STATUS_OK;
	}
	js_num(one, "format", 1);
	return js_print(one, true);
}

static int put_file(const struct find *w, const struct row *row)
{
	struct version_info v;
	struct file_info f;
	struct buf b = {0}, since = {0};
	int r = store_version(w->c->store, row->id, &v), status = STATUS_OK;
	if (r > 0)
		r = store_file(w->c->store, v.file, &f);
	if (r <= 0)
		return STATUS_SELF;
	if (w->o->json || w->o->jsonl)
		return put_json(w, row, entity_json(&v, &f));
	if (w->o->null) {
		fwrite(f.path.p, 1, f.path.n, stdout);
		putchar('\0');
		return STATUS_OK;
	}
	version_name(&b, &v, &f);
	if (!row->sure)
		buf_char(&b, '?');
	if (version_since(w->c->store, &v, &f, &since) < 0)
		status = STATUS_SELF;
	if (since.n)
		buf_printf(&b, "  (%s)", buf_cstr(&since));
	puts(buf_cstr(&b));
	buf_release(&b);
	buf_release(&since);
	return status;
}

static int put_run(const struct find *w, const struct row *row, struct table *t)
{
	struct run_info run;
	if (store_run(w->c->store, row->id, &run) <= 0)
		return STATUS_SELF;
	if (w->o->json || w->o->jsonl) {
		json_t *one = run_json(cmd_source(w->c), &run);
		return one ? put_json(w, row, one) : STATUS_SELF;
	}
	if (w->o->null) {
		fwrite(run.ulid.p, 1, run.ulid.n, stdout);
		putchar('\0');
		return STATUS_OK;
	}
	struct buf b = {0};
	table_cell(t, fmt_run(run.ulid));
	fmt_time(&b, run.start, true);
	table_cell(t, buf_view(&b));
	buf_reset(&b);
	fmt_ending(&b, run.ending, run.code);
	table_cell(t, buf_view(&b));
	buf_reset(&b);
	buf_printf(&b, "%s", row->sure ? "" : "? ");
	fmt_argv(&b, &run.argv, true, 400);
	table_cell(t, buf_view(&b));
	buf_release(&b);
	return STATUS_OK;
}

static int put_exec(const struct find *w, const struct row *row, struct table *t)
{
	struct exec_info x;
	struct buf b = {0};
	if (store_exec(w->c->store, row->id, &x) <= 0)
		return STATUS_SELF;
	if (w->o->json || w->o->jsonl) {
		json_t *one = NULL;
		if (exec_json(w->c->store, &x, &one) < 0)
			return STATUS_SELF;
		return put_json(w, row, one);
	}
	struct pubid pub = x.pub;
	struct str id = str_n(pub.text, strnlen(pub.text, sizeof(pub.text)));
	if (w->o->null) {
		fwrite(id.p, 1, id.n, stdout);
		putchar('\0');
		return STATUS_OK;
	}
	table_cell(t, str_n(id.p, id.n < 10 ? id.n : 10));
	fmt_time(&b, x.start, true);
	table_cell(t, buf_view(&b));
	buf_reset(&b);
	fmt_ending(&b, x.ending, x.code);
	table_cell(t, buf_view(&b));
	buf_reset(&b);
	buf_printf(&b, "%s", row->sure ? "" : "? ");
	int r = exec_name(w->c->store, row->id, true, 400, &b);
	table_cell(t, buf_view(&b));
	buf_release(&b);
	return r < 0 ? STATUS_SELF : STATUS_OK;
}

static int print_rows(const struct find *w, enum expr_kind kind, const struct row *rows, size_t n)
{
	static const char *const heads[] = {"RUN", "START", "EXIT", "COMMAND"};
	static const char *const exec_heads[] = {"EXECUTION", "START", "EXIT", "COMMAND"};
	struct table t = {.heads = kind == EXPR_RUNS ? heads : exec_heads, .align = "llll", .n_columns = 4};
	int status = STATUS_OK;
	for (size_t i = 0; i < n && status == STATUS_OK; i++)
		status = kind == EXPR_RUNS    ? put_run(w, &rows[i], &t)
		         : kind == EXPR_EXECS ? put_exec(w, &rows[i], &t)
		                              : put_file(w, &rows[i]);
	if (t.n_cells && status == STATUS_OK)
		table_print(&t, &w->c->out, w->c->out.width);
	else
		buf_release(&t.cells);
	return status;
}

/* A recording that was cut off may have made, used or ended what is not listed, or not so. */
static void say_unended(const struct row *rows, size_t n)
{
	size_t unended = 0;
	for (size_t i = 0; i < n; i++)
		unended += rows[i].gaps >> TERM_gap_unended & 1;
	if (unended)
		say("of %zu of these the recording has no end: it goes on still, or was cut off", unended);
}

int cmd_find(struct cmd *c, const struct opts_find *o)
{
	struct err err = {0};
	struct expr *e = NULL;
	enum expr_kind said, kind = o->runs ? EXPR_RUNS : o->execs ? EXPR_EXECS : o->files ? EXPR_FILES : EXPR_ANY;
	if (o->files + o->runs + o->execs > 1)
		return say_usage(c, "one of --files, --runs and --execs");
	if (o->json + o->jsonl + o->null > 1)
		return say_usage(c, "one of --json, --jsonl and --null");
	if (!c->n_operands)
		return say_usage(c, "find needs an expression");
	if (expr_parse(c->operands, (size_t)c->n_operands, &err, &e, &said) < 0)
		return say_err(&err, STATUS_USAGE);
	if (kind != EXPR_ANY && said != EXPR_ANY && kind != said) {
		expr_free(e);
		return say_usage(c, "the option and the expression look for different things");
	}
	kind = kind != EXPR_ANY ? kind : said != EXPR_ANY ? said : EXPR_FILES;

	struct idset found = {0}, sure = {0};
	struct row *rows = NULL;
	struct timespec now;
	uint64_t unseen = 0;
	int status = cmd_store(c, o->no_index);
	if (status != STATUS_OK)
		goto out;
	clock_gettime(CLOCK_REALTIME, &now);
	struct select_options so = {.now = now.tv_sec * 1000000000ll + now.tv_nsec,
	                            .skew = config_duration(&c->config, CONFIG_skew),
	                            .system_extra = config_get(&c->config, CONFIG_system),
	                            .all = o->all,
	                            .ret_unseen = &unseen};
	int r = select_eval(c->store, e, kind, &so, &err, &found);
	if (r < 0) {
		status = say_err(&err, r == -EINVAL ? STATUS_USAGE : cmd_target_status(r));
		goto out;
	}
	so.sure = true;
	if (found.n && (r = select_eval(c->store, e, kind, &so, &err, &sure)) < 0) {
		status = say_err(&err, STATUS_SELF);
		goto out;
	}
	bool viewing = store_view_begin(c->store, VIEW_WALK) == 0; /* many small questions */
	rows = calloc(found.n + 1, sizeof(*rows));
	size_t n = 0;
	for (size_t i = 0; rows && i < found.n && r >= 0; i++) {
		rows[n].id = found.v[i];
		rows[n].sure = idset_has(&sure, found.v[i]);
		r = prepare(c->store, kind, &rows[n]);
		n += r > 0;
	}
	struct find w = {.c = c, .o = o, .list = o->json ? json_array() : NULL};
	if (rows && r >= 0) {
		if (n)
			qsort(rows, n, sizeof(*rows), by_key);
		status = print_rows(&w, kind, rows, n);
	} else {
		status = STATUS_SELF;
	}
	if (viewing)
		store_view_end(c->store);
	if (status == STATUS_SELF)
		say("cannot list what was found");
	if (o->json && status == STATUS_OK) {
		json_t *all = json_object();
		js_num(all, "format", 1);
		js_put(all, kind == EXPR_RUNS ? "runs" : kind == EXPR_EXECS ? "executions" : "entities", w.list);
		status = js_print(all, false);
	} else {
		json_decref(w.list);
	}
	if (unseen)
		say("the file changed later where nobody recorded it; what came from that is not counted");
	say_unended(rows, n);
	if (status == STATUS_OK && !n) {
		say("nothing found");
		status = STATUS_NOTHING;
	}
	for (size_t i = 0; i < n; i++)
		free(rows[i].key);
out:
	free(rows);
	idset_release(&found);
	idset_release(&sure);
	expr_free(e);
	return status;
}
