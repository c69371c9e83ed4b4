/* control.c - which functions can be reached, and what decides whether a piece of code is run.
 *
 * A segment is a piece of a block that ends where the block does, or behind a call that may not come back. Whether a
 * segment runs depends on the segments in its post-dominance frontier; such a call decides between what follows and the
 * end of the function. */
#include "spec/llvm/slice/graph.h"

#include <string.h>

struct segment {
	LLVMValueRef first, last;
	uint32_t call;              /* behind which it ends; VEC_NONE: at the block's end */
	uint32_t condition;         /* node of what decides where it goes on */
	uint32_t local, effects;    /* nodes: whether it runs, if its function is called; and whether it runs at all */
	uint32_t first_way, n_ways; /* in ways: segments; as many as there are segments: the end */
	uint32_t next;              /* that post-dominates it */
	uint32_t order;
};

struct control {
	struct slice *s;
	uint32_t function;
	VEC(struct segment) segments;
	VEC(uint32_t) ways;
	struct map of_block, last_of_block;
	uint32_t end;
	uint32_t *before, *first_before; /* segments by the one that they lead to */
	uint32_t *sequence;              /* segments, those near the end first */
	uint32_t n_sequence;
};

/* ---- which functions are reached ---- */

/* Notes that a function can be reached, and queues it. */
static void reach_function(struct slice *s, uint32_t f, uint32_t *queue, uint32_t *n)
{
	if (!s->functions.v[f].reachable) {
		s->functions.v[f].reachable = true;
		queue[(*n)++] = f;
	}
}

/* Queues the functions that a call may reach. */
static void reach_targets(struct slice *s, const struct call *c, uint32_t *queue, uint32_t *n)
{
	for (size_t i = 0; i < c->targets.n; i++)
		reach_function(s, c->targets.v[i], queue, n);
	for (size_t i = 0; i < c->called_back.n; i++)
		reach_function(s, c->called_back.v[i], queue, n);
}

/* Finds the functions that can be reached from main, or from any if there is no main. */
static void find_reachable(struct slice *s)
{
	uint32_t *queue = llvm_need(calloc(s->functions.n + 1, sizeof(*queue))), n = 0;
	bool has_main = false;
	for (uint32_t i = 0; i < s->functions.n; i++)
		if (strcmp(s->functions.v[i].name, "main") == 0 && s->functions.v[i].defined) {
			reach_function(s, i, queue, &n);
			has_main = true;
		}
	for (uint32_t i = 0; i < s->functions.n && !has_main; i++)
		if (s->functions.v[i].defined)
			reach_function(s, i, queue, &n);
	for (size_t i = 0; i < s->calls.n; i++)
		if (s->calls.v[i].function == VEC_NONE)
			reach_targets(s, &s->calls.v[i], queue, &n);
	for (uint32_t at = 0; at < n; at++)
		for (size_t i = 0; i < s->functions.v[queue[at]].calls.n; i++)
			reach_targets(s, &s->calls.v[s->functions.v[queue[at]].calls.v[i]], queue, &n);
	free(queue);
}

/* May the call end the program? */
static bool call_may_end(const struct slice *s, const struct call *c)
{
	bool ret = c->may_end || c->unresolved;
	for (size_t i = 0; i < c->targets.n; i++)
		ret |= s->functions.v[c->targets.v[i]].may_end;
	for (size_t i = 0; i < c->called_back.n && !c->later; i++)
		ret |= s->functions.v[c->called_back.v[i]].may_end;
	return ret;
}

/* Which functions may not come back. */
static void find_ending(struct slice *s)
{
	for (bool changed = true; changed;) {
		changed = false;
		for (uint32_t i = 0; i < s->functions.n; i++) {
			struct slice_function *f = &s->functions.v[i];
			for (size_t k = 0; k < f->calls.n && !f->may_end; k++)
				changed |= f->may_end = call_may_end(s, &s->calls.v[f->calls.v[k]]);
		}
	}
	for (size_t i = 0; i < s->calls.n; i++)
		s->calls.v[i].may_end = call_may_end(s, &s->calls.v[i]);
}

/* Calls that have no target that is known. */
static void note_unresolved(struct slice *s)
{
	for (size_t i = 0; i < s->calls.n; i++) {
		struct call *c = &s->calls.v[i];
		if (c->callee && (c->unresolved || c->targets.n == 0))
			graph_reason(s, "a call through a pointer whose targets are not all known", "", c->inst, c->function);
	}
}

/* ---- segments ---- */

/* Begins a segment, a stretch of instructions that are run together. */
static struct segment *append_segment(struct control *c, LLVMValueRef first)
{
	struct segment *g = llvm_need(vec_add(&c->segments));
	*g = (struct segment){.first = first, .call = VEC_NONE};
	g->local = graph_node(c->s, HOLDS_NOTHING);
	g->effects = graph_node(c->s, HOLDS_NOTHING);
	graph_flow(c->s, g->local, g->effects);
	graph_flow(c->s, c->s->functions.v[c->function].control, g->effects);
	return g;
}

/* Cuts a block into segments, at calls that may end the program. */
static void cut_block(struct control *c, LLVMBasicBlockRef b)
{
	LLVMValueRef first = LLVMGetFirstInstruction(b);
	if (!map_set(&c->of_block, (uintptr_t)b, (uint32_t)c->segments.n))
		llvm_die("out of memory");
	struct segment *g = append_segment(c, first);
	for (LLVMValueRef i = first; i; i = LLVMGetNextInstruction(i)) {
		uint32_t call = map_get(&c->s->call_of, (uintptr_t)i);
		g->last = i;
		if (call == VEC_NONE || !c->s->calls.v[call].may_end || LLVMIsATerminatorInst(i))
			continue;
		g->call = call;
		g->condition = c->s->calls.v[call].ends;
		g = append_segment(c, LLVMGetNextInstruction(i));
	}
	if (!map_set(&c->last_of_block, (uintptr_t)b, (uint32_t)c->segments.n - 1))
		llvm_die("out of memory");
}

/* What a terminator goes by. */
static uint32_t terminator_condition(struct slice *s, LLVMValueRef t)
{
	if (LLVMIsABranchInst(t))
		return LLVMIsConditional(t) ? build_value(s, LLVMGetCondition(t)) : 0;
	if (LLVMIsASwitchInst(t) || LLVMIsAIndirectBrInst(t))
		return build_value(s, LLVMGetOperand(t, 0));
	uint32_t call = map_get(&s->call_of, (uintptr_t)t);
	return call == VEC_NONE ? 0 : s->calls.v[call].ends;
}

/* Notes that the last segment may go on to another one. */
static void append_way(struct control *c, uint32_t to)
{
	*(uint32_t *)llvm_need(vec_add(&c->ways)) = to;
}

/* Sets the ways out of segment i: to what comes behind it, to the end of the program where its call may end it, or
 * both. */
static void link_segment(struct control *c, uint32_t i)
{
	struct segment *g = &c->segments.v[i];
	g->first_way = (uint32_t)c->ways.n;
	if (g->call != VEC_NONE) {
		if (!c->s->calls.v[g->call].always_ends)
			append_way(c, i + 1);
		append_way(c, c->end);
	} else if (g->last) {
		unsigned n = LLVMGetNumSuccessors(g->last);
		g->condition = terminator_condition(c->s, g->last);
		for (unsigned k = 0; k < n; k++)
			append_way(c, map_get(&c->of_block, (uintptr_t)LLVMGetSuccessor(g->last, k)));
		/* A call that is a terminator may also end the program. */
		if (n == 0 || map_get(&c->s->call_of, (uintptr_t)g->last) != VEC_NONE)
			append_way(c, c->end);
	} else
		append_way(c, c->end);
	g->n_ways = (uint32_t)c->ways.n - g->first_way;
}

/* ---- post-dominance (Cooper, Harvey, Kennedy) ---- */

/* Lists for each segment those that may come before it. */
static void list_before(struct control *c)
{
	uint32_t n = (uint32_t)c->segments.n;
	free(c->before);
	free(c->first_before);
	c->before = llvm_need(calloc(c->ways.n + n + 1, sizeof(uint32_t)));
	c->first_before = llvm_need(calloc(n + 3, sizeof(uint32_t)));
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = 0; k < c->segments.v[i].n_ways; k++)
			c->first_before[c->ways.v[c->segments.v[i].first_way + k] + 2]++;
	for (uint32_t i = 1; i < n + 3; i++)
		c->first_before[i] += c->first_before[i - 1];
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = 0; k < c->segments.v[i].n_ways; k++)
			c->before[c->first_before[c->ways.v[c->segments.v[i].first_way + k] + 1]++] = i;
}

/* Segments in the order of a search from `from` against the ways; those that it finds are appended behind all that it
 * leads to. */
static void search_back(struct control *c, uint32_t from, unsigned char *seen)
{
	struct visit {
		uint32_t at, next;
	} *stack = llvm_need(calloc(c->segments.n + 2, sizeof(*stack)));
	uint32_t depth = 0;
	seen[from] = 1;
	stack[depth++] = (struct visit){from, c->first_before[from]};
	while (depth) {
		struct visit *v = &stack[depth - 1];
		if (v->next == c->first_before[v->at + 1]) {
			c->sequence[c->n_sequence++] = v->at;
			depth--;
			continue;
		}
		uint32_t to = c->before[v->next++];
		if (!seen[to]) {
			seen[to] = 1;
			stack[depth++] = (struct visit){to, c->first_before[to]};
		}
	}
	free(stack);
}

/* A loop that nothing leaves gets a way to the end. */
static void add_way_out(struct control *c, uint32_t i)
{
	struct segment *g = &c->segments.v[i];
	uint32_t first = (uint32_t)c->ways.n;
	for (uint32_t k = 0; k < g->n_ways; k++)
		append_way(c, c->ways.v[g->first_way + k]);
	append_way(c, c->end);
	g->first_way = first;
	g->n_ways++;
}

/* Numbers all segments from the end, which all can reach then. */
static void order_segments(struct control *c)
{
	uint32_t n = (uint32_t)c->segments.n;
	unsigned char *seen = llvm_need(calloc(n + 1, 1));
	c->sequence = llvm_need(calloc(n + 1, sizeof(uint32_t)));
	list_before(c);
	search_back(c, c->end, seen);
	for (uint32_t i = n; i-- > 0;)
		if (!seen[i]) {
			add_way_out(c, i);
			/* what leads there is reached by it, too */
			c->n_sequence = 0;
			memset(seen, 0, n + 1);
			list_before(c);
			search_back(c, c->end, seen);
		}
	for (uint32_t i = 0; i < c->n_sequence; i++)
		if (c->sequence[i] < n)
			c->segments.v[c->sequence[i]].order = i;
	free(seen);
}

/* The place of a segment in the order from the end. */
static uint32_t order_of(const struct control *c, uint32_t i)
{
	return i == c->end ? c->n_sequence : c->segments.v[i].order;
}

/* The nearest segment that both a and b come to in any case. */
static uint32_t meet(const struct control *c, uint32_t a, uint32_t b)
{
	while (a != b) {
		while (order_of(c, a) < order_of(c, b))
			a = c->segments.v[a].next;
		while (order_of(c, b) < order_of(c, a))
			b = c->segments.v[b].next;
	}
	return a;
}

/* Finds for each segment the nearest one that it comes to in any case (post-dominators, K. D. Cooper et al. 2001). */
static void find_post_dominators(struct control *c)
{
	order_segments(c);
	for (size_t i = 0; i < c->segments.n; i++)
		c->segments.v[i].next = VEC_NONE;
	for (bool changed = true; changed;) {
		changed = false;
		for (uint32_t i = c->n_sequence; i-- > 0;) {
			uint32_t at = c->sequence[i], next = VEC_NONE;
			if (at == c->end)
				continue;
			struct segment *g = &c->segments.v[at];
			for (uint32_t k = 0; k < g->n_ways; k++) {
				uint32_t to = c->ways.v[g->first_way + k];
				if (to == c->end || c->segments.v[to].next != VEC_NONE)
					next = next == VEC_NONE ? to : meet(c, next, to);
			}
			changed |= g->next != next;
			g->next = next;
		}
	}
}

/* ---- flows of control ---- */

/* Adds flows from each condition to what is run only on some of its ways. */
static void decide(struct control *c)
{
	for (uint32_t x = 0; x < c->segments.n; x++) {
		const struct segment *g = &c->segments.v[x];
		for (uint32_t k = 0; k < g->n_ways && g->n_ways > 1; k++)
			for (uint32_t r = c->ways.v[g->first_way + k]; r != g->next && r != c->end; r = c->segments.v[r].next) {
				graph_flow(c->s, g->condition, c->segments.v[r].local);
				graph_flow(c->s, g->local, c->segments.v[r].local);
			}
	}
}

/* Adds flows to node, that of the phi node, from the condition and the control of each block that a value of it comes
 * from: they decide which value it has. */
static void decide_phi(struct control *c, LLVMValueRef phi, uint32_t node)
{
	for (unsigned i = 0; i < LLVMCountIncoming(phi); i++) {
		uint32_t from = map_get(&c->last_of_block, (uintptr_t)LLVMGetIncomingBlock(phi, i));
		if (from == VEC_NONE)
			continue;
		graph_flow(c->s, c->segments.v[from].local, node);
		graph_flow(c->s, c->segments.v[from].condition, node);
	}
}

/* A store into the buffer of a stream, by a macro: an output. */
static void store_into_stream(struct slice *s, LLVMValueRef i, uint32_t value, uint32_t pointer, uint32_t effects)
{
	struct output o = {.name = "store", .at = graph_place(i), .call = VEC_NONE, .buffered = true};
	o.node = graph_node(s, HOLDS_NOTHING);
	graph_flow(s, value, o.node);
	graph_flow(s, pointer, o.node);
	graph_flow(s, effects, o.node);
	graph_stream_use(s, pointer, o.node, STREAM_POSITION);
	*(struct output *)llvm_need(vec_add(&s->outputs)) = o;
}

static bool is_null(LLVMValueRef v, int depth);

/* A parameter for which each call gives NULL. */
static bool is_null_parameter(LLVMValueRef v, int depth)
{
	LLVMValueRef f = LLVMGetParamParent(v);
	unsigned k = 0;
	while (LLVMGetParam(f, k) != v)
		k++;
	for (LLVMUseRef u = LLVMGetFirstUse(f); u; u = LLVMGetNextUse(u)) {
		LLVMValueRef by = LLVMGetUser(u);
		bool calls = (LLVMIsACallInst(by) || LLVMIsAInvokeInst(by)) && LLVMGetCalledValue(by) == f;
		if (!calls || k >= LLVMGetNumArgOperands(by) || !is_null(LLVMGetOperand(by, k), depth + 1))
			return false;
	}
	return true;
}

/* Is the phi node a null pointer whichever way was taken? */
static bool is_null_everywhere(LLVMValueRef phi, int depth)
{
	for (unsigned i = 0; i < LLVMCountIncoming(phi); i++)
		if (!is_null(LLVMGetIncomingValue(phi, i), depth + 1))
			return false;
	return true;
}

/* Is it NULL whatever happens, or read by way of NULL? Then nothing is done with it that the standard defines. */
static bool is_null(LLVMValueRef v, int depth)
{
	enum { DEPTH_MOST = 8 };
	if (LLVMIsAConstantPointerNull(v) || LLVMIsUndef(v))
		return true;
	if (depth > DEPTH_MOST)
		return false;
	if (LLVMIsAGetElementPtrInst(v) || LLVMIsABitCastInst(v) || LLVMIsALoadInst(v) || LLVMIsAConstantExpr(v))
		return LLVMGetNumOperands(v) > 0 && is_null(LLVMGetOperand(v, 0), depth + 1);
	if (LLVMIsAArgument(v))
		return is_null_parameter(v, depth);
	return LLVMIsAPHINode(v) && is_null_everywhere(v, depth);
}

/* May it lead to where nobody looked, too? */
static bool may_be_elsewhere(struct slice *s, uint32_t node)
{
	if (graph_points_to_kind(s, node, OBJECT_ELSEWHERE))
		return true;
	/* Once is enough: most of such a program would be named. */
	if (s->told_bytes || !s->writes_pointers || !graph_points_to_kind(s, node, OBJECT_BYTES))
		return false;
	s->told_bytes = true;
	return true;
}

/* What a library function is given to read or write: a pointer that may lead elsewhere. An address at which it is to
 * make memory is known, or it is a reason, too. */
static bool is_given_elsewhere(struct slice *s, const struct call *k)
{
	LLVMValueRef f = build_bare(LLVMGetCalledValue(k->inst));
	if (!LLVMIsAFunction(f) || LLVMCountBasicBlocks(f))
		return false;
	const char *name = build_name(f);
	static const struct {
		const char *name;
		unsigned address;
	} places[] = {{"mmap", 0}, {"mmap64", 0}, {"mremap", 4}, {"shmat", 1}};
	for (unsigned i = 0; i < k->n_arguments; i++) {
		LLVMValueRef v = LLVMGetOperand(k->inst, i);
		if (LLVMGetTypeKind(LLVMTypeOf(v)) != LLVMPointerTypeKind)
			continue;
		for (size_t p = 0; p < sizeof(places) / sizeof(places[0]); p++)
			if (places[p].address == i && strcmp(places[p].name, name) == 0 && !is_null(v, 0) &&
			    !graph_points_anywhere(s, k->argument[i]))
				return true;
		if (library_follows(name, i, k->n_fixed) && may_be_elsewhere(s, k->argument[i]))
			return true;
	}
	return false;
}

/* A pointer that leads nowhere came from where nobody looked: read from a file, made of a number, or it is always NULL,
 * and then what is done with it is not done. So did one that may lead elsewhere than to what is known. */
static void check_pointer(struct control *c, LLVMValueRef i)
{
	struct slice *s = c->s;
	unsigned at = LLVMIsALoadInst(i) || LLVMIsAAtomicRMWInst(i) || LLVMIsAAtomicCmpXchgInst(i) ? 0 : 1;
	LLVMValueRef p = !at || LLVMIsAStoreInst(i) ? LLVMGetOperand(i, at) : NULL;
	uint32_t call = map_get(&s->call_of, (uintptr_t)i);
	bool library = call != VEC_NONE && s->calls.v[call].targets.n == 0 && LLVMGetFirstUse(i);
	bool elsewhere = call != VEC_NONE && (is_given_elsewhere(s, &s->calls.v[call]) ||
	                                      (s->calls.v[call].callee && may_be_elsewhere(s, s->calls.v[call].callee)));
	if (library && LLVMGetTypeKind(LLVMTypeOf(i)) == LLVMPointerTypeKind)
		p = i; /* what a library function gave */
	if (p && !is_null(p, 0)) {
		uint32_t node = build_value(s, p);
		elsewhere |= !node || !graph_points_anywhere(s, node) || (p != i && may_be_elsewhere(s, node));
	}
	if (elsewhere)
		graph_reason(s, "a pointer of unknown origin", "", i, c->function);
}

/* Lets what decides whether the segment runs (g->local, g->effects) flow into what the instruction computes, calls,
 * stores or returns. */
static void control_instruction(struct control *c, const struct segment *g, LLVMValueRef i)
{
	struct slice *s = c->s;
	uint32_t node = map_get(&s->node_of, (uintptr_t)i), call = map_get(&s->call_of, (uintptr_t)i);
	if (node != VEC_NONE) {
		graph_flow(s, g->local, node);
		s->nodes.v[graph_same(s, node)].computed = true;
	}
	check_pointer(c, i);
	if (LLVMIsAPHINode(i))
		decide_phi(c, i, node);
	if (call != VEC_NONE)
		graph_flow(s, g->effects, s->calls.v[call].effects);
	if (LLVMIsAStoreInst(i)) {
		uint32_t to = build_value(s, LLVMGetOperand(i, 1));
		graph_store(s, g->effects, to, false);
		if (to && s->inside_streams && graph_points_to_stream(s, to))
			store_into_stream(s, i, build_value(s, LLVMGetOperand(i, 0)), to, g->effects);
	} else if (LLVMIsAAtomicRMWInst(i) || LLVMIsAAtomicCmpXchgInst(i))
		graph_store(s, g->effects, build_value(s, LLVMGetOperand(i, 0)), false);
	else if (LLVMIsAReturnInst(i))
		graph_flow(s, g->local, s->functions.v[c->function].result);
}

/* Whether the function comes back, and what its instructions depend on. */
static void control_segment(struct control *c, const struct segment *g)
{
	struct slice *s = c->s;
	uint32_t ends = s->functions.v[c->function].ends;
	for (LLVMValueRef i = g->first; i; i = i == g->last ? NULL : LLVMGetNextInstruction(i))
		control_instruction(c, g, i);
	uint32_t call = g->call != VEC_NONE ? g->call : g->last ? map_get(&s->call_of, (uintptr_t)g->last) : VEC_NONE;
	if (call != VEC_NONE && s->calls.v[call].may_end) {
		graph_flow(s, s->calls.v[call].ends, ends);
		graph_flow(s, g->local, ends);
	} else if (g->last && (LLVMIsAResumeInst(g->last) || LLVMIsAUnreachableInst(g->last)))
		graph_flow(s, g->local, ends);
}

/* Adds the flows of control within a function. */
static void control_function(struct slice *s, uint32_t f)
{
	struct control c = {.s = s, .function = f};
	LLVMValueRef v = s->functions.v[f].value;
	for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(v); b; b = LLVMGetNextBasicBlock(b))
		cut_block(&c, b);
	c.end = (uint32_t)c.segments.n;
	for (uint32_t i = 0; i < c.end; i++)
		link_segment(&c, i);
	find_post_dominators(&c);
	decide(&c);
	for (uint32_t i = 0; i < c.end; i++)
		control_segment(&c, &c.segments.v[i]);
	vec_release(&c.segments);
	vec_release(&c.ways);
	map_release(&c.of_block);
	map_release(&c.last_of_block);
	free(c.before);
	free(c.first_before);
	free(c.sequence);
}

void control_program(struct slice *s)
{
	uint32_t n = (uint32_t)s->functions.n, end = graph_variable(s, "exit");
	find_reachable(s);
	find_ending(s);
	note_unresolved(s);
	for (uint32_t i = 0; i < n; i++) {
		struct slice_function *f = &s->functions.v[i];
		if (f->defined && f->reachable)
			control_function(s, i);
		if (strcmp(s->functions.v[i].name, "main") != 0)
			continue;
		graph_flow(s, s->at_any_time, s->functions.v[i].control);
		graph_flow(s, s->functions.v[i].ends, end);
		graph_flow(s, s->abnormal, end);
		graph_flow(s, s->functions.v[i].result, graph_variable(s, "status"));
		graph_flow(s, end, graph_variable(s, "status"));
	}
}
