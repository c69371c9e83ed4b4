/* args.h - what a compiler's command line says, as far as stemma cc must know: whether anything is made, from what, and
 * what its name is. Options of gcc, clang, gfortran and nvcc; what is not known is taken for an option without a value.
 *
 * Bounds: ARGS_MAX arguments, ARGS_BYTES bytes of response files, ARGS_FILES of them, nested ARGS_DEPTH deep; what is
 * more stays as it is written. Reads response files and nothing else. */
#ifndef STEMMA_CC_ARGS_H
#define STEMMA_CC_ARGS_H

#include "base/buf.h"

#define ARGS_MAX (1u << 20)
#define ARGS_BYTES (64u << 20)
#define ARGS_DEPTH 200
#define ARGS_FILES 2000 /* gcc refuses more, too */

struct args {
	char **v; /* with response files in place of @FILE, NULL-terminated */
	size_t n;
	size_t compiler; /* of v: 0, or behind ccache and its like */
	char **files;    /* response files that were read */
	size_t nfiles;
	bool *input; /* of v: it names a file to be compiled or linked, or standard input */
	bool makes;  /* there is something to compile or link: else the command only tells of the compiler */
	bool links;  /* none of -c, -S, -E, -M, -fsyntax-only */
	bool from_stdin;
	const char *output; /* -o, NULL none */
};

/* Takes a compiler's command line apart. argv: NULL-terminated, with the compiler's name. 0 or -ENOMEM. */
int args_parse(char *const *argv, struct args *ret);
void args_release(struct args *a);

/* By the ending of its name a source of a language that compilers know. */
bool args_is_source(const char *path);
/* What compilers call what they make where nobody says; appended, one NUL-terminated name for each. Returns how many.
 */
size_t args_outputs(const struct args *a, struct buf *out);

#endif
