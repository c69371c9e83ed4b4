/* library.h - which files are the C library: what is in them is how a call was made, not who made it. So who names
 * addresses and who reads stacks leave them out. */
#ifndef STEMMA_CAPTURE_CALL_TRACE_STACKS_LIBRARY_H
#define STEMMA_CAPTURE_CALL_TRACE_STACKS_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Is the library of that name a C library? base: the last part of the path. glibc's libraries, its loader, and musl.
 */
static inline bool stack_is_c_library(const char *base)
{
	static const char *const starts[] = {"libc.so", "libc-2.", "ld-linux", "ld-2.",
	                                     "ld64.so", "ld.so",   "ld-musl",  "libpthread"};
	for (size_t i = 0; i < sizeof(starts) / sizeof(*starts); i++)
		if (!strncmp(base, starts[i], strlen(starts[i])))
			return true;
	return false;
}

#endif
