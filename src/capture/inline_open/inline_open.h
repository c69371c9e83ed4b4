/* inline_open.h - opens that a program makes by the recorder's code, without a stop, and writes down (doc/opens.md).
 * Internal to capture.
 *
 * Each program has a log of its own, in memory that it shares with the recorder and nobody else: not with other
 * programs of the run, and not with its forked children. Whatever is in it is copied before it is looked at. Logs are
 * read before any stop is looked at, so that everything logged is older than what that call does.
 *
 * Cost: 0.4 ms once a program that has stopped often, or a forked child of it that has; then about 1 µs of the
 * recorder's an open, beside the running program, and 100 ns where a path is opened again between two readings.
 *
 * Budget of an open and close of a file that is opened once (100,000 small files, samples of a busy machine), µs of CPU
 * time: in the program 0.1 the code and 0.25 the filter at four calls (by a folder's descriptor 0.15 more, an fstat).
 * In the recorder 6.0: 1.6 statx of the name, where half is what the other processor has in its cache, 1.0 the handle,
 * 0.8 three events encoded, 0.9 the entry in the table of files and what is forgotten of it, 0.5 its part in a sweep,
 * 0.5 reading the log, 0.5 what the open means, 0.2 the access. The thread that writes the log 0.1 to 0.2. */
#ifndef STEMMA_CAPTURE_INLINE_OPEN_INLINE_OPEN_H
#define STEMMA_CAPTURE_INLINE_OPEN_INLINE_OPEN_H

#include "capture/supervisor/super.h"

/* The functions below as hooks (opens_feature.c). Wanted where the kernel's user notification stops calls. */
extern const struct feature opens_feature;
/* A call that may change what a path means is about to be looked at: opens stop until that shows. Before opens_read.
 * tid: who makes it. */
void opens_bar(struct sup *s, pid_t tid);
/* What has been logged is recorded. */
void opens_read(struct sup *s);
/* Reads the logs where no process of the run has stopped: files that are opened again and again wait longer until
 * they are looked at. */
void opens_read_tick(struct sup *s);
/* Is this stop one of a process whose log is full? Then its log is empty now, and the call may go on at once: it was
 * logged, too, or only asks for this. To be followed by opens_read_many. */
bool opens_full(struct sup *s, const struct trap *t);
/* opens_read_tick where much has been taken from full logs; else that waits for the next stop or tick. */
void opens_read_many(struct sup *s);
/* Called after a stop of p was looked at: may it log, from now on? It may be chosen to be given the code
 * (s->inject_pid). */
void opens_after(struct sup *s, struct proc *p, const struct trap *t);
/* Takes the log from a process: p is about to change its user, root or namespaces, or to confine itself (seccomp,
 * Landlock): from here on it has no log, and gets none, nor do the children that it forks. After opens_read. */
void opens_confine(struct sup *s, struct proc *p);
/* A thread of p is about to change its working directory: opens of the others stop until opens_unbar, and what they
 * have logged is recorded. */
void opens_moves(struct sup *s, struct proc *p);
/* Lets programs open files without a stop again. Nothing is pending that could change what a path means: opens need
 * not stop for that. */
void opens_unbar(struct sup *s);
/* Gives the code to the process that opens_after chose; else as counted_inject. slot: its stop. */
void opens_inject(struct sup *s, const struct notify_slot *slot, void (*go)(void *arg), void *arg);
/* p is about to end or to become another program: has it code of its own where the filter lets opens pass? What it
 * opened from there was not seen, and the record says so. 1 us where nothing is there. */
void opens_see_page(struct sup *s, const struct proc *p);
/* Of a process that the worker before this one knew, or whose parent it knew: has it code and a log of that worker's?
 * What it opens by that code goes into a log that nobody reads. True: it does so from now on, and the record is to say
 * so; false: it has none, or stops for its opens again. */
bool opens_disown(struct sup *s, struct proc *p);
/* Releases the log of a process: p is another program now, or over; its log has been read. */
void opens_free(struct sup *s, struct proc *p);

#endif
