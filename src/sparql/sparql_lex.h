/* sparql_lex.h - the words of a query. Private to sparql. */
#ifndef STEMMA_SPARQL_SPARQL_LEX_H
#define STEMMA_SPARQL_SPARQL_LEX_H

#include "base/buf.h"
#include "base/str.h"
#include "base/vec.h"

#include <stdbool.h>

enum sparql_token_kind {
	TOKEN_END,
	TOKEN_BAD,
	TOKEN_IRI,   /* text: between < and > */
	TOKEN_NAME,  /* prefix:local; text: prefix, more: local, unescaped */
	TOKEN_BLANK, /* _:label */
	TOKEN_VAR,
	TOKEN_LANG,   /* @en */
	TOKEN_STRING, /* text: unescaped */
	TOKEN_INTEGER,
	TOKEN_DECIMAL,
	TOKEN_DOUBLE,
	TOKEN_WORD, /* a keyword, or `a` */
	TOKEN_SIGN  /* text: one of the signs of the grammar */
};
struct sparql_token {
	enum sparql_token_kind kind;
	struct str text, more;
	size_t at, end; /* in the text */
};
struct sparql_lexer {
	struct str text;
	size_t at;
	struct arena *arena;
	const char *bad; /* why a token is TOKEN_BAD */
};
/* The next token; TOKEN_END at the end, TOKEN_BAD for what is none. */
void sparql_lex(struct sparql_lexer *l, struct sparql_token *ret);
/* Text with \uXXXX and \UXXXXXXXX replaced, in the arena. False: one of them is none. */
bool sparql_unescape_unicode(struct arena *arena, struct str text, struct str *ret);
/* Appends a code point as UTF-8. Returns its length, 0 if it is none. */
size_t sparql_utf8_put(char *at, uint32_t c);

#endif
