/* stemma log: the runs. */
#include "answer/items.h"
#include "answer/live.h"
#include "cmd/cmd.h"
#include "cmd/ui/columns.h"
#include "cmd/ui/things_print.h"

#include <errno.h>
#include <stdlib.h>

#define COMMAND_MAX 400 /* bytes of a command line in a table */

/* A question about the node is a program that the node's daemon sees, and nobody looks for it in the answer. */
static bool is_question(const struct run_info *r)
{
	struct str program, option;
	size_t at = 0;
	if (r->mode.n < 5 || memcmp(r->mode.p, "node/", 5) != 0 || !strlist_next(&r->argv, &at, &program) ||
	    !strlist_next(&r->argv, &at, &option))
		return false;
	const char *slash = memrchr(program.p, '/', program.n);
	if (slash)
		program = str_n(slash + 1, program.n - (size_t)(slash + 1 - program.p));
	return str_is(program, "stemma") && str_is(option, "--node");
}

static int add_row(struct cmd *c, struct table *t, const struct run_info *r, uint64_t used, uint64_t made)
{
	struct buf b = {0};
	table_cell(t, fmt_run(r->ulid));
	fmt_time(&b, r->start, true);
	table_cell(t, buf_view(&b));
	buf_reset(&b);
	fmt_span(&b, r->start, r->end);
	table_cell(t, buf_view(&b));
	buf_reset(&b);
	if (r->ending == TERM_ending_unknown && live_standby(&c->live, r->ulid))
		buf_printf(&b, "runs");
	else
		fmt_ending(&b, r->ending, r->code);
	table_cell(t, buf_view(&b));
	table_cellf(t, "%llu", (unsigned long long)used);
	table_cellf(t, "%llu", (unsigned long long)made);
	buf_reset(&b);
	fmt_argv(&b, &r->argv, true, COMMAND_MAX);
	table_cell(t, buf_view(&b));
	buf_release(&b);
	return 0;
}

int cmd_log(struct cmd *c, const struct opts_log *o)
{
	if (c->n_operands)
		return say_usage(c, "log takes no arguments");
	int status = cmd_store(c, o->no_index);
	if (status != STATUS_OK)
		return status;
	store_id *ids = NULL;
	size_t n = 0;
	if (store_runs(c->store, UINT64_MAX, &ids, &n) < 0) {
		say("cannot list the runs");
		return STATUS_SELF;
	}
	static const char *const heads[] = {"RUN", "START", "TIME", "EXIT", "IN", "OUT", "COMMAND"};
	static const char align[] = "llrlrrl";
	struct table t = {.heads = heads, .align = align, .n_columns = 7};
	json_t *runs = o->json ? json_array() : NULL;
	int r = 0;
	uint64_t told = 0;
	for (size_t i = 0; i < n && r >= 0 && status == STATUS_OK && !(o->count && told == o->count); i++) {
		struct run_info info;
		uint64_t used = 0, made = 0;
		r = store_run(c->store, ids[i], &info);
		if (r <= 0)
			continue;
		bool question = !o->all && is_question(&info);
		if (question || !(o->jsonl || o->json))
			r = items_count(cmd_source(c), ids[i], &used, &made);
		if (r < 0 || (question && !made))
			continue;
		told++;
		json_t *one = o->jsonl || o->json ? run_json(cmd_source(c), &info) : NULL;
		if ((o->jsonl || o->json) && !one) {
			r = -EIO;
		} else if (o->jsonl || o->json) {
			r = notes_json(c->store, one, NOTES_RUN, ids[i], 0);
			if (o->jsonl)
				js_num(one, "format", 1);
			if (o->json)
				js_add(runs, one);
			else
				status = js_print(one, true);
		} else {
			r = add_row(c, &t, &info, used, made);
		}
	}
	free(ids);
	if (r < 0) {
		json_decref(runs);
		say("cannot list the runs");
		return STATUS_SELF;
	}
	if (o->json) {
		json_t *all = json_object();
		js_num(all, "format", 1);
		js_put(all, "runs", runs);
		status = js_print(all, false);
	} else if (!o->jsonl && told) {
		table_print(&t, &c->out, c->out.width);
	}
	if (!told)
		say("no run is recorded");
	return status != STATUS_OK ? status : told ? STATUS_OK : STATUS_NOTHING;
}
