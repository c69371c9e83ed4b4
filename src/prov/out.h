/* out.h - where a document goes: a buffer before a descriptor, and the escapes of the formats.
 *
 * An error of writing is kept and everything after it is dropped; out_close returns it. Budget: one write per 64 KiB;
 * text that needs no escape is copied whole. */
#ifndef STEMMA_PROV_OUT_H
#define STEMMA_PROV_OUT_H

#include "base/buf.h"
#include "event/event.h"

struct out {
	int fd;
	struct buf *to; /* not NULL: into this, and none of the rest */
	int error;      /* errno of the first failure, 0 none */
	char *p;
	size_t n;
	uint64_t total;
};

/* Begins an output to a descriptor. 0 or -ENOMEM. The descriptor stays the caller's. */
int out_open(struct out *o, int fd);
/* 0 or -errno of the first failure. */
int out_close(struct out *o);
/* Into a buffer, which says itself if it failed; there is nothing to close. */
static inline struct out out_into(struct buf *b)
{
	return (struct out){.fd = -1, .to = b};
}
void out_bytes(struct out *o, const void *p, size_t n);
/* Writes a text as it is. */
static inline void out_str(struct out *o, struct str s)
{
	out_bytes(o, s.p, s.n);
}
/* Writes a text as it is. */
static inline void out_text(struct out *o, const char *s)
{
	out_bytes(o, s, strlen(s));
}
/* Writes one byte. */
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
/* Writes a text with escapes for PROV-N, which has no \u: control characters, but for tabs and ends of lines, and
 * characters of direction become U+FFFD, too. */
void out_escaped_least(struct out *o, struct str s, bool *ret_exact);
/* The text alone, for formats without escapes: U+FFFD for bytes that are not UTF-8 and for what unsafe_char.h lists,
 * but tabs and ends of lines. str_is_shown: nothing in it becomes that. */
void out_shown(struct out *o, struct str s);
bool str_is_shown(struct str s);
void out_base64(struct out *o, struct str s);
/* The items of a list, whether they are packed or stand in an array: for (size_t i = 0, at = 0; out_list_next(l, &i,
 * &at, &s);) */
bool out_list_next(const struct strlist *l, size_t *i, size_t *at, struct str *ret);
/* A list as a JSON array; *ret_exact as above. With base64 all of it is in base64. */
void out_list(struct out *o, const struct strlist *l, bool base64, bool *ret_exact);
/* Writes a list of texts as out_list does, into b, which is emptied first. The text, which stays in b. */
struct str out_list_text(struct buf *b, const struct strlist *l, bool base64, bool *ret_exact);
/* A path or another text inside a URI: all but the unreserved characters and "/" as %XX (RFC 3986). */
void out_uri(struct out *o, struct str s);

#endif
