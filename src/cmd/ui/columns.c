#include "cmd/ui/columns.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Adds a cell; text is copied. It may hold no NUL. */
void table_cell(struct table *t, struct str text)
{
	buf_str(&t->cells, text);
	buf_char(&t->cells, '\0');
	t->n_cells++;
}

/* As printf; at most 511 bytes. */
void table_cellf(struct table *t, const char *fmt, ...)
{
	va_list ap;
	char text[512];
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	table_cell(t, str_of(text));
}

#define MAX_COLUMNS 64

/* Prints a row of the table. cut: columns at most, 0 as many as there are. */
static void print_row(const struct table *t, const char *const *cells, const size_t *width, size_t n, int cut,
                      bool utf8, struct buf *line)
{
	buf_reset(line);
	for (size_t k = 0; k < n; k++) {
		size_t w = fmt_columns(str_of(cells[k])), pad = w < width[k] ? width[k] - w : 0;
		if (k)
			buf_printf(line, "  ");
		if (t->align[k] == 'r')
			buf_printf(line, "%*s", (int)pad, "");
		buf_printf(line, "%s", cells[k]);
		if (t->align[k] == 'l' && k + 1 < n)
			buf_printf(line, "%*s", (int)pad, "");
	}
	if (cut > 0)
		fmt_fit(line, 0, (size_t)cut, utf8);
	while (line->n && line->p[line->n - 1] == ' ')
		line->n--;
	fwrite(line->p, 1, line->n, stdout);
	putchar('\n');
}

void table_print(struct table *t, const struct screen *out, int cut)
{
	size_t width[MAX_COLUMNS] = {0}, n = t->n_columns < MAX_COLUMNS ? t->n_columns : MAX_COLUMNS;
	const char *cells[MAX_COLUMNS];
	struct buf line = {0};
	if (!n)
		return;
	for (size_t k = 0; t->heads && k < n; k++)
		width[k] = fmt_columns(str_of(t->heads[k]));
	const char *p = t->cells.p;
	for (size_t i = 0; i < t->n_cells && !t->cells.failed; i++, p += strlen(p) + 1) {
		size_t w = fmt_columns(str_of(p)), k = i % t->n_columns;
		if (k < n && w > width[k])
			width[k] = w;
	}
	if (t->heads) {
		fputs(style_on(out, STYLE_BOLD), stdout);
		print_row(t, t->heads, width, n, cut, out->utf8, &line);
		fputs(style_off(out), stdout);
	}
	p = t->cells.p;
	for (size_t i = 0; i + t->n_columns <= t->n_cells && !t->cells.failed; i += t->n_columns) {
		for (size_t k = 0; k < t->n_columns; k++, p += strlen(p) + 1)
			if (k < n)
				cells[k] = p;
		print_row(t, cells, width, n, cut, out->utf8, &line);
	}
	buf_release(&line);
	buf_release(&t->cells);
	t->n_cells = 0;
}

/* "" where the screen has no colours. Static. */
const char *style_on(const struct screen *out, enum style s)
{
	static const char *const codes[] = {
	    [STYLE_BOLD] = "\033[1m", [STYLE_DIM] = "\033[2m",   [STYLE_WARN] = "\033[33m",
	    [STYLE_RUN] = "\033[36m", [STYLE_FILE] = "\033[32m",
	};
	return out->color ? codes[s] : "";
}

/* "" where the screen has no colours. Static. */
const char *style_off(const struct screen *out)
{
	return out->color ? "\033[0m" : "";
}

void print_field(const char *name, const struct buf *value)
{
	printf("%-12s %.*s\n", name, (int)value->n, value->n ? value->p : "");
}

/* Nothing where value is empty. */
void print_field_if(const char *name, const struct buf *value)
{
	if (value->n)
		print_field(name, value);
}

void print_csv_field(struct str s, bool text)
{
	struct buf b = {0};
	fmt_csv(&b, s, text);
	if (b.n) /* else there is no memory, either */
		fwrite(b.p, 1, b.n, stdout);
	buf_release(&b);
}
