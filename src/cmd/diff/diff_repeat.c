#include "cmd/diff/diff_repeat.h"

#include "answer/trace/trace_repetitions.h"
#include "base/digest.h"
#include "base/io.h"
#include "cmd/diff/diff_again_run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define ASK_BEYOND 60 /* seconds that are spent without asking */

/* ---- of the record ---- */

/* Were both traced in the same way? */
static bool is_of_one_mode(const struct trace_set *a, const struct trace_set *b)
{
	return a->n && b->n && a->v[0].info.lazy == b->v[0].info.lazy && a->v[0].calls == b->v[0].calls;
}

/* From the repetitions that are recorded, of the mode of the first. An exit status; a failure was reported. */
static int learn_recorded(struct cmd *c, const struct trace_comparison *j, struct trace_noise *ret)
{
	struct err err = {0};
	store_id ids[TRACE_REPETITIONS];
	const struct answer_source *a = cmd_source(c);
	int n = trace_repetitions(a, j->set[0].run, j->set[1].run, &err, ids), r = n < 0 ? n : 0;
	for (int i = 0; r == 0 && i < n; i++) {
		struct trace_set set = {.run = ids[i]};
		r = trace_set_of_run(c->store, ids[i], 0, &err, &set);
		if (r == 0 && is_of_one_mode(&j->set[0], &set)) {
			r = trace_noise_learn(ret, a, &j->set[0], &set, &err);
			ret->recorded++;
		}
		trace_set_release(&set);
	}
	return r < 0 ? report_err(&err, STATUS_SELF) : STATUS_OK;
}

/* ---- run again ---- */

/* Last parts of the paths of the programs that a set has traces of; free each and the array. NULL without memory. */
static char **list_programs(const struct trace_set *s)
{
	char **v = calloc(s->n + 1, sizeof(*v));
	size_t n = 0;
	for (size_t i = 0; v && i < s->n; i++) {
		bool there = false;
		for (size_t k = 0; k < n; k++)
			there |= !strcmp(v[k], trace_program(&s->v[i]));
		if (!there && !(v[n++] = strdup(trace_program(&s->v[i])))) {
			for (size_t k = 0; k + 1 < n; k++)
				free(v[k]);
			free(v);
			return NULL;
		}
	}
	return v;
}

/* v ends with NULL, and may be NULL. */
static void free_programs(char **v)
{
	for (size_t i = 0; v && v[i]; i++)
		free(v[i]);
	free(v);
}

/* Of a run whose traces are of the record: its whole command. A status, reported. */
static int plan_command(struct again_job *j)
{
	struct err err = {0};
	struct diff d;
	const store_id ids[2] = {j->set[0].run, j->set[0].run};
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
	int r = kept.failed
	            ? -ENOMEM
	            : again_plan(j->c->store, &d, &w, store_home(j->c->store), buf_cstr(&kept), true, &err, &j->ret->plan);
	buf_release(&kept);
	diff_release(&d);
	if (r < 0)
		return report_err(&err, STATUS_SELF);
	j->ret->needs[0] = true;
	j->ret->needs[1] = false;
	return again_job_check(j);
}

/* Shows what it will cost, and asks where that is much or not known. */
static bool is_cost_accepted(const struct again_job *j, unsigned times)
{
	double one = again_job_seconds(j, 0), all = one * times;
	char answer[16];
	if (one < 0)
		report_line("A is run again; how long it takes is not known");
	else
		fprintf(stderr, "stemma: A is run again %u time%s, about %.1f s\n", times, str_plural(times), all);
	if ((one >= 0 && all <= ASK_BEYOND) || j->o->rerun)
		return true;
	if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO)) {
		report_hint("use --rerun if it may take that long");
		return false;
	}
	fputs("run it again? [y/N] ", stderr);
	return fgets(answer, sizeof(answer), stdin) && (*answer == 'y' || *answer == 'Y');
}

/* The bytes of a file that a round made, as a text; "-": it made none; "" cannot be read. */
static void describe_file(const struct again_job *j, unsigned round, const char *inner, char ret[DIGEST_TEXT])
{
	struct again_job of = *j;
	struct digest d;
	struct stat st;
	struct buf path = {0};
	of.round = round;
	char *work = again_job_path(&of, 0, "work");
	buf_printf(&path, "%s%s", work ? work : "", inner);
	*ret = '\0';
	if (work && !path.failed && lstat(buf_cstr(&path), &st) < 0)
		snprintf(ret, DIGEST_TEXT, "-");
	else if (work && !path.failed && S_ISREG(st.st_mode) && digest_file(NULL, AT_FDCWD, buf_cstr(&path), &d, NULL) == 0)
		digest_text(&d, ret);
	buf_release(&path);
	free(work);
}

/* Files of A's that two rounds left with other bytes. 0, -ENOMEM. */
static int learn_files(const struct again_job *j, unsigned first, unsigned round, struct trace_noise *n)
{
	const struct again_side *s = &j->ret->plan.side[0];
	size_t cwd = strlen(s->cwd);
	char one[DIGEST_TEXT], other[DIGEST_TEXT];
	for (size_t i = 0; i < s->n; i++)
		for (size_t k = 0; k < s->v[i].n_made; k++) {
			const char *path = s->v[i].made[k].path;
			if (strncmp(path, s->cwd, cwd) != 0 || path[cwd] != '/')
				continue;
			describe_file(j, first, path + cwd, one);
			describe_file(j, round, path + cwd, other);
			if (strcmp(one, other) != 0 && trace_noise_add_file(n, path) < 0)
				return -ENOMEM;
		}
	return 0;
}

/* An exit status. */
static int run_round(struct again_job *j, unsigned round)
{
	int status = again_job_begin_round(j, 0, round);
	for (size_t i = 0; status == STATUS_OK && i < j->ret->plan.side[0].n; i++)
		status = again_job_run_step(j, 0, i);
	return status;
}

/* Runs it once more and learns what differs from `base`. The folder of its work is removed. An exit status. */
static int run_and_learn(struct again_job *j, unsigned round, const struct trace_set *base, unsigned base_round,
                         struct trace_noise *n)
{
	struct err err = {0};
	struct trace_set set = {0};
	int r = 0, status = run_round(j, round);
	if (status == STATUS_OK)
		status = again_job_take_in(j, 0, &set);
	if (status == STATUS_OK) {
		r = trace_noise_learn(n, cmd_source(j->c), base, &set, &err);
		if (r == 0 && learn_files(j, base_round, round, n) < 0)
			r = err_set(&err, ENOMEM, "cannot compare the files");
		status = r < 0 ? report_err(&err, STATUS_SELF) : STATUS_OK;
	}
	n->again++;
	trace_set_release(&set);
	char *work = again_job_path(j, 0, "work"); /* the traces stay, and go with the folder */
	if (work)
		io_remove_all(work);
	free(work);
	return status;
}

/* Repetitions of what is the first round already (A was run for its traces), or of a first one that is made now: what a
 * recorded run has in common with none of those that are confined is no noise. A status, reported. */
static int repeat_rounds(struct again_job *j, const struct trace_set *recorded, struct trace_noise *n)
{
	const unsigned times = (unsigned)j->o->repeat;
	struct trace_set first = {0};
	struct err err = {0};
	int status = STATUS_OK;
	unsigned round = 1;
	if (!is_cost_accepted(j, times + (recorded ? 1 : 0)))
		return STATUS_USAGE;
	if (recorded) {
		status = run_round(j, round++);
		if (status == STATUS_OK)
			status = again_job_take_in(j, 0, &first);
	}
	for (unsigned i = 0; status == STATUS_OK && i < times; i++)
		status = run_and_learn(j, round++, recorded ? &first : &j->set[0], recorded ? 1 : 0, n);
	if (status == STATUS_OK && recorded && trace_noise_look_for_strays(n, cmd_source(j->c), recorded, &first, &err) < 0)
		status = report_err(&err, STATUS_SELF);
	trace_set_release(&first);
	return status;
}

/* An exit status; what was learnt is dropped if it was stopped. */
static int learn_by_running(struct cmd *c, const struct opts_diff *o, struct trace_comparison *k,
                            struct traced_again *again, struct trace_noise *n)
{
	struct again_job j = {
	    .c = c, .o = o, .set = k->set, .ret = again, .full = k->set[0].n && !k->set[0].v[0].info.lazy};
	char **programs = NULL;
	bool was_run = again->needs[0];
	int status = STATUS_OK;
	again_listen_begin();
	if (!was_run) {
		again_release(&again->plan); /* it may be of B alone, whose traces stay */
		j.programs = programs = list_programs(&k->set[0]);
		status = programs ? plan_command(&j) : STATUS_SELF;
	}
	if (status == STATUS_OK)
		status = repeat_rounds(&j, was_run ? NULL : &k->set[0], n);
	free_programs(programs);
	again_listen_end();
	if (again_is_stopped()) {
		trace_noise_release(n);
		again_end_if_stopped(again);
	}
	return status;
}

int diff_repeat(struct cmd *c, const struct opts_diff *o, struct trace_comparison *j, struct traced_again *again,
                struct trace_noise *ret)
{
	bool recorded = j->set[0].run && !j->set[0].exec && j->set[1].run;
	int status = STATUS_OK;
	if (o->repeat && (!j->set[0].run || j->set[0].exec || j->set[0].v[0].calls)) {
		report("--repeat needs a run with traces of functions as the first operand");
		report_hint("record it with stemma run --trace");
		return STATUS_USAGE;
	}
	if (recorded && !again->needs[0])
		status = learn_recorded(c, j, ret);
	if (status == STATUS_OK && o->repeat)
		status = learn_by_running(c, o, j, again, ret);
	return status;
}
