#include "spec/trace/calls_text.h"
#include "spec/trace/reserve.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BYTES_MAX ((size_t)256 << 20)
enum { DESCRIPTORS = 65536, WORD_MAX = CALLS_TEXT };

/* What a descriptor is now: words. */
struct is {
	uint32_t kind, path;
};
struct reader {
	struct calls *c;
	uint32_t cap;
	struct is *is; /* by descriptor */
	size_t n_is;
	char cwd[4096];
	uint32_t given[2]; /* of the call that comes */
	unsigned n_given;
	uint32_t stack, has_stack; /* that holds now */
};

/* n: how many bytes first has. */
bool calls_is(const char *first, size_t n)
{
	return n >= 12 && !memcmp(first, CALLS_MAGIC, 12);
}

/* c is empty then. */
void calls_release(struct calls *c)
{
	free(c->v);
	free(c->frames);
	free(c->stacks);
	traced_stacks_release(c->raw);
	vocabulary_release(&c->words);
	*c = (struct calls){0};
}

/* Lower case only; -1: none. */
static int hex_digit_of(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool calls_text(const char *p, const char *end, char *ret, size_t size)
{
	size_t n = 0;
	for (; p < end; p++) {
		if (n + 1 >= size || !*p)
			return false;
		if (*p != '\\') {
			ret[n++] = *p;
			continue;
		}
		if (end - p < 4 || p[1] != 'x' || hex_digit_of(p[2]) < 0 || hex_digit_of(p[3]) < 0 ||
		    (!hex_digit_of(p[2]) && !hex_digit_of(p[3])))
			return false;
		ret[n++] = (char)(hex_digit_of(p[2]) << 4 | hex_digit_of(p[3]));
		p += 3;
	}
	ret[n] = '\0';
	return true;
}

bool calls_number(const char **p, const char *end, int64_t *ret)
{
	const char *q = *p;
	bool minus = q < end && *q == '-';
	int64_t v = 0;
	q += minus;
	if (q >= end || *q < '0' || *q > '9')
		return false;
	for (; q < end && *q >= '0' && *q <= '9'; q++) {
		if (v > (INT64_MAX - 9) / 10)
			return false;
		v = 10 * v + (*q - '0');
	}
	if (q < end && *q++ != ' ')
		return false;
	*p = q;
	*ret = minus ? -v : v;
	return true;
}

size_t calls_token_at(const char **p, const char *end, const char **ret)
{
	const char *space = memchr(*p, ' ', (size_t)(end - *p));
	size_t n = (size_t)((space ? space : end) - *p);
	*ret = *p;
	*p = space ? space + 1 : end;
	return n;
}

/* A path as runs in different folders have in common. */
static const char *shorten_path(const struct reader *r, const char *path)
{
	size_t n = strlen(r->cwd);
	if (n > 1 && !strncmp(path, r->cwd, n) && path[n] == '/' && path[n + 1])
		return path + n + 1;
	return path;
}

/* /proc/NUMBER of the process itself: the number is another in each run. */
static const char *own_folder(const struct reader *r, const char *path, char *room, size_t n)
{
	char own[32];
	int k = snprintf(own, sizeof(own), "/proc/%u/", r->c->info.pid);
	if (strncmp(path, own, (size_t)k) != 0 || snprintf(room, n, "/proc/self/%s", path + k) >= (int)n)
		return path;
	return room;
}

/* The word of a path, shortened as those of the run's folder and home are. -EBADMSG, -ENOMEM. */
static int intern_path(struct reader *r, const char *p, const char *end, uint32_t *ret)
{
	char name[WORD_MAX], room[WORD_MAX];
	if (!calls_text(p, end, name, sizeof(name)))
		return -EBADMSG;
	const char *is = own_folder(r, shorten_path(r, name), room, sizeof(room));
	return vocabulary_number(&r->c->words, is, strlen(is), ret);
}

/* ---- the lines ---- */

/* Reads a line of the head. 1: the head is over. 0: it goes on; -EBADMSG. */
static int read_calls_head(struct reader *r, const char *p, const char *end)
{
	struct trace_info *i = &r->c->info;
	char name[WORD_MAX];
	const char *key;
	int64_t a, b, c;
	if (p == end)
		return 1;
	size_t n = calls_token_at(&p, end, &key);
	if (n == 3 && !memcmp(key, "exe", n)) {
		if (!calls_text(p, end, name, sizeof(name)))
			return -EBADMSG;
		snprintf(i->exe, sizeof(i->exe), "%.255s", name);
	} else if (n == 3 && !memcmp(key, "cwd", n)) {
		if (!calls_text(p, end, r->cwd, sizeof(r->cwd)))
			return -EBADMSG;
	} else if (n == 6 && !memcmp(key, "thread", n)) {
		if (!calls_text(p, end, i->thread, sizeof(i->thread)))
			return -EBADMSG;
	} else if (n == 5 && !memcmp(key, "began", n)) {
		r->c->whole = end - p == 4 && !memcmp(p, "exec", 4);
	} else if (n == 5 && !memcmp(key, "state", n)) {
		if (!calls_number(&p, end, &a) || !calls_number(&p, end, &b) || a < 0)
			return -EBADMSG;
		r->c->size = (uint64_t)a;
		r->c->time = b;
	} else if (n == 7 && !memcmp(key, "process", n)) {
		if (!calls_number(&p, end, &a) || !calls_number(&p, end, &b) || !calls_number(&p, end, &c) || a < 0 ||
		    a > INT32_MAX)
			return -EBADMSG;
		i->pid = (uint32_t)a;
		i->started = (uint64_t)b;
		i->began = (uint64_t)c;
	}
	return 0; /* others are of a later version */
}

/* What a descriptor is from here on. -EBADMSG, -ENOMEM. */
static int descriptor_line(struct reader *r, const char *p, const char *end)
{
	int64_t fd;
	const char *kind;
	struct is is;
	if (!calls_number(&p, end, &fd) || fd < 0 || fd >= DESCRIPTORS)
		return fd >= DESCRIPTORS ? 0 : -EBADMSG; /* what those are is not kept */
	size_t n = calls_token_at(&p, end, &kind);
	int rc = n && n < 32 && !memchr(kind, 0, n) ? vocabulary_number(&r->c->words, kind, n, &is.kind) : -EBADMSG;
	if (rc == 0)
		rc = intern_path(r, p, end, &is.path);
	if (rc < 0)
		return rc;
	if ((size_t)fd >= r->n_is) {
		size_t more = (size_t)fd + 64;
		struct is *v = realloc(r->is, more * sizeof(*v));
		if (!v)
			return -ENOMEM;
		memset(v + r->n_is, 0, (more - r->n_is) * sizeof(*v));
		r->is = v;
		r->n_is = more;
	}
	r->is[fd] = is;
	return 0;
}

/* A call, with what its descriptor and arguments were said to be. -EBADMSG, -ENOMEM. */
static int call_line(struct reader *r, const char *p, const char *end)
{
	struct calls *c = r->c;
	struct traced_call t = {.fd = -1, .stack = r->stack, .depth = r->has_stack};
	const char *name, *none;
	int64_t fd = -1;
	size_t n = calls_token_at(&p, end, &name);
	int rc = n && n < 64 && !memchr(name, 0, n) ? vocabulary_number(&c->words, name, n, &t.name) : -EBADMSG;
	if (rc < 0)
		return rc;
	if (end - p > 1 && p[0] == '-' && p[1] == ' ')
		calls_token_at(&p, end, &none);
	else if (!calls_number(&p, end, &fd) || fd < INT32_MIN || fd > INT32_MAX)
		return -EBADMSG;
	if (!calls_number(&p, end, &t.value) || p != end)
		return -EBADMSG;
	t.fd = (int32_t)fd;
	if (fd >= 0 && (size_t)fd < r->n_is) {
		t.kind = r->is[fd].kind;
		t.path = r->is[fd].path;
	}
	memcpy(t.given, r->given, sizeof(t.given));
	rc = reserve_one_more(&c->v, &r->cap, c->n, sizeof(*c->v));
	if (rc < 0)
		return rc;
	c->v[c->n++] = t;
	r->given[0] = r->given[1] = 0;
	r->n_given = 0;
	return 0;
}

/* Of how a thread ended; what is not known counts as cut off. 0. */
static int read_calls_end(struct reader *r, const char *p, const char *end)
{
	struct calls *c = r->c;
	const char *how;
	int64_t signal;
	size_t n = calls_token_at(&p, end, &how);
	c->info.end = n == 4 && !memcmp(how, "exit", n)      ? TRACE_EXIT
	              : n == 6 && !memcmp(how, "thread", n)  ? TRACE_THREAD
	              : n == 7 && !memcmp(how, "stopped", n) ? TRACE_STOPPED
	                                                     : TRACE_CUT;
	c->replaced = n == 4 && !memcmp(how, "exec", n);
	if (n == 6 && !memcmp(how, "killed", n) && calls_number(&p, end, &signal) && signal > 0 && signal < 128)
		c->killed = (int)signal;
	return 0;
}

/* Lines of letters that it does not know are of later versions, and passed over. -EBADMSG, -ENOMEM. */
static int read_calls_event(struct reader *r, const char *p, const char *end)
{
	if (end - p < 2 || p[1] != ' ')
		return -EBADMSG;
	const char *rest = p + 2;
	switch (*p) {
	case 'd':
		return descriptor_line(r, rest, end);
	case 'a':
		return r->n_given < 2 ? intern_path(r, rest, end, &r->given[r->n_given++]) : -EBADMSG;
	case 'c':
		return call_line(r, rest, end);
	case 'm':
	case 'f':
	case 'k':
		return traced_stacks_line(r->c, *p, rest, end);
	case 's':
		return traced_stacks_holds(r->c, rest, end, &r->stack, &r->has_stack);
	case 'g':
		r->c->gaps++;
		return 0;
	case 'e':
		return read_calls_end(r, rest, end);
	default:
		return *p >= 'a' && *p <= 'z' ? 0 : -EBADMSG;
	}
}

int calls_read(const char *text, size_t n, struct err *err, struct calls *ret)
{
	struct reader r = {.c = ret};
	const size_t magic = sizeof(CALLS_MAGIC) - 1;
	uint32_t empty;
	bool head = true;
	*ret = (struct calls){0};
	if (n < magic || memcmp(text, CALLS_MAGIC, magic) != 0) {
		err_set(err, 0, calls_is(text, n) ? "the trace is of a later version" : "the file is not a trace of calls");
		return -EBADMSG;
	}
	int rc = vocabulary_number(&ret->words, "", 0, &empty);
	ret->line = 1;
	for (const char *p = text + magic, *stop = text + n; rc == 0 && p < stop;) {
		const char *end = memchr(p, '\n', (size_t)(stop - p));
		if (!end)
			break; /* cut in the middle of a line: whole up to here */
		ret->line++;
		rc = head ? read_calls_head(&r, p, end) : read_calls_event(&r, p, end);
		head &= rc != 1;
		rc = rc == 1 ? 0 : rc;
		p = end + 1;
	}
	free(r.is);
	if (rc == -EBADMSG && !head) {
		ret->damaged = true;
		ret->info.end = TRACE_CUT;
		rc = 0;
	}
	if (rc == 0)
		return 0;
	unsigned line = ret->line;
	calls_release(ret);
	if (rc == -EBADMSG)
		err_set(err, 0, "the trace's line %u is damaged", line);
	else
		err_set(err, -rc, "cannot read the trace");
	return rc;
}

/* The names are beside the trace; without them addresses stand for functions. 0, -ENOMEM. */
static int name_by_file(struct calls *c, const char *path)
{
	struct buf beside = {0};
	struct err none = {0};
	const char *slash = strrchr(path, '/');
	char *text = NULL;
	size_t n = 0;
	buf_add(&beside, path, slash ? (size_t)(slash - path) + 1 : 0);
	buf_printf(&beside, "%s", CALLS_NAMES);
	if (c->raw && (beside.failed || vocabulary_load_text(buf_cstr(&beside), BYTES_MAX, &none, &text, &n) < 0))
		text = NULL;
	buf_release(&beside);
	int r = calls_name(c, text, text ? n : 0);
	free(text);
	return r;
}

/* 0; -EBADMSG with a sentence; -errno. Release in any case. */
int calls_load(const char *path, struct err *err, struct calls *ret)
{
	char *text;
	size_t n;
	struct err why = {0};
	*ret = (struct calls){0};
	int r = vocabulary_load_text(path, BYTES_MAX, err, &text, &n);
	if (r < 0)
		return r;
	r = calls_read(text, n, &why, ret);
	free(text);
	if (r == 0 && (r = name_by_file(ret, path)) < 0)
		calls_release(ret);
	return vocabulary_report_text(r, path, &why, err);
}

/* CALL_FAILED, CALL_END (nothing more to read) or CALL_DID. */
enum call_result calls_result(const struct calls *c, const struct traced_call *t)
{
	const char *name = calls_text_of(c, t->name);
	if (t->value < 0)
		return CALL_FAILED;
	/* Only of what reads is nothing an answer of its own. */
	bool reads = strstr(name, "read") || !strncmp(name, "recv", 4) || !strcmp(name, "getdents64");
	return reads && t->value == 0 ? CALL_END : CALL_DID;
}
