#include "redact/dialogue.h"

#include "redact/name.h"
#include "redact/quote.h"

#include <ctype.h>
#include <strings.h>

enum {
	DIALOGUE_script = 1, /* dialogue_within keeps this one */
	DIALOGUE_asked = 2,  /* the latest prompt asks for a secret */
	DIALOGUE_typed = 4,  /* the next string is typed */
};
#define LEAST 8 /* characters of what looks like a password without a prompt that asks for one */

/* Is the text one of the words? */
static bool is_one_of(struct str s, const char *const *words)
{
	for (; *words; words++)
		if (str_is(s, *words))
			return true;
	return false;
}

/* ASCII letters. */
static bool contains_ignoring_case(struct str s, const char *word)
{
	size_t n = strlen(word);
	for (size_t i = 0; i + n <= s.n; i++)
		if (!strncasecmp(s.p + i, word, n))
			return true;
	return false;
}

/* What a prompt for a secret says. Upper and lower case of the first letter are often left open. */
static bool asks(struct str s)
{
	static const char *const words[] = {"assw", "assphrase", "asscode",      "secret",   "token", "etype", "again",
	                                    "pin:", "pin for",   "verification", "one-time", "otp:",  NULL};
	if (str_is(s, "PIN"))
		return true;
	for (const char *const *w = words; *w; w++)
		if (contains_ignoring_case(s, *w))
			return true;
	return false;
}

/* What opens a string: a quote, one with a backslash, or a brace. Its characters. */
static size_t opening(struct str s)
{
	if (!s.n)
		return 0;
	return s.p[0] == '{' || quote_is(s.p[0]) ? 1 : quote_escaped(s, 0);
}

/* Where the text of a string ends that was opened so. */
static size_t text_end(struct str s, size_t open)
{
	if (!open) { /* a word of its own, perhaps the last one of a block */
		size_t to = s.n;
		while (to && s.p[to - 1] == '}')
			to--;
		return to;
	}
	if (s.p[0] == '{') {
		const char *end = memchr(s.p, '}', s.n);
		return end ? (size_t)(end - s.p) : s.n;
	}
	if (open > 1)
		return quote_escaped_end(s, open, open);
	size_t to = open;
	while (to < s.n && s.p[to] != s.p[0])
		to += s.p[to] == '\\' && to + 1 < s.n ? 2 : 1;
	return to;
}

/* The keys at its end that send a line: \r and \n, with one backslash or more. */
static size_t without_line_end(struct str s, size_t from, size_t to)
{
	for (;;) {
		if (to > from && (s.p[to - 1] == '\r' || s.p[to - 1] == '\n')) {
			to--;
			continue;
		}
		size_t at = to;
		if (at <= from || (s.p[at - 1] != 'r' && s.p[at - 1] != 'n'))
			return to;
		at--;
		size_t end = at;
		while (at > from && s.p[at - 1] == '\\')
			at--;
		if (at == end)
			return to;
		to = at;
	}
}

/* A word with a digit in its middle, which no command and no path is called like. */
static bool looks_typed_secret(struct str s)
{
	bool digit = false, within = false;
	if (s.n < LEAST || !isalpha((unsigned char)s.p[0]))
		return false;
	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];
		if (c <= ' ' || strchr("/.-_=:;,\\()[]{}<>|&~", c))
			return false;
		within |= digit && !isdigit(c);
		digit |= isdigit(c) != 0;
	}
	return within;
}

/* set password x, of which x is the text */
static bool by_variable(const struct redact *r, struct str text)
{
	if (!r->before.n || !str_is(r->earlier, "set") || text.p[0] == '{')
		return false;
	size_t from = opening(r->before);
	enum name_sort sort = name_sort(str_n(r->before.p + from, r->before.n - from));
	return sort == NAME_strong || sort == NAME_some;
}

bool dialogue_hides(struct redact *r, struct str s, bool quoted, size_t *ret_from, size_t *ret_to)
{
	if (!(r->dialogue & DIALOGUE_script) || !s.n)
		return false;
	bool typed = r->dialogue & DIALOGUE_typed, asked = r->dialogue & DIALOGUE_asked;
	if (typed && !quoted && s.p[0] == '-') /* an option of send */
		return false;
	size_t from = quoted ? 0 : opening(s), to = quoted ? s.n : text_end(s, from);
	if (to <= from)
		return false;
	to = typed ? without_line_end(s, from, to) : to;
	struct str text = str_n(s.p + from, to - from);
	if (!text.n || text.p[0] == '$' || text.p[0] == '[')
		return false;
	*ret_from = from;
	*ret_to = to;
	if (typed)
		return asked || looks_typed_secret(text);
	return by_variable(r, text);
}

/* Is the word a prompt that asks for a secret? */
static bool is_prompt(const struct redact *r, struct str text, bool in_string)
{
	static const char *const tells[] = {"puts",     "send_user", "send_log", "send_error", "send_tty",
	                                    "exp_send", "send",      "set",      "spawn",      NULL};
	bool pattern = in_string || str_is(r->before, "expect") || (r->before.n && r->before.p[0] == '-');
	return pattern && asks(text) && !is_one_of(r->before, tells) && !str_is(r->earlier, "set");
}

/* The next word of a script, with or without quotes around it. */
static void observe_within(struct redact *r, struct str word, bool quoted)
{
	size_t open = quoted ? 0 : opening(word);
	struct str text = str_n(word.p + open, word.n - open);
	if (r->dialogue & DIALOGUE_typed) {
		if (quoted || word.p[0] != '-')
			r->dialogue = DIALOGUE_script;
	} else if (!quoted && (str_is(text, "send") || str_is(text, "exp_send"))) {
		r->dialogue |= DIALOGUE_typed;
	} else if (!quoted && str_starts(text, str_of("interact"))) { /* the user types */
		r->dialogue = DIALOGUE_script;
	} else if (is_prompt(r, text, quoted || open)) {
		r->dialogue |= DIALOGUE_asked;
		r->pending = 0; /* a prompt that ends with a colon is no name of the next word */
	}
}

void dialogue_observe(struct redact *r, struct str word, bool quoted)
{
	if (!quoted && str_ends(word, str_of("expect")) &&
	    (str_is(str_base_name(word), "expect") || str_is(word, "autoexpect")))
		r->dialogue = DIALOGUE_script;
	else if (word.n && r->dialogue & DIALOGUE_script)
		observe_within(r, word, quoted);
}
