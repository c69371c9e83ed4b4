/* stemma diff: what differs between two runs, executions or versions of a file. */
#include "answer/diff/diff_content.h"
#include "answer/trace/trace_compare.h"
#include "cmd/diff/diff_trace.h"
#include "cmd/diff/diff_view.h"
#include "query/target.h"

/* The status of diff(1). */
enum { STATUS_SAME = 0, STATUS_DIFFERS = 1 };

static int find_compared_target(struct cmd *c, const char *text, bool only_file, struct target *ret)
{
	int status = cmd_target(c, text, only_file, ret);
	if (status != STATUS_OK)
		return status;
	if (ret->kind == TARGET_FILE && !ret->file.version) {
		report("'%s' is known by name only; no content of it is recorded", text);
		return STATUS_NOTHING;
	}
	return STATUS_OK;
}

/* The version before the one that was named. */
static int find_earlier_version(struct cmd *c, const char *text, const struct target *t, struct target *ret)
{
	struct version_info v;
	*ret = *t;
	int r = store_version(c->store, t->file.version, &v);
	if (r > 0 && v.n > 1)
		r = store_version_of(c->store, t->file.file, v.n - 1, &ret->file.version);
	else if (r > 0)
		r = 0;
	if (r == 0)
		report("'%s' has no earlier version in the record", text);
	if (r < 0)
		report("cannot read the record");
	return r > 0 ? STATUS_OK : r == 0 ? STATUS_NOTHING : STATUS_SELF;
}

static int print_json(const struct diff_view *v)
{
	json_t *o;
	int r = diff_json(cmd_source(v->c), v->d, &o);
	return r < 0 ? r : js_print(o, false);
}

/* Two of the same kind. The status. */
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
	if (diff_builds(c->store, &d, &err) < 0 || trace_lines(c->store, &d, &err) < 0) {
		diff_release(&d);
		return report_err(&err, STATUS_SELF);
	}
	struct diff_view v = {.c = c, .s = c->store, .out = &c->out, .d = &d, .max = o->all ? 0 : 5, .bytes = o->bytes};
	int r = o->json ? print_json(&v) : o->html ? diff_html(&v) : diff_text(&v);
	bool differs = diff_matters(&d);
	diff_release(&d);
	if (r < 0)
		report("cannot read the record");
	return r ? STATUS_SELF : differs ? STATUS_DIFFERS : STATUS_SAME;
}

int cmd_diff(struct cmd *c, const struct opts_diff *o)
{
	static const char *const last_two[] = {"@~1", "@"};
	const char *const *words = c->n_operands ? (const char *const *)c->operands : last_two;
	int n = c->n_operands ? c->n_operands : 2;
	struct target t[2];
	if (n > 2)
		return report_usage(c, "diff compares two things");
	if (o->json + o->html > 1)
		return report_usage(c, "--json or --html, not both");
	if (o->trace)
		return cmd_diff_trace(c, o);
	if (o->spec.n || o->algorithm || o->rank)
		return report_usage(c, "--spec, --algorithm and --rank are of --trace");
	int status = cmd_store(c, o->no_index);
	for (int i = 0; status == STATUS_OK && i < n; i++)
		status = find_compared_target(c, words[i], n - i <= c->n_after_dashes, &t[i]);
	if (status == STATUS_OK && n == 1) {
		if (t[0].kind != TARGET_FILE)
			return report_usage(c, "one run or execution has nothing to be compared with");
		t[1] = t[0];
		status = find_earlier_version(c, words[0], &t[1], &t[0]);
	}
	if (status != STATUS_OK)
		return status == STATUS_NOTHING ? STATUS_USAGE : status;
	if (t[0].kind != t[1].kind)
		return report_usage(c, "'%s' and '%s' are of different kinds", words[0], words[1]);
	return compare_targets(c, o, t);
}
