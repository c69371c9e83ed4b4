/* footprint.h - the space that folders and files take: each inode once, by its blocks, with what is deleted and still
 * open. Links are not followed, and other file systems below a folder are not entered. Internal to monitor.
 *
 * A thread of its own walks, since a file server may not answer: its figures are those of the last whole walk. It takes
 * at most half a percent of a processor: a walk that took t is followed by a pause of 200 t. */
#ifndef STEMMA_MONITOR_FOOTPRINT_H
#define STEMMA_MONITOR_FOOTPRINT_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct footprint;

struct footprint_sum {
	uint64_t bytes, files, directories;
};

/* cwd: measured if that is cheap (FOOTPRINT_CHEAP, and not on another machine's disk); watch: in any case. Both are
 * made absolute. 0 or -errno with a sentence: one of watch is not there. */
#define FOOTPRINT_CHEAP 1000 /* files: 2 ms */
/* *ret is the caller's: footprint_free. */
int footprint_new(const char *cwd, const char *const *watch, struct err *err, struct footprint **ret);

void footprint_free(struct footprint *f);
/* Starts the thread. living: asked for the processes whose open files are looked at; the result is freed. It is not
 * called, nor under way, once footprint_free has returned; who calls that may hold none of its locks. 0 also where
 * nothing is to be measured. -EAGAIN: no thread. */
int footprint_start(struct footprint *f, int (*living)(void *arg, pid_t **ret, size_t *ret_n), void *arg);
/* The last whole walk and the peaks so far. False: there was none; *ret_why then says why, or NULL: it was too short.
 */
bool footprint_now(struct footprint *f, struct footprint_sum *ret_now, struct footprint_sum *ret_peak,
                   const char **ret_why);
/* One more walk, and no other; waits for it, patience_ms at most. True: it was made. */
bool footprint_last(struct footprint *f, int patience_ms);

#endif
