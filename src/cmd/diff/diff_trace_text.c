/* diff_trace_text.c - where two traces part, on one screen. */
#include "cmd/diff/diff_trace.h"

#include "answer/trace/trace_proof.h"

#include <errno.h>
#include <stdlib.h>

/* The lines of b, the first behind `head`, the rest below it. */
static void print_headed_lines(const struct trace_output *v, const char *head, struct buf *b)
{
	bool first = true;
	for (const char *p = buf_cstr(b); *p; first = false) {
		size_t n = strcspn(p, "\n");
		struct buf line = {0};
		buf_printf(&line, "%-13s ", first ? head : "");
		buf_add(&line, p, n);
		if (v->out->tty)
			fmt_fit(&line, 0, (size_t)v->out->width, v->out->utf8);
		puts(buf_cstr(&line));
		buf_release(&line);
		p += n + (p[n] == '\n');
	}
	buf_reset(b);
}

/* Two lines before and after; nothing if the source is not there. */
static void print_text_source(const struct trace_pair *p, const struct difference *d)
{
	struct source_lines lines;
	unsigned marked;
	if (source_of_difference(p, d, 2, &lines, &marked) <= 0)
		return;
	puts("");
	unsigned at_line = lines.first;
	for (char *q = lines.text; *q; at_line++) {
		size_t k = strcspn(q, "\n");
		printf("  %s%5u  %.*s\n", at_line == marked ? ">" : " ", at_line, (int)k, q);
		q += k + (q[k] == '\n');
	}
	puts("");
	free(lines.text);
}

/* Who sent what may be why. */
static void put_sender(const struct trace_output *v, const struct trace_pair *p)
{
	struct buf b = {0};
	trace_words_sender(p, &b);
	print_headed_lines(v, p->c.message ? "sender" : "received", &b);
	buf_release(&b);
}

/* Prints the first difference of a pair with its source and how it was called. */
static void put_first(const struct trace_output *v, const struct trace_pair *whole)
{
	const struct difference *d;
	const struct trace_pair *p = trace_difference(whole, 0, &d);
	struct buf b = {0};
	fputs(style_on(v->out, STYLE_BOLD), stdout);
	trace_words_divergence(p, d, &b);
	print_headed_lines(v, "first differs", &b);
	fputs(style_off(v->out), stdout);
	trace_words_operands(p, d->at, &b);
	print_headed_lines(v, "", &b);
	print_text_source(p, d);
	trace_words_iterations(p, d, &b);
	print_headed_lines(v, "loop", &b);
	trace_words_stack(p, d, 0, &b);
	print_headed_lines(v, "called", &b);
	if (d->depth[0] && d->at[0].step != ALIGN_START) {
		size_t same = d->d.at[0] + !d->d.decision;
		buf_printf(&b, "the first %zu step%s the same", same, str_are(same));
		print_headed_lines(v, "before", &b);
	}
	trace_words_meet(p, d, &b);
	print_headed_lines(v, "meet again", &b);
	if (whole->c.message) {
		trace_words_message(whole, &b);
		print_headed_lines(v, "message", &b);
	}
	put_sender(v, whole);
	if (p->c.data && !p->c.equal) {
		trace_words_datum(p, &b);
		buf_printf(&b, ": ");
		trace_words_operands(p, p->c.datum, &b);
		buf_printf(&b, ", without a control difference");
		print_headed_lines(v, "data differed", &b);
	}
	buf_release(&b);
}

/* The next differences in short, 5 of them without --all, and how many there are more. */
static void put_later(const struct trace_output *v, const struct trace_pair *p)
{
	const size_t n = trace_differences(p), shown = v->all || n < 5 ? n : 5, total = p->c.result.total + n - p->c.n;
	struct buf b = {0};
	for (size_t i = 1; i < shown; i++) {
		const struct difference *d;
		const struct trace_pair *q = trace_difference(p, i, &d);
		trace_words_divergence(q, d, &b);
		size_t at = b.n;
		buf_printf(&b, " (");
		size_t start = b.n;
		trace_words_operands(q, d->at, &b);
		if (b.n == start)
			b.n = at;
		else
			buf_char(&b, ')');
		at = b.n;
		buf_printf(&b, "\n  ");
		start = b.n;
		trace_words_iterations(q, d, &b);
		if (b.n == start)
			b.n = at;
		print_headed_lines(v, i == 1 ? "then" : "", &b);
	}
	if (total > shown)
		printf("%-13s and %zu more%s\n", "", total - shown, n > shown ? " (--all)" : "");
	buf_release(&b);
}

/* Of a thread that has no name that tells something. */
static void put_first_function(const struct trace_side *s, struct buf *b)
{
	if (*s->thread != '?' || !s->first)
		return;
	buf_printf(b, ", begun in ");
	trace_words_function(s->first, b);
	buf_char(b, ',');
}

/* One thread of both runs: the first difference with its source, or that they are the same, then the others and notes.
 * */
static void print_text_pair(const struct trace_output *v, const struct trace_pair *p)
{
	struct buf b = {0};
	if (v->view->n > 1) {
		buf_printf(&b, "thread ");
		trace_words_thread(p, &b);
		put_first_function(p->side, &b);
		buf_printf(&b, " of ");
		fmt_path(&b, str_of(p->side[0].exe));
		trace_words_rank(p, &b);
		printf("%s\n", buf_cstr(&b));
		buf_reset(&b);
	}
	if (p->c.equal) {
		static const char *const heads[] = {[TRACE_SAME] = "same",
		                                    [TRACE_DATA] = "data differs",
		                                    [TRACE_OUTPUT] = "differs",
		                                    [TRACE_UNKNOWN] = "not known",
		                                    [TRACE_NOISE] = "noise"};
		trace_words_same(p, &b);
		print_headed_lines(v, heads[trace_verdict(p)], &b);
		trace_words_unexamined(p, &b);
		print_headed_lines(v, "not examined", &b);
		if (p->c.message && p->c.data) {
			trace_words_message(p, &b);
			print_headed_lines(v, "message", &b);
		}
		put_sender(v, p);
	} else {
		put_first(v, p);
		put_later(v, p);
	}
	if (p->c.equal || p->outputs.differ) {
		trace_words_outputs(p, &b);
		print_headed_lines(v, "outputs", &b);
	}
	trace_words_ends(p, &b);
	print_headed_lines(v, "ended", &b);
	trace_words_noise(p, &b);
	print_headed_lines(v, "noise", &b);
	trace_words_threads(p, &b);
	print_headed_lines(v, "threads", &b);
	trace_words_uncertain(p->side, &b);
	print_headed_lines(v, "not certain", &b);
	trace_words_notes(p, &b);
	print_headed_lines(v, p->c.partial ? "partial" : "note", &b);
	buf_release(&b);
}

int trace_text(const struct trace_output *v)
{
	size_t same = 0;
	struct buf b = {0};
	for (int s = 0; s < 2; s++) {
		size_t steps = 0;
		for (size_t i = 0; i < v->view->n; i++)
			steps += v->view->v[i].side[s].steps;
		fmt_path(&b, str_of(v->view->what[s]));
		printf("%c  %s, %zu step%s\n", "AB"[s], buf_cstr(&b), steps, str_plural(steps));
		buf_reset(&b);
	}
	if (v->view->again)
		printf("   the traces are of %zu %s that %s run again for this comparison\n", v->view->n_ran,
		       v->view->n_ran == 1 ? "command" : "commands", v->view->n_ran == 1 ? "was" : "were");
	puts("");
	for (size_t i = 0; i < v->view->n; i++)
		same += trace_is_same(&v->view->v[i]) || trace_is_noise(&v->view->v[i]);
	for (size_t i = 0; i < v->view->n; i++) {
		if (v->view->n > 1 && !v->all && trace_is_same(&v->view->v[i]))
			continue;
		print_text_pair(v, &v->view->v[i]);
		if (i + 1 < v->view->n)
			puts("");
	}
	if (v->view->n > 1)
		printf("%zu of %zu threads that were compared are the same%s\n", same, v->view->n,
		       v->view->noise ? ", or differ by noise only" : "");
	for (size_t i = 0; i < v->view->n_only; i++) {
		buf_printf(&b, "only in %c%s: thread ", "AB"[v->view->only_side[i]],
		           v -> view -> only[i].noise ? " (as in some repetitions of A)" : "");
		fmt_name(&b, str_of(v->view->only[i].thread));
		put_first_function(&v->view->only[i], &b);
		buf_printf(&b, " of ");
		fmt_path(&b, str_of(v->view->only[i].exe));
		puts(buf_cstr(&b));
		buf_reset(&b);
		trace_words_uncertain(&v->view->only[i], &b);
		print_headed_lines(v, "not certain", &b);
	}
	buf_printf(&b, "%s", v->view->outputs.words ? v->view->outputs.words : "");
	print_headed_lines(v, "outputs", &b);
	if (v->view->proof)
		trace_words_proof(v->view->proof, &b);
	print_headed_lines(v, "cause", &b);
	for (size_t i = 0; i < v->view->n_notes; i++) {
		buf_printf(&b, "%s", v->view->note[i]);
		print_headed_lines(v, "partial", &b);
	}
	buf_release(&b);
	return 0;
}
