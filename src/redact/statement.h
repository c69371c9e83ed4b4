/* statement.h - secrets that the words of a statement before them tell of: of SQL, and of a netrc. */
#ifndef STEMMA_REDACT_STATEMENT_H
#define STEMMA_REDACT_STATEMENT_H

#include "redact/redact.h"

/* Is s, the next word, a secret by the statement it stands in? From *ret_from to *ret_to it is. quoted: quotes stood
 * around it. */
bool statement_hides(const struct redact *r, struct str s, bool quoted, size_t *ret_from, size_t *ret_to);
/* The word has been gone through: it may begin such a statement. */
void statement_observe(struct redact *r, struct str word);

#endif
