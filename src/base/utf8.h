/* utf8.h - characters of UTF-8, as RFC 3629 has them: no overlong forms, no surrogates. */
#ifndef STEMMA_BASE_UTF8_H
#define STEMMA_BASE_UTF8_H

#include "base/str.h"

#include <stdint.h>

/* Decodes one character at s; its length, or 0 if there is none. */
static inline size_t utf8_char(const char *s, size_t n, uint32_t *ret)
{
	const unsigned char *p = (const unsigned char *)s;
	if (!n)
		return 0;
	if (p[0] < 0x80) {
		*ret = p[0];
		return 1;
	}
	size_t len = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	if (p[0] < 0xc2 || p[0] > 0xf4 || n < len)
		return 0;
	uint32_t c = p[0] & (0x7f >> len);
	for (size_t i = 1; i < len; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (p[i] & 0x3f);
	}
	if (c < least[len] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		return 0;
	*ret = c;
	return len;
}

/* Is it well-formed UTF-8? The empty text is. */
static inline bool utf8_is_valid(struct str s)
{
	uint32_t c;
	for (size_t i = 0, k; i < s.n; i += k)
		if (!(k = utf8_char(s.p + i, s.n - i, &c)))
			return false;
	return true;
}

/* A byte that goes on with a character: a cut before it is in the middle of one. */
static inline bool utf8_is_middle(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

/* The bytes of the character c, which is at most 0x10ffff and no surrogate; their number. */
static inline size_t utf8_encode(uint32_t c, char ret[4])
{
	size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
	for (size_t i = n - 1; i; i--, c >>= 6)
		ret[i] = (char)(0x80 | (c & 0x3f));
	ret[0] = (char)(n == 1 ? c : (0xf00u >> n & 0xff) | c);
	return n;
}

#endif
