/* slice.c - the steps of a slice. */
#include "spec/llvm/slice/slice.h"

#include "spec/llvm/slice/graph.h"

#include <llvm-c/Transforms/PassBuilder.h>

#include <stdlib.h>
#include <string.h>

#define MISSING "stemma.missing"

void slice_note_missing(LLVMModuleRef m, unsigned n)
{
	LLVMContextRef c = LLVMGetModuleContext(m);
	LLVMMetadataRef number = LLVMValueAsMetadata(LLVMConstInt(LLVMInt32TypeInContext(c), n, false));
	if (n)
		LLVMAddNamedMetadataOperand(m, MISSING, LLVMMetadataAsValue(c, LLVMMDNodeInContext2(c, &number, 1)));
}

/* Gives a function an attribute of LLVM's, or takes it away. */
static void add_attribute(LLVMValueRef f, const char *name, bool wanted)
{
	unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
	LLVMContextRef c = LLVMGetModuleContext(LLVMGetGlobalParent(f));
	if (wanted)
		LLVMAddAttributeAtIndex(f, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, LLVMCreateEnumAttribute(c, kind, 0));
	else
		LLVMRemoveEnumAttributeAtIndex(f, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, kind);
}

/* May the call return twice, as setjmp does? */
static bool returns_twice(LLVMValueRef call)
{
	unsigned kind = LLVMGetEnumAttributeKindForName("returns_twice", 13);
	LLVMValueRef f = build_bare(LLVMGetCalledValue(call));
	return LLVMGetCallSiteEnumAttribute(call, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, kind) ||
	       (LLVMIsAFunction(f) &&
	        (LLVMGetEnumAttributeAtIndex(f, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, kind) ||
	         strstr(build_name(f), "setjmp") || strcmp(build_name(f), "vfork") == 0));
}

/* Does the function call something that returns twice? */
static bool calls_setjmp(LLVMValueRef f)
{
	for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
		for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i))
			if ((LLVMIsACallInst(i) || LLVMIsAInvokeInst(i)) && returns_twice(i))
				return true;
	return false;
}

/* Bodies that headers show of functions that the library has: their rows say more. */
static void take_from_library(LLVMModuleRef m)
{
	LLVMValueRef next;
	for (LLVMValueRef f = LLVMGetFirstFunction(m); f; f = next) {
		next = LLVMGetNextFunction(f);
		if (LLVMGetLinkage(f) != LLVMAvailableExternallyLinkage || !library_knows(build_name(f)))
			continue;
		char *name = llvm_need(strdup(build_name(f)));
		LLVMSetValueName2(f, "stemma.unused", 13);
		LLVMReplaceAllUsesWith(f, LLVMAddFunction(m, name, LLVMGlobalGetValueType(f)));
		LLVMSetLinkage(f, LLVMInternalLinkage);
		free(name);
	}
}

/* Makes the program simpler before it is examined: local variables become values, small functions a part of their
 * callers; not where a function comes back twice. */
static void prepare(LLVMModuleRef m)
{
	take_from_library(m);
	for (LLVMValueRef f = LLVMGetFirstFunction(m); f; f = LLVMGetNextFunction(f)) {
		bool keep = calls_setjmp(f);
		if (LLVMCountBasicBlocks(f) == 0)
			continue;
		add_attribute(f, "alwaysinline", false);
		add_attribute(f, "optnone", keep);
		add_attribute(f, "noinline", keep);
	}
	LLVMPassBuilderOptionsRef o = LLVMCreatePassBuilderOptions();
	LLVMErrorRef e = LLVMRunPasses(m, "function(sroa),cgscc(inline),function(sroa)", NULL, o);
	LLVMDisposePassBuilderOptions(o);
	if (e) {
		char *text = LLVMGetErrorMessage(e);
		llvm_die("the program cannot be prepared for a slice: %s", text);
	}
}

void slice_module(LLVMModuleRef m, struct buf *ret)
{
	struct slice s = {.module = m};
	prepare(m);
	build_program(&s);
	if (LLVMGetNamedMetadataNumOperands(m, MISSING))
		graph_reason(&s, "a part of the program that has no bitcode", "", NULL, VEC_NONE);
	char *assembly = (char *)LLVMGetModuleInlineAsm(m, &(size_t){0});
	if (assembly && *assembly)
		graph_reason(&s, "assembly outside of functions", "", NULL, VEC_NONE);
	graph_solve(&s);
	hidden_find_pointers(&s);
	control_program(&s);
	reach_write(&s, ret);
	if (ret->failed)
		llvm_die("out of memory");
}
