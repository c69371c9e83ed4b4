#include "base/path.h"

void path_append(struct buf *b, size_t from, struct str path)
{
	for (size_t i = 0; i < path.n;) {
		size_t end = i;
		while (end < path.n && path.p[end] != '/')
			end++;
		struct str part = str_n(path.p + i, end - i);
		if (str_is(part, "..")) {
			while (b->n > from && b->p[b->n - 1] != '/')
				b->n--;
			b->n -= b->n > from;
		} else if (part.n && !str_is(part, ".")) {
			buf_char(b, '/');
			buf_str(b, part);
		}
		i = end + 1;
	}
}
