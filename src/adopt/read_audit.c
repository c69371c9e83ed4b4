/* read_audit.c - logs of the Linux audit daemon (audit.log, *.audit): the records of one event, SYSCALL, CWD, PATH and
 * EXECVE, share msg=audit(SECONDS.MILLIS:SERIAL). Calls of x86-64 that succeeded are taken, in the order of the log;
 * what was logged depends on the rules (doc/adopt.md has some that are enough). Values are quoted, or hexadecimal. */
#include "adopt/traced.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

#define HEAD 65536
#define PATHS 4
#define LINE_MOST ((size_t)1 << 20) /* bytes: records of the kernel have 8,970 at most */
#define ARCH_X86_64 0xc000003e
#define CLONE_THREAD 0x10000

/* What is known of one event. */
struct audited {
	uint64_t serial;
	int64_t time;
	bool syscall, success;
	uint64_t arch, number, pid, a[4];
	int64_t exit;
	struct buf cwd;
	struct {
		struct buf name;
		bool named, parent; /* parent: it is the folder of another one */
	} path[PATHS];
	struct buf words; /* a NUL behind each */
	size_t n_words;
};
struct audit {
	struct traced t;
	struct audited e;
	struct buf value, other;
	int error;
};

/* ---- fields ---- */

/* The value of " NAME=" in a record, as it stands; nothing. */
static struct str field_of(struct str record, const char *name)
{
	size_t n = strlen(name);
	for (const char *at = record.p; at && (at = memmem(at, record.n - (size_t)(at - record.p), name, n)); at++) {
		size_t begin = (size_t)(at - record.p), end = begin + n + 1;
		if ((begin && record.p[begin - 1] != ' ') || end > record.n || record.p[begin + n] != '=')
			continue;
		size_t from = end;
		if (end < record.n && record.p[end] == '"')
			for (end++; end < record.n && record.p[end] != '"'; end++)
				;
		while (end < record.n && record.p[end] != ' ' && record.p[end] != '\n')
			end++;
		return str_n(record.p + from, end - from);
	}
	return str_n(NULL, 0);
}

/* The value of a hexadecimal digit, -1: it is none. */
static int digit_of(char c)
{
	return isdigit((unsigned char)c) ? c - '0' : isxdigit((unsigned char)c) ? (c | 32) - 'a' + 10 : -1;
}

/* The text of a value: between quotes, or two digits a byte. Into b, emptied first. False: it is (null), or none. */
static bool text_of(struct str value, struct buf *b)
{
	buf_reset(b);
	if (value.n >= 2 && *value.p == '"' && value.p[value.n - 1] == '"') {
		buf_str(b, str_n(value.p + 1, value.n - 2));
		return !b->failed;
	}
	if (!value.n || value.n % 2)
		return false;
	for (size_t i = 0; i < value.n; i += 2) {
		int high = digit_of(value.p[i]), low = digit_of(value.p[i + 1]);
		if (high < 0 || low < 0)
			return false;
		buf_char(b, (char)(high << 4 | low));
	}
	return !b->failed;
}

/* A number to the base; 0 where there is none. */
static uint64_t audit_number_of(struct str value, int base)
{
	char text[32];
	if (!value.n || value.n >= sizeof(text))
		return 0;
	memcpy(text, value.p, value.n);
	text[value.n] = '\0';
	return strtoull(text, NULL, base);
}

/* ---- events ---- */

/* The file that the call is about: the last of its paths that is no folder of another one, absolute in b. False: it is
 * not known. */
static bool audit_path_of(struct audit *w, bool first, struct buf *b)
{
	struct audited *e = &w->e;
	struct buf *found = NULL;
	for (size_t i = 0; i < PATHS; i++)
		if (e->path[i].named && !e->path[i].parent && (!found || !first))
			found = &e->path[i].name;
	if (!found || !found->n)
		return false;
	if (*found->p == '/' || !e->cwd.n)
		return traced_path(&w->t, e->pid, buf_view(found), b);
	buf_reset(&w->other);
	buf_str(&w->other, buf_view(&e->cwd));
	buf_char(&w->other, '/');
	buf_str(&w->other, buf_view(found));
	return traced_path(&w->t, e->pid, buf_view(&w->other), b);
}

/* Notes an open() of the path that the record gives. flags: as open(2) has them; not known: it may have read and
 * written. */
static void take_open(struct audit *w, uint64_t flags, bool known)
{
	const uint64_t access = flags & 3;
	if ((known && flags & 0x10000) || !audit_path_of(w, false, &w->value)) /* O_DIRECTORY */
		return;
	if (!known || access != 1)
		traced_access(&w->t, w->e.pid, buf_view(&w->value), TRACED_READ, w->e.time);
	if (!known || access)
		traced_access(&w->t, w->e.pid, buf_view(&w->value), TRACED_OPENED, w->e.time);
}

/* Notes that the process became another program, with its words, and that it read the file of it. */
static void take_audit_exec(struct audit *w)
{
	struct audited *e = &w->e;
	traced_exec(&w->t, e->pid, e->time);
	if (e->words.failed && !w->t.error) /* then the last one may lack its NUL */
		w->t.error = -ENOMEM;
	for (size_t at = 0; !e->words.failed && at < e->words.n;) {
		struct str word = str_of(e->words.p + at);
		traced_word(&w->t, e->pid, word);
		at += word.n + 1;
	}
	if (audit_path_of(w, true, &w->value))
		traced_access(&w->t, e->pid, buf_view(&w->value), TRACED_READ, e->time);
}

/* From the path that was removed to the one that was made: the first and the last. */
static void take_rename(struct audit *w)
{
	struct buf from = {0};
	if (audit_path_of(w, true, &from) && audit_path_of(w, false, &w->value))
		traced_rename(&w->t, buf_view(&from), buf_view(&w->value));
	buf_release(&from);
}

/* Tells what the gathered event did, if it is a successful call of x86-64, and empties w->e for the next. Errors stay
 * in w->t. */
static void end_event(struct audit *w)
{
	struct audited *e = &w->e;
	bool good = e->syscall && e->success && e->arch == ARCH_X86_64 && e->pid;
	if (good && e->cwd.n)
		traced_chdir(&w->t, e->pid, buf_view(&e->cwd));
	switch (good ? (int)(e->number & 0xffff) : -1) {
	case 2: /* open */
		take_open(w, e->a[1], true);
		break;
	case 85: /* creat */
		take_open(w, 1, true);
		break;
	case 257: /* openat */
		take_open(w, e->a[2], true);
		break;
	case 437: /* openat2, whose flags are in memory */
		take_open(w, 0, false);
		break;
	case 59:
	case 322:
		take_audit_exec(w);
		break;
	case 56: /* clone, fork, vfork, clone3 */
	case 57:
	case 58:
	case 435:
		if (e->exit > 0)
			traced_fork(&w->t, e->pid, (uint64_t)e->exit, e->number == 56 && e->a[0] & CLONE_THREAD, e->time);
		break;
	case 82:
	case 264:
	case 316:
		take_rename(w);
		break;
	case 87:
	case 263:
		if (audit_path_of(w, false, &w->value))
			traced_unlink(&w->t, buf_view(&w->value));
		break;
	case 231: /* exit_group */
		traced_exit(&w->t, e->pid, true, (int)(e->a[0] & 255), e->time);
		break;
	default:
		break;
	}
	e->syscall = e->success = false;
	buf_reset(&e->cwd);
	buf_reset(&e->words);
	for (size_t i = 0; i < PATHS; i++)
		e->path[i].named = false;
}

/* Takes a SYSCALL record: who made which call with which arguments, and how it ended. */
static void take_syscall(struct audit *w, struct str record)
{
	struct audited *e = &w->e;
	static const char *const names[] = {"a0", "a1", "a2", "a3"};
	e->syscall = true;
	e->success = str_is(field_of(record, "success"), "yes");
	e->arch = audit_number_of(field_of(record, "arch"), 16);
	e->number = audit_number_of(field_of(record, "syscall"), 10);
	e->pid = audit_number_of(field_of(record, "pid"), 10);
	e->exit = (int64_t)audit_number_of(field_of(record, "exit"), 10);
	for (size_t i = 0; i < 4; i++)
		e->a[i] = audit_number_of(field_of(record, names[i]), 16);
}

/* Takes a PATH record: the name with that number in the call; names beyond PATHS are passed over. */
static void take_audit_path(struct audit *w, struct str record)
{
	uint64_t item = audit_number_of(field_of(record, "item"), 10);
	if (item >= PATHS)
		return;
	w->e.path[item].named = text_of(field_of(record, "name"), &w->e.path[item].name);
	w->e.path[item].parent = str_is(field_of(record, "nametype"), "PARENT");
}

/* a0, a1, ..., in this order: as many as argc says, and no more than there are. */
static void take_audit_words(struct audit *w, struct str record)
{
	uint64_t n = audit_number_of(field_of(record, "argc"), 10);
	char name[24];
	for (uint64_t i = 0; i < n && i < ADOPT_WORDS_MOST; i++) {
		snprintf(name, sizeof(name), "a%llu", (unsigned long long)i);
		struct str value = field_of(record, name);
		if (!value.n)
			break;
		record = str_n(value.p + value.n, (size_t)(record.p + record.n - value.p) - value.n);
		if (!text_of(value, &w->value))
			buf_reset(&w->value);
		buf_str(&w->e.words, str_n(w->value.p, w->value.n ? strnlen(w->value.p, w->value.n) : 0));
		buf_char(&w->e.words, '\0');
	}
}

/* "type=SYSCALL msg=audit(1364481363.243:24287): REST". False: it is no record. */
static bool take_audit_head(struct str line, struct str *ret_type, int64_t *ret_time, uint64_t *ret_serial)
{
	const char *type = line.n ? memmem(line.p, line.n, "type=", 5) : NULL;
	const char *msg = type ? memmem(type, (size_t)(line.p + line.n - type), " msg=audit(", 11) : NULL;
	if (!msg)
		return false;
	*ret_type = str_n(type + 5, (size_t)(msg - type) - 5);
	struct str rest = str_n(msg + 11, (size_t)(line.p + line.n - msg) - 11);
	const char *dot = memchr(rest.p, '.', rest.n), *colon = memchr(rest.p, ':', rest.n),
	           *close = memchr(rest.p, ')', rest.n);
	if (!dot || !colon || !close || dot > colon || colon > close || colon - dot != 4)
		return false;
	uint64_t seconds = audit_number_of(str_n(rest.p, (size_t)(dot - rest.p)), 10);
	uint64_t millis = audit_number_of(str_n(dot + 1, 3), 10);
	*ret_serial = audit_number_of(str_n(colon + 1, (size_t)(close - colon) - 1), 10);
	if (!seconds || seconds >= 9000000000ull || millis >= 1000)
		return false;
	*ret_time = (int64_t)(seconds * 1000 + millis) * 1000000;
	return true;
}

/* Adds a line to the gathered event; a line of another event, or EOE, ends that first. A line without a head is
 * passed over. */
static void take_audit_line(struct audit *w, struct str line)
{
	struct str type;
	int64_t time;
	uint64_t serial;
	if (!take_audit_head(line, &type, &time, &serial))
		return;
	if (serial != w->e.serial || str_is(type, "EOE"))
		end_event(w);
	w->e.serial = serial;
	w->e.time = time;
	if (str_is(type, "SYSCALL"))
		take_syscall(w, line);
	else if (str_is(type, "CWD"))
		(void)text_of(field_of(line, "cwd"), &w->e.cwd);
	else if (str_is(type, "PATH"))
		take_audit_path(w, line);
	else if (str_is(type, "EXECVE"))
		take_audit_words(w, line);
}

int adopt_read_audit(struct adopt_jobs *l, int folder, const char *path, const char *name)
{
	struct buf text = {0}, source = {0};
	struct audit w = {.error = 0};
	uint64_t jobs = 0;
	buf_printf(&source, "%s/%s", path, name);
	int rc = adopt_file(folder, name, &text);
	if (rc == 0 && text.n && memmem(text.p, text.n < HEAD ? text.n : HEAD, " msg=audit(", 11)) {
		const char *from = adopt_text(l, buf_view(&source));
		traced_begin(&w.t, l, ADOPT_audit, from ? from : "");
		w.t.inherit = true;
		for (size_t at = 0; from && at < text.n && !w.t.error;) {
			const char *end = memchr(text.p + at, '\n', text.n - at);
			size_t n = end ? (size_t)(end - text.p) - at : text.n - at;
			if (n <= LINE_MOST)
				take_audit_line(&w, str_n(text.p + at, n));
			at += n + 1;
		}
		end_event(&w);
		rc = traced_finish(&w.t, &jobs);
		rc = from ? rc : -ENOMEM;
		l->sources[ADOPT_audit] += rc == 0;
	}
	for (size_t i = 0; i < PATHS; i++)
		buf_release(&w.e.path[i].name);
	buf_release(&w.e.cwd);
	buf_release(&w.e.words);
	buf_release(&w.value);
	buf_release(&w.other);
	buf_release(&text);
	buf_release(&source);
	return rc == -ENOMEM ? rc : 0;
}
