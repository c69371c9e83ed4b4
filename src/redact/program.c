#include "redact/program.h"

#include <ctype.h>
#include <strings.h>

#define NAME_MOST 24 /* characters of the longest program */

enum kind { KIND_option, KIND_after, KIND_letters, KIND_ends, KIND_begins, KIND_reads, KIND_keeps };
enum where {
	WHERE_next = 1,
	WHERE_glued = 2,
	WHERE_both = WHERE_next | WHERE_glued,
	WHERE_bundle = 4,
	WHERE_next_short = WHERE_next | WHERE_bundle,
	WHERE_both_short = WHERE_both | WHERE_bundle,
	WHERE_login = 8,
	WHERE_both_login = WHERE_both | WHERE_login,
	WHERE_secret = 16,
	WHERE_next_secret = WHERE_next | WHERE_secret,
	WHERE_operand = 32,
	WHERE_operand_secret = WHERE_operand | WHERE_secret,
	WHERE_operand2 = 64,
};

static const struct row {
	const char *program, *word;
	const char *begins;                       /* of KIND_keeps: the word begins so; else NULL */
	unsigned char n, kind, where, skip, hide; /* n: characters of the program */
	char after;
} rows[] = {
#define LETTER(name, c)
#define PROGRAM(program, option, where, after)                                                                         \
	{program, option, NULL, sizeof(program) - 1, KIND_option, WHERE_##where, 0, 0, after},
#define AFTER(program, word, skip, hide) {program, word, NULL, sizeof(program) - 1, KIND_after, 0, skip, hide, 0},
#define LETTERS(program, word, skip, hide) {program, word, NULL, sizeof(program) - 1, KIND_letters, 0, skip, hide, 0},
#define ENDS(program, word, skip, hide) {program, word, NULL, sizeof(program) - 1, KIND_ends, 0, skip, hide, 0},
#define BEGINS(program, word, skip, hide) {program, word, NULL, sizeof(program) - 1, KIND_begins, 0, skip, hide, 0},
#define READS(program, word, after) {program, word, NULL, sizeof(program) - 1, KIND_reads, 0, 0, 0, after},
#define KEEPS(program, word, begins) {program, word, begins, sizeof(program) - 1, KIND_keeps, 0, 0, 0, 0},
#include "redact/programs.def"
};
#define ROWS (sizeof(rows) / sizeof(*rows))

/* The number of the first row of each letter: rows are counted by the lines they stand in. */
enum {
#define LETTER(name, c) LETTER_##name, LETTER_##name##_back = LETTER_##name - 1,
#define NUMBER(n) ROW_##n,
#define NUMBER_OF(n) NUMBER(n)
#define PROGRAM(program, option, where, after) NUMBER_OF(__LINE__)
#define AFTER(program, word, skip, hide) NUMBER_OF(__LINE__)
#define LETTERS(program, word, skip, hide) NUMBER_OF(__LINE__)
#define ENDS(program, word, skip, hide) NUMBER_OF(__LINE__)
#define BEGINS(program, word, skip, hide) NUMBER_OF(__LINE__)
#define KEEPS(program, word, begins) NUMBER_OF(__LINE__)
#define READS(program, word, after) NUMBER_OF(__LINE__)
#include "redact/programs.def"
};
static const unsigned short first_rows[128] = {
#define LETTER(name, c) [c] = LETTER_##name + 1,
#define PROGRAM(program, option, where, after)
#define AFTER(program, word, skip, hide)
#define LETTERS(program, word, skip, hide)
#define ENDS(program, word, skip, hide)
#define BEGINS(program, word, skip, hide)
#define KEEPS(program, word, begins)
#define READS(program, word, after)
#include "redact/programs.def"
};

/* Does the word look like an option? */
static bool is_program_option(struct str s)
{
	return s.n > 1 && s.p[0] == '-';
}

/* The first row of the program, + 1; 0: there is none. */
static unsigned short find_program_row(struct str word)
{
	struct str base = str_base_name(word);
	unsigned char c = base.n && base.n <= NAME_MOST ? (unsigned char)base.p[0] : 0;
	if (!c || c >= 128)
		return 0;
	for (size_t i = first_rows[c]; i && i <= ROWS && rows[i - 1].program[0] == base.p[0]; i++)
		if (rows[i - 1].n == base.n && !memcmp(rows[i - 1].program, base.p, base.n))
			return (unsigned short)i;
	return 0;
}

/* Rows of the same program's name. */
static bool is_same_program_row(const struct row *a, const struct row *b)
{
	return a->n == b->n && (a->program == b->program || !memcmp(a->program, b->program, a->n));
}

/* Whether s is a group of one-letter options (8 at most) with c. */
static bool has_letter(struct str s, char c)
{
	return s.n > 1 && s.n < 9 && s.p[0] == '-' && s.p[1] != '-' && memchr(s.p + 1, c, s.n - 1);
}

/* Does the word tell that the row's program is meant so? By kind of row. */
static bool is_met(const struct row *row, struct str word)
{
	struct str w = str_of(row->word);
	switch (row->kind) {
	case KIND_after:
		return w.n && str_eq(word, w);
	case KIND_letters:
		return has_letter(word, w.p[0]);
	case KIND_ends:
		return str_ends(word, w);
	case KIND_begins:
		return str_starts(word, w);
	default:
		return false;
	}
}

/* The next words are operands of the row's program: how many to skip, which to hide. */
static void await_operands(struct redact *r, const struct row *row, struct str word)
{
	r->skip = row->skip;
	r->operands = row->hide;
	/* htpasswd -nb prints instead of writing to a file: one operand less. */
	if (row->kind == KIND_letters && r->skip && has_letter(word, 'n'))
		r->skip--;
}

/* What the word says of the program whose row is the last. True: that has a row for it. */
static bool observe_word(struct redact *r, struct str word)
{
	bool met = false;
	for (size_t i = r->row; i && i <= ROWS && is_same_program_row(&rows[i - 1], &rows[r->row - 1]); i++)
		if (rows[i - 1].kind != KIND_option && is_met(&rows[i - 1], word)) {
			await_operands(r, &rows[i - 1], word);
			met = true;
		}
	return met;
}

/* A program begins, whose first row that is. */
static void begin_program(struct redact *r, unsigned short row, struct str word)
{
	r->row = row;
	r->login = r->secretly = false;
	r->skip = r->operands = 0;
	for (size_t i = row; i <= ROWS && is_same_program_row(&rows[i - 1], &rows[row - 1]); i++)
		if (rows[i - 1].kind == KIND_after && !*rows[i - 1].word)
			await_operands(r, &rows[i - 1], word);
}

void program_observe(struct redact *r, struct str word)
{
	if (!word.n || word.n > 64)
		return;
	/* What the program has a row for is no name of another one. */
	if (!observe_word(r, word) && !is_program_option(word)) {
		unsigned short row = find_program_row(word);
		if (row) {
			begin_program(r, row, word);
			return;
		}
	}
	if (!r->row)
		return;
	r->login |= str_is(word, "login");
	r->secretly |= memmem(word.p, word.n, "ecret", 5) || str_is(word, "SecureString");
}

void program_end(struct redact *r)
{
	r->skip = r->operands = 0;
	r->login = r->secretly = false;
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

/* Does s stand where the row says that a secret does? *ret_from: where in s it begins. */
static bool is_in_place(const struct redact *r, const struct row *row, struct str s, size_t *ret_from)
{
	struct str option = str_of(row->word);
	*ret_from = 0;
	if (row->where & WHERE_operand)
		return !is_program_option(s) && s.p[0] != '/' && s.p[0] != '@' && s.p[0] != '.';
	if (row->where & WHERE_operand2)
		return !is_program_option(s) && str_starts(r->before, option);
	if (row->where & WHERE_next &&
	    (str_eq(r->before, option) || (row->where & WHERE_bundle && is_bundle(r->before, option))))
		/* docker login -p --tls: no value; the community that everybody knows */
		return !str_starts(s, str_of("--")) && !str_is(s, "public");
	*ret_from = option.n;
	return row->where & WHERE_glued && s.n > option.n && str_starts(s, option);
}

/* Of s from *from on: what is behind the row's mark, and before an @ where that mark is a slash. */
static bool cut_to_mark(const struct row *row, struct str s, size_t *from, size_t *ret_to)
{
	*ret_to = s.n;
	if (!row->after)
		return true;
	const char *mark = memchr(s.p + *from, row->after, s.n - *from);
	if (!mark)
		return false;
	*from = (size_t)(mark - s.p) + 1;
	const char *at = row->after == '/' ? memchr(s.p + *from, '@', s.n - *from) : NULL;
	if (at)
		*ret_to = (size_t)(at - s.p);
	return true;
}

/* The part of s that the row calls secret; false: none. */
static bool by_option(const struct redact *r, const struct row *row, struct str s, size_t *ret_from, size_t *ret_to)
{
	size_t from;
	if ((row->where & WHERE_login && !r->login) || (row->where & WHERE_secret && !r->secretly))
		return false;
	if (!is_in_place(r, row, s, &from) || !cut_to_mark(row, s, &from, ret_to))
		return false;
	*ret_from = from;
	return from < *ret_to;
}

/* An operand of which the program says that it is a secret. NAME=value: the value. */
static bool by_operand(struct redact *r, struct str s, size_t *ret_from, size_t *ret_to)
{
	size_t name = 0;
	if (r->skip) {
		r->skip--;
		return false;
	}
	r->operands--;
	while (name < s.n && (isalnum((unsigned char)s.p[name]) || s.p[name] == '_' || s.p[name] == '-'))
		name++;
	*ret_from = name && name + 1 < s.n && s.p[name] == '=' ? name + 1 : 0;
	*ret_to = s.n;
	return s.p[*ret_from] != '$' && s.p[*ret_from] != '@';
}

bool program_hides(struct redact *r, struct str s, size_t *ret_from, size_t *ret_to)
{
	if (!r->row)
		return false;
	if (r->operands && !is_program_option(s))
		return by_operand(r, s, ret_from, ret_to);
	for (size_t i = r->row; i <= ROWS && is_same_program_row(&rows[i - 1], &rows[r->row - 1]); i++)
		if (rows[i - 1].kind == KIND_option && by_option(r, &rows[i - 1], s, ret_from, ret_to))
			return true;
	return false;
}

bool program_keeps(const struct redact *r, struct str s)
{
	for (size_t i = r->row; i && i <= ROWS && is_same_program_row(&rows[i - 1], &rows[r->row - 1]); i++) {
		const struct row *row = &rows[i - 1];
		if (row->kind == KIND_keeps && (!*row->word || str_is(r->before, row->word)) &&
		    str_starts(s, str_of(row->begins)))
			return true;
	}
	return false;
}

bool program_reads(const struct str *words, size_t n, char *ret_after)
{
	for (size_t k = 0; k < n; k++) {
		unsigned short row = find_program_row(words[k]);
		for (size_t i = row; row && i <= ROWS && is_same_program_row(&rows[i - 1], &rows[row - 1]); i++) {
			const struct row *w = &rows[i - 1];
			bool met = w->kind == KIND_reads && !*w->word;
			for (size_t j = k + 1; w->kind == KIND_reads && j < n && !met; j++)
				met = str_is(words[j], w->word);
			if (met) {
				*ret_after = w->after;
				return true;
			}
		}
	}
	return false;
}
