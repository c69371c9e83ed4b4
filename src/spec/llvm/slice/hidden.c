/* hidden.c - what functions of the library read and write without that it stands in their arguments: which descriptors
 * are open, the state of a stream, what the process may do, addresses, the environment, how numbers are rounded. */
#include "spec/llvm/slice/library.h"

#include <string.h>

/* ---- what the program uses ---- */

/* Does the name begin with one of them? */
static bool begins_with_one(const char *name, const char *const *with, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strncmp(name, with[i], strlen(with[i])) == 0)
			return true;
	return false;
}

#define BEGINS(name, list) begins_with_one(name, list, sizeof(list) / sizeof((list)[0]))

/* Does the text name something that is no file of its own: memory, arguments, descriptors? */
bool hidden_is_odd_name(const char *name)
{
	static const char *const plain[] = {"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"};
	for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++)
		if (strcmp(name, plain[i]) == 0)
			return false;
	return strstr(name, "proc/") || strstr(name, "dev/") || strstr(name, "sys/") || strcmp(name, "/proc") == 0 ||
	       strcmp(name, "/dev") == 0 || strcmp(name, "/sys") == 0;
}

void hidden_find(struct slice *s)
{
	static const char *const pipes[] = {"pipe",    "socket",   "accept",  "popen", "eventfd",
	                                    "timerfd", "signalfd", "inotify", "epoll"};
	static const char *const wide[] = {"fputw", "putwc", "fgetw", "getwc", "ungetwc", "fwide"};
	static const char *const rounds[] = {"feset",  "feupd", "feclear", "feraise",  "fehold",
	                                     "fegete", "fetes", "feenabl", "fedisabl", "llvm.set.rounding"};
	static const char *const seeks[] = {"lseek", "fseek", "fsetpos", "pwrite", "rewind"};
	static const char *const moves[] = {"chdir", "fchdir", "chroot"};
	for (LLVMValueRef f = LLVMGetFirstFunction(s->module); f; f = LLVMGetNextFunction(f)) {
		const char *name = build_name(f);
		if (LLVMCountBasicBlocks(f))
			continue;
		s->pipes |= BEGINS(name, pipes);
		s->wide |= BEGINS(name, wide);
		s->rounds |= BEGINS(name, rounds);
		s->moves |= BEGINS(name, moves);
		s->seeks |= BEGINS(name, seeks);
	}
	/* How a child ended. */
	graph_flow(s, s->abnormal, graph_variable(s, "status"));
	graph_flow(s, s->at_any_time, graph_variable(s, "status"));
	graph_flow(s, graph_variable(s, "signal"), graph_variable(s, "status"));
	/* What is found by the environment is a part of it. */
	uint32_t environment = graph_variable(s, "environ");
	graph_load(s, environment, environment, true);
}

/* ---- at each call ---- */

void hidden_handle(struct apply *a, uint32_t handle)
{
	struct slice *s = a->s;
	struct call *c = apply_call(a);
	graph_stream_use(s, handle, c->result, STREAM_STATE)->maybe = a->maybe;
	if (!s->wide)
		return;
	/* The first use of a stream decides between bytes and wide characters. */
	graph_stream_use(s, handle, c->effects, STREAM_SEEK)->maybe = a->maybe;
}

void hidden_bytes(struct apply *a, uint32_t bytes, bool written)
{
	struct address x = {.a = bytes, .b = a->call, .way = written ? ADDRESS_WRITTEN : ADDRESS_READ};
	if (written)
		x.node = apply_output(a, true);
	*(struct address *)llvm_need(vec_add(&a->s->addresses)) = x;
}

/* Whoever reads from a pipe waits for what others do: that they write, close it, or end. */
void hidden_wait(struct apply *a, uint32_t handle)
{
	struct slice *s = a->s;
	struct call *c = apply_call(a);
	if (!s->pipes)
		return;
	c->may_end = true;
	graph_stream_use(s, handle, c->ends, STREAM_STATE)->maybe = a->maybe;
	graph_flow(s, graph_variable(s, "process"), c->ends);
	graph_flow(s, graph_variable(s, "descriptors"), c->ends);
	graph_flow(s, graph_variable(s, "exit"), c->ends);
	graph_flow(s, s->at_any_time, c->ends);
}

/* Whoever writes to a pipe that nobody reads is ended. */
void hidden_pipe(struct apply *a, uint32_t handle)
{
	struct slice *s = a->s;
	struct call *c = apply_call(a);
	uint32_t state = graph_node(s, HOLDS_NOTHING);
	if (!s->pipes)
		return;
	c->may_end = true;
	graph_stream_use(s, handle, state, STREAM_STATE)->maybe = a->maybe;
	graph_flow(s, graph_variable(s, "process"), state);
	graph_flow(s, graph_variable(s, "descriptors"), state);
	graph_flow(s, graph_variable(s, "exit"), state);
	graph_flow(s, state, c->ends);
	graph_flow(s, state, s->abnormal);
	graph_flow(s, c->effects, s->abnormal);
}

/* Notes which streams and descriptors a call closes. */
static void closes(struct apply *a)
{
	static const struct {
		const char *name;
		unsigned argument;
	} closers[] = {{"close", 0}, {"fclose", 0}, {"freopen", 2}};
	const struct call *c = apply_call(a);
	for (size_t i = 0; i < sizeof(closers) / sizeof(closers[0]); i++)
		if (strcmp(a->name, closers[i].name) == 0 && closers[i].argument < c->n_arguments)
			*(uint32_t *)llvm_need(vec_add(&a->s->closed)) = c->argument[closers[i].argument];
}

void hidden_apply(struct apply *a)
{
	struct slice *s = a->s;
	const struct call *c = apply_call(a);
	uint32_t process = graph_variable(s, "process"), rounding = graph_variable(s, "rounding");
	uint32_t output = a->output == VEC_NONE ? 0 : s->outputs.v[a->output].node;
	closes(a);
	graph_flow(s, process, output);
	if (!a->keeps_errno)
		graph_flow(s, process, c->result);
	if (s->rounds) {
		graph_flow(s, rounding, c->result);
		graph_flow(s, rounding, output);
	}
}

/* ---- after it is solved ---- */

static bool in_set(const uint64_t *set, uint32_t i)
{
	return set && set[i / 64] >> (i % 64) & 1;
}

/* May it be one of the three that are open when the program starts, or is it not known? */
static bool may_be_standard(const struct slice *s, uint32_t handle, int depth)
{
	const uint64_t *set = graph_set(s, handle);
	bool any = false;
	for (uint32_t o = 0; set && o < s->objects.n; o++) {
		const struct object *x = &s->objects.v[o];
		if (!x->in || !in_set(set, o))
			continue;
		any = true;
		if (x->standard || o == s->any_file || o == s->touched)
			return true;
		if (x->of && (depth > 8 || may_be_standard(s, x->of, depth + 1)))
			return true;
	}
	return !any;
}

/* The number of one that was closed is given to the next that is opened: all of them are one then. */
static void join_descriptors(struct slice *s)
{
	uint32_t table = graph_variable(s, "descriptors");
	bool again = false;
	for (size_t i = 0; i < s->closed.n && !again; i++)
		again = may_be_standard(s, s->closed.v[i], 0);
	if (!again || !s->opens)
		return;
	for (uint32_t i = 0; i < s->objects.n; i++) {
		const struct object *o = &s->objects.v[i];
		if (!o->in)
			continue;
		graph_flow(s, o->in, table);
		graph_flow(s, o->out, table);
		graph_flow(s, o->position, table);
		graph_flow(s, table, o->in);
		graph_flow(s, table, o->position);
	}
}

/* Do both point to one object, and to the same? */
static bool point_to_one(const struct slice *s, uint32_t a, uint32_t b)
{
	const uint64_t *x = graph_set(s, a), *y = graph_set(s, b);
	int n = 0;
	for (size_t i = 0; i < s->words; i++) {
		uint64_t mask = i == s->bytes / 64 ? ~(1ull << (s->bytes % 64)) : UINT64_MAX;
		uint64_t in_x = x ? x[i] & mask : 0;
		if (in_x != (y ? y[i] & mask : 0))
			return false;
		n += __builtin_popcountll(in_x);
	}
	return n == 1;
}

/* May the node point to memory? */
static bool points_to_memory(const struct slice *s, uint32_t node)
{
	const uint64_t *set = graph_set(s, node);
	for (uint32_t o = 0; set && o < s->objects.n; o++)
		if (s->objects.v[o].kind == OBJECT_MEMORY && in_set(set, o))
			return true;
	return false;
}

/* Whether there is memory depends on how much is asked for. */
static void flow_sizes(struct slice *s, uint32_t pointer, uint32_t to)
{
	const uint64_t *set = graph_set(s, pointer);
	for (uint32_t o = 0; set && o < s->objects.n; o++)
		if (in_set(set, o))
			graph_flow(s, s->objects.v[o].size, to);
}

void hidden_find_pointers(struct slice *s)
{
	for (size_t i = 0; i < s->addresses.n; i++)
		s->writes_pointers |= s->addresses.v[i].way == ADDRESS_WRITTEN && points_to_memory(s, s->addresses.v[i].a);
}

/* A pointer that is written to a file may be what is read over another: it could point anywhere then. */
static void check_bytes(struct slice *s)
{
	for (size_t i = 0; i < s->addresses.n && s->writes_pointers; i++) {
		const struct address *x = &s->addresses.v[i];
		const struct call *c = &s->calls.v[x->b];
		if (x->way == ADDRESS_READ && points_to_memory(s, x->a))
			graph_reason(s, "pointers are written, and bytes are read to where pointers are", "", c->inst, c->function);
	}
}

/* Adds flows where addresses become numbers: what is compared, or the distance of two. */
static void flow_addresses(struct slice *s)
{
	uint32_t heap = graph_variable(s, "heap");
	for (size_t i = 0; i < s->addresses.n; i++) {
		const struct address *x = &s->addresses.v[i];
		if (x->way == ADDRESS_READ)
			continue;
		if (x->way == ADDRESS_COMPARED) {
			flow_sizes(s, x->a, x->node);
			flow_sizes(s, x->b, x->node);
		} else if (x->way == ADDRESS_DISTANCE ? !point_to_one(s, x->a, x->b) : points_to_memory(s, x->a))
			graph_flow(s, heap, x->node);
	}
}

/* What is written over a variable of the environment, the next who asks for it sees. */
static void flow_environment(struct slice *s)
{
	bool written = false;
	for (size_t i = 0; i < s->accesses.n && !written; i++) {
		const uint64_t *set = s->accesses.v[i].store ? graph_set(s, s->accesses.v[i].pointer) : NULL;
		for (uint32_t o = 0; set && o < s->objects.n && !written; o++)
			written = s->objects.v[o].environment && in_set(set, o);
	}
	for (uint32_t o = 0; o < s->objects.n && written; o++)
		if (s->objects.v[o].environment)
			graph_flow(s, s->objects.v[o].content, graph_variable(s, "environ"));
}

void hidden_flows(struct slice *s)
{
	join_descriptors(s);
	flow_addresses(s);
	check_bytes(s);
	flow_environment(s);
}
