#include "trust/bench/toml.h"

#include "base/buf.h"
#include "base/hex.h"
#include "base/utf8.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

struct reader {
	const char *p, *end;
	const char *name;
	struct err *err;
	struct toml *out;
	unsigned line;
	char *table;
	unsigned index;
};

/* Gives -EBADMSG, with file and line. */
static int refuse_line(struct reader *r, const char *what)
{
	return (err_set(r->err, 0, "%s, line %u: %s", r->name, r->line, what), -EBADMSG);
}

/* Reports that there is no memory. -ENOMEM with a sentence. */
static int toml_oom(struct reader *r)
{
	return err_set(r->err, ENOMEM, "cannot read '%s'", r->name);
}

/* Skips blanks and comments; with lines, also ends of lines. */
static void skip(struct reader *r, bool lines)
{
	while (r->p < r->end) {
		if (*r->p == '#')
			while (r->p < r->end && *r->p != '\n')
				r->p++;
		else if (*r->p == ' ' || *r->p == '\t' || *r->p == '\r')
			r->p++;
		else if (lines && *r->p == '\n')
			r->line++, r->p++;
		else
			break;
	}
}

/* Can it stand in a key without quotation marks? */
static bool is_bare_char(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '-';
}

/* Reads an escape of a string. Behind the backslash. -EBADMSG with a sentence. */
static int escape(struct reader *r, struct buf *b)
{
	static const char from[] = "btnfre\"\\", to[] = "\b\t\n\f\r\033\"\\";
	if (r->p == r->end)
		return refuse_line(r, "a string does not end");
	char c = *r->p++;
	const char *at = c ? strchr(from, c) : NULL;
	if (at) {
		buf_char(b, to[at - from]);
		return 0;
	}
	int digits = c == 'u' ? 4 : c == 'U' ? 8 : 0;
	unsigned long v = 0;
	char utf8[4];
	for (int i = 0; i < digits; i++, r->p++) {
		if (r->p == r->end || hex_digit(*r->p) < 0)
			return refuse_line(r, "\\u takes four and \\U eight hexadecimal digits");
		v = v * 16 + (unsigned long)hex_digit(*r->p);
	}
	if (!digits || !v || v > 0x10ffff || (v >= 0xd800 && v < 0xe000))
		return refuse_line(r, "invalid escape after \\");
	buf_add(b, utf8, utf8_encode((uint32_t)v, utf8));
	return 0;
}

/* "..." and '...', on one line. -EBADMSG with a sentence, -ENOMEM. */
static int parse_quoted(struct reader *r, struct buf *b)
{
	char q = *r->p++;
	int rc = 0;
	while (rc == 0) {
		if (r->p == r->end || *r->p == '\n')
			return refuse_line(r, "a string does not end on its line");
		char c = *r->p++;
		if (c == q)
			return b->failed ? toml_oom(r) : 0;
		if (!c)
			return refuse_line(r, "a zero byte");
		if (c == '\\' && q == '"')
			rc = escape(r, b);
		else
			buf_char(b, c);
	}
	return rc;
}

/* A name, bare or quoted, into b. 0, or -errno with a sentence; so in all that parse here. */
static int parse_name(struct reader *r, struct buf *b)
{
	buf_reset(b);
	if (r->p < r->end && (*r->p == '"' || *r->p == '\''))
		return parse_quoted(r, b);
	while (r->p < r->end && is_bare_char(*r->p))
		buf_char(b, *r->p++);
	if (!b->n)
		return refuse_line(r, "a name is missing");
	if (r->p < r->end && *r->p == '.')
		return refuse_line(r, "names with dots are not supported here");
	return b->failed ? toml_oom(r) : 0;
}

/* Ends a line: nothing but a comment may follow. -EBADMSG with a sentence. */
static int end_of_line(struct reader *r)
{
	skip(r, false);
	if (r->p == r->end)
		return 0;
	if (*r->p != '\n')
		return refuse_line(r, "something follows on the line");
	return 0;
}

/* Adds a value to a key. 0, -ENOMEM with a sentence. */
static int add_toml_value(struct reader *r, struct toml_key *k, struct buf *b)
{
	char **more = realloc(k->value, (k->n + 1) * sizeof(*more));
	if (!more)
		return toml_oom(r);
	k->value = more;
	k->value[k->n] = strdup(buf_cstr(b));
	return k->value[k->n] ? (k->n++, 0) : toml_oom(r);
}

/* true, false, or a number, whole? */
static bool is_bare_value(const char *s)
{
	char *end;
	if (!strcmp(s, "true") || !strcmp(s, "false"))
		return true;
	if (!isdigit((unsigned char)s[*s == '-' || *s == '+']))
		return false;
	strtod(s, &end);
	return !*end;
}

/* A string, number or truth value, as text. -EBADMSG with a sentence, -ENOMEM. */
static int parse_scalar(struct reader *r, struct toml_key *k, struct buf *b)
{
	buf_reset(b);
	if (r->p == r->end)
		return refuse_line(r, "a value is missing");
	if (*r->p == '"' || *r->p == '\'') {
		int rc = parse_quoted(r, b);
		return rc < 0 ? rc : add_toml_value(r, k, b);
	}
	if (*r->p == '{')
		return refuse_line(r, "inline tables are not supported here");
	while (r->p < r->end && (is_bare_char(*r->p) || *r->p == '+' || *r->p == '.' || *r->p == ':')) {
		if (*r->p != '_') /* 1_000 */
			buf_char(b, *r->p);
		r->p++;
	}
	if (!b->n)
		return refuse_line(r, "a value is missing");
	if (!is_bare_value(buf_cstr(b)))
		return refuse_line(r, "a value is a string in quotes, a number, true or false");
	return add_toml_value(r, k, b);
}

/* It may go over lines. -EBADMSG with a sentence, -ENOMEM. */
static int parse_list(struct reader *r, struct toml_key *k, struct buf *b)
{
	r->p++;
	k->list = true;
	for (;;) {
		skip(r, true);
		if (r->p < r->end && *r->p == ']') {
			r->p++;
			return 0;
		}
		if (r->p < r->end && *r->p == '[')
			return refuse_line(r, "nested lists are not supported here");
		if (k->n >= TOML_KEYS)
			return refuse_line(r, "a list is too long");
		int rc = parse_scalar(r, k, b);
		if (rc < 0)
			return rc;
		skip(r, true);
		if (r->p < r->end && *r->p == ',')
			r->p++;
		else if (r->p == r->end || *r->p != ']')
			return refuse_line(r, "a list does not end");
	}
}

/* Is the key one of that table? index: which of an array of tables. */
static bool same_table(const struct toml_key *k, const char *table, unsigned index)
{
	return k->index == index && !strcmp(k->table, table);
}

/* A key that is there already is refused. -EBADMSG with a sentence, -ENOMEM. */
static int key_value(struct reader *r, struct buf *b)
{
	struct toml *t = r->out;
	int rc = parse_name(r, b);
	if (rc < 0)
		return rc;
	if (t->n >= TOML_KEYS)
		return refuse_line(r, "it has too many keys");
	for (size_t i = 0; i < t->n; i++)
		if (same_table(&t->v[i], r->table, r->index) && !strcmp(t->v[i].key, buf_cstr(b)))
			return refuse_line(r, "a key is repeated");
	struct toml_key *more = realloc(t->v, (t->n + 1) * sizeof(*more));
	if (!more)
		return toml_oom(r);
	t->v = more;
	struct toml_key *k = &t->v[t->n];
	*k = (struct toml_key){.table = strdup(r->table), .index = r->index, .key = strdup(buf_cstr(b)), .line = r->line};
	t->n++;
	if (!k->table || !k->key)
		return toml_oom(r);
	skip(r, false);
	if (r->p == r->end || *r->p != '=')
		return refuse_line(r, "'=' is missing after a key");
	r->p++;
	skip(r, false);
	rc = r->p < r->end && *r->p == '[' ? parse_list(r, k, b) : parse_scalar(r, k, b);
	return rc < 0 ? rc : end_of_line(r);
}

/* Reads the head of a table: [NAME] or [[NAME]], the next of its name. -EBADMSG with a sentence, -ENOMEM. */
static int table(struct reader *r, struct buf *b)
{
	bool array = r->end - r->p > 1 && r->p[1] == '[';
	r->p += array ? 2 : 1;
	skip(r, false);
	int rc = parse_name(r, b);
	if (rc < 0)
		return rc;
	skip(r, false);
	for (int i = 0; i <= array; i++)
		if (r->p == r->end || *r->p++ != ']')
			return refuse_line(r, "']' is missing");
	char *name = strdup(buf_cstr(b));
	if (!name)
		return toml_oom(r);
	/* The next of its name: one behind the greatest that has a key, or than the one at hand, which may have none. */
	unsigned index = 0;
	if (array) {
		index = !strcmp(r->table, name) ? r->index : 0;
		for (size_t i = 0; i < r->out->n; i++)
			if (!strcmp(r->out->v[i].table, name) && r->out->v[i].index > index)
				index = r->out->v[i].index;
		index++;
	}
	free(r->table);
	r->table = name;
	r->index = index;
	return end_of_line(r);
}

int toml_read(const char *text, size_t n, const char *name, struct err *err, struct toml *ret)
{
	struct reader r = {.p = text, .end = text + n, .name = name, .err = err, .out = ret, .line = 1};
	struct buf b = {0};
	int rc = 0;
	*ret = (struct toml){0};
	if (n > TOML_BYTES)
		return (err_set(err, 0, "'%s' is larger than %u MiB", name, TOML_BYTES >> 20), -EBADMSG);
	r.table = strdup("");
	if (!r.table)
		return toml_oom(&r);
	for (skip(&r, true); rc == 0 && r.p < r.end; skip(&r, true))
		rc = *r.p == '[' ? table(&r, &b) : key_value(&r, &b);
	free(r.table);
	buf_release(&b);
	return rc;
}

/* t is empty then. */
void toml_release(struct toml *t)
{
	for (size_t i = 0; i < t->n; i++) {
		for (size_t k = 0; k < t->v[i].n; k++)
			free(t->v[i].value[k]);
		free(t->v[i].value);
		free(t->v[i].table);
		free(t->v[i].key);
	}
	free(t->v);
	*t = (struct toml){0};
}
