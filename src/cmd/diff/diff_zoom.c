#include "cmd/diff/diff_zoom.h"

#include "cmd/diff/diff_again_pair.h"

#include <errno.h>
#include <stdlib.h>

#define PASSES_MAX 4
/* Words that are recorded as they are: 16 MB, which are compared in less than half a second. What is more is divided
 * first, into about so many pieces. */
#define WORDS_DIRECT (4u << 20)
#define PIECES 16384u
#define PIECE_LEAST 4096u
#define WORDS_BEHIND 65536u /* recorded behind the place, so that both meet again */

/* ---- what is looked for ---- */

/* The step of a pair that is looked into: where it is, on both sides. */
static bool find_silent_step(const struct trace_pair *p, size_t ret[2])
{
	const struct difference *d = p->c.n ? &p->c.v[0] : NULL;
	if (p->calls || p->functions || !p->c.thread[0].info.lazy || !p->c.thread[1].info.lazy)
		return false;
	if (d && trace_is_silent(d)) {
		for (int s = 0; s < 2; s++)
			ret[s] = d->d.decision ? d->at[s].step : d->next[s].step;
		return true;
	}
	if (d || !p->c.data || p->c.message || p->c.datum[0].kind != STEP_SILENT)
		return false;
	ret[0] = ret[1] = p->c.datum[0].step;
	return true;
}

/* What STEMMA_TRACE_ZOOM says for both sides, malloc'ed; ends: nothing behind it is wanted. 0, or -errno with a
 * sentence.
 */
static int format_zoom(const struct trace_pair *p, const size_t step[2], bool ends, struct err *err, char *ret[2])
{
	uint64_t from[2], words[2];
	int r = 0;
	for (int s = 0; r == 0 && s < 2; s++)
		r = trace_step_clock(p->atlas, p->side[s].name, s, step[s], err, &from[s], &words[s]);
	for (int s = 0; r == 0 && s < 2; s++) {
		uint64_t most = words[0] > words[1] ? words[0] : words[1], piece = most / PIECES;
		struct buf b = {0};
		piece = most <= WORDS_DIRECT ? 0 : piece < PIECE_LEAST ? PIECE_LEAST : piece;
		buf_printf(&b, "%s:%llu:%llu:%llu:%d", p->side[s].thread, (unsigned long long)from[s],
		           (unsigned long long)(words[s] < UINT64_MAX / 2 ? words[s] + WORDS_BEHIND : words[s]),
		           (unsigned long long)piece, ends);
		free(ret[s]);
		ret[s] = b.failed ? NULL : strdup(buf_cstr(&b));
		r = ret[s] ? 0 : err_set(err, ENOMEM, "cannot plan the second recording");
		buf_release(&b);
	}
	return r;
}

/* ---- running ---- */

struct zoom_job {
	struct again_pair of;
	struct trace_pair *pair;
	const struct trace_noise *noise;
	char *zoom[2];
};

/* How long the steps of both sides took when they were recorded, in seconds; -1: not known. */
static double estimate_seconds(const struct zoom_job *z)
{
	double a = again_job_seconds(&z->of.job, 0), b = again_job_seconds(&z->of.job, 1);
	return a < 0 || b < 0 ? -1 : 2 * a + b; /* A once more */
}

/* A side, recorded as z->zoom says. A status, reported. */
static int run_side(struct zoom_job *z, int side, unsigned round, struct trace_set *ret)
{
	z->of.job.zoom = z->zoom[side];
	int status = again_pair_run(&z->of, side, round);
	return status == STATUS_OK ? again_job_take_in(&z->of.job, side, ret) : status;
}

/* Runs both sides once more and sets what was traced. Gives the exit status. */
static int run_pass(struct zoom_job *z, unsigned round, struct trace_comparison *ret)
{
	int status = run_side(z, 0, round, &ret->set[0]);
	return status == STATUS_OK ? run_side(z, 1, round, &ret->set[1]) : status;
}

/* The pair of the threads that are looked into, of those that were run again. */
static const struct trace_pair *find_same_pair(const struct zoom_job *z, const struct trace_comparison *closer)
{
	const struct trace_pair *p = z->pair;
	for (size_t i = 0; i < closer->view.n; i++) {
		const struct trace_pair *q = &closer->view.v[i];
		bool same = true, parts = trace_parts(q);
		for (int s = 0; s < 2; s++)
			same &= !strcmp(q->side[s].exe, p->side[s].exe) && !strcmp(q->side[s].thread, p->side[s].thread);
		if (same && parts)
			return q;
	}
	return NULL;
}

/* Does it name what differed, and not only that something did, or that the recording ended? */
static bool is_named(const struct trace_pair *q, const struct difference *d)
{
	if (trace_is_silent(d))
		return false;
	return d->next[0].step < q->side[0].steps && d->next[1].step < q->side[1].steps && d->next[0].kind != STEP_MARK &&
	       d->next[1].kind != STEP_MARK;
}

/* Of what was found: those of its differences that stand for the one that had been taken back. */
static void set_closer(struct trace_pair *p, const struct trace_pair *q)
{
	size_t n = 0;
	while (n < q->c.n && is_named(q, &q->c.v[n]))
		n++;
	p->n_closer = p->c.n ? n : 0;
	p->closer = q;
	if (p->c.n)
		p->c.partial = !p->c.result.exact || trace_is_incomplete(p, 0) || trace_is_incomplete(p, 1);
}

/* Is what was looked for named by now? */
static bool is_found(const struct zoom_job *z, const struct trace_pair *q)
{
	bool control = q->c.n && is_named(q, &q->c.v[0]);
	return control || (!z->pair->c.n && q->c.data && q->c.datum[0].kind != STEP_SILENT);
}

/* What was found may be noise, of which nothing is known: A is run once more in the same way, and what differs there is
 * left out. NULL: *q is the answer, else why there is none. */
static const char *leave_noise_out(struct zoom_job *z, struct err *err, struct trace_comparison *closer,
                                   struct trace_noise *ret, const struct trace_pair **q)
{
	struct again_job *j = &z->of.job;
	struct trace_set set = {0};
	struct compare_options o = {.max = 20};
	if (z->noise)
		return NULL;
	int r = run_side(z, 0, PASSES_MAX + 1, &set) == STATUS_OK ? 0 : -EIO;
	if (r == 0)
		r = trace_noise_learn(ret, cmd_source(j->c), &closer->set[0], &set, err);
	trace_set_release(&set);
	ret->again = 1;
	if (r == 0)
		r = trace_compare_beyond(cmd_source(j->c), &o, ret, err, closer);
	if (r < 0)
		return "running it again failed";
	*q = find_same_pair(z, closer);
	return *q && is_found(z, *q) ? NULL : "what differs there also differs between two runs of A: use --repeat 3";
}

/* Pass after pass, until what differs is not one piece. NULL: found; else why not. */
static const char *look_closer(struct zoom_job *z, size_t step[2], struct err *err, struct trace_comparison *ret,
                               struct trace_noise *ret_noise)
{
	const struct trace_pair *at = z->pair;
	struct compare_options o = {.max = 20};
	for (unsigned pass = 1; pass <= PASSES_MAX; pass++) {
		if (format_zoom(at, step, !z->of.job.ret->plan.side[0].whole, err, z->zoom) < 0)
			return "cannot find the part of the program that the traces have only as a hash";
		trace_comparison_release(ret);
		ret->noise = z->noise;
		if (run_pass(z, pass, ret) != STATUS_OK || trace_compare(cmd_source(z->of.job.c), &o, err, ret) < 0)
			return "running it again failed";
		const struct trace_pair *q = find_same_pair(z, ret);
		if (!q)
			return "when run again they did not differ there, or their programs were linked by an older stemma";
		if (is_found(z, q)) {
			const char *why = leave_noise_out(z, err, ret, ret_noise, &q);
			if (!why)
				set_closer(z->pair, q);
			return why;
		}
		if (!find_silent_step(q, step))
			return "when run again, A and B diverged at another place";
		at = q;
	}
	return "cannot locate the difference: it is too small a part of a long computation";
}

/* Runs again with a closer look at where they differ: step of both sides. NULL, or a sentence on why it cannot be. */
static const char *zoom_into(struct zoom_job *z, size_t step[2], struct diff_zoom *ret)
{
	struct err err = {0};
	const char *why = NULL;
	if (again_pair_plan(&z->of, &err) < 0)
		return "it cannot be run again";
	why = again_pair_may_run(&z->of, "to record what their traces have only as a hash", estimate_seconds(z));
	if (!why)
		why = look_closer(z, step, &err, &ret->closer, &ret->noise);
	return why;
}

void diff_zoom(struct cmd *c, const struct opts_diff *o, struct trace_comparison *j, const struct trace_noise *n,
               struct diff_zoom *ret)
{
	size_t step[2], i = 0;
	while (i < j->view.n && !find_silent_step(&j->view.v[i], step))
		i++;
	if (i == j->view.n || o->no_rerun || !j->set[0].run || !j->set[1].run || j->set[0].exec || j->set[1].exec)
		return;
	struct trace_pair *p = &j->view.v[i];
	struct zoom_job z = {.pair = p, .noise = n};
	bool made = again_pair_make(c, o, j, p, &ret->again, &z.of);
	again_listen_begin();
	p->closer_why = made ? zoom_into(&z, step, ret) : "it was not run again: out of memory";
	again_listen_end();
	free(z.zoom[0]);
	free(z.zoom[1]);
	again_pair_release(&z.of);
	if (again_is_stopped()) {
		trace_comparison_release(&ret->closer);
		again_end_if_stopped(&ret->again);
	}
}

/* z itself may not be used afterwards. */
void diff_zoom_release(struct diff_zoom *z)
{
	trace_comparison_release(&z->closer);
	trace_noise_release(&z->noise);
	traced_again_release(&z->again);
}
