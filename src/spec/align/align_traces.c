#include "spec/align/align_traces.h"

#include "spec/align/align_noise.h"

#include "spec/trace/trace_format.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FRAMES_MAX (1u << 26) /* of the deepest recursion that is followed */

/* ---- a trace as steps ---- */

struct walker {
	struct trace *t;
	const struct atlas *m;
	int side;
	uint32_t *stack; /* functions, by the common numbers */
	size_t depth, cap;
	size_t to_leave; /* frames that are still to be left by a jump */
	uint64_t gaps, silent, messages;
	bool stops; /* at messages, too */
	struct noise_skip skip;
	struct trace_event e; /* of the step that was given last */
};

/* w is empty then. */
static void walker_release(struct walker *w)
{
	free(w->stack);
	trace_close(w->t);
	*w = (struct walker){0};
}

/* Reports that a trace does not fit its specification. -EBADMSG with a sentence. */
static int report_misfit(struct err *err, const char *what)
{
	err_set(err, 0, "%s", what);
	return -EBADMSG;
}

/* The specification that the side's own numbers are of. */
static const struct spec *walker_spec(const struct walker *w)
{
	const struct atlas *m = w->m;
	return m->built_otherwise ? m->spec[w->side] : m->spec[0] ? m->spec[0] : m->spec[1];
}

/* A library's own number of a function, as the specifications of both sides count. SPEC_NONE: it is of none that is
 * known. */
static uint32_t number_of_library(const struct walker *w, uint32_t function)
{
	const struct trace_library *libraries;
	uint32_t n = trace_libraries(w->t, &libraries);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t k = function - libraries[i].base;
		if (libraries[i].base < TRACE_LIBRARY_FIRST || k >= TRACE_LIBRARY_FUNCTIONS)
			continue;
		for (size_t p = 0; p < w->m->n_parts[w->side]; p++)
			if (w->m->parts[w->side][p].spec == libraries[i].spec && k < w->m->parts[w->side][p].n)
				return w->m->parts[w->side][p].first + k;
	}
	return SPEC_NONE;
}

/* The event names a function: 1 and its step; -EBADMSG, -ENOMEM with a sentence. */
static int walker_enter(struct walker *w, uint32_t function, struct err *err, struct symbol *ret)
{
	const struct spec *s = walker_spec(w);
	if (s && function >= TRACE_LIBRARY_FIRST && (function = number_of_library(w, function)) == SPEC_NONE)
		return report_misfit(err, "it enters a library whose specification is not known");
	if (s && function >= s->n_functions)
		return report_misfit(err, "it names a function that its specification has not");
	if (w->side == 1 && w->m->function)
		function = w->m->function[function];
	if (w->depth == w->cap) {
		size_t cap = w->cap ? 2 * w->cap : 256;
		uint32_t *p = cap > FRAMES_MAX ? NULL : realloc(w->stack, cap * sizeof(*p));
		if (!p)
			return err_set(err, ENOMEM, "the calls are nested too deep");
		w->stack = p;
		w->cap = cap;
	}
	w->stack[w->depth++] = function;
	*ret = (struct symbol){.kind = STEP_ENTER, .of = function};
	return 1;
}

/* The event names a node of the function at hand: 1 and its step; -EBADMSG with a sentence. */
static int pass_node(const struct walker *w, struct err *err, struct symbol *ret)
{
	const struct spec *s = walker_spec(w);
	uint32_t function = w->depth ? w->stack[w->depth - 1] : SPEC_NONE, node = w->e.node;
	bool chooses = w->e.kind == TRACE_DECIDE;
	if (s && function != SPEC_NONE) {
		const struct spec_function *f = atlas_function(w->m, w->side, function);
		if (!f || node >= f->n_nodes)
			return report_misfit(err, "it names a node that its function has not");
		if (chooses != (s->nodes[f->first_node + node].kind == SPEC_DECISION))
			return report_misfit(err, "it names a node that is of another kind");
		if (w->side == 1 && w->m->node) {
			const uint32_t *to = w->m->node[f - s->functions];
			node = to ? to[node] : node;
		}
	}
	*ret = (struct symbol){.kind = STEP_AT, .of = function, .node = node, .chooses = chooses, .value = w->e.outcome};
	return 1;
}

/* The next step, whatever it is. As walker_next. */
static int walker_step(struct walker *w, struct err *err, struct symbol *ret)
{
	for (;;) {
		if (w->to_leave) {
			w->to_leave--;
			w->depth--;
			*ret = (struct symbol){.kind = STEP_LEAVE, .value = 1};
			return 1;
		}
		int r = trace_next(w->t, err, &w->e);
		if (r <= 0)
			return r;
		switch (w->e.kind) {
		case TRACE_ENTER:
			return walker_enter(w, w->e.function, err, ret);
		case TRACE_LEAVE:
			if (!w->depth)
				return report_misfit(err, "more functions are left than were entered");
			w->depth--;
			*ret = (struct symbol){.kind = STEP_LEAVE};
			return 1;
		case TRACE_CALL:
		case TRACE_DECIDE:
			return pass_node(w, err, ret);
		case TRACE_SILENT:
			w->silent++;
			*ret = (struct symbol){
			    .kind = STEP_SILENT, .of = w->depth ? w->stack[w->depth - 1] : SPEC_NONE, .value = w->e.hash};
			return 1;
		case TRACE_BACK:
			if (w->e.depth > w->depth)
				return report_misfit(err, "it goes back to a function that was not entered");
			w->to_leave = w->depth - w->e.depth;
			break;
		case TRACE_GAP:
			w->gaps++;
			*ret = (struct symbol){.kind = STEP_MARK, .value = w->e.why};
			return 1;
		case TRACE_MESSAGE:
			w->messages++;
			if (w->stops)
				return 2;
			break;
		}
	}
}

/* Is the step, or message, part of what the atlas says is noise? */
static bool is_noise(struct walker *w, bool message, struct symbol *s)
{
	if (message)
		return w->skip.depth != 0;
	struct noise_place at = {.depth = w->depth, .function = w->depth ? w->stack[w->depth - 1] : SPEC_NONE};
	at.layout = at.function < w->m->n ? w->m->layouts[at.function] : NULL;
	if (s->kind == STEP_AT) {
		at.spec = w->m->spec[0] ? w->m->spec[0] : w->m->spec[1];
		at.node = atlas_node(w->m, 0, s->of, s->node);
	}
	return noise_skips(&w->skip, w->m->noise, &at, s);
}

/* The next step. 1; 2: a message, which is none, where walker.stops; 0: no more; -EBADMSG: damaged, with a sentence;
 * -ENOMEM. */
static int walker_next(struct walker *w, struct err *err, struct symbol *ret)
{
	int r = walker_step(w, err, ret);
	while (r > 0 && w->m->noise && is_noise(w, r == 2, ret))
		r = walker_step(w, err, ret);
	return r;
}

/* m must outlive it. 0, -errno with a sentence. */
static int walker_open(const char *path, const struct atlas *m, int side, struct err *err, struct walker *ret)
{
	*ret = (struct walker){.m = m, .side = side};
	return trace_open(path, err, &ret->t);
}

/* Reads a trace. A step that does not exist in the specification is counted as damage, and nothing behind it is read.
 * 0, -EBADMSG with a sentence where it is no trace, or -errno. */
static void thread_steps_release(struct thread_steps *t)
{
	steps_release(&t->steps);
}

/* A damaged trace gives what could be read, with the reason in *ret. 0, -errno with a sentence. */
static int thread_steps_read(const char *path, const struct atlas *m, int side, struct symbols *symbols,
                             struct err *err, struct thread_steps *ret)
{
	struct walker w;
	struct thread_steps t = {0};
	struct err why = {0};
	struct symbol s;
	uint32_t number;
	int r = walker_open(path, m, side, err, &w);
	if (r < 0)
		return r;
	t.info = *trace_info(w.t);
	while ((r = walker_next(&w, &why, &s)) > 0) {
		t.operands |=
		    (w.e.kind == TRACE_DECIDE && w.e.type != TRACE_NO_OPERANDS) || (w.e.kind == TRACE_SILENT && w.e.has_data);
		r = symbols_number(symbols, &s, &number);
		if (r == 0)
			r = steps_add(&t.steps, number);
		if (r < 0)
			break;
	}
	if (r == -EBADMSG || r == -E2BIG) {
		t.damaged = true;
		snprintf(t.why, sizeof(t.why), "%.120s", r == -E2BIG ? "it has more steps than can be compared" : why.text);
		r = 0;
	}
	t.gaps = w.gaps;
	t.silent = w.silent;
	t.messages = w.messages;
	t.frames = w.depth;
	walker_release(&w);
	if (r < 0) {
		thread_steps_release(&t);
		return err_set(err, -r, "cannot read '%s'", path);
	}
	*ret = t;
	return 0;
}

int trace_step_clock(const struct atlas *m, const char *path, int side, size_t step, struct err *err,
                     uint64_t *ret_clock, uint64_t *ret_words)
{
	struct walker w;
	struct symbol s;
	int r = walker_open(path, m, side, err, &w);
	*ret_clock = *ret_words = 0;
	for (size_t i = 0; r >= 0; i++) {
		*ret_clock = trace_clock(w.t);
		r = walker_next(&w, err, &s);
		if (r <= 0 || i == step)
			break;
	}
	if (r > 0)
		*ret_words = trace_clock(w.t) - *ret_clock;
	walker_release(&w);
	return r < 0 ? r : 0;
}

/* ---- what is told ---- */

/* A step that is asked for, and where the answer goes. */
struct question {
	size_t step;
	struct spot *spot;
	struct difference *stack; /* and who called, of this side */
};

/* Order of qsort: by step. */
static int by_step(const void *x, const void *y)
{
	const struct question *a = x, *b = y;
	return a->step < b->step ? -1 : a->step > b->step;
}

/* The function is that of the step, or the one on top of the stack; SPEC_NONE without. */
static void fill_spot(const struct symbol *s, const struct call_site *stack, size_t depth, struct spot *ret)
{
	ret->kind = s->kind;
	ret->chooses = s->chooses;
	ret->function = s->kind == STEP_AT || s->kind == STEP_ENTER || s->kind == STEP_SILENT ? s->of
	                : depth                                                               ? stack[depth - 1].function
	                                                                                      : SPEC_NONE;
	ret->node = s->kind == STEP_AT ? s->node : SPEC_NONE;
	ret->outcome = s->kind == STEP_AT ? (uint32_t)s->value : 0;
	ret->value = s->value;
}

/* One pass over a side's steps for all that is asked of it. Sorts q. 0, -ENOMEM. */
static int fill_all_spots(const struct symbols *symbols, const struct steps *steps, int side, struct question *q,
                          size_t n)
{
	struct call_site *stack = NULL;
	size_t depth = 0, cap = 0, k = 0;
	qsort(q, n, sizeof(*q), by_step);
	for (size_t i = 0; i < steps->n && k < n; i++) {
		const struct symbol *s = &symbols->v[steps->v[i]];
		for (size_t a = k; a < n && q[a].step == i; a++)
			fill_spot(s, stack, depth, q[a].spot);
		if (s->kind == STEP_ENTER) {
			if (depth == cap) {
				cap = cap ? 2 * cap : 256;
				struct call_site *p = realloc(stack, cap * sizeof(*p));
				if (!p) {
					free(stack);
					return -ENOMEM;
				}
				stack = p;
			}
			stack[depth++] = (struct call_site){s->of, SPEC_NONE};
		} else if (s->kind == STEP_LEAVE) {
			depth -= depth > 0;
		} else if (s->kind == STEP_AT && depth) {
			stack[depth - 1].node = s->node;
		}
		for (; k < n && q[k].step == i; k++) {
			struct difference *d = q[k].stack;
			if (!d)
				continue;
			d->depth[side] = (unsigned)depth;
			for (unsigned c = 0; c < COMPARED_STACK && c < depth; c++)
				d->stack[side][c] = stack[depth - 1 - c];
		}
	}
	free(stack);
	return 0;
}

/* The first max divergences, with where and in which calls they are. 0, -ENOMEM. */
static int resolve_differences(const struct symbols *symbols, struct compared *c, size_t max)
{
	int r = 0;
	c->n = c->result.n < max ? c->result.n : max;
	c->v = calloc(c->n + 1, sizeof(*c->v));
	struct question *q = malloc((3 * c->n + 1) * sizeof(*q));
	if (!c->v || !q)
		r = -ENOMEM;
	for (int s = 0; r == 0 && s < 2; s++) {
		size_t n = 0;
		for (size_t i = 0; i < c->n; i++) {
			struct difference *d = &c->v[i];
			struct spot empty = {.kind = STEP_MARK, .function = SPEC_NONE, .node = SPEC_NONE};
			d->d = c->result.v[i];
			d->at[s] = d->next[s] = d->meet[s] = empty;
			d->at[s].step = d->d.at[s];
			d->next[s].step = d->d.at[s] == ALIGN_START ? 0 : d->d.at[s] + 1;
			d->meet[s].step = d->d.end[s];
			q[n++] = (struct question){d->at[s].step, &d->at[s], d};
			q[n++] = (struct question){d->next[s].step, &d->next[s], NULL};
			q[n++] = (struct question){d->meet[s].step, &d->meet[s], NULL};
		}
		r = fill_all_spots(symbols, &c->thread[s].steps, s, q, n);
	}
	free(q);
	return r;
}

/* Only decisions have any. */
static void take_operands(const struct trace_event *e, struct spot *ret)
{
	if (e->kind != TRACE_DECIDE)
		return;
	ret->type = e->type;
	ret->a.u = e->a.u;
	ret->b.u = e->b.u;
}

/* The operands of the decisions that are told; both files once, up to the last of them. -ENOMEM, else 0: what cannot be
 * read has none. */
static int read_operands(const struct atlas *m, const char *path, int side, struct compared *c, struct err *err)
{
	struct walker w;
	struct symbol s;
	size_t k = 0, step = 0;
	int r = walker_open(path, m, side, err, &w);
	if (r < 0)
		return r;
	while (k < c->n && (r = walker_next(&w, NULL, &s)) > 0) {
		for (; k < c->n && (c->v[k].at[side].step == ALIGN_START || c->v[k].at[side].step <= step); k++)
			if (c->v[k].at[side].step == step)
				take_operands(&w.e, &c->v[k].at[side]);
		step++;
	}
	walker_release(&w);
	return r == -ENOMEM ? r : 0;
}

/* Are operands the same? What may be an address is another number in each run, and no data. */
static bool same_operand(enum trace_type type, uint64_t a, uint64_t b)
{
	return a == b || (type != TRACE_REAL && trace_is_address(a) && trace_is_address(b));
}

/* What has none on one side is the same. */
static bool same_operands(const struct trace_event *a, const struct trace_event *b)
{
	if (a->kind == TRACE_SILENT)
		return a->has_data != b->has_data || a->data == b->data;
	return a->kind != TRACE_DECIDE || a->type != b->type || !a->type ||
	       (same_operand(a->type, a->a.u, b->a.u) && same_operand(a->type, a->b.u, b->b.u));
}

/* A decision whose way is noise has data that are. */
static bool is_data_noise(const struct atlas *m, const struct symbol *s)
{
	unsigned kinds = align_noise_at(m->noise, s->of, s->kind == STEP_AT ? s->node : SPEC_NONE);
	return kinds & (NOISE_DATA | NOISE_WAY);
}

/* Notes that data differ there: 0 or -ENOMEM. */
static int add_data_site(struct compared *c, const struct symbol *s)
{
	struct call_site at = {s->of, s->kind == STEP_AT ? s->node : SPEC_NONE}, *v;
	for (size_t i = 0; i < c->n_data_sites; i++)
		if (c->data_sites[i].function == at.function && c->data_sites[i].node == at.node)
			return 0;
	v = realloc(c->data_sites, (c->n_data_sites + 1) * sizeof(*v));
	if (!v)
		return -ENOMEM;
	c->data_sites = v;
	v[c->n_data_sites++] = at;
	return 0;
}

/* The first place where the same decision was made of other values. */
static void set_datum(struct compared *c, size_t step, const struct symbol s[2], const struct walker w[2])
{
	c->data = true;
	for (int k = 0; k < 2; k++) {
		c->datum[k] = (struct spot){.step = step,
		                            .kind = s[k].kind,
		                            .chooses = s[k].chooses,
		                            .function = s[k].of,
		                            .node = s[k].kind == STEP_AT ? s[k].node : SPEC_NONE,
		                            .outcome = s[k].kind == STEP_AT ? (uint32_t)s[k].value : 0};
		take_operands(&w[k].e, &c->datum[k]);
	}
}

/* The first decision of the common prefix that was taken alike on other data, or what was computed on other data
 * without a system call; with all: each place at which that is so, too. 0, -errno with a sentence. */
static int compare_decision_data(const struct atlas *m, const char *const path[2], struct compared *c, size_t prefix,
                                 bool all, struct err *err)
{
	struct walker w[2] = {0};
	struct symbol s[2];
	int r = walker_open(path[0], m, 0, err, &w[0]);
	if (r == 0)
		r = walker_open(path[1], m, 1, err, &w[1]);
	for (size_t i = 0; r == 0 && i < prefix && (all || !c->data); i++) {
		if (walker_next(&w[0], NULL, &s[0]) <= 0 || walker_next(&w[1], NULL, &s[1]) <= 0)
			break;
		if (s[0].kind != STEP_SILENT && (s[0].kind != STEP_AT || !s[0].chooses))
			continue;
		c->data_steps += s[0].kind == STEP_AT && w[0].e.type != TRACE_NO_OPERANDS;
		if (same_operands(&w[0].e, &w[1].e) || is_data_noise(m, &s[0]))
			continue;
		if (!c->data)
			set_datum(c, i, s, w);
		if (all)
			r = add_data_site(c, &s[0]);
	}
	walker_release(&w[0]);
	walker_release(&w[1]);
	return r;
}

/* ---- messages ---- */

/* The next message of a trace and behind how many steps it comes. 1, 0, -errno. */
static int next_message(struct walker *w, size_t *steps)
{
	struct symbol s;
	int r;
	while ((r = walker_next(w, NULL, &s)) == 1)
		++*steps;
	return r == 2 ? 1 : r == -ENOMEM ? r : 0;
}

/* Of another rank, neighbours round the communicator are the same. */
static bool same_peer(const struct trace_message *a, const struct trace_message *b)
{
	if (a->peer == b->peer)
		return true;
	if (a->rank == b->rank || a->size != b->size || a->size <= 0 || a->peer < 0 || b->peer < 0 || a->rank < 0 ||
	    b->rank < 0)
		return false;
	return ((int64_t)a->peer - a->rank - b->peer + b->rank) % a->size == 0;
}

/* Are two messages of MPI the same? Also where both are of different ranks (doc/traces.md). */
static bool trace_message_same(const struct trace_message *a, const struct trace_message *b)
{
	unsigned flags = a->flags ^ b->flags;
	return a->kind == b->kind && a->size == b->size && a->tag == b->tag && same_peer(a, b) &&
	       !(flags & TRACE_MESSAGE_CANCELLED) && (!(a->flags & b->flags & TRACE_MESSAGE_BYTES) || a->bytes == b->bytes);
}

/* Where the call was that came to a side's message. 0, -ENOMEM. */
static int place_message(const struct symbols *symbols, const struct steps *steps, int side, size_t behind,
                         struct reported_message *ret)
{
	struct difference d = {0};
	struct spot spot;
	struct question q = {behind ? behind - 1 : 0, &spot, &d};
	int r = fill_all_spots(symbols, steps, side, &q, 1);
	ret->at = r == 0 && d.depth[side] ? d.stack[side][0] : (struct call_site){SPEC_NONE, SPEC_NONE};
	return r;
}

/* Does the message of the call that both came to differ between runs of one command, too? 1, 0, -ENOMEM. */
static int is_message_noise(const struct atlas *m, const struct symbols *symbols, const struct compared *c,
                            size_t behind)
{
	struct reported_message at;
	int r = m->noise ? place_message(symbols, &c->thread[0].steps, 0, behind, &at) : 0;
	return r < 0 || !m->noise ? r : (align_noise_at(m->noise, at.at.function, at.at.node) & NOISE_MESSAGE) != 0;
}

/* The first message that differs, of those behind the steps that both have in common. 0, -errno with a sentence. */
static int compare_messages(const struct atlas *m, const char *const path[2], const struct symbols *symbols,
                            struct compared *c, size_t prefix, struct err *err)
{
	struct walker w[2] = {0};
	size_t steps[2] = {0}, received = 0;
	bool there[2];
	int r = 0;
	for (int s = 0; r == 0 && s < 2; s++) {
		r = walker_open(path[s], m, s, err, &w[s]);
		w[s].stops = true;
	}
	while (r == 0) {
		for (int s = 0; r >= 0 && s < 2; s++) {
			r = next_message(&w[s], &steps[s]);
			there[s] = r > 0 && steps[s] <= prefix;
		}
		if (r < 0 || (!there[0] && !there[1]))
			break;
		r = 0;
		size_t first = there[0] && (!there[1] || steps[0] <= steps[1]) ? steps[0] : steps[1];
		for (int s = 0; s < 2; s++)
			there[s] &= steps[s] == first;
		if (there[0] && there[1] && trace_message_same(&w[0].e.message, &w[1].e.message)) {
			c->n_messages++;
			if (w[0].e.message.kind == TRACE_MESSAGE_receive && w[0].e.message.peer >= 0) {
				c->last.there = w[0].e.message.peer == w[1].e.message.peer;
				c->last.message = w[0].e.message;
				received = first;
			}
			continue;
		}
		r = there[0] && there[1] ? is_message_noise(m, symbols, c, first) : 0;
		if (r < 0)
			break;
		if (r > 0) {
			r = 0;
			continue;
		}
		/* Where one trace ends with the step, what would follow is not known: it is its end that is told. */
		for (int s = 0; s < 2; s++)
			if (!there[s] && first == c->thread[s].steps.n)
				goto out;
		c->message = true;
		for (int s = 0; r == 0 && s < 2; s++) {
			c->messages[s].there = there[s];
			c->messages[s].message = w[s].e.message;
			r = place_message(symbols, &c->thread[s].steps, s, first, &c->messages[s]);
		}
		break;
	}
out:
	if (r >= 0 && c->last.there)
		r = place_message(symbols, &c->thread[0].steps, 0, received, &c->last);
	walker_release(&w[0]);
	walker_release(&w[1]);
	return r < 0 ? r : 0;
}

/* c is empty then. */
void compared_release(struct compared *c)
{
	thread_steps_release(&c->thread[0]);
	thread_steps_release(&c->thread[1]);
	align_result_release(&c->result);
	free(c->v);
	free(c->data_sites);
	*c = (struct compared){0};
}

/* Whether something of the thread is missing. ended: that it was cut off is as it ended. */
static bool is_partial(const struct thread_steps *t, bool ended)
{
	return t->damaged || t->gaps || (t->info.end == TRACE_CUT && !ended) || t->info.end == TRACE_STOPPED;
}

/* Where a trace was cut off: the innermost call that was open. SPEC_NONE of others. 0, -errno. */
static int resolve_end(const struct symbols *symbols, const struct thread_steps *t, int side, struct call_site *ret)
{
	struct difference d = {0};
	struct spot spot;
	struct question q = {t->steps.n ? t->steps.n - 1 : 0, &spot, &d};
	*ret = (struct call_site){SPEC_NONE, SPEC_NONE};
	if (t->info.end != TRACE_CUT || !t->steps.n)
		return 0;
	int r = fill_all_spots(symbols, &t->steps, side, &q, 1);
	if (r == 0 && d.depth[side])
		*ret = d.stack[side][0];
	return r;
}

int compare_steps(const struct atlas *m, const struct symbols *symbols, const struct compare_options *o,
                  struct err *err, struct compared *c)
{
	struct reading reading = {symbols, m->layouts, m->n, false, o->goes_on};
	struct align_side side[2] = {{c->thread[0].steps.v, c->thread[0].steps.n},
	                             {c->thread[1].steps.v, c->thread[1].steps.n}};
	int r = o->greedy ? align_greedy(&reading, side, NULL, &c->result) : align_sides(&reading, side, NULL, &c->result);
	if (r == 0)
		r = resolve_differences(symbols, c, o->max ? o->max : 20);
	for (int s = 0; r == 0 && s < 2; s++)
		r = resolve_end(symbols, &c->thread[s], s, &c->stopped[s]);
	if (r < 0)
		return err_set(err, -r, "cannot compare the traces");
	c->equal = c->result.total == 0;
	c->partial = !c->result.exact || is_partial(&c->thread[0], o->ended[0]) || is_partial(&c->thread[1], o->ended[1]);
	return 0;
}

int compare_traces(const struct atlas *m, const char *const path[2], const struct compare_options *o, struct err *err,
                   struct compared *ret)
{
	struct compared c = {0};
	struct symbols symbols = {0};
	int r = 0;
	for (int s = 0; r == 0 && s < 2; s++)
		r = thread_steps_read(path[s], m, s, &symbols, err, &c.thread[s]);
	if (r == 0)
		r = compare_steps(m, &symbols, o, err, &c);
	c.operands = c.thread[0].operands && c.thread[1].operands;
	if (r == 0 && c.operands) {
		struct align_side side[2] = {{c.thread[0].steps.v, c.thread[0].steps.n},
		                             {c.thread[1].steps.v, c.thread[1].steps.n}};
		r = compare_decision_data(m, path, &c, align_prefix(side), o->all_data, err);
	}
	if (r == 0 && c.thread[0].messages + c.thread[1].messages) {
		struct align_side side[2] = {{c.thread[0].steps.v, c.thread[0].steps.n},
		                             {c.thread[1].steps.v, c.thread[1].steps.n}};
		r = compare_messages(m, path, &symbols, &c, align_prefix(side), err);
	}
	for (int s = 0; r == 0 && s < 2; s++)
		if (c.thread[s].operands)
			r = read_operands(m, path[s], s, &c, err);
	symbols_release(&symbols);
	/* The steps were for this; what is left is small. */
	for (int s = 0; s < 2; s++) {
		size_t n = c.thread[s].steps.n;
		steps_release(&c.thread[s].steps);
		c.thread[s].steps.n = n;
	}
	if (r < 0)
		compared_release(&c);
	else
		*ret = c;
	return r;
}
