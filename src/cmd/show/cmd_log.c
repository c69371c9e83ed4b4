/* stemma log: the runs. */
#include "answer/found.h"
#include "answer/live.h"
#include "answer/runs.h"
#include "cmd/cmd.h"
#include "cmd/show/log_by_inputs.h"
#include "cmd/ui/columns.h"
#include "cmd/ui/notes_print.h"

#include <errno.h>
#include <stdlib.h>

#define COMMAND_MAX 400 /* bytes of a command line in a table */

/* A count that may be too low has a plus; where nothing is known, it is no zero. */
static void add_count(struct table *t, uint64_t n, bool complete)
{
	if (!n && !complete)
		table_cell(t, str_of("?"));
	else
		table_cellf(t, "%llu%s", (unsigned long long)n, complete ? "" : "+");
}

/* Adds a row of one run: when, how long, how it ended, how many files it used and made. */
static void add_row(struct cmd *c, struct table *t, const struct run_info *r, uint64_t used, uint64_t made)
{
	struct buf b = {0};
	table_cell(t, fmt_run(r->ulid));
	fmt_time(&b, r->start, true);
	table_cell(t, buf_view(&b));
	buf_reset(&b);
	fmt_span(&b, r->start, r->end);
	table_cell(t, buf_view(&b));
	buf_reset(&b);
	enum recording state = live_recording(c->store, &c->live, r);
	if (state == RECORDING_RUNNING || state == RECORDING_CUT_OFF)
		buf_printf(&b, state == RECORDING_RUNNING ? "running" : "cut off");
	else
		fmt_ending(&b, r->ending, r->code);
	table_cell(t, buf_view(&b));
	add_count(t, used, run_counts_complete(r));
	add_count(t, made, run_counts_complete(r));
	buf_reset(&b);
	struct str of = run_rerun_of(r);
	if (of.n)
		buf_printf(&b, "(rerun of %.*s) ", (int)fmt_run(of).n, fmt_run(of).p);
	fmt_argv(&b, &r->argv, true, COMMAND_MAX);
	table_cell(t, buf_view(&b));
	buf_release(&b);
}

struct log_view {
	struct cmd *c;
	const struct opts_log *o;
	struct table t;
	uint64_t shown;
	int status; /* of what was printed */
};

/* Called for each run; arg is a struct log_view. 1: enough, or v->status says what went wrong; 0; -errno. */
static int print_log_run(void *arg, const struct run_info *r, uint64_t used, uint64_t made)
{
	struct log_view *v = arg;
	json_t *one;
	if (v->o->jsonl) {
		int rc = run_with_notes_json(cmd_source(v->c), r, &one);
		if (rc < 0)
			return rc;
		js_num(one, "format", 1);
		v->status = js_print(one, true);
	} else {
		add_row(v->c, &v->t, r, used, made);
	}
	v->shown++;
	return v->status != STATUS_OK || (v->o->count && v->shown == v->o->count);
}

/* A status, or -errno. *ret_shown: how many runs are in it. */
static int log_json(struct cmd *c, const struct opts_log *o, const struct idset *only, uint64_t *ret_shown)
{
	json_t *all;
	int r = runs_json(cmd_source(c), only, o->all, o->count, &all);
	if (r < 0)
		return r;
	*ret_shown = json_array_size(json_object_get(all, "runs"));
	return js_print(all, false);
}

/* The operands as an expression of stemma find about runs. The status. *ret is the caller's where it is STATUS_OK. */
static int parse_expression(struct cmd *c, struct expr **ret)
{
	struct err err = {0};
	enum expr_kind said;
	if (expr_parse(c->operands, (size_t)c->n_operands, &err, ret, &said) < 0)
		return report_err(&err, STATUS_USAGE);
	if (said == EXPR_ANY || said == EXPR_RUNS)
		return STATUS_OK;
	expr_free(*ret);
	*ret = NULL;
	return report_usage(c, "log lists runs only");
}

/* The runs that it describes. The status. A status, reported. */
static int select_runs(struct cmd *c, const struct expr *e, struct idset *ret)
{
	struct err err = {0};
	struct found f;
	int r = found_make(cmd_source(c), e, EXPR_RUNS, false, &err, &f);
	if (r < 0)
		return report_err(&err, r == -EINVAL ? STATUS_USAGE : cmd_target_status(r));
	for (size_t i = 0; i < f.n && r == 0; i++)
		r = idset_add(ret, f.rows[i].id);
	idset_close(ret);
	found_rows_release(&f);
	return r < 0 ? cmd_report_unread(c->store, "list the runs") : STATUS_OK;
}

/* Gives the exit status: STATUS_NOTHING if no run is listed. */
int cmd_log(struct cmd *c, const struct opts_log *o)
{
	static const char *const heads[] = {"RUN", "START", "TIME", "EXIT", "IN", "OUT", "COMMAND"};
	struct idset selected = {0}, *only = c->n_operands ? &selected : NULL;
	struct expr *e = NULL;
	int status = only ? parse_expression(c, &e) : STATUS_OK;
	if (status == STATUS_OK)
		status = cmd_store(c, o->no_index);
	if (status == STATUS_OK && only)
		status = select_runs(c, e, only);
	expr_free(e);
	if (status == STATUS_OK && o->by_inputs && o->jsonl)
		status = report_usage(c, "--by-inputs can be combined with --json, not with --jsonl");
	if (status != STATUS_OK || o->by_inputs) {
		status = status != STATUS_OK ? status : log_by_inputs(c, o, only);
		idset_release(&selected);
		return status;
	}
	struct log_view v = {.c = c, .o = o, .t = {.heads = heads, .align = "llrlrrl", .n_columns = 7}};
	int r = 0;
	if (o->json)
		r = v.status = log_json(c, o, only, &v.shown);
	else
		r = runs_each(cmd_source(c), only, o->all, !o->jsonl, print_log_run, &v);
	idset_release(&selected);
	if (r < 0) {
		buf_release(&v.t.cells);
		return cmd_report_unread(c->store, "list the runs");
	}
	if (!o->json && !o->jsonl && v.shown)
		table_print(&v.t, &c->out, c->out.width);
	if (!v.shown)
		report(only ? "no such run is recorded" : "no run is recorded");
	return v.status != STATUS_OK ? v.status : v.shown ? STATUS_OK : STATUS_NOTHING;
}
