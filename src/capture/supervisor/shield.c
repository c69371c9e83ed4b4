#include "capture/supervisor/shield.h"
#include "capture/inject/inject.h"
#include "capture/seccomp/unstopped.h"
#include "capture/supervisor/worker.h"

#include <dirent.h>
#include <errno.h>
#include <linux/ptrace.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <stddef.h>
#include <sys/reg.h>

/* The kernel's own results of an interrupted call: run again unless a handler without SA_RESTART runs; run again
 * always. */
#define ERESTARTSYS 512
#define ERESTARTNOINTR 513
#define CODE_64 0x33 /* the segment of 64-bit code: a 32-bit call's registers mean something else */

#ifndef SYS_close_range /* Linux 5.9; where it is missing the table is the worker's */
#define SYS_close_range 436
#endif
#ifndef CLOSE_RANGE_UNSHARE
#define CLOSE_RANGE_UNSHARE 2u
#endif

#define CHAINS 256
#define WAKE SIGRTMAX /* ends the shield's wait for stops */
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

static long shield_ptrace(long request, pid_t tid, long addr, long data)
{
	return syscall(SYS_ptrace, request, (long)tid, addr, data);
}

/* ---- tracees ---- */

static struct tracee **tracee_slot(struct shield *g, pid_t tid)
{
	struct tracee **at = &g->tracees[(unsigned)tid % CHAINS];
	while (*at && (*at)->tid != tid)
		at = &(*at)->next;
	return at;
}

/* The callers below hold the lock. */
static struct tracee *add_tracee(struct shield *g, pid_t tid, pid_t pid)
{
	struct tracee **at = tracee_slot(g, tid);
	if (!*at && (*at = calloc(1, sizeof(**at)))) {
		(*at)->tid = tid;
		(*at)->pid = pid;
	}
	return *at;
}

static void remove_tracee(struct shield *g, pid_t tid)
{
	struct tracee **at = tracee_slot(g, tid), *w = *at;
	if (w) {
		*at = w->next;
		free(w);
	}
}

static bool is_seized(struct shield *g, pid_t pid)
{
	for (unsigned i = 0; i < CHAINS; i++)
		for (struct tracee *w = g->tracees[i]; w; w = w->next)
			if (w->pid == pid && w->seized)
				return true;
	return false;
}

void shield_note(struct shield *g, pid_t pid, const struct trap *t, bool can_block, bool add)
{
	pthread_mutex_lock(&g->lock);
	struct tracee *w = add ? add_tracee(g, t->tid, pid) : *tracee_slot(g, t->tid);
	if (w) {
		w->noted = true;
		w->can_block = can_block;
		w->nr = t->nr;
		w->ip = t->ip;
		memcpy(w->args, t->args, sizeof(w->args));
	}
	pthread_mutex_unlock(&g->lock);
}

bool shield_has(struct shield *g, pid_t pid)
{
	pthread_mutex_lock(&g->lock);
	struct tracee *w = *tracee_slot(g, pid);
	bool ret = w && w->seized;
	pthread_mutex_unlock(&g->lock);
	return ret;
}

void shield_forget(struct shield *g, pid_t pid)
{
	pthread_mutex_lock(&g->lock);
	for (unsigned i = 0; i < CHAINS; i++)
		for (struct tracee **at = &g->tracees[i]; *at;) {
			struct tracee *w = *at;
			if (w->pid == pid) {
				*at = w->next;
				free(w);
			} else {
				at = &w->next;
			}
		}
	pthread_mutex_unlock(&g->lock);
}

/* ---- seizing and letting go ---- */

/* Seizing waits for an exec of the process to be over, and an exec for its other threads to be reaped: by us, if they
 * are seized already. So it is given up after a while, by way of the signal that the asking thread sends each
 * millisecond. */
static sigjmp_buf give_up;
static volatile int64_t seizing; /* since when; 0: not */

static int64_t shield_clock_ns(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

static long try_to_seize(pid_t tid)
{
	if (sigsetjmp(give_up, 1)) {
		seizing = 0;
		errno = EBUSY;
		return -1;
	}
	seizing = shield_clock_ns();
	/* TRACESYSGOOD: were we killed at a stop of a call that nobody has waited for, the kernel would deliver its
	 * SIGTRAP; with it that is no signal there is. */
	long rc = shield_ptrace(PTRACE_SEIZE, tid, 0, PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_TRACESYSGOOD);
	seizing = 0;
	return rc;
}

static int seize_thread(struct shield *g, pid_t tid, pid_t pid)
{
	/* Entered before, so that what the server receives from here on is noted. */
	pthread_mutex_lock(&g->lock);
	bool ok = add_tracee(g, tid, pid) != NULL;
	pthread_mutex_unlock(&g->lock);
	int rc = !ok ? -ENOMEM : try_to_seize(tid) < 0 ? -errno : 0;
	pthread_mutex_lock(&g->lock);
	struct tracee *w = *tracee_slot(g, tid);
	if (rc == 0 && w)
		w->seized = true;
	else
		remove_tracee(g, tid);
	pthread_mutex_unlock(&g->lock);
	return rc;
}

static void interrupt_tracees(struct shield *g, pid_t pid)
{
	pthread_mutex_lock(&g->lock);
	for (unsigned i = 0; i < CHAINS; i++)
		for (struct tracee *w = g->tracees[i]; w; w = w->next)
			if (w->pid == pid && w->seized && !w->leaving) {
				w->leaving = true;
				shield_ptrace(PTRACE_INTERRUPT, w->tid, 0, 0);
			}
	pthread_mutex_unlock(&g->lock);
}

/* It is let go of when it does stop. */
static void leave_thread(struct shield *g, pid_t tid)
{
	pthread_mutex_lock(&g->lock);
	struct tracee *w = *tracee_slot(g, tid);
	if (w && !w->leaving) {
		w->leaving = true;
		shield_ptrace(PTRACE_INTERRUPT, tid, 0, 0);
	}
	pthread_mutex_unlock(&g->lock);
}

/* All its threads; those that come while this goes on are seized by the kernel, or found in another round. */
static bool seize_all(struct shield *g, pid_t pid)
{
	char name[48];
	snprintf(name, sizeof(name), "/proc/%d/task", pid);
	for (bool more = true; more;) {
		more = false;
		DIR *d = opendir(name);
		if (!d)
			return false;
		for (struct dirent *e; (e = readdir(d));) {
			pid_t tid = atoi(e->d_name);
			if (tid <= 0 || shield_has(g, tid))
				continue;
			int rc = seize_thread(g, tid, pid);
			if (rc == 0) {
				more = true;
			} else if (rc != -ESRCH) {
				closedir(d);
				interrupt_tracees(g, pid);
				return false;
			}
		}
		closedir(d);
	}
	return true;
}

/* ---- stops ---- */

/* The call that a signal has interrupted is run again if it was not received. */
static void repair_interrupted_call(struct shield *g, pid_t tid)
{
	struct {
		unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax, ip, cs, flags, sp, ss,
		    fs_base, gs_base, ds, es, fs, gs;
	} regs;
	if (shield_ptrace(PTRACE_GETREGS, tid, 0, (long)&regs) < 0 || (long)regs.ax != -ERESTARTSYS || regs.cs != CODE_64)
		return;
	if (trap_call_native((int)regs.orig_ax) == CALL_none)
		return;
	if ((regs.ip - OPENS_PAGE < OPENS_PAGE_SIZE || (uint32_t)regs.r10 == OPENS_MODE) && regs.orig_ax == SYS_openat &&
	    !(regs.dx & OPENS_FLAGS_NOT))
		return; /* the filter lets it pass: it waits for what it opens, and is to be interrupted */
	const uint64_t args[6] = {regs.di, regs.si, regs.dx, regs.r10, regs.r8, regs.r9};
	pthread_mutex_lock(&g->lock);
	struct tracee *w = *tracee_slot(g, tid);
	/* Received last, and able to wait by itself: it may be the one that is interrupted. */
	bool its_own = w && w->noted && w->can_block && w->nr == (int)regs.orig_ax && w->ip == regs.ip &&
	               !memcmp(w->args, args, sizeof(args));
	pthread_mutex_unlock(&g->lock);
	if (!its_own)
		shield_ptrace(PTRACE_POKEUSR, tid, 8 * RAX, -ERESTARTNOINTR);
}

/* The process of a thread that the kernel seized for us. */
static pid_t process_of_thread(pid_t tid)
{
	char name[48], line[256];
	int pid = 0;
	snprintf(name, sizeof(name), "/proc/%d/status", tid);
	FILE *f = fopen(name, "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "Tgid: %d", &pid) == 1)
			break;
	if (f)
		fclose(f);
	return pid;
}

static void detach_tracee(struct shield *g, pid_t tid, long sig)
{
	shield_ptrace(PTRACE_DETACH, tid, 0, sig);
	pthread_mutex_lock(&g->lock);
	remove_tracee(g, tid);
	pthread_mutex_unlock(&g->lock);
}

static void handle_shielded_stop(struct shield *g, pid_t tid, int status)
{
	int sig = WSTOPSIG(status), event = status >> 16;
	pthread_mutex_lock(&g->lock);
	struct tracee *w = *tracee_slot(g, tid);
	bool leaving = w && w->leaving;
	pthread_mutex_unlock(&g->lock);
	if (!w) { /* a new thread; a process that was made as if it were one is none of ours */
		pid_t pid = process_of_thread(tid);
		leaving = pid == tid || pid == 0;
		pthread_mutex_lock(&g->lock);
		w = leaving ? NULL : add_tracee(g, tid, pid);
		if (w)
			w->seized = true;
		else
			leaving = true;
		pthread_mutex_unlock(&g->lock);
	}
	bool group = event == PTRACE_EVENT_STOP && (sig == SIGSTOP || sig == SIGTSTP || sig == SIGTTIN || sig == SIGTTOU);
	long inject = 0;
	if (!event) {
		inject = sig;
		repair_interrupted_call(g, tid);
	}
	if (group && tid == g->control->root)
		worker_stop(g->control, g->keeper);
	if (event == PTRACE_EVENT_EXEC && w)
		shield_forget(g, process_of_thread(tid)); /* its other threads are gone */
	if (leaving || event == PTRACE_EVENT_EXEC)    /* an exec takes the handlers away */
		detach_tracee(g, tid, inject);
	else
		shield_ptrace(group ? PTRACE_LISTEN : PTRACE_CONT, tid, 0, inject);
}

/* The end of a child of the worker is the other thread's to see. */
static bool is_child_of_worker(struct shield *g, pid_t tid)
{
	char name[48], text[512];
	if (tid == g->control->root && !__atomic_load_n(&g->control->adopted, __ATOMIC_ACQUIRE))
		return true;
	snprintf(name, sizeof(name), "/proc/%d/stat", tid);
	FILE *f = fopen(name, "re");
	int ppid = -1;
	char *at = f && fgets(text, sizeof(text), f) ? strrchr(text, ')') : NULL;
	if (at)
		sscanf(at + 1, " %*c %d", &ppid);
	if (f)
		fclose(f);
	return ppid == g->self && process_of_thread(tid) == tid;
}

/* What a thread has to report, left where it is. A stop must not be taken (waitpid): the kernel forgets then which
 * signal is to be delivered, and if we were killed before the thread goes on, it would never come. Left, the kernel
 * delivers it when it lets go of the thread. */
static bool peek_report(pid_t tid, siginfo_t *ret)
{
	*ret = (siginfo_t){0};
	return waitid(P_PID, (id_t)tid, ret, WEXITED | WSTOPPED | WNOWAIT | WNOHANG | __WALL | __WNOTHREAD) == 0 &&
	       ret->si_pid;
}

/* As waitpid would tell it. */
static int stop_status(const siginfo_t *si)
{
	return si->si_status << 8 | 0x7f;
}

/* Handles what one thread has to report. False if that is the end of a child of ours. */
static bool reap_report(struct shield *g, pid_t tid, bool over)
{
	siginfo_t si;
	int status;
	if (over && is_child_of_worker(g, tid))
		return false;
	if (!peek_report(tid, &si))
		return true;
	if (si.si_code == CLD_TRAPPED) {
		handle_shielded_stop(g, tid, stop_status(&si));
	} else if (waitpid(tid, &status, __WALL | __WNOTHREAD | WNOHANG) == tid && !WIFSTOPPED(status)) {
		pthread_mutex_lock(&g->lock);
		remove_tracee(g, tid);
		pthread_mutex_unlock(&g->lock);
	}
	return true;
}

/* While the end of a child of ours waits for the other thread, it stands before the others' reports. */
static void take_others(struct shield *g)
{
	size_t n = 0, cap = 0;
	pid_t *tids = NULL;
	pthread_mutex_lock(&g->lock);
	for (unsigned i = 0; i < CHAINS; i++)
		for (struct tracee *w = g->tracees[i]; w; w = w->next) {
			if (n == cap) {
				cap = cap ? 2 * cap : 64;
				pid_t *more = realloc(tids, cap * sizeof(*tids));
				if (!more)
					break;
				tids = more;
			}
			tids[n++] = w->tid;
		}
	pthread_mutex_unlock(&g->lock);
	for (size_t i = 0; i < n; i++) {
		siginfo_t si;
		if (peek_report(tids[i], &si))
			reap_report(g, si.si_pid, si.si_code != CLD_TRAPPED && si.si_code != CLD_STOPPED);
	}
	free(tids);
	usleep(1000);
}

/* ---- the thread ---- */

static struct control *counted;

/* Sent to this thread, it only ends its wait; sent to the process, it is one more of those that the keeper asks about.
 */
static void on_wake_signal(int sig, siginfo_t *si, void *context)
{
	(void)context;
	if (si->si_code != SI_TKILL)
		__atomic_add_fetch(&counted->got[sig], 1, __ATOMIC_RELEASE);
	if (seizing && shield_clock_ns() - seizing > PATIENCE_MS * 1000000LL)
		siglongjmp(give_up, 1);
}

/* ---- putting code in ---- */

#define HALTED 256          /* threads of a process that are stopped at once; of one that has more none is */
#define HALT_PATIENCE_MS 30 /* for all of them: one that waits for the disk, or for its child of vfork, cannot be */

/* The threads of a process but the one that code is put into by. */
struct halted {
	struct halted_thread {
		pid_t tid;
		bool had; /* it was seized before */
		bool stopped;
		bool rerun; /* its call will be made again */
		int status;
	} v[HALTED];
	size_t n;
};

/* Is a signal about to be delivered to it? */
static bool has_signal(pid_t tid)
{
	static const char *const names[] = {"SigPnd", "ShdPnd", "SigBlk"};
	unsigned long long set[3] = {0}, v;
	char name[48], line[256], what[16];
	snprintf(name, sizeof(name), "/proc/%d/status", tid);
	FILE *f = fopen(name, "re");
	while (f && fgets(line, sizeof(line), f))
		for (int i = 0; i < 3 && sscanf(line, "%15[A-Za-z]: %llx", what, &v) == 2; i++)
			if (!strcmp(what, names[i]))
				set[i] = v;
	if (f)
		fclose(f);
	return !f || ((set[0] | set[1]) & ~set[2]);
}

/* What a call gives back that has been stopped, if it is one of the 64-bit interface; 0: it is none, or cannot be
 * read. */
static long result_at_stop(pid_t tid)
{
	long v = 0;
	if (shield_ptrace(PTRACE_PEEKUSR, tid, 8 * CS, (long)&v) < 0 || v != CODE_64 ||
	    shield_ptrace(PTRACE_PEEKUSR, tid, 8 * ORIG_RAX, (long)&v) < 0 || v < 0)
		return 0;
	return shield_ptrace(PTRACE_PEEKUSR, tid, 8 * RAX, (long)&v) < 0 ? 0 : v;
}

/* Some calls (epoll_wait, semop) come back when their thread is stopped, as if a signal had come: that one is made
 * again for which none did. At once, for the kernel lets go of the thread if we are killed. */
static bool rerun_interrupted_call(pid_t tid)
{
	return result_at_stop(tid) == -EINTR && !has_signal(tid) &&
	       shield_ptrace(PTRACE_POKEUSR, tid, 8 * RAX, -ERESTARTNOINTR) == 0;
}

static bool is_halted(const struct halted *h, pid_t tid)
{
	for (size_t i = 0; i < h->n; i++)
		if (h->v[i].tid == tid)
			return true;
	return false;
}

/* One more, which is to stop. 0; -ESRCH: it is gone; -errno. */
static int halt_thread(struct shield *g, struct halted *h, pid_t pid, pid_t tid)
{
	const bool had = shield_has(g, tid);
	if (h->n == HALTED)
		return -E2BIG;
	int rc = had ? 0 : seize_thread(g, tid, pid);
	if (rc == -ESRCH)
		return rc;
	/* A new one has been seized by the kernel, with the one that made it. */
	if (shield_ptrace(PTRACE_INTERRUPT, tid, 0, 0) < 0)
		return rc < 0 ? rc : -errno;
	if (rc < 0) {
		pthread_mutex_lock(&g->lock);
		struct tracee *w = add_tracee(g, tid, pid);
		if (w)
			w->seized = true;
		pthread_mutex_unlock(&g->lock);
		if (!w)
			return -ENOMEM;
	}
	h->v[h->n++] = (struct halted_thread){.tid = tid, .had = had};
	return 0;
}

/* Those that are not known yet. The number of them, or -errno. */
static int halt_unknown(struct shield *g, struct halted *h, pid_t pid, pid_t but)
{
	char name[48];
	int rc = 0, n = 0;
	snprintf(name, sizeof(name), "/proc/%d/task", pid);
	DIR *d = opendir(name);
	if (!d)
		return -errno;
	for (struct dirent *e; rc == 0 && (e = readdir(d));) {
		const pid_t tid = atoi(e->d_name);
		if (tid <= 0 || tid == but || is_halted(h, tid))
			continue;
		rc = halt_thread(g, h, pid, tid);
		n += rc == 0;
		rc = rc == -ESRCH ? 0 : rc;
	}
	closedir(d);
	return rc < 0 ? rc : n;
}

/* Looks whether it has stopped. False: it is gone. */
static bool look_at_halted(struct shield *g, struct halted_thread *t)
{
	siginfo_t si;
	if (!peek_report(t->tid, &si))
		return shield_has(g, t->tid);
	t->stopped = si.si_code == CLD_TRAPPED;
	if (!t->stopped) {
		reap_report(g, t->tid, true);
		return false;
	}
	t->status = stop_status(&si);
	t->rerun = t->status >> 16 == PTRACE_EVENT_STOP && rerun_interrupted_call(t->tid);
	return true;
}

/* Looks which have stopped, and forgets who is gone. The number of those that still run. */
static size_t count_running(struct shield *g, struct halted *h)
{
	size_t running = 0;
	for (size_t i = 0; i < h->n;) {
		struct halted_thread *t = &h->v[i];
		if (!t->stopped && !look_at_halted(g, t)) {
			*t = h->v[--h->n];
			continue;
		}
		running += !t->stopped;
		i++;
	}
	return running;
}

/* Stops all threads of the process but one. 0; or -errno, and some are stopped. */
static int halt_others(struct shield *g, struct halted *h, pid_t pid, pid_t but)
{
	const int64_t begin = shield_clock_ns();
	h->n = 0;
	for (;;) {
		int more = halt_unknown(g, h, pid, but);
		if (more < 0)
			return more;
		if (!count_running(g, h) && !more)
			return 0;
		if (shield_clock_ns() - begin > HALT_PATIENCE_MS * 1000000LL)
			return -EBUSY;
		sched_yield();
	}
}

static void let_others_go(struct shield *g, struct halted *h)
{
	for (size_t i = 0; i < h->n; i++) {
		struct halted_thread *t = &h->v[i];
		if (!t->had)
			leave_thread(g, t->tid);
		if (!t->stopped)
			continue;
		if (t->rerun && has_signal(t->tid)) /* one has come since */
			shield_ptrace(PTRACE_POKEUSR, t->tid, 8 * RAX, -EINTR);
		handle_shielded_stop(g, t->tid, t->status);
	}
}

/* Stops the thread where it runs, and has the code put in. It may be seized already, and stays so then. */
static int inject_at_stop(struct shield *g, pid_t tid, bool had)
{
	enum { PATIENCE_NS = INJECT_PATIENCE_MS * 1000000, SPIN_NS = 200000 };
	const int64_t begin = shield_clock_ns();
	while (shield_clock_ns() - begin < PATIENCE_NS) {
		siginfo_t si = {0};
		int status, sig;
		if (waitid(P_PID, (id_t)tid, &si, WEXITED | WSTOPPED | WNOWAIT | WNOHANG | __WALL | __WNOTHREAD) < 0)
			return -ESRCH;
		if (!si.si_pid) {
			if (shield_clock_ns() - begin < SPIN_NS) /* most take 50 us */
				sched_yield();
			else /* it may be this processor that it waits for */
				nanosleep(&(struct timespec){.tv_nsec = SPIN_NS}, NULL);
			continue;
		}
		if (si.si_code != CLD_TRAPPED)
			return -ESRCH; /* the shield's own loop takes it */
		status = stop_status(&si);
		if (status >> 16 != PTRACE_EVENT_STOP || WSTOPSIG(status) != SIGTRAP) {
			handle_shielded_stop(g, tid, status);
			if (!shield_has(g, tid))
				return -ESRCH;
			continue;
		}
		int rc = inject_code(tid, g->injection, &sig);
		if (!had) /* gone or not: what is stopped must not stay so */
			detach_tracee(g, tid, sig);
		else
			shield_ptrace(PTRACE_CONT, tid, 0, sig);
		return rc;
	}
	if (!had)
		leave_thread(g, tid);
	return -EBUSY;
}

/* The others stand still before anything is given to the process, and until it is done: none of them can fork. */
static int stop_and_inject(struct shield *g, pid_t tid)
{
	static struct halted others; /* large, and one at a time */
	struct injection *j = g->injection;
	const bool had = shield_has(g, tid);
	others.n = 0;
	int rc = j->threads ? halt_others(g, &others, j->pid, tid) : 0;
	if (rc == 0 && !had && seize_thread(g, tid, j->pid) < 0)
		rc = -EPERM;
	if (rc == 0)
		shield_ptrace(PTRACE_INTERRUPT, tid, 0, 0);
	j->ready = rc == 0;
	/* Received, a call cannot be interrupted where it waits for the answer: it stops on its way out. */
	sem_post(&g->ready);
	while (sem_wait(&g->gone) < 0)
		;
	if (rc == 0)
		rc = inject_at_stop(g, tid, had);
	let_others_go(g, &others);
	return rc;
}

static void answer_request(struct shield *g)
{
	int request = __atomic_exchange_n(&g->request, REQUEST_NONE, __ATOMIC_ACQ_REL);
	if (request == REQUEST_WATCH) {
		g->done_well = seize_all(g, g->pid);
		sem_post(&g->done);
	} else if (request == REQUEST_RELEASE) {
		interrupt_tracees(g, g->pid);
		sem_post(&g->done);
	} else if (request == REQUEST_INJECT) {
		g->inject_result = stop_and_inject(g, g->pid);
		sem_post(&g->done);
	}
}

static void *run_shield_thread(void *arg)
{
	struct shield *g = arg;
	struct sigaction wake = {.sa_sigaction = on_wake_signal, .sa_flags = SA_SIGINFO};
	sigset_t set;
	counted = g->control;
	sigaction(WAKE, &wake, NULL);
	sigemptyset(&set);
	sigaddset(&set, WAKE);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
#ifndef __SANITIZE_THREAD__ /* which takes equal numbers for the same descriptor */
	/* A descriptor table of its own, with nothing in it: whose child has ended must be known where the worker has none
	 * left, too. */
	syscall(SYS_close_range, 0u, ~0u, CLOSE_RANGE_UNSHARE);
#endif
	for (;;) {
		siginfo_t si = {0};
		answer_request(g);
		if (waitid(P_ALL, 0, &si, WEXITED | WSTOPPED | WNOWAIT | __WALL | __WNOTHREAD) < 0) {
			if (errno == ECHILD) { /* nobody is seized */
				while (sem_wait(&g->asked) < 0)
					;
			}
			continue;
		}
		if (si.si_pid && !reap_report(g, si.si_pid, si.si_code != CLD_TRAPPED && si.si_code != CLD_STOPPED))
			take_others(g);
	}
	return NULL;
}

struct shield *shield_new(struct control *control, pid_t keeper)
{
	struct shield *g = calloc(1, sizeof(*g));
	if (!g)
		return NULL;
	pthread_mutex_init(&g->lock, NULL);
	sem_init(&g->asked, 0, 0);
	sem_init(&g->done, 0, 0);
	sem_init(&g->ready, 0, 0);
	sem_init(&g->gone, 0, 0);
	g->control = control;
	g->keeper = keeper;
	return g;
}

/* Asks the thread. It may be about to wait just when it is woken: woken again then. */
static bool ask_shield_thread(struct shield *g, enum request request, pid_t pid, sem_t *answer)
{
	g->pid = pid;
	g->done_well = false;
	__atomic_store_n(&g->request, request, __ATOMIC_RELEASE);
	sem_post(&g->asked);
	const int patience = request == REQUEST_INJECT ? INJECT_PATIENCE_MS : PATIENCE_MS;
	for (int ms = 0;; ms++) {
		struct timespec until;
		pthread_kill(g->thread, WAKE);
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += 1000000;
		if (until.tv_nsec >= 1000000000) {
			until.tv_sec++;
			until.tv_nsec -= 1000000000;
		}
		if (sem_timedwait(answer, &until) == 0)
			return true;
		/* Not taken up yet, it is taken back; else it is at it, and ends soon. */
		int is = (int)request;
		if (ms >= patience &&
		    __atomic_compare_exchange_n(&g->request, &is, REQUEST_NONE, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
			return false;
	}
}

static bool start_shield_thread(struct shield *g)
{
	if (!g->started) {
		pthread_attr_t attr;
		pthread_attr_init(&attr);
		pthread_attr_setstacksize(&attr, 256u << 10);
		g->self = getpid();
		sigaction(SIGCHLD, &(struct sigaction){.sa_flags = SA_NOCLDSTOP},
		          NULL); /* every stop would wake the main thread */
		g->started = pthread_create(&g->thread, &attr, run_shield_thread, g) == 0;
		pthread_attr_destroy(&attr);
	}
	return g->started;
}

bool shield_watch(struct shield *g, pid_t pid)
{
	return start_shield_thread(g) && ask_shield_thread(g, REQUEST_WATCH, pid, &g->done) && g->done_well;
}

int shield_inject(struct shield *g, pid_t tid, struct injection *injection, void (*go)(void *arg), void *arg)
{
	g->injection = injection;
	injection->ready = false;
	bool ready = start_shield_thread(g) && ask_shield_thread(g, REQUEST_INJECT, tid, &g->ready);
	go(arg); /* by this thread: the other has no descriptors */
	if (!ready)
		return -EBUSY;
	sem_post(&g->gone);
	while (sem_wait(&g->done) < 0)
		;
	return g->inject_result;
}

void shield_release(struct shield *g, pid_t pid)
{
	if (!g->started || !ask_shield_thread(g, REQUEST_RELEASE, pid, &g->done))
		return;
	for (int ms = 0; ms < PATIENCE_MS; ms++) {
		pthread_mutex_lock(&g->lock);
		bool yet = is_seized(g, pid);
		pthread_mutex_unlock(&g->lock);
		if (!yet)
			return;
		usleep(1000);
	}
}

#else

struct shield *shield_new(struct control *control, pid_t keeper)
{
	(void)control, (void)keeper;
	return NULL;
}

bool shield_watch(struct shield *g, pid_t pid)
{
	(void)g, (void)pid;
	return false;
}

int shield_inject(struct shield *g, pid_t tid, struct injection *injection, void (*go)(void *arg), void *arg)
{
	(void)g, (void)tid, (void)injection;
	go(arg);
	return -ENOTSUP;
}

void shield_release(struct shield *g, pid_t pid)
{
	(void)g, (void)pid;
}

void shield_note(struct shield *g, pid_t pid, const struct trap *t, bool can_block, bool add)
{
	(void)g, (void)pid, (void)t, (void)can_block, (void)add;
}

bool shield_has(struct shield *g, pid_t pid)
{
	(void)g, (void)pid;
	return false;
}

void shield_forget(struct shield *g, pid_t pid)
{
	(void)g, (void)pid;
}

#endif
