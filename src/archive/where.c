#include "archive/where.h"

#include "query/find/when.h"
#include "summary/summary.h"

#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define TEXT_MAX (64 * 1024)
#define DEPTH_MAX 64
#define CONDITIONS_MAX 256

enum where_op { WHERE_OR, WHERE_AND, WHERE_NOT, WHERE_FIGURE, WHERE_KEY };
enum where_test { TEST_EQ, TEST_NE, TEST_LE, TEST_LT, TEST_GE, TEST_GT };

struct where {
	enum where_op op;
	enum where_test test;
	struct where *a, *b;
	int figure;
	int64_t value;
	struct key key;
	char *pattern;
};

struct parser {
	const char *text, *p;
	int64_t now;
	unsigned depth, conditions;
	struct err *err;
};

/* NULL is no error. */
void where_free(struct where *w)
{
	if (!w)
		return;
	where_free(w->a);
	where_free(w->b);
	free(w->pattern);
	free(w);
}

/* ---- values ---- */

/* A number and what follows it; no number: NAN. */
static double parse_leading_number(struct str s, struct str *ret_rest)
{
	char text[64];
	size_t n = 0;
	while (n < s.n && n < sizeof(text) - 1 && (isdigit((unsigned char)s.p[n]) || strchr(".+-eE", s.p[n]))) {
		if ((s.p[n] == 'e' || s.p[n] == 'E') && (n + 1 >= s.n || !isdigit((unsigned char)s.p[n + 1])))
			break;
		text[n] = s.p[n];
		n++;
	}
	text[n] = '\0';
	char *end;
	double v = strtod(text, &end);
	*ret_rest = str_n(s.p + n, s.n - n);
	return n && !*end ? v : (double)NAN;
}

static const struct {
	const char *name;
	double factor;
} spans[] = {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1},     {"sec", 1},
             {"m", 60},    {"min", 60},  {"h", 3600},  {"d", 86400}, {"days", 86400}},
  sizes[] = {{"B", 1},      {"K", 0x1p10}, {"M", 0x1p20}, {"G", 0x1p30}, {"T", 0x1p40},
             {"P", 0x1p50}, {"KB", 1e3},   {"MB", 1e6},   {"GB", 1e9},   {"TB", 1e12}};

/* The factor of the unit that is written behind a number of `unit`; 0: there is none such. */
static double unit_factor(struct str rest, const char *unit)
{
	if (!rest.n)
		return 1;
	if (strcmp(unit, "s") == 0)
		for (size_t i = 0; i < sizeof(spans) / sizeof(*spans); i++)
			if (str_is(rest, spans[i].name))
				return spans[i].factor;
	if (strcmp(unit, "B") != 0)
		return 0;
	if (rest.n == 3 && rest.p[1] == 'i' && (rest.p[2] | 0x20) == 'b') /* KiB is K */
		rest.n = 1;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		if (rest.n == strlen(sizes[i].name) && strncasecmp(rest.p, sizes[i].name, rest.n) == 0)
			return sizes[i].factor;
	return 0;
}

int where_value(struct str text, const char *unit, int decimals, int64_t *ret)
{
	struct str rest;
	double v = parse_leading_number(text, &rest);
	if (isnan(v))
		return -EINVAL;
	double factor = unit_factor(rest, unit);
	for (; decimals > 0; decimals--)
		v *= 10;
	v = round(v * factor);
	if (!factor || !(fabs(v) < 9.2e18))
		return -EINVAL;
	*ret = (int64_t)v;
	return 0;
}

/* ---- grammar ---- */

/* Always -EINVAL, with a sentence that shows where. */
static int report_expected(struct parser *p, const char *what)
{
	while (isspace((unsigned char)*p->p))
		p->p++;
	if (*p->p)
		err_set(p->err, 0, "%s expected at '%.60s'", what, p->p);
	else
		err_set(p->err, 0, "%s expected at the end of the condition", what);
	err_hint(p->err, "such as: --where 'program=samtools and memory_resident_peak>1G'");
	return -EINVAL;
}

static void skip_where_blanks(struct parser *p)
{
	while (isspace((unsigned char)*p->p))
		p->p++;
}

/* What a key of an expression may hold, ':' of labels too. */
static bool is_key_char(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '-' || c == ':' || c == '.';
}

/* What stands next after blanks, without taking it; empty: no name. */
static struct str peek_name(struct parser *p)
{
	skip_where_blanks(p);
	size_t n = 0;
	while (is_key_char(p->p[n]))
		n++;
	return str_n(p->p, n);
}

/* A keyword ends where a name does. */
static bool accept_keyword(struct parser *p, const char *word)
{
	if (!str_is(peek_name(p), word))
		return false;
	p->p += strlen(word);
	return true;
}

/* Reads the next comparison operator of a condition. 0; -EINVAL with a sentence. */
static int take_test(struct parser *p, enum where_test *ret)
{
	static const struct {
		const char *text;
		enum where_test test;
	} tests[] = {{"==", TEST_EQ}, {"!=", TEST_NE}, {"<=", TEST_LE}, {">=", TEST_GE},
	             {"=", TEST_EQ},  {"<", TEST_LT},  {">", TEST_GT}};
	skip_where_blanks(p);
	for (size_t i = 0; i < sizeof(tests) / sizeof(*tests); i++)
		if (strncmp(p->p, tests[i].text, strlen(tests[i].text)) == 0) {
			p->p += strlen(tests[i].text);
			*ret = tests[i].test;
			return 0;
		}
	return report_expected(p, "= != < <= > or >=");
}

/* Appends the next word to ret, without its quotes, and steps over it. A blank or a round bracket ends it, unless it
 * stands in quotes or behind a backslash. 0; -EINVAL with a sentence: there is none; -ENOMEM. */
static int take_value(struct parser *p, struct buf *ret)
{
	const char *begin;
	skip_where_blanks(p);
	begin = p->p;
	while (*p->p && !isspace((unsigned char)*p->p) && *p->p != '(' && *p->p != ')') {
		if (*p->p == '\'' || *p->p == '"') {
			char q = *p->p++;
			while (*p->p && *p->p != q)
				buf_char(ret, *p->p++);
			if (!*p->p)
				return report_expected(p, "the closing quote");
			p->p++;
		} else {
			if (*p->p == '\\' && p->p[1])
				p->p++;
			buf_char(ret, *p->p++);
		}
	}
	if (p->p == begin)
		return report_expected(p, "a value");
	return ret->failed ? -ENOMEM : 0;
}

/* Sets the value that a condition compares with: a pattern for a key, a number or time for a figure. 0; -EINVAL: it
 * is none of that figure, with a sentence; -ENOMEM. */
static int set_value(struct parser *p, struct where *w, struct buf *text)
{
	if (w->op == WHERE_KEY) {
		w->pattern = strdup(buf_cstr(text));
		return w->pattern ? 0 : -ENOMEM;
	}
	enum figure_name f = (enum figure_name)w->figure;
	bool moment = f == FIGURE_start || f == FIGURE_end;
	int rc = moment ? when_parse(buf_cstr(text), p->now, &w->value)
	                : where_value(buf_view(text), figure_unit(f), figure_decimals(f), &w->value);
	if (rc < 0)
		err_set(p->err, 0, "'%.60s' is not a valid %s", buf_cstr(text), figure_key(f));
	return rc < 0 ? -EINVAL : 0;
}

/* One condition: a figure or key, a test, a value. 0; -EINVAL with a sentence; -ENOMEM. */
static int parse_where_condition(struct parser *p, struct where *w)
{
	struct str name = peek_name(p);
	char word[128] = "";
	struct buf text = {0};
	if (name.n && name.n < sizeof(word))
		memcpy(word, name.p, name.n);
	w->figure = name.n ? figure_by_name(word) : -1;
	w->op = w->figure >= 0 ? WHERE_FIGURE : WHERE_KEY;
	if (!name.n || (w->figure < 0 && task_key_parse(name, &w->key) < 0))
		return report_expected(p, "a figure or key");
	if (++p->conditions > CONDITIONS_MAX)
		return err_set(p->err, 0, "more than %d conditions", CONDITIONS_MAX), -EINVAL;
	p->p += name.n;
	int rc = take_test(p, &w->test);
	if (rc == 0 && w->op == WHERE_KEY && w->test > TEST_NE) {
		err_set(p->err, 0, "%s takes only = and !=", word);
		rc = -EINVAL;
	}
	if (rc == 0)
		rc = take_value(p, &text);
	if (rc == 0)
		rc = set_value(p, w, &text);
	buf_release(&text);
	return rc;
}

static int parse_where_or(struct parser *p, struct where **ret);

/* A condition, `not` one, or one in parentheses. *ret is the caller's, set where it is 0. -EINVAL with a sentence;
 * -ENOMEM. */
static int parse_where_not(struct parser *p, struct where **ret)
{
	if (++p->depth > DEPTH_MAX)
		return err_set(p->err, 0, "the condition is nested more than %d deep", DEPTH_MAX), -EINVAL;
	int rc;
	skip_where_blanks(p);
	if (*p->p == '(') {
		struct where *inner;
		p->p++;
		rc = parse_where_or(p, &inner);
		skip_where_blanks(p);
		if (rc == 0 && *p->p != ')') {
			where_free(inner);
			rc = report_expected(p, "')'");
		} else if (rc == 0) {
			*ret = inner;
			p->p++;
		}
	} else {
		struct where *w = calloc(1, sizeof(*w));
		if (!w)
			return -ENOMEM;
		if (accept_keyword(p, "not")) {
			w->op = WHERE_NOT;
			rc = parse_where_not(p, &w->a);
		} else {
			rc = parse_where_condition(p, w);
		}
		if (rc < 0)
			where_free(w);
		else
			*ret = w;
	}
	p->depth--;
	return rc;
}

/* Takes a and b over, also where it is -ENOMEM. */
static int make_where_pair(enum where_op op, struct where *a, struct where *b, struct where **ret)
{
	struct where *w = calloc(1, sizeof(*w));
	if (!w) {
		where_free(a);
		where_free(b);
		return -ENOMEM;
	}
	w->op = op;
	w->a = a;
	w->b = b;
	*ret = w;
	return 0;
}

/* Conditions with `and`, or nothing, between them. As parse_where_not. */
static int parse_where_and(struct parser *p, struct where **ret)
{
	struct where *all = NULL, *next = NULL;
	int rc = parse_where_not(p, &all);
	while (rc == 0) {
		skip_where_blanks(p);
		bool more = accept_keyword(p, "and") || (*p->p && *p->p != ')' && !str_is(peek_name(p), "or"));
		if (!more)
			break;
		if ((rc = parse_where_not(p, &next)) < 0)
			where_free(all);
		else
			rc = make_where_pair(WHERE_AND, all, next, &all);
	}
	if (rc == 0)
		*ret = all;
	return rc;
}

/* Reads conditions joined by `or`. As parse_where_not. */
static int parse_where_or(struct parser *p, struct where **ret)
{
	struct where *all = NULL, *next = NULL;
	int rc = parse_where_and(p, &all);
	while (rc == 0 && accept_keyword(p, "or")) {
		if ((rc = parse_where_and(p, &next)) < 0)
			where_free(all);
		else
			rc = make_where_pair(WHERE_OR, all, next, &all);
	}
	if (rc == 0)
		*ret = all;
	return rc;
}

int where_parse(const char *text, int64_t now, struct err *err, struct where **ret)
{
	struct parser p = {.text = text, .p = text, .now = now, .err = err};
	struct where *w;
	if (strlen(text) > TEXT_MAX)
		return err_set(err, 0, "the condition is longer than 64 KiB"), -EINVAL;
	int rc = parse_where_or(&p, &w);
	skip_where_blanks(&p);
	if (rc == 0 && *p.p) {
		where_free(w);
		return report_expected(&p, "'and' or 'or'");
	}
	if (rc == 0)
		*ret = w;
	return rc;
}

/* ---- asking ---- */

/* Whether "a TEST b" holds. */
static bool compare_by_test(enum where_test test, int64_t a, int64_t b)
{
	switch (test) {
	case TEST_EQ:
		return a == b;
	case TEST_NE:
		return a != b;
	case TEST_LE:
		return a <= b;
	case TEST_LT:
		return a < b;
	case TEST_GE:
		return a >= b;
	case TEST_GT:
		return a > b;
	}
	return false;
}

/* Does the condition hold for the task's value of a key? 1, 0; -errno. A task that has no such value holds neither
 * for = nor for !=. */
static int key_holds(const struct where *w, struct store *s, const struct summary_info *m)
{
	struct buf value = {0};
	int rc = task_value(s, m, &w->key, &value);
	if (rc == 0 && value.n)
		rc = (fnmatch(w->pattern, buf_cstr(&value), 0) == 0) == (w->test == TEST_EQ);
	buf_release(&value);
	return rc;
}

int where_holds(const struct where *w, struct store *s, const struct summary_info *m)
{
	if (!w)
		return 1;
	int a, b;
	switch (w->op) {
	case WHERE_FIGURE:
		return m->figure[w->figure].known && compare_by_test(w->test, m->figure[w->figure].value, w->value);
	case WHERE_KEY:
		return key_holds(w, s, m);
	case WHERE_NOT:
		a = where_holds(w->a, s, m);
		return a < 0 ? a : !a;
	default:
		a = where_holds(w->a, s, m);
		if (a < 0 || (w->op == WHERE_OR) == (a > 0))
			return a;
		b = where_holds(w->b, s, m);
		return b;
	}
}
