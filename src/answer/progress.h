/* progress.h - how far runs are that go on now on this machine, and what their processes use at this moment.
 *
 * What is recorded comes from the index; the rest is read from /proc: of the processes below the recorder of the run,
 * which the first program of the run leads to. Cost: a row of each of the newest runs, and about 60 us for each
 * process of a run that goes on. */
#ifndef STEMMA_ANSWER_PROGRESS_H
#define STEMMA_ANSWER_PROGRESS_H

#include "answer/js.h"
#include "answer/source.h"

enum {
	PROGRESS_RUNS = 50,       /* the newest runs that are looked at */
	PROGRESS_PROCESSES = 5000 /* of one run; of more the figures are those of as many, and that is told */
};

/* {"format": 1, "runs": [...]}, newest first; a new reference. Of each run: id, recording, start, end, exit; of one
 * that is running also executions, outputs and, where its processes are found, now: processes, threads,
 * memory_resident, cpu_time, bytes_read, bytes_written, complete. What is not known is not there. 0 or -errno. */
int progress_json(const struct answer_source *a, json_t **ret);

#endif
