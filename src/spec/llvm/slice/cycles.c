/* cycles.c - nodes whose pointers go round in a circle become one node: all of them point to the same, and what reaches
 * one reaches all. In a program that keeps everything on its heap that is most of them (Fahndrich et al., 1998). */
#include "spec/llvm/slice/graph.h"

#include <stdlib.h>
#include <string.h>

uint32_t graph_same(const struct slice *s, uint32_t node)
{
	while (s->nodes.v[node].same != node)
		node = s->nodes.v[node].same;
	return node;
}

/* ---- two nodes become one ---- */

/* Appends the flows of node `from` to those of `into`. */
static void join_flows(struct slice *s, uint32_t into, uint32_t from)
{
	uint32_t last = s->nodes.v[from].flows;
	if (last == VEC_NONE)
		return;
	while (s->flows.v[last].next != VEC_NONE)
		last = s->flows.v[last].next;
	s->flows.v[last].next = s->nodes.v[into].flows;
	s->nodes.v[into].flows = s->nodes.v[from].flows;
	s->nodes.v[from].flows = VEC_NONE;
}

/* Appends the accesses through node `from` to those of `into`. */
static void join_accesses(struct slice *s, uint32_t into, uint32_t from)
{
	uint32_t last = s->nodes.v[from].accesses;
	if (last == VEC_NONE)
		return;
	while (s->accesses.v[last].next != VEC_NONE)
		last = s->accesses.v[last].next;
	s->accesses.v[last].next = s->nodes.v[into].accesses;
	s->nodes.v[into].accesses = s->nodes.v[from].accesses;
	s->nodes.v[from].accesses = VEC_NONE;
}

/* Appends the callers that take their targets from node `from` to those of `into`. */
static void join_takers(struct slice *s, uint32_t into, uint32_t from)
{
	uint32_t last = s->nodes.v[from].takers;
	if (last == VEC_NONE)
		return;
	while (s->takers.v[last].next != VEC_NONE)
		last = s->takers.v[last].next;
	s->takers.v[last].next = s->nodes.v[into].takers;
	s->nodes.v[into].takers = s->nodes.v[from].takers;
	s->nodes.v[from].takers = VEC_NONE;
}

/* Makes `from` one with `into`, which gets all that it points to, its flows, accesses and takers. All accesses look
 * at all objects again. */
static void join_nodes(struct slice *s, uint32_t into, uint32_t from)
{
	struct node *a = &s->nodes.v[into], *b = &s->nodes.v[from];
	for (size_t i = 0; b->points && i < s->words; i++) {
		if (!a->points)
			a->points = llvm_need(calloc(s->words, sizeof(uint64_t)));
		a->points[i] |= b->points[i];
	}
	if (a->holds != b->holds)
		a->holds = HOLDS_ALL;
	free(b->points);
	free(b->done);
	free(a->done); /* all accesses are to see all objects */
	a->done = b->done = b->points = NULL;
	join_flows(s, into, from);
	join_accesses(s, into, from);
	join_takers(s, into, from);
	b->same = into;
}

/* ---- strongly connected components (Tarjan) ---- */

struct tarjan {
	struct slice *s;
	uint32_t *number, *low, *stack; /* number: 0 not seen */
	unsigned char *on_stack;
	uint32_t count, n_stack;
	struct frame {
		uint32_t node, flow;
	} * frames;
	uint32_t depth;
};

/* Begins a node in the search for cycles (R. Tarjan 1972). */
static void enter_node(struct tarjan *t, uint32_t node)
{
	t->number[node] = t->low[node] = ++t->count;
	t->stack[t->n_stack++] = node;
	t->on_stack[node] = 1;
	t->frames[t->depth++] = (struct frame){node, t->s->nodes.v[node].flows};
}

/* All its ways are seen: it and what stands above it may be a component. */
static void leave_node(struct tarjan *t, uint32_t node)
{
	if (t->low[node] != t->number[node])
		return;
	bool joined = false;
	uint32_t one;
	do {
		one = t->stack[--t->n_stack];
		t->on_stack[one] = 0;
		if (one != node) {
			join_nodes(t->s, node, one);
			joined = true;
		}
	} while (one != node);
	if (joined)
		graph_queue(t->s, node);
}

/* Finds all cycles that can be reached from a node. */
static void visit_nodes(struct tarjan *t, uint32_t from)
{
	struct slice *s = t->s;
	enter_node(t, from);
	while (t->depth) {
		struct frame *f = &t->frames[t->depth - 1];
		if (f->flow == VEC_NONE) {
			uint32_t node = f->node;
			t->depth--;
			if (t->depth && t->low[node] < t->low[t->frames[t->depth - 1].node])
				t->low[t->frames[t->depth - 1].node] = t->low[node];
			leave_node(t, node);
			continue;
		}
		const struct flow *flow = &s->flows.v[f->flow];
		f->flow = flow->next;
		uint32_t to = graph_same(s, flow->to);
		if (!flow->points || s->nodes.v[to].holds == HOLDS_NOTHING)
			continue;
		if (!t->number[to])
			enter_node(t, to);
		else if (t->on_stack[to] && t->number[to] < t->low[f->node])
			t->low[f->node] = t->number[to];
	}
}

void graph_join_cycles(struct slice *s)
{
	size_t n = s->nodes.n + 1;
	struct tarjan t = {.s = s,
	                   .number = llvm_need(calloc(n, sizeof(uint32_t))),
	                   .low = llvm_need(calloc(n, sizeof(uint32_t))),
	                   .stack = llvm_need(calloc(n, sizeof(uint32_t))),
	                   .on_stack = llvm_need(calloc(n, 1)),
	                   .frames = llvm_need(calloc(n, sizeof(struct frame)))};
	for (uint32_t i = 1; i < s->nodes.n; i++)
		if (s->nodes.v[i].same == i && !t.number[i])
			visit_nodes(&t, i);
	free(t.number);
	free(t.low);
	free(t.stack);
	free(t.on_stack);
	free(t.frames);
}
