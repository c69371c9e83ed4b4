/* quote.h - quotes, those too that stand with a backslash in a text that is quoted itself. */
#ifndef STEMMA_REDACT_QUOTE_H
#define STEMMA_REDACT_QUOTE_H

#include "base/str.h"

/* What is looked for in vain is looked for so far only, in characters, else a hostile text would take time with the
 * square of its size. */
#define QUOTE_AHEAD 1024

/* Is it a quotation mark? */
static inline bool quote_is(char c)
{
	return c == '"' || c == '\'';
}

/* s up to QUOTE_AHEAD characters behind `from`. */
struct str quote_ahead(struct str s, size_t from);
/* A quote within a quoted text stands at place i of s: \" of one or more backslashes, or '\'' of a shell. Its
 * characters; 0: none stands there. */
size_t quote_escaped(struct str s, size_t i);
/* Where the value ends that begins at `from`, behind a quote of n characters: at the next such one, or with s. */
size_t quote_escaped_end(struct str s, size_t from, size_t n);
/* Of the word [at, end) of a quoted text: behind the \" that closes what a \" in the word opens; `end` where none is
 * open, or nothing closes it. */
size_t quote_still_open(struct str s, size_t at, size_t end);

#endif
