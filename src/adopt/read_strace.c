/* read_strace.c - logs of strace -f -ttt -y (-o FILE): one line for each call, "PID SECONDS.MICROS CALL(ARGUMENTS) =
 * RESULT", in which descriptors have their paths. Without -y no file is known, without -ttt no time: such a log is
 * named and left. Of a call that was interrupted by others the beginning is kept until its end comes. */
#include "adopt/traced.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#define ARGUMENTS 8
#define LINE_MOST 1048576 /* bytes of a call, with its beginning */
#define HEAD 65536        /* bytes in which a log must be known as one */

/* A call in two lines: the beginning. */
struct pending {
	uint64_t pid;
	struct buf text;
};
struct strace {
	struct traced t;
	VEC(struct pending) pending;
	struct map pending_at; /* pid -> place */
	struct buf path, other;
	int error;
};

/* A call, taken apart. */
struct call {
	uint64_t pid;
	int64_t time;
	struct str name, argument[ARGUMENTS], result;
	size_t n;
};

/* ---- words ---- */

/* The byte of \ooo, \xhh or \n; *i moves past it. */
static char unescape_strace_char(struct str s, size_t *i)
{
	static const char names[] = "nrtvf", bytes[] = "\n\r\t\v\f";
	char c = s.p[(*i)++];
	const char *at = memchr(names, c, sizeof(names) - 1);
	int value = 0, digits = 0;
	if (at)
		return bytes[at - names];
	if (c == 'x') {
		for (; digits < 2 && *i < s.n && isxdigit((unsigned char)s.p[*i]); digits++, ++*i)
			value = value * 16 + (isdigit((unsigned char)s.p[*i]) ? s.p[*i] - '0' : (s.p[*i] | 32) - 'a' + 10);
		return (char)value;
	}
	if (c < '0' || c > '7')
		return c;
	for (--*i; digits < 3 && *i < s.n && s.p[*i] >= '0' && s.p[*i] <= '7'; digits++, ++*i)
		value = value * 8 + s.p[*i] - '0';
	return (char)value;
}

/* What stands between two quotes, or two angles: into b, emptied first. */
static void unescape_strace(struct str s, struct buf *b)
{
	buf_reset(b);
	for (size_t i = 0; i < s.n;) {
		char c = s.p[i++];
		buf_char(b, c == '\\' && i < s.n ? unescape_strace_char(s, &i) : c);
	}
}

/* The end of the string that begins with the quote at s.p[i]: behind its last quote. */
static size_t skip_string(struct str s, size_t i)
{
	for (i++; i < s.n && s.p[i] != '"'; i++)
		i += s.p[i] == '\\';
	return i < s.n ? i + 1 : s.n;
}

/* The text of "...", which may be cut (then ... follows, and so it does in b). False: it is no string. */
static bool text_of(struct str argument, struct buf *b)
{
	if (argument.n < 2 || argument.p[0] != '"')
		return false;
	size_t end = skip_string(argument, 0);
	unescape_strace(str_n(argument.p + 1, end - 2), b);
	if (end < argument.n)
		buf_printf(b, "\xe2\x80\xa6");
	return !b->failed;
}

/* The path of 3</tmp/x>, AT_FDCWD</tmp>, 3<pipe:[123]>. False: it has none. A file that was deleted has none. */
static bool path_of_descriptor(struct str argument, struct buf *b)
{
	const char *from = argument.n ? memchr(argument.p, '<', argument.n) : NULL;
	const char *to = from ? memrchr(argument.p, '>', argument.n) : NULL;
	if (!to || to <= from || memchr(argument.p, '"', (size_t)(from - argument.p)))
		return false;
	bool deleted = memmem(to, (size_t)(argument.p + argument.n - to), "(deleted)", 9);
	unescape_strace(str_n(from + 1, (size_t)(to - from - 1)), b);
	return !b->failed && b->n && !deleted;
}

/* Is the word somewhere in s? */
static bool has_word(struct str s, const char *word)
{
	return s.n && memmem(s.p, s.n, word, strlen(word));
}

/* ---- calls ---- */

/* Splits "NAME(A, B) = RESULT". False: it is none. */
static bool split_call(struct str line, struct call *ret)
{
	const char *open = memchr(line.p, '(', line.n);
	size_t depth = 0, i = open ? (size_t)(open - line.p) + 1 : 0, from = i;
	if (!open || open == line.p)
		return false;
	ret->name = str_n(line.p, (size_t)(open - line.p));
	ret->n = 0;
	for (; i < line.n; i++) {
		char c = line.p[i];
		bool ends = depth == 0 && (c == ')' || (c == ',' && i + 1 < line.n && line.p[i + 1] == ' '));
		if (c == '"')
			i = skip_string(line, i) - 1;
		else if (c == '(' || c == '[' || c == '{')
			depth++;
		else if (depth && (c == ')' || c == ']' || c == '}'))
			depth--;
		if (!ends)
			continue;
		if (ret->n < ARGUMENTS && i > from)
			ret->argument[ret->n++] = str_n(line.p + from, i - from);
		from = i + 2;
		if (c == ')')
			break;
	}
	while (i + 1 < line.n && line.p[++i] == ' ')
		;
	if (i + 2 > line.n || line.p[i] != '=')
		return false;
	ret->result = str_n(line.p + i + 2, line.n - i - 2);
	for (size_t k = ret->n; k < ARGUMENTS; k++)
		ret->argument[k] = str_n(NULL, 0);
	return true;
}

/* A result of 0 or more; -1: it failed, or is not known. */
static int64_t strace_number_of(struct str result)
{
	int64_t n = 0;
	size_t i = 0;
	for (; i < result.n && i < 18 && isdigit((unsigned char)result.p[i]); i++)
		n = n * 10 + result.p[i] - '0';
	return i ? n : -1;
}

/* Notes an access to what the descriptor in that argument leads to, if strace has printed its path. */
static void access_descriptor(struct strace *s, const struct call *c, size_t argument, enum traced_use use)
{
	if (argument < c->n && path_of_descriptor(c->argument[argument], &s->path))
		traced_access(&s->t, c->pid, buf_view(&s->path), use, c->time);
}

/* The path that a call names, behind the folder at `folder` where it takes one (else SIZE_MAX), absolute in b. False:
 * it is not known. */
static bool named_path(struct strace *s, const struct call *c, size_t folder, size_t argument, struct buf *b)
{
	struct buf text = {0};
	bool known = argument < c->n && text_of(c->argument[argument], &text) && text.n;
	if (known && text.p[0] != '/' && folder != SIZE_MAX && path_of_descriptor(c->argument[folder], &s->other)) {
		buf_char(&s->other, '/');
		buf_str(&s->other, buf_view(&text));
		known = traced_path(&s->t, c->pid, buf_view(&s->other), b);
	} else if (known) {
		known = traced_path(&s->t, c->pid, buf_view(&text), b);
	}
	buf_release(&text);
	return known;
}

/* Notes an open. flags: the argument that has them; the path is the one that strace printed beside the result. */
static void take_open(struct strace *s, const struct call *c, size_t flags)
{
	struct str f = flags < c->n ? c->argument[flags] : str_of("");
	bool writes = has_word(f, "O_WRONLY") || has_word(f, "O_RDWR") || str_is(c->name, "creat");
	bool reads = !has_word(f, "O_WRONLY") && !str_is(c->name, "creat");
	if (has_word(f, "O_DIRECTORY") || has_word(f, "O_PATH") || !path_of_descriptor(c->result, &s->path))
		return;
	if (reads && !has_word(f, "O_TRUNC"))
		traced_access(&s->t, c->pid, buf_view(&s->path), TRACED_READ, c->time);
	if (writes)
		traced_access(&s->t, c->pid, buf_view(&s->path), TRACED_OPENED, c->time);
}

/* "[\"sort\", \"in.txt\"]" */
static void take_strace_words(struct strace *s, const struct call *c, struct str list)
{
	for (size_t i = 0; i < list.n;) {
		if (list.p[i] != '"') {
			i++;
			continue;
		}
		size_t end = skip_string(list, i);
		bool cut = end + 3 <= list.n && memcmp(list.p + end, "...", 3) == 0;
		if (text_of(str_n(list.p + i, end - i + (cut ? 3 : 0)), &s->path))
			traced_word(&s->t, c->pid, buf_view(&s->path));
		i = end;
	}
}

/* Notes that the process became another program, with its words. path: the argument that names the file. */
static void take_strace_exec(struct strace *s, const struct call *c, size_t path)
{
	bool known = named_path(s, c, path ? 0 : SIZE_MAX, path, &s->path);
	struct buf program = {0};
	if (known)
		buf_str(&program, buf_view(&s->path));
	traced_exec(&s->t, c->pid, c->time);
	take_strace_words(s, c, c->argument[path + 1]);
	if (known)
		traced_access(&s->t, c->pid, buf_view(&program), TRACED_READ, c->time);
	s->error = program.failed ? -ENOMEM : s->error;
	buf_release(&program);
}

/* Notes a rename. at: renameat's arguments, with a folder before each name. */
static void take_rename(struct strace *s, const struct call *c, bool at)
{
	struct buf from = {0};
	if (named_path(s, c, at ? 0 : SIZE_MAX, at ? 1 : 0, &from) &&
	    named_path(s, c, at ? 2 : SIZE_MAX, at ? 3 : 1, &s->path))
		traced_rename(&s->t, buf_view(&from), buf_view(&s->path));
	buf_release(&from);
}

/* Notes that the file was mapped: written where the mapping is shared and writable, else read. */
static void take_mmap(struct strace *s, const struct call *c)
{
	bool writes = has_word(c->argument[2], "PROT_WRITE") && has_word(c->argument[3], "MAP_SHARED");
	access_descriptor(s, c, 4, writes ? TRACED_WRITE : TRACED_READ);
}

/* What a call does with files and processes. */
enum call_kind {
	CALL_READ,
	CALL_WRITE,
	CALL_COPY,
	CALL_SEND,
	CALL_OPEN,
	CALL_OPENAT,
	CALL_MMAP,
	CALL_EXEC,
	CALL_EXECAT,
	CALL_FORK,
	CALL_CHDIR,
	CALL_FCHDIR,
	CALL_RENAME,
	CALL_RENAMEAT,
	CALL_UNLINK,
	CALL_UNLINKAT,
	CALL_TRUNCATE
};
static const struct {
	const char *name;
	enum call_kind kind;
} calls[] = {{"read", CALL_READ},          {"write", CALL_WRITE},     {"openat", CALL_OPENAT},
             {"mmap", CALL_MMAP},          {"readv", CALL_READ},      {"pread64", CALL_READ},
             {"preadv", CALL_READ},        {"preadv2", CALL_READ},    {"writev", CALL_WRITE},
             {"pwrite64", CALL_WRITE},     {"pwritev", CALL_WRITE},   {"pwritev2", CALL_WRITE},
             {"ftruncate", CALL_WRITE},    {"fallocate", CALL_WRITE}, {"copy_file_range", CALL_COPY},
             {"splice", CALL_COPY},        {"sendfile", CALL_SEND},   {"open", CALL_OPEN},
             {"creat", CALL_OPEN},         {"openat2", CALL_OPENAT},  {"execve", CALL_EXEC},
             {"execveat", CALL_EXECAT},    {"fork", CALL_FORK},       {"vfork", CALL_FORK},
             {"clone", CALL_FORK},         {"clone3", CALL_FORK},     {"chdir", CALL_CHDIR},
             {"fchdir", CALL_FCHDIR},      {"rename", CALL_RENAME},   {"renameat", CALL_RENAMEAT},
             {"renameat2", CALL_RENAMEAT}, {"unlink", CALL_UNLINK},   {"unlinkat", CALL_UNLINKAT},
             {"truncate", CALL_TRUNCATE},  {"sendfile64", CALL_SEND}};

/* The calls that use descriptors. False: it is another one. */
static bool take_descriptors(struct strace *s, const struct call *c, enum call_kind kind)
{
	switch (kind) {
	case CALL_READ:
	case CALL_WRITE:
		access_descriptor(s, c, 0, kind == CALL_READ ? TRACED_READ : TRACED_WRITE);
		return true;
	case CALL_COPY:
		access_descriptor(s, c, 0, TRACED_READ);
		access_descriptor(s, c, 2, TRACED_WRITE);
		return true;
	case CALL_SEND:
		access_descriptor(s, c, 0, TRACED_WRITE);
		access_descriptor(s, c, 1, TRACED_READ);
		return true;
	case CALL_OPEN:
	case CALL_OPENAT:
		take_open(s, c, kind == CALL_OPEN ? 1 : 2);
		return true;
	case CALL_MMAP:
		take_mmap(s, c);
		return true;
	default:
		return false;
	}
}

/* The calls that change processes and names. */
static void take_change(struct strace *s, const struct call *c, enum call_kind kind)
{
	switch (kind) {
	case CALL_EXEC:
	case CALL_EXECAT:
		take_strace_exec(s, c, kind == CALL_EXECAT);
		break;
	case CALL_FORK: {
		bool thread = false;
		for (size_t i = 0; i < c->n; i++)
			thread |= has_word(c->argument[i], "CLONE_THREAD");
		traced_fork(&s->t, c->pid, (uint64_t)strace_number_of(c->result), thread, c->time);
		break;
	}
	case CALL_CHDIR:
		if (named_path(s, c, SIZE_MAX, 0, &s->path))
			traced_chdir(&s->t, c->pid, buf_view(&s->path));
		break;
	case CALL_FCHDIR:
		if (path_of_descriptor(c->argument[0], &s->path))
			traced_chdir(&s->t, c->pid, buf_view(&s->path));
		break;
	case CALL_RENAME:
	case CALL_RENAMEAT:
		take_rename(s, c, kind == CALL_RENAMEAT);
		break;
	case CALL_UNLINK:
	case CALL_UNLINKAT:
		if (!has_word(c->argument[2], "AT_REMOVEDIR") &&
		    named_path(s, c, kind == CALL_UNLINKAT ? 0 : SIZE_MAX, kind == CALL_UNLINKAT, &s->path))
			traced_unlink(&s->t, buf_view(&s->path));
		break;
	case CALL_TRUNCATE:
		if (named_path(s, c, SIZE_MAX, 0, &s->path))
			traced_access(&s->t, c->pid, buf_view(&s->path), TRACED_WRITE, c->time);
		break;
	default:
		break;
	}
}

/* A whole call. What failed did nothing. */
static void take_call(struct strace *s, struct str text, uint64_t pid, int64_t time)
{
	struct call c = {.pid = pid, .time = time};
	if (!split_call(text, &c) || strace_number_of(c.result) < 0)
		return;
	if (str_starts(c.argument[0], str_of("AT_FDCWD<")) && path_of_descriptor(c.argument[0], &s->path))
		traced_chdir(&s->t, pid, buf_view(&s->path)); /* where it is, whatever was not seen before */
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		if (str_is(c.name, calls[i].name)) {
			if (!take_descriptors(s, &c, calls[i].kind))
				take_change(s, &c, calls[i].kind);
			return;
		}
}

/* ---- lines ---- */

/* The beginning of a call of the process; NULL: no memory. */
static struct pending *pending_of(struct strace *s, uint64_t pid)
{
	uint32_t at = map_get(&s->pending_at, pid);
	if (at != VEC_NONE)
		return &s->pending.v[at];
	struct pending *p = vec_add(&s->pending);
	if (!p || !map_set(&s->pending_at, pid, (uint32_t)(s->pending.n - 1))) {
		s->error = -ENOMEM;
		return NULL;
	}
	*p = (struct pending){.pid = pid};
	return p;
}

/* "<... read resumed>REST" */
static void take_resumed(struct strace *s, struct str text, uint64_t pid, int64_t time)
{
	static const char word[] = " resumed>";
	struct pending *p = pending_of(s, pid);
	const char *at = memmem(text.p, text.n, word, sizeof(word) - 1);
	if (!p || !at || !p->text.n)
		return;
	at += sizeof(word) - 1;
	buf_str(&p->text, str_n(at, text.n - (size_t)(at - text.p)));
	if (p->text.failed)
		s->error = -ENOMEM;
	else if (p->text.n < LINE_MOST)
		take_call(s, buf_view(&p->text), pid, time);
	buf_reset(&p->text);
}

/* "exited with 3 +++", "killed by SIGTERM +++" */
static void take_end(struct strace *s, struct str text, uint64_t pid, int64_t time)
{
	const struct str exited = str_of("+++ exited with ");
	bool ended = str_starts(text, exited);
	int64_t code = ended ? strace_number_of(str_n(text.p + exited.n, text.n - exited.n)) : 0;
	traced_exit(&s->t, pid, ended && code >= 0 && code < 256, (int)(code < 0 ? 0 : code & 255), time);
}

/* The digits at the begin of *line as a number, and the blanks behind them gone. False: there are none. */
static bool take_number(struct str *line, uint64_t *ret)
{
	size_t i = 0;
	for (*ret = 0; i < line->n && i < 19 && isdigit((unsigned char)line->p[i]); i++)
		*ret = *ret * 10 + (uint64_t)(line->p[i] - '0');
	if (!i)
		return false;
	*line = str_n(line->p + i, line->n - i);
	return true;
}

/* Takes the blanks from the beginning of the line. */
static void skip_blanks(struct str *line)
{
	while (line->n && *line->p == ' ')
		*line = str_n(line->p + 1, line->n - 1);
}

/* "[pid 12] 1700000000.123456 ", "12  1700000000.123456 ", "1700000000.123456 ". False: it is no line of a log. */
static bool take_strace_head(struct str *line, uint64_t *ret_pid, int64_t *ret_time)
{
	uint64_t seconds, micros;
	const struct str before = str_of("[pid ");
	*ret_pid = 0;
	if (str_starts(*line, before)) {
		*line = str_n(line->p + before.n, line->n - before.n);
		skip_blanks(line);
		if (!take_number(line, ret_pid) || !line->n || *line->p != ']')
			return false;
		*line = str_n(line->p + 1, line->n - 1);
		skip_blanks(line);
	}
	if (!take_number(line, &seconds))
		return false;
	if (line->n && *line->p == ' ') {
		*ret_pid = seconds;
		skip_blanks(line);
		if (!take_number(line, &seconds))
			return false;
	}
	if (line->n < 8 || *line->p != '.' || line->p[7] != ' ' || seconds > 9000000000)
		return false;
	*line = str_n(line->p + 1, line->n - 1);
	if (!take_number(line, &micros) || micros > 999999)
		return false;
	skip_blanks(line);
	*ret_time = (int64_t)seconds * 1000000000 + (int64_t)micros * 1000;
	return true;
}

/* Tells what one line says: an end, a call, or a part of a call, which is kept until it is resumed. A line that is
 * too long or has no head is passed over. Errors: s->error. */
static void take_strace_line(struct strace *s, struct str line)
{
	static const char unfinished[] = " <unfinished ...>";
	uint64_t pid;
	int64_t time;
	if (line.n > LINE_MOST || !take_strace_head(&line, &pid, &time))
		return;
	if (str_starts(line, str_of("+++ "))) {
		take_end(s, line, pid, time);
	} else if (str_starts(line, str_of("<... "))) {
		take_resumed(s, line, pid, time);
	} else if (str_ends(line, str_of(unfinished))) {
		struct pending *p = pending_of(s, pid);
		if (p) {
			buf_reset(&p->text);
			buf_str(&p->text, str_n(line.p, line.n - (sizeof(unfinished) - 1)));
			s->error = p->text.failed ? -ENOMEM : s->error;
		}
	} else {
		take_call(s, line, pid, time);
	}
}

/* Is it a log of strace: does one of its first lines have a time and a call? *ret_paths: and paths of descriptors. */
static bool is_log(struct str text, bool *ret_paths)
{
	struct str head = str_n(text.p, text.n < HEAD ? text.n : HEAD), line = head;
	struct call c;
	uint64_t pid;
	int64_t time;
	size_t first = 0;
	while (first < head.n && head.p[first] != '\n')
		first++;
	line.n = first;
	*ret_paths = memmem(head.p, head.n, "AT_FDCWD<", 9) || memmem(head.p, head.n, "= 3<", 4);
	return take_strace_head(&line, &pid, &time) && split_call(line, &c);
}

/* The lines of a log. 0, -ENOMEM. */
static int take_log(struct strace *s, struct str text)
{
	for (size_t at = 0; at < text.n && !s->error;) {
		const char *end = memchr(text.p + at, '\n', text.n - at);
		size_t n = end ? (size_t)(end - text.p) - at : text.n - at;
		take_strace_line(s, str_n(text.p + at, n));
		at += n + 1;
	}
	return s->error;
}

int adopt_read_strace(struct adopt_jobs *l, int folder, const char *path, const char *name)
{
	struct buf text = {0}, source = {0};
	struct strace s = {0};
	bool paths = false;
	uint64_t jobs = 0;
	buf_printf(&source, "%s/%s", path, name);
	int r = adopt_file(folder, name, &text), finished = 0;
	if (r == 0 && text.n && is_log(buf_view(&text), &paths)) {
		const char *from = adopt_text(l, buf_view(&source));
		if (!paths)
			r = adopt_pass(l, buf_cstr(&source), "it has no paths of descriptors; record them with strace -f -ttt -y");
		else if (!from)
			r = -ENOMEM;
		else {
			traced_begin(&s.t, l, ADOPT_strace, from);
			r = take_log(&s, buf_view(&text));
			finished = traced_finish(&s.t, &jobs);
			r = r < 0 ? r : finished;
			l->sources[ADOPT_strace] += r == 0;
		}
	}
	for (size_t i = 0; i < s.pending.n; i++)
		buf_release(&s.pending.v[i].text);
	vec_release(&s.pending);
	map_release(&s.pending_at);
	buf_release(&s.path);
	buf_release(&s.other);
	buf_release(&text);
	buf_release(&source);
	return r == -ENOMEM ? r : 0;
}
