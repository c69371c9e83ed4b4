/* views_line.h - lines of the documented tables are made of these. */
#ifndef STEMMA_STORE_VIEWS_VIEWS_LINE_H
#define STEMMA_STORE_VIEWS_VIEWS_LINE_H

#include "store/views/views_int.h"

/* Appends a line of NULLs to the cursor's. It is valid until the next call. NULL: no memory; c->failed says so. */
static inline struct line *lines_append(struct cursor *c)
{
	if (!vec_room(&c->cells, c->columns)) {
		c->failed = true;
		return NULL;
	}
	memset(c->cells.v + c->cells.n, 0, c->columns * sizeof(*c->cells.v));
	c->cells.n += c->columns;
	return line_at(c, c->n_lines++);
}
/* Takes the last line away; there is one. */
static inline void lines_drop_last(struct cursor *c)
{
	c->n_lines--;
	c->cells.n -= c->columns;
}
/* Each line_set_ function gives a column of a line its value; column: C_VIEW_NAME. A column that was not set is NULL.
 * This one: a number. */
static inline void line_set_int(struct line *l, unsigned column, int64_t v)
{
	l->v[column] = (struct cell){CELL_INT, v, 0};
}
/* An id; NULL for 0. */
static inline void line_set_id(struct line *l, unsigned column, uint64_t v)
{
	if (v)
		line_set_int(l, column, (int64_t)v);
}
/* A time, ns since 1970; NULL for TIME_NONE and TIME_NEVER. */
static inline void line_set_time(struct line *l, unsigned column, int64_t t)
{
	if (t != TIME_NONE && t != TIME_NEVER)
		line_set_int(l, column, t);
}
/* A text, also an empty one. s is copied to c->text. */
static inline void line_set_text(struct cursor *c, struct line *l, unsigned column, struct str s)
{
	l->v[column] = (struct cell){CELL_TEXT, (int64_t)c->text.n, s.n};
	buf_str(&c->text, s);
}
/* The same of a string; NULL counts as an empty one. */
static inline void line_set_cstr(struct cursor *c, struct line *l, unsigned column, const char *s)
{
	line_set_text(c, l, column, str_of(s));
}
/* The strings of a list with blanks between them. */
static inline void line_set_list(struct cursor *c, struct line *l, unsigned column, const struct strlist *list)
{
	size_t at = c->text.n;
	struct str s;
	for (size_t pos = 0; strlist_next(list, &pos, &s);) {
		if (c->text.n != at)
			buf_char(&c->text, ' ');
		buf_str(&c->text, s);
	}
	l->v[column] = (struct cell){CELL_TEXT, (int64_t)at, c->text.n - at};
}

/* A text; NULL for an empty one. */
static inline void line_set_text_if(struct cursor *c, struct line *l, unsigned column, struct str s)
{
	if (s.n)
		line_set_text(c, l, column, s);
}

#endif
