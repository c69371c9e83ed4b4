/* Which way of a branch is the one of the source's true.
 *
 * clang branches on what stands under a `!` and changes the ways over. The names of the blocks tell, as the front end
 * gives each by what it is for, and no pass has moved anything: withspec.c asks for names and for no passes. Names have
 * dots, so no label of the source is among them; a number behind makes them unique. */
#include "spec/llvm/program.h"

#include <string.h>

struct role {
	const char *name;
	bool when;  /* the condition is true if control goes there */
	bool inner; /* the next operand of && or ||, so what the whole becomes is open yet */
};

/* What clang's name of the block says: whether it is taken when the condition holds. NULL: nothing. */
static const struct role *find_branch_role(LLVMValueRef term, unsigned way)
{
	static const struct role roles[] = {
	    {"if.then", true, false},      {"if.else", false, false},   {"if.end", false, false},
	    {"for.body", true, false},     {"for.end", false, false},   {"for.cond.cleanup", false, false},
	    {"while.body", true, false},   {"while.end", false, false}, {"while.exit", false, false},
	    {"do.body", true, false},      {"do.end", false, false},    {"cond.true", true, false},
	    {"cond.false", false, false},  {"land.rhs", true, false},   {"land.end", false, false},
	    {"lor.rhs", false, false},     {"lor.end", true, false},    {"land.lhs.true", true, true},
	    {"lor.lhs.false", false, true}};
	const char *name = LLVMGetBasicBlockName(LLVMGetSuccessor(term, way));
	size_t n = strlen(name);
	while (n && name[n - 1] >= '0' && name[n - 1] <= '9')
		n--;
	for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]); i++)
		if (strlen(roles[i].name) == n && memcmp(roles[i].name, name, n) == 0)
			return &roles[i];
	return NULL;
}

enum truth program_truth(LLVMValueRef term, bool first_is_later)
{
	const struct role *first = find_branch_role(term, 0), *second = find_branch_role(term, 1);
	if (!first || !second)
		return TRUTH_UNKNOWN;
	/* In !(a && b) both may be ways of a true: what is further out counts, which of operands is the later one. */
	bool by_first = first->inner == second->inner ? first_is_later : second->inner;
	if (first->when == second->when && !first->inner && !second->inner)
		return TRUTH_UNKNOWN; /* no condition is known that would be lowered so */
	return (by_first ? first->when : !second->when) ? TRUTH_FIRST : TRUTH_SECOND;
}

LLVMValueRef program_compared(LLVMValueRef term, bool *ret_not)
{
	LLVMValueRef c = LLVMGetCondition(term);
	*ret_not = false;
	/* What clang makes of a `!` whose value it needs: xor with true. */
	while (LLVMIsABinaryOperator(c) && LLVMGetInstructionOpcode(c) == LLVMXor) {
		LLVMValueRef by = LLVMGetOperand(c, 1);
		if (!LLVMIsAConstantInt(by) || LLVMGetIntTypeWidth(LLVMTypeOf(by)) != 1 || !LLVMConstIntGetZExtValue(by))
			break;
		*ret_not = !*ret_not;
		c = LLVMGetOperand(c, 0);
	}
	return c;
}
