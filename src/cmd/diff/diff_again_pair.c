#include "cmd/diff/diff_again_pair.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ASK_BEYOND 60 /* seconds that are spent without asking */

bool again_pair_make(struct cmd *c, const struct opts_diff *o, struct trace_comparison *j, const struct trace_pair *p,
                     struct traced_again *ret_again, struct again_pair *ret)
{
	*ret = (struct again_pair){.job = {.c = c, .o = o, .set = j->set, .ret = ret_again},
	                           .pid = {p->c.thread[0].info.pid, p->c.thread[1].info.pid}};
	for (int s = 0; s < 2; s++) {
		const char *slash = strrchr(p->side[s].exe, '/');
		ret->programs[s] = strdup(slash ? slash + 1 : p->side[s].exe);
	}
	ret_again->needs[0] = ret_again->needs[1] = true;
	return ret->programs[0] && ret->programs[1];
}

void again_pair_release(struct again_pair *z)
{
	free(z->programs[0]);
	free(z->programs[1]);
}

/* Whether step i of a side is to be run again: of a whole run, without a partner, or of the process in question. */
static bool is_wanted(const struct again_pair *z, int side, size_t i)
{
	const struct again_side *s = &z->job.ret->plan.side[side];
	return s->whole || s->v[i].pair == AGAIN_NONE || s->v[i].pid == z->pid[side];
}

/* Is a program of both sides' plan the one that is looked into? */
static bool is_planned(const struct again_pair *z)
{
	bool found[2] = {false, false};
	for (int k = 0; k < 2; k++) {
		const struct again_side *s = &z->job.ret->plan.side[k];
		for (size_t i = 0; i < s->n; i++)
			found[k] |= s->whole || (s->v[i].pair != AGAIN_NONE && s->v[i].pid == z->pid[k]);
	}
	return found[0] && found[1];
}

/* Plans the steps to run again in z->job; whole: the runs as they were, else single steps. 0, -errno with a sentence.
 * */
static int plan_once(struct again_pair *z, bool whole, struct err *err)
{
	struct again_job *j = &z->job;
	struct diff d;
	const store_id ids[2] = {j->set[0].run, j->set[1].run};
	struct diff_options options = {.system_extra = config_get(&j->c->config, CONFIG_system),
	                               .skew = config_duration(&j->c->config, CONFIG_skew)};
	struct witness_options w = {.system_extra = options.system_extra};
	struct buf kept = {0};
	int r = diff_make(j->c->store, DIFF_RUN, ids, &options, err, &d);
	if (r < 0)
		return r;
	buf_printf(&kept, "%s/%s", j->ret->folder, whole ? "kept" : "tmp");
	again_release(&j->ret->plan);
	r = kept.failed
	        ? -ENOMEM
	        : again_plan(j->c->store, &d, &w, store_home(j->c->store), buf_cstr(&kept), whole, err, &j->ret->plan);
	buf_release(&kept);
	diff_release(&d);
	return r;
}

int again_pair_plan(struct again_pair *z, struct err *err)
{
	if (again_job_folder(&z->job) != STATUS_OK)
		return -EIO;
	z->job.programs = z->programs;
	int r = plan_once(z, false, err);
	return r == 0 && !is_planned(z) ? plan_once(z, true, err) : r;
}

const char *again_pair_may_run(const struct again_pair *z, const char *what, double seconds)
{
	const struct again_job *j = &z->job;
	char answer[16];
	for (int k = 0; k < 2; k++) {
		if (again_job_lacks(j, k))
			return "it cannot be run again as it was: see stemma diff --trace --no-rerun of runs without traces";
		if (rerun_is_own(j->c->store, j->set[k].run, store_home(j->c->store)) != 1)
			return "it was not run again: you did not make this record on this machine";
	}
	if (seconds >= 0)
		fprintf(stderr, "stemma: A and B are run again, %s: about %.1f s\n", what, seconds);
	if (j->o->rerun || (seconds >= 0 && seconds * 2 <= ASK_BEYOND))
		return NULL;
	if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO))
		return "it was not run again, as that may take more than a minute: use --rerun";
	fputs("run them again? [y/N] ", stderr);
	return fgets(answer, sizeof(answer), stdin) && (*answer == 'y' || *answer == 'Y') ? NULL : "it was not run again";
}

int again_pair_run(struct again_pair *z, int side, unsigned round)
{
	struct again_job *j = &z->job;
	int status = again_job_begin_round(j, side, round);
	for (size_t i = 0; status == STATUS_OK && i < j->ret->plan.side[side].n; i++)
		if (is_wanted(z, side, i))
			status = again_job_run_step(j, side, i);
	return status;
}
