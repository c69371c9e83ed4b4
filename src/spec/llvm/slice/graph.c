/* graph.c - nodes, objects and flows, and which objects each node may point to (Andersen, 1994). */
#include "spec/llvm/slice/graph.h"

#include "base/hash.h"

#include <llvm-c/DebugInfo.h>

#include <stdio.h>
#include <string.h>

uint32_t graph_node(struct slice *s, enum node_holds holds)
{
	struct node *n = llvm_need(vec_add(&s->nodes));
	*n = (struct node){.same = (uint32_t)s->nodes.n - 1,
	                   .flows = VEC_NONE,
	                   .accesses = VEC_NONE,
	                   .takers = VEC_NONE,
	                   .holds = (uint8_t)holds};
	return (uint32_t)s->nodes.n - 1;
}

enum node_holds graph_type_holds(LLVMTypeRef t)
{
	switch (LLVMGetTypeKind(t)) {
	case LLVMPointerTypeKind:
		return HOLDS_POINTERS;
	case LLVMIntegerTypeKind: /* a byte may be a part of a pointer */
		return LLVMGetIntTypeWidth(t) < 8 ? HOLDS_DESCRIPTORS : HOLDS_ALL;
	case LLVMVoidTypeKind:
		return HOLDS_NOTHING;
	default:
		return HOLDS_ALL;
	}
}

uint32_t graph_object(struct slice *s, enum object_kind kind)
{
	if (s->solving)
		llvm_die("a slice grew while it was solved");
	uint32_t content = graph_node(s, HOLDS_ALL);
	*(struct object *)llvm_need(vec_add(&s->objects)) =
	    (struct object){.kind = (uint8_t)kind, .content = content, .function = VEC_NONE};
	return (uint32_t)s->objects.n - 1;
}

uint32_t graph_stream(struct slice *s, enum object_kind kind, const char *file)
{
	uint32_t id = graph_object(s, kind), in = graph_node(s, HOLDS_NOTHING), out = graph_node(s, HOLDS_NOTHING);
	uint32_t position = graph_node(s, HOLDS_NOTHING);
	struct object *o = &s->objects.v[id];
	o->in = in;
	o->out = out;
	o->position = position;
	o->file = file;
	if (kind != OBJECT_STREAM)
		return id;
	/* Macros read and write its buffer themselves. */
	graph_points(s, o->content, id);
	graph_flow(s, in, o->content);
	graph_flow(s, o->content, out);
	return id;
}

/* ---- sets of objects ---- */

/* Is the number in the set? NULL is the empty set. */
static bool set_has(const uint64_t *set, uint32_t i)
{
	return set && set[i / 64] >> (i % 64) & 1;
}

/* Room for all objects that there are, some more while there may be more. */
static size_t set_words(const struct slice *s)
{
	return s->words;
}

void graph_queue(struct slice *s, uint32_t node)
{
	if (!s->nodes.v[node].queued) {
		s->nodes.v[node].queued = true;
		*(uint32_t *)llvm_need(vec_add(&s->queue)) = node;
	}
}

const uint64_t *graph_set(const struct slice *s, uint32_t node)
{
	return s->nodes.v[graph_same(s, node)].points;
}

/* Before it is solved, what points to what is kept as pairs in `pending`. */
struct pair {
	uint32_t node, object;
};
static VEC(struct pair) pending;

void graph_points(struct slice *s, uint32_t node, uint32_t object)
{
	if (!node)
		return;
	if (!s->solving) {
		*(struct pair *)llvm_need(vec_add(&pending)) = (struct pair){node, object};
		return;
	}
	node = graph_same(s, node);
	struct node *n = &s->nodes.v[node];
	if (!set_has(s->holds[n->holds], object) || set_has(n->points, object))
		return;
	if (!n->points)
		n->points = llvm_need(calloc(set_words(s), sizeof(uint64_t)));
	n->points[object / 64] |= 1ull << (object % 64);
	graph_queue(s, node);
}

/* What is in the set, `to` points to, too. */
static void merge_set(struct slice *s, const uint64_t *set, uint32_t to)
{
	to = graph_same(s, to);
	struct node *b = &s->nodes.v[to];
	const uint64_t *mask = s->holds[b->holds];
	bool changed = false;
	if (b->holds == HOLDS_NOTHING)
		return;
	for (size_t i = 0; i < set_words(s); i++) {
		uint64_t more = set[i] & mask[i] & ~(b->points ? b->points[i] : 0);
		if (!more)
			continue;
		if (!b->points)
			b->points = llvm_need(calloc(set_words(s), sizeof(uint64_t)));
		b->points[i] |= more;
		changed = true;
	}
	if (changed)
		graph_queue(s, to);
}

/* ---- flows ---- */

/* Adds a flow between two nodes. points: what `from` points to, `to` may point to. 0 is no node. */
static void append_flow(struct slice *s, uint32_t from, uint32_t to, bool points)
{
	if (!from || !to || from == to)
		return;
	struct flow *f = llvm_need(vec_add(&s->flows));
	from = graph_same(s, from);
	*f = (struct flow){to, s->nodes.v[from].flows, points};
	s->nodes.v[from].flows = (uint32_t)s->flows.n - 1;
}

void graph_flow(struct slice *s, uint32_t from, uint32_t to)
{
	append_flow(s, from, to, false);
}

void graph_copy(struct slice *s, uint32_t from, uint32_t to)
{
	from = graph_same(s, from);
	to = graph_same(s, to);
	if (s->solving) {
		if (from == to)
			return;
		uint64_t key = (uint64_t)from << 32 | to;
		if (!from || !to || map_get(&s->copied, key) != VEC_NONE)
			return;
		if (!map_set(&s->copied, key, 1))
			llvm_die("out of memory");
	}
	append_flow(s, from, to, true);
	if (s->solving && from && to && s->nodes.v[from].points)
		merge_set(s, s->nodes.v[from].points, to);
}

/* Adds a load or store through a pointer. */
static void append_access(struct slice *s, uint32_t pointer, uint32_t value, bool store, bool points)
{
	if (!pointer || (!value && !store))
		return;
	struct access *a = llvm_need(vec_add(&s->accesses));
	pointer = graph_same(s, pointer);
	*a = (struct access){pointer, value, s->nodes.v[pointer].accesses, store, points};
	s->nodes.v[pointer].accesses = (uint32_t)s->accesses.n - 1;
}

void graph_load(struct slice *s, uint32_t pointer, uint32_t value, bool points)
{
	append_access(s, pointer, value, false, points);
}

void graph_store(struct slice *s, uint32_t value, uint32_t pointer, bool points)
{
	append_access(s, pointer, value, true, points);
}

void graph_take(struct slice *s, uint32_t node, uint32_t call, bool callback)
{
	if (!node)
		return;
	struct taker *t = llvm_need(vec_add(&s->takers));
	*t = (struct taker){call, s->nodes.v[node].takers, callback};
	s->nodes.v[node].takers = (uint32_t)s->takers.n - 1;
}

struct stream_use *graph_stream_use(struct slice *s, uint32_t handle, uint32_t node, enum stream_way way)
{
	struct stream_use *u = llvm_need(vec_add(&s->streams));
	*u = (struct stream_use){.handle = handle, .node = node, .way = (uint8_t)way};
	return u;
}

bool graph_points_to_kind(const struct slice *s, uint32_t node, enum object_kind kind)
{
	const uint64_t *set = graph_set(s, node);
	for (uint32_t o = 0; set && o < s->objects.n; o++)
		if (s->objects.v[o].kind == kind && set_has(set, o))
			return true;
	return false;
}

bool graph_points_to_stream(const struct slice *s, uint32_t node)
{
	return graph_points_to_kind(s, node, OBJECT_STREAM);
}

bool graph_points_anywhere(const struct slice *s, uint32_t node)
{
	const uint64_t *set = graph_set(s, node);
	for (size_t i = 0; set && i < s->words; i++)
		if (set[i] & ~(i == s->bytes / 64 ? 1ull << (s->bytes % 64) : 0))
			return true;
	return false;
}

uint32_t graph_variable(struct slice *s, const char *name)
{
	uint64_t key = hash_str(str_of(name));
	uint32_t n = map_get(&s->variables, key);
	if (n == VEC_NONE) {
		n = graph_node(s, HOLDS_ALL);
		if (!map_set(&s->variables, key, n))
			llvm_die("out of memory");
	}
	return n;
}

uint32_t graph_static(struct slice *s, const char *name)
{
	uint64_t key = hash_str(str_of(name)) + 1;
	uint32_t o = map_get(&s->variables, key);
	if (o == VEC_NONE) {
		o = graph_object(s, OBJECT_MEMORY);
		if (!map_set(&s->variables, key, o))
			llvm_die("out of memory");
	}
	return o;
}

uint32_t graph_deep(struct slice *s, uint32_t node)
{
	uint32_t deep = graph_node(s, HOLDS_ALL);
	graph_copy(s, node, deep);
	graph_load(s, deep, deep, true);
	return deep;
}

/* ---- what is told ---- */

/* Is the file one of the system's headers? What is inlined from there has the place of who uses it. */
static bool is_system_file(LLVMMetadataRef file)
{
	unsigned n = 0;
	const char *s = file ? LLVMDIFileGetFilename(file, &n) : "";
	return n >= 5 && memcmp(s, "/usr/", 5) == 0;
}

struct place graph_place(LLVMValueRef inst)
{
	struct place ret = {"", 0, 0};
	unsigned n = 0;
	if (!inst || !LLVMIsAInstruction(inst))
		return ret;
	LLVMMetadataRef at = LLVMInstructionGetDebugLoc(inst), outer;
	if (!at)
		return ret;
	LLVMMetadataRef file = LLVMDIScopeGetFile(LLVMDILocationGetScope(at));
	while (is_system_file(file) && (outer = LLVMDILocationGetInlinedAt(at))) {
		at = outer;
		file = LLVMDIScopeGetFile(LLVMDILocationGetScope(at));
	}
	ret.line = LLVMDILocationGetLine(at);
	ret.column = LLVMDILocationGetColumn(at);
	const char *name = file && ret.line ? LLVMDIFileGetFilename(file, &n) : NULL;
	if (name)
		ret.file = llvm_need(strndup(name, n));
	return ret;
}

uint32_t graph_input(struct slice *s, const char *kind, const char *name, LLVMValueRef at, uint32_t function)
{
	uint32_t node = graph_node(s, HOLDS_NOTHING);
	graph_flow(s, node, graph_variable(s, "everything"));
	*(struct input *)llvm_need(vec_add(&s->inputs)) =
	    (struct input){kind, name ? name : "", graph_place(at), node, function};
	return node;
}

void graph_reason(struct slice *s, const char *what, const char *name, LLVMValueRef at, uint32_t function)
{
	struct buf b = {0};
	buf_printf(&b, "%s%s%s%s", what, *name ? " '" : "", name, *name ? "'" : "");
	*(struct reason *)llvm_need(vec_add(&s->reasons)) =
	    (struct reason){llvm_need(strdup(buf_cstr(&b))), graph_place(at), function};
	buf_release(&b);
}

/* ---- points-to ---- */

/* Node points to object o, which was not known before. */
static void on_object(struct slice *s, uint32_t node, uint32_t o)
{
	const struct object *object = &s->objects.v[o];
	for (uint32_t i = s->nodes.v[node].accesses; i != VEC_NONE; i = s->accesses.v[i].next) {
		const struct access *a = &s->accesses.v[i];
		if (!a->points || object->kind == OBJECT_FUNCTION || object->kind == OBJECT_DESCRIPTOR ||
		    object->kind == OBJECT_BYTES)
			continue;
		if (a->store)
			graph_copy(s, a->value, object->content);
		else
			graph_copy(s, object->content, a->value);
	}
	for (uint32_t i = s->nodes.v[node].takers; i != VEC_NONE; i = s->takers.v[i].next) {
		const struct taker t = s->takers.v[i];
		if (object->kind == OBJECT_FUNCTION)
			call_target(s, t.call, object->function, t.callback);
		else if (object->kind == OBJECT_UNKNOWN || object->kind == OBJECT_ELSEWHERE)
			s->calls.v[t.call].unresolved = true;
	}
}

/* Adds what follows from a node that may point to new objects. */
static void on_objects(struct slice *s, uint32_t node, const uint64_t *fresh)
{
	for (size_t i = 0; i < s->words; i++)
		for (uint64_t left = fresh[i]; left; left &= left - 1)
			on_object(s, node, (uint32_t)(i * 64) + (uint32_t)__builtin_ctzll(left));
}

/* Masks by what a node may hold. */
static void make_masks(struct slice *s)
{
	s->words = s->objects.n / 64 + 1;
	for (size_t k = 0; k < 4; k++)
		s->holds[k] = llvm_need(calloc(s->words, sizeof(uint64_t)));
	for (uint32_t i = 0; i < s->objects.n; i++) {
		bool number = s->objects.v[i].kind == OBJECT_DESCRIPTOR;
		s->holds[HOLDS_ALL][i / 64] |= 1ull << (i % 64);
		s->holds[number ? HOLDS_DESCRIPTORS : HOLDS_POINTERS][i / 64] |= 1ull << (i % 64);
	}
}

/* What is new of what the node points to goes on. fresh: room for a set. */
static void solve_node(struct slice *s, uint32_t id, uint64_t *fresh)
{
	struct node *n = &s->nodes.v[id];
	n->queued = false;
	if (n->same != id || !n->points)
		return;
	if (!n->done)
		n->done = llvm_need(calloc(s->words, sizeof(uint64_t)));
	for (size_t i = 0; i < s->words; i++) {
		fresh[i] = n->points[i] & ~n->done[i];
		n->done[i] = n->points[i];
	}
	if (n->accesses != VEC_NONE || n->takers != VEC_NONE)
		on_objects(s, id, fresh);
	for (uint32_t i = s->nodes.v[id].flows; i != VEC_NONE; i = s->flows.v[i].next)
		if (s->flows.v[i].points)
			merge_set(s, fresh, s->flows.v[i].to);
}

void graph_solve(struct slice *s)
{
	enum { GIVEN_BACK = 1u << 20, FLOWS_MORE = 20000 };
	make_masks(s);
	s->solving = true;
	for (size_t i = 0; i < pending.n; i++)
		graph_points(s, pending.v[i].node, pending.v[i].object);
	uint64_t *fresh = llvm_need(calloc(s->words, sizeof(*fresh)));
	size_t next = 0;
	for (size_t at = 0; at < s->queue.n; at++) {
		/* Circles close as flows are found: they are looked for each time there are half as many more. */
		if (s->flows.n >= next) {
			graph_join_cycles(s);
			next = s->flows.n + s->flows.n / 2 + FLOWS_MORE;
		}
		solve_node(s, s->queue.v[at], fresh);
		if (at > GIVEN_BACK) { /* what is done is given back */
			s->queue.n -= at + 1;
			memmove(s->queue.v, s->queue.v + at + 1, s->queue.n * sizeof(*s->queue.v));
			at = SIZE_MAX;
		}
	}
	free(fresh);
}
