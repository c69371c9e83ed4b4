/* diff_html.c - a diff as one HTML file that needs nothing else: no script, no network, works printed. */
#include "cmd/diff/diff_view.h"
#include "cmd/ui/markup.h"

static const char head[] =
    "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
    "<title>stemma diff</title>\n<style>\n"
    ":root{color-scheme:light dark}\n"
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}\n"
    "h1{font-size:1.3rem}code,li{font-family:ui-monospace,monospace;font-size:.9rem;overflow-wrap:anywhere}\n"
    ".cause{border-left:4px solid #c60;padding:.5rem 1rem;white-space:pre-wrap}\n"
    "summary{font-weight:600;cursor:pointer;margin-top:.8rem}.n{color:#888;font-weight:400}ul{margin:.3rem 0}\n"
    "small{display:block;color:#888}\n</style></head><body>\n";

/* Prints the differences of one category as HTML. 0, -errno. */
static int print_html_category(const struct diff_view *v, enum diff_category category)
{
	const struct diff *d = v->d;
	struct buf b = {0};
	size_t n = 0;
	int r = 0;
	for (size_t i = 0; i < d->n_items; i++)
		n += d->items[i].category == category;
	if (!n) {
		printf("<p><b>%s</b> <span class=\"n\">same: %s</span></p>\n", diff_category_words[category].name,
		       diff_category_words[category].meaning);
		return 0;
	}
	printf("<details%s><summary>%s <span class=\"n\">%zu: %s</span></summary><ul>\n", n <= 20 ? " open" : "",
	       diff_category_words[category].name, n, diff_category_words[category].meaning);
	for (size_t i = 0; r == 0 && i < d->n_items; i++) {
		if (d->items[i].category != category)
			continue;
		buf_reset(&b);
		r = diff_item_text(v, &d->items[i], &b);
		fputs("<li>", stdout);
		print_html_escaped(buf_cstr(&b));
		buf_reset(&b);
		if (r == 0)
			r = diff_change_text(v, &d->items[i], &b);
		if (b.n) {
			fputs("<small>", stdout);
			print_html_escaped(buf_cstr(&b));
			fputs("</small>", stdout);
		}
		puts("</li>");
	}
	puts("</ul></details>");
	buf_release(&b);
	return r;
}

/* 0, -errno, which is not told yet. */
int diff_html(const struct diff_view *v)
{
	const struct diff *d = v->d;
	struct buf b = {0};
	int r = 0;
	fputs(head, stdout);
	puts("<h1>What differs</h1>");
	for (int side = 0; r == 0 && side < 2; side++) {
		buf_reset(&b);
		r = diff_side_name(v, side, &b);
		printf("<p><b>%c</b> <code>", "AB"[side]);
		print_html_escaped(buf_cstr(&b));
		puts("</code></p>");
	}
	buf_reset(&b);
	if (r == 0)
		r = diff_cause_text(v, &b);
	fputs("<div class=\"cause\"><b>First cause</b>: ", stdout);
	print_html_escaped(buf_cstr(&b));
	puts("</div>");
	for (int category = 0; r == 0 && category < DIFF_CATEGORIES; category++)
		r = print_html_category(v, (enum diff_category)category);
	printf("<p>%zu execution%s paired, %zu only in A, %zu only in B; %zu of %zu inputs and programs the same.</p>\n",
	       d->paired, str_plural(d->paired), d->side[0].only, d->side[1].only, d->same_files, d->files_compared);
	puts("</body></html>");
	buf_release(&b);
	return r;
}
