/* program.h - a program in LLVM's form, as the specification sees it: its functions, and in each the points that may be
 * recorded, with what follows what.
 *
 * All of one process's life: nothing is released, the process ends when the specification is written. Without memory
 * it ends at once, by die(); who started it says so. */
#ifndef STEMMA_SPEC_LLVM_PROGRAM_H
#define STEMMA_SPEC_LLVM_PROGRAM_H

#include "base/map.h"
#include "spec/spec.h"

#include <llvm-c/Core.h>

void llvm_die(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));
void *llvm_need(void *p); /* dies of NULL */

/* A point of a function: a place between or at its instructions. */
struct point {
	uint8_t kind;      /* SPEC_*; SPEC_EPSILON: the begin of a block, or what is not kept */
	bool kept;         /* it is a node */
	bool soft;         /* a call that is a node only where its function has others */
	bool turned;       /* a branch whose outcome 0, true, is its second way */
	bool leads;        /* stores where a clean-up goes on: what leads here decides, and not the choice behind it */
	uint16_t flags;    /* SPEC_* */
	LLVMValueRef inst; /* NULL: the begin of a block */
	uint32_t block;
	uint32_t node;                          /* in its function, SPEC_NONE */
	const char *name;                       /* of a call */
	uint32_t first_successor, n_successors; /* in successors */
	uint32_t first_target, n_targets;       /* in targets: functions of this program */
	uint32_t next;                          /* of the reduction: the node that follows, POINT_NEVER or POINT_MANY */
};
#define POINT_NEVER (SPEC_NONE - 1)
#define POINT_MANY (SPEC_NONE - 2)

/* From a point to the next; outcome counts the distinct places that a branch may go to. */
struct successor {
	uint32_t to, outcome;
};

struct block {
	LLVMBasicBlockRef bb;
	uint32_t point; /* its begin */
	bool head;      /* of a loop: an edge of the depth-first search leads back here */
};

/* An edge that closes a loop; blocks of all functions count on. */
struct back {
	uint32_t from, to;
};

struct function {
	LLVMValueRef value;
	const char *name;
	bool defined, taken; /* its address is known beyond calls */
	bool reaches;
	bool untraceable; /* it cannot be instrumented (musttail) */
	uint32_t signature;
	uint32_t index; /* in the specification, SPEC_NONE */
	uint32_t first_point, n_points;
	uint32_t first_block, n_blocks;
	uint32_t first_back, n_backs;
	uint64_t instructions, edges, back_edges, branches;
};

struct program {
	LLVMModuleRef module;
	VEC(struct function) functions;
	VEC(struct point) points;
	VEC(struct successor) successors;
	VEC(uint32_t) targets;
	VEC(struct block) blocks;
	VEC(struct back) backs;
	VEC(const char *) gaps;
	struct map function_of; /* LLVMValueRef -> functions */
	uint64_t indirect, unresolved;
};

/* Functions, blocks, points, successors, targets; which functions reach. */
void program_read(struct program *p, LLVMModuleRef module);
/* Which points are nodes: closes the recorded ones under weak control dependence. */
void program_reduce(struct program *p);
/* The specification; its memory is the program's. */
struct condition_texts;
void program_spec(struct program *p, const char *producer, uint64_t modules, struct condition_texts *words,
                  struct spec *ret);
/* Puts calls of the functions of inlined (src/spec/runtime/inline.c), which it takes, into all functions that reach.
 * operands: of decisions, too. library: the numbers of functions begin where the process says. */
void program_insert(struct program *p, LLVMModuleRef inlined, bool operands, bool library);

/* The function of this program that v is. NULL: it is not of this program. */
struct function *program_function(struct program *p, LLVMValueRef v);
/* The distinct successors of a terminator, in the order of outcomes; ret has room for all. Returns how many. */
uint32_t program_successors(LLVMValueRef terminator, LLVMBasicBlockRef *ret);

/* ---- what a branch is in the source (truth.c) ---- */

enum truth { TRUTH_UNKNOWN, TRUTH_FIRST, TRUTH_SECOND };
/* Of a conditional branch with two ways: which of them the source's condition is true for. first_is_later: the block of
 * the first stands behind that of the second. */
enum truth program_truth(LLVMValueRef term, bool first_is_later);
/* What decides a conditional branch, past each `!`; *ret_not: an odd number of those. */
LLVMValueRef program_compared(LLVMValueRef term, bool *ret_not);

/* ---- a decision's words in the source (condition_texts.c) ---- */

struct condition_texts *condition_texts_new(void);
/* The module, before it is merged, came from that file: its sources have not changed since if they are not newer. */
void condition_texts_add_module(struct condition_texts *w, LLVMModuleRef m, const char *path);
/* The text of the condition that a decision goes by. NULL: not known. *ret_unsure: what is true in the source is not
 * as program_truth says. */
const char *condition_texts_of(struct condition_texts *w, LLVMValueRef function, const struct point *decision,
                               bool *ret_unsure);

/* ---- what libraries do (libcalls.def) ---- */

enum library { LIBRARY_UNKNOWN, LIBRARY_HARMLESS, LIBRARY_REACHES };
/* What a function of a library does with its arguments. *ret_calls: it may call functions that it is given.
 * LIBRARY_UNKNOWN: it is not in the table. */
enum library program_library_class(const char *name, bool *ret_calls);

#endif
