#include "base/base64.h"

#include <errno.h>

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void base64_quad(const unsigned char *p, size_t n, char ret[4])
{
	uint32_t v = (uint32_t)p[0] << 16 | (n > 1 ? (uint32_t)p[1] << 8 : 0) | (n > 2 ? p[2] : 0);
	ret[0] = digits[v >> 18];
	ret[1] = digits[v >> 12 & 63];
	ret[2] = n > 1 ? digits[v >> 6 & 63] : '=';
	ret[3] = n > 2 ? digits[v & 63] : '=';
}

/* Appends s in base64, padded, in one line. Without memory b->failed is set. */
void base64_append(struct buf *b, struct str s)
{
	char four[4];
	for (size_t i = 0; i < s.n; i += 3) {
		base64_quad((const unsigned char *)s.p + i, s.n - i, four);
		buf_add(b, four, sizeof(four));
	}
}

ssize_t base64_decode(struct str s, char *ret)
{
	size_t n = 0;
	uint32_t bits = 0;
	unsigned have = 0;
	while (s.n && s.p[s.n - 1] == '=')
		s.n--;
	for (size_t i = 0; i < s.n; i++) {
		const char *digit = s.p[i] ? strchr(digits, s.p[i]) : NULL;
		if (!digit)
			return -EINVAL;
		bits = bits << 6 | (uint32_t)(digit - digits);
		have += 6;
		if (have >= 8) {
			have -= 8;
			ret[n++] = (char)(bits >> have);
		}
	}
	return (ssize_t)n;
}
