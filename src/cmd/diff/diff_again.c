#include "cmd/diff/diff_again.h"

#include "cmd/diff/diff_again_run.h"
#include "cmd/ui/columns.h"
#include "cmd/ui/js_print.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- what is said ---- */

/* On f: the head and the command, cut to the screen. */
static void put_command(FILE *f, const struct screen *out, const char *head, const char *text)
{
	struct buf b = {0}, name = {0};
	fmt_name(&name, str_of(text));
	buf_printf(&b, "%-26s %s", head, buf_cstr(&name));
	if (out->tty)
		fmt_fit(&b, 0, (size_t)out->width, out->utf8);
	fprintf(f, "%s\n", buf_cstr(&b));
	buf_release(&b);
	buf_release(&name);
}

/* What would be run, and what is not to be had for it. */
static void print_rerun_plan(const struct again_job *j, FILE *f)
{
	char head[64];
	for (int k = 0; k < 2; k++) {
		const struct again_side *s = &j->ret->plan.side[k];
		if (!j->ret->needs[k])
			continue;
		for (size_t i = 0; i < s->n; i++) {
			bool traced = s->whole || s->v[i].pair != AGAIN_NONE;
			snprintf(head, sizeof(head), "%c  %s", "AB"[k],
			         s -> whole    ? "the whole command"
			              : traced ? "run and traced"
			                       : "run for its outputs");
			put_command(f, &j->c->out, head, s->v[i].shown);
		}
		if (s->whole && s->n) {
			snprintf(head, sizeof(head), "%c  because", "AB"[k]);
			put_command(f, &j->c->out, head, s->whole);
			for (size_t i = 0; j->ret->plan.programs[i]; i++)
				put_command(f, &j->c->out, i ? "" : "   traced", j->ret->plan.programs[i]);
		}
	}
}

/* Does a step read the file? */
static bool is_read(const struct again_side *s, size_t file)
{
	for (size_t t = 0; t < s->n; t++)
		for (size_t q = 0; q < s->v[t].n_files; q++)
			if (s->v[t].files[q] == file)
				return true;
	return false;
}

bool again_job_lacks(const struct again_job *j, int side)
{
	const struct again_side *s = &j->ret->plan.side[side];
	bool lacks = s->refused != NULL;
	for (size_t i = 0; i < s->n_files; i++)
		lacks |= is_read(s, i) && rerun_lacks(&s->files[i].f);
	return lacks;
}

double again_job_seconds(const struct again_job *j, int side)
{
	const struct again_side *s = &j->ret->plan.side[side];
	double sum = 0;
	struct run_info run;
	struct exec_info x;
	if (s->whole) {
		bool known = store_run_told(j->c->store, s->run, &run) > 0 && run.end != TIME_NONE && run.end >= run.start;
		return known ? (double)(run.end - run.start) / 1e9 : -1;
	}
	for (size_t i = 0; i < s->n; i++) {
		if (store_exec(j->c->store, s->v[i].exec, &x) <= 0 || x.end == TIME_NONE || x.end < x.start)
			return -1;
		sum += (double)(x.end - x.start) / 1e9;
	}
	return sum;
}

/* Files that are not to be had, each once. Are there any? */
static bool report_missing(const struct again_job *j)
{
	bool any = false;
	for (int k = 0; k < 2; k++) {
		const struct again_side *s = &j->ret->plan.side[k];
		if (!j->ret->needs[k])
			continue;
		if (s->refused) {
			report("run %c cannot be repeated: %s", "AB"[k], s -> refused);
			any = true;
		}
		for (size_t i = 0; i < s->n_files; i++) {
			const struct rerun_file *x = &s->files[i].f;
			if (!is_read(s, i) || !rerun_lacks(x))
				continue;
			struct buf b = {0};
			fmt_name(&b, str_of(x->name));
			const char *slash = strrchr(x->path, '/');
			bool program = !strcmp(slash ? slash + 1 : x->path, s->files[i].reader);
			report("run %c cannot be repeated: %s, %s%s%s, %s", "AB"[k], buf_cstr(&b),
			       program ? "the program" : "which ", program ? "" : s->files[i].reader, program ? "" : " read",
			       x->state == RERUN_GONE      ? "no longer exists, and there is no copy"
			       : x->state == RERUN_DIFFERS ? "has changed, and there is no copy"
			                                   : "may have changed, and there is no copy");
			buf_release(&b);
			any = true;
		}
	}
	return any;
}

/* What would be run again of either side, and what is missing. Gives the exit status. */
static int print_rerun_plan_json(const struct again_job *j)
{
	static const char *const names[] = {"a", "b"};
	json_t *o = json_object(), *again = json_object(), *programs = json_array();
	js_num(o, "format", 1);
	for (size_t i = 0; j->ret->plan.programs && j->ret->plan.programs[i]; i++)
		js_add(programs, js_string(str_of(j->ret->plan.programs[i])));
	js_put(again, "programs", programs);
	for (int k = 0; k < 2; k++) {
		const struct again_side *s = &j->ret->plan.side[k];
		json_t *side = json_object(), *steps = json_array(), *missing = json_array();
		js_text(side, "run", s->ulid);
		js_bool(side, "needed", j->ret->needs[k]);
		js_put(side, "whole", s->whole ? js_string(str_of(s->whole)) : json_null());
		js_put(side, "refused", s->refused ? js_string(str_of(s->refused)) : json_null());
		for (size_t i = 0; i < s->n; i++) {
			json_t *step = json_object();
			js_str(step, "command", str_of(s->v[i].shown));
			js_bool(step, "traced", s->whole || s->v[i].pair != AGAIN_NONE);
			js_add(steps, step);
			for (size_t q = 0; q < s->v[i].n_files; q++) {
				const struct rerun_file *x = &s->files[s->v[i].files[q]].f;
				if (!rerun_lacks(x))
					continue;
				json_t *m = json_object();
				js_str(m, "name", str_of(x->name));
				js_text(m, "state", rerun_state_name(x->state));
				js_add(missing, m);
			}
		}
		js_put(side, "steps", steps);
		js_put(side, "missing", missing);
		js_put(again, names[k], side);
	}
	js_put(o, "rerun", again);
	return js_print(o, false);
}

/* ---- the sets of traces ---- */

int again_job_take_in(const struct again_job *j, int side, struct trace_set *set)
{
	const struct again_side *s = &j->ret->plan.side[side];
	struct err err = {0};
	int r = 0;
	set->home = store_home(j->c->store);
	for (size_t i = 0; r == 0 && i < s->n; i++) {
		bool traced = s->whole || s->v[i].pair != AGAIN_NONE;
		char name[40];
		set->group = s->whole ? 0 : s->v[i].pair;
		snprintf(name, sizeof(name), "trace/%zu", set->group);
		char *path = traced ? again_job_path(j, side, name) : NULL;
		if (path)
			r = trace_set_add_folder(set, path, &err);
		free(path);
	}
	if (r == 0)
		r = trace_set_settle(set, &err);
	return r < 0 ? report_err(&err, STATUS_SELF) : STATUS_OK;
}

/* Takes in the traces of one side: of a run that was run again the new ones, of a run that was traced only those that
 * the other side has something to compare with. 0, or an exit status after a report. */
static int take_in(struct again_job *j, int side)
{
	struct trace_set *set = &j->set[side];
	const struct again_side *s = &j->ret->plan.side[side];
	struct err err = {0};
	int r = 0;
	if (!j->ret->needs[side]) {
		/* Of a run that was traced, those that the other side has something to compare with. */
		for (size_t i = 0; i < set->n; i++) {
			struct trace_file *f = &set->v[i];
			bool wanted = false;
			for (size_t k = 0; !s->whole && k < s->n; k++)
				if (s->v[k].pair != AGAIN_NONE && s->v[k].pid == f->info.pid) {
					wanted = true;
					f->group = s->v[k].pair;
				}
			const char *slash = strrchr(f->info.exe, '/');
			for (size_t k = 0; s->whole && j->ret->plan.programs[k]; k++)
				wanted |= !strcmp(j->ret->plan.programs[k], slash ? slash + 1 : f->info.exe);
			if (!wanted) {
				free(f->path);
				memmove(f, f + 1, (set->n - i - 1) * sizeof(*f));
				set->n--;
				i--;
			}
		}
		r = trace_set_settle(set, &err);
		return r < 0 ? report_err(&err, STATUS_SELF) : STATUS_OK;
	}
	return again_job_take_in(j, side, set);
}

/* ---- the whole ---- */

/* Why there is nothing to run again. The exit status. */
static int report_empty_plan(const struct again_job *j)
{
	struct buf b = {0};
	if (!j->ret->plan.untraced && j->ret->plan.unpaired) {
		report("each program that differs ran in one of the two runs only, so there is no pair to trace");
		return STATUS_USAGE;
	}
	if (!j->ret->plan.untraced) {
		puts("no program differs in inputs, arguments or exit status: there is nothing to run again");
		return STATUS_OK;
	}
	fmt_name(&b, str_of(j->ret->plan.first_untraced ? j->ret->plan.first_untraced : "-"));
	if (j->ret->plan.untraced_gone) {
		report("%s, which ran differently, no longer exists%s", buf_cstr(&b),
		       j->ret->plan.untraced > 1 ? "; others cannot be traced" : "");
		report_hint("restore it (stemma show shows how it was built), then use diff --trace --rerun");
	} else {
		report("none of the programs that ran differently can be traced: %s%s", buf_cstr(&b),
		       j->ret->plan.untraced > 1 ? " and others" : "");
		report_hint("link programs for tracing with stemma cc --trace");
	}
	buf_release(&b);
	return STATUS_USAGE;
}

/* Does the user agree that commands are run again? By --rerun, or by what the user answers; without a terminal no. */
static bool agreed(const struct again_job *j)
{
	char answer[16];
	if (j->o->rerun)
		return true;
	if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO)) {
		report_hint("use --rerun to run these again, confined; stemma run --trace records traces directly");
		return false;
	}
	fputs("run them again in a new folder? [y/N] ", stderr);
	return fgets(answer, sizeof(answer), stdin) && (*answer == 'y' || *answer == 'Y');
}

/* Says how the missing files can be had. */
static void report_missing_hint(void)
{
	report_hint("restore the missing files, or repeat both runs with stemma run --trace; stemma run --keep-inputs "
	            "keeps copies of inputs");
}

/* A status, and it was said. STATUS_USAGE: a run that is to be run again is not of this user's own record. */
static int check_owner(const struct again_job *j)
{
	for (int k = 0; k < 2; k++)
		if (j->ret->needs[k] && rerun_is_own(j->c->store, j->set[k].run, store_home(j->c->store)) != 1) {
			report(
			    "%c is not run again: you did not make this record on this machine, and its author chose the commands",
			    "AB"[k]);
			report_hint("use stemma rerun --trust to run it, confined");
			return STATUS_USAGE;
		}
	return STATUS_OK;
}

int again_job_check(const struct again_job *j)
{
	if (report_missing(j)) {
		report_missing_hint();
		return STATUS_USAGE;
	}
	return check_owner(j);
}

/* An exit status; what cannot be done was reported. */
static int plan_and_trace(struct again_job *j)
{
	struct err err = {0};
	struct diff d;
	const store_id ids[2] = {j->set[0].run, j->set[1].run};
	struct diff_options options = {.system_extra = config_get(&j->c->config, CONFIG_system),
	                               .skew = config_duration(&j->c->config, CONFIG_skew)};
	struct witness_options w = {.system_extra = options.system_extra};
	struct buf kept = {0};
	int status = again_job_folder(j);
	if (status != STATUS_OK)
		return status;
	if (diff_make(j->c->store, DIFF_RUN, ids, &options, &err, &d) < 0)
		return report_err(&err, STATUS_SELF);
	buf_printf(&kept, "%s/kept", j->ret->folder);
	int r = again_plan(j->c->store, &d, &w, store_home(j->c->store), buf_cstr(&kept), false, &err, &j->ret->plan);
	buf_release(&kept);
	diff_release(&d);
	if (r < 0)
		return report_err(&err, STATUS_SELF);
	if (!j->ret->plan.pairs)
		return report_empty_plan(j);
	if (j->o->no_rerun && j->o->json)
		return print_rerun_plan_json(j) ? STATUS_SELF : STATUS_OK;
	bool lacks = report_missing(j);
	if (lacks) {
		report_missing_hint();
		if (!j->o->no_rerun)
			return STATUS_USAGE;
	}
	print_rerun_plan(j, j->o->no_rerun ? stdout : stderr);
	if (j->o->no_rerun)
		return lacks ? STATUS_USAGE : STATUS_OK;
	status = check_owner(j);
	if (status != STATUS_OK)
		return status;
	if (!agreed(j))
		return STATUS_USAGE;
	for (int k = 0; status == STATUS_OK && k < 2; k++)
		for (size_t i = 0; j->ret->needs[k] && status == STATUS_OK && i < j->ret->plan.side[k].n; i++)
			status = again_job_run_step(j, k, i);
	for (int k = 0; status == STATUS_OK && k < 2; k++)
		status = take_in(j, k);
	for (int k = 0; status == STATUS_OK && k < 2; k++)
		if (!j->set[k].n) {
			report("the programs left no trace when run again for %c", "AB"[k]);
			for (size_t i = 0; i < j->ret->n_notes; i++)
				report("%s", j->ret->note[i]);
			status = STATUS_USAGE;
		}
	return status;
}

int diff_again(struct cmd *c, const struct opts_diff *o, struct trace_set set[2], struct traced_again *ret)
{
	struct again_job j = {.c = c, .o = o, .set = set, .ret = ret};
	ret->needs[0] = !set[0].n;
	ret->needs[1] = !set[1].n;
	again_listen_begin();
	int status = plan_and_trace(&j);
	again_listen_end();
	again_end_if_stopped(ret);
	/* What was only listed leaves nothing to be compared. */
	return status == STATUS_OK && (!set[0].n || !set[1].n) ? -1 : status;
}
