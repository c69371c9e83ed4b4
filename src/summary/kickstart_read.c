#include "base/utf8.h"
#include "summary/decimal.h"
#include "summary/kickstart_int.h"
#include "summary/text_line.h"
#include "summary/units.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define BEGIN "- invocation:"
#define PROCESSES_MAX (1u << 22) /* of one record; more than a machine has */

/* Without its end; r goes on behind it. */
static struct str next_line(struct kickstart_reader *r)
{
	struct str line = text_line_at(r->text, r->at);
	r->at += line.n + (r->at + line.n < r->text.n);
	return line;
}

/* Blanks only. */
static size_t indent_of(struct str line)
{
	size_t n = 0;
	while (n < line.n && line.p[n] == ' ')
		n++;
	return n;
}

/* What ends a record besides the end of the text: the next one, or what others write between. */
static bool is_end(struct str line)
{
	static const char *const marks[] = {BEGIN, "[cluster-", "[seqexec-", "---------------pegasus-multipart"};
	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
		if (str_starts(line, str_of(marks[i])))
			return true;
	return false;
}

/* Is the reader at the element of that path? path: elements, by slashes, from the root; false within what is too
 * deep. */
static bool is_at(const struct kickstart_reader *r, const char *path)
{
	size_t i = 0;
	if (r->deep)
		return false;
	for (; i < r->depth && *path; i++) {
		size_t n = strcspn(path, "/");
		if (!str_eq(r->level[i].key, str_n(path, n)))
			return false;
		path += n + (path[n] == '/');
	}
	return i == r->depth && !*path;
}

/* ---- values ---- */

/* Appends what a backslash at place *i of s stands before, into out; *i moves to its last character. */
static void unescape(struct str s, size_t *i, struct buf *out)
{
	char c = s.p[++*i];
	if (c == 'x' && *i + 2 < s.n) {
		unsigned code;
		char hex[3] = {s.p[*i + 1], s.p[*i + 2], '\0'}, utf8[4];
		if (sscanf(hex, "%2x", &code) == 1 && code) /* of Latin 1 */
			buf_add(out, utf8, utf8_encode(code, utf8));
		*i += 2;
		return;
	}
	buf_char(out, c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c);
}

/* The bytes of a value in double quotes that begins behind the quote; kickstart writes the end of a line in it as a
 * backslash and that, so it may go on in the next lines. */
static void unquote_value(struct kickstart_reader *r, struct str s, struct buf *out)
{
	for (;;) {
		for (size_t i = 0; i < s.n; i++) {
			if (s.p[i] == '"')
				return;
			if (s.p[i] != '\\')
				buf_char(out, s.p[i]);
			else if (i + 1 < s.n)
				unescape(s, &i, out);
		}
		if (!s.n || s.p[s.n - 1] != '\\' || r->at >= r->text.n)
			return;
		buf_char(out, '\n');
		s = next_line(r);
	}
}

/* Without YAML's quotes. NULL and r->ok false: no memory. */
static char *copy_value(struct kickstart_reader *r, struct str value)
{
	struct buf b = {0};
	if (value.n && value.p[0] == '"')
		unquote_value(r, str_n(value.p + 1, value.n - 1), &b);
	else
		buf_str(&b, value);
	char *s = b.failed ? NULL : strdup(buf_cstr(&b));
	r->ok = r->ok && s && !b.failed;
	buf_release(&b);
	return s;
}

/* Reads a number with decimals as a whole one. -1 where it is none, or below 0. */
static int64_t parse_count(struct str value, unsigned decimals)
{
	int64_t v;
	return decimal_read(value, decimals, &v) == 0 && v >= 0 ? v : -1;
}

/* In unit bytes; -1: no number, or too large. */
static int64_t parse_kickstart_size(struct str value, int64_t unit)
{
	int64_t v = parse_count(value, 0);
	return v < 0 || v > INT64_MAX / unit ? -1 : v * unit;
}

/* value is released. */
static void append_kickstart_pair(struct kickstart_reader *r, struct summary_pair **list, size_t *n, const char *key,
                                  char *value)
{
	r->ok = r->ok && value && units_pair(list, n, str_of(key), str_of(value)) == 0;
	free(value);
}

/* A copy. Without memory r->ok is false. */
static void append_argument(struct kickstart_reader *r, struct str value)
{
	struct summary *s = r->s;
	if (r->argc + 2 >= r->cap_argv) { /* the program comes in front, NULL behind */
		size_t cap = r->cap_argv ? 2 * r->cap_argv : 16;
		char **more = realloc(s->argv, cap * sizeof(*more));
		if (!more) {
			r->ok = false;
			return;
		}
		s->argv = more;
		r->cap_argv = cap;
	}
	char *a = copy_value(r, value);
	if (a)
		s->argv[r->argc++] = a;
	s->argv[r->argc] = NULL;
}

/* ---- the places that are known ---- */

/* Keys that are in no row of kickstart.def are passed over. */
static void read_usage_key(struct kickstart_reader *r, struct str key, struct str value)
{
	static const struct {
		const char *key;
		enum figure_name figure;
		int64_t unit;
	} rows[] = {
#define USAGE(key, figure, unit) {#key, FIGURE_##figure, unit},
#include "summary/kickstart.def"
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (str_is(key, rows[i].key)) {
			int64_t v = rows[i].unit ? parse_kickstart_size(value, rows[i].unit) : parse_count(value, 9);
			if (v >= 0 && summary_set(r->s, rows[i].figure, v, KICKSTART_METHOD " wait4", false) < 0)
				r->ok = false;
		}
}

/* The first value of a key counts. */
static void read_machine(struct kickstart_reader *r, struct str key, struct str value)
{
	static const struct {
		const char *key, *host;
		int64_t unit;
	} rows[] = {
#define MACHINE(key, host, unit) {#key, host, unit},
#include "summary/kickstart.def"
	};
	char text[24];
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (!str_is(key, rows[i].key) || summary_host(r->s, rows[i].host))
			continue;
		int64_t v = rows[i].unit > 0 ? parse_kickstart_size(value, rows[i].unit) : 0;
		snprintf(text, sizeof(text), "%lld", (long long)v);
		if (v >= 0)
			append_kickstart_pair(r, &r->s->host, &r->s->nhost, rows[i].host,
			                      copy_value(r, rows[i].unit > 0 ? str_of(text) : value));
	}
}

/* Begins a process of the record. Nothing of it is known yet. r->ok false: no memory, or PROCESSES_MAX. */
static void new_process(struct kickstart_reader *r)
{
	struct summary *s = r->s;
	if (s->nprocess == r->cap_process) {
		size_t cap = r->cap_process ? 2 * r->cap_process : 16;
		struct summary_process *more = cap <= PROCESSES_MAX ? realloc(s->process, cap * sizeof(*more)) : NULL;
		if (!more) {
			r->ok = false;
			return;
		}
		s->process = more;
		r->cap_process = cap;
	}
	s->process[s->nprocess++] = (struct summary_process){.pid = -1,
	                                                     .ppid = -1,
	                                                     .start = -1,
	                                                     .end = -1,
	                                                     .user_time = -1,
	                                                     .system_time = -1,
	                                                     .resident_peak = -1,
	                                                     .virtual_peak = -1,
	                                                     .bytes_read = -1,
	                                                     .bytes_written = -1,
	                                                     .threads_peak = -1,
	                                                     .status = -1};
}

/* Keys of a process whose values are numbers: where they go, and how they are read. */
static const struct process_key {
	const char *key;
	size_t at; /* of an int64_t in struct summary_process */
	enum { SECONDS, BYTES, KIB } what;
} process_keys[] = {
    {"start", offsetof(struct summary_process, start), SECONDS},
    {"stop", offsetof(struct summary_process, end), SECONDS},
    {"utime", offsetof(struct summary_process, user_time), SECONDS},
    {"stime", offsetof(struct summary_process, system_time), SECONDS},
    {"vmpeak", offsetof(struct summary_process, virtual_peak), KIB},
    {"rsspeak", offsetof(struct summary_process, resident_peak), KIB},
    {"rchar", offsetof(struct summary_process, bytes_read), BYTES},
    {"wchar", offsetof(struct summary_process, bytes_written), BYTES},
};

/* Of the process that was added last. */
static void read_process_key(struct kickstart_reader *r, struct str key, struct str value)
{
	struct summary_process *p = r->s->nprocess ? &r->s->process[r->s->nprocess - 1] : NULL;
	int64_t n = parse_count(value, 0);
	if (!p)
		return;
	for (size_t i = 0; i < sizeof(process_keys) / sizeof(*process_keys); i++) {
		const struct process_key *k = &process_keys[i];
		if (str_is(key, k->key))
			*(int64_t *)((char *)p + k->at) =
			    k->what == SECONDS ? parse_count(value, 9) : parse_kickstart_size(value, k->what == KIB ? 1024 : 1);
	}
	if (str_is(key, "pid") || str_is(key, "ppid"))
		*(str_is(key, "pid") ? &p->pid : &p->ppid) = n <= INT32_MAX ? (pid_t)n : -1;
	else if (str_is(key, "exe") && !p->exe)
		p->exe = copy_value(r, value);
	else if (str_is(key, "maxthreads") && n > 0) /* 0 unless it counted them */
		p->threads_peak = n;
}

/* What the record says of the task as a whole; the first value of a key counts. */
static void read_record_value(struct kickstart_reader *r, struct str key, struct str value)
{
	static const char *const labels[] = {"transformation", "derivation", "resource", "wf-label", "wf-stamp"};
	for (size_t i = 0; i < sizeof(labels) / sizeof(labels[0]); i++)
		if (str_is(key, labels[i]))
			append_kickstart_pair(r, &r->s->label, &r->s->nlabel, labels[i], copy_value(r, value));
	if (str_is(key, "user") && !r->s->user)
		r->s->user = copy_value(r, value);
	else if (str_is(key, "cwd") && !r->s->cwd)
		r->s->cwd = copy_value(r, value);
	else if (str_is(key, "hostname") && !summary_host(r->s, "name"))
		append_kickstart_pair(r, &r->s->host, &r->s->nhost, "name", copy_value(r, value));
}

/* A value below mainjob. */
static void read_mainjob_value(struct kickstart_reader *r, struct str key, struct str value)
{
	if (is_at(r, "mainjob/start"))
		units_date(value, &r->start);
	else if (is_at(r, "mainjob/duration"))
		r->duration = parse_count(value, 9);
	else if (is_at(r, "mainjob/pid"))
		r->pid = parse_count(value, 0);
	else if (is_at(r, "mainjob/status/raw"))
		r->raw = parse_count(value, 0);
	else if (is_at(r, "mainjob/executable/file_name") && !r->program)
		r->program = copy_value(r, value);
	else if (r->depth == 3 && str_is(r->level[1].key, "usage"))
		read_usage_key(r, key, value);
	else if (r->depth == 4 && str_is(r->level[1].key, "procs"))
		read_process_key(r, key, value);
}

/* By where in the record it stands; what is nested too deep is passed over. */
static void read_value(struct kickstart_reader *r, struct str value)
{
	struct str key = r->level[r->depth - 1].key;
	bool main = str_is(r->level[0].key, "mainjob");
	r->mainjob = r->mainjob || main;
	if (r->deep)
		return;
	if (r->depth == 3 && main && str_is(r->level[1].key, "procs"))
		new_process(r);
	if (!value.n)
		return;
	if (r->depth == 1)
		read_record_value(r, key, value);
	else if (r->depth == 2 && str_is(r->level[0].key, "machine"))
		read_machine(r, key, value);
	else if (main)
		read_mainjob_value(r, key, value);
}

/* ---- lines ---- */

/* "key: value" or "key:"; the key perhaps in quotes. */
static bool split_yaml_line(struct str line, struct str *ret_key, struct str *ret_value)
{
	size_t n = 0;
	if (!line.n || strchr("<>#&|{}[]-", line.p[0]))
		return false;
	if (line.p[0] == '"') {
		for (n = 1; n < line.n && line.p[n] != '"'; n++)
			n += line.p[n] == '\\';
		n++;
	} else {
		while (n < line.n && !(line.p[n] == ':' && (n + 1 == line.n || line.p[n + 1] == ' ')))
			n++;
	}
	if (n >= line.n || line.p[n] != ':')
		return false;
	*ret_key = str_n(line.p, n);
	*ret_value = text_trim(str_n(line.p + n + 1, line.n - n - 1));
	return true;
}

/* Goes to a key that stands so far to the right. */
static void enter_key(struct kickstart_reader *r, size_t indent, struct str key)
{
	while (r->depth && r->level[r->depth - 1].indent >= indent)
		r->depth--;
	r->deep = r->depth == DEPTH;
	if (!r->deep)
		r->level[r->depth++] = (struct level){indent, key};
}

/* Steps over all lines that are indented more than that. */
static void skip_block(struct kickstart_reader *r, size_t indent)
{
	while (r->at < r->text.n) {
		struct str line = text_line_at(r->text, r->at);
		if (text_trim(line).n && indent_of(line) <= indent)
			return;
		next_line(r);
	}
}

/* Reads a line of the record. line: of YAML, as kickstart writes it. */
static void read_kickstart_line(struct kickstart_reader *r, struct str line)
{
	size_t indent = indent_of(line);
	struct str rest = text_trim(str_n(line.p + indent, line.n - indent)), key, value;
	if (indent < 2) /* of no record: XML of more lines than one */
		return;
	if (str_starts(rest, str_of("- "))) {
		while (r->depth && r->level[r->depth - 1].indent > indent)
			r->depth--;
		if (is_at(r, "mainjob/argument_vector"))
			append_argument(r, text_trim(str_n(rest.p + 2, rest.n - 2)));
	} else if (split_yaml_line(rest, &key, &value)) {
		enter_key(r, indent, key);
		if (value.n && (value.p[0] == '|' || value.p[0] == '>'))
			skip_block(r, indent);
		else
			read_value(r, value);
	}
}

/* By what its documents begin with, anywhere in the text. */
bool kickstart_is(struct str text)
{
	return memmem(text.p, text.n, BEGIN, strlen(BEGIN)) != NULL;
}

int kickstart_read(struct str text, struct err *err, struct summary *ret, size_t *ret_n)
{
	struct summary s;
	struct kickstart_reader r = {
	    .text = text, .s = &s, .err = err, .ok = true, .start = -1, .duration = -1, .raw = -1, .pid = -1};
	const char *begin = memmem(text.p, text.n, BEGIN, strlen(BEGIN));
	if (!begin)
		return -ENODATA;
	r.at = (size_t)(begin - text.p);
	next_line(&r);
	summary_init(&s);
	while (r.ok && r.at < text.n && !is_end(text_line_at(text, r.at)))
		read_kickstart_line(&r, next_line(&r));
	if (r.ok)
		kickstart_settle(&r);
	free(r.program);
	if (!r.ok) {
		summary_release(&s);
		return err_set(err, ENOMEM, "cannot read kickstart's record");
	}
	*ret = s;
	*ret_n = r.at;
	return 0;
}
