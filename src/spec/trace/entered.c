#include "spec/trace/entered.h"

#include "spec/trace/lines.h"
#include "spec/trace/reserve.h"
#include "spec/trace/vocabulary.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BYTES_MAX ((size_t)256 << 20)
enum { NAMES_MAX = 1 << 20, DEPTH_MAX = 1 << 22 };

struct reader {
	struct entered *e;
	uint32_t cap, cap_names;
	uint32_t *open, n_open, cap_open; /* events that enter and were not left */
};

/* n: how many bytes first has. */
bool entered_is(const char *first, size_t n)
{
	return n >= 16 && !memcmp(first, ENTERED_MAGIC, 16);
}

/* e is empty then. */
void entered_release(struct entered *e)
{
	call_events_release(&e->events);
	*e = (struct entered){0};
}

/* Reads a line of the head. 1: the head is over. 0: it goes on; -EBADMSG. */
static int read_entered_head(struct reader *r, const char *p, const char *end)
{
	struct trace_info *i = &r->e->info;
	uint64_t a, b, c;
	char name[4096];
	if (p == end)
		return 1;
	if (line_begins(&p, end, "exe")) {
		if (!line_name(p, end, name, sizeof(name)))
			return -EBADMSG;
		snprintf(i->exe, sizeof(i->exe), "%.255s", name);
	} else if (line_begins(&p, end, "thread")) {
		if (!line_name(p, end, i->thread, sizeof(i->thread)))
			return -EBADMSG;
	} else if (line_begins(&p, end, "state")) {
		if (!line_number(&p, end, &a) || !line_number(&p, end, &b) || b > INT64_MAX)
			return -EBADMSG;
		r->e->size = a;
		r->e->time = (int64_t)b;
	} else if (line_begins(&p, end, "process")) {
		if (!line_number(&p, end, &a) || !line_number(&p, end, &b) || !line_number(&p, end, &c) || a > INT32_MAX)
			return -EBADMSG;
		i->pid = (uint32_t)a;
		i->started = b;
		i->began = c;
	}
	return 0; /* others are of a later version */
}

/* Reads the line of a function. -EBADMSG: no name, or too many; -ENOMEM. */
static int function_line(struct reader *r, const char *p, const char *end)
{
	struct call_events *e = &r->e->events;
	char name[4096];
	if (!line_name(p, end, name, sizeof(name)) || !*name)
		return -EBADMSG;
	int rc =
	    e->n_names < NAMES_MAX ? reserve_one_more(&e->names, &r->cap_names, e->n_names, sizeof(*e->names)) : -ENOMEM;
	if (rc == 0 && !(e->names[e->n_names] = strdup(name)))
		rc = -ENOMEM;
	e->n_names += rc == 0;
	return rc;
}

/* Reads the line of an entry. how: the line's letter: c called, b begun before, o from outside. -EBADMSG, -ENOMEM. */
static int enter_line(struct reader *r, char how, const char *p, const char *end)
{
	struct call_events *e = &r->e->events;
	uint64_t function;
	if (!line_number(&p, end, &function) || p != end || function >= e->n_names || r->n_open >= DEPTH_MAX)
		return -EBADMSG;
	int rc = reserve_one_more(&e->v, &r->cap, e->n, sizeof(*e->v));
	if (rc == 0)
		rc = reserve_one_more(&r->open, &r->cap_open, r->n_open, sizeof(*r->open));
	if (rc < 0)
		return rc;
	r->open[r->n_open++] = e->n;
	e->v[e->n++] = (struct call_event){.name = (uint32_t)function, .outside = how != 'c', .begun = how == 'b'};
	return 0;
}

/* So many functions are left. -EBADMSG, -ENOMEM. */
static int leave_line(struct reader *r, const char *p, const char *end)
{
	struct call_events *e = &r->e->events;
	uint64_t n;
	if (!line_number(&p, end, &n) || p != end || n > r->n_open)
		return -EBADMSG;
	for (; n; n--) {
		int rc = reserve_one_more(&e->v, &r->cap, e->n, sizeof(*e->v));
		if (rc < 0)
			return rc;
		uint32_t of = r->open[--r->n_open];
		e->v[of].other = e->n;
		e->v[e->n++] = (struct call_event){.name = e->v[of].name, .other = of, .leave = true};
	}
	return 0;
}

/* Reads how the trace ended. 0, -EBADMSG. */
static int read_entered_end(struct reader *r, const char *p, const char *end)
{
	char how[32];
	uint64_t signal;
	if (line_begins(&p, end, "killed")) {
		if (!line_number(&p, end, &signal) || !signal || signal > 127)
			return -EBADMSG;
		r->e->killed = (int)signal;
		return 0;
	}
	if (!line_name(p, end, how, sizeof(how)))
		return -EBADMSG;
	r->e->info.end = !strcmp(how, "exit")      ? TRACE_EXIT
	                 : !strcmp(how, "thread")  ? TRACE_THREAD
	                 : !strcmp(how, "stopped") ? TRACE_STOPPED
	                                           : TRACE_CUT;
	r->e->replaced = !strcmp(how, "exec");
	return 0;
}

/* Lines of letters that it does not know are of later versions, and passed over. -EBADMSG, -ENOMEM. */
static int read_entered_event(struct reader *r, const char *p, const char *end)
{
	if (end - p < 2 || p[1] != ' ')
		return -EBADMSG;
	switch (*p) {
	case 'f':
		return function_line(r, p + 2, end);
	case 'b':
	case 'c':
	case 'o':
		return enter_line(r, *p, p + 2, end);
	case 'r':
		return leave_line(r, p + 2, end);
	case 'g':
		r->e->gaps++;
		return 0;
	case 'e':
		return read_entered_end(r, p + 2, end);
	default:
		return *p >= 'a' && *p <= 'z' ? 0 : -EBADMSG;
	}
}

int entered_read(const char *text, size_t n, struct err *err, struct entered *ret)
{
	struct reader r = {.e = ret};
	const size_t magic = sizeof(ENTERED_MAGIC) - 1;
	bool head = true;
	int rc = 0;
	*ret = (struct entered){.events = {.chosen = true, .line = 1}};
	if (n < magic || memcmp(text, ENTERED_MAGIC, magic) != 0) {
		err_set(err, 0,
		        entered_is(text, n) ? "the trace is of a later version" : "the file is not a trace of functions");
		return -EBADMSG;
	}
	for (const char *p = text + magic, *stop = text + n; rc == 0 && p < stop;) {
		const char *end = memchr(p, '\n', (size_t)(stop - p));
		if (!end)
			break; /* cut in the middle of a line: whole up to here */
		ret->events.line++;
		rc = head ? read_entered_head(&r, p, end) : read_entered_event(&r, p, end);
		head &= rc != 1;
		rc = rc == 1 ? 0 : rc;
		p = end + 1;
	}
	for (uint32_t i = 0; i < r.n_open; i++)
		ret->events.v[r.open[i]].other = ret->events.n;
	free(r.open);
	if (rc == -EBADMSG && !head) {
		ret->events.damaged = true;
		ret->info.end = TRACE_CUT;
		rc = 0;
	}
	if (rc == 0)
		return 0;
	unsigned line = ret->events.line;
	entered_release(ret);
	if (rc == -EBADMSG)
		err_set(err, 0, "the trace's line %u is damaged", line);
	else
		err_set(err, -rc, "cannot read the trace");
	return rc;
}

/* 0; -EBADMSG with a sentence; -errno. Release in any case. */
int entered_load(const char *path, struct err *err, struct entered *ret)
{
	char *text;
	size_t n;
	struct err why = {0};
	*ret = (struct entered){0};
	int r = vocabulary_load_text(path, BYTES_MAX, err, &text, &n);
	if (r < 0)
		return r;
	r = entered_read(text, n, &why, ret);
	free(text);
	return vocabulary_report_text(r, path, &why, err);
}
