#include "base/buf.h"

#include "base/hex.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* b is empty then, and can be used again. */
void buf_release(struct buf *b)
{
	free(b->p);
	*b = (struct buf){0};
}

bool buf_room(struct buf *b, size_t n)
{
	if (b->failed)
		return false;
	if (b->cap - b->n >= n)
		return true;
	size_t cap = b->cap ? b->cap : 256;
	while (cap - b->n < n) {
		if (cap > SIZE_MAX / 2) {
			b->failed = true;
			return false;
		}
		cap *= 2;
	}
	char *p = realloc(b->p, cap);
	if (!p) {
		b->failed = true;
		return false;
	}
	b->p = p;
	b->cap = cap;
	return true;
}

void buf_add_growing(struct buf *b, const void *p, size_t n)
{
	if (n && buf_room(b, n)) {
		memcpy(b->p + b->n, p, n);
		b->n += n;
	}
}

/* Two digits for each byte. As buf_add. */
void buf_hex(struct buf *b, const void *p, size_t n)
{
	if (!buf_room(b, 2 * n + 1))
		return;
	hex_text(p, n, b->p + b->n);
	b->n += 2 * n;
}

/* As printf. Without memory b->failed, and nothing of it is appended. */
void buf_printf(struct buf *b, const char *fmt, ...)
{
	va_list ap, again;
	va_start(ap, fmt);
	va_copy(again, ap);
	int n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n >= 0 && buf_room(b, (size_t)n + 1)) {
		vsnprintf(b->p + b->n, (size_t)n + 1, fmt, again);
		b->n += (size_t)n;
	}
	va_end(again);
}

const char *buf_cstr(struct buf *b)
{
	if (!buf_room(b, 1))
		return "";
	b->p[b->n] = '\0';
	return b->p;
}
