/* call_trace.h - the trace of calls (doc/traces.md): the system calls of chosen programs, thread by thread, in their
 * order, as a file of text a thread. Only where every call is seen (--exact). Internal to capture.
 *
 * Written by the worker into a folder that somebody else made; a folder or a disk that takes nothing ends the traces
 * and nothing else. No descriptor is kept open for a thread: what has gathered is appended. Bounds: CALLED_BYTES a
 * thread, CALLED_THREADS of them at a time; what is beyond is said in the trace, or (threads) is not traced. Costs a
 * readlink of the descriptor a call, beside the two stops. */
#ifndef STEMMA_CAPTURE_CALL_TRACE_CALL_TRACE_H
#define STEMMA_CAPTURE_CALL_TRACE_CALL_TRACE_H

#include "capture/call_trace/call_stacks.h"
#include "capture/supervisor/super.h"

#define CALLED_BYTES (240u << 20) /* what is read again, at most, is 256 MiB */
#define CALLED_THREADS 65536

struct called;

/* Begins to trace the system calls of these programs. programs: names, or paths, separated by colons; "" all. NULL:
 * no memory, or the folder cannot be used. */
struct called *called_new(const char *folder, const char *programs);
/* Who called is to be said, too, by the unwinder at the other end of this socket, which is closed in the end. */
void called_with_stacks(struct called *c, int socket);
/* Is it to be said of this call? Of any thread. */
bool called_stacks(const struct called *c, const struct trap *t);
/* The thread is about to make the call; where it stands, if that was asked for. */
void called_enter(struct sup *s, const struct trap *t, const struct stands *at);
/* Notes that a thread is back from a call with that result. */
void called_leave(struct sup *s, pid_t tid, int64_t rval);
/* Calls of it went by. */
void called_unseen(struct sup *s, pid_t tid);
/* The process ended, with this wait status. */
void called_over(struct sup *s, pid_t pid, int status);
/* Ends the traces of all threads: nobody is looked at any more. */
void called_end(struct sup *s);

#endif
