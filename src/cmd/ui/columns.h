/* columns.h - rows of cells in columns, and colour, on standard output. */
#ifndef STEMMA_CMD_UI_COLUMNS_H
#define STEMMA_CMD_UI_COLUMNS_H

#include "answer/fmt.h"
#include "cmd/cmd.h"

/* Rows of cells, aligned. Columns are as wide as they need to be; the last one may be cut to the width of the screen.
 */
struct table {
	const char *const *heads; /* NULL: no head line */
	const char *align;        /* 'l' or 'r' per column */
	size_t n_columns;
	struct buf cells; /* NUL-terminated, row by row */
	size_t n_cells;
};
void table_cell(struct table *t, struct str text);
/* Adds a cell to the row. */
void table_cellf(struct table *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Prints to standard output and releases. cut: columns of the screen, 0 for no limit. */
void table_print(struct table *t, const struct screen *out, int cut);

/* "NAME         value", a line of what is told of one thing; print_field_if: nothing where there is no value. */
void print_field(const char *name, const struct buf *value);
void print_field_if(const char *name, const struct buf *value);

/* A field of CSV, without what stands between fields; text: it is quoted where it must be. */
void print_csv_field(struct str s, bool text);

/* Colour, empty strings when the screen has none. */
enum style { STYLE_BOLD, STYLE_DIM, STYLE_WARN, STYLE_RUN, STYLE_FILE };
const char *style_on(const struct screen *out, enum style s);
const char *style_off(const struct screen *out);

#endif
