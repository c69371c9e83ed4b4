/* procs_int.h - what the files here share of processes and their accesses, and nobody else asks for. */
#ifndef STEMMA_CAPTURE_SUPERVISOR_PROCS_INT_H
#define STEMMA_CAPTURE_SUPERVISOR_PROCS_INT_H

#include "capture/supervisor/super.h"

/* Has no thread but the first ever run in p? Its figures in /proc are those of the process then. */
bool proc_has_run_one_thread(struct proc *p);
/* The process number that was given out last, in the recorder's namespace; -1: not known. 1 us. */
pid_t proc_last_given(const struct sup *s);
/* Takes the thread out of the table and frees it. */
void task_forget(struct sup *s, struct task *t);

/* A program that the shell started, and waits for, is over: has all been read of what the shell opened as its standard
 * input, and nothing by the shell? Then it can read nothing of it, as long as nobody makes the file longer. */
void access_note_spent(struct sup *s, struct proc *shell);
/* What the loader and the C library of a program open to map it: libraries, their list, and what a locale has. */
bool access_is_of_library(const struct file *f);
/* Ends the accesses of a shell to what it has opened for others and closed: so that what it moves later is not taken
 * for theirs. */
void proc_end_redirected(struct sup *s, struct proc *p, int64_t until);
/* p stands still, and opens a file to read it at `time` (ns): whom it forks is from then on known to be later. */
void proc_note_given(struct sup *s, const struct proc *p, int64_t time);
/* Does its one thread wait for a child, to end or to execute? 5 us. */
bool proc_waits_for_child(const struct proc *p);
/* Is a program of that path one that opens files for others (a shell)? */
bool proc_is_shell(const char *path);
/* The files behind the descriptors of p, if it stands still and they have the numbers that they had when they were
 * listed last (table.c). False: they are to be listed. */
bool proc_known_files(struct sup *s, struct proc *p, struct mapped ret[NUMBERS_MAX], size_t *ret_n);
/* p is about to open a file to read it: notes of the few files that it writes whether they were changed since it was
 * done last. Nothing that it reads from now on went into what is not changed any more. */
void accesses_look_at_written(struct sup *s, struct proc *p);

#endif
