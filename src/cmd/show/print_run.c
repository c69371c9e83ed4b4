/* print_run.c - a run. */
#include "answer/elsewhere.h"
#include "answer/stages/stage_view.h"
#include "base/hash.h"
#include "cmd/show/show_view.h"
#include "query/fold.h"

#include <errno.h>
#include <stdio.h>

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

/* Prints the fields of a run. */
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
		buf_printf(&b, "stemma stopped %llu call%s and used ", (unsigned long long)run->traps, str_plural(run->traps));
		fmt_duration(&b, run->recorder_cpu);
		buf_printf(&b, " of CPU to record the run");
		print_field_if("overhead", &b);
	}
	buf_release(&b);
}

#define RESOURCES_MOST 20000 /* executions that are read to add up what they used */

/* What the run's programs used together, where that is known; of a run with too many, where to ask. 0, -errno. */
static int print_run_resources(struct cmd *c, const struct show_run *p)
{
	struct stage_cost used;
	struct buf b = {0};
	if (p->n > RESOURCES_MOST) {
		printf("%-12s not added up, because the run has too many programs; stemma lineage --stages --json FILE has "
		       "them by rule\n",
		       "resources");
		return 0;
	}
	int r = stage_cost(c->store, p->execs, p->n, &used);
	if (r < 0)
		return r;
	if (used.cpu.known) {
		buf_printf(&b, used.cpu.whole ? "CPU " : "CPU at least ");
		fmt_duration(&b, used.cpu.value);
	}
	if (used.rss.known) {
		buf_printf(&b, b.n ? ", largest program " : "largest program ");
		fmt_size(&b, used.rss.value, false);
	}
	print_field_if("resources", &b);
	buf_release(&b);
	return 0;
}

/* Prints a line for an execution. 0: the record does not have it; -errno. */
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

#define ELSEWHERE_LINES 5

/* What the pass over the executions comes to. */
struct run_pass {
	struct gaps gaps;
	struct fold_memo folds;
	uint64_t lines, counted; /* that are listed; that are folded into others */
	struct idmap left;       /* hashes of the lines of commands that left the run, each once */
	struct buf left_text;    /* of the first of them, printed after the list */
};

/* A command of another host, a batch system, a container: its line, where that is a new one. 0 or more, -errno. */
static int note_elsewhere(struct run_pass *p, const struct strlist *argv)
{
	struct buf line = {0};
	const char *name = "";
	bool is_new = false;
	int r = elsewhere_line(argv, &name, &line);
	if (r > 0 && !idmap_add(&p->left, hash_str(buf_view(&line)) | 1, 0, &is_new))
		r = -ENOMEM;
	if (r > 0 && is_new && p->left.n <= ELSEWHERE_LINES)
		buf_printf(&p->left_text, "%-12s what %s started elsewhere is not recorded; to record it: %s\n",
		           p->left.n == 1 ? "elsewhere" : "", name, buf_cstr(&line));
	buf_release(&line);
	return r;
}

/* One execution: its line, if it has one, and what is told after the list. 0 or more, -errno. */
static int pass_exec(struct cmd *c, const struct opts_show *o, struct run_pass *p, store_id exec, uint64_t *bits)
{
	struct exec_brief brief;
	int r = store_exec_brief(c->store, exec, &brief);
	if (r <= 0)
		return r;
	gaps_add(&p->gaps, exec, brief.gaps);
	*bits &= ~brief.gaps;
	if (!brief.n && !o->all)
		return 0;
	if (brief.n)
		r = note_elsewhere(p, &brief.argv);
	if (r >= 0)
		r = o->all ? 1 : fold_stands_alone(c->store, &p->folds, exec);
	p->counted += r == 0;
	if (r > 0 && (p->lines++ < SHOW_LINES || o->all))
		r = print_exec_line(c, exec);
	return r;
}

/* The executions, and in the pass what of them could not be seen; without --all not those that did nothing of their
 * own. 0 or more, -errno. */
static int print_run_execs(struct cmd *c, const struct opts_show *o, const struct show_run *x, struct run_pass *p)
{
	uint64_t bits = x->run.gaps;
	int r = 0;
	printf("%-12s %zu\n", "executions", x->n);
	for (size_t i = 0; i < x->n && r >= 0; i++)
		r = pass_exec(c, o, p, x->execs[i], &bits);
	if (p->lines > SHOW_LINES && !o->all)
		printf("  and %llu more (--all)\n", (unsigned long long)(p->lines - SHOW_LINES));
	if (p->counted)
		printf("  + %llu folded into others (--all)\n", (unsigned long long)p->counted);
	gaps_add(&p->gaps, 0, bits);
	return r;
}

/* What left the run: a line for each command. */
static void print_elsewhere(struct run_pass *p)
{
	fputs(buf_cstr(&p->left_text), stdout);
	if (p->left.n > ELSEWHERE_LINES)
		printf("%-12s and %zu more\n", "", p->left.n - ELSEWHERE_LINES);
}

static void run_pass_release(struct run_pass *p)
{
	fold_memo_release(&p->folds);
	idmap_release(&p->left);
	buf_release(&p->left_text);
}

int show_print_run(struct cmd *c, const struct opts_show *o, store_id run)
{
	struct run_pass pass = {0};
	struct show_run x;
	int r = show_run_load(cmd_source(c), run, o->all, &x);
	if (r <= 0)
		return r;
	print_run_fields(c, &x.run);
	r = print_run_resources(c, &x);
	if (r >= 0)
		r = notes_print(c->store, NOTES_RUN, run);
	if (r >= 0)
		r = show_print_app_log(c, run, o->all);
	if (r >= 0)
		r = print_run_execs(c, o, &x, &pass);
	if (r >= 0)
		print_elsewhere(&pass);
	if (r >= 0)
		r = show_print_items(c, o, "used", &x.used, true, true);
	if (r >= 0)
		r = show_print_items(c, o, "made", &x.made, false, true);
	if (r >= 0)
		r = gaps_print(c->store, &pass.gaps);
	run_pass_release(&pass);
	show_run_release(&x);
	return r;
}
