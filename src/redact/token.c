#include "redact/token.h"

#define ANY_LEAST 34 /* of a pattern that begins with a run */
#define ANY_RUN 22   /* of them that are looked at first */

struct row {
	const char *family, *pattern;
};

/* The number of the first row of each letter. */
enum {
#define LETTER(name, c) LETTER_##name, LETTER_##name##_back = LETTER_##name - 1,
#define NUMBER(n) ROW_##n,
#define NUMBER_OF(n) NUMBER(n)
#define TOKEN(family, pattern) NUMBER_OF(__LINE__)
#define ANY(family, pattern)
#include "redact/tokens.def"
	ROWS
};
static const struct row rows[] = {
#define LETTER(name, c)
#define TOKEN(family, pattern) {#family, pattern},
#define ANY(family, pattern)
#include "redact/tokens.def"
};
static const struct row any_rows[] = {
#define LETTER(name, c)
#define TOKEN(family, pattern)
#define ANY(family, pattern) {#family, pattern},
#include "redact/tokens.def"
};
/* The second character of each row: looked through first. */
static const char seconds[] = {
#define LETTER(name, c)
#define TOKEN(family, pattern) pattern[1],
#define ANY(family, pattern)
#include "redact/tokens.def"
};
/* By first character: the number of its first row + 1, and how many there are; 0: it has none. */
static const unsigned short first_rows[128] = {
#define LETTER(name, c) [c] = LETTER_##name + 1,
#define TOKEN(family, pattern)
#define ANY(family, pattern)
#include "redact/tokens.def"
};
_Static_assert(sizeof(rows) / sizeof(*rows) == ROWS, "each row has a line of its own");

enum {
	DIGIT = 1 << 0,
	HEX = 1 << 1,
	LOWER = 1 << 2,
	UPPER = 1 << 3,
	ALNUM = 1 << 4,
	WORD = 1 << 5,
	WORD_EQUALS = 1 << 6,
	WORD_DOT = 1 << 7,
	BASE64 = 1 << 8,
	BASE64_CENT = 1 << 9,
	SOLID = 1 << 10,
	PATH = 1 << 11,
};
#define OF_ALL (SOLID | PATH)
#define OF_WORD (WORD | WORD_EQUALS | WORD_DOT | OF_ALL)
#define OF_ALNUM (ALNUM | OF_WORD | BASE64 | BASE64_CENT)
static const unsigned short classes[256] = {
    ['!'] = OF_ALL,
    ['#'] = SOLID,
    ['$'] = OF_ALL,
    ['%'] = BASE64_CENT | OF_ALL,
    ['('] = SOLID,
    [')'] = SOLID,
    ['*'] = OF_ALL,
    ['+'] = BASE64 | BASE64_CENT | OF_ALL,
    ['-'] = OF_WORD,
    ['.'] = WORD_DOT | BASE64_CENT | OF_ALL,
    ['/'] = BASE64 | BASE64_CENT | OF_ALL,
    ['0' ... '9'] = DIGIT | HEX | LOWER | UPPER | OF_ALNUM,
    [':'] = OF_ALL,
    ['='] = WORD_EQUALS | WORD_DOT | BASE64 | BASE64_CENT | OF_ALL,
    ['?'] = SOLID,
    ['@'] = OF_ALL,
    ['A' ... 'F'] = HEX | UPPER | OF_ALNUM,
    ['G' ... 'Z'] = UPPER | OF_ALNUM,
    ['['] = SOLID,
    [']'] = SOLID,
    ['^'] = SOLID,
    ['_'] = OF_WORD | BASE64_CENT,
    ['a' ... 'f'] = HEX | LOWER | OF_ALNUM,
    ['g' ... 'z'] = LOWER | OF_ALNUM,
    ['|'] = SOLID,
    ['~'] = WORD_DOT | OF_ALL,
};

/* By the letter that patterns use for it. */
static unsigned class_of_code(char code)
{
	switch (code) {
	case 'd':
		return DIGIT;
	case 'h':
		return HEX;
	case 'l':
		return LOWER;
	case 'u':
		return UPPER;
	case 'a':
		return ALNUM;
	case 'w':
		return WORD;
	case 't':
		return WORD_EQUALS;
	case 'q':
		return WORD_DOT;
	case 'b':
		return BASE64;
	case 'e':
		return BASE64_CENT;
	case 's':
		return SOLID;
	default:
		return PATH;
	}
}

/* Small letters, capitals and digits that the runs took. */
struct mix {
	size_t digits, lower, upper;
};

/* <, a class, the least number of characters, ! (exactly so many) or : (no more are taken), and >. */
struct run {
	unsigned class;
	size_t least;
	bool exact, taken;
};

/* The run whose < stands at p; *ret_end is behind it. */
static struct run read_run(const char *p, const char **ret_end)
{
	struct run r = {.class = class_of_code(p[1])};
	for (p += 2; *p >= '0' && *p <= '9'; p++)
		r.least = 10 * r.least + (size_t)(*p - '0');
	r.exact = *p == '!';
	r.taken = *p == ':';
	*ret_end = p + (r.exact || r.taken) + 1; /* behind the > */
	return r;
}

/* How many bytes of v the pattern takes, 0: it does not fit. *ret_keep: the first so many are no secret. */
static size_t match_pattern(const char *p, struct str v, size_t *ret_keep)
{
	struct mix mix = {0};
	size_t at = 0;
	*ret_keep = 0;
	while (*p) {
		if (*p == '^') {
			*ret_keep = at;
			p++;
			continue;
		}
		if (*p == '~' && !p[1])
			return (mix.digits && mix.lower + mix.upper) || (mix.lower && mix.upper) ? at : 0;
		if (*p != '<') {
			if (at >= v.n || v.p[at] != *p)
				return 0;
			at++;
			p++;
			continue;
		}
		const struct run run = read_run(p, &p);
		size_t n = 0;
		while (at + n < v.n && classes[(unsigned char)v.p[at + n]] & run.class && !(run.taken && n == run.least)) {
			char c = v.p[at + n++];
			mix.digits += c >= '0' && c <= '9';
			mix.lower += c >= 'a' && c <= 'z';
			mix.upper += c >= 'A' && c <= 'Z';
		}
		if (n < run.least || (run.exact && n > run.least))
			return 0;
		at += n;
	}
	return at;
}

/* Three parts of base64 with dots between, the first two of JSON: a JSON web token. */
static size_t web_token(struct str v)
{
	size_t n = 0;
	for (unsigned part = 0; part < 3; part++) {
		size_t from = n;
		if (part < 2 && (v.n - n < 2 || v.p[n] != 'e' || (v.p[n + 1] != 'y' && v.p[n + 1] != 'w')))
			return 0;
		while (n < v.n && classes[(unsigned char)v.p[n]] & WORD_EQUALS)
			n++;
		if (part == 2)
			break;
		if (n - from < 8 || n == v.n || v.p[n] != '.')
			return 0;
		n++;
	}
	return n;
}

/* Most words end before a token could. What has a slash so soon has another mark before it. */
static bool is_long_enough(struct str v)
{
	bool mark = false;
	for (size_t i = 0; i < TOKEN_LEAST; i++) {
		if (v.p[i] == '/' ? !mark : !(classes[(unsigned char)v.p[i]] & PATH))
			return false;
		mark |= v.p[i] == '.' || v.p[i] == '_' || v.p[i] == '-';
	}
	return true;
}

/* The rows that begin with v's first letter. */
static size_t match_rows(struct str v, size_t *ret_keep, const char **ret_family)
{
	for (size_t i = first_rows[(unsigned char)v.p[0]]; i && i <= ROWS && rows[i - 1].pattern[0] == v.p[0]; i++) {
		const char *second = memchr(seconds + i - 1, v.p[1], ROWS - i + 1);
		if (!second)
			break;
		i = (size_t)(second - seconds) + 1;
		if (rows[i - 1].pattern[0] != v.p[0])
			break;
		size_t n = match_pattern(rows[i - 1].pattern, v, ret_keep);
		if (n) {
			*ret_family = rows[i - 1].family;
			return n;
		}
	}
	*ret_keep = 0;
	return 0;
}

/* Nearly all words end before those of any first letter do. With a slash it is a path, but for some of base64. */
static bool may_be_any(struct str v)
{
	unsigned all = 0;
	bool slash = false;
	for (size_t i = 0; i < ANY_RUN; i++) {
		unsigned of = classes[(unsigned char)v.p[i]];
		if (!(of & (PATH | SOLID)))
			return false;
		slash |= v.p[i] == '/';
		all |= of == (UPPER | OF_ALNUM) || v.p[i] == '.' ? 1u << (v.p[i] == '.') : 0;
	}
	return !slash || all == 1;
}

/* How many bytes of v are a token, 0 of none; *ret_keep: how many of those at its beginning may be shown; *ret_family
 * is static. */
static size_t match_any_rows(struct str v, size_t *ret_keep, const char **ret_family)
{
	for (size_t i = 0; i < sizeof(any_rows) / sizeof(*any_rows); i++) {
		size_t n = match_pattern(any_rows[i].pattern, v, ret_keep);
		if (n) {
			*ret_family = any_rows[i].family;
			return n;
		}
	}
	return 0;
}

size_t token_at(struct str v, size_t *ret_keep, const char **ret_family)
{
	unsigned char c = v.n >= TOKEN_LEAST ? (unsigned char)v.p[0] : 0;
	if (!c || c >= 128 || !is_long_enough(v))
		return 0;
	size_t n = match_rows(v, ret_keep, ret_family);
	if (n)
		return n;
	if (c == 'e' && v.n > 16 && (v.p[1] == 'y' || v.p[1] == 'w')) {
		*ret_family = "json_web_token";
		n = web_token(v);
		if (n)
			return n;
	}
	return v.n >= ANY_LEAST && may_be_any(v) ? match_any_rows(v, ret_keep, ret_family) : 0;
}

size_t token_rows(size_t *ret_lost)
{
	*ret_lost = 0;
	for (size_t i = 0; i < ROWS; i++) {
		size_t k = first_rows[(unsigned char)rows[i].pattern[0] & 127];
		while (k && k <= ROWS && k < i + 1 && rows[k - 1].pattern[0] == rows[i].pattern[0])
			k++;
		*ret_lost += k != i + 1;
	}
	return ROWS + sizeof(any_rows) / sizeof(*any_rows);
}
