/* Two versions of each function that is traced: as it was, and one that traces. Which of them runs is decided when the
 * program starts, by a variable that does not change afterwards, so a program that is not traced costs what it cost.
 *
 * f becomes f.traced, its copy f.plain, and f itself chooses. Calls from one version go to the same version of what is
 * called, and addresses are always those of f. Copies are made by writing the module down before anything is inserted,
 * and linking it in once more: variables, and functions that are not traced, are there once, by their names. */
#include "spec/llvm/versions.h"

#include <llvm-c/BitReader.h>
#include <llvm-c/BitWriter.h>
#include <llvm-c/Comdat.h>
#include <llvm-c/DebugInfo.h>
#include <llvm-c/Linker.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A function with two versions. */
struct versioned {
	struct function *f;
	char *name;
	LLVMLinkage linkage;
	bool jumps; /* addresses of its blocks are kept in tables; it is only called, so nobody has its own address */
	LLVMValueRef version, chooser;
};

/* What is seen in its file only, and must have a name while there are two modules. */
struct local_symbol {
	LLVMValueRef value;
	LLVMLinkage linkage;
};

struct versions {
	LLVMMemoryBufferRef plain;
	VEC(struct versioned) functions;
	VEC(struct local_symbol) locals;
	VEC(char *) tables; /* names of tables of addresses of blocks */
	uint32_t named;
};

/* Is it a linkage within the file alone? */
static bool is_local(LLVMLinkage l)
{
	return l == LLVMInternalLinkage || l == LLVMPrivateLinkage;
}

/* A copy, for free(). */
static char *value_name(LLVMValueRef v)
{
	size_t n;
	const char *s = LLVMGetValueName2(v, &n);
	return llvm_need(strndup(s, n));
}

/* ---- which functions ---- */

/* The tables that hold an address of a block: each must be a constant that only its file sees. */
static bool are_tables_own(struct versions *v, LLVMValueRef constant, int depth)
{
	for (LLVMUseRef u = LLVMGetFirstUse(constant); u; u = LLVMGetNextUse(u)) {
		LLVMValueRef by = LLVMGetUser(u);
		if (LLVMIsAGlobalVariable(by)) {
			if (!is_local(LLVMGetLinkage(by)) || !LLVMIsGlobalConstant(by))
				return false;
			*(char **)llvm_need(vec_add(&v->tables)) = value_name(by);
		} else if (LLVMIsAConstant(by)) {
			if (depth > 8 || !are_tables_own(v, by, depth + 1))
				return false;
		} /* else an instruction of the function */
	}
	return true;
}

/* Not stored or passed anywhere: only the functions that call it know of it. */
static bool is_only_called(LLVMValueRef f)
{
	for (LLVMUseRef u = LLVMGetFirstUse(f); u; u = LLVMGetNextUse(u)) {
		LLVMValueRef by = LLVMGetUser(u);
		if (LLVMIsABlockAddress(by))
			continue;
		if ((!LLVMIsACallInst(by) && !LLVMIsAInvokeInst(by)) || LLVMGetCalledValue(by) != f)
			return false;
		unsigned n = LLVMGetNumArgOperands(by);
		for (unsigned i = 0; i < n; i++)
			if (LLVMGetOperand(by, i) == f)
				return false;
	}
	return true;
}

/* Are addresses of its blocks used? *ret_own: in its own tables only. */
static bool has_block_addresses(struct versions *v, LLVMValueRef f, bool *ret_own)
{
	bool any = false;
	*ret_own = true;
	for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
		for (LLVMUseRef u = LLVMGetFirstUse(LLVMBasicBlockAsValue(b)); u; u = LLVMGetNextUse(u))
			if (LLVMIsABlockAddress(LLVMGetUser(u))) {
				any = true;
				*ret_own &= are_tables_own(v, LLVMGetUser(u), 0);
			}
	return any;
}

/* Has the function an attribute of LLVM's of that name? False also for a name that this LLVM does not know. */
static bool has_function_attribute(LLVMValueRef f, const char *name)
{
	unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
	return kind && LLVMGetEnumAttributeAtIndex(f, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, kind);
}

/* Those that take any number of arguments cannot hand them on; they trace always, to where nobody reads. */
static bool can_have_versions(struct versions *v, const struct function *f, bool *ret_jumps)
{
	bool own;
	if (!f->reaches || f->untraceable || LLVMGetLinkage(f->value) == LLVMAvailableExternallyLinkage ||
	    LLVMIsFunctionVarArg(LLVMGlobalGetValueType(f->value)) || has_function_attribute(f->value, "naked") ||
	    has_function_attribute(f->value, "returns_twice"))
		return false;
	*ret_jumps = has_block_addresses(v, f->value, &own);
	return !*ret_jumps || (own && is_only_called(f->value));
}

/* ---- before anything is inserted ---- */

/* A value without a name gets one that nothing else has. */
static void give_name(struct versions *v, LLVMValueRef x)
{
	char name[48];
	size_t n;
	LLVMGetValueName2(x, &n);
	if (!n) {
		snprintf(name, sizeof(name), "__stemma_local.%u", v->named++);
		LLVMSetValueName2(x, name, strlen(name));
	}
	if (!is_local(LLVMGetLinkage(x)))
		return;
	*(struct local_symbol *)llvm_need(vec_add(&v->locals)) = (struct local_symbol){x, LLVMGetLinkage(x)};
	LLVMSetLinkage(x, LLVMExternalLinkage);
	LLVMSetVisibility(x, LLVMHiddenVisibility);
}

struct versions *versions_keep(struct program *p)
{
	struct versions *v = llvm_need(calloc(1, sizeof(*v)));
	if (LLVMGetFirstGlobalIFunc(p->module))
		return v;
	for (size_t i = 0; i < p->functions.n; i++) {
		struct function *f = &p->functions.v[i];
		bool jumps = false;
		if (can_have_versions(v, f, &jumps))
			*(struct versioned *)llvm_need(vec_add(&v->functions)) =
			    (struct versioned){f, value_name(f->value), LLVMGetLinkage(f->value), jumps, NULL, NULL};
	}
	if (!v->functions.n)
		return v;
	for (LLVMValueRef x = LLVMGetFirstFunction(p->module); x; x = LLVMGetNextFunction(x))
		give_name(v, x);
	for (LLVMValueRef x = LLVMGetFirstGlobal(p->module); x; x = LLVMGetNextGlobal(x))
		give_name(v, x);
	for (LLVMValueRef x = LLVMGetFirstGlobalAlias(p->module); x; x = LLVMGetNextGlobalAlias(x))
		give_name(v, x);
	v->plain = LLVMWriteBitcodeToMemoryBuffer(p->module);
	return v;
}

/* ---- the copy ---- */

/* Gives x a name that is made of two parts. behind: a suffix. */
static void set_joined_name(LLVMValueRef x, const char *name, const char *behind)
{
	struct buf b = {0};
	buf_printf(&b, "%s%s", name, behind);
	LLVMSetValueName2(x, buf_cstr(&b), b.n);
	buf_release(&b);
}

/* May the linker put another one in its place? Then who calls it must not know which it is. */
static bool is_replaceable(LLVMLinkage l)
{
	return l == LLVMWeakAnyLinkage || l == LLVMLinkOnceAnyLinkage || l == LLVMExternalWeakLinkage;
}

/* In f, calls of what chooses go to `version`; index: chooser -> versioned. */
static void call_versions(struct versions *v, LLVMValueRef f, const struct map *index)
{
	for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
		for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i)) {
			if (!LLVMIsACallInst(i) && !LLVMIsAInvokeInst(i))
				continue;
			uint32_t k = map_get(index, (uintptr_t)LLVMGetCalledValue(i));
			if (k != VEC_NONE && !is_replaceable(v->functions.v[k].linkage))
				LLVMSetOperand(i, (unsigned)LLVMGetNumOperands(i) - 1, v->functions.v[k].version);
		}
}

/* From an LLVM function to its number in v. */
static void index_choosers(struct versions *v, struct map *index)
{
	for (size_t i = 0; i < v->functions.n; i++)
		if (v->functions.v[i].chooser && !map_set(index, (uintptr_t)v->functions.v[i].chooser, (uint32_t)i))
			llvm_die("out of memory");
}

/* The plain version stands for x->name until a chooser does. Dies where the function is lost. */
static void make_plain(LLVMModuleRef m, struct versioned *x)
{
	x->version = LLVMGetNamedFunction(m, x->name);
	x->chooser = NULL;
	if (!x->version || !LLVMCountBasicBlocks(x->version))
		llvm_die("'%s' is lost in its copy", x->name);
	set_joined_name(x->version, x->name, ".plain");
	if (!x->jumps) {
		x->chooser = LLVMAddFunction(m, x->name, LLVMGlobalGetValueType(x->version));
		LLVMReplaceAllUsesWith(x->version, x->chooser);
	}
	LLVMSetComdat(x->version, NULL);
	/* What is local, and called by nobody, would not be linked in. */
	LLVMSetLinkage(x->version, LLVMExternalLinkage);
	LLVMSetVisibility(x->version, LLVMHiddenVisibility);
}

/* By its name: a table of addresses of blocks. */
static bool is_plain_table(const struct versions *v, LLVMValueRef x)
{
	size_t n;
	const char *name = LLVMGetValueName2(x, &n);
	for (size_t i = 0; i < v->tables.n; i++)
		if (strcmp(v->tables.v[i], name) == 0)
			return true;
	return false;
}

/* What is there already is taken from there. */
static void take_from_there(LLVMValueRef x)
{
	LLVMSetComdat(x, NULL);
	LLVMSetLinkage(x, LLVMAvailableExternallyLinkage);
}

/* All but tables that only plain versions use are declared, and defined elsewhere. */
static void reduce_globals(struct versions *v, LLVMModuleRef m)
{
	for (LLVMValueRef x = LLVMGetFirstGlobal(m), next; x; x = next) {
		size_t n;
		next = LLVMGetNextGlobal(x);
		if (strncmp(LLVMGetValueName2(x, &n), "llvm.", 5) == 0) {
			LLVMDeleteGlobal(x);
		} else if (is_plain_table(v, x)) {
			char *name = value_name(x);
			set_joined_name(x, name, ".plain");
			LLVMSetLinkage(x, LLVMInternalLinkage);
			free(name);
		} else if (LLVMGetInitializer(x)) {
			take_from_there(x);
		}
	}
	for (LLVMValueRef x = LLVMGetFirstGlobalAlias(m); x; x = LLVMGetNextGlobalAlias(x))
		LLVMSetLinkage(x, LLVMWeakAnyLinkage);
	LLVMSetModuleInlineAsm2(m, "", 0);
}

/* The copy, with the plain versions and nothing else that is not there already. */
static LLVMModuleRef make_copy(struct program *p, struct versions *v)
{
	LLVMModuleRef m;
	struct map index = {0};
	if (LLVMParseBitcodeInContext2(LLVMGetModuleContext(p->module), v->plain, &m))
		llvm_die("the copy of the program cannot be read");
	/* Before the functions, whose names their initializers have. */
	reduce_globals(v, m);
	for (size_t i = 0; i < v->functions.n; i++)
		make_plain(m, &v->functions.v[i]);
	index_choosers(v, &index);
	for (size_t i = 0; i < v->functions.n; i++)
		call_versions(v, v->functions.v[i].version, &index);
	map_clear(&index);
	for (size_t i = 0; i < v->functions.n; i++)
		if (!map_set(&index, (uintptr_t)v->functions.v[i].version, 0))
			llvm_die("out of memory");
	for (LLVMValueRef f = LLVMGetFirstFunction(m); f; f = LLVMGetNextFunction(f))
		if (LLVMCountBasicBlocks(f) && map_get(&index, (uintptr_t)f) == VEC_NONE)
			take_from_there(f);
	map_release(&index);
	return m;
}

/* ---- what chooses ---- */

/* At one index (of LLVM's: return value, function, parameters), to a function or, where that is NULL, a call. */
static void copy_attributes(LLVMValueRef from, LLVMValueRef function, LLVMValueRef call, LLVMAttributeIndex index)
{
	LLVMAttributeRef v[64];
	if (LLVMGetAttributeCountAtIndex(from, index) > 64)
		return;
	LLVMGetAttributesAtIndex(from, index, v);
	for (unsigned i = 0; i < LLVMGetAttributeCountAtIndex(from, index); i++) {
		if (function)
			LLVMAddAttributeAtIndex(function, index, v[i]);
		else
			LLVMAddCallSiteAttribute(call, index, v[i]);
	}
}

/* Calls a version with the arguments that the chooser was given, and returns what that does. */
static void build_version_call(LLVMBuilderRef b, LLVMValueRef chooser, LLVMValueRef version, LLVMValueRef like)
{
	LLVMTypeRef type = LLVMGlobalGetValueType(chooser), returned = LLVMGetReturnType(type);
	unsigned n = LLVMCountParams(chooser), by_value = LLVMGetEnumAttributeKindForName("byval", 5);
	LLVMValueRef *args = llvm_need(calloc(n + 1, sizeof(*args)));
	bool tail = true;
	LLVMGetParams(chooser, args);
	if (LLVMGlobalGetValueType(version) != type)
		version = LLVMConstBitCast(version, LLVMTypeOf(chooser));
	LLVMValueRef call = LLVMBuildCall2(b, type, version, args, n, "");
	LLVMSetInstructionCallConv(call, LLVMGetFunctionCallConv(like));
	for (unsigned i = 0; i <= n; i++) {
		copy_attributes(like, NULL, call, i);
		tail &= !LLVMGetEnumAttributeAtIndex(like, i, by_value);
	}
	LLVMSetTailCall(call, tail);
	if (LLVMGetTypeKind(returned) == LLVMVoidTypeKind)
		LLVMBuildRetVoid(b);
	else
		LLVMBuildRet(b, call);
	free(args);
}

/* A function that calls the traced version where `on` is not 0, else the plain one. */
static void make_chooser(LLVMModuleRef m, LLVMBuilderRef b, LLVMValueRef on, const struct versioned *x)
{
	LLVMContextRef context = LLVMGetModuleContext(m);
	LLVMTypeRef i32 = LLVMInt32TypeInContext(context);
	LLVMValueRef f = x->chooser, traced = x->version;
	struct buf name = {0};
	buf_printf(&name, "%s.plain", x->name);
	LLVMValueRef plain = LLVMGetNamedFunction(m, buf_cstr(&name));
	if (!plain)
		llvm_die("'%s' is lost between two modules", buf_cstr(&name));
	buf_release(&name);
	LLVMBasicBlockRef entry = LLVMAppendBasicBlockInContext(context, f, ""),
	                  way[2] = {LLVMAppendBasicBlockInContext(context, f, ""),
	                            LLVMAppendBasicBlockInContext(context, f, "")};
	LLVMPositionBuilderAtEnd(b, entry);
	LLVMValueRef is_on = LLVMBuildICmp(b, LLVMIntNE, LLVMBuildLoad2(b, i32, on, ""), LLVMConstInt(i32, 0, false), "");
	LLVMBuildCondBr(b, is_on, way[0], way[1]);
	LLVMPositionBuilderAtEnd(b, way[0]);
	build_version_call(b, f, traced, traced);
	LLVMPositionBuilderAtEnd(b, way[1]);
	build_version_call(b, f, plain, traced);
	LLVMSetLinkage(plain, LLVMInternalLinkage);
	LLVMSetLinkage(traced, LLVMInternalLinkage);
}

/* The function of that name, so far the version that traces, becomes what chooses. */
static void put_chooser(LLVMModuleRef m, struct versioned *x)
{
	LLVMValueRef traced = x->f->value;
	LLVMComdatRef comdat = LLVMGetComdat(traced);
	set_joined_name(traced, x->name, ".traced");
	x->version = traced;
	x->chooser = LLVMAddFunction(m, x->name, LLVMGlobalGetValueType(traced));
	LLVMSetFunctionCallConv(x->chooser, LLVMGetFunctionCallConv(traced));
	for (unsigned i = 0; i <= LLVMCountParams(traced); i++)
		copy_attributes(traced, x->chooser, NULL, i);
	copy_attributes(traced, x->chooser, NULL, (LLVMAttributeIndex)LLVMAttributeFunctionIndex);
	if (!x->jumps)
		LLVMReplaceAllUsesWith(traced, x->chooser);
	LLVMSetUnnamedAddress(x->chooser, LLVMGetUnnamedAddress(traced));
	LLVMSetLinkage(x->chooser, is_local(x->linkage) ? LLVMInternalLinkage : x->linkage);
	if (!is_local(x->linkage))
		LLVMSetVisibility(x->chooser, LLVMGetVisibility(traced));
	const char *section = LLVMGetSection(traced); /* NULL: none, as it may be "" */
	if (section && *section)
		LLVMSetSection(x->chooser, section);
	LLVMSetComdat(traced, NULL);
	LLVMSetComdat(x->chooser, comdat);
}

/* Who has one version only asks each time: also those that jump, whose own name has not been replaced. */
static void call_choosers(struct program *p, struct versions *v)
{
	struct map jumping = {0};
	for (size_t i = 0; i < v->functions.n; i++)
		if (v->functions.v[i].jumps && !map_set(&jumping, (uintptr_t)v->functions.v[i].version, (uint32_t)i))
			llvm_die("out of memory");
	for (size_t k = 0; jumping.n && k < p->functions.n; k++) {
		LLVMValueRef f = p->functions.v[k].value;
		bool versions = false;
		for (size_t i = 0; i < v->functions.n; i++)
			versions |= v->functions.v[i].version == f;
		for (LLVMBasicBlockRef b = versions ? NULL : LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
			for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i)) {
				bool call = LLVMIsACallInst(i) || LLVMIsAInvokeInst(i);
				uint32_t x = call ? map_get(&jumping, (uintptr_t)LLVMGetCalledValue(i)) : VEC_NONE;
				if (x != VEC_NONE)
					LLVMSetOperand(i, (unsigned)LLVMGetNumOperands(i) - 1, v->functions.v[x].chooser);
			}
	}
	map_release(&jumping);
}

void versions_add(struct program *p, struct versions *v)
{
	LLVMModuleRef m = p->module;
	struct map index = {0};
	if (!v->plain)
		return;
	if (LLVMLinkModules2(m, make_copy(p, v)))
		llvm_die("the plain versions of functions cannot be put in");
	LLVMBuilderRef b = LLVMCreateBuilderInContext(LLVMGetModuleContext(m));
	LLVMValueRef on = LLVMAddGlobal(m, LLVMInt32TypeInContext(LLVMGetModuleContext(m)), "__stemma_trace_on");
	LLVMSetVisibility(on, LLVMHiddenVisibility);
	for (size_t i = 0; i < v->functions.n; i++)
		put_chooser(m, &v->functions.v[i]);
	index_choosers(v, &index);
	for (size_t i = 0; i < v->functions.n; i++)
		call_versions(v, v->functions.v[i].version, &index);
	call_choosers(p, v);
	for (size_t i = 0; i < v->functions.n; i++)
		make_chooser(m, b, on, &v->functions.v[i]);
	for (size_t i = 0; i < v->locals.n; i++)
		LLVMSetLinkage(v->locals.v[i].value, v->locals.v[i].linkage);
	map_release(&index);
}
