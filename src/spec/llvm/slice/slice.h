/* slice.h - which inputs of a program can reach which of its outputs (doc/slices.md), found in its bitcode. */
#ifndef STEMMA_SPEC_LLVM_SLICE_SLICE_H
#define STEMMA_SPEC_LLVM_SLICE_SLICE_H

#include "base/buf.h"

#include <llvm-c/Core.h>

/* Notes in the module that n parts of the program had no bitcode; n may be 0. */
void slice_note_missing(LLVMModuleRef m, unsigned n);
/* Analyses the module, which it changes, and appends the answer, JSON. Ends the process where memory lacks. */
void slice_module(LLVMModuleRef m, struct buf *ret);

#endif
