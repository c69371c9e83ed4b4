/* functions_write.h - what functions.h tells, as files: one a thread that entered one of the functions
 * (doc/format/functions.md), in the current folder.
 *
 * A function's end is not told. When the next one is entered, those are over whose place on the stack is free, or has
 * another return address by now, or that lie above the one that made the call. This holds for returns, jumps and
 * exceptions alike. What was open at the end of the thread may have been over.
 *
 * Bounds: FUNCTIONS_BYTES a thread, FUNCTIONS_DEPTH frames, FUNCTIONS_THREADS at a time; what is beyond is said. No
 * descriptor is kept. One thread. */
#ifndef STEMMA_CAPTURE_FUNCTION_TRACE_FUNCTIONS_WRITE_H
#define STEMMA_CAPTURE_FUNCTION_TRACE_FUNCTIONS_WRITE_H

#include "capture/function_trace/functions_find.h"
#include "capture/function_trace/functions_record.h"

#define FUNCTIONS_BYTES (240u << 20) /* what is read again, at most, is 256 MiB */
#define FUNCTIONS_DEPTH (1u << 20)
#define FUNCTIONS_THREADS 65536

struct functions_writer;

/* found must outlive it. NULL: no memory. functions_writer_add: one record of `size` bytes; one that is too short or of
 * an unknown kind is passed over. */
struct functions_writer *functions_writer_new(const struct found *found);
void functions_writer_add(struct functions_writer *w, const struct function_record *t, size_t size);
/* Something is missing since the last time this was said, or now: all open traces say so. */
void functions_writer_gap(struct functions_writer *w, const char *why);
/* Writes what is open, and frees it. ret_failed: 0, or the errno of what could not be written. */
void functions_writer_end(struct functions_writer *w, uint64_t *ret_traces, int *ret_failed);

#endif
