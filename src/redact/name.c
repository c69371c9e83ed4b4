#include "redact/name.h"

#include <ctype.h>
#include <stdint.h>
#include <strings.h>

#define NAME_MOST 96   /* of a longer name the end is looked at */
#define WORDS 16       /* of a name, the last ones */
#define SERVICE_KEY 12 /* characters of a service's key, at least */
#define DRAWN_RUN 20   /* letters and digits in a row, at least, that look drawn by lot */
#define DRAWN_MOST 512

enum how { HOW_is, HOW_ends, HOW_holds };
enum place { PLACE_first, PLACE_last, PLACE_before };

static const struct name_row {
	enum name_sort sort;
	enum how how;
	const char *word;
	size_t n;
} names[] = {
#define NAME(sort, how, word) {NAME_##sort, HOW_##how, #word, sizeof(#word) - 1},
#define PAIR(sort, first, last)
#define NOT(place, word)
#define SERVICE(word)
#define PLAIN(word)
#define SCHEME(word, least)
#include "redact/names.def"
};
static const struct {
	enum name_sort sort;
	const char *first, *last;
} pairs[] = {
#define NAME(sort, how, word)
#define PAIR(sort, first, last) {NAME_##sort, #first, #last},
#define NOT(place, word)
#define SERVICE(word)
#define PLAIN(word)
#define SCHEME(word, least)
#include "redact/names.def"
};
static const struct {
	enum place place;
	const char *word;
} nots[] = {
#define NAME(sort, how, word)
#define PAIR(sort, first, last)
#define NOT(place, word) {PLACE_##place, #word},
#define SERVICE(word)
#define PLAIN(word)
#define SCHEME(word, least)
#include "redact/names.def"
};
static const char *const services[] = {
#define NAME(sort, how, word)
#define PAIR(sort, first, last)
#define NOT(place, word)
#define SERVICE(word) #word,
#define PLAIN(word)
#define SCHEME(word, least)
#include "redact/names.def"
};
static const char *const plain[] = {
#define NAME(sort, how, word)
#define PAIR(sort, first, last)
#define NOT(place, word)
#define SERVICE(word)
#define PLAIN(word) #word,
#define SCHEME(word, least)
#include "redact/names.def"
};
static const struct {
	const char *word;
	size_t least;
} schemes[] = {
#define NAME(sort, how, word)
#define PAIR(sort, first, last)
#define NOT(place, word)
#define SERVICE(word)
#define PLAIN(word)
#define SCHEME(word, least) {word, least},
#include "redact/names.def"
};
#define N(table) (sizeof(table) / sizeof((table)[0]))

/* In any locale. */
static bool is_ascii_alnum(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

struct name_words {
	char text[2 * NAME_MOST]; /* a word may be of one letter, and each has a NUL behind it */
	const char *v[WORDS];
	size_t n;
};

/* In small letters; the last WORDS of it, of its last NAME_MOST bytes. */
static void split_name_words(struct str name, struct name_words *w)
{
	size_t at = 0;
	w->n = 0;
	if (name.n > NAME_MOST)
		name = str_n(name.p + name.n - NAME_MOST, NAME_MOST);
	for (size_t i = 0; i < name.n; i++) {
		char c = name.p[i];
		if (!is_ascii_alnum(c))
			continue;
		bool begins = i == 0 || !is_ascii_alnum(name.p[i - 1]) ||
		              (isupper((unsigned char)c) && islower((unsigned char)name.p[i - 1]));
		if (begins) {
			if (w->n)
				w->text[at++] = '\0';
			if (w->n == WORDS) /* the last ones say what it is */
				memmove(w->v, w->v + 1, --w->n * sizeof(*w->v));
			w->v[w->n++] = w->text + at;
		}
		w->text[at++] = (char)tolower((unsigned char)c);
	}
	w->text[at] = '\0';
}

/* Does the name of a variable or option fit a row of the table? pass: the word has "pass" in it, as all have that a
 * HOW_holds row looks for. */
static bool row_fits(const struct name_row *row, const char *word, size_t n, bool pass)
{
	if (n < row->n || word[n - 1] != row->word[row->n - 1])
		return row->how == HOW_holds && pass && n >= row->n && memmem(word, n, row->word, row->n);
	switch (row->how) {
	case HOW_is:
		return n == row->n && !memcmp(word, row->word, n);
	case HOW_ends:
		return !memcmp(word + n - row->n, row->word, row->n);
	case HOW_holds:
		return pass && memmem(word, n, row->word, row->n);
	}
	return false;
}

/* last, before: the last words of a name, in small letters. alone: there are no others. */
static enum name_sort classify_name_part(const char *last, const char *before, bool alone)
{
	size_t n = strlen(last);
	bool pass = memmem(last, n, "pass", 4);
	for (size_t i = 0; *before && i < N(pairs); i++)
		if (*last == *pairs[i].last && !strcmp(last, pairs[i].last) && !strcmp(before, pairs[i].first))
			return pairs[i].sort;
	for (size_t i = 0; i < N(names); i++) {
		if (!row_fits(&names[i], last, n, pass))
			continue;
		if (!alone && !strcmp(last, "key"))
			return NAME_none; /* cache-key: the secret ones are pairs */
		for (size_t k = 0; names[i].sort == NAME_some && k < N(nots); k++)
			if (nots[k].place == PLACE_before && !strcmp(before, nots[k].word))
				return NAME_none;
		return names[i].sort;
	}
	return NAME_none;
}

enum name_sort name_sort(struct str name)
{
	struct name_words w;
	/* -DNAME=value of compilers. */
	if (name.n > 2 && name.p[0] == '-' && name.p[1] == 'D' && isupper((unsigned char)name.p[2]))
		name = str_n(name.p + 2, name.n - 2);
	split_name_words(name, &w);
	if (!w.n)
		return NAME_none;
	/* PASSWORD2, token1 */
	char *end = w.text + (w.v[w.n - 1] - w.text);
	for (size_t k = strlen(end); k > 1 && isdigit((unsigned char)end[k - 1]); k--)
		end[k - 1] = '\0';
	enum name_sort sort = NAME_none;
	for (size_t i = w.n; i-- > 0 && !sort;) {
		sort = classify_name_part(w.v[i], i ? w.v[i - 1] : "", w.n == 1);
		if (i < w.n - 1 && sort != NAME_strong)
			sort = NAME_none; /* in the middle (PASSWORD_TEST) only words that mean nothing else */
	}
	for (size_t i = 0; sort && i < N(nots); i++)
		if (nots[i].place != PLACE_before && !strcmp(w.v[nots[i].place == PLACE_first ? 0 : w.n - 1], nots[i].word))
			return NAME_none;
	return sort;
}

bool name_looks_random(struct str v, size_t least)
{
	bool digit = false, letter = false;
	size_t n = 0;
	for (; n < v.n && (is_ascii_alnum(v.p[n]) || strchr("+/=_%-", v.p[n])); n++) {
		digit |= isdigit((unsigned char)v.p[n]) != 0;
		letter |= isalpha((unsigned char)v.p[n]) != 0;
	}
	return n == v.n && n >= least && digit && letter && v.p[0] != '/' && v.p[0] != '.';
}

/* A path, or something that ends as files of secrets and settings do: it is not the secret itself. */
static bool looks_like_file(struct str v)
{
	static const char *const ends[] = {".pem", ".key",  ".json", ".txt", ".conf", ".cfg",
	                                   ".yml", ".yaml", ".toml", ".ini", ".p12",  ".gpg"};
	if (v.n && (v.p[0] == '/' || v.p[0] == '~' || v.p[0] == '.'))
		return true;
	for (size_t i = 0; i < N(ends); i++)
		if (str_ends(v, str_of(ends[i])))
			return true;
	return memchr(v.p, '/', v.n) && !name_looks_random(v, 32);
}

/* Where a secret is kept, and not the secret: by a service, or as openssl takes it. */
static bool is_reference(struct str v)
{
	static const char *const begins[] = {"projects/", "arn:", "file:", "env:", "fd:"};
	for (size_t i = 0; i < N(begins); i++)
		if (str_starts(v, str_of(begins[i])))
			return true;
	return false;
}

/* Words such as "true", numbers of up to 4 digits, and what only stands for a value: no secret. */
static bool is_plain_value(struct str v)
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

/* $TOKEN or ${TOKEN}, perhaps in quotes: in a script that is not its value. */
static bool is_variable(struct str v)
{
	if (v.p[0] == '"' && v.n > 1)
		v = str_n(v.p + 1, v.n - 2);
	if (v.n <= 1 || v.p[0] != '$' || !(isalpha((unsigned char)v.p[1]) || v.p[1] == '{' || v.p[1] == '_'))
		return false;
	size_t k = 1;
	while (k < v.n && (is_ascii_alnum(v.p[k]) || strchr("_{}", v.p[k])))
		k++;
	return k == v.n;
}

bool name_sort_hides(enum name_sort sort, struct str value)
{
	if (!value.n || str_is(value, "***") || is_reference(value) || is_variable(value))
		return false;
	switch (sort) {
	case NAME_none:
		return false;
	case NAME_strong:
		return true;
	case NAME_some:
		return !is_plain_value(value);
	case NAME_path:
		return !looks_like_file(value) && !is_plain_value(value);
	case NAME_random:
		return name_looks_random(value, 20);
	case NAME_pairs:
		return memchr(value.p, '=', value.n) != NULL;
	}
	return false;
}

/* The longest run of letters and digits in v; none where v has characters that base64 has not. A = belongs to the end
 * of base64 only. */
static struct str longest_run(struct str v)
{
	struct str run = {v.p, 0};
	for (size_t i = 0; i < v.n;) {
		size_t k = i;
		while (k < v.n && is_ascii_alnum(v.p[k]))
			k++;
		if (k - i > run.n)
			run = str_n(v.p + i, k - i);
		if (k < v.n && (!strchr("+/=_-", v.p[k]) || (v.p[k] == '=' && k + 2 < v.n)))
			return str_n(v.p, 0);
		i = k + 1;
	}
	return run;
}

/* A digest in base64, as sha512-... or bare. */
static bool is_digest(struct str v)
{
	if (str_starts(v, str_of("sha")) || str_starts(v, str_of("md5")) || str_starts(v, str_of("h1:")))
		return true;
	return v.p[v.n - 1] == '=' && (v.n == 24 || v.n == 28 || v.n == 44 || v.n == 88);
}

/* Does the run change between capitals, small letters and digits as often as lots would have it? */
static bool is_mixed(struct str run)
{
	size_t digits = 0, lower = 0, upper = 0, changes = 0;
	size_t small = 0, named = 0; /* small letters behind a capital; characters of words that have two or more */
	int last = 0;
	for (size_t i = 0; i < run.n; i++) {
		int is = isdigit((unsigned char)run.p[i]) ? 1 : islower((unsigned char)run.p[i]) ? 2 : 3;
		digits += is == 1;
		lower += is == 2;
		upper += is == 3;
		changes += last && is != last;
		last = is;
		small = is == 3 ? 1 : is == 2 && small ? small + 1 : 0;
		named += small == 3 ? 3 : small > 3;
	}
	return digits >= 2 && lower >= 2 && upper >= 2 && changes * 5 >= 2 * (run.n - 1) && named * 5 < 3 * run.n;
}

/* The longest run of letters and digits changes between capitals, small letters and digits as often as lots would have
 * it, and has some of each. Digests, identifiers and names of several words do not. */
static bool looks_drawn(struct str v)
{
	if (v.n < DRAWN_RUN || v.n > DRAWN_MOST || v.p[0] == '/' || v.p[0] == '.' || str_starts(v, str_of("_Z")))
		return false;
	struct str run = longest_run(v);
	return run.n >= DRAWN_RUN && !is_digest(v) && is_mixed(run);
}

/* By the first letter, and then the whole word. */
static bool table_has(const char *const *table, size_t n, const char *word)
{
	for (size_t i = 0; i < n; i++)
		if (table[i][0] == word[0] && !strcmp(table[i], word))
			return true;
	return false;
}

bool name_hides(struct str name, struct str value)
{
	if (!value.n)
		return false;
	if (value.n > 1 && (value.p[0] == '"' || value.p[0] == '\'') && value.p[value.n - 1] == value.p[0])
		value = str_n(value.p + 1, value.n - 2);
	enum name_sort sort = name_sort(name);
	if (sort != NAME_none && name_sort_hides(sort, value))
		return true;
	if (value.n < SERVICE_KEY)
		return false;
	bool random = !memchr(value.p, '/', value.n) && name_looks_random(value, SERVICE_KEY), drawn = looks_drawn(value);
	if (!random && !drawn)
		return false;
	struct name_words w;
	split_name_words(name, &w);
	if (!w.n)
		return false;
	if (drawn && !table_has(plain, N(plain), w.v[w.n - 1]))
		return true;
	for (size_t i = 0; random && i < w.n; i++)
		if (table_has(services, N(services), w.v[i]))
			return !table_has(plain, N(plain), w.v[w.n - 1]);
	return false;
}

bool name_is_service_key(struct str name)
{
	struct name_words w;
	split_name_words(name, &w);
	for (size_t i = 0; i + 1 < w.n; i++)
		if (table_has(services, N(services), w.v[i]))
			return !strcmp(w.v[w.n - 1], "key");
	return false;
}

size_t name_scheme(struct str word)
{
	for (size_t i = 0; i < N(schemes); i++)
		if (word.n == strlen(schemes[i].word) && !strncasecmp(word.p, schemes[i].word, word.n))
			return schemes[i].least;
	return 0;
}
