/* shape.c - passwords in addresses, and private keys. */
#include "redact/shape.h"

#include "redact/name.h"

#include <ctype.h>
#include <stdint.h>

/* A NUL counts as one of the others. */
static bool is_blank_or(char c, const char *others)
{
	return c == ' ' || (c >= '\t' && c <= '\r') || strchr(others, c); /* a NUL, too */
}

/* The first colon and the last @ of what may be user:password@host, whose end is returned; SIZE_MAX none. */
static size_t find_user_part(struct str v, size_t *ret_colon, size_t *ret_at)
{
	size_t end = 0;
	*ret_colon = *ret_at = SIZE_MAX;
	for (; end < v.n && !is_blank_or(v.p[end], "/?#\"'<>"); end++) {
		if (v.p[end] == ':' && *ret_colon == SIZE_MAX)
			*ret_colon = end;
		if (v.p[end] == '@')
			*ret_at = end;
	}
	return end;
}

bool shape_address(struct str v, size_t *ret_from, size_t *ret_to)
{
	size_t colon, at, end = find_user_part(v, &colon, &at);
	if (at == SIZE_MAX && colon != SIZE_MAX && colon + 1 < v.n && !isdigit((unsigned char)v.p[colon + 1]) &&
	    colon + 1 != end)
		/* A password with a slash in it that nobody escaped; after a port there is none to look for. */
		for (; end < v.n && !is_blank_or(v.p[end], "\"'<>") && at == SIZE_MAX; end++)
			at = v.p[end] == '@' ? end : SIZE_MAX;
	if (at == SIZE_MAX)
		return false;
	if (colon == SIZE_MAX || colon > at) { /* a token in the user's place */
		*ret_from = 0;
		*ret_to = at;
		return name_looks_random(str_n(v.p, at), 20);
	}
	*ret_from = colon + 1;
	*ret_to = at;
	return at > colon + 1;
}

bool shape_private_key(struct str s, size_t *ret_from, size_t *ret_to)
{
	static const char begin[] = "-----BEGIN ", end[] = "-----END ";
	for (size_t at = 0; s.n - at >= sizeof(begin);) {
		const char *p = memmem(s.p + at, s.n - at, begin, sizeof(begin) - 1);
		if (!p)
			return false;
		size_t from = (size_t)(p - s.p), head = from + sizeof(begin) - 1;
		const char *line = memmem(s.p + head, s.n - head, "-----", 5);
		size_t head_end = line ? (size_t)(line - s.p) : s.n;
		at = head;
		if (!memmem(s.p + head, head_end - head, "PRIVATE", 7) && !memmem(s.p + head, head_end - head, "SECRET", 6))
			continue;
		*ret_from = from;
		*ret_to = s.n;
		const char *e = memmem(s.p + head_end, s.n - head_end, end, sizeof(end) - 1);
		if (e) {
			size_t tail = (size_t)(e - s.p) + sizeof(end) - 1;
			const char *dashes = memmem(s.p + tail, s.n - tail, "-----", 5);
			*ret_to = dashes ? (size_t)(dashes - s.p) + 5 : s.n;
		}
		return true;
	}
	return false;
}
