/* library.h - what a row of library.def is applied to, and the places that it names (library.c has the words). */
#ifndef STEMMA_SPEC_LLVM_SLICE_LIBRARY_H
#define STEMMA_SPEC_LLVM_SLICE_LIBRARY_H

#include "spec/llvm/slice/graph.h"

/* What a function does; name: "" where the row is of many functions. */
struct row {
	const char *name, *what;
};

/* One call, and what its row has said of it so far. */
struct apply {
	struct slice *s;
	uint32_t call;
	const char *name, *what; /* what: its row */
	uint32_t output;         /* in s->outputs, VEC_NONE */
	bool keeps_errno;
	bool opens; /* its result is something that has a row of its own to say so */
	bool odd;   /* what it opens may be anything that the program has */
	bool maybe; /* it writes or reads where it is given a stream */
};

enum depth { ITSELF, POINTED, REACHED };

/* The call that a row of the table is applied to. */
struct call *apply_call(const struct apply *a);
/* Argument i of the call; NULL: there is none, or it is called through a pointer. */
LLVMValueRef apply_argument(const struct apply *a, unsigned i);
/* A node with that of all arguments from `first` on. */
uint32_t apply_arguments(const struct apply *a, uint32_t first, enum depth depth);
/* The node of a place that is read. */
uint32_t apply_read(struct apply *a, const char *word, size_t n);
/* From the node to the place. Ends the process where it is no place. */
void apply_write(struct apply *a, uint32_t from, const char *word, size_t n, bool points);
/* The node of what the call outputs. */
uint32_t apply_output(struct apply *a, bool buffered);

/* The row of a function of the C++ library (library_cxx.c); NULL: it is not known. */
const struct row *library_cxx_row(const char *name);

/* Of each call with a row, after that (hidden.c). */
void hidden_apply(struct apply *a);
/* It uses the stream or descriptor; it writes to it, and that may be a pipe. */
void hidden_handle(struct apply *a, uint32_t handle);
void hidden_pipe(struct apply *a, uint32_t handle);
/* What the bytes that are written, or those that are read over, may point to. */
void hidden_bytes(struct apply *a, uint32_t bytes, bool written);
/* It reads from the stream or descriptor, and may wait for that. */
void hidden_wait(struct apply *a, uint32_t handle);

#endif
