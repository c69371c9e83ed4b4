/* library_calls.h - which system calls functions of the C library make, by the kernel's names. */
#ifndef STEMMA_SPEC_PATH_LIBRARY_CALLS_H
#define STEMMA_SPEC_PATH_LIBRARY_CALLS_H

#include <stdbool.h>
#include <stddef.h>

enum {
	LIBRARY_ONE = 1,   /* exactly one of `calls`; else any number of any of them */
	LIBRARY_THREAD = 2 /* what it is given to call runs in another thread */
};
struct library_calls {
	const char *names; /* of functions, with spaces between */
	const char *calls; /* NULL: the one that has the function's name */
	int flags;
};
/* Which system calls a function of a library may make. NULL: it may make any number of any calls. base: the name by
 * which the table has it. */
const struct library_calls *library_calls(const char *name, char base[64]);
/* Is the word of n bytes one of these? */
bool library_in_list(const char *list, const char *word, size_t n);

#endif
