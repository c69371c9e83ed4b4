#include "redact/redact.h"

#include "redact/call.h"
#include "redact/dialogue.h"
#include "redact/name.h"
#include "redact/program.h"
#include "redact/quote.h"
#include "redact/shape.h"
#include "redact/statement.h"
#include "redact/token.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <strings.h>
#include <xxhash.h>

#define DEPTH 4        /* quotes within quotes that are looked into */
#define WORDS_AHEAD 16 /* of the command behind a pipe */

/* Puts *** in place of the secret; whoever watches is told, unless it is hidden already. */
static void hide_secret(const struct redact *r, struct buf *out, const char *family, struct str secret)
{
	if (r->watch && !str_is(secret, "***"))
		r->watch->found(r->watch->arg, family, secret);
	buf_add(out, "***", 3);
}

/* Classes of bytes; those above 127 have none. Every byte of every command line is asked about. */
enum {
	ALNUM = 1,
	SPACE = 2,
	IN_NAME = 4,   /* what a name may be made of */
	ENDS_WORD = 8, /* of a script */
};
static const unsigned char classes[256] = {
    ['0' ... '9'] = ALNUM | IN_NAME,
    ['a' ... 'z'] = ALNUM | IN_NAME,
    ['A' ... 'Z'] = ALNUM | IN_NAME,
    ['_'] = IN_NAME,
    ['-'] = IN_NAME,
    ['.'] = IN_NAME,
    [' '] = SPACE | ENDS_WORD,
    ['\t' ... '\r'] = SPACE | ENDS_WORD,
    [';'] = ENDS_WORD,
    ['|'] = ENDS_WORD,
    ['&'] = ENDS_WORD,
    ['('] = ENDS_WORD,
    [')'] = ENDS_WORD,
    ['<'] = ENDS_WORD,
    ['>'] = ENDS_WORD,
};

/* Is the character of that class? */
static bool has_class(char c, unsigned class)
{
	return classes[(unsigned char)c] & class;
}

/* Is it a letter or a digit of ASCII? */
static bool is_alnum_class(char c)
{
	return has_class(c, ALNUM);
}

/* Is it white space of ASCII? */
static bool is_space_class(char c)
{
	return has_class(c, SPACE);
}

/* Can it stand in the name of a variable or option? */
static bool is_name(char c)
{
	return has_class(c, IN_NAME);
}

/* ---- words ---- */

static void redact_nested_text(struct redact *r, struct buf *out, struct str s, bool script, unsigned depth);

/* The name that ends at `to`, with quotes and ["..."] around it passed by, those with a backslash too; and what stands
 * before it. */
static struct str name_before(struct str s, size_t to, size_t *ret_from)
{
	if (to > 1 && s.p[to - 1] == ']' && (s.p[to - 2] == '"' || s.p[to - 2] == '\''))
		to--;
	bool quote = to && quote_is(s.p[to - 1]);
	while (quote && to && (quote_is(s.p[to - 1]) || s.p[to - 1] == '\\'))
		to--;
	size_t from = to;
	while (from && is_name(s.p[from - 1]))
		from--;
	*ret_from = from;
	return str_n(s.p + from, to - from);
}

/* Where a value that begins at `from` in the middle of something ends. */
static size_t value_end(struct str s, size_t from)
{
	char quote = from < s.n ? s.p[from] : 0;
	if (quote == '"' || quote == '\'') {
		size_t to = from + 1;
		while (to < s.n && s.p[to] != quote)
			to += s.p[to] == '\\' && to + 1 < s.n ? 2 : 1;
		return to < s.n ? to + 1 : s.n;
	}
	while (from < s.n && !is_space_class(s.p[from]) && !strchr("&;,|\"'`)}<>", s.p[from]))
		from++;
	return from;
}

/* What a token is called in the name of a file: two names stay two. */
static void hide_token(const struct redact *r, struct buf *out, const char *family, struct str secret)
{
	hide_secret(r, out, family, secret);
	if (r->path)
		buf_printf(out, "-%06x", (unsigned)(XXH3_64bits(secret.p, secret.n) & 0xffffff));
}

/* NAME=value or NAME:value somewhere in a text. */
struct found_value {
	struct str name, value;
	size_t name_at, at; /* where they stand */
	enum name_sort sort;
	bool colon, quoted, query; /* query: it stands in an address behind ? or & */
};

/* Where the value ends, which begins at `at`, behind an escaped quote of so many characters if that is not 0. Of a path
 * it is within one component. */
static size_t found_value_end(const struct redact *r, struct str s, size_t at, enum name_sort sort, size_t escaped)
{
	bool whole = (sort == NAME_strong || sort == NAME_some) && at < s.n && s.p[at] != '[';
	struct str in = whole ? s : quote_ahead(s, at);
	size_t end = escaped ? quote_escaped_end(in, at, escaped) : value_end(in, at);
	if (!r->path)
		return end;
	const char *slash = memchr(s.p + at, '/', end - at);
	end = slash ? (size_t)(slash - s.p) : end;
	/* What looks random ends where the name's ending begins. */
	const char *dot = sort == NAME_random ? memchr(s.p + at, '.', end - at) : NULL;
	return dot ? (size_t)(dot - s.p) : end;
}

/* What stands around the = or : at place i of s. False: nothing that could be a secret. */
static bool find_value(const struct redact *r, struct str s, size_t i, struct found_value *v)
{
	v->colon = s.p[i] == ':';
	v->name = name_before(s, i, &v->name_at);
	v->at = i + 1;
	if (v->name.n < 2 || (v->name_at && s.p[v->name_at - 1] == '/' && !r->path))
		return false;
	while (v->colon && v->at < s.n && s.p[v->at] == ' ')
		v->at++;
	size_t escaped = quote_escaped(s, v->at);
	v->at += escaped;
	v->sort = name_sort(v->name);
	v->value = str_n(s.p + v->at, found_value_end(r, s, v->at, v->sort, escaped) - v->at);
	if (!v->value.n)
		return false;
	v->quoted = escaped || quote_is(s.p[i - 1]) || s.p[i - 1] == ']' || quote_is(v->value.p[0]);
	v->query = v->name_at && (s.p[v->name_at - 1] == '?' || s.p[v->name_at - 1] == '&');
	return true;
}

/* Is the value behind a colon to be hidden? host:/path, remote:dir/x and C:\path are no values; name:value needs
 * more to be one than name=value. */
static bool colon_hides(const struct found_value *v)
{
	return v->value.n >= 6 && !memchr(v->value.p, '/', v->value.n) && v->value.p[0] != '\\' &&
	       ((v->sort == NAME_strong && name_sort_hides(v->sort, v->value)) ||
	        (name_looks_random(v->value, 12) &&
	         ((v->sort == NAME_some && name_sort_hides(v->sort, v->value)) || name_is_service_key(v->name))));
}

/* The value of name= or name: at place i of s: from *ret_from to *ret_to it is a secret. */
static bool scan_value(const struct redact *r, struct str s, size_t i, size_t *ret_from, size_t *ret_to)
{
	struct found_value v;
	if (!find_value(r, s, i, &v))
		return false;
	*ret_from = v.at;
	*ret_to = v.at + v.value.n;
	if (r->path && !v.query)
		return v.sort == NAME_strong && name_sort_hides(v.sort, v.value);
	if (v.colon && !v.quoted)
		return colon_hides(&v);
	if (v.query && v.sort == NAME_random && v.value.n >= 16)
		return true;
	return name_hides(v.name, v.value);
}

/* Does "://" stand at place i of s? */
static bool is_address(struct str s, size_t i)
{
	return i + 2 < s.n && s.p[i + 1] == '/' && s.p[i + 2] == '/';
}

/* The password of the address whose "://" stands at place i of s. */
static bool scan_address(struct str s, size_t i, size_t *ret_from, size_t *ret_to)
{
	struct str rest = quote_ahead(s, i + 3);
	if (!shape_address(str_n(s.p + i + 3, rest.n - i - 3), ret_from, ret_to))
		return false;
	*ret_from += i + 3;
	*ret_to += i + 3;
	return true;
}

/* A word, or any text without structure: tokens, addresses with passwords, and name=value at any place. */
static void scan_text(const struct redact *r, struct buf *out, struct str s)
{
	size_t said = 0;
	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];
		size_t from = 0, to = 0, keep = 0;
		const char *family = NULL;
		if (is_alnum_class(c)) {
			if (i && is_alnum_class(s.p[i - 1]))
				continue;
			size_t n = token_at(str_n(s.p + i, s.n - i), &keep, &family);
			from = i + keep;
			to = i + n;
		} else if (c == ':' && is_address(s, i)) {
			if (!scan_address(s, i, &from, &to))
				continue;
		} else if ((c == '=' || c == ':') && i && i + 1 < s.n && !scan_value(r, s, i, &from, &to)) {
			continue;
		}
		if (to <= from)
			continue;
		buf_add(out, s.p + said, from - said);
		if (family)
			hide_token(r, out, family, str_n(s.p + from, to - from));
		else
			hide_secret(r, out, c == ':' && s.p[i + 1] == '/' ? "address" : "password", str_n(s.p + from, to - from));
		said = to;
		i = to - 1;
	}
	buf_add(out, s.p + said, s.n - said);
}

/* NAME=value or "Name: value" that s as a whole is: the place of the value. */
static bool find_assignment(struct str s, size_t *ret_value)
{
	size_t i = 0;
	while (i < s.n && is_name(s.p[i]))
		i++;
	if (!i || i >= s.n || (s.p[i] != '=' && s.p[i] != ':'))
		return false;
	bool header = s.p[i] == ':';
	bool bare = i >= 13 && !strncasecmp(s.p + i - 13, "authorization", 13); /* as httpie takes it */
	if (header && (i + 1 >= s.n || (s.p[i + 1] != ' ' && !bare)))
		return false;
	size_t value = i + 1;
	while (header && value < s.n && s.p[value] == ' ')
		value++;
	*ret_value = value;
	return name_hides(str_n(s.p, i), str_n(s.p + value, s.n - value));
}

/* A value that is a word of a header, of which the one before is the scheme. */
static bool by_scheme(const struct redact *r, struct str s)
{
	size_t least = name_scheme(r->before);
	if (!least || s.n < least)
		return false;
	for (size_t k = 0; k < s.n; k++)
		if (!is_alnum_class(s.p[k]) && !strchr("+/=_.~-\"'", s.p[k]))
			return false;
	return memchr(s.p, '=', s.n) || name_looks_random(s, least) || strncasecmp(r->before.p, "basic", 5) != 0;
}

/* A part of a word that is a secret: [from, to), of that family. */
struct secret {
	size_t from, to;
	const char *family;
};

/* A string of a program's text is awaited, perhaps with what follows it. */
static bool by_awaited_text(struct redact *r, struct str s, bool quoted, struct secret *ret)
{
	if (!r->awaits_text)
		return false;
	r->awaits_text = false;
	const char *end = quote_is(s.p[0]) ? memchr(s.p + 1, s.p[0], s.n - 1) : NULL;
	size_t from = quoted ? 0 : 1, to = quoted ? s.n : end ? (size_t)(end - s.p) : 0;
	if (to <= from || s.p[from] == '$')
		return false;
	ret->from = from;
	ret->to = to;
	return true;
}

/* "name": "value", of JSON; b is the word before. */
static bool by_json_name(struct str b, struct str s, struct secret *ret)
{
	if (b.n <= 3 || b.p[b.n - 1] != ':' || b.p[b.n - 2] != '"' || s.n <= 2)
		return false;
	size_t begin, from = s.p[0] == '"' ? 1 : quote_escaped(s, 0);
	if (!from)
		return false;
	size_t to = quote_escaped_end(s, from, from);
	if (!name_hides(name_before(b, b.n - 1, &begin), str_n(s.p + from, to - from)))
		return false;
	ret->from = from;
	ret->to = to;
	return true;
}

/* -name VALUE, and as in: configure set some_secret_key VALUE; b is the word before. */
static bool by_name_before(struct str b, struct str s)
{
	size_t name = 0;
	while (name < b.n && is_name(b.p[name]))
		name++;
	if (!b.n || name < b.n || s.p[0] == '-')
		return false;
	if (b.p[0] == '-')
		return b.n > 1 && name_hides(b, s);
	return b.n > 6 && b.n < 64 && name_looks_random(s, 16) && name_sort(b) == NAME_strong;
}

/* The part of s that is a secret by what stands before s. */
static bool find_by_before(struct redact *r, struct str s, bool quoted, struct secret *ret)
{
	const struct secret all = {0, s.n, "password"};
	*ret = all;
	if (r->pending) {
		r->pending--;
		return true;
	}
	if (by_awaited_text(r, s, quoted, ret) || program_hides(r, s, &ret->from, &ret->to))
		return true;
	*ret = all;
	if (dialogue_hides(r, s, quoted, &ret->from, &ret->to))
		return true;
	*ret = all;
	if (statement_hides(r, s, quoted, &ret->from, &ret->to))
		return true;
	*ret = all;
	if (str_starts(r->before, str_of("-pass")) && str_starts(s, str_of("pass:")) && s.n > 5) { /* openssl */
		ret->from = 5;
		return true;
	}
	if (r->before.n && by_scheme(r, s)) {
		ret->family = "header";
		return true;
	}
	return by_json_name(r->before, s, ret) || by_name_before(r->before, s);
}

/* Does what stands before say that s is a secret? Then it is written without that. The name of something, of which it
 * says that it is none, is written as a name. */
static bool by_before(struct redact *r, struct buf *out, struct str s, bool quoted)
{
	struct secret found;
	if (s.n && !r->pending && program_keeps(r, s)) {
		struct redact name = {.watch = r->watch, .path = true};
		scan_text(&name, out, s);
		return true;
	}
	if (!s.n || !find_by_before(r, s, quoted, &found))
		return false;
	buf_add(out, s.p, found.from);
	hide_secret(r, out, found.family, str_n(s.p + found.from, found.to - found.from));
	buf_add(out, s.p + found.to, s.n - found.to);
	return true;
}

/* Notes that the next word is the value of a name that ends in a colon, as Authorization: and "password": as words
 * of their own. */
static void note_name_with_colon(struct redact *r, struct str inner)
{
	size_t from;
	if (inner.n <= 3 || r->pending || inner.p[inner.n - 1] != ':')
		return;
	struct str name = name_before(inner, inner.n - 1, &from);
	enum name_sort sort = name_sort(name);
	if (sort == NAME_strong || (sort == NAME_some && (from || name.n < inner.n - 1)))
		r->pending = name.n >= 13 && !strncasecmp(name.p + name.n - 13, "authorization", 13) ? 2 : 1;
}

/* A word that ends a name: whether the next one is its value. */
static void note_name_before_value(struct redact *r, struct str inner, bool quoted)
{
	size_t from;
	note_name_with_colon(r, inner);
	/* password = "x", "password" : "x", cfg["password"] = "x" */
	if (!quoted && !r->pending && r->before.n && (str_is(inner, "=") || str_is(inner, ":"))) {
		struct str name = name_before(r->before, r->before.n, &from);
		enum name_sort sort = name_sort(name);
		bool variable = from && strchr("${", r->before.p[from - 1]);
		if (sort == NAME_strong && !variable)
			r->pending = 1;
		else if (sort == NAME_strong || sort == NAME_some)
			r->awaits_text = true;
	}
}

/* A string that is given to a function: from its quote at `at` on; where there is none, that is the end of the text. */
struct given {
	size_t at, from, to, quote;
};

/* Appends the value that was found, hidden. Returns where what follows it begins; then there is none. */
static size_t hide_given(const struct redact *r, struct buf *out, struct str s, struct given *g)
{
	size_t end = g->to + g->quote;
	buf_add(out, s.p + g->at, g->quote);
	hide_secret(r, out, "password", str_n(s.p + g->from, g->to - g->from));
	buf_add(out, s.p + g->to, g->quote);
	g->at = s.n;
	return end;
}

/* A word with quotes in it that its own quotes do not end; calls are looked for, too. */
static void scan_word(const struct redact *r, struct buf *out, struct str s)
{
	struct given g;
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] != '(' || !call_hides(s, i, &g.from, &g.to, &g.quote))
			continue;
		g.at = g.from - g.quote;
		scan_text(r, out, str_n(s.p, g.at));
		size_t end = hide_given(r, out, s, &g);
		s = str_n(s.p + end, s.n - end);
		i = 0;
	}
	scan_text(r, out, s);
}

/* What stays known within a text that stands in quotes. --password-command 'pass show x': what stands there is a
 * command of its own, of which the program before says nothing. */
static struct redact begin_within(const struct redact *r)
{
	bool command = r->before.n && r->before.p[0] == '-' &&
	               (str_ends(r->before, str_of("command")) || str_ends(r->before, str_of("cmd")));
	return (struct redact){.watch = r->watch, .row = command ? 0 : r->row, .dialogue = dialogue_within(r)};
}

/* A word of a command line or script, perhaps with quotes in and around it. */
static void redact_word(struct redact *r, struct buf *out, struct str w, unsigned depth)
{
	char q = w.n > 1 ? w.p[0] : 0;
	struct str inner = w;
	bool quoted = quote_is(q) && value_end(w, 0) == w.n && w.p[w.n - 1] == q;
	if (quoted) {
		inner = str_n(w.p + 1, w.n - 2);
		buf_char(out, q);
	}
	size_t value;
	if (by_before(r, out, inner, quoted)) {
	} else if (quoted && depth < DEPTH) {
		struct redact in = begin_within(r);
		redact_nested_text(&in, out, inner, false, depth + 1);
	} else if (!quoted && find_assignment(inner, &value)) {
		buf_add(out, inner.p, value);
		hide_secret(r, out, "password", str_n(inner.p + value, inner.n - value));
	} else {
		scan_word(r, out, inner);
	}
	if (quoted)
		buf_char(out, q);
	note_name_before_value(r, inner, quoted);
	program_observe(r, inner);
	statement_observe(r, inner);
	dialogue_observe(r, inner, quoted);
	r->earlier = r->before;
	r->before = inner;
}

/* The end of the word that begins at `at`: a blank, or what separates commands, outside of quotes. */
static size_t find_word_end(struct str s, size_t at)
{
	while (at < s.n && !has_class(s.p[at], ENDS_WORD)) {
		char q = s.p[at];
		if (q == '\\' && at + 1 < s.n) {
			at++;
		} else if (q == '"' || q == '\'') {
			size_t to = at + 1;
			while (to < s.n && s.p[to] != q)
				to += q == '"' && s.p[to] == '\\' && to + 1 < s.n ? 2 : 1;
			if (to < s.n) /* else it is an apostrophe */
				at = to;
		}
		at++;
	}
	return at < s.n ? at : s.n;
}

/* Of `echo WORDS | COMMAND`, whose words begin at `at`: does COMMAND take a secret from its standard input? */
static bool is_read(struct str s, size_t at, char *ret_after)
{
	struct str words[WORDS_AHEAD];
	size_t n = 0;
	s = quote_ahead(s, at);
	while (at < s.n && s.p[at] != '|') {
		if (strchr(";&\n", s.p[at]))
			return false;
		size_t end = find_word_end(s, at);
		at = end == at ? at + 1 : end;
	}
	for (at++; at < s.n && n < WORDS_AHEAD && !strchr(";&|\n", s.p[at]);) {
		size_t end = find_word_end(s, at);
		if (end > at)
			words[n++] = str_n(s.p + at, end - at);
		at = end == at ? at + 1 : end;
	}
	return program_reads(words, n, ret_after);
}

/* What echo says to a command that takes a secret so. */
static void hide_read(const struct redact *r, struct buf *out, struct str w, char after)
{
	const char *mark = after ? memchr(w.p, after, w.n) : NULL;
	size_t from = mark ? (size_t)(mark - w.p) + 1 : w.n > 2 && strchr("\"'", w.p[0]) ? 1 : 0;
	size_t to = w.n - (w.n > from && from && strchr("\"'", w.p[w.n - 1]) ? 1 : 0);
	if (to <= from || w.p[from] == '$') {
		buf_str(out, w);
		return;
	}
	buf_add(out, w.p, from);
	hide_secret(r, out, "password", str_n(w.p + from, to - from));
	buf_add(out, w.p + to, w.n - to);
}

/* What separates words: a command that ends says nothing of the next one's words. */
static void end_command(struct redact *in, char c)
{
	in->before = in->earlier = str_n(NULL, 0);
	in->pending = 0;
	if (strchr(";|&", c))
		program_end(in);
}

/* Where the word that begins at `at` ends, with what separates words but is a part of this one. */
static size_t whole_word_end(struct str s, size_t at, bool script)
{
	size_t end = find_word_end(s, at);
	/* An address may hold what separates commands. */
	if (memmem(s.p + at, end - at, "://", 3))
		while (end < s.n && !is_space_class(s.p[end]) && !quote_is(s.p[end]))
			end++;
	for (size_t from = at, more; !script && (more = quote_still_open(s, from, end)) > end; from = more)
		end = find_word_end(s, more);
	/* In what is no script, a bar inside of a word is one of its letters. */
	while (!script && end + 1 < s.n && s.p[end] == '|' && !has_class(s.p[end + 1], ENDS_WORD))
		end = find_word_end(s, end + 1);
	return end;
}

/* Word by word: each says what the next one may be. */
static void redact_words(const struct redact *r, struct buf *out, struct str s, bool script, unsigned depth)
{
	struct redact in = begin_within(r);
	bool echo = false;
	char after = 0;
	struct given g = {.at = s.n};
	for (size_t at = 0, end; at < s.n; at = end) {
		if (at == g.at) {
			end = hide_given(&in, out, s, &g);
			continue;
		}
		if (has_class(s.p[at], ENDS_WORD)) {
			buf_char(out, s.p[at]);
			end = at + 1;
			if (!is_space_class(s.p[at])) {
				end_command(&in, s.p[at]);
				echo = false;
			}
			if (s.p[at] == '(' && g.at == s.n && call_hides(s, at, &g.from, &g.to, &g.quote))
				g.at = g.from - g.quote;
			continue;
		}
		end = whole_word_end(s, at, script);
		if (end > g.at)
			end = g.at;
		struct str w = str_n(s.p + at, end - at);
		if (echo && w.p[0] != '-') {
			hide_read(&in, out, w, after);
			continue;
		}
		redact_word(&in, out, w, depth);
		if (script && (str_is(w, "echo") || str_is(w, "printf")))
			echo = is_read(s, end, &after);
	}
}

/* Appends a text without its secrets. script: words of commands, each judged by itself; else what begins with a
 * secret's name is all its value. */
static void redact_nested_text(struct redact *r, struct buf *out, struct str s, bool script, unsigned depth)
{
	size_t from, to, value;
	if (!s.n)
		return;
	if (shape_private_key(s, &from, &to)) {
		redact_nested_text(r, out, str_n(s.p, from), script, depth);
		hide_secret(r, out, "key", str_n(s.p + from, to - from));
		redact_nested_text(r, out, str_n(s.p + to, s.n - to), script, depth);
		return;
	}
	if (!script && find_assignment(s, &value)) {
		buf_add(out, s.p, value);
		hide_secret(r, out, "password", str_n(s.p + value, s.n - value));
		return;
	}
	if (find_word_end(s, 0) == s.n && !strchr("\"'", s.p[0]))
		scan_text(r, out, s);
	else
		redact_words(r, out, s, script, depth);
}

/* ---- what callers see ---- */

/* -c, -lc, -ec: what follows is a script. */
static bool is_script_option(struct str s)
{
	return s.n >= 2 && s.n <= 5 && s.p[0] == '-' && s.p[1] != '-' && s.p[s.n - 1] == 'c';
}

void redact_arg(struct redact *r, struct buf *out, struct str arg)
{
	size_t value;
	bool option = arg.n > 2 && arg.p[0] == '-';
	if (by_before(r, out, arg, false)) {
	} else if (option && find_assignment(arg, &value)) {
		buf_add(out, arg.p, value);
		hide_secret(r, out, "password", str_n(arg.p + value, arg.n - value));
	} else {
		redact_nested_text(r, out, arg, is_script_option(r->before), 0);
	}
	if (arg.n > 3 && arg.p[arg.n - 1] == ':' && name_sort(str_n(arg.p, arg.n - 1)) == NAME_strong)
		r->pending = str_starts(arg, str_of("Auth")) || str_starts(arg, str_of("auth")) ? 2 : 1;
	program_observe(r, arg);
	statement_observe(r, arg);
	dialogue_observe(r, arg, false);
	r->earlier = r->before;
	r->before = arg;
}

void redact_env_watched(const struct redact_watch *watch, struct buf *out, struct str var)
{
	const char *eq = var.n ? memchr(var.p, '=', var.n) : NULL;
	struct str name = str_n(var.p, eq ? (size_t)(eq - var.p) : var.n);
	struct str value = str_n(eq ? eq + 1 : NULL, eq ? var.n - name.n - 1 : 0);
	struct redact r = {.watch = watch};
	buf_add(out, var.p, eq ? name.n + 1 : name.n);
	if (name_hides(name, value))
		hide_secret(&r, out, "password", value);
	else
		redact_nested_text(&r, out, value, false, 0);
}

/* Appends the text without secrets; watch is told of each. */
void redact_text_watched(const struct redact_watch *watch, struct buf *out, struct str s)
{
	struct redact r = {.watch = watch};
	redact_nested_text(&r, out, s, false, 0);
}

bool redact_path_may(struct str path)
{
	size_t run = 0;
	for (size_t i = 0; i < path.n; i++) {
		char c = path.p[i];
		if (c == '=' || (c == ':' && i + 1 < path.n && path.p[i + 1] == '/'))
			return true;
		run = c == '/' ? 0 : run + 1;
		if (run >= TOKEN_LEAST)
			return true;
	}
	return false;
}

/* Appends the path without secrets; watch is told of each. */
void redact_path_watched(const struct redact_watch *watch, struct buf *out, struct str path)
{
	struct redact r = {.watch = watch, .path = true};
	if (redact_path_may(path))
		scan_text(&r, out, path);
	else
		buf_str(out, path);
}

void redact_env(struct buf *out, struct str var)
{
	redact_env_watched(NULL, out, var);
}

void redact_text(struct buf *out, struct str s)
{
	redact_text_watched(NULL, out, s);
}

void redact_path(struct buf *out, struct str path)
{
	redact_path_watched(NULL, out, path);
}
