/* trace_compare.h - two sets of traces, compared: what `stemma diff --trace` answers, and the category `lines` of
 * `diff`.
 *
 *     struct trace_comparison j = {0};
 *     ... fill j.set (trace_set.h) ...
 *     if (trace_compare(a, &options, &err, &j) == 0)
 *         ... j.view ...
 *     trace_comparison_release(&j);
 */
#ifndef STEMMA_ANSWER_TRACE_TRACE_COMPARE_H
#define STEMMA_ANSWER_TRACE_TRACE_COMPARE_H

#include "answer/source.h"
#include "answer/trace/trace_answer.h"
#include "answer/trace/trace_joins.h"
#include "answer/trace/trace_set.h"
#include "query/diff.h"

struct align_noise;

struct trace_comparison {
	struct trace_set set[2];
	struct trace_view view; /* refers to the rest */
	struct atlas *atlas;    /* one for each two specifications that meet */
	size_t n_atlas;
	const struct trace_noise *noise; /* what is left out (trace_noise.h); NULL: nothing */
	struct align_noise *noises;      /* of each atlas; owned */
	struct trace_joins joins;
	struct path_found *found; /* by pair, of traces of functions */
};
/* Pairs the traces of j->set and compares them. a->store is asked for executions of the same role where both sets are
 * of runs. 0; -EBADMSG, -EINVAL, -ENOENT: the traces cannot be compared; or -errno; with a sentence. Release j in any
 * case.
 */
int trace_compare(const struct answer_source *a, const struct compare_options *o, struct err *err,
                  struct trace_comparison *j);
void trace_comparison_release(struct trace_comparison *j);
/* Releases what a comparison has found; its two sets of traces stay. Releases all but the sets. */
void trace_comparison_forget(struct trace_comparison *j);
/* Is there anything that differs, a thread without a partner included? */
bool trace_differs(const struct trace_view *v);
/* Adds to d, of two runs, the category `lines`: where programs of which both have a trace took another way. What is
 * wrong with traces is passed over. 0 or -ENOMEM. */
int trace_lines(struct store *s, struct diff *d, struct err *err);

#endif
