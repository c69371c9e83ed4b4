/* benchfile.h - a benchmark file (stemma-bench.toml, doc/format/bench.md): the command, its parameters, and where its
 * results are found. Read and checked whole, before anything runs. */
#ifndef STEMMA_TRUST_BENCHFILE_H
#define STEMMA_TRUST_BENCHFILE_H

#include "base/err.h"
#include "base/str.h"

#include <stdint.h>

enum extract_how { EXTRACT_GUESS, EXTRACT_REGEX, EXTRACT_POINTER, EXTRACT_COLUMN, EXTRACT_DIGEST, EXTRACT_FIGURE };

struct extractor {
	char *name; /* NULL: of EXTRACT_GUESS */
	char *from; /* "stdout", or a path */
	enum extract_how how;
	char *pattern;   /* expression, pointer, column, figure */
	char *separator; /* of columns; NULL: a comma, or a tab where there is none in the first line */
	bool all;        /* every match, every row: else there must be one */
	bool last;       /* the last row or match of several */
	bool unordered;  /* of EXTRACT_DIGEST: of its lines, sorted */
	char *tolerance; /* NULL none */
};
struct bench_parameter {
	char *name;
	char *where; /* "-k", "--k", "@2", "env:NAME", "FILE:KEY" */
};
struct benchfile {
	char *name;            /* NULL none */
	char **command;        /* NULL none; NULL-terminated */
	uint64_t runs, warmup; /* 0: not said */
	struct bench_parameter *parameter;
	size_t n_parameters;
	struct extractor *result;
	size_t n_results;
};

/* Reads a benchmark's description. 0; -EBADMSG, -EINVAL with a sentence; -errno. Release ret in any case. */
int benchfile_read(const char *text, size_t n, const char *name, struct err *err, struct benchfile *ret);
/* Reads a benchmark's description from a file, as benchfile_read does. 0; -EBADMSG, -EINVAL with a sentence; -errno.
 * Release ret in any case. */
int benchfile_load(const char *path, struct err *err, struct benchfile *ret);
void benchfile_release(struct benchfile *b);

#endif
