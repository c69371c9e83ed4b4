/* diff_trace_words.c - where two traces part, in sentences. */
#include "cmd/diff/diff_trace.h"
#include "cmd/diff/diff_trace_calls.h"
#include "cmd/diff/diff_trace_find.h"

#include "base/io.h"
#include "spec/trace/trace_format.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum trace_verdict trace_verdict(const struct trace_pair *p)
{
	if (p->c.equal)
		return trace_is_same(p) ? TRACE_SAME : TRACE_DATA;
	bool turns = p->c.n == p->c.result.total;
	for (size_t i = 0; turns && i < p->c.n; i++)
		turns = p->c.v[i].d.loop_function != LAYOUT_NONE;
	return turns ? TRACE_ITERATIONS : TRACE_CONTROL;
}

bool trace_is_same(const struct trace_pair *p)
{
	return p->c.equal && !p->c.data && !p->c.message;
}

const char *trace_verdict_word(enum trace_verdict v)
{
	static const char *const words[] = {"same", "data", "control", "turns"};
	return words[v];
}

const struct spec *trace_pair_spec(const struct trace_pair *p, int side)
{
	const struct atlas *m = p->atlas;
	return m->spec[side] ? m->spec[side] : m->spec[!side];
}

const char *trace_function_name(const struct trace_pair *p, int side, uint32_t function)
{
	const struct spec_function *f = atlas_function(p->atlas, side, function);
	if (f)
		return f->name;
	return function >= p->atlas->n && function - p->atlas->n < p->n_names ? p->names[function - p->atlas->n] : NULL;
}

static void format_function_name(const struct trace_pair *p, int side, uint32_t function, struct buf *b)
{
	const char *name = trace_function_name(p, side, function);
	if (name && p->calls && (*name == '<' || strstr(name, "+0x"))) {
		fmt_name(b, str_of(name)); /* what stands for one */
	} else if (name) {
		trace_words_function(name, b);
	} else if (function == SPEC_NONE) {
		buf_printf(b, "an unknown function");
	} else {
		buf_printf(b, "function %u", function);
	}
}

static void format_source_line(const struct trace_pair *p, int side, uint32_t file, unsigned line, struct buf *b)
{
	const char *name = trace_pair_spec(p, side) ? spec_file(trace_pair_spec(p, side), file) : "";
	if (!*name || (!line && !p->calls))
		return;
	const char *slash = strrchr(name, '/');
	fmt_name(b, str_of(slash ? slash + 1 : name));
	if (line) /* else it is an address */
		buf_printf(b, ":%u", line);
}

/* " at integ.c:88", or what there is in place of a line */
static void put_where(const struct trace_pair *p, int side, uint32_t function, uint32_t node, struct buf *b)
{
	const struct spec_function *f = atlas_function(p->atlas, side, function);
	const struct spec_node *n = node == SPEC_NONE ? NULL : atlas_node(p->atlas, side, function, node);
	unsigned line = n ? n->line : f ? f->line : 0;
	size_t at = b->n;
	buf_printf(b, " at ");
	size_t start = b->n;
	format_source_line(p, side, n ? n->file : f ? f->file : SPEC_NONE, line, b);
	if (b->n == start) {
		b->n = at;
		if (node != SPEC_NONE && !(p->calls && p->calls->steps.stacks))
			buf_printf(b, ", node %u", node);
	}
}

void trace_words_place(const struct trace_pair *p, int side, uint32_t function, uint32_t node, struct buf *b)
{
	format_function_name(p, side, function, b);
	put_where(p, side, function, node, b);
}

void trace_words_datum(const struct trace_pair *p, struct buf *b)
{
	const struct spot *s = &p->c.datum[0];
	if (p->calls) {
		const struct spec_node *n = atlas_node(p->atlas, 0, s->function, s->node);
		buf_printf(b, "call %zu, ", call_number(p, 0, s->step));
		trace_words_function(n ? n->name : "", b);
	}
	if (!p->calls || call_has_functions(p)) {
		if (p->calls)
			buf_printf(b, " in ");
		trace_words_place(p, 0, s->function, s->node, b);
	}
}

/* A's numbers first: what only B's build has is not in A's. */
static int knows(const struct trace_pair *p, uint32_t function)
{
	return atlas_function(p->atlas, 0, function) ? 0 : 1;
}

const char *trace_outcome_label(const struct trace_pair *p, int side, const struct spot *s)
{
	const struct spec_node *n = atlas_node(p->atlas, side, s->function, s->node);
	const struct spec_edge *e = n ? spec_outcome(trace_pair_spec(p, side), n, s->outcome) : NULL;
	bool branch = e && (!strcmp(e->label, "true") || !strcmp(e->label, "false"));
	return !e || (branch && !(n->flags & SPEC_SOURCE_TRUTH)) ? "" : e->label;
}

/* Where it is not known what was true in the source: the place of what comes next, if that tells the ways apart. */
static bool put_way(const struct trace_pair *p, int side, const struct spot *s, struct buf *b)
{
	const struct spec *spec = trace_pair_spec(p, side);
	const struct spec_function *f = atlas_function(p->atlas, side, s->function);
	const struct spec_node *n = atlas_node(p->atlas, side, s->function, s->node), *to[2];
	for (uint32_t i = 0; i < 2; i++) {
		const struct spec_edge *e = f && n ? spec_outcome(spec, n, i) : NULL;
		to[i] = e ? &spec->nodes[f->first_node + e->to] : NULL;
		if (!to[i] || !to[i]->line || to[i]->flags & SPEC_INEXACT_LINE || !*spec_file(spec, to[i]->file))
			return false;
	}
	if (s->outcome > 1 || (to[0]->line == to[1]->line && to[0]->file == to[1]->file))
		return false;
	buf_printf(b, "the way to ");
	format_source_line(p, side, to[s->outcome]->file, to[s->outcome]->line, b);
	return true;
}

static void put_outcome(const struct trace_pair *p, int side, const struct spot *s, struct buf *b)
{
	const char *label = trace_outcome_label(p, side, s);
	if (*label)
		fmt_name(b, str_of(label));
	else if (!put_way(p, side, s, b))
		buf_printf(b, "way %u", s->outcome);
}

/* What comes next on a side: "calls read() at x.c:3". */
static void put_next(const struct trace_pair *p, int side, const struct spot *s, struct buf *b)
{
	const struct thread_steps *t = &p->c.thread[side];
	const struct spec_node *n;
	switch (s->kind) {
	case STEP_ENTER:
		buf_printf(b, "enters ");
		format_function_name(p, side, s->function, b);
		return;
	case STEP_LEAVE:
		buf_printf(b, s->value ? "leaves " : "returns from ");
		format_function_name(p, side, s->function, b);
		if (s->value)
			buf_printf(b, " by a jump");
		return;
	case STEP_AT:
		n = atlas_node(p->atlas, side, s->function, s->node);
		if (p->calls && n && n->kind == SPEC_SYSCALL) {
			buf_printf(b, "calls ");
			call_words(p, side, s->step, b);
			if (call_has_functions(p))
				put_where(p, side, s->function, s->node, b);
			return;
		}
		if (n && n->kind == SPEC_DECISION)
			buf_printf(b, "comes to the decision");
		else if (n && *n->name) {
			buf_printf(b, "calls ");
			trace_words_function(n->name, b);
		} else
			buf_printf(b, n ? "makes a call" : "goes on");
		put_where(p, side, s->function, s->node, b);
		return;
	case STEP_SILENT:
		buf_printf(b, "computes without a system call");
		return;
	default:
		if (s->step < p->side[side].steps)
			buf_printf(b, "has a gap");
		else if (t->damaged)
			buf_printf(b, "cannot be read any further");
		else if ((t->info.end != TRACE_CUT && t->info.end != TRACE_EXIT) ||
		         !trace_words_exit(p->side[side].exit_status, t->info.end == TRACE_CUT, b))
			buf_printf(b, p->calls && p->calls->c[side].replaced ? "becomes another program"
			              : p->calls && p->calls->c[side].killed ? "is killed"
			              : t->info.end == TRACE_EXIT            ? "exits"
			              : t->info.end == TRACE_THREAD          ? "ends"
			              : t->info.end == TRACE_STOPPED         ? "is no longer traced"
			                                                     : "stops");
	}
}

bool trace_is_silent(const struct difference *d)
{
	bool silent = d->at[0].kind == STEP_SILENT && d->d.decision;
	for (int s = 0; s < 2; s++)
		silent |= !d->d.decision && d->next[s].kind == STEP_SILENT;
	return silent;
}

static void put_operand(const struct spot *s, bool second, struct buf *b)
{
	const int64_t i = second ? s->b.i : s->a.i;
	const double real = second ? s->b.d : s->a.d;
	char text[40];
	switch (s->type) {
	case TRACE_SIGNED:
		buf_printf(b, "%lld", (long long)i);
		break;
	case TRACE_UNSIGNED:
		buf_printf(b, "%llu", (unsigned long long)i);
		break;
	case TRACE_POINTER:
		buf_printf(b, i ? "a pointer" : "NULL");
		break;
	case TRACE_REAL: /* as few digits as tell it from its neighbours */
		for (int digits = 6; digits <= 17; digits++) {
			snprintf(text, sizeof(text), "%.*g", digits, real);
			if (isnan(real) || strtod(text, NULL) == real)
				break;
		}
		buf_printf(b, "%s", text);
		break;
	case TRACE_NO_OPERANDS:
		break;
	}
}

/* LLVM's words for comparisons: "fcmp olt double" is <. */
static const char *operator_of(const char *condition)
{
	static const struct {
		const char *word, *sign;
	} signs[] = {{"eq", "=="},  {"ne", "!="},  {"slt", "<"},  {"ult", "<"},  {"sle", "<="}, {"ule", "<="},
	             {"sgt", ">"},  {"ugt", ">"},  {"sge", ">="}, {"uge", ">="}, {"oeq", "=="}, {"ueq", "=="},
	             {"one", "!="}, {"une", "!="}, {"olt", "<"},  {"ole", "<="}, {"ogt", ">"},  {"oge", ">="},
	             {"lt", "<"},   {"le", "<="},  {"gt", ">"},   {"ge", ">="}};
	for (const char *p = condition; p && *p; p += strspn(p, " ")) {
		size_t n = strcspn(p, " ");
		for (size_t i = 0; i < sizeof(signs) / sizeof(*signs); i++)
			if (strlen(signs[i].word) == n && !strncmp(p, signs[i].word, n))
				return signs[i].sign;
		p += n;
	}
	return NULL;
}

static void put_operands(const struct trace_pair *p, int side, const struct spot *at, struct buf *b)
{
	const struct spec_node *n = atlas_node(p->atlas, side, at->function, at->node);
	const char *sign = n ? operator_of(n->condition) : NULL;
	if (!at->type) {
		buf_printf(b, "not recorded");
		return;
	}
	if (n && strstr(n->condition, "switch")) {
		put_operand(at, false, b);
		return;
	}
	/* What is not a < b is a >= b only of what can be compared: of reals, which may be NaN, it is said as it is. */
	static const char *const unordered[][2] = {{"ult", ">="}, {"ule", ">"}, {"ugt", "<="}, {"uge", "<"}};
	bool negated = false;
	for (size_t i = 0; n && str_starts(str_of(n->condition), str_of("fcmp ")) && i < 4; i++)
		if (!strncmp(n->condition + 5, unordered[i][0], 3)) {
			sign = unordered[i][1];
			negated = true;
		}
	if (negated)
		buf_printf(b, "!(");
	put_operand(at, false, b);
	buf_printf(b, " %s ", sign ? sign : "?");
	put_operand(at, true, b);
	if (negated)
		buf_char(b, ')');
}

/* Does one side only do something more here, after which both do the same? */
static bool is_extra(const struct difference *d)
{
	const struct spot *x = &d->next[0], *y = &d->next[1];
	return !d->d.decision && x->kind == y->kind && x->function == y->function && x->node == y->node &&
	       x->kind != STEP_SILENT && x->kind != STEP_MARK;
}

void trace_words_at(const struct trace_pair *p, const struct difference *d, struct buf *b)
{
	const struct spot *at = &d->at[0];
	const struct call_site *top = &d->stack[0][0];
	if (d->d.decision && at->kind == STEP_AT)
		trace_words_place(p, 0, at->function, at->node, b);
	else if (at->step == ALIGN_START || (p->calls && !call_has_functions(p) && at->step == 0))
		buf_printf(b, "at the beginning");
	else if (p->calls && !call_has_functions(p)) {
		buf_printf(b, "after call %zu, ", call_number(p, 0, at->step));
		call_words(p, 0, at->step, b);
	} else if (d->depth[0]) /* the node that was passed last in the function that is open then */
		trace_words_place(p, knows(p, top->function), top->function, top->node, b);
	else
		buf_printf(b, "outside all functions");
}

void trace_words_side(const struct trace_pair *p, const struct difference *d, int side, struct buf *b)
{
	const struct spot *at = &d->at[side];
	if (d->d.decision && at->kind == STEP_AT) {
		buf_printf(b, "took ");
		put_outcome(p, side, at, b);
	} else if (d->d.decision && at->kind == STEP_SILENT) {
		buf_printf(b, "computed something else");
	} else if (is_extra(d)) {
		size_t n = d->d.end[side] - (d->d.at[side] == ALIGN_START ? 0 : d->d.at[side] + 1);
		buf_printf(b, "makes %zu step%s of its own", n, str_plural(n));
	} else if (at->kind == STEP_AT && d->next[0].kind == STEP_ENTER && d->next[1].kind == STEP_ENTER) {
		buf_printf(b, "called ");
		format_function_name(p, side, d->next[side].function, b);
	} else {
		put_next(p, side, &d->next[side], b);
	}
}

/* "d < tol", as the source has it; nothing of what is no decision, or where it is not known. */
static void put_source_words(const struct trace_pair *p, int side, const struct spot *at, struct buf *b)
{
	const struct spec_node *n = at->kind == STEP_AT ? atlas_node(p->atlas, side, at->function, at->node) : NULL;
	if (n)
		fmt_source(b, str_of(n->words));
}

void trace_words_side_operands(const struct trace_pair *p, const struct difference *d, int side, struct buf *b)
{
	struct buf source = {0};
	const struct spot *at = &d->at[side];
	trace_words_side(p, d, side, b);
	if (d->d.decision)
		put_source_words(p, side, at, &source);
	if (at->type || source.n) {
		buf_printf(b, " (");
		buf_str(b, buf_view(&source));
		if (at->type && source.n)
			buf_printf(b, ": ");
		if (at->type)
			put_operands(p, side, at, b);
		buf_char(b, ')');
	}
	b->failed |= source.failed;
	buf_release(&source);
}

void trace_words_divergence(const struct trace_pair *p, const struct difference *d, struct buf *b)
{
	struct buf a = {0}, other = {0};
	trace_words_at(p, d, b);
	if (d->d.decision && d->at[0].kind == STEP_SILENT) {
		buf_printf(b, ": what A and B compute there differs");
		return;
	}
	trace_words_side(p, d, 0, &a);
	trace_words_side(p, d, 1, &other);
	/* The verb once, where it is the same: "A took true, B false". */
	size_t verb = strcspn(buf_cstr(&a), " ") + 1;
	bool once = (str_starts(buf_view(&a), str_of("took ")) || str_starts(buf_view(&a), str_of("called "))) &&
	            a.n > verb && other.n > verb && !memcmp(a.p, other.p, verb);
	buf_printf(b, ": A ");
	buf_str(b, buf_view(&a));
	buf_printf(b, ", B ");
	if (once)
		buf_add(b, other.p + verb, other.n - verb);
	else
		buf_str(b, buf_view(&other));
	buf_release(&a);
	buf_release(&other);
}

void trace_words_operands(const struct trace_pair *p, const struct spot at[2], struct buf *b)
{
	if (p->calls && at == p->c.datum) {
		call_words_data(p, at, b);
		return;
	}
	struct buf source[2] = {0};
	bool recorded = at[0].type || at[1].type;
	for (int s = 0; s < 2; s++)
		put_source_words(p, s, &at[s], &source[s]);
	/* The words once, where both builds have the same. */
	bool twice = !str_eq(buf_view(&source[0]), buf_view(&source[1]));
	for (int s = 0; s < 2; s++) {
		if (s && (recorded || twice))
			buf_printf(b, " | ");
		if (!s || twice)
			buf_str(b, buf_view(&source[s]));
		if (recorded && source[s].n && (!s || twice))
			buf_printf(b, ": ");
		if (recorded)
			put_operands(p, s, &at[s], b);
	}
	for (int s = 0; s < 2; s++)
		buf_release(&source[s]);
}

void trace_words_stack(const struct trace_pair *p, const struct difference *d, int side, struct buf *b)
{
	unsigned n = d->depth[side] < COMPARED_STACK ? d->depth[side] : COMPARED_STACK;
	if (p->calls && !call_has_functions(p))
		return;
	if (d->depth[side] > n)
		buf_printf(b, "(%u more) > ", d->depth[side] - n);
	for (unsigned i = n; i-- > 0;) {
		const struct call_site *s = &d->stack[side][i];
		format_function_name(p, side, s->function, b);
		if (i && s->node != SPEC_NONE) {
			const struct spec_node *x = atlas_node(p->atlas, side, s->function, s->node);
			size_t at = b->n;
			buf_char(b, ' ');
			format_source_line(p, side, x ? x->file : SPEC_NONE, x ? x->line : 0, b);
			if (b->n == at + 1)
				b->n = at;
		}
		if (i)
			buf_printf(b, " > ");
	}
}

void trace_words_iterations(const struct trace_pair *p, const struct difference *d, struct buf *b)
{
	uint32_t function = d->d.loop_function;
	if (function >= p->atlas->n || !p->atlas->layouts[function] || d->d.loop >= p->atlas->layouts[function]->n_loops)
		return;
	buf_printf(b, "%zu | %zu turns of the loop", d->d.iterations[0], d->d.iterations[1]);
	put_where(p, knows(p, function), function, p->atlas->layouts[function]->loops[d->d.loop].head, b);
}

void trace_words_meet(const struct trace_pair *p, const struct difference *d, struct buf *b)
{
	size_t alone[2];
	for (int s = 0; s < 2; s++)
		alone[s] = d->d.end[s] - (d->d.at[s] == ALIGN_START ? 0 : d->d.at[s] + 1);
	if (d->d.end[0] >= p->side[0].steps || d->d.end[1] >= p->side[1].steps) {
		buf_printf(b, "never; %zu | %zu steps are left", alone[0], alone[1]);
		return;
	}
	const struct spot *m = &d->meet[0];
	if (p->calls && !call_has_functions(p)) {
		buf_printf(b, "at ");
		call_words(p, 0, m->step, b);
	} else if (m->kind == STEP_LEAVE) {
		buf_printf(b, "at the end of ");
		format_function_name(p, knows(p, m->function), m->function, b);
	} else {
		trace_words_place(p, knows(p, m->function), m->function, m->node, b);
	}
	buf_printf(b, ", after %zu | %zu steps", alone[0], alone[1]);
}

/* ---- messages ---- */

static const struct message_words {
	uint8_t kind;
	bool together;
	const char *name, *words;
} message_words[] = {
#define MESSAGE(number, name, words) {number, false, #name, words},
#define COLLECTIVE(number, name) {number, true, #name, ""},
#define CALL(name)
#include "spec/trace/messages.def"
#undef MESSAGE
#undef COLLECTIVE
#undef CALL
};

static const struct message_words *find_message_words(unsigned kind)
{
	static const struct message_words unknown = {0, true, "message", ""};
	for (size_t i = 0; i < sizeof(message_words) / sizeof(*message_words); i++)
		if (message_words[i].kind == kind)
			return &message_words[i];
	return &unknown;
}

const char *trace_message_name(unsigned kind)
{
	return find_message_words(kind)->name;
}

/* "rank 2"; where it is said of a part of all, which part. */
static void put_rank(const struct trace_pair *p, int side, struct buf *b)
{
	const struct trace_info *i = &p->c.thread[side].info;
	const struct trace_message *m = &p->c.messages[side].message;
	if (i->ranks && m->size != (int32_t)i->ranks)
		buf_printf(b, "rank %u (%d in a communicator of %d)", i->rank, m->rank, m->size);
	else
		buf_printf(b, "rank %d", m->rank);
}

static void put_bytes(const struct trace_message *m, struct buf *b)
{
	if (m->flags & TRACE_MESSAGE_BYTES)
		buf_printf(b, ", %llu B", (unsigned long long)m->bytes);
}

/* What a side's message is; `again`: what stands before the peer has been said. */
static void put_message(const struct trace_message *m, bool again, bool size, bool bytes, struct buf *b)
{
	const struct message_words *w = find_message_words(m->kind);
	const char *space = strchr(w->words, ' ');
	if (m->flags & TRACE_MESSAGE_CANCELLED) {
		buf_printf(b, "cancelled a receive");
		return;
	}
	if (w->together) {
		if (!again)
			buf_printf(b, "in MPI_%s", w->name);
		if (m->peer >= 0)
			buf_printf(b, "%sroot %d", again ? "" : ", ", m->peer);
	} else {
		buf_printf(b, "%s ", again && space ? space + 1 : w->words);
		if (m->peer < 0)
			buf_printf(b, "nobody");
		else
			buf_printf(b, "%d tag %d", m->peer, m->tag);
	}
	if (size)
		buf_printf(b, "%samong %d", b->n && b->p[b->n - 1] != ' ' ? " " : "", m->size);
	if (bytes)
		put_bytes(m, b);
}

void trace_words_message(const struct trace_pair *p, struct buf *b)
{
	const struct reported_message *t = p->c.messages;
	const struct trace_message *m[2] = {&t[0].message, &t[1].message};
	bool both = t[0].there && t[1].there, same_rank = both && m[0]->rank == m[1]->rank;
	bool again = same_rank && m[0]->kind == m[1]->kind && !((m[0]->flags | m[1]->flags) & TRACE_MESSAGE_CANCELLED);
	bool size = both && m[0]->size != m[1]->size, bytes = both && m[0]->bytes != m[1]->bytes;
	for (int s = 0; s < 2; s++) {
		buf_printf(b, "%s", s ? " | " : "");
		if (!t[s].there) {
			buf_printf(b, "no message");
			continue;
		}
		if (!s || !same_rank) {
			put_rank(p, s, b);
			buf_char(b, ' ');
		}
		put_message(m[s], s && again, size, bytes, b);
	}
	if ((t[0].there && m[0]->flags & TRACE_MESSAGE_ANY_SOURCE) ||
	    (t[1].there && m[1]->flags & TRACE_MESSAGE_ANY_SOURCE))
		buf_printf(b, ", of any source");
	if (t[0].at.function != SPEC_NONE) {
		buf_printf(b, ": ");
		trace_words_place(p, knows(p, t[0].at.function), t[0].at.function, t[0].at.node, b);
	}
}

void trace_words_sender(const struct trace_pair *p, struct buf *b)
{
	const struct trace_pair *q = p->sender;
	if (!q)
		return;
	if (q->c.message) {
		trace_words_message(q, b);
		return;
	}
	buf_printf(b, "rank %u: ", q->c.thread[0].info.rank);
	if (!q->c.equal && q->c.n) {
		trace_words_divergence(q, &q->c.v[0], b);
		return;
	}
	trace_words_place(q, 0, q->c.datum[0].function, q->c.datum[0].node, b);
	buf_printf(b, ": ");
	trace_words_operands(q, q->c.datum, b);
}

void trace_words_thread(const struct trace_pair *p, struct buf *b)
{
	fmt_name(b, str_of(p->side[0].thread));
	if (strcmp(p->side[0].thread, p->side[1].thread) != 0) {
		buf_printf(b, " | ");
		fmt_name(b, str_of(p->side[1].thread));
	}
}

void trace_words_rank(const struct trace_pair *p, struct buf *b)
{
	const struct trace_info *i[2] = {&p->c.thread[0].info, &p->c.thread[1].info};
	if (!i[0]->ranks || !i[1]->ranks)
		return;
	buf_printf(b, ", rank %u", i[0]->rank);
	if (i[0]->rank != i[1]->rank)
		buf_printf(b, " | rank %u", i[1]->rank);
}

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
			format_function_name(p, knows(p, m->changed[i]), m->changed[i], b);
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

int source_around(const char *file, unsigned line, unsigned around, struct source_lines *ret)
{
	/* A name out of a trace may be any file: only regular ones are read, and only so much of them. */
	enum { MOST = 16 << 20 };
	struct stat st;
	int fd = *file && line ? open(file, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC) : -1;
	if (fd < 0)
		return 0;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > MOST) {
		close(fd);
		return 0;
	}
	char *text = malloc((size_t)st.st_size + 1);
	ssize_t n = text ? io_pread(fd, text, (size_t)st.st_size, 0) : -ENOMEM;
	close(fd);
	if (n <= 0) {
		free(text);
		return n == -ENOMEM ? -ENOMEM : 0;
	}
	struct buf b = {0};
	unsigned at = 1, first = line > around ? line - around : 1;
	*ret = (struct source_lines){.first = first};
	for (const char *p = text, *stop = text + n; p < stop; at++) {
		const char *end = memchr(p, '\n', (size_t)(stop - p));
		if (!end)
			end = stop;
		if (at >= first && at <= line + around) {
			fmt_source(&b, str_n(p, (size_t)(end - p)));
			buf_char(&b, '\n');
			ret->n++;
		}
		p = end + 1;
	}
	free(text);
	ret->text = strdup(buf_cstr(&b));
	buf_release(&b);
	if (at <= line || !ret->text) {
		free(ret->text);
		return at <= line ? 0 : -ENOMEM;
	}
	return 1;
}

int source_of_difference(const struct trace_pair *p, const struct difference *d, unsigned around,
                         struct source_lines *ret, unsigned *ret_line)
{
	const struct spot *at = &d->at[0];
	uint32_t function = at->kind == STEP_AT ? at->function : d->depth[0] ? d->stack[0][0].function : SPEC_NONE;
	uint32_t node = at->kind == STEP_AT ? at->node : d->depth[0] ? d->stack[0][0].node : SPEC_NONE;
	int side = atlas_node(p->atlas, 0, function, node) ? 0 : 1;
	const struct spec_node *n = node == SPEC_NONE ? NULL : atlas_node(p->atlas, side, function, node);
	if (!n)
		return 0;
	*ret_line = n->line;
	return source_around(spec_file(trace_pair_spec(p, side), n->file), n->line, around, ret);
}
