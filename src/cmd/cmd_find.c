/* stemma find: files, runs or executions that an expression describes. */
#include "answer/found.h"
#include "cmd/ui/notes_print.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct find {
	struct cmd *c;
	const struct opts_find *o;
};

/* Prints a file that was found: with --null its path and a NUL, else the version, ? if it is not certain, and what
 * became of it. A status; STATUS_SELF: the record cannot be read. */
static int put_file_row(const struct find *w, const struct found_row *row)
{
	struct version_info v;
	struct file_info f;
	struct buf b = {0}, since = {0};
	int r = store_version(w->c->store, row->id, &v), status = STATUS_OK;
	if (r > 0)
		r = store_file(w->c->store, v.file, &f);
	if (r <= 0)
		return STATUS_SELF;
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

/* With --null at once, else into t. STATUS_SELF: the record cannot be read. */
static int put_run(const struct find *w, const struct found_row *row, struct table *t)
{
	struct run_info run;
	if (store_run_told(w->c->store, row->id, &run) <= 0)
		return STATUS_SELF;
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

/* Prints or adds a row for an execution. As put_run. */
static int put_exec_row(const struct find *w, const struct found_row *row, struct table *t)
{
	struct exec_info x;
	struct buf b = {0};
	if (store_exec(w->c->store, row->id, &x) <= 0)
		return STATUS_SELF;
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

/* Prints a table of runs or executions; of files a line each. Gives the exit status. */
static int print_rows(const struct find *w, const struct found *f)
{
	static const char *const heads[] = {"RUN", "START", "EXIT", "COMMAND"};
	static const char *const exec_heads[] = {"EXECUTION", "START", "EXIT", "COMMAND"};
	struct table t = {.heads = f->kind == EXPR_RUNS ? heads : exec_heads, .align = "llll", .n_columns = 4};
	int status = STATUS_OK;
	for (size_t i = 0; i < f->n && status == STATUS_OK; i++)
		status = f->kind == EXPR_RUNS    ? put_run(w, &f->rows[i], &t)
		         : f->kind == EXPR_EXECS ? put_exec_row(w, &f->rows[i], &t)
		                                 : put_file_row(w, &f->rows[i]);
	if (t.n_cells && status == STATUS_OK)
		table_print(&t, &w->c->out, w->c->out.width);
	else
		buf_release(&t.cells);
	return status;
}

/* One object for all, or with --jsonl one a line. Gives the exit status; STATUS_SELF is not told yet. */
static int print_found_json(const struct find *w, const struct found *f)
{
	const struct answer_source *a = cmd_source(w->c);
	json_t *one;
	int status = STATUS_OK;
	if (w->o->json)
		return found_json(a, f, &one) < 0 ? STATUS_SELF : js_print(one, false);
	for (size_t i = 0; i < f->n && status == STATUS_OK; i++) {
		if (found_row_json(a, f, i, &one) < 0)
			return STATUS_SELF;
		js_num(one, "format", 1);
		status = js_print(one, true);
	}
	return status;
}

/* On the error output, a line for each sort of files. */
static void report_left_out(const struct found *f)
{
	for (unsigned sort = 0; sort < ENTITY_SORTS; sort++) {
		struct buf b = {0};
		if (!f->left_out[sort])
			continue;
		fmt_entity_count(&b, (enum entity_sort)sort, f->left_out[sort]);
		report("%s left out (--all)", buf_cstr(&b));
		buf_release(&b);
	}
}

/* Does the expression find anything of this kind? */
static bool finds(struct cmd *c, const struct expr *e, enum expr_kind kind, const struct opts_find *o)
{
	struct err err = {0};
	struct found f;
	if (found_make(cmd_source(c), e, kind, o->all, &err, &f) < 0)
		return false;
	bool any = f.n;
	found_rows_release(&f);
	return any;
}

/* Puts `from` in the place of each `used`. Was there one? The tree has at most 64 levels. */
static bool ask_from(struct expr *e)
{
	if (!e)
		return false;
	bool was = e->op == EXPR_used;
	if (was)
		e->op = EXPR_from;
	was |= ask_from(e->a);
	return ask_from(e->b) || was;
}

/* What to say where nothing was found. */
enum instead { INSTEAD_nothing, INSTEAD_executions, INSTEAD_from };

/* What the expression would find if it were asked in another way; changes it. */
static enum instead look_instead(struct cmd *c, struct expr *e, const struct opts_find *o, enum expr_kind kind)
{
	if (kind != EXPR_FILES)
		return INSTEAD_nothing;
	bool executions = !o->files && finds(c, e, EXPR_EXECS, o);
	if (ask_from(e) && finds(c, e, EXPR_FILES, o))
		return INSTEAD_from;
	return executions ? INSTEAD_executions : INSTEAD_nothing;
}

/* Gives the exit status; STATUS_NOTHING if nothing was found. */
static int print_found(struct cmd *c, const struct opts_find *o, const struct found *f, enum instead instead)
{
	struct find w = {.c = c, .o = o};
	bool viewing = store_view_begin(c->store, VIEW_WALK) == 0; /* many small questions */
	int status = o->json || o->jsonl ? print_found_json(&w, f) : print_rows(&w, f);
	if (viewing)
		store_view_end(c->store);
	if (status == STATUS_SELF)
		cmd_report_unread(c->store, "list what was found");
	for (size_t i = 0; i < f->n_namesakes; i++)
		if (i == 0 || strcmp(f->namesakes[i].text, f->namesakes[i - 1].text) != 0)
			cmd_report_namesakes(c, f->namesakes[i].text, 1);
	report_left_out(f);
	if (f->unseen)
		report("a file of the expression was later modified outside stemma; what came from the modified file is not "
		       "listed");
	if (f->unended)
		report("%zu of these are from runs that still continue, or whose recording was cut off", f->unended);
	if (status == STATUS_OK && !f->n) {
		report("nothing found");
		if (f->forks && instead != INSTEAD_from)
			report_hint(
			    "%llu possible edge%s through fork, exec or shared memory %s not followed, as where a shell puts what "
			    "'cat FILE' printed into the arguments of a program; stemma lineage --down --fork FILE follows them",
			    (unsigned long long)f->forks, f->forks == 1 ? "" : "s", f->forks == 1 ? "was" : "were");
		else if (instead == INSTEAD_from)
			report_hint(
			    "'used' finds only what the program that read the file wrote; 'from' also finds what other programs "
			    "made from that, for example through a pipe");
		else if (instead == INSTEAD_executions)
			report_hint("only files were searched; use --execs for executions, --runs for runs");
		status = STATUS_NOTHING;
	}
	return status;
}

/* Gives the exit status. */
int cmd_find(struct cmd *c, const struct opts_find *o)
{
	struct err err = {0};
	struct expr *e = NULL;
	enum expr_kind said, kind = o->runs ? EXPR_RUNS : o->execs ? EXPR_EXECS : o->files ? EXPR_FILES : EXPR_ANY;
	if (o->files + o->runs + o->execs > 1)
		return report_usage(c, "give only one of --files, --runs and --execs");
	if (o->json + o->jsonl + o->null > 1)
		return report_usage(c, "give only one of --json, --jsonl and --null");
	if (!c->n_operands)
		return report_usage(c, "find needs an expression");
	if (expr_parse(c->operands, (size_t)c->n_operands, &err, &e, &said) < 0)
		return report_err(&err, STATUS_USAGE);
	if (kind != EXPR_ANY && said != EXPR_ANY && kind != said) {
		expr_free(e);
		return report_usage(c, "--%s and 'that' in the expression contradict each other: give one of them",
		                    kind == EXPR_RUNS    ? "runs"
		                    : kind == EXPR_EXECS ? "execs"
		                                         : "files");
	}
	kind = kind != EXPR_ANY ? kind : said != EXPR_ANY ? said : EXPR_FILES;

	struct found f;
	int status = cmd_store(c, o->no_index), r = 0;
	if (status == STATUS_OK && (r = found_make(cmd_source(c), e, kind, o->all, &err, &f)) < 0)
		status = report_err(&err, r == -EINVAL ? STATUS_USAGE : cmd_target_status(r));
	const enum instead instead = status == STATUS_OK && !f.n ? look_instead(c, e, o, kind) : INSTEAD_nothing;
	expr_free(e);
	if (status != STATUS_OK)
		return status;
	status = print_found(c, o, &f, instead);
	found_rows_release(&f);
	return status;
}
