/* archive_text.c - statistics as a table: a column for each figure, as Table 5 of the paper has them. */
#include "cmd/archive/archive.h"
#include "cmd/ui/amount.h"
#include "cmd/ui/columns.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define LABEL 12
#define COLUMN 17 /* two blanks and what is in them: four columns and the label are 80 */
#define IN_COLUMN (COLUMN - 2)
#define ROWS 4

/* How many columns of figures fit beside the labels, 1 to 8. */
static size_t columns_of_screen(const struct screen *s)
{
	size_t n = s->width > LABEL + COLUMN ? (size_t)(s->width - LABEL) / COLUMN : 1;
	return n > 8 ? 8 : n;
}

/* Appends blanks until the line is so many columns wide. */
static void pad(struct buf *line, size_t to)
{
	for (size_t n = fmt_columns(buf_view(line)); n < to; n++)
		buf_char(line, ' ');
}

/* Without the blanks at its end. Empties the line. */
static void print_trimmed_line(struct buf *line)
{
	while (line->n && line->p[line->n - 1] == ' ')
		line->n--;
	puts(buf_cstr(line));
	buf_reset(line);
}

/* Puts the cell flush right into its column, and empties it. */
static void right(struct buf *line, size_t column, struct buf *cell)
{
	size_t n = fmt_columns(buf_view(cell)), end = LABEL + (column + 1) * COLUMN;
	pad(line, end - (n < COLUMN ? n : COLUMN));
	buf_str(line, buf_view(cell));
	buf_reset(cell);
}

/* Prints the headings of n figures, at most 8; shorter ones stand at the bottom. */
static void headings(const struct archive_figure *v, size_t n)
{
	struct buf words[8] = {0}, line = {0}, cell = {0};
	unsigned lines[8], most = 0;
	size_t at[8] = {0};
	for (size_t i = 0; i < n; i++) {
		lines[i] = amount_heading(&words[i], (enum figure_name)v[i].figure, IN_COLUMN);
		most = lines[i] > most ? lines[i] : most;
	}
	for (unsigned k = 0; k < most; k++) {
		for (size_t i = 0; i < n; i++) {
			if (most - k > lines[i])
				continue;
			const char *word = buf_cstr(&words[i]) + at[i];
			at[i] += strlen(word) + 1;
			buf_printf(&cell, "%s", word);
			right(&line, i, &cell);
		}
		print_trimmed_line(&line);
	}
	for (size_t i = 0; i < n; i++)
		buf_release(&words[i]);
	buf_release(&line);
	buf_release(&cell);
}

/* Eight levels a row, or two where there is only ASCII; what is not empty shows. */
static void histograms(const struct archive *a, const struct archive_figure *v, size_t n)
{
	static const char *const blocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
	static const char *const ascii[] = {" ", ".", "#"};
	const bool utf8 = a->c->out.utf8;
	const size_t levels = utf8 ? 8 : 2;
	struct buf line = {0};
	for (size_t row = ROWS; row-- > 0;) {
		buf_printf(&line, "%s", row == ROWS - 1 ? "histogram" : "");
		for (size_t i = 0; i < n; i++) {
			size_t most = 1;
			pad(&line, LABEL + (i + 1) * COLUMN - ARCHIVE_BINS);
			for (size_t b = 0; b < ARCHIVE_BINS; b++)
				most = v[i].count[b] > most ? v[i].count[b] : most;
			for (size_t b = 0; b < ARCHIVE_BINS; b++) {
				size_t height = (v[i].count[b] * ROWS * levels + most - 1) / most, under = row * levels;
				size_t level = height <= under ? 0 : height - under < levels ? height - under : levels;
				buf_printf(&line, "%s", utf8 ? blocks[level] : ascii[level]);
			}
		}
		print_trimmed_line(&line);
	}
	buf_release(&line);
}

enum row { ROW_MEAN, ROW_STD_DEV, ROW_SKEWNESS, ROW_KURTOSIS, ROW_MIN, ROW_QUANTILES };

/* Appends one statistic of a figure: "?" if no task has the figure, "-" if it cannot be computed. */
static void value_cell(const struct archive *a, const struct archive_figure *f, unsigned row, struct buf *cell)
{
	const struct stats *s = &f->stats;
	enum figure_name name = (enum figure_name)f->figure;
	if (!s->n) {
		buf_char(cell, '?');
	} else if (row == ROW_SKEWNESS || row == ROW_KURTOSIS) {
		double v = row == ROW_SKEWNESS ? s->skewness : s->kurtosis;
		if (isnan(v))
			buf_char(cell, '-');
		else
			buf_printf(cell, "%.2f", v);
	} else {
		double v = row == ROW_MEAN                         ? s->mean
		           : row == ROW_STD_DEV                    ? s->std_dev
		           : row == ROW_MIN                        ? (double)s->min
		           : row < ROW_QUANTILES + STATS_QUANTILES ? s->quantile[row - ROW_QUANTILES]
		                                                   : (double)s->max;
		amount_put(cell, name, v, row == ROW_STD_DEV, a->o->bytes);
	}
}

/* Prints the statistics of n figures, a line for each, and how many tasks have bounds, are incomplete or unknown. */
static void rows(const struct archive *a, const struct archive_figure *v, size_t n)
{
	static const char *const labels[] = {"mean", "std. dev.", "skewness", "kurtosis", "min"};
	struct buf line = {0}, cell = {0};
	for (unsigned row = 0; row <= ROW_QUANTILES + STATS_QUANTILES; row++) {
		if (row < ROW_QUANTILES)
			buf_printf(&line, "%s", labels[row]);
		else if (row < ROW_QUANTILES + STATS_QUANTILES)
			buf_printf(&line, "p%u", stats_percents[row - ROW_QUANTILES]);
		else
			buf_printf(&line, "max");
		for (size_t i = 0; i < n; i++) {
			value_cell(a, &v[i], row, &cell);
			right(&line, i, &cell);
		}
		print_trimmed_line(&line);
	}
	static const char *const counts[] = {"with bounds", "incomplete", "not known"};
	for (unsigned k = 0; k < 3; k++) {
		bool any = false;
		buf_printf(&line, "%s", counts[k]);
		for (size_t i = 0; i < n; i++) {
			size_t count = k == 0 ? v[i].bounded : k == 1 ? v[i].incomplete : v[i].absent;
			any |= count > 0;
			buf_printf(&cell, "%zu", count);
			right(&line, i, &cell);
		}
		if (any)
			print_trimmed_line(&line);
		buf_reset(&line);
	}
	buf_release(&line);
	buf_release(&cell);
}

/* The values by which the group was formed, and how many tasks it has. */
static void print_group_title(const struct archive *a, size_t group)
{
	struct buf b = {0};
	char name[160];
	for (size_t i = 0; i < a->n_by; i++) {
		const char *v = archive_value(a, group, i);
		buf_printf(&b, "%s%s=", i ? ", " : "", archive_key_name(&a->by[i], name));
		fmt_name(&b, str_of(*v ? v : "?"));
	}
	size_t tasks = a->group[group].tasks;
	fmt_fit(&b, 0, (size_t)(a->c->out.width > 40 ? a->c->out.width - 20 : 20), a->c->out.utf8);
	printf("%s%s%s%zu task%s%s\n", style_on(&a->c->out, STYLE_BOLD), buf_cstr(&b), a->n_by ? ": " : "", tasks,
	       tasks == 1 ? "" : "s", style_off(&a->c->out));
	buf_release(&b);
}

int archive_text(const struct archive *a)
{
	size_t at_once = columns_of_screen(&a->c->out);
	for (size_t g = 0; g < a->h->n_groups; g++) {
		if (g)
			putchar('\n');
		print_group_title(a, g);
		for (size_t i = 0; i < a->n_figures; i += at_once) {
			size_t n = a->n_figures - i < at_once ? a->n_figures - i : at_once;
			if (i)
				putchar('\n');
			headings(a->group[g].v + i, n);
			histograms(a, a->group[g].v + i, n);
			rows(a, a->group[g].v + i, n);
		}
	}
	return STATUS_OK;
}
