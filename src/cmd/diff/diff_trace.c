/* stemma diff --trace A B: where the programs parted. */
#include "cmd/diff/diff_trace.h"

#include "answer/trace/trace_compare.h"
#include "cmd/diff/diff_again.h"
#include "cmd/diff/diff_prove.h"
#include "cmd/diff/diff_repeat.h"
#include "cmd/diff/diff_zoom.h"
#include "cmd/ui/js_print.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { STATUS_SAME = 0, STATUS_DIFFERS = 1 };

/* Says that there are none, and what to do. Gives STATUS_USAGE. */
static int report_no_trace(const char *operand)
{
	report("'%s' contains no trace", operand);
	report_hint("link programs with stemma cc --trace and record traces with stemma run --trace");
	return STATUS_USAGE;
}

/* A word that is no file. A status, and it was said. STATUS_USAGE: there is no such run, or no record. */
static int find_recorded_set(struct cmd *c, const char *word, struct trace_set *ret)
{
	struct err err = {0};
	int status = c->store ? STATUS_OK : cmd_store_exists(c);
	if (status != STATUS_OK) {
		report("'%s' is not a file or folder, and there is no record that could have a run of this name", word);
		return status == STATUS_NOTHING ? STATUS_USAGE : status;
	}
	if (!c->store)
		status = cmd_store(c, false);
	if (status != STATUS_OK)
		return status == STATUS_NOTHING ? STATUS_USAGE : status;
	int r = trace_set_find_recorded(c->store, word, &err, ret);
	return r > 0 ? STATUS_OK : report_err(&err, r < 0 ? STATUS_SELF : STATUS_USAGE);
}

/* A file, a folder with traces, or (where `run` allows it) a run of the record, which may have none. A status, and it
 * was said. */
static int find_set(struct cmd *c, const char *operand, bool run, const struct texts *specs, struct trace_set *ret)
{
	struct err err = {0};
	int r = trace_set_find_files(operand, (char *const *)specs->v, specs->n, &err, ret);
	if (r == 0 && run)
		return find_recorded_set(c, operand, ret);
	if (r <= 0)
		return report_err(&err, r == -ENOMEM ? STATUS_SELF : STATUS_USAGE);
	return ret->n ? STATUS_OK : report_no_trace(operand);
}

/* The traces of both sides, from where they are or by running again what left none. A status; -1 as diff_again. */
static int find_traces(struct cmd *c, const struct opts_diff *o, const char *const words[2], struct trace_set set[2],
                       struct traced_again *again)
{
	int status = STATUS_OK;
	for (int s = 0; status == STATUS_OK && s < 2; s++)
		status = find_set(c, words[s], s < 2 - c->n_after_dashes, &o->spec, &set[s]);
	if (status != STATUS_OK || (set[0].n && set[1].n))
		return status;
	for (int s = 0; s < 2; s++) {
		if (set[s].n || (set[0].run && set[1].run && !set[0].exec && !set[1].exec))
			continue;
		return report_no_trace(words[s]);
	}
	for (int s = 0; s < 2; s++)
		if (!set[s].n && !o->no_rerun && !o->rerun)
			report("'%s' contains no trace", words[s]);
	return diff_again(c, o, set, again);
}

/* "2", or "2:3" of the two sides. False: it is neither. */
static bool rank_words(const char *text, uint32_t ret[2])
{
	char *end;
	for (int s = 0; s < 2; s++) {
		if (*text < '0' || *text > '9')
			return false;
		unsigned long n = strtoul(text, &end, 10);
		ret[s] = (uint32_t)n;
		if (n >= UINT32_MAX || (*end && (s || *end != ':')))
			return false;
		if (*end)
			text = end + 1;
		else if (!s)
			return ret[1] = ret[0], true;
	}
	return true;
}

/* Leaves the traces of the ranks that --rank names, one of each side. A status, reported. */
static int leave_ranks(const struct opts_diff *o, const char *const words[2], struct trace_set set[2])
{
	uint32_t rank[2];
	struct err err = {0};
	if (!rank_words(o->rank, rank)) {
		report("--rank needs N or N:M, not '%s'", o->rank);
		return STATUS_USAGE;
	}
	for (int s = 0; s < 2; s++) {
		trace_set_of_rank(&set[s], rank[s]);
		if (!set[s].n) {
			report("there is no trace of rank %u in '%s'", rank[s], words[s]);
			report_hint("programs linked by stemma cc --trace know their rank after MPI_Init");
			return STATUS_USAGE;
		}
		if (trace_set_settle(&set[s], &err) < 0)
			return report_err(&err, STATUS_SELF);
	}
	return STATUS_OK;
}

/* Traces of what was run again lie in a folder that goes: their paths are no names for anybody. */
static void name_files_that_go(struct trace_view *v, const char *folder)
{
	for (size_t i = 0; folder && i < v->n + v->n_only; i++) {
		struct trace_side *side = i < v->n ? v->v[i].side : &v->only[i - v->n];
		for (int s = 0; s < (i < v->n ? 2 : 1); s++)
			if (!strncmp(side[s].name, folder, strlen(folder)))
				side[s].name = "run again";
	}
}

/* Prints the comparison of traces in the form that was asked for. STATUS_SAME, STATUS_DIFFERS or STATUS_SELF. */
static int print_traces(struct cmd *c, const struct opts_diff *o, const char *const *words,
                        const struct traced_again *again, struct trace_view *v)
{
	v->what[0] = words[0];
	v->what[1] = words[1];
	v->again = again->n_shown != 0;
	v->note = again->note;
	v->n_notes = again->n_notes;
	v->ran = again->shown;
	v->n_ran = again->n_shown;
	struct trace_output shown = {.view = v, .out = &c->out, .all = o->all};
	int r = o->json ? js_print(trace_json(v), false) : o->html ? trace_html(&shown) : trace_text(&shown);
	return r ? STATUS_SELF : trace_differs(v) ? STATUS_DIFFERS : STATUS_SAME;
}

/* What is there to be compared, compared; n: what is left out of it. A status, and it was said. */
static int compare_sets(struct cmd *c, const struct opts_diff *o, struct traced_again *again, struct trace_noise *n,
                        struct trace_comparison *j)
{
	struct err err = {0};
	struct compare_options options = {.max = o->all ? 10000 : 20, .greedy = o->algorithm && *o->algorithm == 'g'};
	int status = STATUS_OK, r = trace_compare(cmd_source(c), &options, &err, j);
	if (r == 0 && trace_differs(&j->view)) {
		status = diff_repeat(c, o, j, again, n);
		if (status == STATUS_OK && n->recorded + n->again)
			r = trace_compare_beyond(cmd_source(c), &options, n, &err, j);
	}
	return r < 0 ? report_err(&err, r == -EBADMSG || r == -EINVAL || r == -ENOENT ? STATUS_USAGE : STATUS_SELF)
	             : status;
}

/* ... and shown. */
static int compare_and_print(struct cmd *c, const struct opts_diff *o, const char *const *words,
                             struct traced_again *again, struct trace_comparison *j)
{
	struct trace_noise noise = {0};
	struct diff_zoom zoom = {0};
	struct trace_proof proof = {0};
	int status = compare_sets(c, o, again, &noise, j);
	if (status == STATUS_OK) {
		diff_zoom(c, o, j, noise.recorded + noise.again ? &noise : NULL, &zoom);
		if (o->prove)
			diff_prove(c, o, j, &proof);
		j->view.proof = o->prove ? &proof : NULL;
		name_files_that_go(&j->view, again->folder);
		status = print_traces(c, o, words, again, &j->view);
	}
	diff_zoom_release(&zoom);
	trace_proof_release(&proof);
	trace_noise_release(&noise);
	return status;
}

int cmd_diff_trace(struct cmd *c, const struct opts_diff *o)
{
	static const char *const last_two[] = {"@~1", "@"};
	const char *const *words = c->n_operands ? (const char *const *)c->operands : last_two;
	struct trace_comparison j = {0};
	struct traced_again again = {0};
	if (c->n_operands && c->n_operands != 2)
		return report_usage(c, "diff --trace compares two traces, folders of traces, or runs");
	if (o->rerun && o->no_rerun)
		return report_usage(c, "--rerun or --no-rerun, not both");
	if (o->repeat && o->no_rerun)
		return report_usage(c, "--repeat or --no-rerun, not both");
	if (o->prove && o->no_rerun)
		return report_usage(c, "--prove or --no-rerun, not both");
	if (o->algorithm && strcmp(o->algorithm, "greedy") != 0 && strcmp(o->algorithm, "exact") != 0)
		return report_usage(c, "--algorithm is exact or greedy");
	int status = find_traces(c, o, words, j.set, &again);
	if (status == STATUS_OK && o->rank)
		status = leave_ranks(o, words, j.set);
	if (status == STATUS_OK)
		status = compare_and_print(c, o, words, &again, &j);
	else if (status < 0)
		status = STATUS_OK;
	trace_comparison_release(&j);
	traced_again_release(&again);
	return status;
}
