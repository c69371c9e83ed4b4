/* print_jobs.c - jobs and submissions of an execution. */
#include "cmd/show/show_view.h"
#include "query/submit/submit.h"

#define LINES_MAX 20 /* without --all */

/* Prints an execution that submitted a job, or was submitted. 0: the record does not have it; 1 or 0; -errno. */
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

int show_print_jobs(struct cmd *c, store_id exec, bool all)
{
	int64_t skew = cmd_source(c)->skew;
	int r = 0;
	for (int of_job = 0; of_job < 2 && r >= 0; of_job++) {
		struct submissions l = {0};
		r = of_job ? submit_jobs(c->store, exec, skew, &l) : submit_of(c->store, exec, skew, &l);
		for (size_t i = 0; i < l.n && (i < LINES_MAX || all) && r >= 0; i++)
			r = print_submission(c, &l.v[i], of_job, i ? "" : of_job ? "jobs" : "submitted by");
		if (l.n > LINES_MAX && !all)
			printf("%-12s and %zu more (--all)\n", "", l.n - LINES_MAX);
		submissions_release(&l);
	}
	return r < 0 ? r : 0;
}
