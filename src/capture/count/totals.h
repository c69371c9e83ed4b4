/* totals.h - what the kernel says that a process has read and written, which is the proof of what was counted in it.
 * Internal to capture. Each costs an open, read and close in /proc: 10 to 15 us. */
#ifndef STEMMA_CAPTURE_COUNT_TOTALS_H
#define STEMMA_CAPTURE_COUNT_TOTALS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Bytes that its first thread has moved; or the process, with threads that have ended and children that it has waited
 * for. False: not told. */
bool totals_of(pid_t pid, bool first_thread, uint64_t *ret_read, uint64_t *ret_written);
/* What its threads have moved, if there are n of them. False: there are others, or one cannot be read. Bytes. */
bool totals_of_threads(pid_t pid, uint64_t n, uint64_t *ret_read, uint64_t *ret_written);
/* Do all threads but this one, which stands still, wait for others of them? Then none goes on until the process ends.
 * Those that are about to end, or that look for work a little before they sleep, are waited for: 2 ms at most. */
bool totals_stand(pid_t pid, pid_t tid);

/* Does a process with one thread wait in a call that changes no descriptor: read, poll, select, sleep, wait, or for a
 * child that shares its memory? */
bool totals_waits(pid_t pid);

#endif
