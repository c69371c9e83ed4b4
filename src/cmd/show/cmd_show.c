/* stemma show: all that is known of one run, file, execution or build. */
#include "cmd/show/show_view.h"

#include <errno.h>

void show_field_str(const char *name, struct str value)
{
	struct buf b = {0};
	fmt_name(&b, value);
	print_field_if(name, &b);
	buf_release(&b);
}

/* ns. Nothing where it is not known. */
void show_field_time(const char *name, int64_t ns)
{
	struct buf b = {0};
	fmt_time(&b, ns, false);
	print_field_if(name, &b);
	buf_release(&b);
}

/* A line for each item; the name stands before the first. */
void show_field_list(const char *name, const struct strlist *l)
{
	struct str s;
	for (size_t pos = 0; strlist_next(l, &pos, &s); name = "")
		show_field_str(name, s);
}

/* As a shell reads it. Nothing where it is empty. */
void show_field_argv(const char *name, const struct strlist *l)
{
	struct buf b = {0};
	fmt_argv(&b, l, false, SIZE_MAX);
	print_field_if(name, &b);
	buf_release(&b);
}

/* One operand as text. 0 or -errno. */
static int print_found(struct cmd *c, const struct opts_show *o, const struct show_found *f, const char *text,
                       bool first, struct err *err, bool *ret_differs)
{
	const struct target *t = &f->target;
	int r = 0;
	if (!first)
		putchar('\n');
	if (f->builds.n)
		r = show_print_build(c, o, &f->builds, f->build, err, ret_differs);
	if (r < 0 || !f->has_target)
		return r;
	if (f->builds.n)
		putchar('\n');
	return t->kind == TARGET_RUN    ? show_print_run(c, o, t->id)
	       : t->kind == TARGET_EXEC ? show_print_exec(c, o, t->id)
	                                : show_print_files(c, o, text, &t->file);
}

/* One operand, as text or (list) JSON. The status, and it was said why. *ret_differs as show_print_build. */
static int show_operand(struct cmd *c, const struct opts_show *o, int i, json_t *list, bool *ret_differs)
{
	struct err err = {0};
	struct show_found f;
	const char *text = c->operands[i];
	int r = show_find(cmd_source(c), text, i >= c->n_operands - c->n_after_dashes, o->sources, &err, &f);
	if (r <= 0)
		report_err(&err, STATUS_SELF);
	cmd_report_namesakes(c, text, r);
	if (r > 0 && f.has_target && f.target.kind == TARGET_RUN)
		cmd_report_rerun(c, text, f.target.id);
	if (r <= 0)
		return cmd_target_status(r);
	err = (struct err){0};
	r = list ? show_json(cmd_source(c), &f, text, o->all, o->sources, &err, list, ret_differs)
	         : print_found(c, o, &f, text, i == 0, &err, ret_differs);
	show_found_release(&f);
	if (r >= 0)
		return STATUS_OK;
	if (err.text[0])
		report_err(&err, 0);
	else
		report("cannot show '%s'", text);
	return STATUS_SELF;
}

/* Gives the exit status: STATUS_NOTHING if a file differs from its record. */
int cmd_show(struct cmd *c, const struct opts_show *o)
{
	bool differs = false;
	if (!c->n_operands)
		return report_usage(c, "show needs a run, a file or an execution");
	int status = cmd_store(c, o->no_index);
	if (status != STATUS_OK)
		return status;
	json_t *list = o->json ? json_array() : NULL;
	for (int i = 0; i < c->n_operands && status != STATUS_SELF; i++) {
		int one = show_print_zarr(c, c->operands[i], list);
		if (one < 0)
			one = show_operand(c, o, i, list, &differs);
		status = one > status ? one : status;
	}
	if (differs && status == STATUS_OK)
		status = STATUS_NOTHING;
	if (!list || status == STATUS_SELF) {
		json_decref(list);
		return status;
	}
	json_t *all = json_object();
	js_num(all, "format", 1);
	js_put(all, "things", list);
	int printed = js_print(all, false);
	return printed != STATUS_OK ? printed : status;
}
