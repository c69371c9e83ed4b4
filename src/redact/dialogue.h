/* dialogue.h - what a script of `expect` types: the string behind `send`, if the prompt before asks for a password or
 * the string itself looks like one; and the value of a variable that is called like one (`set password x`). */
#ifndef STEMMA_REDACT_DIALOGUE_H
#define STEMMA_REDACT_DIALOGUE_H

#include "redact/redact.h"

/* The word has been gone through, which stood in quotes or not: it may begin such a script, or be a prompt. */
void dialogue_observe(struct redact *r, struct str word, bool quoted);
/* Is s, the next word, typed, and a secret? From *ret_from to *ret_to it is. */
bool dialogue_hides(struct redact *r, struct str s, bool quoted, size_t *ret_from, size_t *ret_to);
/* What holds in a text within this one, too. */
static inline unsigned dialogue_within(const struct redact *r)
{
	return r->dialogue & 1;
}

#endif
