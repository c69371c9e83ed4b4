/* diff_text.c - a diff on one screen: the first cause, then the categories, each with its first few differences. */
#include "cmd/diff/diff_view.h"

/* Prints b's lines, the first behind `head`, the rest below it. */
static void put_lines(const struct diff_view *v, const char *head, struct buf *b)
{
	const char *p = buf_cstr(b);
	for (int first = 1; *p; first = 0) {
		const char *end = strchr(p, '\n');
		struct buf line = {0};
		buf_printf(&line, "%-13s ", first ? head : "");
		buf_add(&line, p, end ? (size_t)(end - p) : strlen(p));
		if (v->out->tty)
			fmt_fit(&line, 0, (size_t)v->out->width, v->out->utf8);
		puts(buf_cstr(&line));
		buf_release(&line);
		p = end ? end + 1 : p + strlen(p);
	}
}

/* Prints the differences of one category. 0, -errno. With v->max at most so many items, and how many more there are.
 */
static int print_text_category(const struct diff_view *v, enum diff_category category)
{
	const struct diff *d = v->d;
	size_t n = 0, shown = 0;
	struct buf b = {0};
	int r = 0;
	for (size_t i = 0; i < d->n_items; i++)
		n += d->items[i].category == category;
	for (size_t i = 0; r == 0 && i < d->n_items; i++) {
		const struct diff_item *x = &d->items[i];
		if (x->category != category)
			continue;
		if (v->max && shown == v->max && n > v->max + 1)
			break;
		buf_reset(&b);
		r = diff_item_text(v, x, &b);
		if (r == 0 && i != d->first && category != DIFF_outputs) {
			size_t at = b.n;
			buf_str(&b, str_of("\n  "));
			size_t start = b.n;
			r = diff_change_text(v, x, &b);
			if (b.n == start)
				b.n = at;
		}
		if (r == 0)
			put_lines(v, shown ? "" : diff_category_words[category].name, &b);
		shown++;
	}
	if (r == 0 && shown < n)
		printf("%-13s and %zu more (--all)\n", "", n - shown);
	if (!n && category != DIFF_outcome && category != DIFF_executions && category != DIFF_configuration &&
	    category != DIFF_build && category != DIFF_lines)
		printf("%-13s same\n", diff_category_words[category].name);
	buf_release(&b);
	return r;
}

/* 0, -errno, which is not told yet. */
int diff_text(const struct diff_view *v)
{
	const struct diff *d = v->d;
	struct buf b = {0};
	int r = 0;
	for (int side = 0; r == 0 && side < 2; side++) {
		buf_reset(&b);
		r = diff_side_name(v, side, &b);
		printf("%c  %s\n", "AB"[side], buf_cstr(&b));
	}
	buf_reset(&b);
	if (r == 0)
		r = diff_made_from(v, &b);
	if (b.n)
		puts(buf_cstr(&b));
	puts("");
	buf_reset(&b);
	if (r == 0)
		r = diff_cause_text(v, &b);
	if (r == 0) {
		fputs(style_on(v->out, STYLE_BOLD), stdout);
		put_lines(v, "first cause", &b);
		fputs(style_off(v->out), stdout);
		puts("");
	}
	for (int category = 0; r == 0 && category < DIFF_CATEGORIES; category++)
		r = print_text_category(v, (enum diff_category)category);
	buf_release(&b);
	if (r < 0)
		return r;
	printf("\n%zu execution%s paired", d->paired, str_plural(d->paired));
	for (int side = 0; side < 2; side++)
		if (d->side[side].only)
			printf(", %zu only in %c", d->side[side].only, "AB"[side]);
	printf("; %zu of %zu inputs and programs the same\n", d->same_files, d->files_compared);
	for (int side = 0; side < 2; side++)
		if (d->side[side].gaps) {
			printf("the record of %c is incomplete:", "AB"[side]);
			const char *comma = " ";
			for (unsigned g = 0; g < 64; g++)
				if (d->side[side].gaps >> g & 1) {
					printf("%s%s", comma, term_meaning(SET_gap, g));
					comma = "; ";
				}
			puts("");
		}
	return 0;
}
