/* launch.h - run a compiler in this process's place, and record it.
 *
 * What the compiler does is its own: standard streams, signals, status, environment but for two variables. While it
 * runs this process waits, and lets the signals of a terminal be the compiler's. */
#ifndef STEMMA_CC_LAUNCH_H
#define STEMMA_CC_LAUNCH_H

#include "base/err.h"
#include "cc/withspec.h"

#include <stdbool.h>
#include <stddef.h>

struct launch {
	const char *home;  /* where the record is; NULL: nothing is recorded */
	const char *cache; /* folder on local disk, NULL none */
	enum withspec_mode spec;
	struct err *spec_err; /* why there is no specification, where one was wanted; NULL: nobody asks */
	bool slice;           /* the bitcode of what is linked is kept for slices */
	bool note;            /* an ELF note is put into what is linked */
	char *const *argv;    /* the compiler's name or path, its arguments; NULL-terminated */
};

/* Runs it. Returns the wait status, or -errno if it could not be started (with a sentence). Does not return where there
 * is nothing to be recorded: then the compiler takes this process's place. */
int launch_run(const struct launch *l, struct err *err, int *ret_status);

#endif
