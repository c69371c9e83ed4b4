/* trace_words_notes.c - what the answer does not rest on, and that there is no difference, in words. */
#include "answer/trace/trace_answer.h"
#include "answer/trace/trace_calls_words.h"
#include "answer/trace/trace_set.h"

#include "spec/trace/trace_format.h"

#include <string.h>

/* What limits what can be said of a side: damage, gaps, an unknown end, an incomplete specification. Lines. */
static void note_side(const struct trace_pair *p, int side, struct buf *b)
{
	const struct thread_steps *t = &p->c.thread[side];
	char name = "AB"[side];
	const struct spec *s = p->atlas->spec[side];
	if (t->damaged)
		buf_printf(b, "%c's trace can be read up to step %zu only: %s\n", name, p->side[side].steps, t->why);
	else if (t->info.end == TRACE_CUT && trace_is_incomplete(p, side))
		buf_printf(b,
		           "how %c's program ended is unknown: it was killed, is still running, or executed another program\n",
		           name);
	else if (t->info.end == TRACE_STOPPED)
		buf_printf(b, "%c's trace ends before the program did\n", name);
	if (t->gaps)
		buf_printf(b, "%c's trace has %llu gap%s\n", name, (unsigned long long)t->gaps, str_plural(t->gaps));
	if (!s) {
		buf_printf(b,
		           "%c's specification is unknown: there are numbers instead of names, and no loops (use --spec FILE "
		           "with the specification or the program)\n",
		           name);
		return;
	}
	if (p->calls && (!call_has_functions(p) || p->calls->steps.stacks))
		return;
	bool lines = p->functions; /* such specifications have none */
	for (uint32_t i = 0; !lines && i < s->n_nodes; i++)
		lines = s->nodes[i].line > 0;
	if (!lines)
		buf_printf(b, "%c's program was built without line numbers (-g)\n", name);
	for (uint32_t i = 0; i < s->n_gaps && i < 3; i++) {
		buf_printf(b, "%c's specification: ", name);
		fmt_name(b, str_of(s->gaps[i]));
		buf_char(b, '\n');
	}
}

bool trace_built_anew(const struct trace_pair *p)
{
	const struct trace_info *a = &p->c.thread[0].info, *b = &p->c.thread[1].info;
	return !p->atlas->built_otherwise && a->n_build_id && a->n_build_id == b->n_build_id &&
	       memcmp(a->build_id, b->build_id, a->n_build_id) != 0;
}

/* ---- what is not in a trace ---- */

/* How many branches of the program no trace tells of. */
uint64_t trace_unexamined_branches(const struct spec *s)
{
	return s->stats.branches > s->stats.decisions ? s->stats.branches - s->stats.decisions : 0;
}

/* How many functions of the program no trace tells of. */
uint64_t trace_unexamined_functions(const struct spec *s)
{
	if (s->n_unexamined)
		return s->n_unexamined;
	/* Of those that were not listed: some may be a library's that its headers define. */
	return s->stats.functions > s->stats.functions_kept ? s->stats.functions - s->stats.functions_kept : 0;
}

/* Appends how many functions the specification left out, and the names of some. Nothing where all functions are
 * examined. */
static void put_unexamined_functions(const struct spec *s, struct buf *b)
{
	uint64_t n = trace_unexamined_functions(s), all = n + s->stats.functions_kept;
	uint32_t named = s->n_unexamined < 5 ? s->n_unexamined : 5;
	if (!n)
		return;
	for (uint32_t i = 0; i < named; i++) {
		if (i)
			buf_printf(b, ", ");
		trace_words_function(s->unexamined[i], b);
	}
	if (named && n > named)
		buf_printf(b, " and %llu more", (unsigned long long)(n - named));
	buf_printf(b, named ? " (" : "functions: ");
	buf_printf(b, "%llu of %llu function%s, %s no system call", (unsigned long long)n, (unsigned long long)all,
	           str_plural(all), n == 1 ? "which reaches" : "which reach");
	buf_printf(b, named && n > named ? "; stemma spec --stats names all)\n" : named ? ")\n" : "\n");
}

void trace_words_unexamined(const struct trace_pair *p, struct buf *b)
{
	const struct spec *s = trace_pair_spec(p, 0);
	size_t named = p->outputs.n_libraries < 6 ? p->outputs.n_libraries : 6;
	if (p->calls || !s)
		return;
	if (!p->functions && !p->c.thread[0].info.spec) {
		fmt_path(b, str_of(p->side[0].exe));
		buf_printf(b, ", which was not built for tracing; only libraries were\n");
	}
	put_unexamined_functions(s, b);
	uint64_t branches = trace_unexamined_branches(s);
	if (branches)
		buf_printf(b, "%llu branch%s, which %s no call\n", (unsigned long long)branches, branches == 1 ? "" : "es",
		           branches == 1 ? "decides" : "decide");
	for (size_t i = 0; i < named; i++) {
		buf_printf(b, i ? ", " : "within ");
		fmt_name(b, str_of(p->outputs.libraries[i]));
	}
	if (p->outputs.n_libraries > named)
		buf_printf(b, " and %zu more", p->outputs.n_libraries - named);
	if (named)
		buf_char(b, '\n');
}

void trace_words_outputs(const struct trace_pair *p, struct buf *b)
{
	const struct trace_outputs *o = &p->outputs;
	if (o->words) {
		buf_printf(b, "%s\n", o->words);
	} else if (!o->known) {
		buf_printf(b, "not compared: their outputs are not recorded\n");
		return;
	} else if (o->bytes_known) {
		buf_printf(
		    b,
		    "%llu byte%s on both sides, and no file is known to differ; output to a terminal or pipe is not recorded\n",
		    (unsigned long long)o->bytes, str_plural(o->bytes));
	}
	if (o->n_open)
		buf_printf(b, "%zu file%s of equal size with unknown content (use stemma run --digest)\n", o->n_open,
		           str_plural(o->n_open));
}

void trace_words_threads(const struct trace_pair *p, struct buf *b)
{
	size_t n[2] = {p->side[0].n_threads, p->side[1].n_threads};
	if (p->c.equal || (n[0] < 2 && n[1] < 2))
		return;
	buf_printf(b, "%zu | %zu threads took part: their order depends on timing, and may be the only difference", n[0],
	           n[1]);
}

void trace_words_notes(const struct trace_pair *p, struct buf *b)
{
	const struct atlas *m = p->atlas;
	if (m->built_otherwise) {
		buf_printf(b, "the programs themselves differ (build): ");
		for (uint32_t i = 0; i < m->n_changed && i < 5; i++) {
			if (i)
				buf_printf(b, ", ");
			trace_words_function_at(p, trace_pair_knows(p, m->changed[i]), m->changed[i], b);
		}
		if (m->n_changed > 5)
			buf_printf(b, " and %u more functions", m->n_changed - 5);
		buf_printf(b, m->n_changed ? "\n"
		                           : "no decision or call of any function, only line numbers or code between them\n");
	}
	if (trace_built_anew(p))
		buf_printf(b, "the programs are different builds that differ only in code that is not traced\n");
	note_side(p, 0, b);
	note_side(p, 1, b);
	if (p->searched)
		buf_printf(b, "%s\n", p->searched);
	if (p->closer)
		buf_printf(b,
		           "A and B were run again, to record what their traces had only as a hash at the first difference\n");
	if (p->c.n && !p->n_closer && trace_is_silent(&p->c.v[0]))
		buf_printf(b, "the first difference reached no system call and was not recorded: stemma run --trace-full shows "
		              "its line\n");
	if (p->closer_why)
		buf_printf(b, "%s\n", p->closer_why);
	if (!p->c.result.exact)
		buf_printf(b, "the steps after the first divergence differ too much for an optimal alignment\n");
}

void trace_words_same(const struct trace_pair *p, struct buf *b)
{
	if (p->c.message && !p->c.data) {
		buf_printf(b, "no control difference, messages differ: first ");
		trace_words_message(p, b);
		return;
	}
	if (p->c.data) {
		const struct trace_pair *q = trace_of_datum(p);
		buf_printf(b, "no control difference, data differs: first in ");
		trace_words_datum(q, b);
		buf_printf(b, ": ");
		trace_words_operands(q, q->c.datum, b);
		return;
	}
	if (trace_verdict(p) == TRACE_OUTPUT)
		buf_printf(b, "outputs differ, and ");
	if (trace_is_noise(p)) {
		buf_printf(b, "no difference beyond noise in %zu step%s", p->side[0].steps, str_plural(p->side[0].steps));
		return;
	}
	bool whole = !trace_is_incomplete(p, 0) && !trace_is_incomplete(p, 1);
	if (trace_verdict(p) == TRACE_UNKNOWN && whole)
		buf_printf(b, "whether they are the same: inputs or arguments differ, and outputs are partly unknown: ");
	else if (trace_verdict(p) == TRACE_UNKNOWN)
		buf_printf(b, "whether they are the same: not everything was traced (see below): ");
	if (p->calls) {
		buf_printf(b, "no difference in %u call%s and their arguments", p->calls->c[0].n, str_plural(p->calls->c[0].n));
		return;
	}
	buf_printf(b, "no control difference in %zu step%s", p->side[0].steps, str_plural(p->side[0].steps));
	if (p->functions)
		return;
	if (p->c.n_messages)
		buf_printf(b, ", and the same %llu message%s", (unsigned long long)p->c.n_messages,
		           str_plural(p->c.n_messages));
	if (p->c.operands)
		buf_printf(b, ", and the same data in %llu decision%s", (unsigned long long)p->c.data_steps,
		           str_plural(p->c.data_steps));
	else
		buf_printf(b, "; the data of decisions was not recorded");
}
