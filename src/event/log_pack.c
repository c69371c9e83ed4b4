#include "event/log_pack.h"

#include "event/event.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define KINDS 48   /* whose events are packed; others stand as they are */
#define FIELDS 22  /* of a kind */
#define SHAPES 256 /* in a frame; an event of yet another one stands as it is */
#define RING 16    /* strings that a later one may begin like */
#define REF_MIN 3  /* bytes that it must have in common */

/* How the fields of a kind are packed, in their order; part of the format. A field or a kind that is not here stands as
 * it is.
 * n: a number, by its distance from the last one of the field
 * f: a file's number, by its distance from the last one of any event
 * r: seq of an event before this one, by its distance back
 * t: a time, by its distance from the event's
 * s: a string, by what it begins like
 * l: a list of strings */
static const char *const packing[KINDS] = {
    [EVENT_session] = "sssnss",     [EVENT_run] = "sslsssnnll",
    [EVENT_run_end] = "snnnn",      [EVENT_session_end] = "",
    [EVENT_domain] = "nssn",        [EVENT_file] = "fnnnnnsn",
    [EVENT_state] = "fnt",          [EVENT_process] = "ntnt",
    [EVENT_exec] = "nnnlslnns",     [EVENT_exit] = "nnnnnnnnnnn",
    [EVENT_access] = "fnnnnnnn",    [EVENT_access_end] = "rtnnnnnnntt",
    [EVENT_name] = "nfss",          [EVENT_link] = "nnn",
    [EVENT_gap] = "nnts",           [EVENT_io] = "rnnnnnnnttnnnnnnnnnn",
    [EVENT_note] = "snsss",         [EVENT_tombstone] = "nsnnnns",
    [EVENT_summary] = "ssss",       [EVENT_build] = "nnllsssslsntnnsnlns",
    [EVENT_build_file] = "nsntsss", [EVENT_machine] = "snlll",
    [EVENT_result] = "ssll",        [EVENT_seal] = "snssnlss",
    [EVENT_digest] = "ssnnntnsss",  [EVENT_image] = "n",
    [EVENT_h5_object] = "ssnsllf",  [EVENT_h5_part] = "ssnnnnllnnlf",
    [EVENT_app] = "sntnsn",         [EVENT_app_word] = "rnnnsssn",
    [EVENT_app_metric] = "rnnsnnn", [EVENT_app_activity] = "rnnnst",
    [EVENT_mpi_rank] = "rnnns",     [EVENT_mpi_io] = "rsnnnnnnntt",
};

/* The last event of a kind: what its next one is taken to be. */
struct last {
	uint64_t proc;
	uint64_t v[FIELDS];   /* as they are packed: of f and r distances, of t 0 for TIME_NONE, else zigzag + 1 */
	struct str s[FIELDS]; /* in the plain bytes */
	uint16_t shape;       /* of the kind: the latest, + 1 */
};
struct shape {
	uint8_t kind, fields;
	uint16_t next; /* of the same kind, + 1 */
	uint32_t mask; /* 1: it has a time, 2: a process, 4 << n: field n; what it has not is as it is taken to be */
};
struct context {
	uint64_t seq;
	int64_t time;
	uint64_t file;
	unsigned nshapes, nring;
	uint64_t met; /* 1 << kind: last[kind] holds something; else it is not even zeros */
	struct str ring[RING];
	struct shape shapes[SHAPES];
	struct last last[KINDS];
};
_Static_assert(KINDS <= 64, "a bit for each");

/* A field of the event at hand. */
struct field {
	uint64_t v;
	struct str s; /* of a list: its bytes, the count as well */
};
struct parts {
	uint64_t kind, proc;
	int64_t time;
	unsigned n;
	struct field f[FIELDS];
};

/* What packing and unpacking remember within a frame. NULL without memory; for free(). */
static struct context *context_new(uint64_t seq, int64_t time)
{
	/* 29 KiB, of which a small frame needs two: clearing them all is 8 pages that a short run would not have touched.
	 */
	struct context *c = malloc(sizeof(*c));
	if (c) {
		c->seq = seq;
		c->time = time;
		c->file = c->met = 0;
		c->nshapes = c->nring = 0;
	}
	return c;
}

/* The event of this kind before, all 0 for the first. */
static struct last *last_of(struct context *c, uint64_t kind)
{
	struct last *l = &c->last[kind];
	if (!(c->met >> kind & 1)) {
		memset(l, 0, sizeof(*l));
		c->met |= UINT64_C(1) << kind;
	}
	return l;
}

/* Strings behind it may begin as s does; s is not copied. Short ones are not worth it. */
static void append_reference(struct context *c, struct str s)
{
	if (s.n >= REF_MIN)
		c->ring[c->nring++ % RING] = s;
}

/* Updates what the next event is packed against. After an event, on both sides. What it holds lies where it stays. */
static void update_context(struct context *c, const struct parts *e, uint32_t mask)
{
	struct last *l = last_of(c, e->kind);
	l->proc = e->proc;
	for (unsigned i = 0; i < e->n; i++) {
		l->v[i] = e->f[i].v;
		l->s[i] = e->f[i].s;
		if (mask >> i & 4 && packing[e->kind][i] == 's')
			append_reference(c, e->f[i].s);
	}
}

/* Bytes that v takes as LEB128. */
static size_t varint_size(uint64_t v)
{
	size_t n = 1;
	for (; v >= 0x80; v >>= 7)
		n++;
	return n;
}

/* One that has no more bytes than it needs: else it would not come back. */
static bool get_shortest_varint(const unsigned char **p, const unsigned char *end, uint64_t *ret)
{
	const unsigned char *from = *p;
	return varint_get(p, end, ret) && (size_t)(*p - from) == varint_size(*ret);
}

/* Reads a text. False: it is damaged. */
static bool get_bytes(const unsigned char **p, const unsigned char *end, struct str *ret)
{
	uint64_t n;
	if (!get_shortest_varint(p, end, &n) || n > (size_t)(end - *p))
		return false;
	*ret = str_n((const char *)*p, n);
	*p += n;
	return true;
}

/* ---- plain events ---- */

/* What every event has. 1: the fields can be taken apart, too; 0: it stands as it is; -1: it is none. */
static int split_event(const struct context *c, const unsigned char **p, const unsigned char *end, struct parts *ret,
                       uint64_t *ret_file)
{
	const unsigned char *from = *p;
	uint64_t length, diff, n;
	struct str s;
	if (!varint_get(p, end, &length) || length > (size_t)(end - *p))
		return -1;
	bool lean = (size_t)(*p - from) == varint_size(length);
	end = *p + length;
	const unsigned char *q = *p;
	*p = end;
	from = q;
	if (!varint_get(&q, end, &ret->kind) || !varint_get(&q, end, &diff) || !varint_get(&q, end, &ret->proc))
		return -1;
	lean &= (size_t)(q - from) == varint_size(ret->kind) + varint_size(diff) + varint_size(ret->proc);
	ret->time = (int64_t)((uint64_t)c->time + (uint64_t)unzigzag(diff));
	const char *types = ret->kind < KINDS ? packing[ret->kind] : NULL;
	if (!lean || !types)
		return 0;
	uint64_t file = c->file;
	for (ret->n = 0; q < end; ret->n++) {
		struct field *f = &ret->f[ret->n];
		const unsigned char *start = q;
		*f = (struct field){0};
		switch (types[ret->n]) {
		case 'n':
			if (!get_shortest_varint(&q, end, &f->v))
				return 0;
			break;
		case 'f':
			if (!get_shortest_varint(&q, end, &n))
				return 0;
			f->v = zigzag((int64_t)(n - file));
			file = n;
			break;
		case 'r':
			if (!get_shortest_varint(&q, end, &n))
				return 0;
			f->v = c->seq - n;
			break;
		case 't':
			if (!get_shortest_varint(&q, end, &n))
				return 0;
			f->v = (uint64_t)ret->time + (uint64_t)unzigzag(n) == (uint64_t)TIME_NONE ? 0 : n + 1;
			if (n == UINT64_MAX && f->v == 0 && (uint64_t)ret->time + (uint64_t)unzigzag(n) != (uint64_t)TIME_NONE)
				return 0;
			break;
		case 's':
			if (!get_bytes(&q, end, &f->s))
				return 0;
			break;
		case 'l':
			if (!get_shortest_varint(&q, end, &n))
				return 0;
			for (; n; n--)
				if (!get_bytes(&q, end, &s))
					return 0;
			f->s = str_n((const char *)start, (size_t)(q - start));
			break;
		default: /* more fields than were there when this was made */
			return 0;
		}
	}
	*ret_file = file;
	return 1;
}

/* ---- packing ---- */

/* How many bytes both begin with. */
static size_t common_prefix(struct str a, struct str b)
{
	size_t n = a.n < b.n ? a.n : b.n, i = 0;
	for (uint64_t x, y; i + 8 <= n; i += 8) {
		memcpy(&x, a.p + i, 8);
		memcpy(&y, b.p + i, 8);
		if (x != y)
			break;
	}
	while (i < n && a.p[i] == b.p[i])
		i++;
	return i;
}

/* Writes a text, by what it shares with a recent one: 0, length and bytes; or how many bytes are those of which
 * string of the ring, and the rest. */
static void pack_string(const struct context *c, struct buf *out, struct str s)
{
	size_t best = 0;
	unsigned which = 0;
	for (unsigned back = 0; back < RING && back < c->nring; back++) {
		struct str other = c->ring[(c->nring - 1 - back) % RING];
		if (best >= s.n || best >= other.n || s.p[best] != other.p[best])
			continue; /* it cannot be longer */
		size_t n = common_prefix(s, other);
		if (n > best) {
			best = n;
			which = back;
		}
	}
	if (best < REF_MIN)
		best = which = 0;
	buf_varint(out, best * RING + which);
	buf_varint(out, s.n - best);
	buf_add(out, s.p + best, s.n - best);
}

/* Which parts differ from the event of the kind before: 1 time, 2 process, 4 << i field i. */
static uint32_t mask_of(struct context *c, const struct parts *e)
{
	const struct last *l = last_of(c, e->kind);
	uint32_t mask = (e->time != c->time ? 1 : 0) | (e->proc != l->proc ? 2 : 0);
	for (unsigned i = 0; i < e->n; i++)
		if (e->f[i].v != l->v[i] || !str_eq(e->f[i].s, l->s[i]))
			mask |= 4u << i;
	return mask;
}

/* Writes which parts follow; a shape that was not met before is defined at once and has the next number. */
static void put_shape(struct context *c, struct buf *out, const struct parts *e, uint32_t mask)
{
	struct last *l = last_of(c, e->kind);
	for (unsigned at = l->shape; at; at = c->shapes[at - 1].next)
		if (c->shapes[at - 1].mask == mask && c->shapes[at - 1].fields == e->n) {
			buf_varint(out, at + 1);
			return;
		}
	c->shapes[c->nshapes] = (struct shape){(uint8_t)e->kind, (uint8_t)e->n, l->shape, mask};
	l->shape = (uint16_t)++c->nshapes;
	buf_varint(out, 1);
	buf_varint(out, e->kind);
	buf_varint(out, e->n);
	buf_varint(out, mask);
}

/* Writes the event as its difference to the one of its kind before it. */
static void put_parts(struct context *c, struct buf *out, const struct parts *e)
{
	const struct last *l = last_of(c, e->kind);
	uint32_t mask = mask_of(c, e);
	put_shape(c, out, e, mask);
	if (mask & 1)
		buf_zigzag(out, (int64_t)((uint64_t)e->time - (uint64_t)c->time));
	if (mask & 2)
		buf_zigzag(out, (int64_t)(e->proc - l->proc));
	for (unsigned i = 0; i < e->n; i++) {
		const struct field *f = &e->f[i];
		if (!(mask >> i & 4))
			continue;
		switch (packing[e->kind][i]) {
		case 'n':
			buf_zigzag(out, (int64_t)(f->v - l->v[i]));
			break;
		case 's':
			pack_string(c, out, f->s);
			break;
		case 'l':
			buf_str(out, f->s);
			break;
		default:
			buf_varint(out, f->v);
		}
	}
	update_context(c, e, mask);
}

int log_pack(const void *plain, size_t n, uint32_t count, uint64_t seq, int64_t time, struct buf *out)
{
	const unsigned char *p = plain, *end = p + n;
	size_t had = out->n;
	int r = 0;
	struct context *c = context_new(seq, time);
	if (!c)
		return -ENOMEM;
	for (; r == 0 && count; count--) {
		const unsigned char *from = p;
		struct parts e;
		uint64_t file;
		int kind = split_event(c, &p, end, &e, &file);
		if (kind < 0) {
			r = -EMSGSIZE;
		} else if (kind && c->nshapes < SHAPES) {
			put_parts(c, out, &e);
			c->file = file;
		} else {
			buf_varint(out, 0);
			buf_add(out, from, (size_t)(p - from));
		}
		c->time = e.time;
		c->seq++;
		if (out->n - had >= n)
			r = -EMSGSIZE;
	}
	if (r == 0 && (p != end || out->n - had >= n))
		r = -EMSGSIZE;
	free(c);
	r = out->failed ? -ENOMEM : r;
	if (r < 0) {
		out->n = had;
		out->failed = false;
	}
	return r;
}

/* ---- unpacking ---- */

/* Appends the string, as it is in an event, to body. False: the bytes are wrong. */
static bool unpack_str(const struct context *c, const unsigned char **p, const unsigned char *end, struct buf *body)
{
	uint64_t ref;
	struct str rest, from = {0};
	if (!varint_get(p, end, &ref) || !get_bytes(p, end, &rest))
		return false;
	if (ref / RING) {
		unsigned back = (unsigned)(ref % RING);
		if (back >= c->nring)
			return false;
		from = c->ring[(c->nring - 1 - back) % RING];
		if (ref / RING > from.n)
			return false;
		from.n = ref / RING;
	}
	buf_varint(body, from.n + rest.n);
	buf_str(body, from);
	buf_str(body, rest);
	return true;
}

/* Appends the list as it stands. False: the bytes are wrong. */
static bool unpack_list(const unsigned char **p, const unsigned char *end, struct buf *body)
{
	const unsigned char *from = *p;
	uint64_t n;
	struct str s;
	if (!varint_get(p, end, &n))
		return false;
	for (; n; n--) /* ends with the bytes: each string has one or more */
		if (!get_bytes(p, end, &s))
			return false;
	buf_add(body, from, (size_t)(*p - from));
	return true;
}

/* A field to the end of the body; its string is said by where it begins there. False: it is damaged. */
static bool unpack_field(struct context *c, const unsigned char **p, const unsigned char *end, char type, bool there,
                         const struct last *l, unsigned i, int64_t time, struct buf *body, struct field *ret)
{
	uint64_t v = l->v[i];
	if (type == 's' || type == 'l') {
		size_t at = body->n;
		if (!there && type == 'l' && !l->s[i].n)
			return false;
		if (there ? !(type == 's' ? unpack_str(c, p, end, body) : unpack_list(p, end, body)) : false)
			return false;
		if (!there && type == 's')
			buf_varint(body, l->s[i].n);
		if (!there)
			buf_str(body, l->s[i]);
		if (body->failed)
			return true; /* said at the end */
		const unsigned char *q = (const unsigned char *)body->p + at, *stop = (const unsigned char *)body->p + body->n;
		ret->s = str_n((const char *)q, (size_t)(stop - q));
		if (type == 's' && !get_bytes(&q, stop, &ret->s))
			return false;
		ret->v = (size_t)(ret->s.p - body->p);
		return true;
	}
	if (there && !varint_get(p, end, &v))
		return false;
	if (there && type == 'n')
		v = l->v[i] + (uint64_t)unzigzag(v);
	ret->v = v;
	switch (type) {
	case 'f':
		c->file += (uint64_t)unzigzag(v);
		buf_varint(body, c->file);
		break;
	case 'r':
		buf_varint(body, c->seq - v);
		break;
	case 't':
		buf_varint(body, v ? v - 1 : zigzag((int64_t)((uint64_t)TIME_NONE - (uint64_t)time)));
		break;
	default:
		buf_varint(body, v);
	}
	return true;
}

/* An event to the end of out, which has room for `plain` bytes and does not move. 0; -EBADMSG; -ENOMEM. */
static int unpack_parts(struct context *c, const struct shape *s, const unsigned char **p, const unsigned char *end,
                        size_t plain, struct buf *body, struct buf *out)
{
	const struct last *l = last_of(c, s->kind);
	const char *types = packing[s->kind];
	struct parts e = {.kind = s->kind, .proc = l->proc, .time = c->time, .n = s->fields};
	uint64_t v = 0;
	if (s->mask & 1 && !varint_get(p, end, &v))
		return -EBADMSG;
	e.time = (int64_t)((uint64_t)c->time + (uint64_t)unzigzag(v));
	buf_reset(body);
	buf_varint(body, e.kind);
	buf_varint(body, v);
	if (s->mask & 2) {
		if (!varint_get(p, end, &v))
			return -EBADMSG;
		e.proc = l->proc + (uint64_t)unzigzag(v);
	}
	buf_varint(body, e.proc);
	for (unsigned i = 0; i < e.n; i++) {
		if (!unpack_field(c, p, end, types[i], s->mask >> i & 4, l, i, e.time, body, &e.f[i]))
			return -EBADMSG;
		if (body->n > plain)
			return -EBADMSG;
	}
	if (body->failed)
		return -ENOMEM;
	if (out->n + varint_size(body->n) + body->n > plain)
		return -EBADMSG;
	buf_varint(out, body->n);
	const char *at = out->p + out->n;
	buf_str(out, buf_view(body));
	for (unsigned i = 0; i < e.n; i++)
		if (types[i] == 's' || types[i] == 'l') {
			e.f[i].s.p = at + e.f[i].v;
			e.f[i].v = 0;
		}
	c->time = e.time;
	update_context(c, &e, s->mask);
	return 0;
}

/* An event that was not packed. plain: bytes that all events have together. 0, -EBADMSG. */
static int unpack_plain(struct context *c, const unsigned char **p, const unsigned char *end, size_t plain,
                        struct buf *out)
{
	const unsigned char *from = *p;
	struct parts e;
	uint64_t file;
	if (split_event(c, p, end, &e, &file) < 0 || (size_t)(*p - from) > plain - out->n)
		return -EBADMSG;
	buf_add(out, from, (size_t)(*p - from));
	c->time = e.time;
	return 0;
}

/* Takes a new shape; all of it is checked. 0, -EBADMSG. */
static int unpack_shape(struct context *c, const unsigned char **p, const unsigned char *end)
{
	uint64_t kind, n, mask;
	if (c->nshapes == SHAPES || !varint_get(p, end, &kind) || !varint_get(p, end, &n) || !varint_get(p, end, &mask) ||
	    kind >= KINDS || !packing[kind] || n > strlen(packing[kind]) || mask >> (n + 2))
		return -EBADMSG;
	c->shapes[c->nshapes++] = (struct shape){.kind = (uint8_t)kind, .fields = (uint8_t)n, .mask = (uint32_t)mask};
	return 0;
}

int log_unpack(const void *packed, size_t n, size_t plain, uint32_t count, uint64_t seq, int64_t time, struct buf *out)
{
	const unsigned char *p = packed, *end = p + n;
	struct context *c = context_new(seq, time);
	struct buf body = {0};
	int r = 0;
	buf_reset(out);
	if (!c || !buf_room(out, plain + 1)) {
		free(c);
		return -ENOMEM;
	}
	for (; r == 0 && count; count--) {
		uint64_t code;
		if (!varint_get(&p, end, &code) || code > c->nshapes + 1) {
			r = -EBADMSG;
		} else if (code == 0) {
			r = unpack_plain(c, &p, end, plain, out);
		} else {
			r = code == 1 ? unpack_shape(c, &p, end) : 0;
			unsigned which = code == 1 ? c->nshapes - 1 : (unsigned)code - 2; /* none yet where r < 0 */
			r = r < 0 ? r : unpack_parts(c, &c->shapes[which], &p, end, plain, &body, out);
		}
		c->seq++;
	}
	if (r == 0 && (p != end || out->n != plain))
		r = -EBADMSG;
	buf_release(&body);
	free(c);
	return r;
}
