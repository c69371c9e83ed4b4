/* stemma-evtext - segments to text and back (doc/format/event-log.md, "Text form").
 *
 *     stemma-evtext dump FILE...     segments to JSON lines on standard output; damage is told on standard error
 *     stemma-evtext make OUT         JSON lines on standard input to a segment
 *     stemma-evtext pack OUT         the same, its frames packed */
#include "base/io.h"
#include "event/event.h"
#include "event/log_frame.h"
#include "event/log_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Dump. */

static void print_quoted(struct str s)
{
	putchar('"');
	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];
		if (c == '"' || c == '\\')
			printf("\\%c", c);
		else if (c < 0x20 || c > 0x7e)
			printf("\\u%04x", c);
		else
			putchar(c);
	}
	putchar('"');
}

static void print_u64(const char *name, uint64_t v)
{
	if (v)
		printf(",\"%s\":%" PRIu64, name, v);
}

static __attribute__((unused)) void print_i64(const char *name, int64_t v)
{
	if (v)
		printf(",\"%s\":%" PRId64, name, v);
}

static void print_time(const char *name, int64_t v)
{
	if (v != TIME_NONE)
		printf(",\"%s\":%" PRId64, name, v);
}

static void print_str(const char *name, struct str s)
{
	if (s.n) {
		printf(",\"%s\":", name);
		print_quoted(s);
	}
}

static void print_id(const char *name, struct str s)
{
	print_str(name, s);
}

static void print_list(const char *name, struct strlist l)
{
	struct str s;
	size_t pos = 0;
	if (!l.count)
		return;
	printf(",\"%s\":[", name);
	for (bool first = true; strlist_next(&l, &pos, &s); first = false) {
		if (!first)
			putchar(',');
		print_quoted(s);
	}
	putchar(']');
}

static void print_event(const struct event *ev)
{
	printf("{\"session\":\"%016" PRIx64 "\",\"seq\":%" PRIu64 ",\"t\":%" PRId64 ",\"k\":\"%s\"", ev->writer, ev->seq,
	       ev->time, event_kind_name(ev->kind));
	print_u64("p", ev->proc);
	switch (ev->kind) {
#define EVENT(number, name, meaning)                                                                                   \
	case number: {                                                                                                     \
		const struct event_##name *e = &ev->name;                                                                      \
		(void)e;
#define FIELD(event, type, name, meaning) print_##type(#name, e->name);
#define END(event)                                                                                                     \
	break;                                                                                                             \
	}
#include "event/events.def"
#undef EVENT
#undef FIELD
#undef END
	default:
		print_u64("kind", ev->kind);
	}
	puts("}");
}

static int dump(const char *path)
{
	struct err err = {0};
	struct log_reader *r;
	struct log_frame_info frame;
	struct event ev;
	int k = log_reader_open(path, &err, &r);
	if (k < 0) {
		fprintf(stderr, "stemma-evtext: %s\n", err.text);
		return k;
	}
	while ((k = log_reader_frame(r, &frame)) == 1)
		while (log_reader_event(r, &ev))
			print_event(&ev);
	const struct log_damage *d = log_reader_damage(r);
	if (k < 0)
		fprintf(stderr, "stemma-evtext: %s: %s\n", path, strerror(-k));
	if (d->skipped || d->torn || d->newer || d->bad_events)
		fprintf(stderr,
		        "stemma-evtext: %s: skipped %" PRIu64 " bytes, torn %" PRIu64 " bytes, newer %" PRIu64
		        " frames, unreadable %" PRIu64 " frames\n",
		        path, d->skipped, d->torn, d->newer, d->bad_events);
	log_reader_close(r);
	return k;
}

/* Make. */

static unsigned long line_number;

static _Noreturn void bad(const char *what, const char *name)
{
	fprintf(stderr, "stemma-evtext: line %lu: %s%s%s\n", line_number, what, name ? " " : "", name ? name : "");
	exit(1);
}

/* Strings of the events of one line live here until it is encoded. */
static struct {
	void **p;
	size_t n, cap;
} arena;

static void *keep(void *p)
{
	if (arena.n == arena.cap) {
		arena.cap = arena.cap ? 2 * arena.cap : 64;
		arena.p = realloc(arena.p, arena.cap * sizeof(*arena.p));
	}
	if (!p || !arena.p)
		bad("out of memory", NULL);
	return arena.p[arena.n++] = p;
}

static void drop(void)
{
	while (arena.n)
		free(arena.p[--arena.n]);
}

/* One character U+0000 ... U+00FF a byte. */
static struct str get_bytes(const json_t *v, const char *name)
{
	if (!json_is_string(v))
		bad("not a string:", name);
	const unsigned char *s = (const unsigned char *)json_string_value(v);
	size_t n = json_string_length(v), len = 0;
	char *out = keep(malloc(n + 1));
	for (size_t i = 0; i < n; i++) {
		if (s[i] < 0x80)
			out[len++] = (char)s[i];
		else if (s[i] <= 0xc3 && i + 1 < n) /* two bytes of UTF-8 reach U+00FF so far; jansson has checked them */
			out[len++] = (char)(s[i] << 6 | (s[i + 1] & 0x3f)), i++;
		else
			bad("a character above U+00FF in", name);
	}
	return str_n(out, len);
}

/* Numbers of 19 digits or more come as strings, see quote_long. */
static bool get_number(const json_t *v, bool sign, uint64_t *ret)
{
	char *end;
	if (json_is_integer(v)) {
		*ret = (uint64_t)json_integer_value(v);
		return sign || json_integer_value(v) >= 0;
	}
	const char *s = json_string_value(v);
	if (!s || !*s || strspn(s, "-0123456789") != strlen(s) || (*s == '-' && !sign))
		return false;
	errno = 0;
	*ret = sign ? (uint64_t)strtoll(s, &end, 10) : strtoull(s, &end, 10);
	return !*end && !errno;
}

static uint64_t get_session(const json_t *v)
{
	const char *s = json_string_value(v);
	uint64_t number = 0;
	if (s && strlen(s) <= 16 && strspn(s, "0123456789abcdef") == strlen(s))
		number = strtoull(s, NULL, 16);
	if (!number)
		bad("session must be 16 hex digits, not all 0", NULL);
	return number;
}

static uint64_t field_u64(json_t *line, const char *name)
{
	uint64_t v = 0;
	json_t *j = json_object_get(line, name);
	if (j && !get_number(j, false, &v))
		bad("not an unsigned number:", name);
	return v;
}

static int64_t field_signed(json_t *line, const char *name, int64_t missing)
{
	uint64_t v = (uint64_t)missing;
	json_t *j = json_object_get(line, name);
	if (j && !get_number(j, true, &v))
		bad("not a number:", name);
	return (int64_t)v;
}

static __attribute__((unused)) int64_t field_i64(json_t *line, const char *name)
{
	return field_signed(line, name, 0);
}

static int64_t field_time(json_t *line, const char *name)
{
	return field_signed(line, name, TIME_NONE);
}

static struct str field_str(json_t *line, const char *name)
{
	json_t *j = json_object_get(line, name);
	return j ? get_bytes(j, name) : (struct str){0};
}

static struct str field_id(json_t *line, const char *name)
{
	return field_str(line, name);
}

static struct strlist field_list(json_t *line, const char *name)
{
	json_t *j = json_object_get(line, name);
	if (!j)
		return (struct strlist){0};
	if (!json_is_array(j))
		bad("not an array:", name);
	size_t n = json_array_size(j);
	struct str *items = keep(calloc(n + 1, sizeof(*items)));
	for (size_t i = 0; i < n; i++)
		items[i] = get_bytes(json_array_get(j, i), name);
	return (struct strlist){.items = items, .count = n};
}

/* Is `key` a field of the kind, or one that all have? A misspelt name must not vanish. */
static bool is_field(uint64_t kind, const char *key)
{
	static const struct {
		uint64_t kind;
		const char *name;
	} fields[] = {
	    {0, "session"}, {0, "seq"}, {0, "t"}, {0, "k"}, {0, "p"},
#define EVENT(number, name, meaning)
#define FIELD(event, type, name, meaning) {EVENT_##event, #name},
#define END(event)
#include "event/events.def"
#undef EVENT
#undef FIELD
#undef END
	};
	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++)
		if ((fields[i].kind == 0 || fields[i].kind == kind) && strcmp(fields[i].name, key) == 0)
			return true;
	return false;
}

static void parse_event(json_t *line, struct event *ev)
{
	const char *kind = json_string_value(json_object_get(line, "k")), *key;
	json_t *v;
	if (!kind)
		bad("no kind: k", NULL);
	ev->kind = 0;
#define EVENT(number, name, meaning)                                                                                   \
	if (strcmp(kind, #name) == 0) {                                                                                    \
		struct event_##name *e = &ev->name;                                                                            \
		(void)e;                                                                                                       \
		ev->kind = number;
#define FIELD(event, type, name, meaning) e->name = field_##type(line, #name);
#define END(event) }
#include "event/events.def"
#undef EVENT
#undef FIELD
#undef END
	if (!ev->kind)
		bad("unknown kind:", kind);
	json_object_foreach(line, key, v) if (!is_field(ev->kind, key)) bad("unknown field:", key);
	ev->time = field_signed(line, "t", 0);
	ev->proc = field_u64(line, "p");
}

/* jansson's integers end at 2^63-1, but identities are of 64 bits: numbers of 19 digits or more are made strings. */
static void quote_long(struct buf *out, const char *s)
{
	bool text = false;
	while (*s) {
		size_t digits = text ? 0 : strspn(s + (*s == '-'), "0123456789") + (*s == '-');
		if (digits) {
			if (digits >= 19)
				buf_char(out, '"');
			buf_add(out, s, digits);
			if (digits >= 19)
				buf_char(out, '"');
			s += digits;
			continue;
		}
		if (*s == '"')
			text = !text;
		if (*s == '\\' && text && s[1])
			buf_char(out, *s++);
		buf_char(out, *s++);
	}
}

#define GATHER 4096 /* as log_writer does */

struct session {
	uint64_t id, next; /* seq */
	uint32_t frames;
};

static struct session *session_of(uint64_t id)
{
	static struct session *all;
	static size_t n;
	for (size_t i = 0; i < n; i++)
		if (all[i].id == id)
			return &all[i];
	all = realloc(all, (n + 1) * sizeof(*all));
	if (!all)
		bad("out of memory", NULL);
	all[n] = (struct session){.id = id, .next = 1};
	return &all[n++];
}

static bool packed; /* as the recorder writes them; else as they were written before frames were packed */

static void finish_frame(int fd, struct buf *frame, struct log_frame *h)
{
	if (h->count) {
		h->size = (uint32_t)(frame->n - sizeof(*h));
		if (h->size > LOG_PAYLOAD_MAX)
			bad("larger than an event can be", NULL);
		struct buf out = {0};
		size_t n = packed ? 0 : log_frame_build(frame->p, h);
		int r = packed ? log_frame_add(&out, h, frame->p + sizeof(*h)) : 0;
		r = r < 0 ? r : io_write(fd, packed ? out.p : frame->p, packed ? out.n : n, NULL);
		buf_release(&out);
		if (r < 0) {
			fprintf(stderr, "stemma-evtext: cannot write: %s\n", strerror(-r));
			exit(1);
		}
	}
	struct log_frame empty = {0};
	buf_reset(frame);
	buf_add(frame, &empty, sizeof(empty));
	h->count = 0;
}

static int make(const char *path)
{
	struct buf frame = {0}, quoted = {0};
	struct log_frame h = {0};
	struct session *current = NULL;
	int64_t before = 0;
	char *line = NULL;
	size_t cap = 0;
	ssize_t n;
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd < 0) {
		fprintf(stderr, "stemma-evtext: cannot write %s: %s\n", path, strerror(errno));
		return 1;
	}
	finish_frame(fd, &frame, &h);
	while ((n = getline(&line, &cap, stdin)) > 0) {
		line_number++;
		if (line[strspn(line, " \t\r\n")] == '\0' || line[0] == '#')
			continue;
		json_error_t why;
		buf_reset(&quoted);
		quote_long(&quoted, line);
		json_t *j = json_loadb(buf_cstr(&quoted), quoted.n, JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES, &why);
		if (!json_is_object(j))
			bad(j ? "not an object" : why.text, NULL);
		struct event ev;
		parse_event(j, &ev);
		/* Without a session the one of the line before goes on, without a seq the next one comes. */
		json_t *id = json_object_get(j, "session");
		uint64_t number = id ? get_session(id) : current ? current->id : 1;
		struct session *s = session_of(number);
		uint64_t seq = json_object_get(j, "seq") ? field_u64(j, "seq") : s->next;
		if (!seq || seq == UINT64_MAX)
			bad("seq out of range", NULL);
		if (s->id != h.session || seq != h.seq + h.count || frame.n >= sizeof(h) + GATHER)
			finish_frame(fd, &frame, &h);
		if (h.count == 0) {
			h = (struct log_frame){.session = s->id, .number = s->frames++, .seq = seq, .time = ev.time};
			before = ev.time;
		}
		if (event_encode(&frame, &ev, before) < 0)
			bad("out of memory", NULL);
		before = ev.time;
		h.count++;
		s->next = seq + 1;
		current = s;
		drop();
		json_decref(j);
	}
	finish_frame(fd, &frame, &h);
	buf_release(&frame);
	buf_release(&quoted);
	free(line);
	free(arena.p);
	if (close(fd) < 0) {
		fprintf(stderr, "stemma-evtext: cannot write %s: %s\n", path, strerror(errno));
		return 1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	if (argc >= 3 && strcmp(argv[1], "dump") == 0) {
		int status = 0;
		for (int i = 2; i < argc; i++)
			if (dump(argv[i]) < 0)
				status = 1;
		if (fflush(stdout) != 0 || ferror(stdout))
			status = 1;
		return status;
	}
	packed = argc == 3 && strcmp(argv[1], "pack") == 0;
	if (argc == 3 && (packed || strcmp(argv[1], "make") == 0))
		return make(argv[2]);
	fprintf(stderr, "usage: stemma-evtext dump FILE... | make OUT | pack OUT\n");
	return 2;
}
