/* diff_prove.h - for `stemma diff --trace --prove`: B is run again (diff_again_pair.h) with one decision turned, as A
 * took it; whether it leaves what A leaves then says whether that decision is the cause. */
#ifndef STEMMA_CMD_DIFF_DIFF_PROVE_H
#define STEMMA_CMD_DIFF_DIFF_PROVE_H

#include "answer/trace/trace_compare.h"
#include "answer/trace/trace_proof.h"
#include "cmd/diff/diff_again.h"

/* j: A and B, compared, whose first pair that differs is looked into. Fills *ret in any case; a failure is a reason in
 * it. Release it with trace_proof_release. */
void diff_prove(struct cmd *c, const struct opts_diff *o, struct trace_comparison *j, struct trace_proof *ret);

#endif
