#include "spec/llvm/program.h"

#include "base/hash.h"

#include <llvm/Config/llvm-config.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- libraries ---- */

static const struct {
	const char *name;
	char what; /* r: reaches, h: does not */
	bool calls;
} library[] = {
#define REACHES(name) {#name, 'r', false},
#define REACHES_CALLS(name) {#name, 'r', true},
#define HARMLESS(name) {#name, 'h', false},
#define CALLS(name) {#name, 'h', true},
#include "spec/llvm/libcalls.def"
};

/* For bsearch in a table whose rows begin with the name. */
static int compare_key_to_name(const void *key, const void *row)
{
	return strcmp(key, *(const char *const *)row);
}

enum library program_library_class(const char *name, bool *ret_calls)
{
	size_t n = sizeof(library) / sizeof(library[0]);
	*ret_calls = false;
	for (int pass = 0; pass < 2; pass++) {
		const char *row = bsearch(name, library, n, sizeof(library[0]), compare_key_to_name);
		if (row) {
			size_t i = (size_t)(row - (const char *)library) / sizeof(library[0]);
			*ret_calls = library[i].calls;
			return library[i].what == 'r' ? LIBRARY_REACHES : LIBRARY_HARMLESS;
		}
		/* The other name that glibc's headers give it. */
		if (strncmp(name, "__isoc99_", 9) == 0 || strncmp(name, "__isoc23_", 9) == 0)
			name += 9;
		else
			break;
	}
	return LIBRARY_UNKNOWN;
}

/* ---- functions ---- */

/* NULL: not of this program. */
struct function *program_function(struct program *p, LLVMValueRef v)
{
	uint32_t i = map_get(&p->function_of, (uintptr_t)v);
	return i == VEC_NONE ? NULL : &p->functions.v[i];
}

/* Past casts and aliases, to what is called. */
static LLVMValueRef strip_casts(LLVMValueRef v)
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

/* The shape of a function's type: pointers are all alike, so that what the type system tells apart and the machine
 * does not is the same. */
static void write_type_signature(LLVMTypeRef t, struct buf *b, int depth)
{
	switch (LLVMGetTypeKind(t)) {
	case LLVMVoidTypeKind:
		buf_char(b, 'v');
		break;
	case LLVMIntegerTypeKind:
		buf_printf(b, "i%u", LLVMGetIntTypeWidth(t));
		break;
	case LLVMPointerTypeKind:
		buf_char(b, 'p');
		break;
	case LLVMStructTypeKind: {
		unsigned n = LLVMCountStructElementTypes(t);
		buf_char(b, '{');
		for (unsigned i = 0; i < n && depth < 16; i++)
			write_type_signature(LLVMStructGetTypeAtIndex(t, i), b, depth + 1);
		buf_char(b, '}');
		break;
	}
	case LLVMArrayTypeKind:
		buf_printf(b, "[%u", LLVMGetArrayLength(t));
		write_type_signature(LLVMGetElementType(t), b, depth + 1);
		buf_char(b, ']');
		break;
	case LLVMVectorTypeKind:
		buf_printf(b, "<%u", LLVMGetVectorSize(t));
		write_type_signature(LLVMGetElementType(t), b, depth + 1);
		buf_char(b, '>');
		break;
	default:
		buf_printf(b, "k%d", (int)LLVMGetTypeKind(t));
		break;
	}
}

/* Equal for equal types of return value and parameters. */
static uint32_t number_signature(LLVMTypeRef type)
{
	struct buf b = {0};
	unsigned n = LLVMCountParamTypes(type);
	LLVMTypeRef *params = llvm_need(calloc(n + 1, sizeof(*params)));
	LLVMGetParamTypes(type, params);
	write_type_signature(LLVMGetReturnType(type), &b, 0);
	buf_char(&b, '(');
	for (unsigned i = 0; i < n; i++)
		write_type_signature(params[i], &b, 0);
	if (LLVMIsFunctionVarArg(type))
		buf_str(&b, str_of("..."));
	if (b.failed)
		llvm_die("out of memory");
	uint32_t h = hash_fold(hash_bytes(b.p, b.n));
	buf_release(&b);
	free(params);
	return h;
}

/* Is it a call? */
static bool is_call_inst(LLVMValueRef i)
{
	return LLVMIsACallInst(i) || LLVMIsAInvokeInst(i);
}

/* Is the address of v used otherwise than to be called? */
static bool address_taken(LLVMValueRef v, int depth)
{
	for (LLVMUseRef u = LLVMGetFirstUse(v); u; u = LLVMGetNextUse(u)) {
		LLVMValueRef user = LLVMGetUser(u);
		if (is_call_inst(user)) {
			unsigned n = LLVMGetNumArgOperands(user);
			for (unsigned i = 0; i < n; i++)
				if (LLVMGetOperand(user, i) == v)
					return true;
		} else if (LLVMIsABlockAddress(user)) {
			continue;
		} else if (LLVMIsAGlobalAlias(user)) {
			if (LLVMGetLinkage(user) != LLVMInternalLinkage || address_taken(user, depth + 1))
				return true;
		} else if (LLVMIsAConstantExpr(user) && depth < 8) {
			if (address_taken(user, depth + 1))
				return true;
		} else
			return true;
	}
	return false;
}

/* LLVM's own text, valid as long as the value; "" for none. A leading \1, which tells the linker to take the name as it
 * is, is not part of it. */
static const char *llvm_value_name(LLVMValueRef v)
{
	size_t n;
	const char *s = LLVMGetValueName2(v, &n);
	/* \1: the name is to be taken as it is */
	if (n && *s == '\1')
		s++;
	return s;
}

/* ---- calls ---- */

/* Of the call, or of what it calls. */
static bool has_attribute(LLVMValueRef call, LLVMValueRef callee, const char *name)
{
	unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
	return LLVMGetCallSiteEnumAttribute(call, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, kind) ||
	       (callee && LLVMIsAFunction(callee) &&
	        LLVMGetEnumAttributeAtIndex(callee, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, kind));
}

/* Adds it to x's targets unless it is there. x must be the point whose targets are the last in p->targets. */
static void append_call_target(struct program *p, struct point *x, uint32_t function)
{
	for (uint32_t i = 0; i < x->n_targets; i++)
		if (p->targets.v[x->first_target + i] == function)
			return;
	*(uint32_t *)llvm_need(vec_add(&p->targets)) = function;
	x->n_targets++;
}

/* One more function that may be called. */
static void add_function_target(struct program *p, struct point *x, const struct function *f, bool *reaches)
{
	bool calls;
	if (f->defined)
		append_call_target(p, x, (uint32_t)(f - p->functions.v));
	else if (program_library_class(f->name, &calls) != LIBRARY_HARMLESS)
		*reaches = true;
}

/* Is the user a call of a function of LLVM's own of which the name begins so? */
static bool calls_intrinsic(LLVMValueRef user, const char *name)
{
	LLVMValueRef callee = is_call_inst(user) ? LLVMGetCalledValue(user) : NULL;
	return callee && LLVMIsAFunction(callee) && strncmp(llvm_value_name(callee), name, strlen(name)) == 0;
}

/* Does the user only mark where a variable's life begins and ends, or tell debuggers of it? */
static bool only_marks(LLVMValueRef user)
{
	if (is_call_inst(user))
		return calls_intrinsic(user, "llvm.");
	LLVMUseRef w = LLVMIsABitCastInst(user) ? LLVMGetFirstUse(user) : NULL;
	if (!w)
		return false;
	for (; w; w = LLVMGetNextUse(w))
		if (!calls_intrinsic(LLVMGetUser(w), "llvm.lifetime"))
			return false;
	return true;
}

static bool in_sight(struct program *p, struct point *x, LLVMValueRef v, bool *reaches, int depth);

/* Are all values known that are stored in a variable whose address goes nowhere? Adds the functions among them to
 * those that the call may reach. */
static bool stored_in_sight(struct program *p, struct point *x, LLVMValueRef var, bool *reaches, int depth)
{
	bool global = LLVMIsAGlobalVariable(var) && LLVMGetLinkage(var) == LLVMInternalLinkage && LLVMGetInitializer(var);
	if (!global && !LLVMIsAAllocaInst(var))
		return false;
	if (global && !in_sight(p, x, LLVMGetInitializer(var), reaches, depth + 1))
		return false;
	for (LLVMUseRef u = LLVMGetFirstUse(var); u; u = LLVMGetNextUse(u)) {
		LLVMValueRef user = LLVMGetUser(u);
		bool stores = LLVMIsAStoreInst(user) && LLVMGetOperand(user, 1) == var;
		if (stores && !in_sight(p, x, LLVMGetOperand(user, 0), reaches, depth + 1))
			return false;
		if (!stores && !LLVMIsALoadInst(user) && !only_marks(user))
			return false;
	}
	return true;
}

/* Are all values known that a phi node is one of? Adds the functions among them to those that the call may reach. */
static bool incoming_in_sight(struct program *p, struct point *x, LLVMValueRef v, bool *reaches, int depth)
{
	for (unsigned i = 0; i < LLVMCountIncoming(v); i++)
		if (!in_sight(p, x, LLVMGetIncomingValue(v, i), reaches, depth + 1))
			return false;
	return true;
}

/* Are the functions that v, a pointer, may be all in sight? Those with bodies are targets of x; library functions are
 * seen by *reaches. */
static bool in_sight(struct program *p, struct point *x, LLVMValueRef v, bool *reaches, int depth)
{
	v = strip_casts(v);
	struct function *f = LLVMIsAFunction(v) ? program_function(p, v) : NULL;
	if (f) {
		add_function_target(p, x, f, reaches);
		return true;
	}
	if (depth > 4)
		return false;
	if (LLVMIsAConstantPointerNull(v) || LLVMIsUndef(v))
		return true;
	if (LLVMIsASelectInst(v))
		return in_sight(p, x, LLVMGetOperand(v, 1), reaches, depth + 1) &&
		       in_sight(p, x, LLVMGetOperand(v, 2), reaches, depth + 1);
	if (LLVMIsAPHINode(v))
		return incoming_in_sight(p, x, v, reaches, depth);
	return LLVMIsALoadInst(v) && stored_in_sight(p, x, LLVMGetOperand(v, 0), reaches, depth);
}

/* Every function of that signature whose address is taken. */
static void by_signature(struct program *p, struct point *x, uint32_t wanted, bool *reaches)
{
	for (uint32_t i = 0; i < p->functions.n; i++) {
		const struct function *f = &p->functions.v[i];
		if (f->taken && f->signature == wanted)
			add_function_target(p, x, f, reaches);
	}
}

/* Its targets by what is in sight, else by signature; a library may be among them. */
static void indirect_call(struct program *p, struct point *x, LLVMValueRef callee)
{
	bool reaches = false;
	uint32_t before = (uint32_t)p->targets.n;
	p->indirect++;
	x->flags |= SPEC_INDIRECT;
	x->name = "";
	if (!in_sight(p, x, callee, &reaches, 0)) {
		p->targets.n = before;
		x->n_targets = 0;
		reaches = false;
		by_signature(p, x, number_signature(LLVMGetCalledFunctionType(x->inst)), &reaches);
	}
	if (!x->n_targets && !reaches) {
		/* What it calls came from a library. */
		p->unresolved++;
		reaches = true;
	}
	x->kind = SPEC_CALL;
	if (reaches) {
		x->kind = SPEC_SYSCALL;
		x->flags |= SPEC_UNKNOWN;
	}
}

/* Functions that a library function is given to call. */
static void find_callbacks(struct program *p, struct point *x)
{
	bool reaches = false;
	unsigned n = LLVMGetNumArgOperands(x->inst);
	for (unsigned i = 0; i < n; i++) {
		LLVMValueRef arg = LLVMGetOperand(x->inst, i);
		LLVMTypeRef type = LLVMTypeOf(arg);
		if (LLVMGetTypeKind(type) != LLVMPointerTypeKind)
			continue;
		LLVMValueRef bare = strip_casts(arg);
		if (LLVMIsAFunction(bare)) {
			in_sight(p, x, bare, &reaches, 0);
			continue;
		}
		if (LLVMIsAConstantPointerNull(bare))
			continue;
#if LLVM_VERSION_MAJOR < 15 /* pointers had types */
		LLVMTypeRef to = LLVMGetElementType(type);
		if (LLVMGetTypeKind(to) == LLVMFunctionTypeKind && !in_sight(p, x, arg, &reaches, 0))
			by_signature(p, x, number_signature(to), &reaches);
#else
		/* Types no longer tell that it is a function: all that could be. */
		bool calls;
		program_library_class(x->name, &calls);
		if (calls)
			for (uint32_t k = 0; k < p->functions.n; k++)
				if (p->functions.v[k].taken && p->functions.v[k].defined)
					append_call_target(p, x, k);
#endif
	}
	if (x->n_targets)
		x->flags |= SPEC_CALLBACK;
	if (reaches)
		x->kind = SPEC_SYSCALL;
}

/* What the call is; false: nothing that could be recorded. */
static bool classify_call(struct program *p, LLVMValueRef inst, struct point *x)
{
	LLVMValueRef value = LLVMGetCalledValue(inst), callee = strip_casts(value);
	bool calls;
	*x = (struct point){.inst = inst, .name = "", .node = SPEC_NONE, .first_target = (uint32_t)p->targets.n};
	if (LLVMIsAInlineAsm(callee)) {
		/* Only a system call of its own would matter, and its template cannot be read here: what writes memory may be
		 * one. */
		char *text = LLVMPrintValueToString(callee);
		bool call =
		    strstr(text, "syscall") || strstr(text, "svc ") || strstr(text, "int $$0x80") || strstr(text, "ecall");
		LLVMDisposeMessage(text);
		x->kind = SPEC_SYSCALL;
		x->name = "syscall";
		return call;
	}
	if (has_attribute(inst, callee, "returns_twice"))
		x->flags |= SPEC_TWICE;
	if (has_attribute(inst, callee, "noreturn"))
		x->flags |= SPEC_NORETURN;
	struct function *f = LLVMIsAFunction(callee) ? program_function(p, callee) : NULL;
	if (!f) {
		indirect_call(p, x, value);
		return true;
	}
	x->name = f->name;
	if (strncmp(f->name, "llvm.", 5) == 0)
		return false;
	if (f->defined) {
		x->kind = SPEC_CALL;
		append_call_target(p, x, (uint32_t)(f - p->functions.v));
		return true;
	}
	enum library what = program_library_class(f->name, &calls);
	x->kind = SPEC_SYSCALL;
	if (what == LIBRARY_HARMLESS) {
		x->kind = SPEC_CALL;
		find_callbacks(p, x);
		x->soft = x->flags & (SPEC_TWICE | SPEC_NORETURN);
		if (x->soft)
			x->kind = SPEC_SYSCALL;
		return x->soft || x->n_targets || x->kind == SPEC_SYSCALL;
	}
	find_callbacks(p, x);
	x->kind = SPEC_SYSCALL;
	if (what == LIBRARY_UNKNOWN)
		x->flags |= SPEC_UNKNOWN;
	return true;
}

/* ---- points ---- */

uint32_t program_successors(LLVMValueRef term, LLVMBasicBlockRef *ret)
{
	unsigned all = LLVMGetNumSuccessors(term);
	uint32_t n = 0;
	/* Of a switch the default comes first there, and last here. */
	bool cases = LLVMIsASwitchInst(term) != NULL;
	for (unsigned i = 0; i < all; i++) {
		LLVMBasicBlockRef bb = LLVMGetSuccessor(term, cases ? (i + 1) % all : i);
		uint32_t k = 0;
		if (all > 64 && i > 64) {
			/* long switches: most successors are new, and the same one comes in a row */
			k = n && ret[n - 1] == bb ? n - 1 : 0;
		}
		while (k < n && ret[k] != bb)
			k++;
		if (k == n)
			ret[n++] = bb;
	}
	return n;
}

/* x is copied. The result is valid until the next one. */
static struct point *append_point(struct program *p, const struct point *x)
{
	struct point *ret = llvm_need(vec_add(&p->points));
	*ret = *x;
	return ret;
}

/* Ends the program where memory lacks. */
static void append_successor(struct program *p, uint32_t to, uint32_t outcome)
{
	*(struct successor *)llvm_need(vec_add(&p->successors)) = (struct successor){to, outcome};
}

/* Marks the heads of loops, and counts the edges back. */
static void mark_loop_heads(struct program *p, struct function *f, const struct map *index)
{
	enum { NEW, OPEN, DONE };
	struct visit_frame {
		uint32_t block, next;
	} *stack = llvm_need(calloc(f->n_blocks + 1, sizeof(*stack)));
	unsigned char *state = llvm_need(calloc(f->n_blocks + 1, 1));
	size_t depth = 0;
	f->first_back = (uint32_t)p->backs.n;
	stack[depth++] = (struct visit_frame){0, 0};
	state[0] = OPEN;
	while (depth) {
		struct visit_frame *t = &stack[depth - 1];
		LLVMValueRef term = LLVMGetBasicBlockTerminator(p->blocks.v[f->first_block + t->block].bb);
		if (!term || t->next >= LLVMGetNumSuccessors(term)) {
			state[t->block] = DONE;
			depth--;
			continue;
		}
		uint32_t to = map_get(index, (uintptr_t)LLVMGetSuccessor(term, t->next++));
		if (state[to] == OPEN) {
			p->blocks.v[f->first_block + to].head = true;
			*(struct back *)llvm_need(vec_add(&p->backs)) =
			    (struct back){f->first_block + t->block, f->first_block + to};
			f->back_edges++;
		} else if (state[to] == NEW) {
			state[to] = OPEN;
			stack[depth++] = (struct visit_frame){to, 0};
		}
	}
	f->n_backs = (uint32_t)p->backs.n - f->first_back;
	free(stack);
	free(state);
}

/* Is it a call in the place of a return? Nothing may stand between such a call and the return behind it. */
static bool must_tail(LLVMValueRef call)
{
	char *text = LLVMPrintValueToString(call);
	bool ret = strstr(text, "musttail call") != NULL;
	LLVMDisposeMessage(text);
	return ret;
}

/* Where ways join to clean up, clang stores where each goes on, and chooses by that behind the clean-up. */
static bool stores_destination(LLVMValueRef inst)
{
	LLVMValueRef to = LLVMIsAStoreInst(inst) ? LLVMGetOperand(inst, 1) : NULL;
	return to && LLVMIsAAllocaInst(to) && strncmp(llvm_value_name(to), "cleanup.dest", 12) == 0;
}

/* Points for all in the block that may be a node. */
static void read_block(struct program *p, struct function *f, uint32_t b)
{
	struct block *block = &p->blocks.v[b];
	struct point x;
	uint64_t count = 0;
	block->point = (uint32_t)p->points.n;
	append_point(p, &(struct point){.kind = SPEC_EPSILON, .name = "", .node = SPEC_NONE, .block = b});
	for (LLVMValueRef i = LLVMGetFirstInstruction(block->bb); i; i = LLVMGetNextInstruction(i)) {
		if (LLVMIsADbgInfoIntrinsic(i))
			continue;
		count++;
		bool term = LLVMIsATerminatorInst(i) != NULL;
		if (stores_destination(i))
			append_point(
			    p, &(struct point){
			           .inst = i, .name = "", .node = SPEC_NONE, .block = b, .kind = SPEC_EPSILON, .leads = true});
		if (is_call_inst(i) && classify_call(p, i, &x)) {
			x.block = b;
			append_point(p, &x);
			f->untraceable |= LLVMIsACallInst(i) && LLVMIsTailCall(i) && must_tail(i);
		} else if (term) {
			x = (struct point){.inst = i, .name = "", .node = SPEC_NONE, .block = b, .kind = SPEC_EPSILON};
			if (LLVMIsAReturnInst(i) || LLVMIsAResumeInst(i))
				x.kind = SPEC_RETURN;
			append_point(p, &x);
		}
	}
	f->instructions += count;
	f->edges += count ? count - 1 : 0;
}

/* Outcome 0 is the source's true, where it can be known. */
static void put_truth(struct point *x, LLVMBasicBlockRef way[2], const struct map *index)
{
	LLVMBasicBlockRef first = way[0];
	enum truth t = program_truth(x->inst, map_get(index, (uintptr_t)first) > map_get(index, (uintptr_t)way[1]));
	if (t != TRUTH_UNKNOWN)
		x->flags |= SPEC_SOURCE_TRUTH;
	if (t == TRUTH_SECOND) {
		x->turned = true;
		way[0] = way[1];
		way[1] = first;
	}
}

/* The successors of each point, and which way is "true". */
static void link_points(struct program *p, struct function *f, const struct map *index)
{
	LLVMBasicBlockRef *successors = NULL;
	unsigned room = 0;
	for (uint32_t i = 0; i < f->n_points; i++) {
		struct point *x = &p->points.v[f->first_point + i];
		x->first_successor = (uint32_t)p->successors.n;
		bool term = x->inst && LLVMIsATerminatorInst(x->inst);
		if (!term) {
			if (!(x->flags & SPEC_NORETURN) && i + 1 < f->n_points && x[1].block == x->block)
				append_successor(p, f->first_point + i + 1, 0);
		} else {
			unsigned n = LLVMGetNumSuccessors(x->inst);
			if (n > room)
				successors = llvm_need(realloc(successors, (room = n) * sizeof(*successors)));
			uint32_t k = program_successors(x->inst, successors);
			if (k == 2 && LLVMIsABranchInst(x->inst))
				put_truth(x, successors, index);
			for (uint32_t s = 0; s < k; s++) {
				uint32_t to = map_get(index, (uintptr_t)successors[s]);
				append_successor(p, p->blocks.v[f->first_block + to].point, s);
			}
			f->edges += k;
			f->branches += k > 1 && !is_call_inst(x->inst);
		}
		x->n_successors = (uint32_t)p->successors.n - x->first_successor;
	}
	free(successors);
}

/* Reads blocks and points of a function and links them. */
static void read_function(struct program *p, struct function *f)
{
	struct map index = {0};
	f->first_block = (uint32_t)p->blocks.n;
	f->first_point = (uint32_t)p->points.n;
	for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(f->value); bb; bb = LLVMGetNextBasicBlock(bb)) {
		if (!map_set(&index, (uintptr_t)bb, (uint32_t)p->blocks.n - f->first_block))
			llvm_die("out of memory");
		*(struct block *)llvm_need(vec_add(&p->blocks)) = (struct block){.bb = bb};
	}
	f->n_blocks = (uint32_t)p->blocks.n - f->first_block;
	for (uint32_t b = 0; b < f->n_blocks; b++)
		read_block(p, f, f->first_block + b);
	f->n_points = (uint32_t)p->points.n - f->first_point;
	mark_loop_heads(p, f, &index);
	link_points(p, f, &index);
	map_release(&index);
}

/* ---- which functions reach a system call ---- */

/* Marks functions from which a system call may be reached. */
static void find_reaching(struct program *p)
{
	bool changed = true;
	/* A turn for each link of the longest chain, in the worst order: a few turns in practice. */
	while (changed) {
		changed = false;
		for (size_t k = p->functions.n; k-- > 0;) {
			struct function *f = &p->functions.v[k];
			for (uint32_t i = 0; !f->reaches && f->defined && i < f->n_points; i++) {
				struct point *x = &p->points.v[f->first_point + i];
				if (x->kind == SPEC_SYSCALL && !x->soft)
					f->reaches = true;
				for (uint32_t t = 0; x->kind == SPEC_CALL && t < x->n_targets; t++)
					f->reaches |= p->functions.v[p->targets.v[x->first_target + t]].reaches;
			}
			changed |= f->reaches && f->index == SPEC_NONE;
			if (f->reaches)
				f->index = 0;
		}
	}
}

void program_read(struct program *p, LLVMModuleRef module)
{
	p->module = module;
	for (LLVMValueRef v = LLVMGetFirstFunction(module); v; v = LLVMGetNextFunction(v)) {
		struct function *f = llvm_need(vec_add(&p->functions));
		*f = (struct function){.value = v,
		                       .name = llvm_value_name(v),
		                       .defined = LLVMCountBasicBlocks(v) > 0,
		                       .taken = address_taken(v, 0),
		                       .signature = number_signature(LLVMGlobalGetValueType(v)),
		                       .index = SPEC_NONE};
		if (!map_set(&p->function_of, (uintptr_t)v, (uint32_t)p->functions.n - 1))
			llvm_die("out of memory");
	}
	for (size_t i = 0; i < p->functions.n; i++)
		if (p->functions.v[i].defined)
			read_function(p, &p->functions.v[i]);
	find_reaching(p);
	uint32_t index = 0;
	for (size_t i = 0; i < p->functions.n; i++)
		p->functions.v[i].index = p->functions.v[i].reaches ? index++ : SPEC_NONE;
}
