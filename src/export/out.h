/* out.h - where a document goes: a buffer before a descriptor, and the escapes of the formats.
 *
 * An error of writing is kept and everything after it is dropped; out_close returns it. Budget: one write per 64 KiB; text
 * that needs no escape is copied whole. */
#ifndef STEMMA_EXPORT_OUT_H
#define STEMMA_EXPORT_OUT_H

#include "base/str.h"

#include <stdint.h>

struct out {
	int fd;
	int error; /* errno of the first failure, 0 none */
	char *p;
	size_t n;
	uint64_t total;
};

/* 0 or -ENOMEM. The descriptor stays the caller's. */
int out_open(struct out *o, int fd);
/* 0 or -errno of the first failure. */
int out_close(struct out *o);
void out_bytes(struct out *o, const void *p, size_t n);
void out_flush(struct out *o);
static inline void out_str(struct out *o, struct str s)
{
	out_bytes(o, s.p, s.n);
}
static inline void out_text(struct out *o, const char *s)
{
	out_bytes(o, s, strlen(s));
}
static inline void out_char(struct out *o, char c)
{
	out_bytes(o, &c, 1);
}
void out_count(struct out *o, uint64_t n);
/* 2026-11-21T12:13:05.123456789Z */
void out_time(struct out *o, int64_t ns);

/* The inside of a quoted string: JSON's escapes, or those of Turtle, N-Triples and PROV-N, which are JSON's without \/
 * and with \u for control characters. Bytes that are not UTF-8 become U+FFFD; *ret_exact (may be NULL) says whether
 * there were none. */
void out_escaped(struct out *o, struct str s, bool *ret_exact);
bool str_is_utf8(struct str s);
void out_base64(struct out *o, struct str s);

#endif
