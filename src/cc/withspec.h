/* withspec.h - what stemma cc --spec does besides: bitcode into objects, the specification into programs, and programs
 * that are traced.
 *
 * An object that is compiled gets a section with the bitcode of a second pass, by clang; the linker leaves it out.
 * Where a program or library is linked, the specification is made of all that has bitcode, and goes along as a section.
 * For a trace those objects are replaced by one that is made of their bitcode. What fails leaves the build as it is
 * without. */
#ifndef STEMMA_CC_WITHSPEC_H
#define STEMMA_CC_WITHSPEC_H

#include "base/err.h"
#include "cc/args.h"

#include <stdbool.h>

enum withspec_mode { WITHSPEC_NONE, WITHSPEC_SPEC, WITHSPEC_TRACE, WITHSPEC_OPERANDS };

struct withspec;

/* Begins a specification before the command runs: args as they are, which must outlive it. slice: the bitcode of
 * what is linked is kept, too. -errno with a sentence: there will be nothing; the command is to be run as it is. */
int withspec_begin(const struct args *a, enum withspec_mode mode, bool slice, struct err *err, struct withspec **ret);
/* The command to be run: NULL as it is given. With extra: further arguments, in room of at least 8 more. */
char *const *withspec_argv(const struct withspec *w);
/* Where that failed: takes something away that may be why, and is not wanted most (messages, of an MPI that has not all
 * functions: stubs). False: there is nothing. */
bool withspec_less(struct withspec *w);
/* After it: status of wait. home: where the record is, NULL none. */
/* The folder of what a specification brings along; NULL: there is none. It lives as long as w. */
const char *withspec_folder(const struct withspec *w);
/* The path of the clang that makes bitcode; static. */
const char *withspec_compiler(void);
/* What clang read whose object took the place of sources: absolute paths, NULL-terminated; NULL: nothing. They live
 * as long as w. */
char *const *withspec_read(const struct withspec *w);
/* Ends the specification after the command ended with status: joins and keeps it. 0, -errno with a sentence. */
int withspec_end(struct withspec *w, int status, const char *home, struct err *err);
/* Releases a specification that was begun, and removes its folder. NULL is no error. */
void withspec_free(struct withspec *w);

#endif
