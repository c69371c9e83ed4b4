/* condition_tokens.c - the source that a condition stands in, as tokens. It may be any bytes. */
#include "spec/condition_int.h"

#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

struct lexer {
	const char *p, *end, *line_start;
	uint32_t line;
	uint32_t joined_line, joined_column; /* of the first \ of those that stand directly before p; line 0: none does */
};

/* Bytes that are not ASCII, too. */
static bool is_identifier_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' ||
	       (unsigned char)c >= 0x80;
}

/* Is it a digit of ASCII? */
static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Counts lines. There must be a character. */
static void next_char(struct lexer *l)
{
	if (*l->p++ == '\n') {
		l->line++;
		l->line_start = l->p;
	}
}

/* NUL behind the end. */
static char peek_char(const struct lexer *l, size_t k)
{
	return (size_t)(l->end - l->p) > k ? l->p[k] : '\0';
}

/* Past a quoted text, to the end of the line if it does not end before. */
static void skip_quoted(struct lexer *l, char quote)
{
	next_char(l);
	while (l->p < l->end && *l->p != quote && *l->p != '\n') {
		if (*l->p == '\\' && l->p + 1 < l->end)
			next_char(l);
		next_char(l);
	}
	if (l->p < l->end && *l->p == quote)
		next_char(l);
}

/* R"mark( ... )mark", from the quote on. */
static void skip_raw_string(struct lexer *l)
{
	const char *mark = l->p + 1;
	size_t n = 0;
	while (n < 17 && mark + n < l->end && mark[n] != '(')
		n++;
	next_char(l);
	if (mark + n >= l->end || mark[n] != '(')
		return;
	for (; l->p < l->end; next_char(l))
		if (*l->p == ')' && (size_t)(l->end - l->p) > n + 1 && memcmp(l->p + 1, mark, n) == 0 && l->p[n + 1] == '"') {
			for (size_t i = 0; i < n + 2; i++)
				next_char(l);
			return;
		}
}

/* The name that a line of the preprocessor, from # on, defines. */
static void note_macro(const struct lexer *l, struct condition_source *s)
{
	const char *p = l->p + 1, *define = "define";
	while (p < l->end && (*p == ' ' || *p == '\t'))
		p++;
	for (; *define && p < l->end && *p == *define; define++)
		p++;
	if (*define || p == l->end || (*p != ' ' && *p != '\t'))
		return;
	while (p < l->end && (*p == ' ' || *p == '\t'))
		p++;
	const char *name = p;
	while (p < l->end && is_identifier_char(*p))
		p++;
	if (p > name && s->n_macros < sizeof(s->macro) / sizeof(s->macro[0]))
		s->macro[s->n_macros++] = str_n(name, (size_t)(p - name));
}

/* Is there a backslash that joins this line and the next one? */
static bool is_line_joint(const struct lexer *l)
{
	return *l->p == '\\' && (peek_char(l, 1) == '\n' || (peek_char(l, 1) == '\r' && peek_char(l, 2) == '\n'));
}

/* Past the end of a line that goes on in the next one. */
static void skip_line_joint(struct lexer *l)
{
	if (!l->joined_line) {
		l->joined_line = l->line;
		l->joined_column = (uint32_t)(l->p - l->line_start) + 1;
	}
	while (*l->p != '\n')
		next_char(l);
	next_char(l);
}

/* From its beginning on. */
static void skip_block_comment(struct lexer *l)
{
	next_char(l);
	next_char(l);
	while (l->p < l->end && !(*l->p == '*' && peek_char(l, 1) == '/'))
		next_char(l);
	if (l->p < l->end) {
		next_char(l);
		next_char(l);
	}
}

/* A comment or a directive: to the end of its line, which may be joined with the next one. */
static void skip_line(struct lexer *l)
{
	while (l->p < l->end && *l->p != '\n') {
		if (is_line_joint(l))
			next_char(l);
		next_char(l);
	}
}

/* A NUL, too. */
static bool is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r') || c == '\0';
}

/* Is there nothing but space before the place, on its line? */
static bool begins_line(const struct lexer *l)
{
	for (const char *q = l->p; q > l->line_start; q--)
		if (!q[-1] || !strchr(" \t\r\f\v", q[-1]))
			return false;
	return true;
}

/* Past space and comments; *ret_directive: and lines of the preprocessor. */
static void skip_space_and_comments(struct lexer *l, struct condition_source *s, bool *ret_directive)
{
	bool first = begins_line(l); /* of its line */
	l->joined_line = 0;
	while (l->p < l->end) {
		const char c = *l->p;
		first |= c == '\n';
		if (is_line_joint(l)) {
			skip_line_joint(l);
			continue;
		}
		if (is_space(c)) {
			next_char(l);
		} else if (c == '/' && peek_char(l, 1) == '*') {
			skip_block_comment(l);
		} else if (c == '/' && peek_char(l, 1) == '/') {
			skip_line(l);
		} else if (c == '#' && first) {
			*ret_directive = true;
			note_macro(l, s);
			skip_line(l);
		} else {
			return;
		}
		l->joined_line = 0;
	}
}

/* The longest that fits; 1 for any other character. */
static size_t sign_length(const struct lexer *l)
{
	static const char *const signs[] = {
	    "<<=", ">>=", "...", "<=>", "->*", "&&", "||", "==", "!=", "<=", ">=", "<<", ">>",
	    "->",  "++",  "--",  "::",  "+=",  "-=", "*=", "/=", "%=", "&=", "|=", "^=", "##"};
	for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++) {
		size_t n = strlen(signs[i]);
		if ((size_t)(l->end - l->p) >= n && memcmp(l->p, signs[i], n) == 0)
			return n;
	}
	return 1;
}

/* Past a number, as the preprocessor takes it: letters, dots, a sign behind an exponent, quotes between digits. */
static void skip_number(struct lexer *l)
{
	for (char before = 0; l->p < l->end; before = *l->p, next_char(l)) {
		bool sign = before && strchr("eEpP", before) && (*l->p == '+' || *l->p == '-');
		bool quote = *l->p == '\'' && is_identifier_char(peek_char(l, 1));
		if (!is_identifier_char(*l->p) && *l->p != '.' && !sign && !quote)
			return;
	}
}

/* Past a word, or a text with a prefix. Which one it is. */
static enum token_kind skip_word(struct lexer *l)
{
	const char *start = l->p;
	while (l->p < l->end && is_identifier_char(*l->p))
		next_char(l);
	size_t n = (size_t)(l->p - start);
	bool prefix = n <= 3;
	for (size_t i = 0; i < n && prefix; i++)
		prefix = strchr("LuU8R", start[i]) != NULL;
	const char quote = prefix ? peek_char(l, 0) : '\0';
	if (quote == '"' && start[n - 1] == 'R')
		skip_raw_string(l);
	else if (quote == '"' || quote == '\'')
		skip_quoted(l, quote);
	else
		return TOKEN_WORD;
	return TOKEN_TEXT;
}

/* Moves behind it. */
static void read_token(struct lexer *l, struct token *t)
{
	char c = *l->p;
	if (is_digit(c) || (c == '.' && is_digit(peek_char(l, 1)))) {
		t->kind = TOKEN_NUMBER;
		skip_number(l);
	} else if (is_identifier_char(c)) {
		t->kind = (uint8_t)skip_word(l);
	} else if (c == '"' || c == '\'') {
		t->kind = TOKEN_TEXT;
		skip_quoted(l, c);
	} else {
		t->kind = TOKEN_SIGN;
		for (size_t n = sign_length(l); n; n--)
			next_char(l);
	}
}

struct condition_source *condition_source(struct str text)
{
	if (text.n > CONDITION_SOURCE_MAX)
		return NULL;
	struct condition_source *s = calloc(1, sizeof(*s));
	struct lexer l = {.p = text.p, .end = text.p + text.n, .line_start = text.p, .line = 1};
	if (!s)
		return NULL;
	s->text = text.p;
	for (bool cut = false;; cut = false) {
		skip_space_and_comments(&l, s, &cut);
		if (l.p >= l.end)
			return s;
		if (!vec_has_room(s->v, s->n, s->cap)) {
			condition_source_free(s);
			return NULL;
		}
		struct token *t = &s->v[s->n++];
		*t = (struct token){.at = (uint32_t)(l.p - text.p),
		                    /* Compilers take a line that is continued for a part of the token behind it. */
		                    .line = l.joined_line ? l.joined_line : l.line,
		                    .column = l.joined_line ? l.joined_column : (uint32_t)(l.p - l.line_start) + 1,
		                    .cut = cut};
		read_token(&l, t);
		t->n = (uint32_t)(l.p - text.p) - t->at;
	}
}

/* NULL is no error. */
void condition_source_free(struct condition_source *s)
{
	if (s)
		free(s->v);
	free(s);
}
