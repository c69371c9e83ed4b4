/* build.c - the nodes and flows of a program's instructions and variables. */
#include "spec/llvm/slice/graph.h"

#include <stdio.h>
#include <string.h>

const char *build_name(LLVMValueRef v)
{
	size_t n;
	const char *s = LLVMGetValueName2(v, &n);
	return n && *s == '\1' ? s + 1 : s;
}

LLVMValueRef build_bare(LLVMValueRef v)
{
	for (int turns = 0; turns < 64; turns++) {
		if (LLVMIsAGlobalAlias(v))
			v = LLVMAliasGetAliasee(v);
		else if (LLVMIsAConstantExpr(v) &&
		         (LLVMGetConstOpcode(v) == LLVMBitCast || LLVMGetConstOpcode(v) == LLVMAddrSpaceCast))
			v = LLVMGetOperand(v, 0);
		else if (LLVMIsABitCastInst(v))
			v = LLVMGetOperand(v, 0);
		else
			break;
	}
	return v;
}

/* Only indices that are zero. */
static bool is_first_element(LLVMValueRef v)
{
	for (unsigned i = 1; i < (unsigned)LLVMGetNumOperands(v); i++) {
		LLVMValueRef index = LLVMGetOperand(v, i);
		if (!LLVMIsAConstantInt(index) || LLVMConstIntGetZExtValue(index) != 0)
			return false;
	}
	return true;
}

const char *build_constant_text(LLVMValueRef v)
{
	size_t n;
	v = v ? build_bare(v) : NULL;
	if (v && LLVMIsAConstantExpr(v) && LLVMGetConstOpcode(v) == LLVMGetElementPtr && is_first_element(v))
		v = build_bare(LLVMGetOperand(v, 0));
	if (!v || !LLVMIsAGlobalVariable(v) || !LLVMIsGlobalConstant(v))
		return NULL;
	LLVMValueRef text = LLVMGetInitializer(v);
	if (text && LLVMIsAConstantAggregateZero(text))
		return "";
	if (!text || !LLVMIsAConstantDataArray(text) || !LLVMIsConstantString(text))
		return NULL;
	const char *s = LLVMGetAsString(text, &n);
	size_t length = strnlen(s, n);
	return length == n ? NULL : llvm_need(strndup(s, length));
}

/* ---- constants ---- */

/* A number may be a descriptor: 0, 1 and 2 are the standard ones, of others nothing is known. */
static uint32_t number_node(struct slice *s, LLVMValueRef v)
{
	if (LLVMGetIntTypeWidth(LLVMTypeOf(v)) > 64)
		return s->any_descriptor;
	long long n = LLVMConstIntGetSExtValue(v);
	return n < 0 ? 0 : n < 3 ? s->descriptor[n] : s->any_descriptor;
}

/* Is it a number that may be an address? Programs have no memory at its beginning, nor the system's at its end. */
static bool is_address(LLVMValueRef v)
{
	enum { FIRST_PAGE = 4096 };
	if (!LLVMIsAConstantInt(v) || LLVMGetIntTypeWidth(LLVMTypeOf(v)) > 64)
		return false;
	long long n = LLVMConstIntGetSExtValue(v);
	return n >= FIRST_PAGE || (n < -FIRST_PAGE && LLVMGetIntTypeWidth(LLVMTypeOf(v)) < 64);
}

/* Is the number, or one of those that it may be, a constant, or what a function of the library computed? Then a pointer
 * that is made of it may lead anywhere. */
static bool may_be_address(LLVMValueRef v, int depth)
{
	enum { DEPTH_MOST = 8 };
	if (depth > DEPTH_MOST)
		return false;
	if (LLVMIsAPHINode(v)) {
		for (unsigned i = 0; i < LLVMCountIncoming(v); i++)
			if (may_be_address(LLVMGetIncomingValue(v, i), depth + 1))
				return true;
		return false;
	}
	if (LLVMIsASelectInst(v))
		return may_be_address(LLVMGetOperand(v, 1), depth + 1) || may_be_address(LLVMGetOperand(v, 2), depth + 1);
	if (LLVMIsACastInst(v) && !LLVMIsAPtrToIntInst(v))
		return may_be_address(LLVMGetOperand(v, 0), depth + 1);
	if (LLVMIsACallInst(v)) {
		LLVMValueRef f = build_bare(LLVMGetCalledValue(v));
		return LLVMIsAFunction(f) && LLVMCountBasicBlocks(f) == 0;
	}
	return is_address(v);
}

/* A pointer that is made of a number, or counted from NULL. */
static bool is_made_anew(LLVMValueRef v)
{
	bool constant = LLVMIsAConstantExpr(v);
	if (LLVMIsAIntToPtrInst(v) || (constant && LLVMGetConstOpcode(v) == LLVMIntToPtr))
		return may_be_address(LLVMGetOperand(v, 0), 0);
	return LLVMIsAGetElementPtrInst(v) && LLVMIsAConstantPointerNull(LLVMGetOperand(v, 0)) &&
	       !LLVMIsAConstantInt(LLVMGetOperand(v, 1));
}

/* The node of a constant that is made of others. */
static uint32_t constant_node(struct slice *s, LLVMValueRef v)
{
	if (LLVMIsAConstantInt(v))
		return number_node(s, v);
	if (LLVMIsAConstantAggregateZero(v))
		return s->descriptor[0];
	if (LLVMIsAConstantPointerNull(v) || LLVMIsUndef(v) || LLVMIsABlockAddress(v) || LLVMIsAConstantFP(v))
		return 0;
	if (LLVMIsAConstantDataSequential(v))
		return s->any_descriptor;
	uint32_t node = graph_node(s, graph_type_holds(LLVMTypeOf(v)));
	/* First, as a variable may hold its own address. */
	if (!map_set(&s->node_of, (uintptr_t)v, node))
		llvm_die("out of memory");
	for (int i = 0; i < LLVMGetNumOperands(v); i++)
		graph_copy(s, build_value(s, LLVMGetOperand(v, (unsigned)i)), node);
	if (is_made_anew(v))
		graph_points(s, node, s->elsewhere);
	return node;
}

uint32_t build_value(struct slice *s, LLVMValueRef v)
{
	uint32_t n = map_get(&s->node_of, (uintptr_t)v);
	if (n != VEC_NONE)
		return n;
	if (LLVMIsAInstruction(v) || LLVMIsAArgument(v))
		n = graph_node(s, graph_type_holds(LLVMTypeOf(v)));
	else if (LLVMIsAGlobalAlias(v))
		n = build_value(s, LLVMAliasGetAliasee(v));
	else if (LLVMIsAConstant(v))
		n = constant_node(s, v);
	else
		n = 0;
	if (!map_set(&s->node_of, (uintptr_t)v, n))
		llvm_die("out of memory");
	return n;
}

/* ---- variables ---- */

/* A node that points to the object, for the value that is its address. */
static uint32_t address_node(struct slice *s, LLVMValueRef v, uint32_t object)
{
	uint32_t node = graph_node(s, HOLDS_POINTERS);
	graph_points(s, node, object);
	if (!map_set(&s->node_of, (uintptr_t)v, node))
		llvm_die("out of memory");
	return node;
}

/* Makes nodes of the global variables, with what they hold at the start. */
static void build_variables(struct slice *s)
{
	for (LLVMValueRef v = LLVMGetFirstGlobal(s->module); v; v = LLVMGetNextGlobal(v)) {
		if (!LLVMGetInitializer(v)) {
			uint32_t node = graph_node(s, HOLDS_POINTERS);
			if (!map_set(&s->node_of, (uintptr_t)v, node))
				llvm_die("out of memory");
			if (!library_variable(s, v, node))
				graph_reason(s, "a variable of a library without a summary:", build_name(v), v, VEC_NONE);
			continue;
		}
		address_node(s, v, graph_object(s, OBJECT_MEMORY));
	}
	for (LLVMValueRef v = LLVMGetFirstGlobal(s->module); v; v = LLVMGetNextGlobal(v))
		if (LLVMGetInitializer(v))
			graph_store(s, build_value(s, LLVMGetInitializer(v)), build_value(s, v), true);
	if (LLVMGetFirstGlobalIFunc(s->module))
		graph_reason(s, "a function whose code is chosen when the program starts (ifunc):",
		             build_name(LLVMGetFirstGlobalIFunc(s->module)), NULL, VEC_NONE);
}

/* ---- instructions ---- */

/* All operands go into the result. */
static void from_operands(struct slice *s, LLVMValueRef i, uint32_t node, bool points)
{
	for (int k = 0; k < LLVMGetNumOperands(i); k++) {
		uint32_t from = build_value(s, LLVMGetOperand(i, (unsigned)k));
		if (points)
			graph_copy(s, from, node);
		else
			graph_flow(s, from, node);
	}
}

/* A return, an exception that goes on. */
static void build_leaving(struct slice *s, LLVMValueRef i, uint32_t f)
{
	if (LLVMGetNumOperands(i) == 0)
		return;
	uint32_t from = build_value(s, LLVMGetOperand(i, 0));
	graph_copy(s, from, LLVMIsAReturnInst(i) ? s->functions.v[f].result : s->exceptions);
}

/* Notes that an address becomes a number, or is compared. */
static void append_address(struct slice *s, uint32_t a, uint32_t b, uint32_t node, enum address_way way)
{
	*(struct address *)llvm_need(vec_add(&s->addresses)) = (struct address){a, b, node, (uint8_t)way};
}

/* The pointer that becomes a number here; NULL: it is something else. */
static LLVMValueRef numbered(LLVMValueRef v)
{
	bool is = LLVMIsAPtrToIntInst(v) || (LLVMIsAConstantExpr(v) && LLVMGetConstOpcode(v) == LLVMPtrToInt);
	return is ? LLVMGetOperand(v, 0) : NULL;
}

/* Is it the distance of two pointers, as numbers? */
static bool is_distance(LLVMValueRef i)
{
	return LLVMIsAInstruction(i) && LLVMGetInstructionOpcode(i) == LLVMSub && numbered(LLVMGetOperand(i, 0)) &&
	       numbered(LLVMGetOperand(i, 1));
}

/* Is it a type of numbers in floating point, or a vector of them? */
static bool is_fraction(LLVMTypeRef t)
{
	LLVMTypeKind k = LLVMGetTypeKind(t);
	if (k == LLVMVectorTypeKind)
		return is_fraction(LLVMGetElementType(t));
	return k == LLVMHalfTypeKind || k == LLVMFloatTypeKind || k == LLVMDoubleTypeKind || k == LLVMX86_FP80TypeKind ||
	       k == LLVMFP128TypeKind;
}

/* Does it compute with fractions, so that it depends on how they are rounded? */
static bool is_rounded(LLVMValueRef i)
{
	return is_fraction(LLVMTypeOf(i)) || (LLVMGetNumOperands(i) > 0 && is_fraction(LLVMTypeOf(LLVMGetOperand(i, 0))));
}

/* What depends on where something lies in memory, and on how fractions are rounded. */
static void build_address(struct slice *s, LLVMValueRef i, uint32_t node)
{
	if (is_distance(i))
		append_address(s, build_value(s, numbered(LLVMGetOperand(i, 0))),
		               build_value(s, numbered(LLVMGetOperand(i, 1))), node, ADDRESS_DISTANCE);
	if (LLVMIsAICmpInst(i) && LLVMGetTypeKind(LLVMTypeOf(LLVMGetOperand(i, 0))) == LLVMPointerTypeKind &&
	    (LLVMGetICmpPredicate(i) == LLVMIntEQ || LLVMGetICmpPredicate(i) == LLVMIntNE))
		append_address(s, build_value(s, LLVMGetOperand(i, 0)), build_value(s, LLVMGetOperand(i, 1)), node,
		               ADDRESS_COMPARED);
	if (s->rounds && is_rounded(i))
		graph_flow(s, graph_variable(s, "rounding"), node);
	if (!LLVMIsAPtrToIntInst(i))
		return;
	for (LLVMUseRef u = LLVMGetFirstUse(i); u; u = LLVMGetNextUse(u))
		if (!is_distance(LLVMGetUser(u))) {
			append_address(s, build_value(s, LLVMGetOperand(i, 0)), 0, node, ADDRESS_NUMBER);
			return;
		}
}

/* Adds the flows of an instruction that allocates, loads or stores. */
static void build_memory(struct slice *s, LLVMValueRef i, uint32_t node)
{
	uint32_t first = build_value(s, LLVMGetOperand(i, 0));
	switch (LLVMGetInstructionOpcode(i)) {
	case LLVMAlloca:
		graph_points(s, node, graph_object(s, OBJECT_MEMORY));
		break;
	case LLVMLoad:
	case LLVMVAArg:
		if (map_get(&s->apart, (uintptr_t)i) == VEC_NONE)
			graph_load(s, first, node, true);
		if (LLVMGetTypeKind(LLVMTypeOf(i)) == LLVMIntegerTypeKind)
			append_address(s, node, 0, node, ADDRESS_NUMBER);
		break;
	case LLVMStore:
		graph_store(s, first, build_value(s, LLVMGetOperand(i, 1)), true);
		break;
	case LLVMAtomicCmpXchg:
		graph_load(s, first, node, true);
		graph_store(s, build_value(s, LLVMGetOperand(i, 1)), first, true);
		graph_store(s, build_value(s, LLVMGetOperand(i, 2)), first, true);
		break;
	default: /* atomicrmw */
		graph_load(s, first, node, true);
		graph_store(s, build_value(s, LLVMGetOperand(i, 1)), first, true);
		graph_store(s, node, first, true);
		break;
	}
}

/* Is it the type of a C library's FILE? */
static bool is_stream_type(LLVMTypeRef t)
{
	const char *name = LLVMGetTypeKind(t) == LLVMStructTypeKind ? LLVMGetStructName(t) : NULL;
	return name && strncmp(name, "struct._IO_FILE", 15) == 0;
}

/* A number that was computed may be any descriptor; of pointers they may be those that went into it. */
static void build_value_instruction(struct slice *s, LLVMValueRef i, uint32_t node)
{
	bool number = LLVMGetTypeKind(LLVMTypeOf(i)) == LLVMIntegerTypeKind;
	if (LLVMIsAGetElementPtrInst(i) && LLVMGetNumOperands(i) > 2)
		s->inside_streams |= is_stream_type(LLVMGetGEPSourceElementType(i));
	build_address(s, i, node);
	if (is_made_anew(i))
		graph_points(s, node, s->elsewhere);
	bool passes = LLVMIsAPHINode(i) || LLVMIsASelectInst(i) || LLVMIsACastInst(i) || LLVMIsAExtractValueInst(i) ||
	              LLVMIsAFreezeInst(i);
	if (LLVMIsAGetElementPtrInst(i)) { /* it stays in its object, whatever the index is */
		from_operands(s, i, node, false);
		graph_copy(s, build_value(s, LLVMGetOperand(i, 0)), node);
	} else if (number && LLVMGetIntTypeWidth(LLVMTypeOf(i)) == 1)
		from_operands(s, i, node, false);
	else {
		from_operands(s, i, node, true);
		if (number && (!passes || LLVMIsAPtrToIntInst(i)))
			graph_copy(s, s->any_descriptor, node);
	}
}

/* Adds the flows of an instruction. f: its function. */
static void build_instruction(struct slice *s, LLVMValueRef i, uint32_t f)
{
	enum { COMPUTES, CALLS, ACCESSES, LEAVES, CATCHES, ONLY_GOES_ON, NOT_EXAMINED };
	static const unsigned char does[128] = {
	    [LLVMCall] = CALLS,
	    [LLVMInvoke] = CALLS,
	    [LLVMCallBr] = CALLS,
	    [LLVMAlloca] = ACCESSES,
	    [LLVMLoad] = ACCESSES,
	    [LLVMStore] = ACCESSES,
	    [LLVMVAArg] = ACCESSES,
	    [LLVMAtomicCmpXchg] = ACCESSES,
	    [LLVMAtomicRMW] = ACCESSES,
	    [LLVMRet] = LEAVES,
	    [LLVMResume] = LEAVES,
	    [LLVMLandingPad] = CATCHES,
	    [LLVMBr] = ONLY_GOES_ON,
	    [LLVMSwitch] = ONLY_GOES_ON,
	    [LLVMIndirectBr] = ONLY_GOES_ON,
	    [LLVMUnreachable] = ONLY_GOES_ON,
	    [LLVMFence] = ONLY_GOES_ON,
	    [LLVMCleanupRet] = NOT_EXAMINED,
	    [LLVMCatchRet] = NOT_EXAMINED,
	    [LLVMCatchPad] = NOT_EXAMINED,
	    [LLVMCleanupPad] = NOT_EXAMINED,
	    [LLVMCatchSwitch] = NOT_EXAMINED,
	};
	switch (does[LLVMGetInstructionOpcode(i) & 127]) {
	case CALLS:
		build_call(s, i, f);
		break;
	case ACCESSES:
		build_memory(s, i, build_value(s, i));
		break;
	case LEAVES:
		build_leaving(s, i, f);
		break;
	case CATCHES:
		graph_copy(s, s->exceptions, build_value(s, i));
		break;
	case ONLY_GOES_ON:
		break;
	case NOT_EXAMINED:
		graph_reason(s, "an exception of a kind that is not examined", "", i, f);
		break;
	default:
		build_value_instruction(s, i, build_value(s, i));
		break;
	}
}

/* ---- functions ---- */

/* Is the address of the function used other than to call it? */
static bool is_taken(LLVMValueRef f)
{
	for (LLVMUseRef u = LLVMGetFirstUse(f); u; u = LLVMGetNextUse(u)) {
		LLVMValueRef by = LLVMGetUser(u);
		bool calls = LLVMIsACallInst(by) || LLVMIsAInvokeInst(by);
		if (!calls || LLVMGetCalledValue(by) != f)
			return true;
		for (unsigned i = 0; i < LLVMGetNumArgOperands(by); i++)
			if (LLVMGetOperand(by, i) == f)
				return true;
	}
	return false;
}

/* Of a library function that is called through a pointer, so many are looked at. */
enum { STUB_ARGUMENTS = 16 };

/* Adds a function of the program or of a library. */
static void add_function(struct slice *s, LLVMValueRef v)
{
	struct slice_function f = {.value = v, .name = build_name(v), .stub = VEC_NONE};
	f.defined = LLVMCountBasicBlocks(v) > 0;
	f.taken = is_taken(v);
	f.object = graph_object(s, OBJECT_FUNCTION);
	s->objects.v[f.object].function = (uint32_t)s->functions.n;
	address_node(s, v, f.object);
	f.n_parameters = f.defined ? LLVMCountParams(v) : STUB_ARGUMENTS;
	f.parameter = llvm_need(calloc(f.n_parameters + 1, sizeof(uint32_t)));
	for (uint32_t i = 0; i < f.n_parameters; i++)
		f.parameter[i] = f.defined ? build_value(s, LLVMGetParam(v, i)) : graph_node(s, HOLDS_ALL);
	f.result = graph_node(s, HOLDS_ALL);
	f.extra = graph_object(s, OBJECT_MEMORY);
	f.control = graph_node(s, HOLDS_NOTHING);
	f.ends = graph_node(s, HOLDS_NOTHING);
	/* The arguments behind `...` lie in memory that has itself in sight. */
	graph_points(s, s->objects.v[f.extra].content, f.extra);
	*(struct slice_function *)llvm_need(vec_add(&s->functions)) = f;
	if (!map_set(&s->function_of, (uintptr_t)v, (uint32_t)s->functions.n - 1))
		llvm_die("out of memory");
}

/* A library function whose address is taken: called, it does what its row says. */
static void add_stub(struct slice *s, uint32_t f)
{
	struct slice_function *fn = &s->functions.v[f];
	if (fn->defined || !fn->taken || strncmp(fn->name, "llvm.", 5) == 0)
		return;
	struct call c = {.function = f,
	                 .effects = fn->control,
	                 .ends = fn->ends,
	                 .result = fn->result,
	                 .argument = fn->parameter,
	                 .n_arguments = fn->n_parameters,
	                 .n_fixed = LLVMCountParams(fn->value)};
	/* Those behind. */
	graph_copy(s, s->objects.v[fn->extra].content, fn->parameter[STUB_ARGUMENTS - 1]);
	*(struct call *)llvm_need(vec_add(&s->calls)) = c;
	fn->stub = (uint32_t)s->calls.n - 1;
	const char *name = fn->name;
	if (!library_apply(s, fn->stub, name))
		graph_reason(s, "a library function without a summary, called through a pointer:", name, NULL, f);
	*(uint32_t *)llvm_need(vec_add(&s->functions.v[f].calls)) = s->functions.v[f].stub;
}

/* ---- the arguments of the program ---- */

enum { ARGUMENTS_MOST = 64, NAMES_MOST = 256 };

/* The values that are the array of the arguments; and those that are an element of it, by a constant number. */
struct argv {
	LLVMValueRef name[NAMES_MOST];
	size_t n;
	struct element {
		LLVMValueRef load;
		long long number;
	} element[NAMES_MOST];
	size_t n_elements;
	bool escapes; /* what else is done with it is not known */
};

/* Adds a name by which the program has its arguments. */
static void append_name(struct argv *a, LLVMValueRef v)
{
	if (a->n == NAMES_MOST)
		a->escapes = true;
	else
		a->name[a->n++] = v;
}

/* It is kept in a variable to which nothing else is stored: what is loaded from there is it. */
static void follow_variable(struct argv *a, LLVMValueRef store)
{
	LLVMValueRef var = LLVMGetOperand(store, 1);
	for (LLVMUseRef u = LLVMIsAAllocaInst(var) ? LLVMGetFirstUse(var) : NULL; u; u = LLVMGetNextUse(u)) {
		LLVMValueRef by = LLVMGetUser(u);
		if (LLVMIsALoadInst(by))
			append_name(a, by);
		else if (by != store && !LLVMIsADbgInfoIntrinsic(by) && LLVMIsAInstruction(by))
			a->escapes = true;
	}
	a->escapes |= !LLVMIsAAllocaInst(var);
}

/* The load is of argument n; negative: it may be of any. */
static void append_element(struct argv *a, LLVMValueRef load, long long n)
{
	if (n >= 0 && n < ARGUMENTS_MOST && a->n_elements < NAMES_MOST)
		a->element[a->n_elements++] = (struct element){load, n};
}

/* What is done with the address of an element: it is to be loaded or compared, no more. */
static void follow_element(struct argv *a, LLVMValueRef address)
{
	LLVMValueRef index = LLVMGetNumOperands(address) == 2 ? LLVMGetOperand(address, 1) : NULL;
	/* Counted in pointers, not in bytes. */
	bool counts = LLVMGetTypeKind(LLVMGetGEPSourceElementType(address)) == LLVMPointerTypeKind;
	long long n = counts && index && LLVMIsAConstantInt(index) ? LLVMConstIntGetSExtValue(index) : -1;
	for (LLVMUseRef u = LLVMGetFirstUse(address); u; u = LLVMGetNextUse(u)) {
		LLVMValueRef by = LLVMGetUser(u);
		if (!LLVMIsALoadInst(by))
			a->escapes |= !LLVMIsAICmpInst(by);
		else
			append_element(a, by, n);
	}
}

/* Finds what the program does with argv: with which constants arguments are compared, whether it goes where it is
 * not seen. */
static void follow_argv(struct argv *a, LLVMValueRef v)
{
	append_name(a, v);
	for (size_t i = 0; i < a->n && !a->escapes; i++)
		for (LLVMUseRef u = LLVMGetFirstUse(a->name[i]); u; u = LLVMGetNextUse(u)) {
			LLVMValueRef by = LLVMGetUser(u);
			if (LLVMIsAStoreInst(by) && LLVMGetOperand(by, 0) == a->name[i])
				follow_variable(a, by);
			else if (LLVMIsAGetElementPtrInst(by) && LLVMGetOperand(by, 0) == a->name[i])
				follow_element(a, by);
			else if (LLVMIsALoadInst(by))
				append_element(a, by, 0);
			else if (LLVMIsAInstruction(by) && !LLVMIsAICmpInst(by) && !LLVMIsADbgInfoIntrinsic(by))
				a->escapes = true;
		}
}

/* Makes an object whose content is an input from outside. */
static uint32_t input_object(struct slice *s, const char *kind, const char *name)
{
	uint32_t o = graph_object(s, OBJECT_MEMORY);
	graph_flow(s, graph_input(s, kind, name, NULL, VEC_NONE), s->objects.v[o].content);
	return o;
}

/* Arguments that are read by a constant number are inputs of their own; list: the object of the array. */
static void tell_apart(struct slice *s, const struct argv *a, uint32_t count, uint32_t list)
{
	uint32_t text[ARGUMENTS_MOST] = {0};
	for (size_t i = 0; i < a->n_elements; i++) {
		char name[16];
		long long n = a->element[i].number;
		uint32_t node = graph_node(s, HOLDS_POINTERS);
		snprintf(name, sizeof(name), "%lld", n);
		if (!text[n]) {
			text[n] = input_object(s, "argument", llvm_need(strdup(name)));
			if (n == 0) /* messages of the library begin with it */
				graph_flow(s, s->objects.v[text[n]].content, graph_variable(s, "program"));
			graph_points(s, s->objects.v[list].content, text[n]);
		}
		graph_points(s, node, text[n]);
		graph_flow(s, count, node);
		graph_flow(s, s->objects.v[text[n]].content, node); /* whether it is there */
		if (!map_set(&s->node_of, (uintptr_t)a->element[i].load, node) ||
		    !map_set(&s->apart, (uintptr_t)a->element[i].load, node))
			llvm_die("out of memory");
	}
}

uint32_t build_environment(struct slice *s)
{
	if (s->environment)
		return s->environment;
	uint32_t list = graph_object(s, OBJECT_MEMORY), text = input_object(s, "environment", "");
	graph_flow(s, graph_variable(s, "inherited"), s->objects.v[text].content);
	graph_flow(s, s->objects.v[text].content, s->objects.v[list].content);
	graph_points(s, s->objects.v[list].content, text);
	graph_points(s, graph_variable(s, "environ"), text);
	graph_points(s, graph_variable(s, "environ"), list);
	/* The library changes the array in its place. */
	graph_copy(s, graph_variable(s, "environ"), s->objects.v[list].content);
	s->environment = list;
	return list;
}

/* Makes the inputs of main: the number of arguments, the arguments and the environment. */
static void build_arguments(struct slice *s, LLVMValueRef f)
{
	unsigned n = LLVMCountParams(f);
	uint32_t list = graph_object(s, OBJECT_MEMORY), count = graph_input(s, "argument count", "", NULL, VEC_NONE);
	graph_flow(s, count, s->objects.v[list].content);
	if (n > 0)
		graph_flow(s, count, build_value(s, LLVMGetParam(f, 0)));
	if (n > 1) {
		struct argv a = {.n = 0};
		follow_argv(&a, LLVMGetParam(f, 1));
		if (!a.escapes && !LLVMGetFirstUse(f)) /* nobody calls main with others */
			tell_apart(s, &a, count, list);
		uint32_t rest = input_object(s, "arguments", "");
		graph_points(s, s->objects.v[list].content, rest);
		graph_flow(s, s->objects.v[rest].content, graph_variable(s, "program"));
		graph_points(s, build_value(s, LLVMGetParam(f, 1)), list);
	}
	if (n > 2) {
		graph_points(s, build_value(s, LLVMGetParam(f, 2)), build_environment(s));
	}
}

/* ---- all of it ---- */

/* Makes what each program has: standard streams, exceptions, what is not known. */
static void build_standard(struct slice *s)
{
	static const char *const kinds[] = {"standard input", "standard output", "standard error"};
	graph_node(s, HOLDS_NOTHING); /* 0 */
	s->exceptions = graph_variable(s, "exceptions");
	s->abnormal = graph_node(s, HOLDS_NOTHING);
	s->at_any_time = graph_variable(s, "any_time");
	s->unknown = graph_object(s, OBJECT_UNKNOWN);
	graph_points(s, s->objects.v[s->unknown].content, s->unknown);
	s->elsewhere = graph_object(s, OBJECT_ELSEWHERE);
	graph_points(s, s->objects.v[s->elsewhere].content, s->elsewhere);
	s->bytes = graph_object(s, OBJECT_BYTES);
	s->any_file = graph_stream(s, OBJECT_DESCRIPTOR, NULL);
	s->touched = graph_stream(s, OBJECT_DESCRIPTOR, NULL);
	s->any_descriptor = graph_node(s, HOLDS_ALL);
	graph_points(s, s->any_descriptor, s->any_file);
	graph_flow(s, graph_input(s, "unknown descriptor", "", NULL, VEC_NONE), s->objects.v[s->any_file].in);
	for (int i = 0; i < 3; i++) {
		uint32_t fd = graph_stream(s, OBJECT_DESCRIPTOR, NULL), file = graph_stream(s, OBJECT_STREAM, NULL);
		s->standard[i] = file;
		s->objects.v[fd].standard = s->objects.v[file].standard = true;
		s->descriptor[i] = graph_node(s, HOLDS_ALL);
		graph_points(s, s->descriptor[i], fd);
		if (i == 0)
			graph_flow(s, graph_input(s, kinds[0], "", NULL, VEC_NONE), s->objects.v[file].in);
		/* One thing under two names. */
		graph_flow(s, s->objects.v[file].in, s->objects.v[fd].in);
		graph_flow(s, s->objects.v[fd].in, s->objects.v[file].in);
		graph_flow(s, s->objects.v[file].position, s->objects.v[fd].position);
		graph_flow(s, s->objects.v[fd].position, s->objects.v[file].position);
		graph_flow(s, s->objects.v[file].out, s->objects.v[fd].out);
		graph_flow(s, s->objects.v[fd].out, s->objects.v[file].out);
	}
}

/* What is called before main and at the end without that the program says so. */
static void build_lists(struct slice *s)
{
	static const char *const names[] = {"llvm.global_ctors", "llvm.global_dtors"};
	for (size_t i = 0; i < 2; i++) {
		LLVMValueRef v = LLVMGetNamedGlobal(s->module, names[i]);
		if (!v)
			continue;
		struct call c = {.effects = i ? graph_variable(s, "exit") : graph_node(s, HOLDS_NOTHING),
		                 .ends = graph_node(s, HOLDS_NOTHING),
		                 .later = true,
		                 .function = VEC_NONE};
		*(struct call *)llvm_need(vec_add(&s->calls)) = c;
		graph_take(s, build_value(s, LLVMGetInitializer(v)), (uint32_t)s->calls.n - 1, true);
	}
}

void build_program(struct slice *s)
{
	build_standard(s);
	hidden_find(s);
	for (LLVMValueRef v = LLVMGetFirstFunction(s->module); v; v = LLVMGetNextFunction(v))
		add_function(s, v);
	LLVMValueRef start = LLVMGetNamedFunction(s->module, "main");
	if (start && LLVMCountBasicBlocks(start))
		build_arguments(s, start);
	else
		graph_reason(s, "there is no main, so the callers of its functions are unknown", "", NULL, VEC_NONE);
	build_variables(s);
	for (uint32_t i = 0; i < s->functions.n; i++)
		add_stub(s, i);
	for (uint32_t i = 0; i < s->functions.n; i++) {
		LLVMValueRef f = s->functions.v[i].value;
		for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
			for (LLVMValueRef k = LLVMGetFirstInstruction(b); k; k = LLVMGetNextInstruction(k))
				build_instruction(s, k, i);
	}
	build_lists(s);
}
