/* rerun_job.h - one run of `stemma rerun`: what is to be run again, how it went, and how that is shown. */
#ifndef STEMMA_CMD_TRUST_RERUN_JOB_H
#define STEMMA_CMD_TRUST_RERUN_JOB_H

#include "cmd/cmd.h"
#include "query/diff.h"
#include "sandbox/jail.h"
#include "trust/compare.h"
#include "trust/rerun/rerun.h"
#include "trust/rerun/standin.h"

struct rerun_job {
	struct cmd *c;
	const struct opts_rerun *o;
	store_id run, second;
	struct rerun plan;
	struct witness_options options;
	char *dir, *file, *home, *index;
	struct elements now;         /* invariants of the machine that are others now: name -> before, now */
	size_t missing;              /* files that are not to be had as they were */
	int status;                  /* of the command, as from waitpid */
	uint64_t ending[2], code[2]; /* of the recorded run and the second one */
	struct compare compared;
	struct diff diff;
	bool ran, has_diff;
	char printed[DIGEST_TEXT]; /* digest of what it printed; "" not known */
	struct standins standins;
	char **opened; /* stand-ins that it read; NULL-terminated, NULL none */
	/* How it is confined: */
	struct jail jail;
	bool jailed;
	char *from, *tmp;     /* folders: where a received run's files are looked for, NULL none; for temporary files */
	char **env;           /* of the command */
	char *left_out;       /* names of variables of the record that it is not given */
	int messages;         /* of a received command, a file; -1 its messages go where ours go */
	volatile int *failed; /* shared with the command's process: it could not be confined */
};

/* Runs what is planned, confined, in its folder, and finds its record. 0, or the status to end with, and it was said.
 */
int rerun_job_run(struct rerun_job *a);
/* What a command that may be anybody's wrote to its standard error, in which nothing can steer a terminal. */
void rerun_job_messages(int fd);
bool rerun_job_ended_alike(const struct rerun_job *a);

/* What was found, on standard output. rerun_job_json: the status. Only rerun_job_json ends with one. */
void rerun_job_text(const struct rerun_job *a);
int rerun_job_json(const struct rerun_job *a);
/* What would be run, and who says so, on standard error. */
void rerun_job_received(const struct rerun_job *a);

#endif
