#include "adopt/ninja.h"
#include "event/event.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

#define PATHS_MOST 1000000         /* of one statement, and of .ninja_deps */
#define EXPAND_MOST 65536          /* bytes of a path, or of a variable */
#define STATEMENT_MOST (64u << 20) /* bytes of the paths of one statement */
#define RECORD_MOST (1u << 19)     /* bytes, as ninja's own bound */

/* ---- build.ninja ---- */

struct variable {
	char *name, *value;
};
struct parser {
	struct str rest;
	VEC(struct variable) variables;
	struct buf text; /* of the paths, NUL-terminated */
	VEC(size_t) at;  /* where each begins */
	size_t kind[4];  /* how many outs, ins, order-only paths and validations there are */
	int error;
};

/* The value of a variable of the file; "" where there is none. */
static const char *variable_of(const struct parser *p, struct str name)
{
	for (size_t i = p->variables.n; i--;)
		if (str_is(name, p->variables.v[i].name))
			return p->variables.v[i].value;
	return "";
}

/* May it stand in the name of a variable of ninja that is written without braces? */
static bool is_ninja_name_char(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '.';
}

/* What stands behind a $ at s.p[*i], which is moved past it, goes to b, where the path or the value begins at first. */
static void put_dollar(struct parser *p, struct str s, size_t *i, struct buf *b, size_t first)
{
	char c = *i < s.n ? s.p[*i] : '\0';
	size_t from = *i, end;
	if (c == '\n') { /* the line goes on */
		for (++*i; *i < s.n && s.p[*i] == ' '; ++*i)
			;
		return;
	}
	if (c == '{') {
		for (from = end = *i + 1; end < s.n && is_ninja_name_char(s.p[end]); end++)
			;
		*i = end + (end < s.n && s.p[end] == '}');
	} else if (is_ninja_name_char(c) && c != '.') {
		for (end = from; end < s.n && is_ninja_name_char(s.p[end]) && s.p[end] != '.'; end++)
			;
		*i = end;
	} else {
		if (c)
			buf_char(b, c);
		*i += c != '\0';
		return;
	}
	if (b->n - first < EXPAND_MOST)
		buf_str(b, str_of(variable_of(p, str_n(s.p + from, end - from))));
}

/* The next line with those that a $ at its end joins to it, its end excluded. False at the end. */
static bool next_logical_line(struct str *rest, struct str *ret)
{
	size_t i = 0;
	if (!rest->n)
		return false;
	while (i < rest->n && (rest->p[i] != '\n' || (i && rest->p[i - 1] == '$' && !(i > 1 && rest->p[i - 2] == '$'))))
		i++;
	*ret = str_n(rest->p, i);
	*rest = str_n(rest->p + i + (i < rest->n), rest->n - i - (i < rest->n));
	return true;
}

/* NAME = VALUE at the left. */
static void take_variable(struct parser *p, struct str line)
{
	struct buf value = {0};
	size_t name = 0, i;
	while (name < line.n && is_ninja_name_char(line.p[name]))
		name++;
	for (i = name; i < line.n && line.p[i] == ' '; i++)
		;
	if (!name || i >= line.n || line.p[i] != '=')
		return;
	for (i++; i < line.n && line.p[i] == ' '; i++)
		;
	while (i < line.n && value.n < EXPAND_MOST) {
		char c = line.p[i++];
		if (c == '$')
			put_dollar(p, line, &i, &value, 0);
		else
			buf_char(&value, c);
	}
	struct variable *v = value.failed ? NULL : vec_add(&p->variables);
	if (v)
		*v = (struct variable){strndup(line.p, name), strndup(buf_cstr(&value), value.n)};
	if (!v || !v->name || !v->value)
		p->error = -ENOMEM;
	buf_release(&value);
}

/* A path that begins at line.p[*i], which is moved past it, is added. False: none begins there. */
static bool take_ninja_path(struct parser *p, struct str line, size_t *i)
{
	size_t from = p->text.n;
	while (*i < line.n && !strchr(" :|\n", line.p[*i]) && p->text.n - from < EXPAND_MOST) {
		char c = line.p[(*i)++];
		if (c == '$')
			put_dollar(p, line, i, &p->text, from);
		else
			buf_char(&p->text, c);
	}
	if (p->text.n == from)
		return false;
	const bool room = p->at.n < PATHS_MOST && p->text.n < STATEMENT_MOST;
	size_t *slot = room ? vec_add(&p->at) : NULL;
	buf_char(&p->text, '\0');
	if (slot)
		*slot = from;
	else
		p->error = room ? -ENOMEM : p->error;
	return slot != NULL;
}

/* Paths up to the colon, or behind it; `kind` goes up at each bar: outs (implicit ones, too), ins (too), order-only
 * ones behind ||, validations behind |@. */
static void take_paths(struct parser *p, struct str line, size_t *i, bool outs)
{
	size_t kind = outs ? 0 : 1;
	while (*i < line.n && !p->error) {
		char c = line.p[*i];
		if (c == ' ' || c == '\n') {
			++*i;
		} else if (c == ':') {
			++*i;
			if (outs)
				return;
		} else if (c == '|') {
			char next = *i + 1 < line.n ? line.p[*i + 1] : '\0';
			kind = outs ? 0 : next == '|' ? 2 : next == '@' ? 3 : 1;
			*i += next == '|' || next == '@' ? 2 : 1;
		} else if (take_ninja_path(p, line, i)) {
			p->kind[kind]++;
		} else {
			return;
		}
	}
}

/* Parses a build statement, "OUT: RULE IN | IMPLICIT || ORDER" behind the word, and gives it to each; nothing without
 * an output. 0, what each returned, -errno. */
static int take_build(struct parser *p, struct str line, int (*each)(void *arg, const struct ninja_edge *e), void *arg)
{
	size_t i = 0, from;
	buf_reset(&p->text);
	p->at.n = 0;
	memset(p->kind, 0, sizeof(p->kind));
	take_paths(p, line, &i, true);
	while (i < line.n && line.p[i] == ' ')
		i++;
	for (from = i; i < line.n && is_ninja_name_char(line.p[i]); i++)
		;
	struct ninja_edge e = {.rule = str_n(line.p + from, i - from)};
	take_paths(p, line, &i, false);
	struct str *v = p->error ? NULL : calloc(p->at.n + 1, sizeof(*v));
	if (!v)
		return p->error ? p->error : -ENOMEM;
	for (size_t k = 0; k < p->at.n; k++)
		v[k] = str_of(buf_cstr(&p->text) + p->at.v[k]);
	e.outs = v;
	e.n_outs = p->kind[0];
	e.ins = v + p->kind[0];
	e.n_ins = p->kind[1];
	e.order_only = e.ins + e.n_ins;
	e.n_order_only = p->kind[2];
	int rc = e.n_outs && !p->text.failed ? each(arg, &e) : 0;
	free(v);
	return rc;
}

int ninja_each_edge(struct str text, int (*each)(void *arg, const struct ninja_edge *e), void *arg)
{
	struct parser p = {.rest = text};
	struct str line;
	int rc = 0;
	const struct str word = str_of("build ");
	while (rc == 0 && !p.error && next_logical_line(&p.rest, &line)) {
		if (str_starts(line, word))
			rc = take_build(&p, str_n(line.p + word.n, line.n - word.n), each, arg);
		else if (line.n && is_ninja_name_char(*line.p))
			take_variable(&p, line);
	}
	for (size_t i = 0; i < p.variables.n; i++) {
		free(p.variables.v[i].name);
		free(p.variables.v[i].value);
	}
	vec_release(&p.variables);
	vec_release(&p.at);
	buf_release(&p.text);
	return rc ? rc : p.error;
}

/* ---- .ninja_log ---- */

/* The number up to a tab, and *s behind it. False: there is none. */
static bool take_column(struct str *s, uint64_t *ret)
{
	size_t i = 0;
	for (*ret = 0; i < s->n && i < 19 && isdigit((unsigned char)s->p[i]); i++)
		*ret = *ret * 10 + (uint64_t)(s->p[i] - '0');
	if (!i || i >= s->n || s->p[i] != '\t')
		return false;
	*s = str_n(s->p + i + 1, s->n - i - 1);
	return true;
}

/* Seconds since 1970, or ns since 1970, as versions of ninja have it. TIME_NONE where it is no time before 2116. */
static int64_t mtime_of(uint64_t n)
{
	if (n > 1000000000000000000ull)
		return n <= INT64_MAX / 2 ? (int64_t)n : TIME_NONE;
	return n > 100000000 && n <= INT64_MAX / 2 / 1000000000 ? (int64_t)n * 1000000000 : TIME_NONE;
}

int ninja_each_entry(struct str text, int (*each)(void *arg, const struct ninja_entry *e), void *arg)
{
	const struct str head = str_of("# ninja log v");
	int rc = 0;
	if (!str_starts(text, head) || text.n <= head.n || text.p[head.n] < '5' || text.p[head.n] > '7')
		return -EINVAL;
	while (text.n && rc == 0) {
		const char *end = memchr(text.p, '\n', text.n);
		struct str line = str_n(text.p, end ? (size_t)(end - text.p) : text.n);
		text = str_n(text.p + line.n + (end != NULL), text.n - line.n - (end != NULL));
		struct ninja_entry e;
		uint64_t mtime;
		if (!end || !take_column(&line, &e.start) || !take_column(&line, &e.end) || !take_column(&line, &mtime))
			continue;
		const char *tab = memchr(line.p, '\t', line.n);
		e.output = str_n(line.p, tab ? (size_t)(tab - line.p) : 0);
		e.mtime = mtime_of(mtime);
		if (e.output.n && e.start <= e.end && e.end < 1000000000000ull)
			rc = each(arg, &e);
	}
	return rc;
}

/* ---- .ninja_deps ---- */

/* The little-endian number of four bytes at p. */
static uint32_t ninja_number_at(const char *p)
{
	const unsigned char *u = (const unsigned char *)p;
	return (uint32_t)u[0] | (uint32_t)u[1] << 8 | (uint32_t)u[2] << 16 | (uint32_t)u[3] << 24;
}

struct deps {
	VEC(struct str) paths;
	VEC(struct str) ins;
	size_t head; /* bytes of a record of dependencies before its inputs */
};

/* A path, padded with up to three NULs, and the complement of its number. False: it is none. 0, -ENOMEM in *rc. */
static bool take_deps_path(struct deps *d, struct str record, int *rc)
{
	if (record.n < 8 || record.n % 4 || ninja_number_at(record.p + record.n - 4) != ~(uint32_t)d->paths.n ||
	    d->paths.n >= PATHS_MOST)
		return false;
	struct str path = str_n(record.p, record.n - 4);
	for (int i = 0; i < 3 && path.n && !path.p[path.n - 1]; i++)
		path.n--;
	struct str *slot = vec_add(&d->paths);
	if (slot)
		*slot = path;
	else
		*rc = -ENOMEM;
	return slot && path.n && !memchr(path.p, '\0', path.n);
}

/* Gives the record's output and its inputs to each, whose result goes to *rc. False: the record is damaged, or there
 * is no memory (-ENOMEM in *rc). */
static bool take_deps_inputs(struct deps *d, struct str record, int *rc,
                             int (*each)(void *arg, struct str output, const struct str *ins, size_t n), void *arg)
{
	if (record.n < d->head || record.n % 4 || ninja_number_at(record.p) >= d->paths.n)
		return false;
	d->ins.n = 0;
	for (size_t i = d->head; i < record.n; i += 4) {
		uint32_t id = ninja_number_at(record.p + i);
		struct str *slot = id < d->paths.n ? vec_add(&d->ins) : NULL;
		if (!slot) {
			*rc = id < d->paths.n ? -ENOMEM : 0;
			return false;
		}
		*slot = d->paths.v[id];
	}
	*rc = each(arg, d->paths.v[ninja_number_at(record.p)], d->ins.v, d->ins.n);
	return true;
}

int ninja_each_deps(struct str bytes, int (*each)(void *arg, struct str output, const struct str *ins, size_t n),
                    void *arg)
{
	const struct str head = str_of("# ninjadeps\n");
	struct deps d = {0};
	int rc = 0;
	if (!str_starts(bytes, head) || bytes.n < head.n + 4)
		return -EINVAL;
	uint32_t version = ninja_number_at(bytes.p + head.n);
	if (version != 3 && version != 4)
		return -EINVAL;
	d.head = version == 3 ? 8 : 12;
	for (size_t at = head.n + 4; at + 4 <= bytes.n && rc == 0;) {
		uint32_t size = ninja_number_at(bytes.p + at);
		bool inputs = size >> 31;
		size &= 0x7fffffff;
		at += 4;
		if (!size || size > RECORD_MOST || size > bytes.n - at)
			break;
		struct str record = str_n(bytes.p + at, size);
		at += size;
		if (inputs ? !take_deps_inputs(&d, record, &rc, each, arg) : !take_deps_path(&d, record, &rc))
			break;
	}
	vec_release(&d.paths);
	vec_release(&d.ins);
	return rc;
}
