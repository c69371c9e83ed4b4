/* diff_again.h - traces of runs that left none: what differs in two runs is run once more, in a folder of its own,
 * where it can change nothing else (trust/again/again.h, trust/confine.h). */
#ifndef STEMMA_CMD_DIFF_DIFF_AGAIN_H
#define STEMMA_CMD_DIFF_DIFF_AGAIN_H

#include "answer/trace/trace_set.h"
#include "cmd/cmd.h"
#include "trust/again/again.h"

struct traced_again {
	char *folder; /* with the traces; removed at release */
	char **note;  /* what did not go as in the run, a sentence each */
	size_t n_notes;
	char **shown; /* what was run: "A ./integrate ..." */
	size_t n_shown;
	struct again plan; /* what was run, and could be run once more */
	bool needs[2];     /* the side had no traces */
};

/* For the sets that have a run and no traces; those that have some keep the ones that the others can be compared with.
 * STATUS_OK: there are traces. -1: there are none, there was only something to be listed, and all is well. Else the
 * status to end with, and it was said. Release ret in any case. */
int diff_again(struct cmd *c, const struct opts_diff *o, struct trace_set set[2], struct traced_again *ret);
void traced_again_release(struct traced_again *t);

#endif
