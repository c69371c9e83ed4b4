#include "spec/trace/lines.h"

#include <string.h>

/* Lower case only; -1: none. */
static int hex_digit_value(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool line_name(const char *p, const char *end, char *ret, size_t size)
{
	size_t n = 0;
	while (p < end) {
		int c = (unsigned char)*p++;
		if (c == '\\') {
			if (end - p < 3 || *p != 'x' || hex_digit_value(p[1]) < 0 || hex_digit_value(p[2]) < 0)
				return false;
			c = hex_digit_value(p[1]) * 16 + hex_digit_value(p[2]);
			p += 3;
		}
		if (!c || n + 1 >= size)
			return false;
		ret[n++] = (char)c;
	}
	ret[n] = '\0';
	return true;
}

bool line_number(const char **p, const char *end, uint64_t *ret)
{
	const char *q = *p;
	uint64_t v = 0;
	for (; q < end && *q >= '0' && *q <= '9'; q++) {
		if (v > (UINT64_MAX - 9) / 10)
			return false;
		v = 10 * v + (uint64_t)(*q - '0');
	}
	if (q == *p || (q < end && *q++ != ' '))
		return false;
	*p = q;
	*ret = v;
	return true;
}

bool line_begins(const char **p, const char *end, const char *word)
{
	size_t n = strlen(word);
	if ((size_t)(end - *p) <= n || memcmp(*p, word, n) != 0 || (*p)[n] != ' ')
		return false;
	*p += n + 1;
	return true;
}
