/* utf8.h - one character of UTF-8, as RFC 3629 has it: no overlong forms, no surrogates. */
#ifndef STEMMA_BASE_UTF8_H
#define STEMMA_BASE_UTF8_H

#include <stddef.h>
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

#endif
