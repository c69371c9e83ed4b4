/* functions_find.h - which functions of a program have names that were asked for, and where they begin in its file.
 *
 * From .symtab and .dynsym of the file and of its separate debug file (by build-id, below /usr/lib/debug), so static
 * functions too where they were not stripped away. What the compiler made of a function for its own use has the
 * function's name (f.isra.0, f.constprop.1) unless it is only a part of it. Every input is hostile. Memory is the
 * struct's. */
#ifndef STEMMA_CAPTURE_FUNCTION_TRACE_FUNCTIONS_FIND_H
#define STEMMA_CAPTURE_FUNCTION_TRACE_FUNCTIONS_FIND_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FUNCTIONS_MAX 16384
#define FUNCTION_NAME_MAX 1024

struct found_function {
	char *name;
	uint64_t address, offset; /* in the program; in its file */
	uint64_t bytes;           /* 0 not known */
	uint32_t probe;           /* where in it the probe is: the first instruction, or the one behind */
	uint32_t program;
};
struct found_segment {
	uint64_t address, offset, bytes;
};
struct found_program {
	char *path; /* without links */
	int fd;
	bool library; /* it is not started by itself */
	uint64_t size;
	int64_t time; /* of its change, ns since 1970 */
	struct found_segment *code;
	size_t n_code;
};
struct found {
	struct found_program *programs;
	size_t n_programs;
	struct found_function *v; /* of a program in the order of their addresses, each address once */
	size_t n;
};

/* Adds what `PROGRAM:GLOB[,GLOB...]` means; a PROGRAM without a slash is looked for in PATH. 0; -errno with a sentence,
 * also where nothing has such a name. */
int functions_found_add(struct found *f, const char *wish, struct err *err);
void functions_found_release(struct found *f);
/* The address that the call right before this one, in the program's code, calls; 0: it is none, or goes through a
 * pointer. */
uint64_t functions_found_call(const struct found_program *p, uint64_t back);
/* The function of the program that has this address in it; NULL: none of those that were found. */
const struct found_function *functions_found_at(const struct found *f, uint32_t program, uint64_t address);
/* Is it in the program's own code? */
bool functions_found_own(const struct found_program *p, uint64_t address);

#endif
