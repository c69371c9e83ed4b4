/* The table that --report prints after the command. */
#include "cmd/run/run_monitor.h"
#include "cmd/ui/columns.h"

#include <string.h>

/* Appends a figure's value by the figure's unit: a time, a duration, a size, thousandths, or a plain number. */
static void format_report_value(struct buf *b, enum figure_name f, int64_t value)
{
	const char *unit = figure_unit(f);
	if (f == FIGURE_start || f == FIGURE_end)
		fmt_time(b, value, false);
	else if (!strcmp(unit, "s"))
		fmt_duration(b, (uint64_t)value);
	else if (!strcmp(unit, "B"))
		fmt_size(b, (uint64_t)value, false);
	else if (figure_decimals(f) == 3)
		buf_printf(b, "%.2f", (double)value / 1000);
	else
		buf_printf(b, "%lld", (long long)value);
}

/* Appends a word, with blanks for underscores. */
static void format_spaced_name(struct buf *b, const char *word)
{
	for (; *word; word++)
		buf_char(b, *word == '_' ? ' ' : *word);
}

/* Empties value. */
static void print_report_line(FILE *out, const char *name, struct buf *value, const char *rest)
{
	struct buf words = {0};
	format_spaced_name(&words, name);
	fprintf(out, "  %-28s %14s  %s\n", buf_cstr(&words), buf_cstr(value), rest);
	buf_release(&words);
	buf_reset(value);
}

/* The bounds, where they are further apart than the shown value tells. */
static bool is_wide(const struct figure *f)
{
	return f->bounded && f->high - f->low > f->value / 100;
}

void run_report(const struct summary *s, FILE *out)
{
	struct buf value = {0}, rest = {0};
	if (s->exit_type == EXIT_TYPE_SIGNAL)
		fprintf(out, "stemma: killed by signal %d%s\n", s->signal, s->oom ? " (out of memory)" : "");
	else if (s->exit_type == EXIT_TYPE_LIMIT)
		fprintf(out, "stemma: ended by a limit\n");
	else if (s->exit_type == EXIT_TYPE_NORMAL)
		fprintf(out, "stemma: exit status %d\n", s->exit_status);
	else
		fprintf(out, "stemma: exit status unknown\n");
	for (size_t i = 0; i < s->nexceeded; i++)
		fprintf(out, "  over its limit: %s\n", s->exceeded[i].name);
	for (int i = 0; i < FIGURES; i++) {
		const struct figure *f = &s->figure[i];
		if (!f->known)
			continue;
		format_report_value(&value, (enum figure_name)i, f->value);
		if (is_wide(f)) {
			buf_str(&rest, str_of("from "));
			format_report_value(&rest, (enum figure_name)i, f->low);
			buf_str(&rest, str_of(" to "));
			format_report_value(&rest, (enum figure_name)i, f->high);
		}
		if (!f->complete)
			buf_str(&rest, str_of(rest.n ? ", or more" : "or more"));
		print_report_line(out, figure_key((enum figure_name)i), &value, buf_cstr(&rest));
		buf_reset(&rest);
	}
	for (size_t i = 0; i < s->nescaped; i++)
		fprintf(out, "  %s\n", s->escaped[i]);
	buf_release(&value);
	buf_release(&rest);
}
