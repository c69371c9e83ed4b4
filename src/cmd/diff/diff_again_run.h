/* diff_again_run.h - steps of a plan (trust/again/again.h), run once more: each with its files in a new folder,
 * confined (trust/confine.h), without network, its output to nowhere. For diff_again.c and what else runs by the same
 * plan.
 *
 * Functions that return int: a status, and what went wrong was said. Not for several threads. */
#ifndef STEMMA_CMD_DIFF_DIFF_AGAIN_RUN_H
#define STEMMA_CMD_DIFF_DIFF_AGAIN_RUN_H

#include "cmd/diff/diff_again.h"

struct again_job {
	struct cmd *c;
	const struct opts_diff *o;
	struct trace_set *set;
	struct traced_again *ret;
	unsigned round;   /* 0: the first time; each has a part of the folder of its own */
	const char *zoom; /* STEMMA_TRACE_ZOOM, not owned; NULL: none */
	const char *turn; /* STEMMA_TRACE_TURN, not owned; NULL: none */
	bool
	    keep_output; /* what it writes to standard output and errors goes to `output` and `errors` of the side's part */
	char **programs; /* that are traced, NULL-terminated, not owned; NULL: those of the plan */
	bool full;       /* as stemma run --trace-full */
};

/* Makes the folder that all of it happens in, j->ret->folder. */
int again_job_folder(struct again_job *j);
/* Begins another round of the side's steps. */
int again_job_begin_round(struct again_job *j, int side, unsigned round);
/* Can the sides that ret->needs names be run again, by what there is and by whose record it is? STATUS_OK. */
int again_job_check(const struct again_job *j);
/* Is there something that the side needs, and that is not to be had? Or must it not be run? */
bool again_job_lacks(const struct again_job *j, int side);
/* How long the side's steps took when they were recorded, in seconds; -1: not known. */
double again_job_seconds(const struct again_job *j, int side);
/* Adds the traces of this round to a set, and brings it into its order. */
int again_job_take_in(const struct again_job *j, int side, struct trace_set *ret);
/* A path in the part of it that is the side's in this round: malloc'ed; NULL without memory. */
char *again_job_path(const struct again_job *j, int side, const char *name);
/* Runs step number `at` of the side. Its traces lie in trace/GROUP of the side's part; what it did not do as in the run
 * is added to j->ret->note, but for later rounds. */
int again_job_run_step(struct again_job *j, int side, size_t at);
/* Between these two a signal that ends us ends the step that runs, and no other begins. again_end_if_stopped: then
 * releases t and does not come back. */
void again_listen_begin(void);
void again_listen_end(void);
bool again_is_stopped(void);
void again_end_if_stopped(struct traced_again *t);

#endif
