#include "trust/extract.h"

#include "base/buf.h"
#include "base/digest.h"
#include "base/io.h"
#include "summary/jin.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <regex.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct taking {
	const struct extractor *x;
	struct elements *values, *missing;
	struct str last; /* of several, where the last is wanted */
	size_t found;
};

/* The name, else where the value is from. Belongs to x. */
static const char *extractor_name(const struct extractor *x)
{
	return x->name ? x->name : x->from;
}

/* Notes why a result is missing. */
static void append_missing(struct taking *t, const char *why)
{
	elements_add(t->missing, str_of(extractor_name(t->x)), str_of(why));
}

/* Without the white space at both ends. */
static struct str trim_str(struct str s)
{
	while (s.n && isspace((unsigned char)*s.p))
		s = str_n(s.p + 1, s.n - 1);
	while (s.n && isspace((unsigned char)s.p[s.n - 1]))
		s.n--;
	return s;
}

/* One more match. */
static void on_match(struct taking *t, struct str s)
{
	t->found++;
	t->last = s;
	if (t->x->all && t->found <= EXTRACT_VALUES)
		elements_add(t->values, str_of(extractor_name(t->x)), trim_str(s));
}

/* One value where one is wanted; else why it is missing. */
static void finish_taking(struct taking *t)
{
	char why[100];
	if (!t->found) {
		append_missing(t, "nothing matches");
	} else if (t->x->all && t->found > EXTRACT_VALUES) {
		append_missing(t, "there are more values than can be kept");
	} else if (!t->x->all && t->found > 1 && !t->x->last) {
		snprintf(why, sizeof(why), "it matches %zu times", t->found);
		append_missing(t, why);
	} else if (!t->x->all) {
		elements_add(t->values, str_of(extractor_name(t->x)), trim_str(t->last));
	}
}

/* The first match in text[at, n), where text[n] is 0: 0, and its places in text, or an error of regexec. */
static int match_at(const regex_t *re, const char *text, size_t at, size_t n, regmatch_t m[2])
{
	int flags = at && text[at - 1] != '\n' ? REG_NOTBOL : 0;
#ifdef REG_STARTEND
	m[0] = (regmatch_t){.rm_so = (regoff_t)at, .rm_eo = (regoff_t)n};
	return regexec(re, text, 2, m, flags | REG_STARTEND);
#else /* musl: behind a 0 in the text nothing is found */
	(void)n;
	int rc = regexec(re, text + at, 2, m, flags);
	for (int i = 0; i < 2 && rc == 0; i++) {
		m[i].rm_so += m[i].rm_so >= 0 ? (regoff_t)at : 0;
		m[i].rm_eo += m[i].rm_eo >= 0 ? (regoff_t)at : 0;
	}
	return rc;
#endif
}

/* The first group of each match, else all of it. */
static void by_regex(struct taking *t, const char *text, size_t n)
{
	regex_t re;
	regmatch_t m[2];
	if (regcomp(&re, t->x->pattern, REG_EXTENDED | REG_NEWLINE) != 0) {
		append_missing(t, "the expression is not a regular one");
		return;
	}
	for (size_t at = 0; at <= n && t->found <= EXTRACT_VALUES;) {
		if (match_at(&re, text, at, n, m) != 0)
			break;
		const regmatch_t *g = m[1].rm_so >= 0 && re.re_nsub ? &m[1] : &m[0];
		on_match(t, str_n(text + g->rm_so, (size_t)(g->rm_eo - g->rm_so)));
		at = (size_t)m[0].rm_eo + (m[0].rm_eo == m[0].rm_so);
	}
	regfree(&re);
	finish_taking(t);
}

/* ---- JSON ---- */

/* A new reference; NULL: it is none. */
static json_t *parse_json_text(const char *text, size_t n)
{
	struct jin in;
	json_t *root = NULL;
	char why[200];
	if (jin_open(&in, text, n) < 0)
		return NULL;
	if (jin_next(&in, &root, why) != 1)
		root = NULL;
	jin_release(&in);
	return root;
}

/* ret points into j. false: it is a list, an object, a number or null. */
static bool scalar_text(const json_t *j, struct str *ret)
{
	if (json_is_string(j))
		*ret = str_n(json_string_value(j), json_string_length(j));
	else if (json_is_boolean(j))
		*ret = str_of(json_is_true(j) ? "true" : "false");
	else
		return false;
	return true;
}

/* RFC 6901. */
static const json_t *at_pointer(const json_t *j, const char *pointer)
{
	struct buf key = {0};
	while (j && *pointer == '/') {
		buf_reset(&key);
		for (pointer++; *pointer && *pointer != '/'; pointer++) {
			bool escape = *pointer == '~' && (pointer[1] == '0' || pointer[1] == '1');
			buf_char(&key, escape ? (pointer[1] == '0' ? '~' : '/') : *pointer);
			pointer += escape;
		}
		const char *k = buf_cstr(&key);
		char *end;
		if (json_is_array(j)) {
			unsigned long i = strtoul(k, &end, 10);
			j = *k && !*end && isdigit((unsigned char)*k) ? json_array_get(j, i) : NULL;
		} else {
			j = json_object_get(j, k);
		}
	}
	buf_release(&key);
	return *pointer ? NULL : j;
}

/* What the JSON pointer leads to; of a list all of it. */
static void by_pointer(struct taking *t, const char *text, size_t n)
{
	json_t *root = parse_json_text(text, n), *item;
	const json_t *j = root ? at_pointer(root, t->x->pattern) : NULL;
	struct str s;
	size_t i;
	if (!root) {
		append_missing(t, "it is not JSON");
	} else if (json_is_array(j)) {
		/* A list is one value; only of its last is one taken where that is wanted. */
		bool all = true;
		json_array_foreach((json_t *)j, i, item) all &= scalar_text(item, &s);
		struct extractor every = *t->x;
		every.all = !t->x->last;
		struct taking list = *t;
		list.x = &every;
		json_array_foreach((json_t *)j, i, item) if (all && scalar_text(item, &s)) on_match(&list, s);
		if (all)
			finish_taking(&list);
		else
			append_missing(t, "it points to a list that contains other than values");
	} else if (j && scalar_text(j, &s)) {
		on_match(t, s);
		finish_taking(t);
	} else {
		append_missing(t, j ? "it points to an object" : "nothing is there");
	}
	json_decref(root);
}

/* ---- CSV ---- */

/* One field of RFC 4180 at *p; the bytes between quotes as they stand, without the outer ones. False: the line is over.
 */
static bool next_field(const char **p, const char *end, char separator, struct buf *ret, bool *ret_line_end)
{
	buf_reset(ret);
	const char *q = *p;
	if (q < end && *q == '"') {
		for (q++; q < end; q++) {
			if (*q == '"' && q + 1 < end && q[1] == '"')
				q++;
			else if (*q == '"')
				break;
			buf_char(ret, *q);
		}
		q += q < end;
	}
	while (q < end && *q != separator && *q != '\n')
		buf_char(ret, *q++);
	*ret_line_end = q >= end || *q == '\n';
	*p = q + (q < end);
	return !ret->failed;
}

/* A table of which the next field is read at p. */
struct csv {
	const char *p, *end;
	char separator;
	struct buf field; /* the last one that was read */
	bool over;        /* it was the last of its line */
};

/* Reads the next field into c->field; false at the end. */
static bool csv_next(struct csv *c)
{
	return next_field(&c->p, c->end, c->separator, &c->field, &c->over);
}

/* A comma if the first line has one, else a tab. */
static char guess_separator(const char *text, size_t n)
{
	const char *line = memchr(text, '\n', n);
	return memchr(text, ',', line ? (size_t)(line - text) : n) ? ',' : '\t';
}

/* Which column it is, from 0, and reads over the header; -1: there is none of that name. A number is the column's
 * number, from 1, in a file without a header. */
static long find_column(struct csv *c, const char *name)
{
	char *end;
	long number = strtol(name, &end, 10), column = -1;
	if (*name && !*end && number > 0)
		return number - 1;
	for (long at = 0; column < 0 && !c->over && csv_next(c); at++)
		if (str_eq(trim_str(buf_view(&c->field)), str_of(name)))
			column = at;
	while (!c->over && c->p < c->end && *name && column >= 0) /* the rest of the header */
		csv_next(c);
	return column;
}

/* Takes a column of a table as results. column: from 0. The values of all rows behind c. */
static void take_column(struct taking *t, struct csv *c, long column)
{
	struct buf kept = {0};
	while (c->p < c->end && t->found <= EXTRACT_VALUES && !c->field.failed) {
		c->over = false;
		for (long at = 0; !c->over && csv_next(c); at++)
			if (at == column) {
				buf_reset(&kept);
				buf_str(&kept, buf_view(&c->field));
				on_match(t, buf_view(&kept));
			}
	}
	finish_taking(t);
	buf_release(&kept);
}

/* By its name in the first line, or its number. */
static void by_column(struct taking *t, const char *text, size_t n)
{
	const char *separator = t->x->separator;
	struct csv c = {.p = text, .end = text + n};
	c.separator = separator && *separator ? *separator : guess_separator(text, n);
	long column = find_column(&c, t->x->pattern);
	if (column < 0)
		append_missing(t, "there is no such column");
	else
		take_column(t, &c, column);
	buf_release(&c.field);
}

/* ---- digests ---- */

static int compare_lines(const void *a, const void *b)
{
	return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

/* Of the bytes, or of the lines in any order. */
static void by_digest(struct taking *t, const char *text, size_t n)
{
	struct digest_sum sum;
	struct digest d;
	char hex[DIGEST_TEXT];
	digest_begin(&sum);
	if (t->x->unordered) {
		size_t lines = 0, i = 0;
		for (const char *p = text; p < text + n; lines++) {
			const char *e = memchr(p, '\n', (size_t)(text + n - p));
			p = e ? e + 1 : text + n;
		}
		struct str *v = calloc(lines + 1, sizeof(*v));
		if (!v) {
			append_missing(t, "out of memory");
			return;
		}
		for (const char *p = text; p < text + n; i++) {
			const char *e = memchr(p, '\n', (size_t)(text + n - p));
			v[i] = str_n(p, e ? (size_t)(e - p) : (size_t)(text + n - p));
			p = e ? e + 1 : text + n;
		}
		if (lines)
			qsort(v, lines, sizeof(*v), compare_lines);
		for (i = 0; i < lines; i++) {
			digest_add(&sum, v[i].p, v[i].n);
			digest_add(&sum, "\n", 1);
		}
		free(v);
	} else {
		digest_add(&sum, text, n);
	}
	digest_end(&sum, &d);
	digest_text(&d, hex);
	elements_add(t->values, str_of(extractor_name(t->x)), str_of(hex));
}

/* ---- guesses ---- */

/* Takes a number as a result. prefix may be NULL. What is no number is passed over. */
static void append_if_number(struct elements *values, const char *prefix, const char *key, const json_t *j)
{
	struct buf name = {0};
	struct str s;
	double unused;
	if (scalar_text(j, &s) && value_number(json_string_value(j) ? json_string_value(j) : "", &unused)) {
		if (prefix && *prefix)
			buf_printf(&name, "%s.", prefix);
		buf_str(&name, str_of(key));
		elements_add(values, buf_view(&name), s);
	}
	buf_release(&name);
}

/* Takes results from a JSON document as hyperfine, Google Benchmark and others write it. false: nothing was found. */
static bool guess_json(struct elements *values, const char *text, size_t n)
{
	static const char *const hyperfine[] = {"mean", "stddev", "median", "user", "system", "min", "max"};
	json_t *root = parse_json_text(text, n), *list, *item, *value;
	const char *key;
	size_t i, before = values->n;
	if (json_is_array(list = json_object_get(root, "results"))) {
		json_array_foreach(list, i, item)
		{
			const char *command = json_string_value(json_object_get(item, "command"));
			for (size_t k = 0; i < EXTRACT_VALUES / 10 && k < sizeof(hyperfine) / sizeof(*hyperfine); k++)
				append_if_number(values, json_array_size(list) > 1 ? command : NULL, hyperfine[k],
				                 json_object_get(item, hyperfine[k]));
		}
	} else if (json_is_array(list = json_object_get(root, "benchmarks"))) {
		json_array_foreach(list, i, item)
		{
			const char *bench = json_string_value(json_object_get(item, "name"));
			json_object_foreach(item, key, value)
			{
				/* What counts its place among the others is no result. */
				if (bench && i < EXTRACT_VALUES / 10 && strcmp(key, "name") != 0 && strcmp(key, "run_name") != 0 &&
				    strncmp(key, "family_", 7) != 0 && strncmp(key, "per_family_", 11) != 0 &&
				    strcmp(key, "repetition_index") != 0 && strcmp(key, "repetitions") != 0 &&
				    strcmp(key, "threads") != 0)
					append_if_number(values, bench, key, value);
			}
		}
	}
	json_decref(root);
	return values->n > before;
}

/* `key: 12.5 s`, `key = 3`: the key begins with a letter and has no more than 60 bytes, the number no more than a unit
 * behind it. */
static void guess_line(struct elements *values, struct str line)
{
	char number[64];
	double unused;
	size_t cut = 0, k = 0;
	while (cut < line.n && line.p[cut] != ':' && line.p[cut] != '=')
		cut++;
	if (cut == line.n || !line.n || !isalpha((unsigned char)*line.p))
		return;
	struct str key = trim_str(str_n(line.p, cut)), value = trim_str(str_n(line.p + cut + 1, line.n - cut - 1));
	while (k < value.n && !isspace((unsigned char)value.p[k]))
		k++;
	if (key.n > 60 || !k || k >= sizeof(number))
		return;
	memcpy(number, value.p, k);
	number[k] = '\0';
	struct str unit = trim_str(str_n(value.p + k, value.n - k));
	if (value_number(number, &unused) && unit.n <= 12 && !memchr(unit.p, ' ', unit.n))
		elements_add(values, key, str_of(number));
}

/* Looks for names and numbers in each line, up to EXTRACT_VALUES. */
static void guess_lines(struct elements *values, const char *text, size_t n)
{
	for (const char *p = text, *end = text + n; p < end && values->n < EXTRACT_VALUES;) {
		const char *e = memchr(p, '\n', (size_t)(end - p));
		guess_line(values, trim_str(str_n(p, (size_t)((e ? e : end) - p))));
		p = e ? e + 1 : end;
	}
}

/* By JSON, or lines that say what they give. */
static void guess_values(struct taking *t, const char *text, size_t n)
{
	size_t before = t->values->n;
	const char *p = text;
	while (p < text + n && isspace((unsigned char)*p))
		p++;
	if (p < text + n && *p == '{' && guess_json(t->values, text, n))
		return;
	guess_lines(t->values, text, n);
	if (t->values->n == before)
		append_missing(t, "no result found in it");
}

/* ---- all ---- */

void extract_text(const struct extractor *x, const char *text, size_t n, struct elements *values,
                  struct elements *missing)
{
	struct taking t = {.x = x, .values = values, .missing = missing};
	switch (x->how) {
	case EXTRACT_REGEX:
		by_regex(&t, text, n);
		break;
	case EXTRACT_POINTER:
		by_pointer(&t, text, n);
		break;
	case EXTRACT_COLUMN:
		by_column(&t, text, n);
		break;
	case EXTRACT_DIGEST:
		by_digest(&t, text, n);
		break;
	case EXTRACT_FIGURE: /* not of a text: who measured the run adds it */
		break;
	case EXTRACT_GUESS:
		guess_values(&t, text, n);
		break;
	}
}

void extract_file(const struct extractor *x, const char *path, struct elements *values, struct elements *missing)
{
	struct taking t = {.x = x, .values = values, .missing = missing};
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		append_missing(&t, fd < 0 && errno == ENOENT ? "the file does not exist" : "it cannot be read");
	} else if (x->how == EXTRACT_DIGEST && !x->unordered) { /* of whatever size */
		struct digest d;
		char hex[DIGEST_TEXT];
		if (digest_fd(NULL, fd, &d, NULL) == 0) {
			digest_text(&d, hex);
			elements_add(values, str_of(extractor_name(x)), str_of(hex));
		} else {
			append_missing(&t, "it cannot be read");
		}
	} else if (st.st_size > EXTRACT_BYTES) {
		append_missing(&t, "the file is too large to be looked through");
	} else {
		char *p = malloc((size_t)st.st_size + 1);
		ssize_t k = p ? io_pread(fd, p, (size_t)st.st_size, 0) : -1;
		if (k < 0) {
			append_missing(&t, "it cannot be read");
		} else {
			p[k] = '\0';
			extract_text(x, p, (size_t)k, values, missing);
		}
		free(p);
	}
	if (fd >= 0)
		close(fd);
}
