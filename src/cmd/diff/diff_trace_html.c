/* diff_trace_html.c - where two traces part, as one HTML file: no script, no network, works printed. */
#include "answer/trace/trace_proof.h"
#include "cmd/diff/diff_trace.h"
#include "cmd/ui/markup.h"

#include <stdlib.h>

static const char head[] =
    "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
    "<title>stemma diff --trace</title>\n<style>\n"
    ":root{color-scheme:light dark}\n"
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}\n"
    "h1{font-size:1.3rem}h2{font-size:1.1rem}code,li,pre{font-family:ui-monospace,monospace;font-size:.9rem;"
    "overflow-wrap:anywhere}\npre{overflow-x:auto}mark{font-weight:600}\n"
    ".first{border-left:4px solid #c60;padding:.5rem 1rem}\n"
    "dt{color:#888}dd{margin:0 0 .4rem 1rem}\n</style></head><body>\n";

/* Empties b; nothing if it is empty. */
static void print_definition(const char *term, struct buf *b)
{
	if (b->n) {
		printf("<dt>%s</dt><dd>", term);
		print_html_escaped(buf_cstr(b));
		puts("</dd>");
	}
	buf_reset(b);
}

/* Prints the source around the difference. Nothing where the source is not there. */
static void print_html_source(const struct trace_pair *p, const struct difference *d)
{
	struct source_lines lines;
	unsigned marked;
	if (source_of_difference(p, d, 8, &lines, &marked) <= 0)
		return;
	fputs("<pre>", stdout);
	unsigned line = lines.first;
	for (char *q = lines.text; *q; line++) {
		size_t k = strcspn(q, "\n");
		bool more = q[k] == '\n';
		q[k] = 0;
		printf(line == marked ? "<mark>%5u  " : "%5u  ", line);
		print_html_escaped(q);
		puts(line == marked ? "</mark>" : "");
		q += k + more;
	}
	puts("</pre>");
	free(lines.text);
}

/* One place where the two differ; the first one with its source. */
static void put_divergence(const struct trace_pair *p, const struct difference *d, bool first)
{
	struct buf b = {0};
	trace_words_divergence(p, d, &b);
	printf("<div%s><b>", first ? " class=\"first\"" : "");
	print_html_escaped(buf_cstr(&b));
	puts("</b>");
	buf_reset(&b);
	if (first)
		print_html_source(p, d);
	puts("<dl>");
	trace_words_operands(p, d->at, &b);
	print_definition("compared, A | B", &b);
	trace_words_iterations(p, d, &b);
	print_definition("loop, A | B", &b);
	for (int s = 0; s < 2; s++) {
		trace_words_stack(p, d, s, &b);
		print_definition(s ? "called in B" : "called in A", &b);
	}
	trace_words_meet(p, d, &b);
	print_definition("they meet again", &b);
	puts("</dl></div>");
	buf_release(&b);
}

/* A thread of both: where they differ, or that they are the same. */
static void print_html_pair(const struct trace_output *v, const struct trace_pair *p)
{
	struct buf b = {0};
	if (v->view->n > 1) {
		printf("<h2>thread ");
		trace_words_thread(p, &b);
		print_html_escaped(buf_cstr(&b));
		buf_reset(&b);
		printf(" of ");
		print_html_escaped(p->side[0].exe);
		trace_words_rank(p, &b);
		print_html_escaped(buf_cstr(&b));
		buf_reset(&b);
		puts("</h2>");
	}
	if (p->c.equal) {
		trace_words_same(p, &b);
		fputs("<p class=\"first\">", stdout);
		print_html_escaped(buf_cstr(&b));
		puts("</p>");
		buf_reset(&b);
	}
	if (p->c.message && (!p->c.equal || p->c.data)) {
		trace_words_message(p, &b);
		fputs("<dl>", stdout);
		print_definition("first message that differs, A | B", &b);
		fputs("</dl>\n", stdout);
	}
	if (p->sender) {
		trace_words_sender(p, &b);
		fputs("<dl>", stdout);
		print_definition(p->c.message ? "its sender, A | B" : "received before, of a rank that differs, too", &b);
		fputs("</dl>\n", stdout);
	}
	const size_t n = trace_differences(p);
	for (size_t i = 0; i < n; i++) {
		const struct difference *d;
		const struct trace_pair *q = trace_difference(p, i, &d);
		if (i == 1)
			printf("<details><summary>then %zu more</summary>\n", p->c.result.total + n - p->c.n - 1);
		put_divergence(q, d, i == 0);
	}
	if (n > 1)
		puts("</details>");
	puts("<dl>");
	trace_words_ends(p, &b);
	print_definition("they ended", &b);
	trace_words_noise(p, &b);
	print_definition("noise", &b);
	trace_words_threads(p, &b);
	print_definition("threads", &b);
	if (p->c.equal)
		trace_words_unexamined(p, &b);
	print_definition("not examined", &b);
	if (p->c.equal || p->outputs.differ)
		trace_words_outputs(p, &b);
	print_definition("what they wrote, A | B", &b);
	trace_words_uncertain(p->side, &b);
	print_definition("not certain", &b);
	puts("</dl>");
	trace_words_notes(p, &b);
	if (b.n) {
		printf("<p>%s</p><pre>", p->c.partial ? "Partial:" : "Notes:");
		print_html_escaped(buf_cstr(&b));
		puts("</pre>");
	}
	buf_release(&b);
}

/* 0, or the status to end with. */
int trace_html(const struct trace_output *v)
{
	fputs(head, stdout);
	puts("<h1>Where the programs part</h1>");
	for (int s = 0; s < 2; s++) {
		printf("<p><b>%c</b> <code>", "AB"[s]);
		print_html_escaped(v->view->what[s]);
		puts("</code></p>");
	}
	for (size_t i = 0; i < v->view->n; i++)
		print_html_pair(v, &v->view->v[i]);
	for (size_t i = 0; i < v->view->n_only; i++) {
		printf("<p>only in %c: thread ", "AB"[v->view->only_side[i]]);
		print_html_escaped(v->view->only[i].thread);
		printf(" of ");
		print_html_escaped(v->view->only[i].exe);
		puts("</p><dl>");
		struct buf b = {0};
		trace_words_uncertain(&v->view->only[i], &b);
		print_definition("not certain", &b);
		buf_release(&b);
		puts("</dl>");
	}
	if (v->view->proof) {
		struct buf b = {0};
		trace_words_proof(v->view->proof, &b);
		puts("<dl>");
		print_definition("cause", &b);
		puts("</dl>");
		buf_release(&b);
	}
	if (v->view->again) {
		puts("<p>The traces were made by running again:</p><pre>");
		for (size_t i = 0; i < v->view->n_ran; i++) {
			print_html_escaped(v->view->ran[i]);
			puts("");
		}
		for (size_t i = 0; i < v->view->n_notes; i++) {
			printf("partial: ");
			print_html_escaped(v->view->note[i]);
			puts("");
		}
		puts("</pre>");
	}
	puts("</body></html>");
	return 0;
}
