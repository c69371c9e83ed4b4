/* suggest.h - "did you mean". */
#ifndef STEMMA_CMD_UI_SUGGEST_H
#define STEMMA_CMD_UI_SUGGEST_H

#include <stddef.h>

/* Which of the n words is nearest to what was typed: it begins with that, or two letters differ at most, and fewer than
 * half of them. NULL: none is near. */
const char *suggest_word(const char *typed, const char *const *words, size_t n);

#endif
