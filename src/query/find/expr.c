#include "query/find/expr.h"

#include "base/buf.h"
#include "base/vec.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define TEXT_MAX (64 * 1024)
#define DEPTH_MAX 64
#define CONDITIONS_MAX 256

static const char *const names[EXPR_OPS] = {
    "or",
    "and",
    "not",
#define CONDITION(name, argument, meaning) #name,
#include "query/find/expr.def"
#undef CONDITION
};

const char *expr_name(enum expr_op op)
{
	return names[op];
}

struct token {
	char *text;
	bool quoted; /* not a keyword or parenthesis, whatever it looks like */
};

struct parser {
	struct token *tokens;
	size_t n, cap, at;
	unsigned depth, conditions;
	struct err *err;
};

/* ---- words ---- */

/* Takes b's text, which is empty afterwards. 0, -ENOMEM. */
static int append_expr_token(struct parser *p, struct buf *b, bool quoted)
{
	if (!vec_has_room(p->tokens, p->n, p->cap))
		return -ENOMEM;
	char *text = strdup(buf_cstr(b));
	if (!text || b->failed) {
		free(text);
		return -ENOMEM;
	}
	p->tokens[p->n++] = (struct token){text, quoted};
	buf_reset(b);
	return 0;
}

/* A quoted text, from its first quote on, into b; *s moves behind its last quote. 0, -EINVAL with a sentence: it does
 * not end. */
static int read_quoted(struct parser *p, const char **s, struct buf *b)
{
	char q = *(*s)++;
	for (; **s && **s != q; (*s)++) {
		if (q == '"' && **s == '\\' && (*s)[1])
			(*s)++;
		buf_char(b, **s);
	}
	if (!**s) {
		err_set(p->err, 0, "a quote is not closed in the expression");
		err_hint(p->err, "within double quotes, write a backslash before a quote that belongs to the name");
		return -EINVAL;
	}
	(*s)++;
	return 0;
}

/* A word up to a blank or parenthesis, into b; *s moves behind it. *ret_quoted: something of it was quoted. 0, -EINVAL
 * with a sentence. */
static int read_word(struct parser *p, const char **s, struct buf *b, bool *ret_quoted)
{
	int r = 0;
	*ret_quoted = false;
	while (r == 0 && **s && !isspace((unsigned char)**s) && **s != '(' && **s != ')') {
		if (**s == '\'' || **s == '"') {
			*ret_quoted = true;
			r = read_quoted(p, s, b);
			continue;
		}
		if (**s == '\\' && (*s)[1]) {
			(*s)++;
			*ret_quoted = true;
		}
		buf_char(b, *(*s)++);
	}
	return r;
}

/* Splits one argument at blanks; quotes, backslashes and parentheses as in a shell. 0; -errno with a sentence. */
static int split_expr_argument(struct parser *p, const char *s)
{
	struct buf b = {0};
	int r = 0;
	while (r == 0) {
		bool quoted = false;
		while (isspace((unsigned char)*s))
			s++;
		if (!*s)
			break;
		if (*s == '(' || *s == ')')
			buf_char(&b, *s++);
		else
			r = read_word(p, &s, &b, &quoted);
		if (r == 0)
			r = append_expr_token(p, &b, quoted);
	}
	buf_release(&b);
	return r;
}

/* Is the word a condition that takes a value? */
static bool takes_value(const char *word)
{
	for (int i = EXPR_NOT + 1; i < EXPR_OPS; i++)
		if (strcmp(word, names[i]) == 0)
			return true;
	return false;
}

/* Several arguments are one word each, so that a file's name may hold blanks; but an argument with blanks where no
 * value can stand is split. 0; -errno with a sentence. */
static int split_all(struct parser *p, char *const *words, size_t n)
{
	struct buf b = {0};
	size_t total = 0;
	int r = 0;
	for (size_t i = 0; i < n && r == 0; i++) {
		total += strlen(words[i]) + 1;
		if (total > TEXT_MAX) {
			err_set(p->err, 0, "the expression is longer than 64 KiB");
			r = -EINVAL;
			break;
		}
		bool value = p->n && !p->tokens[p->n - 1].quoted && takes_value(p->tokens[p->n - 1].text) &&
		             !(p->n > 1 && takes_value(p->tokens[p->n - 2].text) && !p->tokens[p->n - 2].quoted);
		if (value) {
			buf_printf(&b, "%s", words[i]);
			r = append_expr_token(p, &b, true);
		} else {
			r = split_expr_argument(p, words[i]);
		}
	}
	buf_release(&b);
	return r;
}

/* ---- grammar ---- */

/* Is the next token this word, not quoted? False at the end. */
static bool is_expr_token(const struct parser *p, const char *word)
{
	return p->at < p->n && !p->tokens[p->at].quoted && strcmp(p->tokens[p->at].text, word) == 0;
}

/* A file alone is no condition; which one was meant nobody can tell. */
static bool hint_at_file(const struct parser *p)
{
	const char *text = p->at < p->n ? p->tokens[p->at].text : "";
	struct stat st;
	if (strpbrk(text, " \t'\"") || !(strchr(text, '/') || strchr(text, '.') || stat(text, &st) == 0))
		return false;
	err_hint(p->err, "for a file: 'made %.100s' (what made it), 'used %.100s', 'from %.100s' (all that came from it)",
	         text, text, text);
	return true;
}

/* Reports what is wrong with the expression. -EINVAL, with what was expected, where, and what may stand there. */
static int report_unexpected(const struct parser *p, const char *what)
{
	if (p->at < p->n)
		err_set(p->err, 0, "%s expected at '%.100s'", what, p->tokens[p->at].text);
	else
		err_set(p->err, 0, "%s expected at the end of the expression", what);
	if (hint_at_file(p))
		return -EINVAL;
	struct buf all = {0};
	for (int op = EXPR_NOT + 1; op < EXPR_OPS; op++)
		buf_printf(&all, " %s", names[op]);
	err_hint(p->err, "conditions are:%s", buf_cstr(&all));
	buf_release(&all);
	return -EINVAL;
}

/* Takes over a and b, which are freed without memory. *ret is the caller's. 0, -ENOMEM. */
static int new_expr(enum expr_op op, struct expr *a, struct expr *b, struct expr **ret)
{
	struct expr *e = calloc(1, sizeof(*e));
	if (!e) {
		expr_free(a);
		expr_free(b);
		return -ENOMEM;
	}
	*e = (struct expr){.op = op, .a = a, .b = b};
	*ret = e;
	return 0;
}

static int parse_expr_or(struct parser *p, struct expr **ret);

/* A word of a condition and its value. *ret is the caller's. 0, -ENOMEM, or -EINVAL with a sentence. */
static int parse_expr_condition(struct parser *p, struct expr **ret)
{
	for (int op = EXPR_NOT + 1; op < EXPR_OPS; op++) {
		if (!is_expr_token(p, names[op]))
			continue;
		if (++p->conditions > CONDITIONS_MAX) {
			err_set(p->err, 0, "the expression has more than %d conditions", CONDITIONS_MAX);
			return -EINVAL;
		}
		p->at++;
		if (p->at == p->n)
			return report_unexpected(p, "a value");
		int r = new_expr((enum expr_op)op, NULL, NULL, ret);
		if (r < 0)
			return r;
		(*ret)->value = strdup(p->tokens[p->at++].text);
		if ((*ret)->value)
			return 0;
		expr_free(*ret);
		return -ENOMEM;
	}
	return report_unexpected(p, "a condition");
}

/* `not` X, `(` X `)` or one condition, at the cursor, at most DEPTH_MAX deep. *ret is the caller's. 0, -ENOMEM, or
 * -EINVAL with a sentence. */
static int parse_expr_operand(struct parser *p, struct expr **ret)
{
	if (p->depth >= DEPTH_MAX) {
		err_set(p->err, 0, "the expression is nested more than %d deep", DEPTH_MAX);
		return -EINVAL;
	}
	p->depth++;
	int r;
	if (is_expr_token(p, "not") || is_expr_token(p, "!")) {
		struct expr *a = NULL;
		p->at++;
		r = parse_expr_operand(p, &a);
		if (r == 0)
			r = new_expr(EXPR_NOT, a, NULL, ret);
	} else if (is_expr_token(p, "(")) {
		p->at++;
		r = parse_expr_or(p, ret);
		if (r == 0 && !is_expr_token(p, ")")) {
			expr_free(*ret);
			r = report_unexpected(p, "')'");
		}
		p->at++;
	} else {
		r = parse_expr_condition(p, ret);
	}
	p->depth--;
	return r;
}

/* Conditions one after the other, with `and` between them or without. As parse_expr_operand; so the next. 0; -errno
 * with a sentence. */
static int parse_expr_and(struct parser *p, struct expr **ret)
{
	struct expr *a = NULL;
	int r = parse_expr_operand(p, &a);
	while (r == 0 && p->at < p->n && !is_expr_token(p, "or") && !is_expr_token(p, ")")) {
		struct expr *b = NULL;
		if (is_expr_token(p, "and"))
			p->at++;
		r = parse_expr_operand(p, &b);
		if (r < 0)
			expr_free(a);
		else
			r = new_expr(EXPR_AND, a, b, &a);
	}
	if (r == 0)
		*ret = a;
	return r;
}

/* Parses conditions joined by `or`. 0, -errno with a sentence; then *ret is as it was. */
static int parse_expr_or(struct parser *p, struct expr **ret)
{
	struct expr *a = NULL;
	int r = parse_expr_and(p, &a);
	while (r == 0 && is_expr_token(p, "or")) {
		struct expr *b = NULL;
		p->at++;
		r = parse_expr_and(p, &b);
		if (r < 0)
			expr_free(a);
		else
			r = new_expr(EXPR_OR, a, b, &a);
	}
	if (r == 0)
		*ret = a;
	return r;
}

/* "runs that ...", "executions which ...". */
static enum expr_kind parse_kind(struct parser *p)
{
	static const struct {
		const char *word;
		enum expr_kind kind;
	} kinds[] = {
	    {"files", EXPR_FILES}, {"results", EXPR_FILES},    {"runs", EXPR_RUNS},
	    {"execs", EXPR_EXECS}, {"executions", EXPR_EXECS},
	};
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (is_expr_token(p, kinds[i].word)) {
			p->at++;
			if (is_expr_token(p, "that") || is_expr_token(p, "which"))
				p->at++;
			return kinds[i].kind;
		}
	return EXPR_ANY;
}

int expr_parse(char *const *words, size_t n, struct err *err, struct expr **ret, enum expr_kind *ret_kind)
{
	struct parser p = {.err = err};
	struct expr *e = NULL;
	int r = split_all(&p, words, n);
	if (r == 0) {
		*ret_kind = parse_kind(&p);
		r = parse_expr_or(&p, &e);
	}
	if (r == 0 && p.at < p.n) {
		expr_free(e);
		r = report_unexpected(&p, "'and', 'or' or the end");
	}
	if (r == -ENOMEM)
		err_set(err, ENOMEM, "cannot read the expression");
	for (size_t i = 0; i < p.n; i++)
		free(p.tokens[i].text);
	free(p.tokens);
	if (r == 0)
		*ret = e;
	return r;
}

/* The left side is as deep as the expression has conditions, so it is walked and not recursed into. */
void expr_free(struct expr *e)
{
	while (e) {
		struct expr *left = e->a;
		expr_free(e->b);
		free(e->value);
		free(e);
		e = left;
	}
}
