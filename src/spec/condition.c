/* condition.c - which tokens are the condition that a branch asks. */
#include "spec/condition_int.h"

#include <stdlib.h>
#include <string.h>

#define NONE SIZE_MAX
/* Steps over tokens that one question may take: many times what a condition that anybody can read needs. */
enum { STEPS_MAX = 20000 };

struct reading {
	const struct condition_source *s;
	unsigned steps;
};

/* ---- what tokens are ---- */

/* A text in quotes is never one. Behind the end: false. */
static bool token_is(const struct reading *r, size_t i, const char *what)
{
	const struct token *t = i < r->s->n ? &r->s->v[i] : NULL;
	return t && t->kind != TOKEN_TEXT && t->n == strlen(what) && memcmp(r->s->text + t->at, what, t->n) == 0;
}

/* Is the token one of the words? */
static bool token_is_one_of(const struct reading *r, size_t i, const char *const *words, size_t n)
{
	for (size_t k = 0; k < n; k++)
		if (token_is(r, i, words[k]))
			return true;
	return false;
}
#define ONE_OF(r, i, ...)                                                                                              \
	token_is_one_of(r, i, (const char *const[]){__VA_ARGS__},                                                          \
	                sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

/* Is the token an opening bracket? */
static bool is_opening_bracket(const struct reading *r, size_t i)
{
	return ONE_OF(r, i, "(", "[", "{");
}

/* Is the token a closing bracket? */
static bool is_closing_bracket(const struct reading *r, size_t i)
{
	return ONE_OF(r, i, ")", "]", "}");
}

/* Is the token a negation? */
static bool is_not(const struct reading *r, size_t i)
{
	return ONE_OF(r, i, "!", "not");
}

/* Is the token `and` or `or`, in C or Fortran? */
static bool is_and_or(const struct reading *r, size_t i)
{
	return ONE_OF(r, i, "&&", "||", "and", "or");
}

/* Is the token an assignment? */
static bool is_assignment(const struct reading *r, size_t i)
{
	return ONE_OF(r, i, "=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=");
}

/* Is the token the word of a statement that has a condition? */
static bool is_statement(const struct reading *r, size_t i)
{
	return ONE_OF(r, i, "if", "while", "for", "switch");
}

/* A word behind which an expression begins. */
static bool is_lead(const struct reading *r, size_t i)
{
	return ONE_OF(r, i, "return", "case", "else", "do", "throw", "co_return", "co_yield") || is_statement(r, i);
}

/* It ends an operand on its right... */
static bool ends_right(const struct reading *r, size_t i)
{
	return i >= r->s->n || is_closing_bracket(r, i) || is_and_or(r, i) || ONE_OF(r, i, "?", ":", ",", ";");
}

/* ... and on its left. */
static bool ends_left(const struct reading *r, size_t i)
{
	return i == NONE || is_opening_bracket(r, i) || is_and_or(r, i) || is_assignment(r, i) || is_lead(r, i) ||
	       ONE_OF(r, i, "?", ":", ",", ";", "}");
}

/* The bracket that belongs to the one at i; NONE: there is none, or it is too far. */
static size_t find_bracket(struct reading *r, size_t i, int way)
{
	for (size_t depth = 0; i < r->s->n; i += (size_t)way) {
		if (++r->steps > STEPS_MAX)
			return NONE;
		bool in = way > 0 ? is_opening_bracket(r, i) : is_closing_bracket(r, i),
		     out = way > 0 ? is_closing_bracket(r, i) : is_opening_bracket(r, i);
		depth += in;
		if (out && --depth == 0)
			return i;
	}
	return NONE;
}

/* Is the `(` at i one that only groups: not of a call, a cast, a statement? */
static bool is_group(const struct reading *r, size_t i)
{
	if (!token_is(r, i, "("))
		return false;
	if (i == 0 || is_not(r, i - 1) || is_and_or(r, i - 1) || ONE_OF(r, i - 1, "return", "case", "else", "do"))
		return true;
	return r->s->v[i - 1].kind == TOKEN_SIGN && !ONE_OF(r, i - 1, ")", "]");
}

/* ---- what belongs to an operand ---- */

struct span {
	size_t lo, hi; /* tokens [lo, hi) */
};

/* To both sides of the token at t, to what ends an operand. */
static bool find_operand_span(struct reading *r, size_t t, struct span *ret)
{
	bool assigns = is_assignment(r, t);
	size_t i = t;
	while (assigns ? i < r->s->n && !is_closing_bracket(r, i) && !ONE_OF(r, i, ",", ";") : !ends_right(r, i)) {
		if (token_is(r, i, "{") || ++r->steps > STEPS_MAX)
			return false;
		if (is_opening_bracket(r, i) && (i = find_bracket(r, i, 1)) == NONE)
			return false;
		i++;
	}
	ret->hi = i;
	for (i = t; i > 0;) {
		size_t before = i - 1;
		if (++r->steps > STEPS_MAX)
			return false;
		if (token_is(r, before, ")") || token_is(r, before, "]")) {
			before = find_bracket(r, before, -1);
			if (before == NONE)
				return false;
			if (before && is_statement(r, before - 1)) /* the head of the statement that this one stands in */
				break;
		} else if (ends_left(r, before) && !(assigns && (is_assignment(r, before) || is_and_or(r, before))))
			break;
		i = before;
	}
	ret->lo = i;
	return ret->lo < ret->hi;
}

/* Has it an operator with two sides outside brackets? Where it is not certain: yes. */
static bool is_joined(struct reading *r, struct span s)
{
	for (size_t i = s.lo; i < s.hi; i++) {
		if (is_opening_bracket(r, i)) {
			i = find_bracket(r, i, 1);
			if (i == NONE)
				return true;
			continue;
		}
		if (is_and_or(r, i) || is_assignment(r, i) ||
		    ONE_OF(r, i, "==", "!=", "<", ">", "<=", ">=", "<=>", "/", "%", "|", "^", "<<", ">>", "?", ":", "not_eq",
		           "bitand", "bitor", "xor"))
			return true;
		bool behind = i > s.lo && (r->s->v[i - 1].kind != TOKEN_SIGN || ONE_OF(r, i - 1, ")", "]", "++", "--"));
		if (behind && !is_not(r, i - 1) && ONE_OF(r, i, "+", "-", "*", "&"))
			return true;
	}
	return false;
}

/* Takes the `!` and the brackets that stand around all of it away; returns how many `!`. */
static unsigned strip_negations(struct reading *r, struct span *s)
{
	unsigned n = 0;
	for (;;) {
		size_t k = s->lo;
		while (k < s->hi && is_not(r, k))
			k++;
		if (k > s->lo && k < s->hi && !is_joined(r, (struct span){k, s->hi})) {
			n += (unsigned)(k - s->lo);
			s->lo = k;
		}
		if (!token_is(r, s->lo, "(") || s->hi - s->lo < 3 || find_bracket(r, s->lo, 1) != s->hi - 1)
			return n;
		s->lo++;
		s->hi--;
	}
}

/* ---- what stands around it ---- */

/* Takes the `!` before i in; their number. */
static unsigned nots_before(const struct reading *r, size_t *i)
{
	unsigned n = 0;
	while (*i > 0 && is_not(r, *i - 1)) {
		--*i;
		n++;
	}
	return n;
}

/* NONE before the first. */
static size_t index_before(size_t i)
{
	return i ? i - 1 : NONE;
}

/* How many times a condition is negated by what stands around it. As long as brackets hold nothing else: the `!`
 * before them. */
static unsigned nots_around(struct reading *r, struct span *s)
{
	unsigned n = 0;
	while (s->lo > 0 && is_group(r, s->lo - 1) && token_is(r, s->hi, ")") && ++r->steps < STEPS_MAX) {
		struct span wider = {s->lo - 1, s->hi + 1};
		unsigned more = nots_before(r, &wider.lo);
		if (!ends_left(r, index_before(wider.lo)) || !ends_right(r, wider.hi))
			break;
		*s = wider;
		n += more;
	}
	return n;
}

/* The bracket that is open at i, and whether something is assigned or returned on the way to it. */
static size_t find_open_bracket(struct reading *r, size_t i, bool *ret_value)
{
	*ret_value = false;
	while (i > 0) {
		size_t k = i - 1;
		if (++r->steps > STEPS_MAX || token_is(r, k, "}"))
			return NONE;
		if (is_opening_bracket(r, k))
			return k;
		if (is_closing_bracket(r, k) && (k = find_bracket(r, k, -1)) == NONE)
			return NONE;
		if (is_assignment(r, k) || token_is(r, k, "return") || token_is(r, k, "case"))
			*ret_value = true;
		i = k;
	}
	return NONE;
}

/* The `!` further out that turn an operand of && or || round. A compiler carries them inward where it branches on the
 * whole: in the condition of `if` or of ?:, and on the left of && and ||. Where it makes the value (loops, too) it does
 * not, as the branches then lead to that value, and not to its opposite. *ret_any: there are some, whatever they do. */
static unsigned nots_beyond(struct reading *r, struct span s, bool *ret_any)
{
	unsigned settled = 0, open = 0;
	*ret_any = false;
	for (;;) {
		size_t i = s.hi;
		bool other_arm = false, value;
		for (; i < r->s->n && !is_closing_bracket(r, i) && !ONE_OF(r, i, ",", ";"); i++) {
			if (++r->steps > STEPS_MAX)
				return settled;
			if (token_is(r, i, ":"))
				other_arm = true;
			if (is_and_or(r, i) && !other_arm) {
				settled += open;
				open = 0;
			}
			if (token_is(r, i, "?") && !other_arm)
				return settled + open;
			if (is_opening_bracket(r, i) && (i = find_bracket(r, i, 1)) == NONE)
				return settled;
		}
		size_t from = find_open_bracket(r, s.lo, &value);
		if (from == NONE || value || !token_is(r, from, "("))
			return settled;
		if (from > 0 && token_is(r, from - 1, "if"))
			return settled + open;
		if (!token_is(r, i, ")") || !is_group(r, from))
			return settled;
		s = (struct span){from, i + 1};
		unsigned n = nots_before(r, &s.lo);
		*ret_any |= n > 0;
		if (!ends_left(r, index_before(s.lo)) || !ends_right(r, s.hi))
			return settled;
		open += n;
	}
}

/* ---- all of it ---- */

/* The token that begins there; NONE: none does. */
static size_t find_token(const struct condition_source *s, uint32_t line, uint32_t column)
{
	size_t lo = 0, hi = s->n;
	while (lo < hi) {
		size_t mid = (lo + hi) / 2;
		const struct token *t = &s->v[mid];
		if (t->line < line || (t->line == line && t->column < column))
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < s->n && s->v[lo].line == line && s->v[lo].column == column ? lo : NONE;
}

/* What a statement tests: in its brackets, of `for` between the first ; and the second, else behind the last. */
static bool of_statement(struct reading *r, size_t t, struct span *ret)
{
	size_t open = t + 1 + token_is(r, t + 1, "constexpr"),
	       close = token_is(r, open, "(") ? find_bracket(r, open, 1) : NONE;
	if (close == NONE)
		return false;
	*ret = (struct span){open + 1, close};
	unsigned parts = 0;
	for (size_t i = open + 1; i < close; i++) {
		if (is_opening_bracket(r, i) && (i = find_bracket(r, i, 1)) == NONE)
			return false;
		if (!token_is(r, i, ";"))
			continue;
		parts++;
		if (token_is(r, t, "for") && parts == 2)
			ret->hi = i;
		else
			ret->lo = i + 1;
	}
	return ret->lo < ret->hi && (!token_is(r, t, "for") || parts == 2);
}

/* A comma that may stand between a template's arguments: then what was found may be the half of one. */
static bool may_be_template(struct reading *r, struct span s)
{
	bool left = token_is(r, index_before(s.lo), ","), right = token_is(r, s.hi, ",");
	for (size_t i = s.lo; i < s.hi && (left || right); i++)
		if ((left && token_is(r, i, ">")) || (right && token_is(r, i, "<")))
			return true;
	return false;
}

/* Appends a condition as it stands in the source. false: it cannot be told: something of it is cut, or no memory; b
 * is as it was. opposite: with a ! before it. */
static bool append_condition(struct reading *r, struct span s, bool opposite, struct buf *b)
{
	size_t start = b->n;
	bool joined = opposite && is_joined(r, s);
	for (size_t i = s.lo; i < s.hi; i++) {
		const struct token *t = &r->s->v[i];
		if ((i > s.lo && t->cut) || memchr(r->s->text + t->at, '\0', t->n)) {
			b->n = start;
			return false;
		}
	}
	buf_str(b, str_of(!opposite ? "" : joined ? "!(" : "!"));
	for (size_t i = s.lo; i < s.hi; i++) {
		const struct token *t = &r->s->v[i];
		bool space = i > s.lo && t[-1].at + t[-1].n < t->at;
		if (b->n - start + t->n + space > CONDITION_MAX - 6) {
			buf_str(b, str_of(" ..."));
			break;
		}
		if (space)
			buf_char(b, ' ');
		buf_str(b, str_n(r->s->text + t->at, t->n));
	}
	if (joined)
		buf_char(b, ')');
	return !b->failed;
}

/* A comparison or calculation has the place of its operator, or of the bracket around it; with that of its first word
 * it is that of something else. */
static bool is_its_place(struct reading *r, size_t t, struct span s)
{
	return t < s.lo || r->s->v[t].kind == TOKEN_SIGN || !is_joined(r, s);
}

/* Is what stands behind the operand what the branch is for? */
static bool is_its_branch(const struct reading *r, const struct condition *c, struct span all)
{
	if (token_is(r, all.hi, "?"))
		return c->arms;
	return !is_and_or(r, all.hi) || find_token(r->s, c->branch_line, c->branch_column) == all.hi;
}

/* A macro may have `!` in it, which is not seen. Is it one, alone and at its place? Those of other files are known by
 * their names only. Of a macro under a further `!` nothing is said: what the compiler calls true cannot be checked. */
static bool is_macro_name(const struct reading *r, size_t t)
{
	struct str name = str_n(r->s->text + r->s->v[t].at, r->s->v[t].n);
	bool capitals = name.n > 1;
	for (size_t i = 0; i < name.n; i++)
		capitals &= !(name.p[i] >= 'a' && name.p[i] <= 'z');
	for (size_t i = 0; i < r->s->n_macros && !capitals; i++)
		capitals = str_eq(r->s->macro[i], name);
	return capitals;
}

/* A word, or a word with its arguments, which is all of the span. */
static bool is_macro(struct reading *r, size_t t, struct span s)
{
	if (t != s.lo || r->s->v[t].kind != TOKEN_WORD)
		return false;
	if (s.hi != t + 1 && (!token_is(r, t + 1, "(") || find_bracket(r, t + 1, 1) != s.hi - 1))
		return false;
	return is_macro_name(r, t);
}

/* A macro that is a statement, or the head of one: what is compared in it has its place, and so has the branch, which a
 * call's cannot be. Without brackets it must be known to be one. */
static bool is_macro_statement(struct reading *r, const struct condition *c, size_t t, struct span *ret)
{
	size_t close = token_is(r, t + 1, "(") ? find_bracket(r, t + 1, 1) : t;
	if (r->s->v[t].kind != TOKEN_WORD || is_lead(r, t) || close == NONE || c->line != c->branch_line ||
	    c->column != c->branch_column)
		return false;
	bool value;
	if (t && !ONE_OF(r, t - 1, ";", "{", "}")) {
		if (!ONE_OF(r, t - 1, ")", ":", "else") || token_is(r, close + 2, "while")) /* it may be the end of a `do` */
			return false;
	}
	if (token_is(r, find_open_bracket(r, t, &value), "(")) /* what a loop tests */
		return false;
	bool headed = close + 1 < r->s->n && r->s->v[close + 1].kind == TOKEN_WORD && !is_and_or(r, close + 1);
	if (!ONE_OF(r, close + 1, ";", "{", "}") && !headed)
		return false;
	*ret = (struct span){t, close + 1};
	return is_macro_name(r, t) || (close > t && !headed);
}

/* The text of a statement at token t, of a macro that is one. 1: it was appended; 0: nothing can be said; -1: it is no
 * statement. */
static int statement_text(struct reading *r, const struct condition *c, size_t t, struct buf *b)
{
	struct span span;
	if (is_statement(r, t))
		return of_statement(r, t, &span) && append_condition(r, span, false, b);
	if (!is_macro_statement(r, c, t, &span))
		return -1;
	size_t start = b->n;
	buf_str(b, str_of("in "));
	if (append_condition(r, span, false, b))
		return 1;
	b->n = start;
	return 0;
}

/* The text of the operand `span` that token t is in. As condition_text. 1: appended; 0: it is not known; -1: it
 * contradicts the branch. */
static int operand_text(struct reading *r, const struct condition *c, size_t t, struct span span, struct buf *b)
{
	struct span all = span;
	bool turned;
	unsigned nots = strip_negations(r, &span);
	nots += nots_around(r, &all);
	nots += nots_beyond(r, all, &turned);
	bool macro = is_macro(r, t, span), own = c->line == c->branch_line && c->column == c->branch_column;
	if (!is_its_place(r, t, span) || (!(macro && own) && !is_its_branch(r, c, all)) || r->steps > STEPS_MAX)
		return 0;
	if (macro ? turned : (nots & 1) != c->opposite)
		return macro ? 0 : -1;
	return append_condition(r, span, nots & 1, b);
}

/* From an && or || at *t to what stands on its left. False: there is nothing. */
static bool step_left(struct reading *r, size_t *t)
{
	if (!is_and_or(r, *t))
		return true;
	if (*t == 0)
		return false;
	--*t;
	if (token_is(r, *t, ")") || token_is(r, *t, "]"))
		*t = find_bracket(r, *t, -1);
	return *t != NONE;
}

int condition_text(const struct condition_source *s, const struct condition *c, struct buf *b)
{
	struct reading r = {.s = s};
	struct span span;
	bool value;
	size_t t = find_token(s, c->line, c->column);
	if (t == NONE)
		return 0;
	if (token_is(&r, t, "}") && token_is(&r, t + 1, "while")) /* the end of what a `do` does */
		t++;
	int statement = statement_text(&r, c, t, b);
	if (statement >= 0)
		return statement;
	if (!step_left(&r, &t))
		return 0;
	if (is_closing_bracket(&r, t) || (ends_left(&r, t) && !is_opening_bracket(&r, t) && !is_assignment(&r, t)))
		return 0;
	if (!find_operand_span(&r, t, &span) || may_be_template(&r, span))
		return 0;
	if (token_is(&r, span.hi, ";") &&
	    !token_is(&r, find_open_bracket(&r, span.lo, &value), "(")) /* the end of a statement: of what a `do` does */
		return token_is(&r, span.hi + 1, "while") && of_statement(&r, span.hi + 1, &span) &&
		       append_condition(&r, span, false, b);
	return operand_text(&r, c, t, span, b);
}
