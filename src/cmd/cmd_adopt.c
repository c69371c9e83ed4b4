/* stemma adopt: what workflow systems wrote down in a folder, taken into the record. */
#include "adopt/adopt.h"
#include "cmd/cmd.h"
#include "cmd/ui/columns.h"
#include "cmd/ui/js_print.h"

#include <stdlib.h>
#include <unistd.h>

/* For printf's %llu. */
static unsigned long long ull(uint64_t n)
{
	return n;
}

/* Gives the exit status. */
static int print_adopted_json(const struct adopt_jobs *jobs, const struct adopt_report *r)
{
	json_t *all = json_object(), *tools = json_array(), *passed = json_array();
	for (int t = 0; t < ADOPT_TOOL_COUNT; t++) {
		if (!jobs->sources[t])
			continue;
		json_t *one = json_object();
		js_text(one, "tool", adopt_tool_name((enum adopt_tool)t));
		js_num(one, "documents", jobs->sources[t]);
		js_num(one, "jobs", r->jobs[t]);
		js_num(one, "recorded", r->recorded[t]);
		js_num(one, "without_outputs", r->empty[t]);
		js_add(tools, one);
	}
	for (size_t i = 0; i < jobs->passed.n; i++)
		js_add(passed, js_string(str_of(jobs->passed.v[i])));
	js_num(all, "format", 1);
	js_bool(all, "added", r->added);
	js_put(all, "tools", tools);
	js_num(all, "files_changed", r->changed);
	js_num(all, "files_gone", r->gone);
	js_put(all, "not_read", passed);
	return js_print(all, false);
}

/* A line; figures that are 0 are left out. */
static void print_tool(enum adopt_tool t, const struct adopt_jobs *jobs, const struct adopt_report *r)
{
	printf("%s: %llu job%s", adopt_tool_title(t), ull(r->jobs[t]), str_plural(r->jobs[t]));
	if (r->recorded[t])
		printf("; %llu more %s already recorded by stemma", ull(r->recorded[t]), r->recorded[t] == 1 ? "was" : "were");
	if (r->empty[t])
		printf("; %llu more name%s no output", ull(r->empty[t]), r->empty[t] == 1 ? "s" : "");
	printf("  (%llu document%s)\n", ull(jobs->sources[t]), str_plural(jobs->sources[t]));
}

/* Prints how much of what workflow systems left was taken in. dry: nothing was added. STATUS_NOTHING if no document
 * of a workflow was found. */
static int print_adopted(const struct adopt_jobs *jobs, const struct adopt_report *r, bool dry)
{
	uint64_t found = 0, written = 0;
	for (int t = 0; t < ADOPT_TOOL_COUNT; t++) {
		found += jobs->sources[t];
		written += r->jobs[t];
		if (jobs->sources[t])
			print_tool((enum adopt_tool)t, jobs, r);
	}
	if (r->changed)
		printf("%llu file%s changed later: %s not joined with the job\n", ull(r->changed), str_have(r->changed),
		       r->changed == 1 ? "it was" : "they were");
	if (r->gone)
		printf("%llu file%s gone\n", ull(r->gone), str_are(r->gone));
	if (written && !r->added && !dry)
		printf("nothing new: everything was adopted before\n");
	if (dry && written)
		printf("nothing was added (--dry-run)\n");
	if (!found)
		report("no record of a workflow system was found in this folder");
	return found ? STATUS_OK : STATUS_NOTHING;
}

/* Is there a record? Else there is nothing to look up, and the first of it is made. */
static bool has_logs(const char *home)
{
	struct buf path = {0};
	buf_printf(&path, "%s/logs", home);
	bool has = !path.failed && access(buf_cstr(&path), F_OK) == 0;
	buf_release(&path);
	return has;
}

/* Gives the exit status. */
int cmd_adopt(struct cmd *c, const struct opts_adopt *o)
{
	struct err err = {0};
	struct adopt_jobs jobs = {.full = false};
	struct adopt_report r = {.added = false};
	char *home = NULL;
	if (c->n_operands > 1)
		return report_usage(c, "adopt takes one folder; repeat the command for each of the others");
	if (store_places(cmd_home(c), &err, &home, NULL) < 0)
		return report_err(&err, STATUS_SELF);
	int status = has_logs(home) ? cmd_store(c, false) : STATUS_OK;
	if (status != STATUS_OK) {
		free(home);
		return status;
	}
	if (adopt_find(c->n_operands ? c->operands[0] : ".", &jobs, &err) < 0 ||
	    adopt_write(&jobs, c->store, home, o->dry_run, &err, &r) < 0) {
		status = report_err(&err, STATUS_SELF);
	} else {
		for (size_t i = 0; i < jobs.passed.n; i++)
			report("%s", jobs.passed.v[i]);
		status = o->json ? print_adopted_json(&jobs, &r) : print_adopted(&jobs, &r, o->dry_run);
	}
	adopt_release(&jobs);
	free(home);
	return status;
}
