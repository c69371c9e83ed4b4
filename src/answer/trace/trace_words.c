/* trace_words.c - where two traces part, in sentences. */
#include "answer/trace/trace_answer.h"
#include "answer/trace/trace_calls_words.h"
#include "answer/trace/trace_set.h"

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
		return trace_is_same(p)    ? TRACE_SAME
		       : trace_is_noise(p) ? TRACE_NOISE
		       : trace_parts(p)    ? TRACE_DATA
		       : p->outputs.differ ? TRACE_OUTPUT
		                           : TRACE_UNKNOWN;
	bool turns = p->c.n == p->c.result.total;
	for (size_t i = 0; turns && i < p->c.n; i++)
		turns = p->c.v[i].d.loop_function != LAYOUT_NONE;
	return turns ? TRACE_ITERATIONS : TRACE_CONTROL;
}

/* Is it open whether both runs wrote the same? Both were given something else, and it is not known whether they
 * wrote the same: then that they went the same way is not to be taken for more than that. */
static bool trace_outputs_are_open(const struct trace_pair *p)
{
	const struct trace_outputs *o = &p->outputs;
	return o->known && o->given_differ && !p->calls && (o->n_open || !o->bytes_known || o->bytes > o->in_files);
}

/* Where nothing differs, and nothing is left open. */
static bool is_alike(const struct trace_pair *p)
{
	return !trace_parts(p) && !p->outputs.differ && !trace_is_incomplete(p, 0) && !trace_is_incomplete(p, 1) &&
	       !trace_outputs_are_open(p);
}

bool trace_is_same(const struct trace_pair *p)
{
	return is_alike(p) && !p->noise_hides;
}

bool trace_is_noise(const struct trace_pair *p)
{
	return is_alike(p) && p->noise_hides;
}

bool trace_parts(const struct trace_pair *p)
{
	return !p->c.equal || p->c.data || p->c.message;
}

bool trace_is_incomplete(const struct trace_pair *p, int side)
{
	const struct thread_steps *t = &p->c.thread[side];
	const struct trace_exit_status *f = p->side[side].exit_status;
	bool ended =
	    (f && f->kind != EXIT_STATUS_UNKNOWN) || (p->calls && (p->calls->c[side].replaced || p->calls->c[side].killed));
	return t->damaged || t->gaps || t->info.end == TRACE_STOPPED || (t->info.end == TRACE_CUT && !ended);
}

size_t trace_differences(const struct trace_pair *p)
{
	return p->n_closer ? p->n_closer + p->c.n - 1 : p->c.n;
}

/* Difference i of those that are told: *ret, and the pair that it is of. i must be below trace_differences. */
const struct trace_pair *trace_difference(const struct trace_pair *p, size_t i, const struct difference **ret)
{
	const struct trace_pair *of = i < p->n_closer ? p->closer : p;
	*ret = &of->c.v[i < p->n_closer || !p->n_closer ? i : i - p->n_closer + 1];
	return of;
}

const struct trace_pair *trace_of_datum(const struct trace_pair *p)
{
	return p->closer && p->closer->c.data ? p->closer : p;
}

/* Static. */
const char *trace_verdict_word(enum trace_verdict v)
{
	static const char *const words[] = {"same", "data", "control", "turns", "output", "unknown", "noise"};
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

void trace_words_function_at(const struct trace_pair *p, int side, uint32_t function, struct buf *b)
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

/* Appends "file.c:LINE", without the line where it is 0. Nothing where the file is not known. */
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
	trace_words_function_at(p, side, function, b);
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
		if (s->kind == STEP_SILENT)
			buf_printf(b, "a computation without a system call in ");
		trace_words_place(p, 0, s->function, s->node, b);
	}
}

/* A's numbers first: what only B's build has is not in A's. */
int trace_pair_knows(const struct trace_pair *p, uint32_t function)
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
	buf_printf(b, "the path to ");
	format_source_line(p, side, to[s->outcome]->file, to[s->outcome]->line, b);
	return true;
}

/* Appends how a place decided: the label of the outcome, else its source's words, else "way N". */
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
		trace_words_function_at(p, side, s->function, b);
		return;
	case STEP_LEAVE:
		buf_printf(b, s->value ? "leaves " : "returns from ");
		trace_words_function_at(p, side, s->function, b);
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
			buf_printf(b, "reaches the decision");
		else if (n && *n->name) {
			buf_printf(b, "calls ");
			trace_words_function(n->name, b);
		} else
			buf_printf(b, n ? "makes a call" : "continues");
		put_where(p, side, s->function, s->node, b);
		return;
	case STEP_SILENT:
		buf_printf(b, "computes without a system call");
		return;
	default:
		if (s->step < p->side[side].steps)
			buf_printf(b, "has a gap");
		else if (t->damaged)
			buf_printf(b, "cannot be read further");
		else if ((t->info.end != TRACE_CUT && t->info.end != TRACE_EXIT) ||
		         !trace_words_exit(p->side[side].exit_status, t->info.end == TRACE_CUT, b))
			buf_printf(b, p->calls && p->calls->c[side].replaced ? "executes another program"
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

/* Of a pointer only whether it is NULL. */
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

/* As "0.00097 < 0.001"; "not recorded" where there are none. Of a switch only the value. */
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
		trace_words_place(p, trace_pair_knows(p, top->function), top->function, top->node, b);
	else
		buf_printf(b, "outside all functions");
}

/* What a side did there: "took true". */
static void trace_words_side(const struct trace_pair *p, const struct difference *d, int side, struct buf *b)
{
	const struct spot *at = &d->at[side];
	if (d->d.decision && at->kind == STEP_AT) {
		buf_printf(b, "took ");
		put_outcome(p, side, at, b);
	} else if (d->d.decision && at->kind == STEP_SILENT) {
		buf_printf(b, "computed a different value");
	} else if (is_extra(d)) {
		size_t n = d->d.end[side] - (d->d.at[side] == ALIGN_START ? 0 : d->d.at[side] + 1);
		buf_printf(b, "makes %zu separate step%s", n, str_plural(n));
	} else if (at->kind == STEP_AT && d->next[0].kind == STEP_ENTER && d->next[1].kind == STEP_ENTER) {
		buf_printf(b, "called ");
		trace_words_function_at(p, side, d->next[side].function, b);
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

/* As trace_words_side, with the values that were compared, where they are known. */
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
		buf_printf(b, ": A and B compute different values there");
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
	if (at == p->c.datum && at[0].kind == STEP_SILENT) {
		buf_printf(b, "the values were not recorded (use stemma run --trace-full)");
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
		trace_words_function_at(p, side, s->function, b);
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
	buf_printf(b, "%zu | %zu iterations of the loop", d->d.iterations[0], d->d.iterations[1]);
	put_where(p, trace_pair_knows(p, function), function, p->atlas->layouts[function]->loops[d->d.loop].head, b);
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
		trace_words_function_at(p, trace_pair_knows(p, m->function), m->function, b);
	} else {
		trace_words_place(p, trace_pair_knows(p, m->function), m->function, m->node, b);
	}
	buf_printf(b, ", after %zu | %zu steps", alone[0], alone[1]);
}
