/* buf.h - a growing run of bytes, and the varint codec used on disk.
 *
 * init: zero it. release: buf_release. Out of memory: the buffer keeps what it has, `failed` is set and every later
 * append does nothing, so that a caller checks once at the end. */
#ifndef STEMMA_BASE_BUF_H
#define STEMMA_BASE_BUF_H

#include "base/str.h"

#include <stdint.h>

struct buf {
	char *p;
	size_t n, cap;
	bool failed;
};

void buf_release(struct buf *b);
/* Makes room for n more bytes; false if there is none. buf_printf: no memory, b->failed. */
bool buf_room(struct buf *b, size_t n);
/* Appends where there may be no room. Without memory b->failed, and nothing of it is appended. */
void buf_add_growing(struct buf *b, const void *p, size_t n);
/* The appends of which most find room: writing an index or JSON is little else. As buf_add_growing. */
static inline void buf_add(struct buf *b, const void *p, size_t n)
{
	if (!n)
		return;
	if (b->failed || b->cap - b->n < n) {
		buf_add_growing(b, p, n);
		return;
	}
	memcpy(b->p + b->n, p, n);
	b->n += n;
}
static inline void buf_str(struct buf *b, struct str s)
{
	buf_add(b, s.p, s.n);
}
static inline void buf_char(struct buf *b, char c)
{
	buf_add(b, &c, 1);
}
void buf_hex(struct buf *b, const void *p, size_t n); /* two digits a byte */
void buf_printf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* NUL-terminates (not counted in n) and returns the bytes; "" when empty or failed. */
const char *buf_cstr(struct buf *b);
/* Empties b and keeps its memory. */
static inline void buf_reset(struct buf *b)
{
	b->n = 0;
	b->failed = false;
}
/* What is in b, not a copy; valid until b changes. */
static inline struct str buf_view(const struct buf *b)
{
	return str_n(b->p, b->n);
}

/* LEB128, at most 10 bytes. */
#define VARINT_MAX 10
/* Writes v as a varint, 7 bits a byte, lowest first, to p, which has room for 10. How many bytes. */
static inline size_t varint_put(unsigned char *p, uint64_t v)
{
	size_t n = 0;
	while (v >= 0x80) {
		p[n++] = (unsigned char)(v | 0x80);
		v >>= 7;
	}
	p[n++] = (unsigned char)v;
	return n;
}
/* Reads one from [*p, end); false if it does not end there or is longer than 64 bits. *p moves past it on success. */
static inline bool varint_get(const unsigned char **p, const unsigned char *end, uint64_t *ret_v)
{
	const unsigned char *q = *p;
	uint64_t v = 0;
	for (unsigned shift = 0; q < end && shift < 64; shift += 7) {
		unsigned char c = *q++;
		if (shift == 63 && c > 1)
			return false;
		v |= (uint64_t)(c & 0x7f) << shift;
		if (!(c & 0x80)) {
			*p = q;
			*ret_v = v;
			return true;
		}
	}
	return false;
}
/* Maps small numbers of either sign to small numbers: 0, -1, 1, -2 to 0, 1, 2, 3. */
static inline uint64_t zigzag(int64_t v)
{
	return ((uint64_t)v << 1) ^ (uint64_t)(v >> 63);
}
/* The inverse of zigzag. */
static inline int64_t unzigzag(uint64_t v)
{
	return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}
/* Appends v in groups of seven bits, the lowest first. As buf_add. */
static inline void buf_varint(struct buf *b, uint64_t v)
{
	if (b->failed || b->cap - b->n < VARINT_MAX) {
		unsigned char tmp[VARINT_MAX];
		buf_add_growing(b, tmp, varint_put(tmp, v));
		return;
	}
	b->n += varint_put((unsigned char *)b->p + b->n, v);
}
/* Appends v as a varint after zigzag. */
static inline void buf_zigzag(struct buf *b, int64_t v)
{
	buf_varint(b, zigzag(v));
}

#endif
