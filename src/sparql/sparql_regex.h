/* sparql_regex.h - regular expressions of XPath, by PCRE2, within bounds of time. Flags: i, s, m, x, q. */
#ifndef STEMMA_SPARQL_SPARQL_REGEX_H
#define STEMMA_SPARQL_SPARQL_REGEX_H

#include "base/buf.h"

/* 1, 0, -1: no expression, or it takes too long. */
int sparql_regex_matches(struct str text, struct str pattern, struct str flags);
/* Appends text with each match replaced; $1 to $9 are groups, \$ a dollar. 0, -1 likewise, or where a match is empty.
 */
int sparql_regex_replace(struct str text, struct str pattern, struct str with, struct str flags, struct buf *ret);

#endif
