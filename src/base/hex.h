/* hex.h - bytes as hexadecimal digits, two each, lower case. */
#ifndef STEMMA_BASE_HEX_H
#define STEMMA_BASE_HEX_H

#include "base/str.h"

#include <stdint.h>

/* Writes n bytes in hexadecimal. ret has room for 2 * n characters and the NUL. Returns ret. */
static inline char *hex_text(const void *bytes, size_t n, char *ret)
{
	const unsigned char *p = bytes;
	for (size_t i = 0; i < n; i++) {
		ret[2 * i] = "0123456789abcdef"[p[i] >> 4];
		ret[2 * i + 1] = "0123456789abcdef"[p[i] & 15];
	}
	ret[2 * n] = '\0';
	return ret;
}

/* The value of a digit of either case, or -1. */
static inline int hex_digit(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
	                              : -1;
}

/* The bytes that exactly 2 * n digits stand for; false: it is something else. */
static inline bool hex_parse(struct str text, void *ret, size_t n)
{
	unsigned char *p = ret;
	if (text.n != 2 * n)
		return false;
	for (size_t i = 0; i < n; i++) {
		int high = hex_digit(text.p[2 * i]), low = hex_digit(text.p[2 * i + 1]);
		if (high < 0 || low < 0)
			return false;
		p[i] = (unsigned char)(high << 4 | low);
	}
	return true;
}

#endif
