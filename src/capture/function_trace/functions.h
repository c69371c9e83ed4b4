/* functions.h - probes at the beginnings of functions, for one run's processes (doc/traces.md).
 *
 * The kernel stops each process that enters one of them for a moment (a breakpoint in its copy of the page; the file is
 * not changed) and writes a record into a ring. Nothing is put at the ends: a return address that is changed breaks
 * programs that unwind their stack. Needs Linux 5.17, CAP_BPF and CAP_PERFMON. Linux 6.6 takes all of them at once;
 * before it each has two descriptors, and FUNCTIONS_SINGLE of them can be had.
 *
 * One thread. Nothing is pinned: with the process that opened it, all of it is gone. */
#ifndef STEMMA_CAPTURE_FUNCTION_TRACE_FUNCTIONS_H
#define STEMMA_CAPTURE_FUNCTION_TRACE_FUNCTIONS_H

#include "capture/function_trace/functions_find.h"
#include "capture/function_trace/functions_record.h"

#define FUNCTIONS_SINGLE 256
#define FUNCTIONS_RING (64u << 20)

struct functions;

/* The processes are those that the caller's parent will start. For tests: single: not all at once; ring: bytes, a power
 * of two. 0, or -errno with a sentence. */
int functions_open(const struct found *f, bool single, uint32_t ring, struct functions **ret, struct err *err);
void functions_close(struct functions *x);
int functions_fd(const struct functions *x); /* readable where there is something */
/* Gives each record that waits to each(). */
int functions_read(struct functions *x, void (*each)(void *arg, const struct function_record *t, size_t size),
                   void *arg);
/* Stops the recording of function entries. Nothing is told any more. What was told before can still be read. */
void functions_stop(struct functions *x);
const volatile struct function_control *functions_control(const struct functions *x);

#endif
