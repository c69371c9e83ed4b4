/* diff_repeat.h - for `stemma diff --trace`: what differs between runs of A with the same inputs, of those that the
 * record has, and of those that are run for it (diff_again_run.h). */
#ifndef STEMMA_CMD_DIFF_DIFF_REPEAT_H
#define STEMMA_CMD_DIFF_DIFF_REPEAT_H

#include "answer/trace/trace_noise.h"
#include "cmd/diff/diff_again.h"

/* Learns which differences are no news, by repeating one of the runs. j: A and B, compared. again: what was run for
 * that, or empty. A status, and what went wrong was said. Release ret in any case. */
int diff_repeat(struct cmd *c, const struct opts_diff *o, struct trace_comparison *j, struct traced_again *again,
                struct trace_noise *ret);

#endif
