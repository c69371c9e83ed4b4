/* trace_ends.c - how two threads that are compared ended, and whether it is certain that they belong together. */
#include "answer/trace/demangle.h"
#include "answer/trace/trace_answer.h"
#include "answer/trace/trace_set.h"

#include <stdlib.h>
#include <string.h>

void trace_words_function(const char *name, struct buf *b)
{
	size_t at = b->n;
	if (demangle(b, name)) {
		if (!memchr(b->p + at, '(', b->n - at))
			buf_printf(b, "()");
		return;
	}
	fmt_name(b, str_of(name));
	buf_printf(b, "()");
}

/* "is killed by SIGKILL"; false: there is no more to say than the trace says. */
bool trace_words_exit(const struct trace_exit_status *f, bool cut, struct buf *b)
{
	switch (f ? f->kind : EXIT_STATUS_UNKNOWN) {
	case EXIT_STATUS_SIGNALED:
		buf_printf(b, "is killed by ");
		fmt_ending(b, TERM_ending_signaled, f->code);
		return true;
	case EXIT_STATUS_EXEC:
		buf_printf(b, "executes another program");
		if (*f->program) {
			buf_printf(b, ", ");
			fmt_name(b, str_of(f->program));
		}
		return true;
	case EXIT_STATUS_EXITED:
		if (!f->has_code && !cut)
			return false;
		if (f->has_code)
			buf_printf(b, "exits with status %llu", (unsigned long long)f->code);
		else
			buf_printf(b, "ends as the program exits");
		return true;
	case EXIT_STATUS_UNKNOWN:
		break;
	}
	return false;
}

/* Only what the trace does not tell, or tells as an end like others, is the process's end. */
static bool ends_with_process(const struct trace_pair *p, int side)
{
	enum trace_end end = p->c.thread[side].info.end;
	return (end == TRACE_CUT || end == TRACE_EXIT) && !p->c.thread[side].damaged;
}

/* Appends how a side ended, and behind which place, if its trace was cut off there. Nothing if that is not known. */
static void put_end(const struct trace_pair *p, int side, struct buf *b)
{
	const struct call_site *last = &p->c.stopped[side];
	const struct trace_exit_status *f = p->side[side].exit_status;
	if (!trace_words_exit(f, true, b) || p->c.thread[side].info.end != TRACE_CUT)
		return;
	if (p->c.equal || !p->side[side].steps || last->function == SPEC_NONE || f->kind == EXIT_STATUS_EXEC)
		return;
	buf_printf(b, " after ");
	trace_words_place(p, atlas_function(p->atlas, side, last->function) ? side : !side, last->function, last->node, b);
}

void trace_words_ends(const struct trace_pair *p, struct buf *b)
{
	const struct trace_exit_status *f[2] = {p->side[0].exit_status, p->side[1].exit_status};
	bool ordinary = true;
	for (int s = 0; s < 2; s++) {
		if (!f[s] || f[s]->kind == EXIT_STATUS_UNKNOWN || !ends_with_process(p, s))
			return;
		ordinary &= f[s]->kind == EXIT_STATUS_EXITED && p->c.thread[s].info.end == TRACE_EXIT;
	}
	if (ordinary && f[0]->code == f[1]->code)
		return;
	for (int s = 0; s < 2; s++) {
		buf_printf(b, s ? " | B " : "A ");
		put_end(p, s, b);
	}
}

void trace_words_uncertain(const struct trace_side *s, struct buf *b)
{
	if (!s->uncertain)
		return;
	buf_printf(b, "%zu | %zu threads", s->alike[0], s->alike[1]);
	if (*s->thread == '?')
		buf_printf(b, " that a library made");
	if (s->first) {
		buf_printf(b, " begin in ");
		trace_words_function(s->first, b);
	}
	buf_printf(b, ": the pairing is unknown; they are paired in the order of their creation");
}
