/* condition_int.h - the tokens of a source, as condition_tokens.c makes them and condition.c reads them. Not for
 * others. */
#ifndef STEMMA_SPEC_CONDITION_INT_H
#define STEMMA_SPEC_CONDITION_INT_H

#include "spec/condition.h"

#include <stddef.h>

enum token_kind { TOKEN_WORD, TOKEN_NUMBER, TOKEN_TEXT, TOKEN_SIGN };

struct token {
	uint32_t at, n, line, column;
	uint8_t kind;
	bool cut; /* a line of the preprocessor stands before it */
};

struct condition_source {
	const char *text;
	struct token *v;
	size_t n, cap;
	struct str macro[1024]; /* that the source itself defines, the first of them */
	size_t n_macros;
};

#endif
