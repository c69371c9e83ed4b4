/* versions.h - two versions of each function that is traced: plain and tracing, of which one is chosen at the start. */
#ifndef STEMMA_SPEC_LLVM_VERSIONS_H
#define STEMMA_SPEC_LLVM_VERSIONS_H

#include "spec/llvm/program.h"

struct versions;
/* Before anything is inserted: what the functions are. Gives what only its file sees a name that both modules have. */
struct versions *versions_keep(struct program *p);
/* Behind it: adds the plain versions, and what chooses. Frees v. */
void versions_add(struct program *p, struct versions *v);

#endif
