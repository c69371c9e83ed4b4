/* program.h - where programs take secrets that no name tells of: the rows of programs.def. */
#ifndef STEMMA_REDACT_PROGRAM_H
#define STEMMA_REDACT_PROGRAM_H

#include "redact/redact.h"

/* The word has been gone through: it may name a program, or be a word behind which a secret stands. */
void program_observe(struct redact *r, struct str word);
/* Is s, the next word, a secret by its place? From *ret_from to *ret_to it is. */
bool program_hides(struct redact *r, struct str s, size_t *ret_from, size_t *ret_to);
/* Is s, the next word, none by its place, but the name of something: a file, an object of a store, a variable? */
bool program_keeps(const struct redact *r, struct str s);
/* Another command begins: what was said of operands to come is over. */
void program_end(struct redact *r);
/* Do these words, a command of a script, take a secret from their standard input? *ret_after: it begins behind the
 * first such character, 0 anywhere. */
bool program_reads(const struct str *words, size_t n, char *ret_after);

#endif
