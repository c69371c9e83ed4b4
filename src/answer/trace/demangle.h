/* demangle.h - the names of C++ as they were written: "solver::step(int)" of "_ZN6solver4stepEi".
 *
 * libstdc++ knows, where it is there (dlopen, once); without it, names stay as they are. Names come out of files that
 * may be anybody's, and a name can stand for one that no memory holds, by pieces that refer to each other: those that
 * could grow so are left as they are, too. One thread. */
#ifndef STEMMA_ANSWER_TRACE_DEMANGLE_H
#define STEMMA_ANSWER_TRACE_DEMANGLE_H

#include "base/buf.h"

/* Appends it, safe for a terminal, and says so; false: it is no such name, or not known, and nothing was appended. */
bool demangle(struct buf *b, const char *name);

#endif
