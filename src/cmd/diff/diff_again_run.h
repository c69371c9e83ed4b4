/* diff_again_run.h - steps of a plan (trust/again/again.h), run once more: each with its files in a new folder,
 * confined (trust/confine.h), without network, its output to nowhere. For diff_again.c and what else runs by the same
 * plan.
 *
 * Functions that return int: a status, and what went wrong was said. Not for several threads. */
#ifndef STEMMA_CMD_DIFF_DIFF_AGAIN_RUN_H
#define STEMMA_CMD_DIFF_DIFF_AGAIN_RUN_H

#include "cmd/diff/diff_again.h"
#include "trust/again/again.h"

struct again_job {
	struct cmd *c;
	const struct opts_diff *o;
	struct trace_set *set;
	struct traced_again *ret;
	struct again plan;
	bool needs[2]; /* the side has no traces */
};

/* Makes the folder that all of it happens in, j->ret->folder. */
int again_job_folder(struct again_job *j);
/* A path in the part of it that is the side's: malloc'ed; NULL without memory. */
char *again_job_path(const struct again_job *j, int side, const char *name);
/* Runs step number `at` of the side. Its traces lie in trace/GROUP of the side's part; what it did not do as in the run
 * is added to j->ret->note. */
int again_job_run_step(struct again_job *j, int side, size_t at);
/* Between these two a signal that ends us ends the step that runs, and no other begins. again_end_if_stopped: then
 * releases t and does not come back. */
void again_listen_begin(void);
void again_listen_end(void);
void again_end_if_stopped(struct traced_again *t);

#endif
