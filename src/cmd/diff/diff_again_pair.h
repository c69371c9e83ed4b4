/* diff_again_pair.h - for `stemma diff --trace`: the program of a pair whose traces were compared, on both sides, to be
 * run again in rounds (diff_again_run.h): to look closer, or to turn a decision.
 *
 * Functions that return int: an exit status, and what went wrong was said; or as they say. */
#ifndef STEMMA_CMD_DIFF_DIFF_AGAIN_PAIR_H
#define STEMMA_CMD_DIFF_DIFF_AGAIN_PAIR_H

#include "answer/trace/trace_compare.h"
#include "cmd/diff/diff_again_run.h"

struct again_pair {
	struct again_job job; /* of a traced_again of its own */
	uint64_t pid[2];      /* of both processes */
	char *programs[3];    /* what is traced; owned */
};
/* p: two runs of the record, as j->set names them. ret_again is filled as steps are planned; release it after the pair.
 * False without memory. */
bool again_pair_make(struct cmd *c, const struct opts_diff *o, struct trace_comparison *j, const struct trace_pair *p,
                     struct traced_again *ret_again, struct again_pair *ret);
void again_pair_release(struct again_pair *z);
/* Makes the folder and plans the steps: the two processes alone, or, where these cannot be run alone, the commands of
 * the runs. 0 or less. */
int again_pair_plan(struct again_pair *z, struct err *err);
/* NULL: it may be run, else why not. what: what for, as in "A and B are run again, WHAT"; seconds: how long that may
 * take, -1 not known. Beyond a minute it asks. */
const char *again_pair_may_run(const struct again_pair *z, const char *what, double seconds);
/* Runs the steps of a side in a new round. */
int again_pair_run(struct again_pair *z, int side, unsigned round);

#endif
