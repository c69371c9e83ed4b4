/* submit_int.h - what submissions as a list and as edges of a walk share. Internal to query. */
#ifndef STEMMA_QUERY_SUBMIT_INT_H
#define STEMMA_QUERY_SUBMIT_INT_H

#include "query/submit/submit.h"

struct system; /* a batch system: a row of submit.def */

/* What is compared of an execution; its own copies. */
struct origin_of {
	const struct system *system;
	char *job, *dir, *host, *name, *user;
	uint64_t uid;
};

/* Reads of which batch job an execution is, by its environment. 1; 0: it is of no job; -ENOMEM. */
int submit_origin_load(const struct exec_info *x, struct origin_of *ret);
void submit_origin_release(struct origin_of *o);
/* By its name as it was called; that of the file would be a look at another table for each execution. */
bool submit_is_submitter(const struct exec_info *x);
/* Is that what a batch system's submitting program is called? */
bool submit_is_submitter_name(struct str called);
/* Which batch system's job it is of; NULL none. */
const struct system *submit_system_of(const struct exec_info *x, struct str *ret_job);
/* May the submission x have made the job that o tells of, but for the time? */
bool submit_may_have(const struct exec_info *x, const struct origin_of *o);
/* Room for one more of `size` bytes in v. */
void *submit_grow(void *v, size_t n, size_t *cap, size_t size);
/* Gives each execution that has a program to `each`, in one view of the store. */
int submit_each_exec(struct store *s, int (*each)(void *arg, const struct exec_info *x), void *arg);
/* Looks for who submitted the job, from execution `at` upwards, ABOVE of them at most: the first that has not the job's
 * identity. Adds it, as sure, if it is a command that submits. 0, also if there is none; -errno. */
int submit_find_above(struct store *s, const struct origin_of *o, store_id at, struct submissions *ret);
/* Copies of the texts that are compared. x shows the copies from then on. They are to be freed, on -ENOMEM, too. */
int submit_own_texts(struct exec_info *x, char *copies[5]);
void submit_release_copies(char *copies[5]);

#endif
