/* stemma diff: what differs between two runs, executions or versions of a file. */
#include "answer/diff/diff_content.h"
#include "answer/trace/trace_compare.h"
#include "cmd/diff/diff_trace.h"
#include "cmd/diff/diff_view.h"
#include "query/target.h"

#include <errno.h>
#include <stdlib.h>

/* The status of diff(1). */
enum { STATUS_SAME = 0, STATUS_DIFFERS = 1 };

/* A status, reported. STATUS_NOTHING, too, where of the file only the name is known. */
static int find_compared_target(struct cmd *c, const char *text, bool only_file, struct target *ret)
{
	int status = cmd_target(c, text, only_file, ret);
	if (status != STATUS_OK)
		return status;
	if (ret->kind == TARGET_FILE && !ret->file.version) {
		report("only the name of '%s' is recorded, not its content", text);
		return STATUS_NOTHING;
	}
	return STATUS_OK;
}

/* Of a file that had the name before: its last version that began before the one that is compared, if it is later than
 * *best. 0 or -errno. */
static int take_earlier(struct store *s, store_id file, const struct version_info *than, struct version_info *best)
{
	struct file_info f;
	struct version_info v;
	store_id id;
	int r = store_file(s, file, &f);
	for (uint64_t n = r > 0 ? f.versions : 0; r > 0 && n > 0; n--) {
		r = store_version_of(s, file, n, &id);
		if (r > 0)
			r = store_version(s, id, &v);
		if (r <= 0 || v.start >= than->start)
			continue;
		if (!best->id || v.end > best->end)
			*best = v;
		break;
	}
	return r < 0 ? r : 0;
}

/* The version before the one that was named: of that file, or of one that had the name before it. Programs that write a
 * result anew often remove the file first, or put another in its place. A status, reported. */
static int find_earlier_version(struct cmd *c, const char *text, const struct target *t, struct target *ret)
{
	struct err err = {0};
	struct version_info v, best = {0};
	store_id *files = NULL;
	uint64_t ignored;
	size_t n = 0;
	*ret = *t;
	int r = store_version(c->store, t->file.version, &v);
	if (r > 0 && (r = take_earlier(c->store, t->file.file, &v, &best)) == 0)
		r = target_files(c->store, text, &err, &files, &n, &ignored);
	if (r == -ENOENT || r == -EISDIR) /* it was found already: only the namesakes are asked for */
		r = 0;
	for (size_t i = 0; i < n && r >= 0; i++)
		if (files[i] != t->file.file)
			r = take_earlier(c->store, files[i], &v, &best);
	free(files);
	if (r >= 0) {
		r = best.id != 0;
		ret->file.version = best.id;
	}
	if (r == 0)
		report("'%s' has no earlier version in the record", text);
	if (r < 0)
		cmd_report_unread(c->store, "find the earlier version");
	return r > 0 ? STATUS_OK : r == 0 ? STATUS_NOTHING : STATUS_SELF;
}

/* Gives the exit status, or -errno, which is not told yet. */
static int print_json(const struct diff_view *v)
{
	json_t *o;
	int r = diff_json(cmd_source(v->c), v->d, &o);
	return r < 0 ? r : js_print(o, false);
}

/* Is the run a repetition of another, by stemma rerun? False, too, where that cannot be told. */
static bool is_rerun(struct store *s, store_id run)
{
	struct run_info r;
	return store_run_told(s, run, &r) == 1 && run_rerun_of(&r).n > 0;
}

/* Two of the same kind. The status. STATUS_SAME, STATUS_DIFFERS, or STATUS_SELF, reported. */
static int compare_targets(struct cmd *c, const struct opts_diff *o, const struct target t[2])
{
	struct err err = {0};
	enum diff_what what = t[0].kind == TARGET_RUN ? DIFF_RUN : t[0].kind == TARGET_EXEC ? DIFF_EXEC : DIFF_VERSION;
	store_id ids[2];
	for (int i = 0; i < 2; i++)
		ids[i] = what == DIFF_VERSION ? t[i].file.version : t[i].id;
	struct diff_content_source content = {.s = c->store};
	struct diff_options options = {.system_extra = config_get(&c->config, CONFIG_system),
	                               .skew = config_duration(&c->config, CONFIG_skew),
	                               .content = diff_content_of,
	                               .content_arg = &content};
	struct diff d;
	if (diff_make(c->store, what, ids, &options, &err, &d) < 0)
		return report_err(&err, STATUS_SELF);
	if (what == DIFF_RUN && (is_rerun(c->store, ids[0]) || is_rerun(c->store, ids[1])))
		diff_pass_over_rerun(&d);
	if (diff_builds(c->store, &d, &err) < 0 || trace_lines(c->store, &d, &err) < 0) {
		diff_release(&d);
		return report_err(&err, STATUS_SELF);
	}
	struct diff_view v = {.c = c, .s = c->store, .out = &c->out, .d = &d, .max = o->all ? 0 : 5, .bytes = o->bytes};
	int r = o->json ? print_json(&v) : o->html ? diff_html(&v) : diff_text(&v);
	bool differs = diff_matters(&d);
	diff_release(&d);
	if (r < 0)
		cmd_report_unread(c->store, "print the differences");
	return r ? STATUS_SELF : differs ? STATUS_DIFFERS : STATUS_SAME;
}

/* Gives the exit status. */
int cmd_diff(struct cmd *c, const struct opts_diff *o)
{
	static const char *const last_two[] = {"@~1", "@"};
	const char *const *words = c->n_operands ? (const char *const *)c->operands : last_two;
	int n = c->n_operands ? c->n_operands : 2;
	struct target t[2];
	if (n > 2)
		return report_usage(c, "diff takes two operands at most");
	if (o->json + o->html > 1)
		return report_usage(c, "--json or --html, not both");
	if (o->trace)
		return cmd_diff_trace(c, o);
	if (o->spec.n || o->algorithm || o->rank || o->repeat)
		return report_usage(c, "--spec, --algorithm, --rank and --repeat require --trace");
	int status = cmd_store(c, o->no_index);
	for (int i = 0; status == STATUS_OK && i < n; i++)
		status = find_compared_target(c, words[i], n - i <= c->n_after_dashes, &t[i]);
	if (status == STATUS_OK && n == 1) {
		if (t[0].kind != TARGET_FILE)
			return report_usage(c, "diff needs a second run or execution");
		t[1] = t[0];
		status = find_earlier_version(c, words[0], &t[1], &t[0]);
	}
	if (status != STATUS_OK)
		return status == STATUS_NOTHING ? STATUS_USAGE : status;
	if (t[0].kind != t[1].kind)
		return report_usage(c, "cannot compare '%s' and '%s': they are of different kinds (runs, executions, files)",
		                    words[0], words[1]);
	return compare_targets(c, o, t);
}
