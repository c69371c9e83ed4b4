#include "cmd/diff/diff_prove.h"

#include "answer/fmt.h"
#include "base/digest.h"
#include "cmd/diff/diff_again_pair.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TRIED_MAX 8
/* Rounds of both sides, each with a folder: A, A once more, B, and B with a decision turned. */
enum { ROUND_A = 1, ROUND_A_AGAIN, ROUND_B, ROUND_TURNED };

struct prove_job {
	struct again_pair of;
	const struct trace_pair *pair;
	struct trace_proof *ret;
	char **output; /* paths below the working directories, then what went to the terminal; owned */
	size_t n_outputs;
	bool *left_out; /* those that also differ between two runs of A */
};

/* ---- what they leave ---- */

static const char *const terminal[] = {"standard output", "standard error"};

/* Adds a path, once. 0, -ENOMEM. */
static int append_output(struct prove_job *z, const char *path)
{
	for (size_t i = 0; i < z->n_outputs; i++)
		if (!strcmp(z->output[i], path))
			return 0;
	char **more = realloc(z->output, (z->n_outputs + 1) * sizeof(*more));
	char *one = strdup(path);
	if (more)
		z->output = more;
	if (!more || !one) {
		free(one);
		return -ENOMEM;
	}
	z->output[z->n_outputs++] = one;
	return 0;
}

/* What the runs made below their working directories, on either side, and what goes to the terminal. 0, -ENOMEM. */
static int list_outputs(struct prove_job *z)
{
	int r = 0;
	for (int k = 0; k < 2; k++) {
		const struct again_side *s = &z->of.job.ret->plan.side[k];
		size_t cwd = strlen(s->cwd);
		for (size_t i = 0; i < s->n; i++)
			for (size_t m = 0; r == 0 && m < s->v[i].n_made; m++) {
				const char *path = s->v[i].made[m].path;
				if (!strncmp(path, s->cwd, cwd) && path[cwd] == '/')
					r = append_output(z, path + cwd + 1);
			}
	}
	for (size_t i = 0; r == 0 && i < 2; i++)
		r = append_output(z, terminal[i]);
	z->left_out = r == 0 ? calloc(z->n_outputs, sizeof(*z->left_out)) : NULL;
	return z->left_out ? 0 : -ENOMEM;
}

/* What a round left under that name, as a text: "-" nothing, "" it cannot be told. */
static void describe_output(const struct prove_job *z, int side, unsigned round, size_t i, char ret[DIGEST_TEXT])
{
	struct again_job of = z->of.job;
	struct digest d;
	struct stat st;
	struct buf path = {0};
	of.round = round;
	bool is_terminal = i + 2 >= z->n_outputs;
	char *at = again_job_path(&of, side, is_terminal ? i + 2 == z->n_outputs ? "output" : "errors" : "work");
	buf_printf(&path, "%s%s%s", at ? at : "", is_terminal ? "" : "/", is_terminal ? "" : z->output[i]);
	*ret = '\0';
	if (at && !path.failed && lstat(buf_cstr(&path), &st) < 0)
		snprintf(ret, DIGEST_TEXT, errno == ENOENT || errno == ENOTDIR ? "-" : "");
	else if (at && !path.failed && S_ISREG(st.st_mode) && digest_file(NULL, AT_FDCWD, buf_cstr(&path), &d, NULL) == 0)
		digest_text(&d, ret);
	buf_release(&path);
	free(at);
}

/* Is it the same of both rounds? What cannot be told is not. */
static bool is_same_output(const struct prove_job *z, const int side[2], const unsigned round[2], size_t i)
{
	char one[DIGEST_TEXT], other[DIGEST_TEXT];
	describe_output(z, side[0], round[0], i, one);
	describe_output(z, side[1], round[1], i, other);
	return *one && !strcmp(one, other);
}

/* The names of those that are not the same in both rounds, with commas; how many. */
static size_t name_differing(const struct prove_job *z, const int side[2], const unsigned round[2], struct buf *b)
{
	size_t n = 0;
	for (size_t i = 0; i < z->n_outputs; i++) {
		if (z->left_out[i] || is_same_output(z, side, round, i))
			continue;
		buf_printf(b, "%s", n++ ? ", " : "");
		fmt_name(b, str_of(z->output[i]));
	}
	return n;
}

/* Runs A twice and B. NULL: they differ in what z->ret->outputs says; else why nothing can be proved. */
static const char *run_without_turning(struct prove_job *z)
{
	static const struct {
		int side;
		unsigned round;
	} runs[] = {{0, ROUND_A}, {0, ROUND_A_AGAIN}, {1, ROUND_B}};
	struct buf noise = {0}, differ = {0};
	size_t n = 0;
	for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); i++)
		if (again_pair_run(&z->of, runs[i].side, runs[i].round) != STATUS_OK)
			return "running it again failed";
	for (size_t i = 0; i < z->n_outputs; i++) {
		z->left_out[i] = !is_same_output(z, (int[]){0, 0}, (unsigned[]){ROUND_A, ROUND_A_AGAIN}, i);
		if (z->left_out[i]) {
			buf_printf(&noise, "%s", noise.n ? ", " : "");
			fmt_name(&noise, str_of(z->output[i]));
		}
	}
	n = name_differing(z, (int[]){0, 1}, (unsigned[]){ROUND_A, ROUND_B}, &differ);
	z->ret->outputs = strdup(buf_cstr(&differ));
	z->ret->left_out = strdup(buf_cstr(&noise));
	bool lacks = noise.failed || differ.failed || !z->ret->outputs || !z->ret->left_out;
	bool all_noise = noise.n != 0;
	buf_release(&noise);
	buf_release(&differ);
	return lacks       ? "out of memory"
	       : n         ? NULL
	       : all_noise ? "what A and B write differs no more than between two runs of A"
	                   : "A and B write the same when they are run again";
}

/* ---- turning ---- */

/* Is it a decision that B took otherwise than A, and that can be turned? */
static bool can_turn(const struct trace_pair *q, const struct difference *d)
{
	return d->d.decision && !trace_is_silent(d) && d->at[0].kind == STEP_AT && d->at[1].kind == STEP_AT &&
	       d->at[0].chooses && d->at[1].chooses && d->at[0].outcome != d->at[1].outcome && !q->atlas->built_otherwise &&
	       !q->calls && !q->functions;
}

/* STEMMA_TRACE_TURN, malloc'ed: after how many words of B's thread which decision gets A's outcome. NULL: it cannot be
 * told. */
static char *format_turn(const struct trace_pair *q, const struct difference *d)
{
	struct err err = {0};
	struct buf b = {0};
	uint64_t clock, words;
	if (trace_step_clock(q->atlas, q->side[1].name, 1, d->at[1].step, &err, &clock, &words) < 0 || !words)
		return NULL;
	buf_printf(&b, "%s:%llu:%u:%u", q->side[1].thread, (unsigned long long)clock, d->at[1].node, d->at[0].outcome);
	char *ret = b.failed ? NULL : strdup(buf_cstr(&b));
	buf_release(&b);
	return ret;
}

/* In how many threads of the last round a decision was turned. */
static size_t count_turned(const struct prove_job *z)
{
	struct trace_set set = {0};
	size_t n = 0;
	if (again_job_take_in(&z->of.job, 1, &set) == STATUS_OK)
		for (size_t i = 0; i < set.n; i++)
			n += set.v[i].info.turned;
	trace_set_release(&set);
	return n;
}

/* Runs B with it turned. what, of t: what B left is not A's; empty: it is. False without memory. */
static bool turn_one(struct prove_job *z, const struct trace_pair *q, const struct difference *d, unsigned round,
                     struct trace_turn *t)
{
	struct buf b = {0}, place = {0};
	const struct spec_node *node = atlas_node(q->atlas, 1, d->at[1].function, d->at[1].node);
	const struct spec *s = trace_pair_spec(q, 1);
	char *turn = format_turn(q, d);
	trace_words_place(q, 1, d->at[1].function, d->at[1].node, &place);
	z->of.job.turn = turn;
	if (!turn)
		buf_printf(&b, "its place in the run is not known");
	else if (again_pair_run(&z->of, 1, round) != STATUS_OK)
		buf_printf(&b, "running B failed");
	else if (count_turned(z) != 1)
		buf_printf(
		    &b, "when B was run again, it never reached this decision, or its program was linked by an older stemma");
	else
		t->same = name_differing(z, (int[]){0, 1}, (unsigned[]){ROUND_A, round}, &b) == 0;
	z->of.job.turn = NULL;
	if (!t->same && turn && b.n == 0)
		buf_printf(&b, "something else");
	t->file = s && node && node->file != SPEC_NONE ? spec_file(s, node->file) : NULL;
	t->line = node ? node->line : 0;
	t->place = place.failed ? NULL : strdup(buf_cstr(&place));
	t->what = b.failed ? NULL : strdup(buf_cstr(&b));
	free(turn);
	buf_release(&b);
	buf_release(&place);
	return t->place && t->what;
}

/* One decision after the other, until one is the cause. */
static void turn_in_order(struct prove_job *z)
{
	struct trace_proof *p = z->ret;
	size_t n = trace_differences(z->pair), passed = 0;
	p->state = PROOF_NOT_FOUND;
	for (size_t i = 0; i < n && p->n < TRIED_MAX && !again_is_stopped(); i++) {
		const struct difference *d;
		const struct trace_pair *q = trace_difference(z->pair, i, &d);
		struct trace_turn t = {0};
		if (!can_turn(q, d)) {
			passed++;
			continue;
		}
		bool made = turn_one(z, q, d, ROUND_TURNED + (unsigned)p->n, &t), same = t.same;
		if (trace_proof_add(p, &t) < 0 || !made) {
			p->state = PROOF_NOT_MADE;
			p->why = "out of memory";
			return;
		}
		if (same) {
			p->state = PROOF_FOUND;
			return;
		}
	}
	if (passed)
		p->why = "other differences are no decisions that can be turned";
	if (!p->n) {
		p->state = PROOF_NOT_MADE;
		p->why = z->pair->atlas->built_otherwise
		             ? "A and B are different programs, whose decisions are not known to be the same"
		             : "what differs is no decision that can be turned";
	}
}

/* How long all of it may take, in seconds; -1: not known. */
static double estimate_seconds(const struct prove_job *z)
{
	double a = again_job_seconds(&z->of.job, 0), b = again_job_seconds(&z->of.job, 1);
	size_t n = trace_differences(z->pair);
	return a < 0 || b < 0 ? -1 : 2 * a + b * (1 + (double)(n < TRIED_MAX ? n : TRIED_MAX));
}

static void prove_pair(struct prove_job *z)
{
	struct err err = {0};
	const char *why = again_pair_plan(&z->of, &err) < 0 ? "it cannot be run again" : NULL;
	if (!why)
		why = again_pair_may_run(&z->of, "and B with decisions turned", estimate_seconds(z));
	if (!why && list_outputs(z) < 0)
		why = "out of memory";
	z->of.job.keep_output = true;
	if (!why)
		why = run_without_turning(z);
	if (why)
		z->ret->why = why;
	else
		turn_in_order(z);
}

void diff_prove(struct cmd *c, const struct opts_diff *o, struct trace_comparison *j, struct trace_proof *ret)
{
	size_t i = 0;
	*ret = (struct trace_proof){.state = PROOF_NOT_MADE};
	while (i < j->view.n && !trace_differences(&j->view.v[i]))
		i++;
	if (i == j->view.n) {
		ret->why = "no decision went different ways";
		return;
	}
	if (!j->set[0].run || !j->set[1].run || j->set[0].exec || j->set[1].exec) {
		ret->why = "both sides must be runs of the record";
		return;
	}
	struct traced_again again = {0};
	struct prove_job z = {.pair = &j->view.v[i], .ret = ret};
	again_listen_begin();
	if (again_pair_make(c, o, j, z.pair, &again, &z.of))
		prove_pair(&z);
	else
		ret->why = "out of memory";
	again_listen_end();
	again_pair_release(&z.of);
	for (size_t k = 0; k < z.n_outputs; k++)
		free(z.output[k]);
	free(z.output);
	free(z.left_out);
	if (again_is_stopped())
		again_end_if_stopped(&again);
	traced_again_release(&again);
}
