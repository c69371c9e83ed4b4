/* show_jobs.h - of an execution of a job, who submitted it; of a submission, which jobs it may have made. */
#ifndef STEMMA_CMD_SHOW_SHOW_JOBS_H
#define STEMMA_CMD_SHOW_SHOW_JOBS_H

#include "cmd/cmd.h"

#include <jansson.h>

/* Prints, or adds to json: "submitted_by", or "jobs". 0 or -errno. */
int show_jobs(struct cmd *c, store_id exec, bool all, json_t *json);

#endif
