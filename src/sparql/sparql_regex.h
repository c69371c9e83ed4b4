/* sparql_regex.h - regular expressions of XPath, by PCRE2, within bounds of time. Flags: i, s, m, x, q. */
#ifndef STEMMA_SPARQL_SPARQL_REGEX_H
#define STEMMA_SPARQL_SPARQL_REGEX_H

#include "base/buf.h"

/* Does the pattern match some of the text? 1, 0; -1: pattern or flags are no valid ones, it takes too long, or no
 * memory. */
int sparql_regex_matches(struct str text, struct str pattern, struct str flags);
/* Appends text to ret with each match replaced by `with`, in which $0 is the match, $1 to $9 its groups, \$ a dollar
 * and \\ a backslash. 0; -1: as above, or a match is empty, or `with` has another $ or backslash; ret has a part of
 * it then. */
int sparql_regex_replace(struct str text, struct str pattern, struct str with, struct str flags, struct buf *ret);

#endif
