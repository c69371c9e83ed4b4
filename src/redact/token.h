/* token.h - tokens that can be told by themselves: the rows of tokens.def.
 *
 * No allocation; the tables are constant. A place where no token begins costs about 5 ns. */
#ifndef STEMMA_REDACT_TOKEN_H
#define STEMMA_REDACT_TOKEN_H

#include "base/str.h"

/* Characters that the shortest token has. */
#define TOKEN_LEAST 15
/* The length of the token that begins v, 0 if none does. *ret_keep: so much of it is no secret (the address of a
 * service before the part that is one). *ret_family: whose it is, as tokens.def calls it. */
size_t token_at(struct str v, size_t *ret_keep, const char **ret_family);
/* How many rows there are, and how many of them stand where they are not looked for (tests: none). */
size_t token_rows(size_t *ret_lost);

#endif
