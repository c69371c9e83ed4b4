/* base64.h - RFC 4648's base64, with its padding: bytes that are no text, in texts. */
#ifndef STEMMA_BASE_BASE64_H
#define STEMMA_BASE_BASE64_H

#include "base/buf.h"

#include <sys/types.h>

void base64_append(struct buf *b, struct str s);
/* Four characters for the first three of n bytes, or for the one or two that are left. */
void base64_quad(const unsigned char *p, size_t n, char ret[4]);
/* Bytes of what s stands for, into ret, which has room for s.n * 3 / 4. Missing padding is none. -EINVAL: it is not
 * base64. */
ssize_t base64_decode(struct str s, char *ret);

#endif
