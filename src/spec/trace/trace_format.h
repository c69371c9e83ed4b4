/* trace_format.h - the bytes of a trace (doc/format/trace.md), shared with the code inside programs that writes them.
 */
#ifndef STEMMA_SPEC_TRACE_TRACE_FORMAT_H
#define STEMMA_SPEC_TRACE_TRACE_FORMAT_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TRACE_MAGIC "STMTRAC1"
enum { TRACE_HEADER_BYTES = 4096 };
enum { TRACE_LAZY = 1, TRACE_OPERANDS = 2, TRACE_TURNED = 4 };

enum {
	TRACE_W_ENTER = 1,
	TRACE_W_LEAVE = 2,
	TRACE_W_CALL = 3,
	TRACE_W_DECIDE = 4,
	TRACE_W_SILENT = 5,
	TRACE_W_BACK = 6,
	TRACE_W_MORE = 7,
};
#define TRACE_SHIFT 29
#define TRACE_VALUE ((1u << TRACE_SHIFT) - 1)
#define TRACE_OUTCOME_BITS 12
#define TRACE_WORD(kind, value) ((uint32_t)(kind) << TRACE_SHIFT | (uint32_t)(value))
#define TRACE_SILENT_WORDS 5
#define TRACE_SILENT_DATA 1 /* value of a silent record that has a hash of operands as well */
#define TRACE_SILENT_DATA_WORDS 7
/* Of this size and more a number may be an address, which is another one in each run and no data: a program's own (of
 * one that is loaded anywhere), its heap's, libraries', a stack's. */
#define TRACE_ADDRESSES 0x550000000000u
#define TRACE_ADDRESSES_END 0x1000000000000u
#define TRACE_MORE_GAP 16
#define TRACE_MORE_MESSAGE 17
#define TRACE_MESSAGE_WORDS 7
enum {
#define MESSAGE(number, name, words) TRACE_MESSAGE_##name = number,
#define COLLECTIVE(number, name) TRACE_MESSAGE_##name = number,
#define CALL(name)
#include "spec/trace/messages.def"
#undef MESSAGE
#undef COLLECTIVE
#undef CALL
};
/* May the operand be an address of the program? */
static inline bool trace_is_address(uint64_t v)
{
	return v - TRACE_ADDRESSES < TRACE_ADDRESSES_END - TRACE_ADDRESSES;
}

enum { TRACE_MESSAGE_ANY_SOURCE = 1, TRACE_MESSAGE_ANY_TAG = 2, TRACE_MESSAGE_CANCELLED = 4, TRACE_MESSAGE_BYTES = 8 };

/* Functions of libraries that are traced are numbered from here on, so many for each; those of the program below. */
#define TRACE_LIBRARY_FIRST (1u << 28)
#define TRACE_LIBRARY_FUNCTIONS (1u << 20)
#define TRACE_LIBRARIES 255 /* of a process; the last place is that of those that could not be numbered */
#define TRACE_LIBRARIES_TOLD 16

/* A library of which the thread came upon a function. */
struct trace_library {
	uint64_t spec;
	uint32_t base; /* the number of its first function */
	uint32_t build_id_bytes;
	unsigned char build_id[32];
	char path[176];
};

struct trace_header {
	char magic[8];
	uint64_t next, first;
	uint64_t spec; /* of the program; 0: it is not traced, libraries are */
	uint32_t pid, tid;
	uint64_t started, began;
	uint32_t flags, end;
	uint32_t build_id_bytes;
	unsigned char build_id[64];
	char thread[64];
	char exe[256];
	uint32_t rank, ranks; /* of MPI; ranks 0: not known */
	uint32_t n_libraries;
	struct trace_library libraries[TRACE_LIBRARIES_TOLD];
	char room[TRACE_HEADER_BYTES - 464 - TRACE_LIBRARIES_TOLD * sizeof(struct trace_library)];
};
static_assert(sizeof(struct trace_header) == TRACE_HEADER_BYTES, "a page");
static_assert(offsetof(struct trace_header, spec) == 24 && offsetof(struct trace_header, flags) == 56 &&
                  offsetof(struct trace_header, build_id) == 68 && offsetof(struct trace_header, thread) == 132 &&
                  offsetof(struct trace_header, exe) == 196 && offsetof(struct trace_header, rank) == 452 &&
                  sizeof(struct trace_library) == 224 && offsetof(struct trace_header, n_libraries) == 460,
              "as documented");

#endif
