/* unsafe_char.h - characters that a terminal, an editor or a spreadsheet may act on instead of showing them. */
#ifndef STEMMA_BASE_UNSAFE_CHAR_H
#define STEMMA_BASE_UNSAFE_CHAR_H

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Controls of Unicode: C0, DEL and C1; marks and embeddings of direction; separators of lines and paragraphs; the byte
 * order mark. */
static inline bool unsafe_char(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x061c || c == 0x200e || c == 0x200f ||
	       (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) || c == 0xfeff;
}

/* Programs that open tables take a text for a formula if it begins so. A number is none. */
static inline bool unsafe_formula(struct str s)
{
	bool number = false;
	if (!s.n || !memchr("=+-@\t\r", s.p[0], 6))
		return false;
	for (size_t i = 1; i < s.n; i++) {
		if (!memchr("0123456789.eE+-", s.p[i], 15))
			return true;
		number |= s.p[i] >= '0' && s.p[i] <= '9';
	}
	return !number || s.p[0] == '=' || s.p[0] == '@' || s.p[0] == '\t' || s.p[0] == '\r' ||
	       memchr(s.p + 1, '+', s.n - 1) ||
	       (memchr(s.p + 1, '-', s.n - 1) && !memchr(s.p, 'e', s.n) && !memchr(s.p, 'E', s.n));
}

#endif
