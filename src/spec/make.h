/* make.h - makes specifications, and programs that are traced, with what LLVM needs to be done in a process of its own:
 * its reader of bitcode ends where bitcode is damaged, and then only that process does. The process has limits of
 * memory and time. */
#ifndef STEMMA_SPEC_MAKE_H
#define STEMMA_SPEC_MAKE_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>

#define MAKE_SECONDS 600        /* of processor time; bwa takes two */
#define MAKE_BYTES (8ull << 30) /* of address space */

/* Was stemma built with it, and is it there? *ret_what: "LLVM 14, clang ..." or why not; a static string. */
bool make_works(const char **ret_what);
/* The clang that goes with it; "" none. */
const char *make_clang(void);

struct make {
	char *const *files; /* bitcode, objects, archives, in the order of a link; NULL-terminated */
	const char *spec;   /* where the specification goes to */
	const char *traced; /* where bitcode that traces goes to; NULL: that is not wanted */
	const char *keep;   /* where the merged bitcode goes to; NULL: that is not wanted */
	unsigned missing;   /* parts of the program that are not among the files and have no bitcode */
	bool operands;      /* of decisions, too */
	bool library;       /* what traces is to be a shared library */
};

/* What became of a file. */
enum make_use { MAKE_NOTHING, MAKE_USED, MAKE_ARCHIVE };

/* Makes a specification of bitcode files, in a process of its own. 0; *ret_used, one for each file, is the caller's
 * to free. -ENOTSUP: make_works says why; -ENODATA: there is no bitcode; -EBADMSG: it cannot be read, and who read
 * it said why, or came to a bad end. */
int make_spec(const struct make *m, struct err *err, enum make_use **ret_used);

/* Which inputs can reach which outputs (doc/slices.md), of the files together: JSON goes to `out`. As make_spec. */
int make_slice(char *const *files, const char *out, struct err *err);

/* Where the library and its parts are. False: they are not there. */
bool make_library(char *ret, size_t n);

/* Starts argv[0] (looked for in PATH), waits, and takes what it says on standard error and standard output (said, of
 * which the first 64 KiB are kept; NULL: those are ours). Its wait status, or -errno. */
int make_run(char *const *argv, bool limits, struct buf *said);

#endif
