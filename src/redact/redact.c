#include "redact/redact.h"

#include <ctype.h>
#include <stdint.h>
#include <strings.h>

#define DEPTH 4      /* quotes within quotes that are looked into */
#define NAME_MAX_ 96 /* of a longer name the end is looked at */
#define WORDS 16     /* of a name, the last ones */
#define TOKEN_MIN 15 /* of secrets.def's heads with what must follow, the shortest */

enum sort { SORT_none, SORT_strong, SORT_some, SORT_path, SORT_random, SORT_pairs };
enum how { HOW_is, HOW_ends, HOW_holds };
enum place { PLACE_first, PLACE_last, PLACE_before };
enum charset { SET_alnum, SET_word, SET_upper, SET_dotted, SET_mixed };
enum option {
	OPTION_next = 1,
	OPTION_glued = 2,
	OPTION_both = 3,
	OPTION_bundle = 4,
	OPTION_next_short = OPTION_next | OPTION_bundle,
	OPTION_both_short = OPTION_both | OPTION_bundle
};

static const struct name_row {
	enum sort sort;
	enum how how;
	const char *word;
	size_t n;
} names[] = {
#define NAME(sort, how, word) {SORT_##sort, HOW_##how, #word, sizeof(#word) - 1},
#define PAIR(sort, first, last)
#define NOT(place, word)
#define TOKEN(head, least, set)
#define SCHEME(word, least)
#define PROGRAM(program, option, where, after)
#include "redact/secrets.def"
};
static const struct {
	enum sort sort;
	const char *first, *last;
} pairs[] = {
#define NAME(sort, how, word)
#define PAIR(sort, first, last) {SORT_##sort, #first, #last},
#define NOT(place, word)
#define TOKEN(head, least, set)
#define SCHEME(word, least)
#define PROGRAM(program, option, where, after)
#include "redact/secrets.def"
};
static const struct {
	enum place place;
	const char *word;
} nots[] = {
#define NAME(sort, how, word)
#define PAIR(sort, first, last)
#define NOT(place, word) {PLACE_##place, #word},
#define TOKEN(head, least, set)
#define SCHEME(word, least)
#define PROGRAM(program, option, where, after)
#include "redact/secrets.def"
};
static const struct token_row {
	const char *head;
	size_t n, least;
	enum charset set;
} tokens[] = {
#define NAME(sort, how, word)
#define PAIR(sort, first, last)
#define NOT(place, word)
#define TOKEN(head, least, set) {head, sizeof(head) - 1, least, SET_##set},
#define SCHEME(word, least)
#define PROGRAM(program, option, where, after)
#include "redact/secrets.def"
};
static const struct {
	const char *word;
	size_t least;
} schemes[] = {
#define NAME(sort, how, word)
#define PAIR(sort, first, last)
#define NOT(place, word)
#define TOKEN(head, least, set)
#define SCHEME(word, least) {word, least},
#define PROGRAM(program, option, where, after)
#include "redact/secrets.def"
};
static const struct {
	const char *program, *option;
	enum option where;
	char after;
} programs[] = {
#define NAME(sort, how, word)
#define PAIR(sort, first, last)
#define NOT(place, word)
#define TOKEN(head, least, set)
#define SCHEME(word, least)
#define PROGRAM(program, option, where, after) {program, option, OPTION_##where, after},
#include "redact/secrets.def"
};
#define N(table) (sizeof(table) / sizeof((table)[0]))

static void stars(struct buf *out)
{
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

static bool is(char c, unsigned class)
{
	return classes[(unsigned char)c] & class;
}

static bool is_alnum(char c)
{
	return is(c, ALNUM);
}

static bool is_space(char c)
{
	return is(c, SPACE);
}

static bool is_name(char c)
{
	return is(c, IN_NAME);
}

/* ---- names ---- */

struct words {
	char text[NAME_MAX_ + WORDS + 1];
	const char *v[WORDS];
	size_t n;
};

static void split(struct str name, struct words *w)
{
	size_t at = 0;
	w->n = 0;
	if (name.n > NAME_MAX_)
		name = str_n(name.p + name.n - NAME_MAX_, NAME_MAX_);
	for (size_t i = 0; i < name.n; i++) {
		char c = name.p[i];
		if (!is_alnum(c))
			continue;
		bool begins =
		    i == 0 || !is_alnum(name.p[i - 1]) || (isupper((unsigned char)c) && islower((unsigned char)name.p[i - 1]));
		if (begins && w->n == WORDS)
			return;
		if (begins) {
			if (w->n)
				w->text[at++] = '\0';
			w->v[w->n++] = w->text + at;
		}
		w->text[at++] = (char)tolower((unsigned char)c);
	}
	w->text[at] = '\0';
}

static bool fits(const struct name_row *row, const char *word, size_t n)
{
	if (n < row->n)
		return false;
	switch (row->how) {
	case HOW_is:
		return n == row->n && !memcmp(word, row->word, n);
	case HOW_ends:
		return !memcmp(word + n - row->n, row->word, row->n);
	case HOW_holds:
		return memmem(word, n, row->word, row->n) != NULL;
	}
	return false;
}

static enum sort sort_of_word(const char *last, const char *before, bool alone)
{
	size_t n = strlen(last);
	for (size_t i = 0; i < N(pairs); i++)
		if (*last == *pairs[i].last && !strcmp(last, pairs[i].last) && !strcmp(before, pairs[i].first))
			return pairs[i].sort;
	for (size_t i = 0; i < N(names); i++) {
		if (!fits(&names[i], last, n))
			continue;
		if (!alone && (!strcmp(last, "key") || !strcmp(last, "pass")))
			return SORT_none; /* cache-key, first-pass: the secret ones are pairs */
		for (size_t k = 0; names[i].sort == SORT_some && k < N(nots); k++)
			if (nots[k].place == PLACE_before && !strcmp(before, nots[k].word))
				return SORT_none;
		return names[i].sort;
	}
	return SORT_none;
}

static enum sort sort_of(struct str name)
{
	struct words w;
	/* -DNAME=value of compilers. */
	if (name.n > 2 && name.p[0] == '-' && name.p[1] == 'D' && isupper((unsigned char)name.p[2]))
		name = str_n(name.p + 2, name.n - 2);
	split(name, &w);
	if (!w.n)
		return SORT_none;
	/* PASSWORD2, token1 */
	char *end = w.text + (w.v[w.n - 1] - w.text);
	for (size_t k = strlen(end); k > 1 && isdigit((unsigned char)end[k - 1]); k--)
		end[k - 1] = '\0';
	enum sort sort = SORT_none;
	for (size_t i = w.n; i-- > 0 && !sort;) {
		sort = sort_of_word(w.v[i], i ? w.v[i - 1] : "", w.n == 1);
		if (i < w.n - 1 && sort != SORT_strong)
			sort = SORT_none; /* in the middle (PASSWORD_TEST) only words that mean nothing else */
	}
	for (size_t i = 0; sort && i < N(nots); i++)
		if (nots[i].place != PLACE_before && !strcmp(w.v[nots[i].place == PLACE_first ? 0 : w.n - 1], nots[i].word))
			return SORT_none;
	return sort;
}

static bool looks_random(struct str v, size_t least)
{
	bool digit = false, letter = false;
	size_t n = 0;
	for (; n < v.n && (is_alnum(v.p[n]) || strchr("+/=_%-", v.p[n])); n++) {
		digit |= isdigit((unsigned char)v.p[n]) != 0;
		letter |= isalpha((unsigned char)v.p[n]) != 0;
	}
	return n == v.n && n >= least && digit && letter && v.p[0] != '/' && v.p[0] != '.';
}

static bool looks_like_file(struct str v)
{
	static const char *const ends[] = {".pem", ".key",  ".json", ".txt", ".conf", ".cfg",
	                                   ".yml", ".yaml", ".toml", ".ini", ".p12",  ".gpg"};
	if (v.n && (v.p[0] == '/' || v.p[0] == '~' || v.p[0] == '.'))
		return true;
	for (size_t i = 0; i < N(ends); i++)
		if (str_ends(v, str_of(ends[i])))
			return true;
	return false;
}

static bool is_plain(struct str v)
{
	static const char *const words[] = {"true", "false", "yes", "no", "none", "null", "auto", "on", "off"};
	size_t digits = 0;
	while (digits < v.n && isdigit((unsigned char)v.p[digits]))
		digits++;
	if ((digits == v.n && digits <= 4) || (v.n && (v.p[0] == '<' || v.p[0] == '[')))
		return true;
	for (size_t i = 0; i < N(words); i++)
		if (v.n == strlen(words[i]) && !strncasecmp(v.p, words[i], v.n))
			return true;
	return false;
}

/* Is a value with a name of this sort to be replaced? */
static bool is_secret(enum sort sort, struct str value)
{
	if (!value.n || str_is(value, "***"))
		return false;
	/* $TOKEN in a script is not its value. */
	struct str bare = value;
	if (bare.p[0] == '"' && bare.n > 1)
		bare = str_n(bare.p + 1, bare.n - 2);
	if (bare.n > 1 && bare.p[0] == '$' && (isalpha((unsigned char)bare.p[1]) || bare.p[1] == '{' || bare.p[1] == '_')) {
		size_t k = 1;
		while (k < bare.n && (is_alnum(bare.p[k]) || strchr("_{}", bare.p[k])))
			k++;
		if (k == bare.n)
			return false;
	}
	switch (sort) {
	case SORT_none:
		return false;
	case SORT_strong:
		return true;
	case SORT_some:
		return !is_plain(value);
	case SORT_path:
		return !looks_like_file(value) && !is_plain(value);
	case SORT_random:
		return looks_random(value, 20);
	case SORT_pairs:
		return memchr(value.p, '=', value.n) != NULL;
	}
	return false;
}

/* ---- tokens and addresses ---- */

static bool in_set(enum charset set, char c)
{
	switch (set) {
	case SET_alnum:
	case SET_mixed:
		return is_alnum(c);
	case SET_word:
		return is_alnum(c) || c == '_' || c == '-';
	case SET_upper:
		return isupper((unsigned char)c) || isdigit((unsigned char)c);
	case SET_dotted:
		return is_alnum(c) || c == '_' || c == '-' || c == '.';
	}
	return false;
}

/* Three parts of base64 with dots between, the first two of JSON. */
static size_t jwt(struct str v)
{
	size_t n = 0;
	for (unsigned part = 0; part < 3; part++) {
		size_t from = n;
		if (part < 2 && !str_starts(str_n(v.p + n, v.n - n), str_of("eyJ")))
			return 0;
		while (n < v.n && in_set(SET_word, v.p[n]))
			n++;
		if (part == 2)
			break;
		if (n - from < 8 || n == v.n || v.p[n] != '.')
			return 0;
		n++;
	}
	return n;
}

/* The length of the token that begins v, 0 if none does. */
static size_t token(struct str v)
{
	/* Asked at every place where a word begins; nearly all words are too short. */
	size_t run = 0;
	while (run < v.n && run < TOKEN_MIN && is_name(v.p[run]))
		run++;
	if (run < TOKEN_MIN)
		return 0;
	for (const struct token_row *t = tokens; t < tokens + N(tokens); t++) {
		if (t->head[0] != v.p[0] || t->head[1] != v.p[1] || v.n < t->n + t->least || memcmp(v.p, t->head, t->n))
			continue;
		bool digit = false, letter = false;
		size_t n = t->n;
		for (; n < v.n && in_set(t->set, v.p[n]); n++) {
			digit |= isdigit((unsigned char)v.p[n]) != 0;
			letter |= isalpha((unsigned char)v.p[n]) != 0;
		}
		if (n >= t->n + t->least && (t->set != SET_mixed || (digit && letter)))
			return n;
	}
	return v.n > 16 && v.p[0] == 'e' ? jwt(v) : 0;
}

/* v begins after "://": where the password in user:password@ is. */
static bool url_secret(struct str v, size_t *ret_from, size_t *ret_to)
{
	size_t end = 0, colon = SIZE_MAX, at = SIZE_MAX;
	while (end < v.n && !strchr("/?#\"'<>", v.p[end]) && !is_space(v.p[end]) && v.p[end]) {
		if (v.p[end] == ':' && colon == SIZE_MAX)
			colon = end;
		if (v.p[end] == '@')
			at = end;
		end++;
	}
	if (at == SIZE_MAX && colon != SIZE_MAX && colon + 1 < v.n && !isdigit((unsigned char)v.p[colon + 1]) &&
	    colon + 1 != end)
		/* A password with a slash in it that nobody escaped; after a port there is none to look for. */
		for (; end < v.n && !strchr("\"'<>", v.p[end]) && !is_space(v.p[end]) && at == SIZE_MAX; end++)
			at = v.p[end] == '@' ? end : SIZE_MAX;
	if (at == SIZE_MAX)
		return false;
	if (colon == SIZE_MAX || colon > at) { /* a token in the user's place */
		*ret_from = 0;
		*ret_to = at;
		return looks_random(str_n(v.p, at), 20);
	}
	*ret_from = colon + 1;
	*ret_to = at;
	return at > colon + 1;
}

/* ---- words ---- */

static void text(struct redact *r, struct buf *out, struct str s, bool script, unsigned depth);

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
	while (from < s.n && !is_space(s.p[from]) && !strchr("&;,|\"'`)}<>", s.p[from]))
		from++;
	return from;
}

/* A word, or any text without structure: tokens, addresses with passwords, and name=value at any place. */
static void scan(struct buf *out, struct str s)
{
	size_t said = 0;
	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];
		size_t from = 0, to = 0;
		if (is_alnum(c)) {
			if (i && (is_alnum(s.p[i - 1]) || s.p[i - 1] == '_'))
				continue;
			size_t n = token(str_n(s.p + i, s.n - i));
			from = i;
			to = i + n;
		} else if (c == ':' && i + 2 < s.n && s.p[i + 1] == '/' && s.p[i + 2] == '/') {
			if (url_secret(str_n(s.p + i + 3, s.n - i - 3), &from, &to)) {
				from += i + 3;
				to += i + 3;
			} else {
				to = 0;
			}
		} else if ((c == '=' || c == ':') && i && i + 1 < s.n) {
			size_t begin, end;
			struct str name = name_before(s, i, &begin);
			bool in_path = begin && s.p[begin - 1] == '/';
			enum sort sort = name.n > 2 && !in_path ? sort_of(name) : SORT_none;
			if (!sort)
				continue;
			bool query = begin && (s.p[begin - 1] == '?' || s.p[begin - 1] == '&');
			size_t at = i + 1;
			while (c == ':' && at < s.n && s.p[at] == ' ')
				at++;
			end = value_end(s, at);
			struct str value = str_n(s.p + at, end - at);
			bool quoted = s.p[i - 1] == '"' || s.p[i - 1] == '\'' || s.p[i - 1] == ']' ||
			              (value.n && (value.p[0] == '"' || value.p[0] == '\''));
			/* host:/path, remote:dir/x and C:\path are no values; name:value needs more to be one than name=value. */
			if (c == ':' && !quoted &&
			    (value.n < 6 || memchr(value.p, '/', value.n) || value.p[0] == '\\' || sort != SORT_strong))
				continue;
			if (is_secret(query && sort == SORT_random && value.n >= 16 ? SORT_strong : sort, value)) {
				from = at;
				to = end;
			}
		}
		if (to > from) {
			buf_add(out, s.p + said, from - said);
			stars(out);
			said = to;
			i = to - 1;
		}
	}
	buf_add(out, s.p + said, s.n - said);
}

/* NAME=value or "Name: value" that s as a whole is: the place of the value. */
static bool assignment(struct str s, size_t *ret_value)
{
	size_t i = 0;
	while (i < s.n && is_name(s.p[i]))
		i++;
	if (!i || i >= s.n || (s.p[i] != '=' && s.p[i] != ':'))
		return false;
	bool header = s.p[i] == ':';
	if (header && (i + 1 >= s.n || s.p[i + 1] != ' '))
		return false;
	size_t value = i + 1;
	while (header && value < s.n && s.p[value] == ' ')
		value++;
	*ret_value = value;
	return is_secret(sort_of(str_n(s.p, i)), str_n(s.p + value, s.n - value));
}

static struct str base_name(struct str s)
{
	const char *slash = s.n ? memrchr(s.p, '/', s.n) : NULL;
	return slash ? str_n(slash + 1, s.n - (size_t)(slash + 1 - s.p)) : s;
}

static void see_program(struct redact *r, struct str s)
{
	if (!s.n || s.n > 64 || s.p[0] == '-')
		return;
	struct str base = base_name(s);
	for (size_t i = 0; base.n && i < N(programs); i++)
		if (base.p[0] == programs[i].program[0] && str_is(base, programs[i].program)) {
			r->program = programs[i].program;
			return;
		}
}

/* -sSu for -u: several options of one letter in one word, the last of them asks for the next word. */
static bool is_bundle(struct str s, struct str option)
{
	if (option.n != 2 || s.n < 3 || s.n > 8 || s.p[0] != '-' || s.p[s.n - 1] != option.p[1])
		return false;
	for (size_t i = 1; i < s.n; i++)
		if (!isalpha((unsigned char)s.p[i]))
			return false;
	return true;
}

static bool by_program(const struct redact *r, struct buf *out, struct str s)
{
	for (size_t i = 0; r->program && i < N(programs); i++) {
		if (programs[i].program != r->program && strcmp(programs[i].program, r->program) != 0)
			continue;
		struct str option = str_of(programs[i].option);
		size_t from;
		if (programs[i].where & OPTION_next &&
		    (str_eq(r->before, option) || (programs[i].where & OPTION_bundle && is_bundle(r->before, option))))
			from = 0;
		else if (programs[i].where & OPTION_glued && s.n > option.n && str_starts(s, option))
			from = option.n;
		else
			continue;
		if (programs[i].after) {
			const char *mark = memchr(s.p + from, programs[i].after, s.n - from);
			if (!mark)
				return false;
			from = (size_t)(mark - s.p) + 1;
		}
		if (from >= s.n)
			return false;
		buf_add(out, s.p, from);
		stars(out);
		return true;
	}
	return false;
}

/* Does what stands before say that s is a secret? */
static bool by_before(struct redact *r, struct buf *out, struct str s)
{
	if (!s.n)
		return false;
	if (r->pending) {
		r->pending--;
		stars(out);
		return true;
	}
	if (by_program(r, out, s))
		return true;
	struct str b = r->before;
	if (str_starts(b, str_of("-pass")) && str_starts(s, str_of("pass:")) && s.n > 5) { /* openssl */
		buf_add(out, s.p, 5);
		stars(out);
		return true;
	}
	for (size_t i = 0; i < N(schemes); i++)
		if (b.n == strlen(schemes[i].word) && !strncasecmp(b.p, schemes[i].word, b.n) && s.n >= schemes[i].least) {
			bool one = true;
			for (size_t k = 0; k < s.n && one; k++)
				one = is_alnum(s.p[k]) || strchr("+/=_.~-\"'", s.p[k]);
			if (!one ||
			    (!memchr(s.p, '=', s.n) && !looks_random(s, schemes[i].least) && !strcasecmp(schemes[i].word, "basic")))
				continue;
			stars(out);
			return true;
		}
	size_t name = 0;
	while (name < b.n && is_name(b.p[name]))
		name++;
	if (!b.n || name < b.n || s.p[0] == '-')
		return false;
	if (b.n > 2 && b.p[0] == '-' && is_secret(sort_of(b), s)) {
		stars(out);
		return true;
	}
	/* configure set some_secret_key VALUE */
	if (b.p[0] != '-' && b.n > 6 && b.n < 64 && looks_random(s, 16) && sort_of(b) == SORT_strong) {
		stars(out);
		return true;
	}
	return false;
}

/* A word of a command line or script, perhaps with quotes in and around it. */
static void word(struct redact *r, struct buf *out, struct str w, unsigned depth)
{
	char q = w.n > 1 ? w.p[0] : 0;
	struct str inner = w;
	bool quoted = (q == '"' || q == '\'') && w.p[w.n - 1] == q && !memchr(w.p + 1, q, w.n - 2);
	if (quoted) {
		inner = str_n(w.p + 1, w.n - 2);
		buf_char(out, q);
	}
	size_t value;
	if (by_before(r, out, inner)) {
	} else if (quoted && depth < DEPTH) {
		struct redact in = {.program = r->program};
		text(&in, out, inner, false, depth + 1);
	} else if (!quoted && assignment(inner, &value)) {
		buf_add(out, inner.p, value);
		stars(out);
	} else {
		scan(out, inner);
	}
	if (quoted)
		buf_char(out, q);
	/* Authorization: and "password": as words of their own. */
	if (inner.n > 3 && !r->pending) {
		size_t to = inner.n, from;
		if (inner.p[to - 1] == ':') {
			struct str name = name_before(inner, to - 1, &from);
			enum sort sort = sort_of(name);
			if (sort == SORT_strong || (sort && (from || name.n < to - 1)))
				r->pending = name.n >= 13 && !strncasecmp(name.p + name.n - 13, "authorization", 13) ? 2 : 1;
		}
	}
	/* password = "x", "password" : "x", cfg["password"] = "x" */
	if ((str_is(inner, "=") || str_is(inner, ":")) && !quoted && !r->pending && r->before.n) {
		size_t from;
		struct str name = name_before(r->before, r->before.n, &from);
		if (sort_of(name) == SORT_strong && !(from && strchr("${", r->before.p[from - 1])))
			r->pending = 1;
	}
	see_program(r, inner);
	r->before = inner;
}

/* The end of the word that begins at `at`: a blank, or what separates commands, outside of quotes. */
static size_t word_end(struct str s, size_t at)
{
	while (at < s.n && !is(s.p[at], ENDS_WORD)) {
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
static bool pem(struct str s, size_t *ret_from, size_t *ret_to)
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

/* script: words of commands, each judged by itself; else what begins with a secret's name is all its value. */
static void text(struct redact *r, struct buf *out, struct str s, bool script, unsigned depth)
{
	size_t from, to, value;
	if (!s.n)
		return;
	if (pem(s, &from, &to)) {
		text(r, out, str_n(s.p, from), script, depth);
		stars(out);
		text(r, out, str_n(s.p + to, s.n - to), script, depth);
		return;
	}
	if (!script && assignment(s, &value)) {
		buf_add(out, s.p, value);
		stars(out);
		return;
	}
	size_t end = word_end(s, 0);
	if (end == s.n && !strchr("\"'", s.p[0])) {
		scan(out, s);
		return;
	}
	struct redact in = {.program = r->program};
	for (size_t at = 0; at < s.n; at = end) {
		end = word_end(s, at);
		if (end == at) {
			buf_char(out, s.p[end++]);
			if (!is_space(s.p[at])) {
				in.before = str_n(NULL, 0);
				in.pending = 0;
			}
			continue;
		}
		/* An address may hold what separates commands. */
		struct str w = str_n(s.p + at, end - at);
		if (memmem(w.p, w.n, "://", 3) && end < s.n && !is_space(s.p[end])) {
			while (end < s.n && !is_space(s.p[end]) && s.p[end] != '"' && s.p[end] != '\'')
				end++;
			w.n = end - at;
		}
		word(&in, out, w, depth);
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
	if (by_before(r, out, arg)) {
	} else if (option && assignment(arg, &value)) {
		buf_add(out, arg.p, value);
		stars(out);
	} else {
		text(r, out, arg, is_script_option(r->before), 0);
	}
	if (arg.n > 3 && arg.p[arg.n - 1] == ':' && sort_of(str_n(arg.p, arg.n - 1)) == SORT_strong)
		r->pending = str_starts(arg, str_of("Auth")) || str_starts(arg, str_of("auth")) ? 2 : 1;
	see_program(r, arg);
	r->before = arg;
}

void redact_env(struct buf *out, struct str var)
{
	const char *eq = var.n ? memchr(var.p, '=', var.n) : NULL;
	struct str name = str_n(var.p, eq ? (size_t)(eq - var.p) : var.n);
	struct str value = str_n(eq ? eq + 1 : NULL, eq ? var.n - name.n - 1 : 0);
	struct redact r = {0};
	buf_add(out, var.p, eq ? name.n + 1 : name.n);
	if (is_secret(sort_of(name), value))
		stars(out);
	else
		text(&r, out, value, false, 0);
}

void redact_text(struct buf *out, struct str s)
{
	struct redact r = {0};
	text(&r, out, s, false, 0);
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

void redact_path(struct buf *out, struct str path)
{
	buf_str(out, path);
}
