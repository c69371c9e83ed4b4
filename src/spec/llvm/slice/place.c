/* place.c - the places that a row of library.def reads and writes. */
#include "spec/llvm/slice/library.h"

#include <ctype.h>
#include <string.h>

struct call *apply_call(const struct apply *a)
{
	return &a->s->calls.v[a->call];
}

/* Node of argument i; 0: the call has fewer. */
static uint32_t argument(const struct apply *a, unsigned i)
{
	const struct call *c = apply_call(a);
	return i < c->n_arguments ? c->argument[i] : 0;
}

LLVMValueRef apply_argument(const struct apply *a, unsigned i)
{
	const struct call *c = apply_call(a);
	return c->inst && i < c->n_arguments ? LLVMGetOperand(c->inst, i) : NULL;
}

/* The argument that stands behind a colon; NULL: none. */
static LLVMValueRef named_argument(const struct apply *a, const char *word, size_t n)
{
	const char *colon = memchr(word, ':', n);
	return colon && isdigit((unsigned char)colon[1]) ? apply_argument(a, (unsigned)(colon[1] - '0')) : NULL;
}

/* The constant name that it is; NULL: it is not known. */
static const char *named(const struct apply *a, const char *word, size_t n)
{
	const char *text = build_constant_text(named_argument(a, word, n));
	while (text && strncmp(text, "./", 2) == 0)
		text += 2;
	return text && (hidden_is_odd_name(text) || (a->s->moves && *text != '/')) ? NULL : text;
}

/* ---- places that are read ---- */

uint32_t apply_arguments(const struct apply *a, uint32_t first, enum depth depth)
{
	uint32_t ret = graph_node(a->s, HOLDS_ALL), n = apply_call(a)->n_arguments;
	for (uint32_t i = first; i < n; i++) {
		uint32_t from = argument(a, i);
		if (depth == ITSELF)
			graph_copy(a->s, from, ret);
		else if (depth == POINTED)
			graph_load(a->s, from, ret, true);
		else if (from)
			graph_copy(a->s, graph_deep(a->s, from), ret);
	}
	return ret;
}

/* The node of the value in "r", "3", "v", "V". */
static uint32_t simple_value(const struct apply *a, char c)
{
	if (c == 'r')
		return apply_call(a)->result;
	if (isdigit((unsigned char)c))
		return argument(a, (unsigned)(c - '0'));
	return apply_arguments(a, c == 'v' ? apply_call(a)->n_fixed : 0, c == 'D' ? REACHED : ITSELF);
}

/* A node for what a pointer leads to. */
static uint32_t loaded(const struct apply *a, uint32_t pointer)
{
	uint32_t ret = graph_node(a->s, HOLDS_ALL);
	graph_load(a->s, pointer, ret, true);
	return ret;
}

/* It takes the first number that is free. */
static void in_table(const struct apply *a, uint32_t opened, bool number)
{
	struct slice *s = a->s;
	uint32_t table = graph_variable(s, "descriptors");
	s->opens = true;
	graph_flow(s, apply_call(a)->effects, table);
	graph_flow(s, opened, table);
	if (number)
		graph_flow(s, table, opened);
}

/* "environment:0". */
static uint32_t environment_variable(const struct apply *a, const char *word, size_t n)
{
	struct slice *s = a->s;
	const struct call *c = apply_call(a);
	uint32_t o = graph_object(s, OBJECT_MEMORY), ret = graph_node(s, HOLDS_ALL), all = graph_variable(s, "environ");
	uint32_t in = graph_input(s, "environment", build_constant_text(named_argument(a, word, n)), c->inst, c->function);
	s->objects.v[o].environment = true;
	graph_points(s, ret, o);
	graph_flow(s, in, graph_variable(s, "inherited"));
	graph_flow(s, in, s->objects.v[o].content);
	graph_flow(s, all, s->objects.v[o].content);
	graph_flow(s, s->objects.v[o].content, ret); /* whether it is there */
	graph_copy(s, all, ret);
	return ret;
}

/* "stream:0", "number:0": something opened. */
static uint32_t opened(struct apply *a, const char *word, size_t n)
{
	struct slice *s = a->s;
	const char *file = named(a, word, n);
	uint32_t o = graph_stream(s, *word == 's' ? OBJECT_STREAM : OBJECT_DESCRIPTOR, file);
	uint32_t ret = graph_node(s, HOLDS_ALL);
	graph_points(s, ret, o);
	graph_flow(s, graph_input(s, "file", file, apply_call(a)->inst, apply_call(a)->function), s->objects.v[o].in);
	graph_flow(s, apply_arguments(a, 0, ITSELF), s->objects.v[o].in); /* which it is */
	graph_flow(s, apply_arguments(a, 0, POINTED), s->objects.v[o].in);
	graph_flow(s, s->objects.v[o].in, ret); /* whether it is there */
	bool by_name = memchr(word, ':', n) != NULL;
	a->odd = by_name && !file && (strncmp(a->name, "H5", 2) != 0 || strncmp(a->name, "H5F", 3) == 0);
	s->objects.v[o].odd = a->odd;
	in_table(a, ret, *word == 'n');
	return ret;
}

/* "streamof:0", "numberof:0". */
static uint32_t renamed(const struct apply *a, const char *word)
{
	struct slice *s = a->s;
	uint32_t o = graph_stream(s, *word == 's' ? OBJECT_STREAM : OBJECT_DESCRIPTOR, NULL);
	uint32_t ret = graph_node(s, HOLDS_ALL), handle = argument(a, (unsigned)(strchr(word, ':')[1] - '0'));
	graph_points(s, ret, o);
	s->objects.v[o].of = handle;
	in_table(a, ret, *word == 'n');
	graph_stream_use(s, handle, s->objects.v[o].in, STREAM_READ);
	graph_stream_use(s, handle, s->objects.v[o].in, STREAM_PUT_BACK);
	graph_stream_use(s, handle, s->objects.v[o].out, STREAM_WRITE);
	graph_stream_use(s, handle, s->objects.v[o].position, STREAM_SEEK);
	graph_stream_use(s, handle, s->objects.v[o].position, STREAM_POSITION);
	return ret;
}

/* A node that points to the object. */
static uint32_t object_node(const struct apply *a, uint32_t object)
{
	uint32_t ret = graph_node(a->s, HOLDS_ALL);
	graph_points(a->s, ret, object);
	return ret;
}

/* The node of standard stream i: the one that the program has put in the place of the first, too. */
static uint32_t standard_stream(const struct apply *a, unsigned i)
{
	static const char *const names[] = {"stdin", "stdout", "stderr"};
	uint32_t ret = object_node(a, a->s->standard[i]);
	LLVMValueRef v = LLVMGetNamedGlobal(a->s->module, names[i]);
	if (v)
		graph_load(a->s, build_value(a->s, v), ret, true);
	return ret;
}

/* Adds the input that a word like "!file:0" names (_ is a space). Gives the node that its bytes flow from: the
 * input's own, or one that also has what is known already. */
static uint32_t input_node(const struct apply *a, const char *word, size_t n)
{
	const char *colon = memchr(word, ':', n);
	char *kind = llvm_need(strndup(word + 1, (colon ? (size_t)(colon - word) : n) - 1));
	for (char *p = kind; *p; p++)
		*p = *p == '_' ? ' ' : *p;
	const struct call *c = apply_call(a);
	uint32_t in = graph_input(a->s, kind, named(a, word, n), c->inst, c->function), ret = in;
	/* What is known of a file may be what is known of the program. */
	LLVMValueRef name = named_argument(a, word, n);
	if (colon && strcmp(kind, "file") == 0 && !named(a, word, n) &&
	    (build_constant_text(name) || a->output == VEC_NONE)) {
		ret = graph_node(a->s, HOLDS_NOTHING);
		graph_flow(a->s, in, ret);
		graph_flow(a->s, graph_variable(a->s, "everything"), ret);
	}
	if (strcmp(kind, "environment") == 0) {
		ret = graph_node(a->s, HOLDS_NOTHING);
		graph_flow(a->s, in, ret);
		graph_flow(a->s, graph_variable(a->s, "inherited"), ret);
	}
	return ret;
}

/* A copy of a word of the table, with a NUL; the caller frees it. */
static char *word_copy(const char *word, size_t n)
{
	return llvm_need(strndup(word, n));
}

/* The node of what is read, written or sought in a stream. */
static uint32_t stream_node(struct apply *a, const char *word)
{
	uint32_t ret = graph_node(a->s, HOLDS_NOTHING);
	uint32_t handle = *word == '@' ? standard_stream(a, (unsigned)(word[1] - '0')) : simple_value(a, word[1]);
	enum stream_way way = *word == 'p' ? STREAM_POSITION : *word == 'w' ? STREAM_WRITTEN : STREAM_READ;
	graph_stream_use(a->s, handle, ret, way)->maybe = a->maybe;
	if (!a->maybe)
		graph_flow(a->s, handle, ret); /* which it is */
	if (word[1] != 'r') {
		hidden_handle(a, handle);
		if (way == STREAM_READ)
			hidden_wait(a, handle);
	}
	return ret;
}

/* Does the word of n bytes begin so? */
static bool place_begins(const char *word, size_t n, const char *with)
{
	size_t k = strlen(with);
	return n >= k && memcmp(word, with, k) == 0;
}

/* Memory that is asked for: how much is in the numbers. */
static uint32_t allocated(const struct apply *a)
{
	uint32_t o = graph_object(a->s, OBJECT_MEMORY), size = graph_node(a->s, HOLDS_NOTHING);
	for (unsigned i = 0; i < apply_call(a)->n_arguments; i++) {
		LLVMValueRef v = apply_argument(a, i);
		if (!v || LLVMGetTypeKind(LLVMTypeOf(v)) == LLVMIntegerTypeKind)
			graph_flow(a->s, argument(a, i), size);
	}
	a->s->objects.v[o].size = size;
	return o;
}

/* Places with a name: something opened, an object; 0: it is none of these. */
static uint32_t read_object(struct apply *a, const char *word, size_t n)
{
	if (place_begins(word, n, "streamof:") || place_begins(word, n, "numberof:"))
		return renamed(a, word);
	if (place_begins(word, n, "stream") || place_begins(word, n, "number"))
		return opened(a, word, n);
	if (place_begins(word, n, "static:"))
		return object_node(a, graph_static(a->s, word_copy(word + 7, n - 7)));
	if (place_begins(word, n, "extra"))
		return object_node(a, a->s->functions.v[apply_call(a)->function].extra);
	if (place_begins(word, n, "elsewhere"))
		return object_node(a, a->s->elsewhere);
	if (place_begins(word, n, "environment:"))
		return environment_variable(a, word, n);
	return place_begins(word, n, "new") ? object_node(a, allocated(a)) : 0;
}

/* "*0", "**0", "*v". */
static uint32_t read_memory(const struct apply *a, const char *word)
{
	if (word[1] == '*')
		return graph_deep(a->s, simple_value(a, word[2]));
	if (word[1] == 'v')
		return apply_arguments(a, apply_call(a)->n_fixed, POINTED);
	return loaded(a, simple_value(a, word[1]));
}

uint32_t apply_read(struct apply *a, const char *word, size_t n)
{
	uint32_t object = read_object(a, word, n);
	if (object)
		return object;
	if (strchr("ipw@", *word))
		return stream_node(a, word);
	switch (*word) {
	case '*':
		return read_memory(a, word);
	case 'M':
		return apply_arguments(a, 0, POINTED);
	case 'D':
		return apply_arguments(a, 0, REACHED);
	case '$':
		return graph_variable(a->s, word_copy(word + 1, n - 1));
	case '!':
		return input_node(a, word, n);
	default:
		return simple_value(a, *word);
	}
}

/* ---- places that are written ---- */

uint32_t apply_output(struct apply *a, bool buffered)
{
	struct slice *s = a->s;
	if (a->output == VEC_NONE) {
		const struct call c = *apply_call(a);
		struct output o = {.name = a->name, .at = graph_place(c.inst), .call = a->call, .buffered = buffered};
		o.node = graph_node(s, HOLDS_NOTHING);
		*(struct output *)llvm_need(vec_add(&s->outputs)) = o;
		a->output = (uint32_t)s->outputs.n - 1;
		graph_flow(s, c.effects, o.node);
	}
	return s->outputs.v[a->output].node;
}

/* A stream is written to: an output. */
static void write_stream(struct apply *a, uint32_t from, const char *word)
{
	struct slice *s = a->s;
	uint32_t to = apply_output(a, true);
	uint32_t handle = *word == '@' ? standard_stream(a, (unsigned)(word[1] - '0')) : simple_value(a, word[1]);
	graph_flow(s, from, to);
	graph_stream_use(s, handle, to, STREAM_POSITION)->maybe = a->maybe;
	graph_stream_use(s, handle, to, STREAM_WRITE)->maybe = a->maybe;
	graph_flow(s, handle, to);
	hidden_handle(a, handle);
	hidden_pipe(a, handle);
	s->outputs.v[a->output].handle = handle;
	s->outputs.v[a->output].maybe = a->maybe;
}

/* Stores into what arguments point to, as a word of the table says. */
static void store_place(const struct apply *a, uint32_t from, const char *word, bool points)
{
	uint32_t effects = apply_call(a)->effects, pointer;
	if (word[1] == '*')
		pointer = graph_deep(a->s, simple_value(a, word[2]));
	else if (word[1] == 'v')
		pointer = apply_arguments(a, apply_call(a)->n_fixed, ITSELF);
	else
		pointer = simple_value(a, word[1]);
	graph_store(a->s, from, pointer, points);
	graph_store(a->s, effects, pointer, false);
	if (a->s->rounds)
		graph_store(a->s, graph_variable(a->s, "rounding"), pointer, false);
	if (!points)
		graph_store(a->s, a->s->any_descriptor, pointer, true);
}

/* Writes into a state that the C library keeps. */
static void write_state(const struct apply *a, uint32_t from, uint32_t to, bool points)
{
	if (points)
		graph_copy(a->s, from, to);
	else
		graph_flow(a->s, from, to);
	graph_flow(a->s, apply_call(a)->effects, to);
}

/* What is done to a stream and is no output: it is read on, moved, created. */
static void touch_stream(struct apply *a, uint32_t from, const char *word)
{
	struct slice *s = a->s;
	uint32_t handle = *word == '~' ? standard_stream(a, 0) : simple_value(a, word[1]);
	uint32_t through = graph_node(s, HOLDS_NOTHING);
	enum stream_way way = *word == 'p' ? STREAM_SEEK : *word == 'w' ? STREAM_WRITE : STREAM_PUT_BACK;
	graph_flow(s, from, through);
	graph_flow(s, apply_call(a)->effects, through);
	graph_flow(s, handle, through);
	graph_stream_use(s, handle, through, way)->maybe = a->maybe;
	if (word[1] != 'r')
		hidden_handle(a, handle);
}

/* Writes into the result of the call. */
static void write_result(const struct apply *a, uint32_t from, bool points)
{
	if (points)
		graph_copy(a->s, from, apply_call(a)->result);
	else
		graph_flow(a->s, from, apply_call(a)->result);
	if (!points && !a->opens)
		graph_copy(a->s, a->s->any_descriptor, apply_call(a)->result);
}

void apply_write(struct apply *a, uint32_t from, const char *word, size_t n, bool points)
{
	if (*word == 'r')
		write_result(a, from, points);
	else if (*word == '*')
		store_place(a, from, word, points);
	else if (*word == 'D')
		write_state(a, from, apply_call(a)->deep, points);
	else if (n > 7 && memcmp(word, "static:", 7) == 0)
		graph_flow(a->s, from, a->s->objects.v[graph_static(a->s, word_copy(word + 7, n - 7))].content);
	else if (*word == '$')
		write_state(a, from, graph_variable(a->s, word_copy(word + 1, n - 1)), points);
	else if (strchr("iw~p", *word))
		touch_stream(a, from, word);
	else if (*word == 'e' || *word == 'x')
		graph_flow(a->s, from, *word == 'e' ? apply_call(a)->ends : apply_call(a)->effects);
	else if (*word == 'o' || *word == '@')
		write_stream(a, from, word);
	else if (*word == 'O')
		graph_flow(a->s, from, apply_output(a, false));
	else
		llvm_die("library.def: '%s' of %s cannot be written", word, a->name);
}
