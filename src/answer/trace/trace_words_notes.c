/* trace_words_notes.c - what the answer does not rest on, and that there is no difference, in words. */
#include "answer/trace/trace_answer.h"
#include "answer/trace/trace_calls_words.h"
#include "answer/trace/trace_set.h"

#include "spec/trace/trace_format.h"

#include <string.h>

static bool is_exit_known(const struct trace_exit_status *f)
{
	return f && f->kind != EXIT_STATUS_UNKNOWN;
}

static void note_side(const struct trace_pair *p, int side, struct buf *b)
{
	const struct thread_steps *t = &p->c.thread[side];
	char name = "AB"[side];
	const struct spec *s = p->atlas->spec[side];
	if (t->damaged)
		buf_printf(b, "%c's trace is read up to step %zu only: %s\n", name, p->side[side].steps, t->why);
	else if (t->info.end == TRACE_CUT && !is_exit_known(p->side[side].exit_status) &&
	         !(p->calls && (p->calls->c[side].replaced || p->calls->c[side].killed)))
		buf_printf(
		    b,
		    "%c's trace does not say how the program ended, nor does a record: it was killed, or is still going on, "
		    "or started another program\n",
		    name);
	else if (t->info.end == TRACE_STOPPED)
		buf_printf(b, "%c's trace stops before the program did\n", name);
	if (t->gaps)
		buf_printf(b, "%c's trace has %llu gap%s: not all was recorded\n", name, (unsigned long long)t->gaps,
		           str_plural(t->gaps));
	if (!s) {
		buf_printf(b,
		           "%c's specification is not known: numbers stand for names, and loops are not seen (--spec FILE "
		           "names it, or "
		           "the program that it is in)\n",
		           name);
		return;
	}
	if (p->calls && (!call_has_functions(p) || p->calls->steps.stacks))
		return;
	bool lines = p->functions; /* such specifications have none */
	for (uint32_t i = 0; !lines && i < s->n_nodes; i++)
		lines = s->nodes[i].line > 0;
	if (!lines)
		buf_printf(b, "%c's program was built without lines (-g)\n", name);
	for (uint32_t i = 0; i < s->n_gaps && i < 3; i++) {
		buf_printf(b, "%c's specification: ", name);
		fmt_name(b, str_of(s->gaps[i]));
		buf_char(b, '\n');
	}
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
		buf_printf(b, m->n_changed ? "\n" : "no function's decisions or calls, only lines or what lies between them\n");
	}
	note_side(p, 0, b);
	note_side(p, 1, b);
	if (p->searched)
		buf_printf(b, "%s\n", p->searched);
	if (p->c.n && trace_is_silent(&p->c.v[0]))
		buf_printf(b, "what differs first reached no system call and was not kept: trace in full (stemma run "
		              "--trace-full) to see its line\n");
	if (!p->c.result.exact)
		buf_printf(b, "what follows the first divergence differs too much to be aligned in the best way\n");
}

void trace_words_same(const struct trace_pair *p, struct buf *b)
{
	if (p->c.message && !p->c.data) {
		buf_printf(b, "no control difference, messages differ: first ");
		trace_words_message(p, b);
		return;
	}
	if (p->c.data) {
		buf_printf(b, "no control difference, data differs: first in ");
		if (p->calls)
			trace_words_datum(p, b);
		else
			trace_words_place(p, 0, p->c.datum[0].function, p->c.datum[0].node, b);
		buf_printf(b, ": ");
		trace_words_operands(p, p->c.datum, b);
		return;
	}
	if (p->calls) {
		buf_printf(b, "no difference in %u call%s, nor in what they were about", p->calls->c[0].n,
		           str_plural(p->calls->c[0].n));
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
