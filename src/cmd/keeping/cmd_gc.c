/* stemma gc: keep the record small. */
#include "cmd/keeping/keeping.h"
#include "cmd/ui/amount.h"
#include "cmd/ui/notes_print.h"
#include "keep/gc.h"
#include "keep/write.h"
#include "query/find/when.h"

#include <errno.h>
#include <stdlib.h>

int gc_budget(const char *age, const char *size, struct gc_options *ret, struct err *err)
{
	if (!*age && !*size)
		err_set(err, 0, "gc needs --older-than TIME or --max-size SIZE");
	else if (*age && when_parse(age, keep_now(), &ret->before) < 0)
		err_set(err, 0, "'%s' is not a time such as 90d, 12w or 2026-01-31", age);
	else if (*size && amount_parse_size(size, &ret->max_bytes) < 0)
		err_set(err, 0, "'%s' is not a size such as 500M, 2G or a number of bytes", size);
	else
		return 0;
	return -EINVAL;
}

/* A status, reported. */
static int read_gc_options(struct cmd *c, const struct opts_gc *o, struct gc_options *ret)
{
	const char *age = o->older_than ? o->older_than : config_get(&c->config, CONFIG_gc_older_than);
	const char *size = o->max_size ? o->max_size : config_get(&c->config, CONFIG_gc_max_size);
	struct err err = {0};
	*ret = (struct gc_options){.before = TIME_NONE,
	                           .max_bytes = UINT64_MAX,
	                           .force = o->force,
	                           .skew = config_duration(&c->config, CONFIG_skew)};
	return gc_budget(age, size, ret, &err) < 0 ? report_usage(c, "%s", err.text) : STATUS_OK;
}

/* The runs that go, in words or as JSON. 0, -errno. list: NULL: words. */
static int print_chosen_runs(struct cmd *c, const struct gc_choice *choice, json_t *list)
{
	static const char *const heads[] = {"RUN", "START", "SIZE", "COMMAND"};
	struct table t = {.heads = heads, .align = "llrl", .n_columns = 4};
	int r = 0;
	for (size_t i = 0; r >= 0 && i < choice->n; i++) {
		struct run_info run;
		struct buf b = {0};
		r = store_run(c->store, choice->runs[i].id, &run);
		if (r <= 0)
			continue;
		if (list) {
			json_t *one = run_json(cmd_source(c), &run);
			if (!one) {
				r = -EIO;
				break;
			}
			js_num(one, "bytes", choice->runs[i].bytes);
			js_add(list, one);
			continue;
		}
		table_cell(&t, fmt_run(run.ulid));
		fmt_time(&b, run.start, true);
		table_cell(&t, buf_view(&b));
		buf_reset(&b);
		fmt_size(&b, choice->runs[i].bytes, false);
		table_cell(&t, buf_view(&b));
		buf_reset(&b);
		fmt_argv(&b, &run.argv, true, 400);
		table_cell(&t, buf_view(&b));
		buf_release(&b);
	}
	if (!list && choice->n)
		table_print(&t, &c->out, c->out.width);
	return r < 0 ? r : 0;
}

/* What went, or would go. list: the runs as JSON, and it is taken; NULL prints text. */
static int print_cut(const struct keep_cut_options *cut, const struct gc_choice *choice,
                     const struct keep_cut_stats *stats, json_t *list)
{
	int status = STATUS_OK;
	if (list) {
		json_t *all = json_object();
		js_num(all, "format", 1);
		js_put(all, "runs", list);
		js_bool(all, "dry_run", cut->dry_run);
		js_num(all, "builds", choice->n_builds);
		js_num(all, "kept", choice->kept);
		js_big(all, "bytes", choice->bytes);
		js_num(all, "events", stats->events);
		js_num(all, "segments", stats->segments);
		status = js_print(all, false);
	} else if (choice->n + choice->n_builds) {
		if (choice->n_builds)
			printf("%zu unused build%s\n", choice->n_builds, choice->n_builds == 1 ? "" : "s");
		keeping_print(cut, stats);
	}
	if (!choice->n && !choice->n_builds)
		report("nothing to remove");
	if (choice->kept)
		report("%llu run%s kept because results of %s still exist (--force)", (unsigned long long)choice->kept,
		       choice->kept == 1 ? " is" : "s are", choice->kept == 1 ? "it" : "them");
	return status;
}

/* Gives the exit status. */
int cmd_gc(struct cmd *c, const struct opts_gc *o)
{
	struct gc_options options;
	struct gc_choice choice = {0};
	struct keep_logs *logs = NULL;
	struct keep_cut_stats stats = {0};
	struct err err = {0};
	struct buf text = {0};
	struct str *runs = NULL;
	if (c->n_operands)
		return report_usage(c, "gc takes no arguments");
	int status = read_gc_options(c, o, &options);
	if (status == STATUS_OK)
		status = cmd_store(c, false);
	if (status != STATUS_OK)
		return status;
	json_t *list = o->json ? json_array() : NULL;
	int r = keep_logs_open(store_home(c->store), &err, &logs);
	if (r == 0)
		r = gc_choose(c->store, logs, &options, &err, &choice);
	if (r == 0 && print_chosen_runs(c, &choice, list) < 0)
		r = err_set(&err, EIO, "cannot list the runs to remove: the index could not be read");
	if (r == 0)
		r = keeping_names(c->store, &choice, &text, &runs, &err);
	if (r < 0) {
		status = report_err(&err, STATUS_SELF);
		goto out;
	}
	struct keep_cut_options cut = {
	    .runs = runs, .n_runs = choice.n, .builds = choice.builds, .n_builds = choice.n_builds, .dry_run = o->dry_run};
	if (choice.n + choice.n_builds) {
		status = keeping_cut(c, logs, &cut, &stats);
		logs = NULL;
	}
	if (status != STATUS_OK)
		goto out;
	status = print_cut(&cut, &choice, &stats, list);
	list = NULL;
out:
	json_decref(list);
	keep_logs_close(logs);
	gc_release(&choice);
	buf_release(&text);
	free(runs);
	return status;
}
