/* shield_int.h - what the thread that keeps signals from showing shares with the putting in of code. Internal to
 * shield/. */
#ifndef STEMMA_CAPTURE_SUPERVISOR_SHIELD_SHIELD_INT_H
#define STEMMA_CAPTURE_SUPERVISOR_SHIELD_SHIELD_INT_H

#include "capture/supervisor/shield/shield.h"

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* The kernel's own results of an interrupted call: run again unless a handler without SA_RESTART runs; run again
 * always. */
#define ERESTARTSYS 512
#define ERESTARTNOINTR 513
#define CODE_64 0x33 /* the segment of 64-bit code: a 32-bit call's registers mean something else */

#define CHAINS 256
#define PATIENCE_MS 20
/* For a program to stop that code is put into, and for this thread to begin: on two processors with a load of 24 one in
 * eight took longer than 20 ms, none 75. The program waits for a processor then, and so do others. */
#define INJECT_PATIENCE_MS 100

/* A thread that is seized, or is about to be. */
struct tracee {
	struct tracee *next;
	pid_t tid, pid;
	bool seized, leaving;
	bool noted, can_block; /* what the server received of it last: */
	int nr;
	uint64_t ip, args[6];
};

enum request { REQUEST_NONE, REQUEST_WATCH, REQUEST_RELEASE, REQUEST_INJECT };

struct shield {
	pthread_mutex_t lock; /* guards the tracees */
	struct tracee *tracees[CHAINS];
	struct control *control;
	pid_t keeper, self;
	bool started;
	pthread_t thread;
	/* One request at a time, of the server's thread. */
	int request;
	pid_t pid;
	bool done_well;
	struct injection *injection;
	int inject_result;
	sem_t asked, done, ready, gone;
};

/* Calls ptrace(2) by the system call itself. Its result, -1 with errno. */
static inline long shield_ptrace(long request, pid_t tid, long addr, long data)
{
	return syscall(SYS_ptrace, request, (long)tid, addr, data);
}

/* A clock that only goes on, ns. */
static inline int64_t shield_clock_ns(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

/* All of these by the shield's thread alone, without its lock unless they say so. */

/* The thread is known from here on, with the lock held. NULL: no memory. */
struct tracee *shield_add(struct shield *g, pid_t tid, pid_t pid);
/* Seizes a thread of the process pid. 0; -ESRCH: it is gone; -EBUSY: it took too long; -errno. */
int shield_seize(struct shield *g, pid_t tid, pid_t pid);
/* Leaves a process or thread alone: it is let go of when it does stop. */
void shield_leave(struct shield *g, pid_t tid);
/* Detaches from a thread. It is stopped: lets go of it, with the signal sig, 0 none. */
void shield_detach(struct shield *g, pid_t tid, long sig);
/* What the kernel reports of tid, without taking it; false: nothing. */
bool shield_peek_report(pid_t tid, siginfo_t *ret);
/* The status that waitpid would give for a stop. The same as a status of waitpid. */
int shield_stop_status(const siginfo_t *si);
/* Takes the report and does what it asks for. False: it stays, for it is another thread's to take. */
bool shield_reap_report(struct shield *g, pid_t tid, bool over);
/* A stop that was taken: lets the thread go on, with its signal, its call repaired. */
void shield_handle_stop(struct shield *g, pid_t tid, int status);

/* Has g->injection put into the process of thread tid. The others stand still before anything is given to the process,
 * and until it is done: none of them can fork. Called by the shield's thread alone; posts ready and waits for gone in
 * any case. As inject_code, and -EPERM: it cannot be seized. */
int shield_stop_and_inject(struct shield *g, pid_t tid);

#endif
