#include "sparql/sparql_lex.h"

#include "base/hex.h"

#include <string.h>

size_t sparql_utf8_put(char *at, uint32_t c)
{
	unsigned char *p = (unsigned char *)at;
	if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		return 0;
	if (c < 0x80) {
		p[0] = (unsigned char)c;
		return 1;
	}
	const size_t n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
	static const unsigned char lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
	for (size_t i = n - 1; i > 0; i--) {
		p[i] = (unsigned char)(0x80 | (c & 0x3f));
		c >>= 6;
	}
	p[0] = (unsigned char)(lead[n] | c);
	return n;
}

bool sparql_unescape_unicode(struct arena *arena, struct str text, struct str *ret)
{
	char *out = arena_take(arena, text.n + 1);
	size_t n = 0;
	for (size_t i = 0; out && i < text.n;) {
		const char next = text.p[i] == '\\' && i + 1 < text.n ? text.p[i + 1] : '\0';
		const size_t digits = next == 'u' ? 4 : next == 'U' ? 8 : 0;
		if (!digits) {
			out[n++] = text.p[i++];
			if (next)
				out[n++] = text.p[i++];
			continue;
		}
		uint32_t c = 0;
		for (size_t k = 0; k < digits; k++) {
			const int d = i + 2 + k < text.n ? hex_digit(text.p[i + 2 + k]) : -1;
			if (d < 0)
				return false;
			c = c << 4 | (uint32_t)d;
		}
		const size_t put = sparql_utf8_put(out + n, c);
		if (!put)
			return false;
		n += put;
		i += 2 + digits;
	}
	*ret = str_n(out, n);
	return out != NULL;
}

/* ---- characters ---- */

/* Is it a digit of ASCII? */
static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* PN_CHARS_BASE or '_'; all that is not ASCII counts as a letter. */
static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (unsigned char)c >= 0x80;
}

/* Can it stand in a name, behind its first character? */
static bool is_name(char c)
{
	return is_letter(c) || is_digit(c) || c == '-';
}

/* The character `ahead` bytes on. NUL behind the end. */
static char peek(const struct sparql_lexer *l, size_t ahead)
{
	return l->at + ahead < l->text.n ? l->text.p[l->at + ahead] : '\0';
}

/* Comments, too. */
static void skip_space(struct sparql_lexer *l)
{
	while (l->at < l->text.n) {
		const char c = l->text.p[l->at];
		if (c == '#') {
			while (l->at < l->text.n && l->text.p[l->at] != '\n' && l->text.p[l->at] != '\r')
				l->at++;
		} else if (c == ' ' || c == '\t' || c == '\n' || c == '\r')
			l->at++;
		else
			return;
	}
}

/* Makes the token one that is wrong. why must outlive the lexer. */
static void bad(struct sparql_lexer *l, struct sparql_token *t, const char *why)
{
	t->kind = TOKEN_BAD;
	l->bad = why;
}

/* ---- words ---- */

/* <...>; else < is a sign. */
static bool lex_iri(struct sparql_lexer *l, struct sparql_token *t)
{
	size_t n = 1;
	for (;; n++) {
		const char c = peek(l, n);
		if (l->at + n >= l->text.n || (unsigned char)c <= 0x20 || strchr("<\"{}|^`\\", c))
			return false;
		if (c == '>')
			break;
	}
	t->kind = TOKEN_IRI;
	t->text = str_n(l->text.p + l->at + 1, n - 1);
	l->at += n + 1;
	return true;
}

/* The character that stands for \\c; false: none. */
static bool unescape(char c, char *ret)
{
	static const char from[] = "tbnrf\\\"'", to[] = "\t\b\n\r\f\\\"'";
	const char *at = c ? strchr(from, c) : NULL;
	if (at)
		*ret = to[at - from];
	return at != NULL;
}

/* Its text, unescaped, lives as long as the arena. A bad one becomes TOKEN_BAD. */
static void lex_string(struct sparql_lexer *l, struct sparql_token *t)
{
	const char quote = peek(l, 0);
	const bool lengthy = peek(l, 1) == quote && peek(l, 2) == quote;
	char *out = arena_take(l->arena, l->text.n - l->at + 1);
	size_t n = 0;
	l->at += lengthy ? 3 : 1;
	t->kind = TOKEN_STRING;
	for (; out && l->at < l->text.n; l->at++) {
		char c = l->text.p[l->at];
		if (c == quote && (!lengthy || (peek(l, 1) == quote && peek(l, 2) == quote))) {
			l->at += lengthy ? 3 : 1;
			t->text = str_n(out, n);
			return;
		}
		if (!lengthy && (c == '\n' || c == '\r'))
			break;
		if (c == '\\' && !unescape(peek(l, 1), &c))
			break;
		l->at += l->text.p[l->at] == '\\';
		out[n++] = c;
	}
	bad(l, t, out ? "a string does not end" : "no memory");
}

/* An integer, decimal or double without a sign. There must be a digit or a dot and a digit. */
static void lex_number(struct sparql_lexer *l, struct sparql_token *t)
{
	size_t n = 0;
	t->kind = TOKEN_INTEGER;
	while (is_digit(peek(l, n)))
		n++;
	if (peek(l, n) == '.' && is_digit(peek(l, n + 1))) {
		t->kind = TOKEN_DECIMAL;
		n++;
		while (is_digit(peek(l, n)))
			n++;
	}
	size_t e = n;
	if (e && t->kind == TOKEN_INTEGER && peek(l, e) == '.')
		e++; /* 1.e5 */
	if (peek(l, e) == 'e' || peek(l, e) == 'E') {
		e++;
		if (peek(l, e) == '+' || peek(l, e) == '-')
			e++;
		if (is_digit(peek(l, e))) {
			t->kind = TOKEN_DOUBLE;
			while (is_digit(peek(l, e)))
				e++;
			n = e;
		}
	}
	t->text = str_n(l->text.p + l->at, n);
	l->at += n;
}

/* The local part of a name, unescaped; the lexer stands behind the colon. */
static bool lex_local(struct sparql_lexer *l, struct sparql_token *t)
{
	char *out = arena_take(l->arena, l->text.n - l->at + 1);
	size_t n = 0, dots = 0;
	if (!out)
		return false;
	for (;; l->at++) {
		const char c = peek(l, 0);
		if (c == '\\' && peek(l, 1) && strchr("_~.-!$&'()*+,;=/?#@%", peek(l, 1))) {
			out[n++] = peek(l, 1);
			l->at++;
		} else if (c == '%' && hex_digit(peek(l, 1)) >= 0 && hex_digit(peek(l, 2)) >= 0) {
			memcpy(out + n, l->text.p + l->at, 3);
			n += 3;
			l->at += 2;
		} else if (is_letter(c) || is_digit(c) || c == ':' || (n && (c == '-' || c == '.'))) {
			out[n++] = c;
		} else {
			break;
		}
		dots = c == '.' ? dots + 1 : 0;
	}
	/* A dot at the end is no part of it. */
	t->more = str_n(out, n - dots);
	l->at -= dots;
	return true;
}

/* A prefixed name or a keyword. */
static void lex_word(struct sparql_lexer *l, struct sparql_token *t)
{
	size_t n = 0;
	while (is_name(peek(l, n)) || (n && peek(l, n) == '.'))
		n++;
	while (n && peek(l, n - 1) == '.' && peek(l, n) != ':')
		n--;
	t->text = str_n(l->text.p + l->at, n);
	if (peek(l, n) == ':' && (n == 0 || peek(l, 0) != '_' || n > 1)) {
		t->kind = TOKEN_NAME;
		l->at += n + 1;
		if (!lex_local(l, t))
			bad(l, t, "no memory");
		return;
	}
	/* A keyword has letters, digits and _ only. */
	n = 0;
	while (is_name(peek(l, n)) && peek(l, n) != '-')
		n++;
	t->text = str_n(l->text.p + l->at, n);
	t->kind = TOKEN_WORD;
	l->at += n;
}

/* "_:" stands at l->at. Dots at its end are not of the label. */
static void lex_blank(struct sparql_lexer *l, struct sparql_token *t)
{
	size_t n = 2;
	while (is_name(peek(l, n)) || peek(l, n) == '.')
		n++;
	while (peek(l, n - 1) == '.')
		n--;
	t->kind = TOKEN_BLANK;
	t->text = str_n(l->text.p + l->at + 2, n - 2);
	l->at += n;
	if (n == 2 || t->text.p[0] == '-')
		bad(l, t, "a blank node has no label");
}

/* A ? alone is the sign of a path. */
static void lex_var(struct sparql_lexer *l, struct sparql_token *t)
{
	size_t n = 1;
	while (is_letter(peek(l, n)) || is_digit(peek(l, n)))
		n++;
	t->kind = TOKEN_VAR;
	t->text = str_n(l->text.p + l->at + 1, n - 1);
	if (n == 1) { /* the sign of a path */
		t->kind = TOKEN_SIGN;
		t->text = str_n(l->text.p + l->at, 1);
	}
	l->at += n;
}

/* "@" stands at l->at. */
static void lex_lang(struct sparql_lexer *l, struct sparql_token *t)
{
	size_t n = 1;
	while (is_name(peek(l, n)) && peek(l, n) != '_' && (unsigned char)peek(l, n) < 0x80)
		n++;
	t->kind = TOKEN_LANG;
	t->text = str_n(l->text.p + l->at + 1, n - 1);
	l->at += n;
	if (n == 1 || !is_letter(t->text.p[0]))
		bad(l, t, "a language has no name");
}

/* The longest sign that stands there; TOKEN_BAD for what is none. */
static void lex_sign(struct sparql_lexer *l, struct sparql_token *t)
{
	static const char *const twice[] = {"^^", "||", "&&", "!=", "<=", ">="};
	size_t n = 1;
	for (size_t i = 0; i < sizeof(twice) / sizeof(twice[0]); i++)
		if (peek(l, 0) == twice[i][0] && peek(l, 1) == twice[i][1])
			n = 2;
	t->kind = TOKEN_SIGN;
	t->text = str_n(l->text.p + l->at, n);
	l->at += n;
	if (n == 1 && !strchr("{}()[].,;*/|^!=<>+-?&", t->text.p[0]))
		bad(l, t, "a character that has no meaning here");
}

void sparql_lex(struct sparql_lexer *l, struct sparql_token *t)
{
	skip_space(l);
	*t = (struct sparql_token){.kind = TOKEN_END, .at = l->at};
	const char c = peek(l, 0);
	if (l->at >= l->text.n) {
		t->end = l->at;
		return;
	}
	if (c == '_' && peek(l, 1) == ':')
		lex_blank(l, t);
	else if (c == '?' || c == '$')
		lex_var(l, t);
	else if (c == '"' || c == '\'')
		lex_string(l, t);
	else if (is_digit(c) || (c == '.' && is_digit(peek(l, 1))))
		lex_number(l, t);
	else if (c == '@')
		lex_lang(l, t);
	else if (c == ':' || is_letter(c))
		lex_word(l, t);
	else if (c != '<' || !lex_iri(l, t))
		lex_sign(l, t);
	t->end = l->at;
}
