/* exec_int.h - what exec.c and exec_words.c share. */
#ifndef STEMMA_CAPTURE_SUPERVISOR_EXEC_INT_H
#define STEMMA_CAPTURE_SUPERVISOR_EXEC_INT_H

#include "capture/supervisor/super.h"

#define EXEC_STRINGS 64 /* strings read with one call */
#define EXEC_CHUNK 256

/* What an exec is given, as far as it comes with one call (each costs 4 us, most of that however little it reads): the
 * path, and the first pointers of both vectors. */
struct exec_ahead {
	char path[EXEC_CHUNK];
	bool path_whole;
	bool vectors; /* they came; of none there is nothing to come */
	uint64_t at[2][EXEC_STRINGS];
	size_t n[2];
};
void exec_read_ahead(const struct trap *t, uint64_t path, const uint64_t vector[2], struct exec_ahead *ret);
/* Both vectors into e: argv and env, redacted, their counts, and whether they were cut. */
void exec_read_words(const struct trap *t, const uint64_t vector[2], const struct exec_ahead *ahead,
                     struct exec_pending *e);

#endif
