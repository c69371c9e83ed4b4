/* extract.h - results out of what a benchmark printed or wrote (paper, section 4.2): by a declared extractor, or
 * guessed for formats that are common: hyperfine's and Google Benchmark's JSON, lines `key: value` with a number.
 *
 * What is not found, or found twice, is told as missing with the reason; it is never a value. Hostile texts are
 * expected: EXTRACT_BYTES of a file, EXTRACT_VALUES values. Memory belongs to the sets. No printing. */
#ifndef STEMMA_TRUST_EXTRACT_H
#define STEMMA_TRUST_EXTRACT_H

#include "trust/bench/benchfile.h"
#include "trust/elements.h"

#define EXTRACT_BYTES (64u << 20)
#define EXTRACT_VALUES 10000

/* Applies x to a text. values and missing are added to. */
void extract_text(const struct extractor *x, const char *text, size_t n, struct elements *values,
                  struct elements *missing);
/* Takes results from the file at x->from, as extract_text does from a text. */
void extract_file(const struct extractor *x, const char *path, struct elements *values, struct elements *missing);

/* What the parameters that a benchmark file names are, in this command line, environment and these files. */
void extract_parameters(const struct benchfile *b, char *const *argv, struct elements *values);
/* Where none were named: options with values (--k=5, --k 5, -k 5) under their names without dashes, flags with `true`,
 * NAME=VALUE, and the other words as arg1, arg2, ... Words that are in `files` (names of inputs) are left out. */
void guess_parameters(char *const *argv, size_t argc, const struct elements *files, struct elements *values);
/* The reverse: the word of the command line that has the value of the parameter of that name, as guess_parameters names
 * it. 0: there is none, or several may be it. */
size_t extract_find_argument(char *const *argv, size_t argc, const char *name, const char *value);

#endif
