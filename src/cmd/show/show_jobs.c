#include "cmd/show/show_jobs.h"

#include "cmd/ui/columns.h"
#include "cmd/ui/js_print.h"
#include "cmd/ui/notes_print.h"
#include "query/submit.h"

#define LINES_MAX 20 /* without --all */

static int print_submission(struct cmd *c, const struct submission *one, bool of_job, const char *title)
{
	struct exec_info x;
	struct buf b = {0};
	int r = store_exec(c->store, one->exec, &x);
	if (r <= 0)
		return r;
	buf_printf(&b, "%-12s ", title);
	if (of_job) {
		fmt_name(&b, str_of(one->job));
		buf_printf(&b, "%s  first ", one->sure ? "" : " ?");
	}
	buf_printf(&b, "%.10s  ", x.pub.text);
	r = exec_name(c->store, one->exec, true, 200, &b);
	if (!of_job && !one->sure)
		buf_printf(&b, " ?");
	buf_printf(&b, "  (");
	fmt_time(&b, one->start, true);
	if (!one->sure)
		buf_printf(&b, ", same directory%s", one->named ? " and name" : "");
	buf_char(&b, ')');
	if (c->out.tty)
		fmt_fit(&b, 0, (size_t)c->out.width, c->out.utf8);
	puts(buf_cstr(&b));
	buf_release(&b);
	return r;
}

static int entry(struct cmd *c, const struct submission *one, bool of_job, json_t *list)
{
	struct exec_info x;
	int r = store_exec(c->store, one->exec, &x);
	if (r <= 0)
		return r;
	json_t *o = json_object();
	if (of_job)
		js_text(o, "job", one->job);
	js_pub(o, of_job ? "first" : "id", &x.pub);
	js_list(o, "argv", &x.argv);
	js_time(o, "start", one->start);
	js_text(o, "certainty", one->sure ? "must" : "may");
	js_put(o, "same_name", json_boolean(one->named));
	js_add(list, o);
	return 1;
}

int show_jobs(struct cmd *c, store_id exec, bool all, json_t *json)
{
	struct submissions l = {0};
	int64_t skew = config_duration(&c->config, CONFIG_skew);
	int r = submit_of(c->store, exec, skew, &l);
	bool of_job = false;
	json_t *list = json ? json_array() : NULL;
	for (int pass = 0; pass < 2 && r >= 0; pass++) {
		for (size_t i = 0; i < l.n && r >= 0; i++) {
			if (json)
				r = entry(c, &l.v[i], of_job, list);
			else if (i < LINES_MAX || all)
				r = print_submission(c, &l.v[i], of_job, i ? "" : of_job ? "jobs" : "submitted by");
		}
		if (!json && l.n > LINES_MAX && !all)
			printf("%-12s and %zu more (--all)\n", "", l.n - LINES_MAX);
		if (json && json_array_size(list)) {
			js_put(json, of_job ? "jobs" : "submitted_by", list);
			list = json_array();
		}
		submissions_release(&l);
		of_job = true;
		if (pass == 0 && r >= 0)
			r = submit_jobs(c->store, exec, skew, &l);
	}
	json_decref(list);
	submissions_release(&l);
	return r < 0 ? r : 0;
}
