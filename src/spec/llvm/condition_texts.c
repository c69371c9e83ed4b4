/* What stands in the source where a decision is made. Sources are read when the program is linked, if they are there
 * and have not been changed since they were compiled. That clang would put them into the bitcode (-gembed-source) does
 * not help: it leaves some out, and LLVM then takes all debug information to be damaged. */
#include "spec/condition.h"
#include "spec/llvm/program.h"
#include "spec/objects.h"

#include <llvm-c/DebugInfo.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct source {
	struct condition_source *tokens; /* NULL: it is not there, or cannot be read */
	struct timespec changed;
};

struct condition_texts {
	struct map by_file;     /* LLVMMetadataRef of a file -> sources */
	struct map by_function; /* of a function's debug information, which merging keeps -> made */
	VEC(struct source) sources;
	VEC(struct timespec) made; /* when the bitcode was written */
};

/* Ends the program without memory. */
struct condition_texts *condition_texts_new(void)
{
	return llvm_need(calloc(1, sizeof(struct condition_texts)));
}

void condition_texts_add_module(struct condition_texts *w, LLVMModuleRef m, const char *path)
{
	struct stat st;
	if (stat(path, &st) < 0)
		return;
	*(struct timespec *)llvm_need(vec_add(&w->made)) = st.st_mtim;
	for (LLVMValueRef f = LLVMGetFirstFunction(m); f; f = LLVMGetNextFunction(f)) {
		LLVMMetadataRef sub = LLVMGetSubprogram(f);
		if (sub && !map_set(&w->by_function, (uintptr_t)sub, (uint32_t)w->made.n - 1))
			llvm_die("out of memory");
	}
}

/* Never unmapped: the tokens lie in it. */
static void read_source(LLVMMetadataRef file, struct source *ret)
{
	struct buf path = {0};
	struct objects_bytes bytes;
	struct stat st;
	unsigned k = 0, k_dir = 0;
	const char *name = LLVMDIFileGetFilename(file, &k), *dir = LLVMDIFileGetDirectory(file, &k_dir);
	if (k && *name != '/' && k_dir) {
		buf_str(&path, str_n(dir, k_dir));
		buf_char(&path, '/');
	}
	buf_str(&path, str_n(name, k));
	if (k && stat(buf_cstr(&path), &st) == 0 && S_ISREG(st.st_mode) &&
	    objects_map(buf_cstr(&path), NULL, &bytes) == 0) {
		ret->changed = st.st_mtim;
		ret->tokens = condition_source(str_n(bytes.p, bytes.n));
	}
	buf_release(&path);
}

/* Read once. Dies without memory; a source that is not there is empty. */
static const struct source *source_of(struct condition_texts *w, LLVMMetadataRef file)
{
	uint32_t i = map_get(&w->by_file, (uintptr_t)file);
	if (i == VEC_NONE) {
		struct source s = {0};
		read_source(file, &s);
		*(struct source *)llvm_need(vec_add(&w->sources)) = s;
		i = (uint32_t)w->sources.n - 1;
		if (!map_set(&w->by_file, (uintptr_t)file, i))
			llvm_die("out of memory");
	}
	return &w->sources.v[i];
}

/* Is a later than b? */
static bool is_later(struct timespec a, struct timespec b)
{
	return a.tv_sec != b.tv_sec ? a.tv_sec > b.tv_sec : a.tv_nsec > b.tv_nsec;
}

/* The source of a place; NULL if it is not there, or was changed after the program was made. */
static const struct source *source_at(struct condition_texts *w, LLVMValueRef function, LLVMMetadataRef at)
{
	LLVMMetadataRef sub = LLVMGetSubprogram(function), file = LLVMDIScopeGetFile(LLVMDILocationGetScope(at));
	uint32_t made = sub ? map_get(&w->by_function, (uintptr_t)sub) : VEC_NONE;
	if (!file || made == VEC_NONE)
		return NULL;
	const struct source *s = source_of(w, file);
	return s->tokens && !is_later(s->changed, w->made.v[made]) ? s : NULL;
}

/* clang's names of the arms of ?: begin so. */
static bool is_arm(LLVMBasicBlockRef bb)
{
	return strncmp(LLVMGetBasicBlockName(bb), "cond.", 5) == 0;
}

const char *condition_texts_of(struct condition_texts *w, LLVMValueRef function, const struct point *x,
                               bool *ret_unsure)
{
	struct condition c = {0};
	*ret_unsure = false;
	struct buf b = {0};
	LLVMMetadataRef branch = LLVMInstructionGetDebugLoc(x->inst), at = branch;
	if (LLVMIsABranchInst(x->inst) && x->flags & SPEC_SOURCE_TRUTH) {
		/* A comparison has the place of its operator, the branch that of a beginning. */
		LLVMValueRef compared = program_compared(x->inst, &c.opposite);
		c.opposite ^= x->turned;
		c.arms = is_arm(LLVMGetSuccessor(x->inst, 0)) && is_arm(LLVMGetSuccessor(x->inst, 1));
		if (LLVMIsAInstruction(compared) && LLVMGetDebugLocLine(compared))
			at = LLVMInstructionGetDebugLoc(compared);
	} else if (!LLVMIsASwitchInst(x->inst))
		return NULL;
	const struct source *s = at && branch ? source_at(w, function, at) : NULL;
	if (!s)
		return NULL;
	c.line = LLVMDILocationGetLine(at);
	c.column = LLVMDILocationGetColumn(at);
	c.branch_line = LLVMDILocationGetLine(branch);
	c.branch_column = LLVMDILocationGetColumn(branch);
	*ret_unsure = condition_text(s->tokens, &c, &b) < 0;
	char *ret = b.n && !b.failed ? strdup(buf_cstr(&b)) : NULL;
	buf_release(&b);
	return ret;
}
