/* From points to the specification. */
#include "base/buf.h"
#include "base/hash.h"
#include "spec/llvm/program.h"

#include <llvm-c/DebugInfo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct emit {
	struct program *p;
	struct spec *s;
	VEC(const char *) files;
	struct table by_name; /* of files */
	VEC(struct spec_node) nodes;
	VEC(struct spec_edge) edges;
	VEC(uint32_t) targets;
	VEC(const char *) unexamined;
	struct function *f;
	struct condition_texts *words;
	uint32_t file, line, column; /* of the last point that had a line */
};

/* A copy for as long as the process lives; b is released. */
static const char *keep_text(struct buf *b)
{
	char *ret = llvm_need(strdup(buf_cstr(b)));
	buf_release(b);
	return ret;
}

/* The file's number, made if need be; a relative name stands below dir. */
static uint32_t file_index(struct emit *e, const char *dir, size_t n_dir, const char *name, size_t n_name)
{
	struct buf b = {0};
	if (n_name && *name != '/' && n_dir) {
		buf_str(&b, str_n(dir, n_dir));
		buf_char(&b, '/');
	}
	buf_str(&b, str_n(name, n_name));
	if (b.failed)
		llvm_die("out of memory");
	if (!b.n)
		return SPEC_NONE;
	uint32_t h = hash_fold(hash_bytes(b.p, b.n)), i;
	for (size_t pos = TABLE_START; (i = table_next(&e->by_name, h, &pos)) != VEC_NONE;)
		if (str_is(buf_view(&b), e->files.v[i])) {
			buf_release(&b);
			return i;
		}
	*(const char **)llvm_need(vec_add(&e->files)) = keep_text(&b);
	if (!table_add(&e->by_name, h, (uint32_t)e->files.n - 1))
		llvm_die("out of memory");
	return (uint32_t)e->files.n - 1;
}

/* Where the instruction stands in the source. Compilers leave some without: those have the place of what stands before,
 * and say so. */
static void set_source_place(struct emit *e, const struct point *x, struct spec_node *n)
{
	unsigned k = 0, k_dir = 0;
	unsigned line = x->inst ? LLVMGetDebugLocLine(x->inst) : 0;
	n->file = SPEC_NONE;
	if (line) {
		const char *name = LLVMGetDebugLocFilename(x->inst, &k);
		const char *dir = LLVMGetDebugLocDirectory(x->inst, &k_dir);
		e->file = name ? file_index(e, dir ? dir : "", dir ? k_dir : 0, name, k) : SPEC_NONE;
		e->line = line;
		e->column = LLVMGetDebugLocColumn(x->inst);
	} else if (x->kind != SPEC_ENTRY && e->line)
		n->flags |= SPEC_INEXACT_LINE;
	n->file = e->file;
	n->line = e->line;
	n->column = e->column;
}

/* What holds if the outcome is 0. */
static void write_llvm_condition(const struct point *x, struct buf *b)
{
	LLVMValueRef term = x->inst;
	static const char *const ints[] = {"eq", "ne", "ugt", "uge", "ult", "ule", "sgt", "sge", "slt", "sle"};
	static const char *const reals[] = {"false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord",
	                                    "uno",   "ueq", "ugt", "uge", "ult", "ule", "une", "true"};
	static const unsigned char opposite[] = {1, 0, 5, 4, 3, 2, 9, 8, 7, 6}; /* of ints */
	LLVMValueRef c = NULL;
	LLVMTypeRef type = NULL;
	bool negated;
	if (LLVMIsASwitchInst(term)) {
		buf_str(b, str_of("switch "));
		type = LLVMTypeOf(LLVMGetOperand(term, 0));
	} else if (LLVMIsAIndirectBrInst(term))
		buf_str(b, str_of("goto *"));
	else if (LLVMIsABranchInst(term) && LLVMIsConditional(term)) {
		c = program_compared(term, &negated);
		negated ^= x->turned;
		if (LLVMIsAICmpInst(c)) {
			unsigned k = (unsigned)LLVMGetICmpPredicate(c) - LLVMIntEQ;
			buf_printf(b, "%s ", ints[negated ? opposite[k] : k]);
			type = LLVMTypeOf(LLVMGetOperand(c, 0));
		} else if (LLVMIsAFCmpInst(c)) {
			unsigned k = (unsigned)LLVMGetFCmpPredicate(c);
			buf_printf(b, "fcmp %s ", reals[negated ? 15 - k : k]);
			type = LLVMTypeOf(LLVMGetOperand(c, 0));
		}
	}
	if (type && LLVMGetTypeKind(type) == LLVMPointerTypeKind)
		buf_str(b, str_of("ptr"));
	else if (type) {
		char *text = LLVMPrintTypeToString(type);
		buf_str(b, str_of(text));
		LLVMDisposeMessage(text);
	}
}

/* Label of each outcome. */
static const char *outcome_label(LLVMValueRef term, uint32_t outcome, LLVMBasicBlockRef to)
{
	struct buf b = {0};
	if (LLVMIsAInvokeInst(term))
		return outcome ? "unwind" : "";
	if (LLVMIsABranchInst(term))
		return outcome ? "false" : "true";
	if (LLVMIsASwitchInst(term)) {
		unsigned all = LLVMGetNumSuccessors(term), shown = 0;
		for (unsigned i = 1; i < all; i++)
			if (LLVMGetSuccessor(term, i) == to) {
				if (++shown > 8) {
					buf_str(&b, str_of(", ..."));
					break;
				}
				LLVMValueRef v = LLVMGetOperand(term, 2 * i);
				buf_printf(&b, "%s%lld", shown == 1 ? "case " : ", ", (long long)LLVMConstIntGetSExtValue(v));
			}
		if (LLVMGetSuccessor(term, 0) == to)
			buf_printf(&b, "%sdefault", shown ? ", " : "");
	} else
		buf_printf(&b, "goto %u", outcome);
	return keep_text(&b);
}

/* One edge for each way that leads to a node. A way that ends without one is left out. */
static void emit_edges(struct emit *e, const struct point *x, struct spec_node *n)
{
	LLVMBasicBlockRef *successors = NULL;
	bool term = x->inst && LLVMIsATerminatorInst(x->inst);
	if (term) {
		successors = llvm_need(calloc(LLVMGetNumSuccessors(x->inst) + 1, sizeof(*successors)));
		program_successors(x->inst, successors);
	}
	n->first_edge = (uint32_t)e->edges.n;
	for (uint32_t w = 0; w < x->n_successors; w++) {
		const struct successor *way = &e->p->successors.v[x->first_successor + w];
		uint32_t next = e->p->points.v[way->to].next;
		if (next == POINT_NEVER)
			continue;
		struct spec_edge *edge = llvm_need(vec_add(&e->edges));
		*edge = (struct spec_edge){.to = e->p->points.v[next].node, .outcome = way->outcome, .label = ""};
		if (term && x->n_successors > 1)
			edge->label = outcome_label(x->inst, way->outcome, successors[way->outcome]);
		if (x->kind == SPEC_DECISION && e->p->blocks.v[e->p->points.v[way->to].block].head)
			n->flags |= SPEC_LOOP;
	}
	n->n_edges = (uint32_t)e->edges.n - n->first_edge;
	free(successors);
}

/* What could not be examined, and of which function. */
static void append_program_gap(struct program *p, const char *what, const char *of)
{
	struct buf b = {0};
	buf_printf(&b, "%s %s", what, of);
	*(const char **)llvm_need(vec_add(&p->gaps)) = keep_text(&b);
}

/* Emits the node with its targets in ascending order, and its edges. */
static void emit_point(struct emit *e, const struct point *x)
{
	struct spec_node n = {.kind = x->kind, .flags = x->flags, .name = x->name, .condition = "", .words = ""};
	set_source_place(e, x, &n);
	n.first_target = (uint32_t)e->targets.n;
	for (uint32_t t = 0; t < x->n_targets; t++) {
		/* ascending, as functions are numbered in their order */
		uint32_t index = e->p->functions.v[e->p->targets.v[x->first_target + t]].index;
		if (index == SPEC_NONE)
			continue;
		size_t at = e->targets.n;
		llvm_need(vec_add(&e->targets));
		for (; at > n.first_target && e->targets.v[at - 1] > index; at--)
			e->targets.v[at] = e->targets.v[at - 1];
		e->targets.v[at] = index;
	}
	n.n_targets = (uint32_t)e->targets.n - n.first_target;
	emit_edges(e, x, &n);
	if (x->kind == SPEC_DECISION) {
		struct buf b = {0};
		write_llvm_condition(x, &b);
		n.condition = keep_text(&b);
		bool unsure;
		const char *words = condition_texts_of(e->words, e->f->value, x, &unsure);
		if (unsure)
			n.flags &= (uint16_t)~SPEC_SOURCE_TRUTH;
		n.words = words ? words : "";
		if (n.flags & SPEC_UNRECORDED)
			n.kind = SPEC_EPSILON;
	}
	switch (n.kind) {
	case SPEC_CALL:
		e->s->stats.calls++;
		break;
	case SPEC_SYSCALL:
		e->s->stats.syscalls++;
		break;
	case SPEC_DECISION:
		e->s->stats.decisions++;
		break;
	case SPEC_EPSILON:
		e->s->stats.epsilons++;
		break;
	}
	*(struct spec_node *)llvm_need(vec_add(&e->nodes)) = n;
}

/* ---- figures of the paper ---- */

/* Edges that Algorithm 1 makes where it is followed to the letter: decisions are taken out, too, and each node is then
 * followed by all that can be reached past them. */
static uint64_t paper_edges(const struct program *p, const struct function *f)
{
	uint32_t *seen = llvm_need(calloc(f->n_points, sizeof(*seen))),
	         *stack = llvm_need(calloc(f->n_points, sizeof(*stack)));
	const struct point *v = p->points.v + f->first_point;
	uint64_t n = 0;
	for (uint32_t i = 0; i < f->n_points; i++) {
		if (!v[i].kept || v[i].kind == SPEC_DECISION)
			continue;
		uint32_t depth = 0;
		stack[depth++] = i;
		while (depth) {
			const struct point *x = &v[stack[--depth]];
			for (uint32_t w = 0; w < x->n_successors; w++) {
				uint32_t next = p->points.v[p->successors.v[x->first_successor + w].to].next;
				if (next == POINT_NEVER || seen[next - f->first_point] == i + 1)
					continue;
				seen[next - f->first_point] = i + 1;
				if (p->points.v[next].kind == SPEC_DECISION)
					stack[depth++] = next - f->first_point;
				else
					n++;
			}
		}
	}
	free(seen);
	free(stack);
	return n;
}

struct links {
	VEC(uint32_t) in, out;
	bool there, decision;
};

/* Is the number in the list? */
static bool list_has_point(const uint32_t *v, size_t n, uint32_t x)
{
	for (size_t i = 0; i < n; i++)
		if (v[i] == x)
			return true;
	return false;
}

/* The last takes its place. */
static void list_remove_point(uint32_t *v, size_t *n, uint32_t x)
{
	for (size_t i = 0; i < *n; i++)
		if (v[i] == x) {
			v[i] = v[--*n];
			return;
		}
}

/* Takes out one decision if that adds no edge; else it would be kept as an epsilon node. */
static bool contract_decision(struct links *l, uint32_t u)
{
	size_t in = l[u].in.n - list_has_point(l[u].in.v, l[u].in.n, u),
	       out = l[u].out.n - list_has_point(l[u].out.v, l[u].out.n, u), more = 0;
	if (in * out > (in + out) * 4) /* many that are there already: rare, and dear to find out */
		return false;
	for (size_t a = 0; a < l[u].in.n; a++)
		for (size_t b = 0; b < l[u].out.n; b++) {
			uint32_t s = l[u].in.v[a], d = l[u].out.v[b];
			more += s != u && d != u && !list_has_point(l[s].out.v, l[s].out.n, d);
		}
	if (more > in + out)
		return false;
	for (size_t a = 0; a < l[u].in.n; a++)
		list_remove_point(l[l[u].in.v[a]].out.v, &l[l[u].in.v[a]].out.n, u);
	for (size_t b = 0; b < l[u].out.n; b++)
		list_remove_point(l[l[u].out.v[b]].in.v, &l[l[u].out.v[b]].in.n, u);
	for (size_t a = 0; a < l[u].in.n; a++)
		for (size_t b = 0; b < l[u].out.n; b++) {
			uint32_t s = l[u].in.v[a], d = l[u].out.v[b];
			if (s == u || d == u || list_has_point(l[s].out.v, l[s].out.n, d))
				continue;
			*(uint32_t *)llvm_need(vec_add(&l[s].out)) = d;
			*(uint32_t *)llvm_need(vec_add(&l[d].in)) = s;
		}
	l[u].there = false;
	return true;
}

/* How many edges are left when all decisions are contracted: what recording every call alone would need. */
static uint64_t epsilon_edges(const struct emit *e, const struct spec_function *f)
{
	struct links *l = llvm_need(calloc(f->n_nodes, sizeof(*l)));
	uint64_t n = 0;
	for (uint32_t i = 0; i < f->n_nodes; i++) {
		const struct spec_node *node = &e->nodes.v[f->first_node + i];
		l[i].there = true;
		l[i].decision = node->kind == SPEC_DECISION || node->kind == SPEC_EPSILON;
		for (uint32_t k = 0; k < node->n_edges; k++) {
			uint32_t to = e->edges.v[node->first_edge + k].to;
			if (list_has_point(l[i].out.v, l[i].out.n, to))
				continue;
			*(uint32_t *)llvm_need(vec_add(&l[i].out)) = to;
			*(uint32_t *)llvm_need(vec_add(&l[to].in)) = i;
		}
	}
	for (bool changed = true; changed;) {
		changed = false;
		for (uint32_t i = 0; i < f->n_nodes; i++)
			changed |= l[i].there && l[i].decision && contract_decision(l, i);
	}
	for (uint32_t i = 0; i < f->n_nodes; i++) {
		n += l[i].there ? l[i].out.n : 0;
		vec_release(&l[i].in);
		vec_release(&l[i].out);
	}
	free(l);
	return n;
}

/* Of a depth-first walk from the entry. */
static uint64_t kept_back_edges(const struct emit *e, const struct spec_function *f)
{
	struct visit_frame {
		uint32_t node, next;
	} *stack = llvm_need(calloc(f->n_nodes + 1, sizeof(*stack)));
	unsigned char *state = llvm_need(calloc(f->n_nodes, 1));
	uint64_t back = 0;
	size_t depth = 1;
	state[0] = 1;
	while (depth) {
		struct visit_frame *t = &stack[depth - 1];
		const struct spec_node *n = &e->nodes.v[f->first_node + t->node];
		if (t->next >= n->n_edges) {
			state[t->node] = 2;
			depth--;
			continue;
		}
		uint32_t to = e->edges.v[n->first_edge + t->next++].to;
		back += state[to] == 1;
		if (state[to] == 0) {
			state[to] = 1;
			stack[depth++] = (struct visit_frame){to, 0};
		}
	}
	free(stack);
	free(state);
	return back;
}

/* Functions on a cycle of calls: Tarjan's components, without recursion of our own. */
static uint64_t find_recursive_functions(const struct program *p)
{
	struct visit_frame {
		uint32_t f, point, target;
	} *stack = llvm_need(calloc(p->functions.n + 1, sizeof(*stack)));
	uint32_t *number = llvm_need(calloc(p->functions.n + 1, sizeof(*number))),
	         *low = llvm_need(calloc(p->functions.n + 1, sizeof(*low)));
	uint32_t *open = llvm_need(calloc(p->functions.n + 1, sizeof(*open)));
	bool *is_open = llvm_need(calloc(p->functions.n + 1, 1)), *self = llvm_need(calloc(p->functions.n + 1, 1));
	uint32_t count = 0, n_open = 0;
	uint64_t ret = 0;
	for (uint32_t root = 0; root < p->functions.n; root++) {
		size_t depth = 0;
		if (number[root] || !p->functions.v[root].defined)
			continue;
		stack[depth++] = (struct visit_frame){root, 0, 0};
		number[root] = low[root] = ++count;
		open[n_open++] = root;
		is_open[root] = true;
		while (depth) {
			struct visit_frame *t = &stack[depth - 1];
			const struct function *f = &p->functions.v[t->f];
			if (t->point < f->n_points) {
				const struct point *x = &p->points.v[f->first_point + t->point];
				if (t->target >= x->n_targets) {
					t->point++;
					t->target = 0;
					continue;
				}
				uint32_t to = p->targets.v[x->first_target + t->target++];
				self[t->f] |= to == t->f;
				if (!number[to]) {
					number[to] = low[to] = ++count;
					open[n_open++] = to;
					is_open[to] = true;
					stack[depth++] = (struct visit_frame){to, 0, 0};
				} else if (is_open[to] && number[to] < low[t->f])
					low[t->f] = number[to];
				continue;
			}
			uint32_t done = t->f;
			depth--;
			if (depth && low[done] < low[stack[depth - 1].f])
				low[stack[depth - 1].f] = low[done];
			if (low[done] != number[done])
				continue;
			uint32_t size = 0, at = n_open;
			do {
				is_open[open[--at]] = false;
				size++;
			} while (open[at] != done);
			n_open = at;
			ret += size > 1 ? size : self[done];
		}
	}
	free(stack);
	free(number);
	free(low);
	free(open);
	free(is_open);
	free(self);
	return ret;
}

/* ---- all of it ---- */

/* Dies where a function has too many nodes; marks decisions with too many outcomes. */
static void check_sizes(struct emit *e, struct function *f)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < f->n_points; i++) {
		struct point *x = &e->p->points.v[f->first_point + i];
		n += x->kept;
		if (x->kind == SPEC_DECISION && x->n_successors > SPEC_OUTCOMES_MAX)
			x->flags |= SPEC_UNRECORDED;
	}
	if (n > SPEC_NODES_MAX)
		llvm_die("function '%s' has %u nodes, more than a trace can name", f->name, n);
	if (f->untraceable)
		append_program_gap(e->p, "cannot be traced, as it must end in another's call:", f->name);
}

/* Its memory is the program's: it is never freed. */
void program_spec(struct program *p, const char *producer, uint64_t modules, struct condition_texts *words,
                  struct spec *s)
{
	struct emit e = {.p = p, .s = s, .words = words};
	const char *no_lines = NULL;
	*s = (struct spec){.producer = llvm_need(strdup(producer)), .main = SPEC_NONE};
	s->stats.modules = modules;
	for (size_t i = 0; i < p->functions.n; i++) {
		const struct function *f = &p->functions.v[i];
		/* What a library's header defines, too, is the library's. */
		if (!f->defined || (!f->reaches && LLVMGetLinkage(f->value) == LLVMAvailableExternallyLinkage))
			continue;
		s->stats.functions++;
		s->stats.functions_kept += f->reaches;
		s->stats.instructions += f->instructions;
		s->stats.edges += f->edges;
		s->stats.back_edges += f->back_edges;
		s->n_functions += f->reaches;
		if (!f->reaches)
			*(const char **)llvm_need(vec_add(&e.unexamined)) = f->name;
	}
	s->stats.recursive = find_recursive_functions(p);
	s->functions = llvm_need(calloc(s->n_functions + 1, sizeof(*s->functions)));
	for (size_t i = 0; i < p->functions.n; i++) {
		struct function *f = &p->functions.v[i];
		if (!f->reaches)
			continue;
		struct spec_function *out = &s->functions[f->index];
		LLVMMetadataRef sub = LLVMGetSubprogram(f->value);
		unsigned k = 0, k_dir = 0;
		*out = (struct spec_function){.name = f->name, .file = SPEC_NONE, .first_node = (uint32_t)e.nodes.n};
		e.f = f;
		e.file = SPEC_NONE;
		e.line = e.column = 0;
		if (sub) {
			LLVMMetadataRef file = LLVMDIScopeGetFile(sub);
			const char *name = file ? LLVMDIFileGetFilename(file, &k) : NULL;
			const char *dir = file ? LLVMDIFileGetDirectory(file, &k_dir) : NULL;
			out->file = e.file = name ? file_index(&e, dir ? dir : "", dir ? k_dir : 0, name, k) : SPEC_NONE;
			out->line = e.line = LLVMDISubprogramGetLine(sub);
		} else if (strcmp(f->name, "__clang_call_terminate") != 0 && s->stats.no_lines++ == 0)
			no_lines = f->name; /* that one is clang's own, in each program that has cleanups */
		if (strcmp(f->name, "main") == 0)
			s->main = f->index;
		s->stats.branches += f->branches;
		check_sizes(&e, f);
		for (uint32_t x = 0; x < f->n_points; x++)
			if (p->points.v[f->first_point + x].kept)
				emit_point(&e, &p->points.v[f->first_point + x]);
		out->n_nodes = (uint32_t)e.nodes.n - out->first_node;
		s->stats.paper_edges += paper_edges(p, f);
		s->stats.epsilon_edges += epsilon_edges(&e, out);
		s->stats.back_edges_kept += kept_back_edges(&e, out);
	}
	if (s->stats.no_lines)
		append_program_gap(p, "functions without lines (no debug information) are there, the first is", no_lines);
	s->files = e.files.v;
	s->n_files = (uint32_t)e.files.n;
	s->nodes = e.nodes.v;
	s->n_nodes = (uint32_t)e.nodes.n;
	s->edges = e.edges.v;
	s->n_edges = (uint32_t)e.edges.n;
	s->targets = e.targets.v;
	s->n_targets = (uint32_t)e.targets.n;
	s->gaps = p->gaps.v;
	s->n_gaps = (uint32_t)p->gaps.n;
	s->unexamined = e.unexamined.v;
	s->n_unexamined = (uint32_t)e.unexamined.n;
	s->stats.nodes = s->n_nodes;
	s->stats.edges_kept = s->n_edges;
	s->stats.indirect = p->indirect;
	s->stats.indirect_unresolved = p->unresolved;
	table_release(&e.by_name);
}
