/* Puts the trace into functions: calls of what src/spec/runtime/inline.c defines, which the optimiser inlines. */
#include "spec/llvm/program.h"
#include "spec/runtime/state.h"
#include "spec/trace/trace.h"

#include <llvm-c/DebugInfo.h>
#include <llvm-c/Linker.h>
#include <stdlib.h>
#include <string.h>

/* Words of a decision with operands, the most that a point writes. */
enum { POINT_WORDS = 6, LOCAL_BYTES = 32 };

enum inlined {
	ENTER,
	LEAVE,
	CALL,
	REACH,
	CALLED,
	DECIDE,
	LOOK,
	OPERANDS,
	BACK,
	THROWN,
	LOOP_BEGIN,
	LOOP,
	TURN,
	N_INLINED
};
static const char *const inlined_names[N_INLINED] = {"enter",      "leave", "call",     "reach", "called",
                                                     "decide",     "look",  "operands", "back",  "thrown",
                                                     "loop_begin", "loop",  "turn"};

struct insert {
	struct program *p;
	LLVMContextRef context;
	LLVMBuilderRef b;
	LLVMTypeRef i32, i64;
	LLVMValueRef inlined[N_INLINED];
	LLVMTypeRef types[N_INLINED];
	bool operands;
	LLVMValueRef base; /* of a library: the variable with the number of its first function; NULL */
	/* of the function that is at hand */
	struct function *f;
	LLVMValueRef local;
	bool careful; /* so many points that each looks at the limit */
};

/* Calls a function of the runtime with the local state before the arguments. */
static LLVMValueRef build_inlined_call(struct insert *x, enum inlined what, LLVMValueRef *args, unsigned n)
{
	LLVMValueRef all[4] = {x->local};
	for (unsigned i = 0; i < n; i++)
		all[i + 1] = args[i];
	return LLVMBuildCall2(x->b, x->types[what], x->inlined[what], all, n + 1, "");
}

/* Inserts a call that notes the number. */
static void emit_number(struct insert *x, enum inlined what, uint32_t v)
{
	LLVMValueRef arg = LLVMConstInt(x->i32, v, false);
	if (x->careful)
		build_inlined_call(x, LOOK, NULL, 0);
	build_inlined_call(x, what, &arg, 1);
}

/* Builds before `inst`, as a part of no line. */
static void position_before(struct insert *x, LLVMValueRef inst)
{
	LLVMPositionBuilderBefore(x->b, inst);
	LLVMSetCurrentDebugLocation2(x->b, NULL);
}

/* The first instruction that something can be put before: behind phis and landing pads. */
static LLVMValueRef first_place(LLVMBasicBlockRef bb)
{
	LLVMValueRef i = LLVMGetFirstInstruction(bb);
	while (i && (LLVMIsAPHINode(i) || LLVMIsALandingPadInst(i)))
		i = LLVMGetNextInstruction(i);
	return i;
}

/* Where control comes from `from` it shall now come from `by`. llvm-c cannot change a phi node: it is made again. */
static void phis_from(struct insert *x, LLVMBasicBlockRef bb, LLVMBasicBlockRef from, LLVMBasicBlockRef by)
{
	for (LLVMValueRef phi = LLVMGetFirstInstruction(bb), next; phi && LLVMIsAPHINode(phi); phi = next) {
		bool done = false;
		next = LLVMGetNextInstruction(phi);
		LLVMPositionBuilderBefore(x->b, phi);
		LLVMValueRef made = LLVMBuildPhi(x->b, LLVMTypeOf(phi), "");
		for (unsigned i = 0; i < LLVMCountIncoming(phi); i++) {
			LLVMBasicBlockRef in = LLVMGetIncomingBlock(phi, i);
			LLVMValueRef v = LLVMGetIncomingValue(phi, i);
			if (in == from && done)
				continue;
			if (in == from) {
				done = true;
				in = by;
			}
			if (v == phi)
				v = made;
			LLVMAddIncoming(made, &v, &in, 1);
		}
		LLVMReplaceAllUsesWith(phi, made);
		LLVMInstructionEraseFromParent(phi);
	}
}

/* A block on the way from the terminator's block to `to`; the builder stands in it, before its end. */
static LLVMBasicBlockRef split_edge(struct insert *x, LLVMValueRef term, LLVMBasicBlockRef to)
{
	LLVMBasicBlockRef from = LLVMGetInstructionParent(term),
	                  ret = LLVMAppendBasicBlockInContext(x->context, x->f->value, "");
	unsigned n = LLVMGetNumSuccessors(term);
	phis_from(x, to, from, ret);
	for (unsigned i = 0; i < n; i++)
		if (LLVMGetSuccessor(term, i) == to)
			LLVMSetSuccessor(term, i, ret);
	LLVMPositionBuilderAtEnd(x->b, ret);
	LLVMSetCurrentDebugLocation2(x->b, NULL);
	position_before(x, LLVMBuildBr(x->b, to));
	return ret;
}

/* ---- decisions ---- */

/* Records a pointer as 1 or 0 as 64 bits: an address itself differs from run to run. */
static LLVMValueRef not_null(struct insert *x, LLVMValueRef v)
{
	return LLVMBuildZExt(x->b, LLVMBuildIsNotNull(x->b, v, ""), x->i64, "");
}

/* The value as a number of 64 bits, which is recorded. NULL: it is of a type that cannot be recorded. */
static LLVMValueRef widen_to_i64(struct insert *x, LLVMValueRef v, bool sign)
{
	LLVMTypeRef t = LLVMTypeOf(v);
	switch (LLVMGetTypeKind(t)) {
	case LLVMIntegerTypeKind:
		if (LLVMGetIntTypeWidth(t) > 64)
			return LLVMBuildTrunc(x->b, v, x->i64, "");
		if (LLVMGetIntTypeWidth(t) == 64)
			return v;
		return sign ? LLVMBuildSExt(x->b, v, x->i64, "") : LLVMBuildZExt(x->b, v, x->i64, "");
	case LLVMPointerTypeKind:
		return not_null(x, v);
	case LLVMHalfTypeKind:
	case LLVMFloatTypeKind:
		v = LLVMBuildFPExt(x->b, v, LLVMDoubleTypeInContext(x->context), "");
		return LLVMBuildBitCast(x->b, v, x->i64, "");
	case LLVMDoubleTypeKind:
		return LLVMBuildBitCast(x->b, v, x->i64, "");
	case LLVMX86_FP80TypeKind:
	case LLVMFP128TypeKind:
		v = LLVMBuildFPTrunc(x->b, v, LLVMDoubleTypeInContext(x->context), "");
		return LLVMBuildBitCast(x->b, v, x->i64, "");
	default:
		return NULL;
	}
}

/* Is v a number that was made of an address? One that is the difference of two is not. What is asked is seen within the
 * function: conversions, arithmetic, local variables. */
static bool is_made_of_address(LLVMValueRef v, int depth)
{
	if (depth > 8)
		return false;
	if (LLVMIsAConstantExpr(v))
		return LLVMGetConstOpcode(v) == LLVMPtrToInt;
	if (LLVMIsAPtrToIntInst(v))
		return true;
	if (LLVMIsATruncInst(v) || LLVMIsAZExtInst(v) || LLVMIsASExtInst(v))
		return is_made_of_address(LLVMGetOperand(v, 0), depth + 1);
	if (LLVMIsABinaryOperator(v)) {
		bool a = is_made_of_address(LLVMGetOperand(v, 0), depth + 1),
		     b = is_made_of_address(LLVMGetOperand(v, 1), depth + 1);
		return (a || b) && !(a && b && LLVMGetInstructionOpcode(v) == LLVMSub);
	}
	if (LLVMIsASelectInst(v))
		return is_made_of_address(LLVMGetOperand(v, 1), depth + 1) ||
		       is_made_of_address(LLVMGetOperand(v, 2), depth + 1);
	if (!LLVMIsALoadInst(v) || !LLVMIsAAllocaInst(LLVMGetOperand(v, 0)))
		return false;
	LLVMValueRef variable = LLVMGetOperand(v, 0);
	for (LLVMUseRef u = LLVMGetFirstUse(variable); u; u = LLVMGetNextUse(u)) {
		LLVMValueRef by = LLVMGetUser(u);
		if (LLVMIsAStoreInst(by) && LLVMGetOperand(by, 1) == variable &&
		    is_made_of_address(LLVMGetOperand(by, 0), depth + 2))
			return true;
	}
	return false;
}

/* Records what a branch compares, before it. Of addresses only whether they are null. */
static void emit_operands(struct insert *x, LLVMValueRef term)
{
	LLVMValueRef args[3] = {0}, c = NULL;
	uint32_t type = TRACE_SIGNED;
	bool negated;
	if (LLVMIsASwitchInst(term)) {
		LLVMValueRef v = LLVMGetOperand(term, 0);
		bool address = is_made_of_address(v, 0);
		type = address ? TRACE_POINTER : type;
		args[1] = address ? not_null(x, v) : widen_to_i64(x, v, true);
		args[2] = LLVMConstInt(x->i64, 0, false);
	} else if (LLVMIsABranchInst(term) && (c = program_compared(term, &negated)) &&
	           (LLVMIsAICmpInst(c) || LLVMIsAFCmpInst(c))) {
		LLVMTypeKind kind = LLVMGetTypeKind(LLVMTypeOf(LLVMGetOperand(c, 0)));
		bool address = kind == LLVMIntegerTypeKind &&
		               (is_made_of_address(LLVMGetOperand(c, 0), 0) || is_made_of_address(LLVMGetOperand(c, 1), 0));
		if (address) {
			args[0] = LLVMConstInt(x->i32, TRACE_POINTER, false);
			args[1] = not_null(x, LLVMGetOperand(c, 0));
			args[2] = not_null(x, LLVMGetOperand(c, 1));
			build_inlined_call(x, OPERANDS, args, 3);
			return;
		}
		if (kind == LLVMPointerTypeKind)
			type = TRACE_POINTER;
		else if (LLVMIsAFCmpInst(c))
			type = TRACE_REAL;
		else {
			LLVMIntPredicate p = LLVMGetICmpPredicate(c);
			type = p >= LLVMIntUGT && p <= LLVMIntULE ? TRACE_UNSIGNED : TRACE_SIGNED;
		}
		args[1] = widen_to_i64(x, LLVMGetOperand(c, 0), type == TRACE_SIGNED);
		args[2] = widen_to_i64(x, LLVMGetOperand(c, 1), type == TRACE_SIGNED);
	}
	if (!args[1] || !args[2])
		return;
	args[0] = LLVMConstInt(x->i32, type, false);
	build_inlined_call(x, OPERANDS, args, 3);
}

/* The word that the trace has for this outcome. */
static LLVMValueRef outcome_code(struct insert *x, const struct point *d, uint32_t outcome)
{
	return LLVMConstInt(x->i32, TRACE_WORD(TRACE_W_DECIDE, d->node << TRACE_OUTCOME_BITS | outcome), false);
}

/* Builds what tells whether a decision is to be turned: its outcome then, STATE_NOT_TURNED else. */
static LLVMValueRef build_turn(struct insert *x, const struct point *d)
{
	LLVMValueRef node = LLVMConstInt(x->i32, d->node, false);
	return build_inlined_call(x, TURN, &node, 1);
}

static LLVMValueRef build_is(struct insert *x, LLVMValueRef v, uint32_t what)
{
	return LLVMBuildICmp(x->b, LLVMIntEQ, v, LLVMConstInt(x->i32, what, false), "");
}

/* A switch before the switch, by the outcome that it is to have; ways: its edges, in the order of outcomes. */
static void insert_turned_switch(struct insert *x, const struct point *d, LLVMBasicBlockRef *ways, uint32_t n)
{
	LLVMBasicBlockRef block = LLVMGetInstructionParent(d->inst);
	LLVMBasicBlockRef rest = LLVMAppendBasicBlockInContext(x->context, x->f->value, "");
	position_before(x, d->inst);
	LLVMValueRef turned = build_turn(x, d);
	LLVMMetadataRef at = LLVMInstructionGetDebugLoc(d->inst);
	LLVMInstructionRemoveFromParent(d->inst);
	LLVMPositionBuilderAtEnd(x->b, rest);
	LLVMInsertIntoBuilder(x->b, d->inst);
	LLVMInstructionSetDebugLoc(d->inst, at);
	LLVMPositionBuilderAtEnd(x->b, block);
	LLVMSetCurrentDebugLocation2(x->b, NULL);
	LLVMValueRef s = LLVMBuildSwitch(x->b, turned, rest, n);
	for (uint32_t i = 0; i < n; i++)
		LLVMAddCase(s, LLVMConstInt(x->i32, i, false), ways[i]);
}

/* Inserts what notes the outcome of a branch, and before it, where asked for, its operands. */
static void insert_decision(struct insert *x, const struct point *d)
{
	if (d->flags & SPEC_UNRECORDED)
		return;
	position_before(x, d->inst);
	if (x->careful)
		build_inlined_call(x, LOOK, NULL, 0);
	if (x->operands)
		emit_operands(x, d->inst);
	if (LLVMIsABranchInst(d->inst)) {
		LLVMValueRef turned = build_turn(x, d);
		LLVMValueRef holds = LLVMBuildSelect(x->b, build_is(x, turned, STATE_NOT_TURNED), LLVMGetCondition(d->inst),
		                                     build_is(x, turned, d->turned), "");
		LLVMValueRef word =
		    LLVMBuildSelect(x->b, holds, outcome_code(x, d, d->turned), outcome_code(x, d, !d->turned), "");
		build_inlined_call(x, DECIDE, &word, 1);
		LLVMSetCondition(d->inst, holds);
		return;
	}
	if (LLVMIsAInvokeInst(d->inst)) {
		/* The other way is written where the exception is caught: nothing may stand before a landing pad. */
		split_edge(x, d->inst, LLVMGetNormalDest(d->inst));
		LLVMValueRef word = outcome_code(x, d, 0);
		build_inlined_call(x, DECIDE, &word, 1);
		return;
	}
	LLVMBasicBlockRef *to = llvm_need(calloc(LLVMGetNumSuccessors(d->inst) + 1, sizeof(*to)));
	uint32_t n = program_successors(d->inst, to);
	for (uint32_t i = 0; i < n; i++) {
		LLVMBasicBlockRef way = split_edge(x, d->inst, to[i]);
		LLVMValueRef word = outcome_code(x, d, i);
		build_inlined_call(x, DECIDE, &word, 1);
		if (LLVMIsAIndirectBrInst(d->inst))
			LLVMReplaceAllUsesWith(LLVMBlockAddress(x->f->value, to[i]), LLVMBlockAddress(x->f->value, way));
		to[i] = way;
	}
	if (LLVMIsASwitchInst(d->inst))
		insert_turned_switch(x, d, to, n);
	free(to);
}

/* In a landing pad, the word of the call that was unwound, if it is a decision whether a call that is no node throws; 0
 * for those that are none; NULL: none is one. Several calls may share a landing pad. */
static LLVMValueRef thrown_code(struct insert *x, LLVMBasicBlockRef pad, const struct map *points)
{
	bool any = false;
	for (LLVMUseRef u = LLVMGetFirstUse(LLVMBasicBlockAsValue(pad)); u && !any; u = LLVMGetNextUse(u))
		any = map_get(points, (uintptr_t)LLVMGetUser(u)) != VEC_NONE;
	if (!any)
		return NULL;
	position_before(x, LLVMGetFirstInstruction(pad));
	LLVMValueRef phi = LLVMBuildPhi(x->b, x->i32, "");
	for (LLVMUseRef u = LLVMGetFirstUse(LLVMBasicBlockAsValue(pad)); u; u = LLVMGetNextUse(u)) {
		LLVMValueRef invoke = LLVMGetUser(u);
		if (!LLVMIsAInvokeInst(invoke))
			continue;
		uint32_t k = map_get(points, (uintptr_t)invoke);
		LLVMValueRef word = k == VEC_NONE ? LLVMConstInt(x->i32, 0, false) : outcome_code(x, &x->p->points.v[k], 1);
		LLVMBasicBlockRef from = LLVMGetInstructionParent(invoke);
		LLVMAddIncoming(phi, &word, &from, 1);
	}
	return phi;
}

/* What is thrown is recorded where it is caught. */
static void insert_landing_pads(struct insert *x)
{
	struct program *p = x->p;
	struct function *f = x->f;
	struct map points = {0};
	for (uint32_t i = f->first_point; i < f->first_point + f->n_points; i++) {
		const struct point *pt = &p->points.v[i];
		if (pt->kept && pt->kind == SPEC_DECISION && !(pt->flags & SPEC_UNRECORDED) && LLVMIsAInvokeInst(pt->inst) &&
		    !map_set(&points, (uintptr_t)pt->inst, i))
			llvm_die("out of memory");
	}
	for (uint32_t b = 0; b < f->n_blocks; b++) {
		LLVMBasicBlockRef bb = p->blocks.v[f->first_block + b].bb;
		LLVMValueRef i = LLVMGetFirstInstruction(bb);
		while (i && !LLVMIsALandingPadInst(i))
			i = LLVMGetNextInstruction(i);
		if (!i)
			continue;
		LLVMValueRef word = thrown_code(x, bb, &points);
		position_before(x, LLVMGetNextInstruction(i));
		build_inlined_call(x, BACK, NULL, 0);
		if (word)
			build_inlined_call(x, THROWN, &word, 1);
	}
	map_release(&points);
}

/* ---- calls ---- */

/* Whether a function that is called leaves no trace, though it reaches something: its code may be another's (what
 * libstdc++ has of its templates), or it cannot be traced. */
static bool is_dark(const struct insert *x, const struct point *c)
{
	for (uint32_t t = 0; t < c->n_targets; t++) {
		const struct function *f = &x->p->functions.v[x->p->targets.v[c->first_target + t]];
		if (f->untraceable || LLVMGetLinkage(f->value) == LLVMAvailableExternallyLinkage)
			return true;
	}
	return false;
}

/* Before the call that it is made, and behind it that it returned. */
static void insert_call(struct insert *x, const struct point *c)
{
	bool reaches = c->kind == SPEC_SYSCALL || is_dark(x, c);
	enum inlined after = c->flags & SPEC_TWICE ? BACK : CALLED;
	position_before(x, c->inst);
	emit_number(x, reaches ? REACH : CALL, c->node);
	if (LLVMIsAInvokeInst(c->inst)) {
		split_edge(x, c->inst, LLVMGetNormalDest(c->inst));
		build_inlined_call(x, after, NULL, 0);
		return;
	}
	LLVMValueRef next = LLVMGetNextInstruction(c->inst);
	if (!next)
		return;
	position_before(x, next);
	build_inlined_call(x, after, NULL, 0);
}

/* ---- loops ---- */

/* Marks the blocks of the loop that the edge closes; false: nothing is recorded in them. */
static bool loop_records(struct insert *x, const struct back *back, const struct map *index, uint32_t *stack, bool *in)
{
	struct program *p = x->p;
	struct function *f = x->f;
	uint32_t depth = 0;
	bool records = false;
	memset(in, 0, f->n_blocks);
	in[back->to - f->first_block] = true;
	if (back->from != back->to) {
		in[back->from - f->first_block] = true;
		stack[depth++] = back->from - f->first_block;
	}
	while (depth) {
		LLVMBasicBlockRef bb = p->blocks.v[f->first_block + stack[--depth]].bb;
		for (LLVMUseRef u = LLVMGetFirstUse(LLVMBasicBlockAsValue(bb)); u; u = LLVMGetNextUse(u)) {
			LLVMValueRef term = LLVMGetUser(u);
			if (!LLVMIsATerminatorInst(term))
				continue;
			uint32_t k = map_get(index, (uintptr_t)LLVMGetInstructionParent(term));
			if (k != VEC_NONE && !in[k]) {
				in[k] = true;
				stack[depth++] = k;
			}
		}
	}
	for (uint32_t i = 1; i < f->n_points && !records; i++) {
		const struct point *pt = &p->points.v[f->first_point + i];
		records = pt->kept && in[pt->block - f->first_block];
	}
	return records;
}

/* Whether the edge is one of those back to the head of a loop. */
static bool closes_loop(const struct insert *x, uint32_t from, uint32_t to)
{
	for (uint32_t i = 0; i < x->f->n_backs; i++) {
		const struct back *b = &x->p->backs.v[x->f->first_back + i];
		if (b->from == from && b->to == to)
			return true;
	}
	return false;
}

/* A record of each turn that a loop begins, where nothing in it would be recorded. */
static void insert_loops(struct insert *x)
{
	struct program *p = x->p;
	struct function *f = x->f;
	struct map index = {0};
	LLVMValueRef *turn = llvm_need(calloc(f->n_blocks, sizeof(*turn)));
	uint32_t *stack = llvm_need(calloc(f->n_blocks + 1, sizeof(*stack)));
	bool *in = llvm_need(calloc(f->n_blocks, 1));
	LLVMTypeRef of_turn = LLVMArrayType(x->i64, 2), params[2];
	LLVMGetParamTypes(x->types[LOOP], params);
	for (uint32_t b = 0; b < f->n_blocks; b++)
		if (!map_set(&index, (uintptr_t)p->blocks.v[f->first_block + b].bb, b))
			llvm_die("out of memory");
	for (uint32_t i = 0; i < f->n_backs; i++) {
		const struct back *back = &p->backs.v[f->first_back + i];
		uint32_t to = back->to - f->first_block;
		if (turn[to] || !loop_records(x, back, &index, stack, in))
			continue;
		position_before(x, LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(f->value)));
		turn[to] = LLVMBuildBitCast(x->b, LLVMBuildAlloca(x->b, of_turn, ""), params[1], "");
	}
	for (uint32_t b = 0; b < f->n_blocks; b++) {
		LLVMValueRef term = LLVMGetBasicBlockTerminator(p->blocks.v[f->first_block + b].bb);
		unsigned n = LLVMGetNumSuccessors(term);
		if (turn[b]) {
			position_before(x, first_place(p->blocks.v[f->first_block + b].bb));
			build_inlined_call(x, LOOP, &turn[b], 1);
		}
		for (unsigned i = 0; i < n; i++) {
			uint32_t to = map_get(&index, (uintptr_t)LLVMGetSuccessor(term, i));
			if (turn[to] && !closes_loop(x, f->first_block + b, f->first_block + to)) {
				position_before(x, term);
				build_inlined_call(x, LOOP_BEGIN, &turn[to], 1);
			}
		}
	}
	map_release(&index);
	free(turn);
	free(stack);
	free(in);
}

/* ---- what the source says of memory ---- */

/* Attributes that are not so any more where a function writes a trace: calls of it would be left out, joined or moved.
 */
static const char *const memory_attributes[] = {
    "readnone",     "readonly", "writeonly", "argmemonly", "inaccessiblememonly", "inaccessiblemem_or_argmemonly",
    "memory", /* all of these, since LLVM 16 */
    "speculatable", "nosync"};
enum { N_MEMORY_ATTRIBUTES = sizeof(memory_attributes) / sizeof(memory_attributes[0]) };

/* With what is inserted they write memory: takes away what says otherwise. Either may be NULL. */
static void drop_memory_attributes(LLVMValueRef function, LLVMValueRef call)
{
	const LLVMAttributeIndex index = (LLVMAttributeIndex)LLVMAttributeFunctionIndex;
	for (size_t i = 0; i < N_MEMORY_ATTRIBUTES; i++) {
		unsigned kind = LLVMGetEnumAttributeKindForName(memory_attributes[i], strlen(memory_attributes[i]));
		if (kind && function)
			LLVMRemoveEnumAttributeAtIndex(function, index, kind);
		if (kind && call)
			LLVMRemoveCallSiteEnumAttribute(call, index, kind);
	}
}

/* May the call end in a function that writes a trace, of this program or of a library that is traced? */
static bool may_trace(struct insert *x, LLVMValueRef call)
{
	LLVMValueRef callee = LLVMGetCalledValue(call);
	struct function *f = LLVMIsAFunction(callee) ? program_function(x->p, callee) : NULL;
	bool calls;
	if (LLVMIsAInlineAsm(callee))
		return false;
	if (!f)
		return true;
	return f->defined ? f->reaches
	                  : strncmp(f->name, "llvm.", 5) != 0 &&
	                        (program_library_class(f->name, &calls) != LIBRARY_HARMLESS || calls);
}

/* What is said of memory must not let calls be dropped or merged that are recorded. */
static void correct_attributes(struct insert *x)
{
	struct program *p = x->p;
	bool calls;
	for (size_t k = 0; k < p->functions.n; k++) {
		struct function *f = &p->functions.v[k];
		if (f->defined
		        ? f->reaches
		        : strncmp(f->name, "llvm.", 5) != 0 && program_library_class(f->name, &calls) != LIBRARY_HARMLESS)
			drop_memory_attributes(f->value, NULL);
		for (uint32_t b = 0; b < f->n_blocks; b++)
			for (LLVMValueRef i = LLVMGetFirstInstruction(p->blocks.v[f->first_block + b].bb); i;
			     i = LLVMGetNextInstruction(i))
				if ((LLVMIsACallInst(i) || LLVMIsAInvokeInst(i)) && may_trace(x, i))
					drop_memory_attributes(NULL, i);
	}
}

/* ---- all of it ---- */

/* Everything that records in it. */
static void insert_function(struct insert *x, struct function *f)
{
	struct program *p = x->p;
	LLVMTypeRef params[1];
	uint32_t kept = 0;
	x->f = f;
	for (uint32_t i = 0; i < f->n_points; i++) {
		struct point *pt = &p->points.v[f->first_point + i];
		kept += pt->kept;
	}
	x->careful = kept > STATE_SLACK_WORDS / POINT_WORDS / 2;
	position_before(x, LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(f->value)));
	LLVMValueRef local = LLVMBuildAlloca(x->b, LLVMArrayType(x->i64, LOCAL_BYTES / 8), "");
	LLVMTypeRef type = x->types[LEAVE];
	LLVMGetParamTypes(type, params);
	x->local = LLVMBuildBitCast(x->b, local, params[0], "");
	LLVMValueRef index = LLVMConstInt(x->i32, f->index, false);
	if (x->base)
		index = LLVMBuildAdd(x->b, LLVMBuildLoad2(x->b, x->i32, x->base, ""), index, "");
	build_inlined_call(x, ENTER, &index, 1);
	/* Calls and landing pads first: what stands in loops' heads must come before them. */
	insert_landing_pads(x);
	insert_loops(x);
	for (uint32_t i = 1; i < f->n_points; i++) {
		const struct point *pt = &p->points.v[f->first_point + i];
		if (!pt->kept)
			continue;
		if (pt->kind == SPEC_CALL || pt->kind == SPEC_SYSCALL)
			insert_call(x, pt);
		else if (pt->kind == SPEC_RETURN) {
			position_before(x, pt->inst);
			build_inlined_call(x, LEAVE, NULL, 0);
		} else if (pt->kind == SPEC_DECISION)
			insert_decision(x, pt);
	}
}

void program_insert(struct program *p, LLVMModuleRef inlined, bool operands, bool library)
{
	struct insert x = {.p = p, .context = LLVMGetModuleContext(p->module), .operands = operands};
	LLVMValueRef used = LLVMGetNamedGlobal(inlined, "llvm.compiler.used");
	if (used)
		LLVMDeleteGlobal(used);
	LLVMSetDataLayout(inlined, LLVMGetDataLayoutStr(p->module));
	LLVMSetTarget(inlined, LLVMGetTarget(p->module));
	if (LLVMLinkModules2(p->module, inlined))
		llvm_die("the code that traces cannot be put in");
	x.b = LLVMCreateBuilderInContext(x.context);
	x.i32 = LLVMInt32TypeInContext(x.context);
	x.i64 = LLVMInt64TypeInContext(x.context);
	for (unsigned i = 0; i < N_INLINED; i++) {
		struct buf name = {0};
		buf_printf(&name, "__stemma_in_%s", inlined_names[i]);
		x.inlined[i] = LLVMGetNamedFunction(p->module, buf_cstr(&name));
		if (!x.inlined[i])
			llvm_die("the code that traces lacks '%s'", buf_cstr(&name));
		x.types[i] = LLVMGlobalGetValueType(x.inlined[i]);
		LLVMSetLinkage(x.inlined[i], LLVMInternalLinkage);
		buf_release(&name);
	}
	correct_attributes(&x);
	if (library) {
		x.base = LLVMAddGlobal(p->module, x.i32, "__stemma_trace_base");
		LLVMSetVisibility(x.base, LLVMHiddenVisibility);
	}
	for (size_t i = 0; i < p->functions.n; i++)
		if (p->functions.v[i].reaches && !p->functions.v[i].untraceable)
			insert_function(&x, &p->functions.v[i]);
}
