/* call.c - calls: of the program's functions, of those that a pointer may be, of the library's. */
#include "spec/llvm/slice/graph.h"

#include <llvm/Config/llvm-config.h>

#include <string.h>

/* Notes that a call may reach a function. callback: by way of a library that is given it. */
static void append_once(struct slice *s, uint32_t call, uint32_t function, bool callback, bool *ret_new)
{
	struct call *c = &s->calls.v[call];
	size_t n = callback ? c->called_back.n : c->targets.n;
	const uint32_t *v = callback ? c->called_back.v : c->targets.v;
	*ret_new = false;
	for (size_t i = 0; i < n; i++)
		if (v[i] == function)
			return;
	*ret_new = true;
	*(uint32_t *)llvm_need(callback ? vec_add(&c->called_back) : vec_add(&c->targets)) = function;
}

/* The arguments of the call to the parameters of the function. */
static void pass_arguments(struct slice *s, const struct call *c, const struct slice_function *f)
{
	for (uint32_t i = 0; i < c->n_arguments; i++) {
		if (i < f->n_parameters)
			graph_copy(s, c->argument[i], f->parameter[i]);
		else
			graph_copy(s, c->argument[i], s->objects.v[f->extra].content);
	}
	graph_copy(s, f->result, c->result);
}

/* A library function calls it with whatever it was given, and does with the result whatever it likes. */
static void pass_anything(struct slice *s, const struct call *c, const struct slice_function *f)
{
	for (uint32_t i = 0; i < f->n_parameters; i++) {
		graph_copy(s, c->deep, f->parameter[i]);
		graph_flow(s, c->decides, f->parameter[i]);
	}
	/* How often it is called, and which of them next, depends on what they gave before. */
	graph_flow(s, f->result, c->decides);
	graph_flow(s, c->decides, f->control);
	graph_copy(s, f->result, c->result);
	graph_store(s, f->result, c->deep, false);
	graph_copy(s, f->result, graph_variable(s, "thread"));
}

void call_target(struct slice *s, uint32_t call, uint32_t function, bool callback)
{
	bool is_new;
	append_once(s, call, function, callback, &is_new);
	if (!is_new)
		return;
	const struct call c = s->calls.v[call];
	const struct slice_function *f = &s->functions.v[function];
	if (callback)
		pass_anything(s, &c, f);
	else
		pass_arguments(s, &c, f);
	graph_flow(s, c.effects, f->control);
	graph_flow(s, c.callee, f->control);
	graph_flow(s, c.callee, c.result);
	graph_flow(s, f->ends, callback && c.later ? s->at_any_time : c.ends);
	if (callback && c.later) /* that the program ends, ends it, too */
		graph_flow(s, graph_variable(s, "exit"), f->control);
}

/* ---- what can be told from its declaration ---- */

/* Has the call, or the function, an attribute of LLVM's of that name? */
static bool has_attribute(LLVMValueRef inst, LLVMValueRef f, const char *name)
{
	unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
	return kind && (LLVMGetCallSiteEnumAttribute(inst, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, kind) ||
	                LLVMGetEnumAttributeAtIndex(f, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, kind));
}

/* One of LLVM's own that only computes its result from its arguments. What others declare of theirs is not proved. */
static bool only_computes(LLVMValueRef inst, LLVMValueRef f)
{
	if (strncmp(build_name(f), "llvm.", 5) != 0)
		return false;
	if (has_attribute(inst, f, "readnone"))
		return true;
	unsigned kind = LLVMGetEnumAttributeKindForName("memory", 6);
	LLVMAttributeRef a =
	    kind ? LLVMGetEnumAttributeAtIndex(f, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, kind) : NULL;
	return a && LLVMGetEnumAttributeValue(a) == 0;
}

/* Assembly that has no effect: it only computes its result, or it is empty. */
static bool harmless_assembly(LLVMValueRef v)
{
	char *text = LLVMPrintValueToString(v);
	const char *from = strstr(text, "asm ");
	bool ret = from && (strstr(from, " \"\", \"") ||
	                    (!strstr(from, "sideeffect") && !strstr(from, "~{memory}") && !strstr(from, "*")));
	LLVMDisposeMessage(text);
	return ret;
}

/* All arguments go into the result. */
static void compute_result(struct slice *s, const struct call *c)
{
	for (uint32_t i = 0; i < c->n_arguments; i++)
		graph_copy(s, c->argument[i], c->result);
	if (s->rounds)
		graph_flow(s, graph_variable(s, "rounding"), c->result);
}

/* It may call what it is given: what that outputs is listed. */
static void call_unknown(struct slice *s, uint32_t call)
{
	for (uint32_t i = 0; i < s->calls.v[call].n_arguments; i++)
		if (s->calls.v[call].argument[i])
			graph_take(s, graph_deep(s, s->calls.v[call].argument[i]), call, true);
}

/* Of a function without a body. */
static void call_library(struct slice *s, uint32_t call, LLVMValueRef f, uint32_t caller)
{
	const char *name = build_name(f);
	LLVMValueRef inst = s->calls.v[call].inst;
	if (has_attribute(inst, f, "noreturn"))
		s->calls.v[call].always_ends = s->calls.v[call].may_end = true;
	if (library_apply(s, call, name))
		return;
	if (only_computes(inst, f) || strncmp(name, "llvm.experimental.constrained.", 30) == 0) {
		compute_result(s, &s->calls.v[call]);
		graph_copy(s, s->any_descriptor, s->calls.v[call].result);
		return;
	}
	call_unknown(s, call);
	graph_reason(s, "a library function without a summary:", name, inst, caller);
}

void build_call(struct slice *s, LLVMValueRef inst, uint32_t function)
{
	LLVMValueRef value = LLVMGetCalledValue(inst), bare = build_bare(value);
	unsigned n = LLVMGetNumArgOperands(inst);
	struct call c = {.inst = inst, .function = function};
	if (LLVMIsAFunction(bare) && strncmp(build_name(bare), "llvm.dbg.", 9) == 0)
		return;
	c.result = build_value(s, inst);
	c.effects = graph_node(s, HOLDS_NOTHING);
	c.ends = graph_node(s, HOLDS_NOTHING);
	c.n_arguments = n;
	c.n_fixed = LLVMCountParamTypes(LLVMGetCalledFunctionType(inst));
	c.argument = llvm_need(calloc(n + 1, sizeof(uint32_t)));
	for (unsigned i = 0; i < n; i++)
		c.argument[i] = build_value(s, LLVMGetOperand(inst, i));
	uint32_t id = (uint32_t)s->calls.n;
	*(struct call *)llvm_need(vec_add(&s->calls)) = c;
	*(uint32_t *)llvm_need(vec_add(&s->functions.v[function].calls)) = id;
	if (!map_set(&s->call_of, (uintptr_t)inst, id))
		llvm_die("out of memory");
	if (LLVMIsAInlineAsm(bare)) {
		compute_result(s, &c);
		if (!harmless_assembly(bare))
			graph_reason(s, "inline assembly", "", inst, function);
	} else if (!LLVMIsAFunction(bare)) {
		s->calls.v[id].callee = build_value(s, value);
		graph_take(s, s->calls.v[id].callee, id, false);
	} else if (LLVMCountBasicBlocks(bare)) {
		call_target(s, id, map_get(&s->function_of, (uintptr_t)bare), false);
	} else {
		call_library(s, id, bare, function);
	}
}
