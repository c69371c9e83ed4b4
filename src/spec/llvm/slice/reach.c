/* reach.c - from each input along all flows; the answer, as JSON. */
#include "spec/llvm/slice/graph.h"

#include "base/hash.h"

#include <stdio.h>
#include <string.h>

/* ---- memory ---- */

/* The accesses of pointers that may point to the same objects go through two nodes: one that is read from all of them,
 * one that is written to all. */
struct shared {
	const uint64_t *set;
	uint32_t read, written;
};

struct memory {
	struct slice *s;
	VEC(struct shared) shared;
	struct table by_set;
};

/* Is the number in the set? NULL is the empty set. */
static bool in_set(const uint64_t *set, uint32_t i)
{
	return set && set[i / 64] >> (i % 64) & 1;
}

/* The two nodes of all accesses whose pointers point to this set, made if need be. Set is kept, not copied; the
 * result is valid until the next call. */
static struct shared *shared_of(struct memory *m, const uint64_t *set)
{
	struct slice *s = m->s;
	uint32_t hash = hash_fold(hash_bytes(set, s->words * sizeof(*set))), i;
	for (size_t pos = TABLE_START; (i = table_next(&m->by_set, hash, &pos)) != VEC_NONE;)
		if (memcmp(m->shared.v[i].set, set, s->words * sizeof(*set)) == 0)
			return &m->shared.v[i];
	struct shared one = {set, graph_node(s, HOLDS_NOTHING), graph_node(s, HOLDS_NOTHING)};
	for (uint32_t o = 0; o < s->objects.n; o++)
		if (in_set(set, o) && s->objects.v[o].kind != OBJECT_FUNCTION && s->objects.v[o].kind != OBJECT_DESCRIPTOR &&
		    s->objects.v[o].kind != OBJECT_BYTES) {
			graph_flow(s, s->objects.v[o].content, one.read);
			graph_flow(s, one.written, s->objects.v[o].content);
		}
	*(struct shared *)llvm_need(vec_add(&m->shared)) = one;
	if (!table_add(&m->by_set, hash, (uint32_t)m->shared.n - 1))
		llvm_die("out of memory");
	return &m->shared.v[m->shared.n - 1];
}

/* Adds flows from what is stored to what may be loaded from the same memory. */
static void flow_through_memory(struct slice *s)
{
	struct memory m = {.s = s};
	for (size_t i = 0; i < s->accesses.n; i++) {
		const struct access a = s->accesses.v[i];
		const uint64_t *set = graph_set(s, a.pointer);
		if (set) {
			const struct shared *x = shared_of(&m, set);
			if (a.store) {
				graph_flow(s, a.value, x->written);
				graph_flow(s, a.pointer, x->written);
			} else
				graph_flow(s, x->read, a.value);
		}
		if (!a.store)
			graph_flow(s, a.pointer, a.value);
	}
	vec_release(&m.shared);
	table_release(&m.by_set);
}

/* ---- streams and files ---- */

/* What was written to it; the standard ones, and one that is not known, may be open as one. */
static void flow_written(struct slice *s, const struct object *o, uint32_t node)
{
	bool any = o == &s->objects.v[s->any_file];
	graph_flow(s, any ? graph_variable(s, "written") : o->out, node);
	if (o->standard || any)
		graph_flow(s, graph_variable(s, "shared"), node);
}

/* What is read from it; one that is standard may be open for both. */
static void flow_read(struct slice *s, const struct object *o, uint32_t node)
{
	graph_flow(s, o->in, node);
	if (o->standard)
		graph_flow(s, graph_variable(s, "shared"), node);
}

/* Whether something can be done with it. */
static void flow_state(struct slice *s, const struct object *o, uint32_t node)
{
	graph_flow(s, o->in, node);
	graph_flow(s, o->position, node);
	if (!o->standard)
		flow_written(s, o, node);
}

/* Adds the flows of one use of a stream that may be this object. */
static void use_stream(struct slice *s, const struct stream_use *u, const struct object *o)
{
	if (o == &s->objects.v[s->any_file] && (u->way == STREAM_PUT_BACK || u->way == STREAM_SEEK))
		o = &s->objects.v[s->touched];
	switch (u->way) {
	case STREAM_READ:
		flow_read(s, o, u->node);
		break;
	case STREAM_PUT_BACK:
		graph_flow(s, u->node, o->in);
		break;
	case STREAM_WRITE:
		graph_flow(s, u->node, o->out);
		break;
	case STREAM_WRITTEN:
		flow_written(s, o, u->node);
		break;
	case STREAM_SEEK:
		graph_flow(s, u->node, o->position);
		break;
	case STREAM_STATE:
		flow_state(s, o, u->node);
		break;
	default:
		graph_flow(s, o->position, u->node);
		break;
	}
}

/* Adds flows from what is written into streams and descriptors to what may be read from them. */
static void flow_through_streams(struct slice *s)
{
	for (size_t i = 0; i < s->streams.n; i++) {
		const struct stream_use u = s->streams.v[i];
		bool any = false;
		for (uint32_t o = 0; o < s->objects.n; o++) {
			const struct object *x = &s->objects.v[o];
			if (!x->in || (u.maybe && x->kind != OBJECT_STREAM) || !in_set(graph_set(s, u.handle), o))
				continue;
			use_stream(s, &u, &s->objects.v[o]);
			any = true;
		}
		if (!any && !u.maybe)
			use_stream(s, &u, &s->objects.v[s->any_file]);
	}
}

/* The last part of a path. */
static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

/* What is written to a file may be read from each that may be the same. */
static void flow_through_files(struct slice *s)
{
	struct object *any = &s->objects.v[s->any_file];
	uint32_t all = graph_node(s, HOLDS_NOTHING), unnamed = graph_node(s, HOLDS_NOTHING);
	for (uint32_t i = 0; i < s->objects.n; i++) {
		struct object *o = &s->objects.v[i];
		if (!o->in)
			continue;
		if (i == s->touched)
			continue;
		if (o != any) { /* a descriptor of which nothing is known */
			graph_flow(s, o->in, any->in);
			graph_flow(s, o->position, any->position);
		}
		if (s->wide)
			graph_flow(s, o->position, o->in);
		if (o->odd) {
			graph_flow(s, graph_variable(s, "everything"), o->in);
			graph_flow(s, o->out, s->objects.v[s->touched].in);
			graph_flow(s, o->position, s->objects.v[s->touched].position);
		}
		graph_flow(s, s->objects.v[s->touched].in, o->in);
		graph_flow(s, s->objects.v[s->touched].position, o->position);
		if (o->standard)
			continue;
		graph_flow(s, graph_variable(s, "files"), o->in);
		graph_flow(s, o->out, all);
		graph_flow(s, unnamed, o->in);
		if (!o->file) {
			graph_flow(s, o->out, unnamed);
			if (s->pipes) /* the other end */
				graph_flow(s, o->position, unnamed);
			graph_flow(s, all, o->in);
		}
		for (uint32_t k = 0; o->file && k < s->objects.n; k++)
			if (s->objects.v[k].file && strcmp(last_part(o->file), last_part(s->objects.v[k].file)) == 0)
				graph_flow(s, o->out, s->objects.v[k].in);
	}
	/* What other programs, which this one starts, make of it. */
	graph_flow(s, graph_variable(s, "world"), unnamed);
	graph_flow(s, all, graph_variable(s, "written"));
	for (int i = 0; i < 3; i++)
		graph_flow(s, s->objects.v[s->standard[i]].out, graph_variable(s, "shared"));
}

/* ---- the answer ---- */

/* Appends a text as a JSON string. */
static void append_json(struct buf *b, const char *text)
{
	buf_char(b, '"');
	for (const char *p = text; *p; p++) {
		unsigned char c = (unsigned char)*p;
		if (c == '"' || c == '\\' || c < 0x20 || c >= 0x7f)
			buf_printf(b, "\\u%04x", c);
		else
			buf_char(b, (char)c);
	}
	buf_char(b, '"');
}

/* Appends a place in the source as members of an object; nothing where it is not known. */
static void append_place(struct buf *b, const struct place *at)
{
	if (!at->line)
		return;
	buf_str(b, str_of(", \"file\": "));
	append_json(b, at->file);
	buf_printf(b, ", \"line\": %u, \"column\": %u", at->line, at->column);
}

/* Are both places the same? */
static bool same_place(const struct place *a, const struct place *b)
{
	return a->line == b->line && a->column == b->column && strcmp(a->file, b->file) == 0;
}

/* What is one to the reader: inlined code is there several times. first: the same, or an earlier one. */
static void merge_equal(struct slice *s, uint32_t *input, uint32_t *output)
{
	for (uint32_t i = 0; i < s->inputs.n; i++) {
		const struct input *a = &s->inputs.v[i];
		for (input[i] = 0; input[i] < i; input[i]++) {
			const struct input *b = &s->inputs.v[input[i]];
			if (input[input[i]] == input[i] && strcmp(a->kind, b->kind) == 0 && strcmp(a->name, b->name) == 0 &&
			    same_place(&a->at, &b->at))
				break;
		}
	}
	for (uint32_t i = 0; i < s->outputs.n; i++) {
		const struct output *a = &s->outputs.v[i];
		for (output[i] = 0; output[i] < i; output[i]++) {
			const struct output *b = &s->outputs.v[output[i]];
			if (output[output[i]] == output[i] && a->at.line && strcmp(a->name, b->name) == 0 &&
			    same_place(&a->at, &b->at))
				break;
		}
	}
}

/* Can the function be reached? VEC_NONE: no function, always. */
static bool is_reached(const struct slice *s, uint32_t function)
{
	return function == VEC_NONE || s->functions.v[function].reachable;
}

/* Is it an output of the program: can it be reached, and does it go to a stream? */
static bool is_output(const struct slice *s, const struct output *o)
{
	return (o->call == VEC_NONE || is_reached(s, s->calls.v[o->call].function)) &&
	       (!o->maybe || graph_points_to_stream(s, o->handle));
}

/* Is it to be listed? What every program has, only where this one does something with it. */
static bool is_input(const struct slice *s, const struct input *in)
{
	return is_reached(s, in->function) && (in->used || in->at.line);
}

/* Marks all that the input reaches. True: an instruction is among it. */
static bool mark(const struct slice *s, uint32_t from, unsigned char *seen, uint32_t *queue)
{
	uint32_t n = 0;
	bool used = false;
	from = graph_same(s, from);
	seen[from] = 1;
	queue[n++] = from;
	while (n) {
		uint32_t at = queue[--n];
		for (uint32_t i = s->nodes.v[at].flows; i != VEC_NONE; i = s->flows.v[i].next) {
			uint32_t to = graph_same(s, s->flows.v[i].to);
			if (!seen[to]) {
				seen[to] = 1;
				queue[n++] = to;
				used |= s->nodes.v[to].computed;
			}
		}
	}
	return used;
}

/* may[input * outputs + output], by the first of those that are one. */
static unsigned char *find_reached(struct slice *s, const uint32_t *input, const uint32_t *output)
{
	size_t n = s->outputs.n;
	unsigned char *may = llvm_need(calloc(s->inputs.n * n + 1, 1)), *seen = llvm_need(calloc(s->nodes.n, 1));
	uint32_t *queue = llvm_need(calloc(s->nodes.n, sizeof(*queue)));
	for (size_t i = 0; i < s->inputs.n; i++) {
		if (!is_reached(s, s->inputs.v[i].function))
			continue;
		memset(seen, 0, s->nodes.n);
		s->inputs.v[input[i]].used |= mark(s, s->inputs.v[i].node, seen, queue);
		for (size_t o = 0; o < n; o++)
			if (seen[graph_same(s, s->outputs.v[o].node)] && is_output(s, &s->outputs.v[o])) {
				may[input[i] * n + output[o]] = 1;
				s->inputs.v[input[i]].used = true;
			}
	}
	free(seen);
	free(queue);
	return may;
}

/* Appends the array "forbids": each reason of a reachable function, once a place. True: there is one, and nothing may
 * be left out. */
static bool append_reasons(struct slice *s, struct buf *b)
{
	bool any = false;
	buf_str(b, str_of(",\n\"forbids\": ["));
	for (size_t i = 0; i < s->reasons.n; i++) {
		const struct reason *r = &s->reasons.v[i];
		bool twice = false;
		if (!is_reached(s, r->function))
			continue;
		for (size_t k = 0; k < i && !twice; k++)
			twice = is_reached(s, s->reasons.v[k].function) && strcmp(s->reasons.v[k].what, r->what) == 0 &&
			        same_place(&s->reasons.v[k].at, &r->at);
		if (twice)
			continue;
		buf_printf(b, "%s\n  {\"what\": ", any ? "," : "");
		append_json(b, r->what);
		append_place(b, &r->at);
		buf_char(b, '}');
		any = true;
	}
	buf_str(b, str_of("]"));
	return any;
}

/* Appends the inputs as JSON. first: of equal ones, which stands for all. */
static void append_inputs(struct slice *s, const uint32_t *first, struct buf *b)
{
	bool any = false;
	buf_str(b, str_of("{\"format\": 1,\n\"inputs\": ["));
	for (uint32_t i = 0; i < s->inputs.n; i++) {
		const struct input *in = &s->inputs.v[i];
		if (first[i] != i || !is_input(s, in))
			continue;
		buf_printf(b, "%s\n  {\"id\": %u, \"kind\": ", any ? "," : "", i);
		append_json(b, in->kind);
		if (*in->name) {
			buf_str(b, str_of(", \"name\": "));
			append_json(b, in->name);
		}
		append_place(b, &in->at);
		buf_char(b, '}');
		any = true;
	}
	buf_str(b, str_of("]"));
}

/* may: 1 those that may, 0 the others. */
static void append_ids(struct slice *s, const uint32_t *first, const unsigned char *may, size_t step, bool want,
                       struct buf *b)
{
	bool any = false;
	for (uint32_t i = 0; i < s->inputs.n; i++)
		if (first[i] == i && is_input(s, &s->inputs.v[i]) && (may[i * step] != 0) == want) {
			buf_printf(b, "%s%u", any ? ", " : "", i);
			any = true;
		}
}

/* Appends the outputs as JSON, each with the inputs that may reach it and those that cannot. */
static void append_outputs(struct slice *s, const uint32_t *input, const uint32_t *output, unsigned char *may,
                           bool forbidden, struct buf *b)
{
	size_t n = s->outputs.n;
	bool any = false;
	buf_str(b, str_of(",\n\"outputs\": ["));
	for (uint32_t o = 0; o < n; o++) {
		const struct output *out = &s->outputs.v[o];
		if (output[o] != o || !is_output(s, out))
			continue;
		for (size_t i = 0; i < s->inputs.n && forbidden; i++)
			may[i * n + o] = 1;
		buf_printf(b, "%s\n  {\"id\": %u, \"call\": ", any ? "," : "", o);
		append_json(b, out->name);
		append_place(b, &out->at);
		if (out->call != VEC_NONE && s->calls.v[out->call].inst) {
			buf_str(b, str_of(", \"function\": "));
			append_json(b, s->functions.v[s->calls.v[out->call].function].name);
		}
		buf_str(b, str_of(", \"may\": ["));
		append_ids(s, input, may + o, n, true, b);
		buf_str(b, str_of("], \"cannot\": ["));
		append_ids(s, input, may + o, n, false, b);
		buf_str(b, str_of("]}"));
		any = true;
	}
	buf_str(b, str_of("]}\n"));
}

void reach_write(struct slice *s, struct buf *ret)
{
	uint32_t *input = llvm_need(calloc(s->inputs.n + 1, sizeof(*input)));
	uint32_t *output = llvm_need(calloc(s->outputs.n + 1, sizeof(*output)));
	for (size_t i = 0; i < s->outputs.n; i++) {
		const struct output *o = &s->outputs.v[i];
		bool stream = !o->handle || !graph_set(s, o->handle) || graph_points_to_stream(s, o->handle);
		if (o->buffered && stream)
			graph_flow(s, s->abnormal, o->node);
	}
	flow_through_memory(s);
	flow_through_streams(s);
	flow_through_files(s);
	hidden_flows(s);
	merge_equal(s, input, output);
	unsigned char *may = find_reached(s, input, output);
	append_inputs(s, input, ret);
	bool forbidden = append_reasons(s, ret);
	append_outputs(s, input, output, may, forbidden, ret);
	free(may);
	free(input);
	free(output);
}
