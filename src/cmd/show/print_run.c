/* print_run.c - a run. */
#include "answer/elsewhere.h"
#include "cmd/show/show_view.h"

#include <stdio.h>
#include <string.h>

/* How it ended, or whether it still runs. What cannot be told is said to be unknown. */
static void fmt_run_ending(struct cmd *c, const struct run_info *run, struct buf *b)
{
	enum recording state = live_recording(c->store, &c->live, run);
	pid_t standby = state == RECORDING_RUNNING ? live_standby(&c->live, run->ulid) : 0;
	if (standby)
		buf_printf(b, "running (standby: process %d)", standby);
	else if (state == RECORDING_RUNNING)
		buf_printf(b, "it runs");
	else
		fmt_ending(b, run->ending, run->code);
	if (state == RECORDING_CUT_OFF)
		buf_printf(b, " (the recording was cut off: its recorder died)");
	else if (state == RECORDING_UNKNOWN && run->end == TIME_NONE)
		buf_printf(b, " (it runs still, or its record was cut off)");
}

static void print_run_fields(struct cmd *c, const struct run_info *run)
{
	struct buf b = {0};
	show_field_str("run", run->ulid);
	show_field_argv("command", &run->argv);
	show_field_str("directory", run->cwd);
	fmt_who(&b, run->user, run->host);
	print_field_if("by", &b);
	show_field_str("group", run->group);
	show_field_time("start", run->start);
	show_field_time("end", run->end);
	buf_reset(&b);
	fmt_span(&b, run->start, run->end);
	print_field_if("time", &b);
	buf_reset(&b);
	fmt_run_ending(c, run, &b);
	print_field_if("exit", &b);
	show_field_str("within", run->outer);
	show_field_list("label", &run->labels);
	show_field_list("machine", &run->hostinfo);
	show_field_str("recorded", run->mode);
	if (run->traps) {
		buf_reset(&b);
		buf_printf(&b, "%llu call%s stopped, ", (unsigned long long)run->traps, str_plural(run->traps));
		fmt_duration(&b, run->recorder_cpu);
		buf_printf(&b, " of CPU");
		print_field_if("cost", &b);
	}
	buf_release(&b);
}

/* 0: the record does not have it; -errno. */
static int print_exec_line(struct cmd *c, store_id exec)
{
	struct buf b = {0};
	struct exec_info info;
	int r = store_exec(c->store, exec, &info);
	struct pubid pub = r > 0 ? info.pub : (struct pubid){""};
	if (r <= 0)
		return r;
	r = exec_name(c->store, exec, true, 200, &b);
	fmt_fit(&b, 0, c->out.tty ? (size_t)c->out.width - 14 : 200, c->out.utf8);
	printf("  %.10s  %s\n", pub.text, buf_cstr(&b));
	buf_release(&b);
	return r;
}

/* The executions, and in gaps what of them could not be seen; without --all not those that did nothing of their own. 0
 * or more, -errno. */
static int print_run_execs(struct cmd *c, const struct opts_show *o, const struct show_run *p, struct gaps *gaps)
{
	uint64_t bits = p->run.gaps, lines = 0, counted = 0;
	int r = 0;
	printf("%-12s %zu\n", "executions", p->n);
	for (size_t i = 0; i < p->n && r >= 0; i++) {
		struct exec_brief brief;
		r = store_exec_brief(c->store, p->execs[i], &brief);
		if (r <= 0)
			continue;
		gaps_add(gaps, p->execs[i], brief.gaps);
		bits &= ~brief.gaps;
		if (!brief.n && !o->all)
			continue;
		r = o->all ? 1 : show_exec_is_listed(c->store, p->execs[i]);
		counted += r == 0;
		if (r <= 0)
			continue;
		if (lines++ < SHOW_LINES || o->all)
			r = print_exec_line(c, p->execs[i]);
	}
	if (lines > SHOW_LINES && !o->all)
		printf("  and %llu more (--all)\n", (unsigned long long)(lines - SHOW_LINES));
	if (counted)
		printf("  + %llu folded into others (--all)\n", (unsigned long long)counted);
	gaps_add(gaps, 0, bits);
	return r;
}

#define ELSEWHERE_LINES 5

/* What left the run: a line for each command of another host, a batch system, a container. 0, -errno. */
static int print_elsewhere(struct cmd *c, const struct show_run *p)
{
	struct buf all = {0}, line = {0};
	size_t lines = 0;
	int r = 0;
	for (size_t i = 0; i < p->n && r >= 0; i++) {
		struct exec_brief brief;
		const char *name = "";
		r = store_exec_brief(c->store, p->execs[i], &brief);
		if (r <= 0 || !brief.n)
			continue;
		buf_reset(&line);
		r = elsewhere_line(&brief.argv, &name, &line);
		if (r <= 0)
			continue;
		buf_char(&line, '\n');
		if (all.n && memmem(all.p, all.n, line.p, line.n))
			continue;
		buf_str(&all, buf_view(&line));
		if (lines++ < ELSEWHERE_LINES)
			printf("%-12s what %s started elsewhere is not recorded; to record it: %s", lines == 1 ? "elsewhere" : "",
			       name, buf_cstr(&line));
	}
	if (lines > ELSEWHERE_LINES)
		printf("%-12s and %zu more\n", "", lines - ELSEWHERE_LINES);
	buf_release(&all);
	buf_release(&line);
	return r < 0 ? r : 0;
}

int show_print_run(struct cmd *c, const struct opts_show *o, store_id run)
{
	struct gaps gaps = {0};
	struct show_run x;
	int r = show_run_load(cmd_source(c), run, o->all, &x);
	if (r <= 0)
		return r;
	print_run_fields(c, &x.run);
	r = notes_print(c->store, NOTES_RUN, run);
	if (r >= 0)
		r = show_print_app_log(c, run, o->all);
	if (r >= 0)
		r = print_run_execs(c, o, &x, &gaps);
	if (r >= 0)
		r = print_elsewhere(c, &x);
	if (r >= 0)
		r = show_print_items(c, o, "used", &x.used, true, true);
	if (r >= 0)
		r = show_print_items(c, o, "made", &x.made, false, true);
	if (r >= 0)
		r = gaps_print(c->store, &gaps);
	show_run_release(&x);
	return r;
}
