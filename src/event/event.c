#include "event/event.h"

#include "base/strv.h"

#include <errno.h>
#include <stdlib.h>

/* The words. */

static const struct {
	enum term_set set;
	uint64_t number;
	const char *name, *meaning;
} terms[] = {
#define TERM(set, number, name, meaning) {SET_##set, number, #name, meaning},
#include "event/terms.def"
#undef TERM
};

const char *term_name(enum term_set set, uint64_t number)
{
	for (size_t i = 0; i < sizeof(terms) / sizeof(*terms); i++)
		if (terms[i].set == set && terms[i].number == number)
			return terms[i].name;
	return "?";
}

/* In words; "" for a number that is not known. Static. */
const char *term_meaning(enum term_set set, uint64_t number)
{
	for (size_t i = 0; i < sizeof(terms) / sizeof(*terms); i++)
		if (terms[i].set == set && terms[i].number == number)
			return terms[i].meaning;
	return "";
}

uint64_t gaps_that_lack(uint64_t gaps, enum gap_lack lack)
{
	uint64_t those = 0;
#define GAP(number, name, lacks, meaning)                                                                              \
	_Static_assert((number) < 32, "sets of gaps are bits of 32");                                                      \
	those |= ((unsigned)(lacks)&lack) == lack ? (uint64_t)1 << (number) : 0;
#include "event/gaps.def"
#undef GAP
	return gaps & those;
}

const char *event_kind_name(uint64_t kind)
{
	switch (kind) {
#define EVENT(number, name, meaning)                                                                                   \
	case number:                                                                                                       \
		return #name;
#define FIELD(event, type, name, meaning)
#define END(event)
#include "event/events.def"
#undef EVENT
#undef FIELD
#undef END
	default:
		return "?";
	}
}

/* Times are differences modulo 2^64, so that every int64_t, TIME_NONE too, comes back whatever it is relative to. ns.
 * */
static int64_t time_minus(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a - (uint64_t)b);
}

/* Wraps around: hostile logs may hold any times. */
static int64_t add_times_wrapping(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

/* One put_ and one get_ for each type of events.def. At the end of the event get_ gives what a missing field is. */

/* Appends a number. Nothing without memory: out->failed. */
static inline void put_u64(struct buf *out, uint64_t v, int64_t now)
{
	(void)now;
	if (buf_room(out, VARINT_MAX))
		out->n += varint_put((unsigned char *)out->p + out->n, v);
}

/* No field has this type yet. */
static inline __attribute__((unused)) void put_i64(struct buf *out, int64_t v, int64_t now)
{
	put_u64(out, zigzag(v), now);
}

/* t is written as the difference to now, ns. */
static inline void put_time(struct buf *out, int64_t t, int64_t now)
{
	put_u64(out, zigzag(time_minus(t, now)), 0);
}

/* Its length, then its bytes. */
static void put_str(struct buf *out, struct str s, int64_t now)
{
	put_u64(out, s.n, now);
	buf_str(out, s);
}

/* Appends an identifier. As put_str. */
static void put_id(struct buf *out, struct str s, int64_t now)
{
	put_str(out, s, now);
}

/* The number of items, then each as put_str. */
static void put_list(struct buf *out, struct strlist l, int64_t now)
{
	put_u64(out, l.count, now);
	if (!l.items)
		buf_str(out, l.raw); /* a decoded list, written again */
	for (size_t i = 0; l.items && i < l.count; i++)
		put_str(out, l.items[i], now);
}

/* Reads a number. 0 at the end of the bytes: older events are shorter. False: it is damaged. */
static inline bool get_u64(const unsigned char **p, const unsigned char *end, int64_t now, uint64_t *ret)
{
	(void)now;
	if (*p < end)
		return varint_get(p, end, ret);
	*ret = 0;
	return true;
}

/* Reads a signed number. False if the bytes end; *p moves on. */
static inline __attribute__((unused)) bool get_i64(const unsigned char **p, const unsigned char *end, int64_t now,
                                                   int64_t *ret)
{
	uint64_t v;
	if (!get_u64(p, end, now, &v))
		return false;
	*ret = unzigzag(v);
	return true;
}

/* Reads a time. As get_u64; TIME_NONE at the end. */
static inline bool get_time(const unsigned char **p, const unsigned char *end, int64_t now, int64_t *ret)
{
	uint64_t v;
	if (*p == end) {
		*ret = TIME_NONE;
		return true;
	}
	if (!varint_get(p, end, &v))
		return false;
	*ret = add_times_wrapping(now, unzigzag(v));
	return true;
}

/* Reads a text, which stays where it is: as get_u64; it stays where it is. */
static bool get_str(const unsigned char **p, const unsigned char *end, int64_t now, struct str *ret)
{
	uint64_t n;
	if (!get_u64(p, end, now, &n) || n > (size_t)(end - *p))
		return false;
	*ret = str_n((const char *)*p, n);
	*p += n;
	return true;
}

struct str event_plain_id(struct str id)
{
	bool plain = id.n < sizeof(EVENT_NO_RUN);
	for (size_t i = 0; plain && i < id.n; i++) {
		const char c = id.p[i];
		plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '-' || c == '_';
	}
	return plain ? id : str_of(EVENT_NO_RUN);
}

/* A ULID, plain; moves *p on. */
static bool get_id(const unsigned char **p, const unsigned char *end, int64_t now, struct str *ret)
{
	if (!get_str(p, end, now, ret))
		return false;
	*ret = event_plain_id(*ret);
	return true;
}

/* The strings stay where they are, encoded; strlist_next reads them. False: it is damaged. */
static bool get_list(const unsigned char **p, const unsigned char *end, int64_t now, struct strlist *ret)
{
	uint64_t count;
	struct str s;
	if (!get_u64(p, end, now, &count))
		return false;
	const unsigned char *first = *p;
	for (uint64_t i = 0; i < count; i++) /* ends with the bytes: each string has one or more */
		if (*p == end || !get_str(p, end, now, &s))
			return false;
	*ret = (struct strlist){.count = count, .raw = str_n((const char *)first, (size_t)(*p - first))};
	return true;
}

bool strlist_next(const struct strlist *l, size_t *pos, struct str *ret)
{
	if (l->items) {
		if (*pos >= l->count)
			return false;
		*ret = l->items[(*pos)++];
		return true;
	}
	if (*pos >= l->raw.n)
		return false;
	const unsigned char *start = (const unsigned char *)l->raw.p, *p = start + *pos;
	if (!get_str(&p, start + l->raw.n, 0, ret))
		return false;
	*pos = (size_t)(p - start);
	return true;
}

char **strlist_copy(const struct strlist *l)
{
	struct str s;
	size_t n = 0, pos = 0;
	while (strlist_next(l, &pos, &s))
		n++;
	char **v = calloc(n + 1, sizeof(*v));
	n = pos = 0;
	while (v && strlist_next(l, &pos, &s))
		if (!(v[n++] = strndup(s.p ? s.p : "", s.n))) {
			strv_free(v);
			return NULL;
		}
	return v;
}

/* Is it what a reader gives for a field that an event lacks? */
static inline bool lacks_u64(uint64_t v)
{
	return v == 0;
}

/* Is the field empty? 0 stands for none. No field has this type yet. */
static inline __attribute__((unused)) bool lacks_i64(int64_t v)
{
	return v == 0;
}

/* Is the field empty? TIME_NONE stands for none. */
static inline bool lacks_time(int64_t v)
{
	return v == TIME_NONE;
}

/* An empty one stands for none. */
static inline bool lacks_str(struct str v)
{
	return v.n == 0;
}

/* An empty one stands for none. */
static inline bool lacks_id(struct str v)
{
	return v.n == 0;
}

/* An empty one stands for none. */
static inline bool lacks_list(struct strlist v)
{
	return v.count == 0;
}

/* Fields at the end that a reader gives of itself are left out. 0; -EINVAL: it is no kind. No memory: out->failed. */
static int put_fields(struct buf *out, const struct event *ev)
{
	size_t kept = out->n;
	switch (ev->kind) {
#define EVENT(number, name, meaning)                                                                                   \
	case number: {                                                                                                     \
		const struct event_##name *e = &ev->name;                                                                      \
		(void)e;
#define FIELD(event, type, name, meaning)                                                                              \
	put_##type(out, e->name, ev->time);                                                                                \
	if (!lacks_##type(e->name))                                                                                        \
		kept = out->n;
#define TAIL(event, type, name, when, meaning)                                                                         \
	if (e->when) {                                                                                                     \
		FIELD(event, type, name, meaning)                                                                              \
	}
#define END(event)                                                                                                     \
	break;                                                                                                             \
	}
#include "event/events.def"
#undef EVENT
#undef FIELD
#undef END
	default:
		return -EINVAL;
	}
	if (!out->failed)
		out->n = kept;
	return 0;
}

int event_encode(struct buf *out, const struct event *ev, int64_t before)
{
	if (out->failed)
		return -ENOMEM;
	size_t start = out->n;
	/* One byte for the length, which nearly always does; a longer event is moved up afterwards. */
	buf_char(out, 0);
	put_u64(out, ev->kind, 0);
	put_time(out, ev->time, before);
	put_u64(out, ev->proc, 0);
	int r = put_fields(out, ev);
	unsigned char length[VARINT_MAX];
	size_t body = out->n - start - 1;
	size_t n = varint_put(length, body);
	if (r == 0 && !out->failed && buf_room(out, n)) {
		char *p = out->p + start;
		if (n > 1)
			memmove(p + n, p + 1, body);
		memcpy(p, length, n);
		out->n = start + n + body;
		return 0;
	}
	out->n = start;
	out->failed = false;
	return r < 0 ? r : -ENOMEM;
}

/* Reads the fields of an event. False: the bytes end within a field. Fields that are not there are 0, empty or
 * TIME_NONE. */
static bool get_fields(const unsigned char *p, const unsigned char *end, struct event *ev)
{
	switch (ev->kind) {
#define EVENT(number, name, meaning)                                                                                   \
	case number: {                                                                                                     \
		struct event_##name *e = &ev->name;                                                                            \
		(void)e;
#define FIELD(event, type, name, meaning)                                                                              \
	if (!get_##type(&p, end, ev->time, &e->name))                                                                      \
		return false;
#define END(event)                                                                                                     \
	return true;                                                                                                       \
	}
#include "event/events.def"
#undef EVENT
#undef FIELD
#undef END
	default:
		return true;
	}
}

int event_decode(const unsigned char **p, const unsigned char *end, int64_t before, struct event *ret)
{
	const unsigned char *q = *p;
	uint64_t length, delta;
	if (!varint_get(&q, end, &length) || length > (size_t)(end - q))
		return -EBADMSG;
	end = q + length;
	if (!varint_get(&q, end, &ret->kind) || !varint_get(&q, end, &delta) || !varint_get(&q, end, &ret->proc))
		return -EBADMSG;
	ret->time = add_times_wrapping(before, unzigzag(delta));
	if (!get_fields(q, end, ret))
		return -EBADMSG;
	*p = end;
	return 0;
}
