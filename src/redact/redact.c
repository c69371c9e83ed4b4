#include "redact/redact.h"

#include "redact/name.h"
#include "redact/program.h"
#include "redact/token.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <strings.h>
#include <xxhash.h>

#define DEPTH 4        /* quotes within quotes that are looked into */
#define WORDS_AHEAD 16 /* of the command behind a pipe */
/* What is looked for in vain is looked for so far only, else a hostile text would take time with the square of its
 * size. */
#define AHEAD 1024

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

static bool has_class(char c, unsigned class)
{
	return classes[(unsigned char)c] & class;
}

static bool is_alnum_class(char c)
{
	return has_class(c, ALNUM);
}

static bool is_space_class(char c)
{
	return has_class(c, SPACE);
}

static bool is_name(char c)
{
	return has_class(c, IN_NAME);
}

/* ---- addresses ---- */

/* v begins after "://": where the password in user:password@ is. */
static bool url_secret(struct str v, size_t *ret_from, size_t *ret_to)
{
	size_t end = 0, colon = SIZE_MAX, at = SIZE_MAX;
	while (end < v.n && !strchr("/?#\"'<>", v.p[end]) && !is_space_class(v.p[end]) && v.p[end]) {
		if (v.p[end] == ':' && colon == SIZE_MAX)
			colon = end;
		if (v.p[end] == '@')
			at = end;
		end++;
	}
	if (at == SIZE_MAX && colon != SIZE_MAX && colon + 1 < v.n && !isdigit((unsigned char)v.p[colon + 1]) &&
	    colon + 1 != end)
		/* A password with a slash in it that nobody escaped; after a port there is none to look for. */
		for (; end < v.n && !strchr("\"'<>", v.p[end]) && !is_space_class(v.p[end]) && at == SIZE_MAX; end++)
			at = v.p[end] == '@' ? end : SIZE_MAX;
	if (at == SIZE_MAX)
		return false;
	if (colon == SIZE_MAX || colon > at) { /* a token in the user's place */
		*ret_from = 0;
		*ret_to = at;
		return name_looks_random(str_n(v.p, at), 20);
	}
	*ret_from = colon + 1;
	*ret_to = at;
	return at > colon + 1;
}

/* ---- words ---- */

static void redact_nested_text(struct redact *r, struct buf *out, struct str s, bool script, unsigned depth);

/* The name that ends at `to`, with quotes and ["..."] around it passed by; and what stands before it. */
static struct str name_before(struct str s, size_t to, size_t *ret_from)
{
	if (to > 1 && s.p[to - 1] == ']' && (s.p[to - 2] == '"' || s.p[to - 2] == '\''))
		to--;
	while (to && (s.p[to - 1] == '"' || s.p[to - 1] == '\''))
		to--;
	size_t from = to;
	while (from && is_name(s.p[from - 1]))
		from--;
	*ret_from = from;
	return str_n(s.p + from, to - from);
}

/* s up to AHEAD characters behind `from`. */
static struct str limit_to_ahead(struct str s, size_t from)
{
	return s.n - from > AHEAD ? str_n(s.p, from + AHEAD) : s;
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

/* The value of name= or name: at place i of s: from *ret_from to *ret_to it is a secret. */
static bool scan_value(const struct redact *r, struct str s, size_t i, size_t *ret_from, size_t *ret_to)
{
	size_t begin, at = i + 1;
	bool colon = s.p[i] == ':';
	struct str name = name_before(s, i, &begin);
	if (name.n < 2 || (begin && s.p[begin - 1] == '/' && !r->path))
		return false;
	while (colon && at < s.n && s.p[at] == ' ')
		at++;
	enum name_sort sort = name_sort(name);
	bool whole = (sort == NAME_strong || sort == NAME_some) && at < s.n && s.p[at] != '[';
	size_t end = value_end(whole ? s : limit_to_ahead(s, at), at);
	if (r->path) {
		const char *slash = memchr(s.p + at, '/', end - at);
		end = slash ? (size_t)(slash - s.p) : end;
		/* What looks random ends where the name's ending begins. */
		const char *dot = sort == NAME_random ? memchr(s.p + at, '.', end - at) : NULL;
		end = dot ? (size_t)(dot - s.p) : end;
	}
	struct str value = str_n(s.p + at, end - at);
	*ret_from = at;
	*ret_to = end;
	if (!value.n)
		return false;
	bool quoted =
	    s.p[i - 1] == '"' || s.p[i - 1] == '\'' || s.p[i - 1] == ']' || value.p[0] == '"' || value.p[0] == '\'';
	bool query = begin && (s.p[begin - 1] == '?' || s.p[begin - 1] == '&');
	if (r->path && !query)
		return sort == NAME_strong && name_sort_hides(sort, value);
	/* host:/path, remote:dir/x and C:\path are no values; name:value needs more to be one than name=value. */
	if (colon && !quoted)
		return value.n >= 6 && !memchr(value.p, '/', value.n) && value.p[0] != '\\' &&
		       (sort == NAME_strong || (sort == NAME_some && name_looks_random(value, 12))) &&
		       name_sort_hides(sort, value);
	if (query && sort == NAME_random && value.n >= 16)
		return true;
	return name_hides(name, value);
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
		} else if (c == ':' && i + 2 < s.n && s.p[i + 1] == '/' && s.p[i + 2] == '/') {
			struct str rest = limit_to_ahead(s, i + 3);
			to = url_secret(str_n(s.p + i + 3, rest.n - i - 3), &from, &to) ? to + i + 3 : 0;
			from += i + 3;
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

enum { SAID_password = 1, SAID_identified = 2, SAID_set_password = 4, SAID_login = 8 };

static bool equals_ignoring_case(struct str s, const char *word)
{
	return s.n == strlen(word) && !strncasecmp(s.p, word, s.n);
}

/* Statements: PASSWORD 'x', IDENTIFIED BY 'x', SET PASSWORD FOR ann = 'x', and `login ann password x` of a netrc. */
static bool by_statement(const struct redact *r, bool quoted)
{
	if (!r->said)
		return false;
	bool password = equals_ignoring_case(r->before, "password");
	return (quoted && (password || (r->said & SAID_identified && equals_ignoring_case(r->before, "by")) ||
	                   (r->said & SAID_set_password && str_is(r->before, "=")))) ||
	       (password && r->said & SAID_login);
}

static void note_statement(struct redact *r, struct str s)
{
	if (s.n < 5 || s.n > 10)
		return;
	switch (s.p[0] | 0x20) {
	case 'p':
		if (equals_ignoring_case(s, "password"))
			r->said |= SAID_password | (equals_ignoring_case(r->before, "set") ? SAID_set_password : 0);
		break;
	case 'i':
		r->said |= equals_ignoring_case(s, "identified") ? SAID_identified : 0;
		break;
	case 'l':
		r->said |= equals_ignoring_case(s, "login") && r->before.n ? SAID_login : 0;
		break;
	}
}

/* Does what stands before say that s is a secret? */
static bool by_before(struct redact *r, struct buf *out, struct str s, bool quoted)
{
	size_t from = 0, to = s.n, name = 0;
	struct str b = r->before;
	const char *family = "password";
	if (!s.n)
		return false;
	if (r->pending) {
		r->pending--;
		goto secret;
	}
	if (r->awaits_text) {
		r->awaits_text = false;
		/* A string of a program's text, perhaps with what follows it. */
		const char *end = s.p[0] == '"' || s.p[0] == '\'' ? memchr(s.p + 1, s.p[0], s.n - 1) : NULL;
		from = quoted ? 0 : 1;
		to = quoted ? s.n : end ? (size_t)(end - s.p) : 0;
		if (to > from && s.p[from] != '$')
			goto secret;
		from = 0;
		to = s.n;
	}
	if (program_hides(r, s, &from, &to))
		goto secret;
	from = 0;
	to = s.n;
	if (by_statement(r, quoted))
		goto secret;
	if (str_starts(b, str_of("-pass")) && str_starts(s, str_of("pass:")) && s.n > 5) { /* openssl */
		from = 5;
		goto secret;
	}
	family = "header";
	if (b.n && by_scheme(r, s))
		goto secret;
	family = "password";
	/* "name": "value", of JSON */
	if (b.n > 3 && b.p[b.n - 1] == ':' && b.p[b.n - 2] == '"' && s.n > 2 && s.p[0] == '"') {
		const char *end = memchr(s.p + 1, '"', s.n - 1);
		size_t begin;
		from = 1;
		to = end ? (size_t)(end - s.p) : s.n;
		if (name_hides(name_before(b, b.n - 1, &begin), str_n(s.p + from, to - from)))
			goto secret;
		from = 0;
		to = s.n;
	}
	while (name < b.n && is_name(b.p[name]))
		name++;
	if (!b.n || name < b.n || s.p[0] == '-')
		return false;
	if (b.n > 1 && b.p[0] == '-' && name_hides(b, s))
		goto secret;
	/* configure set some_secret_key VALUE */
	if (b.p[0] != '-' && b.n > 6 && b.n < 64 && name_looks_random(s, 16) && name_sort(b) == NAME_strong)
		goto secret;
	return false;
secret:
	buf_add(out, s.p, from);
	hide_secret(r, out, family, str_n(s.p + from, to - from));
	buf_add(out, s.p + to, s.n - to);
	return true;
}

/* A word that ends a name: whether the next one is its value. */
static void note_name_before_value(struct redact *r, struct str inner, bool quoted)
{
	size_t from;
	/* Authorization: and "password": as words of their own. */
	if (inner.n > 3 && !r->pending && inner.p[inner.n - 1] == ':') {
		struct str name = name_before(inner, inner.n - 1, &from);
		enum name_sort sort = name_sort(name);
		if (sort == NAME_strong || (sort == NAME_some && (from || name.n < inner.n - 1)))
			r->pending = name.n >= 13 && !strncasecmp(name.p + name.n - 13, "authorization", 13) ? 2 : 1;
	}
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

/* A word of a command line or script, perhaps with quotes in and around it. */
static void redact_word(struct redact *r, struct buf *out, struct str w, unsigned depth)
{
	char q = w.n > 1 ? w.p[0] : 0;
	struct str inner = w;
	bool quoted = (q == '"' || q == '\'') && w.p[w.n - 1] == q && !memchr(w.p + 1, q, w.n - 2);
	if (quoted) {
		inner = str_n(w.p + 1, w.n - 2);
		buf_char(out, q);
	}
	size_t value;
	if (by_before(r, out, inner, quoted)) {
	} else if (quoted && depth < DEPTH) {
		struct redact in = {.watch = r->watch, .row = r->row};
		redact_nested_text(&in, out, inner, false, depth + 1);
	} else if (!quoted && find_assignment(inner, &value)) {
		buf_add(out, inner.p, value);
		hide_secret(r, out, "password", str_n(inner.p + value, inner.n - value));
	} else {
		scan_text(r, out, inner);
	}
	if (quoted)
		buf_char(out, q);
	note_name_before_value(r, inner, quoted);
	program_observe(r, inner);
	note_statement(r, inner);
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

/* A private key from its BEGIN line to its END line. */
static bool find_private_key(struct str s, size_t *ret_from, size_t *ret_to)
{
	static const char begin[] = "-----BEGIN ", end[] = "-----END ";
	for (size_t at = 0; s.n - at >= sizeof(begin);) {
		const char *p = memmem(s.p + at, s.n - at, begin, sizeof(begin) - 1);
		if (!p)
			return false;
		size_t from = (size_t)(p - s.p), head = from + sizeof(begin) - 1;
		const char *line = memmem(s.p + head, s.n - head, "-----", 5);
		size_t head_end = line ? (size_t)(line - s.p) : s.n;
		at = head;
		if (!memmem(s.p + head, head_end - head, "PRIVATE", 7) && !memmem(s.p + head, head_end - head, "SECRET", 6))
			continue;
		*ret_from = from;
		*ret_to = s.n;
		const char *e = memmem(s.p + head_end, s.n - head_end, end, sizeof(end) - 1);
		if (e) {
			size_t tail = (size_t)(e - s.p) + sizeof(end) - 1;
			const char *dashes = memmem(s.p + tail, s.n - tail, "-----", 5);
			*ret_to = dashes ? (size_t)(dashes - s.p) + 5 : s.n;
		}
		return true;
	}
	return false;
}

/* Of `echo WORDS | COMMAND`, whose words begin at `at`: does COMMAND take a secret from its standard input? */
static bool is_read(struct str s, size_t at, char *ret_after)
{
	struct str words[WORDS_AHEAD];
	size_t n = 0;
	s = limit_to_ahead(s, at);
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

/* script: words of commands, each judged by itself; else what begins with a secret's name is all its value. */
static void redact_nested_text(struct redact *r, struct buf *out, struct str s, bool script, unsigned depth)
{
	size_t from, to, value;
	if (!s.n)
		return;
	if (find_private_key(s, &from, &to)) {
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
	size_t end = find_word_end(s, 0);
	if (end == s.n && !strchr("\"'", s.p[0])) {
		scan_text(r, out, s);
		return;
	}
	struct redact in = {.watch = r->watch, .row = r->row};
	bool echo = false;
	char after = 0;
	for (size_t at = 0; at < s.n; at = end) {
		end = find_word_end(s, at);
		if (end == at) {
			buf_char(out, s.p[end++]);
			if (!is_space_class(s.p[at])) {
				in.before = in.earlier = str_n(NULL, 0);
				in.pending = 0;
				echo = false;
				if (strchr(";|&", s.p[at]))
					program_end(&in);
			}
			continue;
		}
		/* An address may hold what separates commands. */
		struct str w = str_n(s.p + at, end - at);
		if (memmem(w.p, w.n, "://", 3) && end < s.n && !is_space_class(s.p[end])) {
			while (end < s.n && !is_space_class(s.p[end]) && s.p[end] != '"' && s.p[end] != '\'')
				end++;
			w.n = end - at;
		}
		/* In what is no script, a bar inside of a word is one of its letters. */
		while (!script && end + 1 < s.n && s.p[end] == '|' && !has_class(s.p[end + 1], ENDS_WORD)) {
			end = find_word_end(s, end + 1);
			w.n = end - at;
		}
		if (echo && w.p[0] != '-') {
			hide_read(&in, out, w, after);
			continue;
		}
		redact_word(&in, out, w, depth);
		if (script && (str_is(w, "echo") || str_is(w, "printf")))
			echo = is_read(s, end, &after);
	}
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
	note_statement(r, arg);
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

size_t redact_argv(struct buf *out, char *const *argv)
{
	struct redact r = {0};
	size_t n = 0;
	for (; argv[n] && out->n < (256u << 10); n++) {
		redact_arg(&r, out, str_of(argv[n]));
		buf_char(out, '\0');
	}
	return n;
}
