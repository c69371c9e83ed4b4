/* call.h - secrets that a program's text gives to a function by their place: DBI->connect($source, "ann", "x"). */
#ifndef STEMMA_REDACT_CALL_H
#define STEMMA_REDACT_CALL_H

#include "base/str.h"

#include <stddef.h>

/* An opening parenthesis stands at place i of s, a text in some language. Is it that of a call, of which an argument is
 * a secret and written as a string? That is from *ret_from to *ret_to, without its quotes, which have *ret_quote
 * characters each. Looks no further than QUOTE_AHEAD (quote.h). */
bool call_hides(struct str s, size_t i, size_t *ret_from, size_t *ret_to, size_t *ret_quote);

#endif
