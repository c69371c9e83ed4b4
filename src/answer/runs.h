/* runs.h - the runs of the record, newest first: what `stemma log` answers. */
#ifndef STEMMA_ANSWER_RUNS_H
#define STEMMA_ANSWER_RUNS_H

#include "answer/entities.h"
#include "answer/source.h"
#include "query/idset.h"

/* A run as `stemma log --jsonl` has it, without "format"; a new reference. 0 or -errno. */
int run_with_notes_json(const struct answer_source *a, const struct run_info *r, json_t **ret);
/* Calls each for the runs, newest first (only: of these, NULL all), which returns 0 to go on; used, made: how many
 * versions of data. Without all, questions to the daemon that made nothing are left out. Counting is left out (and 0)
 * where counts is false. 0, what each returned, or -errno. */
int runs_each(const struct answer_source *a, const struct idset *only, bool all, bool counts,
              int (*each)(void *arg, const struct run_info *r, uint64_t used, uint64_t made), void *arg);
/* The answer of `stemma log --json`, of at most count runs (0: all); a new reference. 0 or -errno. */
int runs_json(const struct answer_source *a, const struct idset *only, bool all, uint64_t count, json_t **ret);
/* A page of it: the count runs (1 or more) that come after the run with the ULID `after` (NULL: from the newest on).
 * "next" is the ULID to go on after, and is there only if there are more. -ESTALE: the record has no run `after`. */
int runs_page_json(const struct answer_source *a, bool all, const char *after, uint64_t count, json_t **ret);

#endif
