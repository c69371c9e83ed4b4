/* lines.h - the words of a trace that is lines of text (doc/format/functions.md). Every input is hostile. */
#ifndef STEMMA_SPEC_TRACE_LINES_H
#define STEMMA_SPEC_TRACE_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The name from p on, its \xHH put back, ended by a NUL; false: it is none, or too long. */
bool line_name(const char *p, const char *end, char *ret, size_t size);
/* A decimal number at *p that is not negative, and the space behind it; false: there is none. */
bool line_number(const char **p, const char *end, uint64_t *ret);
/* Does the line begin with this word and a space? Then *p is behind both. */
bool line_begins(const char **p, const char *end, const char *word);

#endif
