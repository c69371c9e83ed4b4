/* stemma advise: what to ask for, for a task like some before. */
#include "archive/requests.h"
#include "cmd/ui/amount.h"
#include "cmd/ui/columns.h"
#include "keep/write.h"
#include "query/target.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The percentage that n is of `of`. 0 of nothing is 0. */
static double percent_of(size_t n, size_t of)
{
	return of ? 100.0 * (double)n / (double)of : 0;
}

/* Percent of what was allocated and not used; 0 if nothing was. */
static double waste(const struct backtest *b)
{
	return b->allocated > 0 ? 100 * (1 - b->used / b->allocated) : 0;
}

/* ---- text ---- */

/* Adds a row: what the method asks for, and how it would have done before; "-" where that is not known. "*" marks the
 * one that is used. */
static void print_method(const struct advised *of, enum method m, struct table *t)
{
	const struct backtest *b = &of->test[m];
	struct buf ask = {0};
	bool answered = of->answered[m];
	table_cellf(t, "  %s%s", method_name(m), of->known && of->method == m ? " *" : "");
	if (answered)
		amount_put(&ask, (enum figure_name)of->figure, of->answer[m], false, false);
	table_cell(t, answered ? buf_view(&ask) : str_of("-"));
	buf_release(&ask);
	if (b->tasks) {
		table_cellf(t, "%zu", b->tasks);
		table_cellf(t, "%zu (%.1f %%)", b->failed, percent_of(b->failed, b->tasks));
		table_cellf(t, "%.0f %%", waste(b));
	} else {
		for (int i = 0; i < 3; i++)
			table_cell(t, str_of("-"));
	}
}

/* What was looked at, and the answer of each method beside what it would have given. */
static void print_resource(const struct cmd *c, const struct advice *a, enum advice_resource r)
{
	static const char *const heads[] = {"", "ASKS", "TASKS", "FAILED FIRST", "WASTE"};
	const struct advised *of = &a->of[r];
	enum figure_name f = (enum figure_name)of->figure;
	struct buf b = {0};
	buf_printf(&b, "%s (%s): ", advice_name(r), figure_key(f));
	if (!of->tasks) {
		buf_printf(&b, "unknown for all tasks");
		puts(buf_cstr(&b));
		buf_release(&b);
		return;
	}
	buf_printf(&b, "median ");
	amount_put(&b, f, of->median, false, false);
	buf_printf(&b, ", maximum ");
	amount_put(&b, f, of->most, false, false);
	puts(buf_cstr(&b));
	buf_reset(&b);
	if (of->censored || of->bounded || of->absent) {
		const char *comma = "";
		buf_printf(&b, "  of %zu: ", a->tasks);
		if (of->absent) {
			buf_printf(&b, "%zu unknown", of->absent);
			comma = ", ";
		}
		if (of->bounded) {
			buf_printf(&b, "%s%zu upper bounds", comma, of->bounded);
			comma = ", ";
		}
		if (of->censored)
			buf_printf(&b, "%s%zu lower bounds", comma, of->censored);
		puts(buf_cstr(&b));
		buf_reset(&b);
	}
	if (of->line && r != ADVICE_cores) {
		buf_printf(&b, "  by input: ");
		amount_put(&b, f, fabs(of->offset), true, false);
		buf_printf(&b, "%s and ", of->offset < 0 ? " less" : "");
		amount_put(&b, f, of->slope * 1048576, true, false);
		buf_printf(&b, " per MiB (R² %.0f %%)", 100 * of->r2);
		puts(buf_cstr(&b));
	}
	buf_release(&b);
	if (r == ADVICE_cores)
		return;
	struct table t = {.heads = heads, .align = "lrrrr", .n_columns = 5};
	for (int m = 0; m < METHODS; m++)
		print_method(of, (enum method)m, &t);
	table_print(&t, &c->out, 0);
	if (of->open)
		puts("  above every observed sufficient value");
}

/* The amounts as one line; what is 0 is not known and left out. */
static void print_asked(const struct cmd *c, const struct advice *a)
{
	struct amounts n = advice_amounts(a);
	struct buf b = {0};
	printf("%srequest%s ", style_on(&c->out, STYLE_BOLD), style_off(&c->out));
	if (n.memory) {
		buf_printf(&b, "memory ");
		fmt_size(&b, n.memory, false);
	}
	if (n.cores)
		buf_printf(&b, "%s%llu core%s", b.n ? ", " : "", (unsigned long long)n.cores, n.cores == 1 ? "" : "s");
	if (n.wall) {
		buf_printf(&b, "%swall time ", b.n ? ", " : "");
		fmt_duration(&b, n.wall * 1000000000u);
	}
	if (n.disk) {
		buf_printf(&b, "%sdisk ", b.n ? ", " : "");
		fmt_size(&b, n.disk, false);
	}
	puts(b.n ? buf_cstr(&b) : "nothing: all figures of these tasks are unknown");
	buf_release(&b);
}

/* Gives the exit status. */
static int print_advice_text(const struct cmd *c, const struct advice *a)
{
	struct buf b = {0};
	print_asked(c, a);
	buf_printf(&b, "from %zu task%s of the same %s, ", a->tasks, a->tasks == 1 ? "" : "s", task_key_name(a->key));
	fmt_name(&b, str_of(a->like));
	fmt_fit(&b, 0, (size_t)(c->out.width > 20 ? c->out.width : 20), c->out.utf8);
	puts(buf_cstr(&b));
	buf_reset(&b);
	fmt_time(&b, a->first, true);
	buf_printf(&b, " to ");
	fmt_time(&b, a->last, true);
	if (a->cut)
		buf_printf(&b, "; %zu killed", a->cut);
	if (a->failed)
		buf_printf(&b, "; %zu failed", a->failed);
	if (a->input >= 0) {
		buf_printf(&b, "; for ");
		fmt_size(&b, (uint64_t)a->input, false);
		buf_printf(&b, " of input");
	}
	puts(buf_cstr(&b));
	buf_release(&b);
	for (int r = 0; r < ADVICE_RESOURCES; r++) {
		putchar('\n');
		print_resource(c, a, (enum advice_resource)r);
	}
	const struct advised *m = &a->of[ADVICE_memory];
	const struct backtest *line = &m->test[METHOD_regression], *chosen = &m->test[m->method];
	if (a->input < 0 && m->known && line->tasks && line->used * chosen->allocated > chosen->used * line->allocated)
		report_hint("the input size improves the request: use --input SIZE, or name existing files");
	if (a->tasks < 2 * ADVICE_FEW)
		report_hint("few tasks: with %d or more, the method with the least waste is used", 2 * ADVICE_FEW);
	return STATUS_OK;
}

/* ---- JSON ---- */

/* What one method advises, and how it would have done on past tasks. null: the method gave no answer, or was not
 * tested. The caller owns it. */
static json_t *method_json(const struct advised *of, enum method m)
{
	const struct backtest *b = &of->test[m];
	json_t *o = json_object(), *test = json_object();
	if (of->answered[m])
		amount_json(o, "value", (enum figure_name)of->figure, of->answer[m]);
	else
		js_put(o, "value", json_null());
	if (!b->tasks) {
		json_decref(test);
		js_put(o, "backtest", json_null());
		return o;
	}
	js_num(test, "tasks", b->tasks);
	js_num(test, "failed", b->failed);
	js_num(test, "attempts", b->attempts);
	amount_json(test, "allocated", (enum figure_name)of->figure, b->allocated);
	amount_json(test, "used", (enum figure_name)of->figure, b->used);
	js_put(test, "waste_percent", json_real(waste(b)));
	js_put(o, "backtest", test);
	return o;
}

/* Figures that are not known are null. The caller owns it. */
static json_t *resource_json(const struct advised *of)
{
	enum figure_name f = (enum figure_name)of->figure;
	json_t *o = json_object(), *methods = json_object(), *line = json_object();
	js_text(o, "figure", figure_key(f));
	js_text(o, "unit", figure_unit(f));
	js_num(o, "tasks", of->tasks);
	js_num(o, "censored", of->censored);
	js_num(o, "bounded", of->bounded);
	js_num(o, "absent", of->absent);
	amount_json(o, "median", f, of->tasks ? of->median : (double)NAN);
	amount_json(o, "most", f, of->tasks ? of->most : (double)NAN);
	amount_json(o, "value", f, of->known ? of->value : (double)NAN);
	if (of->known)
		js_text(o, "method", method_name(of->method));
	else
		js_put(o, "method", json_null());
	js_bool(o, "beyond_history", of->open);
	for (int m = 0; m < METHODS; m++)
		js_put(methods, method_name((enum method)m), method_json(of, (enum method)m));
	js_put(o, "methods", methods);
	if (of->line) {
		amount_json(line, "offset", f, of->offset);
		amount_json(line, "per_byte", f, of->slope);
		js_put(line, "r_squared", json_real(of->r2));
		js_put(o, "line", line);
	} else {
		json_decref(line);
		js_put(o, "line", json_null());
	}
	return o;
}

/* Gives the exit status. */
static int print_advice_json(const struct advice *a)
{
	struct amounts n = advice_amounts(a);
	json_t *o = json_object(), *ask = json_object(), *resources = json_object();
	js_num(o, "format", 1);
	js_text(o, "key", task_key_name(a->key));
	js_str(o, "like", str_of(a->like));
	js_num(o, "tasks", a->tasks);
	js_num(o, "killed", a->cut);
	js_num(o, "failed", a->failed);
	js_time(o, "first", a->first);
	js_time(o, "last", a->last);
	if (a->input >= 0)
		js_put(o, "input", json_integer((json_int_t)a->input));
	else
		js_put(o, "input", json_null());
	js_num(ask, "memory", n.memory);
	js_num(ask, "cores", n.cores);
	js_num(ask, "wall", n.wall);
	js_num(ask, "disk", n.disk);
	js_put(o, "ask", ask);
	for (int r = 0; r < ADVICE_RESOURCES; r++)
		js_put(resources, advice_name((enum advice_resource)r), resource_json(&a->of[r]));
	js_put(o, "resources", resources);
	return js_print(o, false);
}

/* ---- all ---- */

/* Reads a percentage as a share. *ret: above 0 and below 1. A status, reported. */
static int take_percent(const struct cmd *c, const char *option, const char *text, double *ret)
{
	char *end;
	double v = strtod(text, &end);
	if (end == text || *end || !(v > 0) || !(v < 100))
		return report_usage(c, "--%s takes a percentage above 0 and below 100", option);
	*ret = v / 100;
	return STATUS_OK;
}

/* *where is the caller's in any case. A status, reported. */
static int take_options(struct cmd *c, const struct opts_advise *o, struct advice_options *ret, struct where **where)
{
	struct err err = {0};
	int status = STATUS_OK;
	int64_t input = -1;
	*ret = (struct advice_options){.method = -1, .input = -1, .system_extra = config_get(&c->config, CONFIG_system)};
	if (o->quantile)
		status = take_percent(c, "quantile", o->quantile, &ret->quantile);
	if (status == STATUS_OK && o->failures)
		status = take_percent(c, "failures", o->failures, &ret->retries);
	if (status == STATUS_OK && o->method && strcmp(o->method, "auto") != 0 &&
	    (ret->method = method_by_name(o->method)) < 0)
		status = report_usage(
		    c, "--method is auto, maximum, quantile, waste, throughput, regression, regression97 or regression95");
	if (status == STATUS_OK && o->input && (where_value(str_of(o->input), "B", 0, &input) < 0 || input < 0))
		status = report_usage(c, "--input takes a size, such as 500M or 2G");
	ret->input = (double)input;
	if (status == STATUS_OK && o->where && where_parse(o->where, keep_now(), &err, where) < 0)
		status = report_err(&err, STATUS_USAGE);
	ret->where = *where;
	return status;
}

/* Prints what to request for the next task. request: the form of a batch system's lines, less than 0: text or JSON.
 * A status, reported. */
static int print_advice(struct cmd *c, const struct opts_advise *o, const struct advice_options *ao, int request)
{
	struct err err = {0};
	struct target t = {0};
	struct advice a;
	struct buf lines = {0};
	int r = 1;
	if (o->like) {
		r = target_any(c->store, o->like, false, &err, &t);
		if (r <= 0)
			return report_err(&err, cmd_target_status(r));
		if (t.kind != TARGET_RUN)
			return report_usage(c, "--like takes a run");
	}
	r = advise_task(c->store, ao, o->like ? NULL : c->operands, t.id, &err, &a);
	if (r <= 0)
		return report_err(&err, r == 0 || r == -ENOENT ? STATUS_NOTHING : STATUS_SELF);
	int status;
	if (request < 0) {
		status = o->json ? print_advice_json(&a) : print_advice_text(c, &a);
	} else {
		status = request_write((enum request)request, &a, &lines) < 0 ? STATUS_SELF : STATUS_OK;
		fputs(buf_cstr(&lines), stdout);
		if (status == STATUS_OK && !lines.n) {
			report("no request: the record has no measured value of a similar task");
			report_hint("stemma run measures each command unless the setting 'measure' is off");
			status = STATUS_NOTHING;
		}
		buf_release(&lines);
	}
	if (o->method && strcmp(o->method, "auto") != 0)
		for (int i = 0; i < ADVICE_cores; i++)
			if (a.of[i].tasks && !a.of[i].answered[ao->method])
				report("%s cannot be applied to %s; using maximum", o->method, advice_name((enum advice_resource)i));
	advice_release(&a);
	return status;
}

/* Gives the exit status. */
int cmd_advise(struct cmd *c, const struct opts_advise *o)
{
	struct advice_options ao;
	struct where *where = NULL;
	bool other = o->format && strcmp(o->format, "text") != 0;
	int request = other ? request_by_name(o->format) : -1;
	if (!c->n_operands == !o->like)
		return report_usage(c, "advise needs a command, or --like and a run");
	if (other && request < 0)
		return report_usage(c, "--format is text, slurm, pbs, htcondor, nextflow, snakemake or stemma");
	if (o->json && request >= 0)
		return report_usage(c, "one of --json and --format");
	int status = take_options(c, o, &ao, &where);
	if (status == STATUS_OK)
		status = cmd_store(c, o->no_index);
	if (status == STATUS_OK)
		status = print_advice(c, o, &ao, request);
	where_free(where);
	return status;
}
