/* process.h - what the header of a trace says of the process (process.c). */
#ifndef STEMMA_SPEC_RUNTIME_PROCESS_H
#define STEMMA_SPEC_RUNTIME_PROCESS_H

#include "spec/trace/trace_format.h"

#include <stddef.h>

#define HIDDEN __attribute__((visibility("hidden")))

/* The path of the program; "" where the kernel does not tell it. What is longer than n - 1 bytes is cut. */
HIDDEN void __stemma_trace_exe_path(char *ret, size_t n);
/* The build-id that a piece of notes has, of at most n bytes; how long it is, 0 none. */
HIDDEN uint32_t __stemma_trace_build_id_note(const char *p, const char *end, unsigned char *ret, uint32_t n);
/* The program's build-id into h, by its own headers, as the kernel tells of them: no lock of the dynamic linker's is
 * needed. It stays of no bytes if the program has none. */
HIDDEN void __stemma_trace_build_id(struct trace_header *h);
/* When the process began, in clock ticks since the boot, as the 22nd field of /proc/self/stat has it; 0: not known. */
HIDDEN uint64_t __stemma_trace_process_start(void);

#endif
