#include "capture/supervisor/shield/shield_int.h"

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

#ifndef SYS_close_range /* Linux 5.9; where it is missing the table is the worker's */
#define SYS_close_range 436
#endif
#ifndef CLOSE_RANGE_UNSHARE
#define CLOSE_RANGE_UNSHARE 2u
#endif

#define WAKE SIGRTMAX /* ends the shield's wait for stops */

/* ---- tracees ---- */

/* Where the pointer to the thread is, or is to be put: NULL is there if it is not traced. */
static struct tracee **tracee_slot(struct shield *g, pid_t tid)
{
	struct tracee **at = &g->tracees[(unsigned)tid % CHAINS];
	while (*at && (*at)->tid != tid)
		at = &(*at)->next;
	return at;
}

/* The callers below hold the lock. */
struct tracee *shield_add(struct shield *g, pid_t tid, pid_t pid)
{
	struct tracee **at = tracee_slot(g, tid);
	if (!*at && (*at = calloc(1, sizeof(**at)))) {
		(*at)->tid = tid;
		(*at)->pid = pid;
	}
	return *at;
}

/* Forgets a process that the shield traces. Nothing if it is not known. */
static void remove_tracee(struct shield *g, pid_t tid)
{
	struct tracee **at = tracee_slot(g, tid), *w = *at;
	if (w) {
		*at = w->next;
		free(w);
	}
}

/* Whether a thread of the process is seized by ptrace. */
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
	struct tracee *w = add ? shield_add(g, t->tid, pid) : *tracee_slot(g, t->tid);
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

/* ptrace's result, -1 and errno. EBUSY: given up, by the signal of whoever asked, who waits (see give_up). */
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

int shield_seize(struct shield *g, pid_t tid, pid_t pid)
{
	/* Entered before, so that what the server receives from here on is noted. */
	pthread_mutex_lock(&g->lock);
	bool ok = shield_add(g, tid, pid) != NULL;
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

/* Has them stop, so that they can be let go; that is not waited for. */
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
void shield_leave(struct shield *g, pid_t tid)
{
	pthread_mutex_lock(&g->lock);
	struct tracee *w = *tracee_slot(g, tid);
	if (w && !w->leaving) {
		w->leaving = true;
		shield_ptrace(PTRACE_INTERRUPT, tid, 0, 0);
	}
	pthread_mutex_unlock(&g->lock);
}

/* Seizes a process: all its threads; those that come while this goes on are seized by the kernel, or found in
 * another round. False: one of them cannot be, and those that were seized are let go. */
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
			int rc = shield_seize(g, tid, pid);
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

void shield_detach(struct shield *g, pid_t tid, long sig)
{
	shield_ptrace(PTRACE_DETACH, tid, 0, sig);
	pthread_mutex_lock(&g->lock);
	remove_tracee(g, tid);
	pthread_mutex_unlock(&g->lock);
}

void shield_handle_stop(struct shield *g, pid_t tid, int status)
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
		w = leaving ? NULL : shield_add(g, tid, pid);
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
		shield_detach(g, tid, inject);
	else
		shield_ptrace(group ? PTRACE_LISTEN : PTRACE_CONT, tid, 0, inject);
}

/* The end of a child of the worker is the other thread's to see. False also where it has gone. */
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
bool shield_peek_report(pid_t tid, siginfo_t *ret)
{
	*ret = (siginfo_t){0};
	return waitid(P_PID, (id_t)tid, ret, WEXITED | WSTOPPED | WNOWAIT | WNOHANG | __WALL | __WNOTHREAD) == 0 &&
	       ret->si_pid;
}

/* As waitpid would tell it. */
int shield_stop_status(const siginfo_t *si)
{
	return si->si_status << 8 | 0x7f;
}

/* Handles what one thread has to report. False if that is the end of a child of ours. */
bool shield_reap_report(struct shield *g, pid_t tid, bool over)
{
	siginfo_t si;
	int status;
	if (over && is_child_of_worker(g, tid))
		return false;
	if (!shield_peek_report(tid, &si))
		return true;
	if (si.si_code == CLD_TRAPPED) {
		shield_handle_stop(g, tid, shield_stop_status(&si));
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
		if (shield_peek_report(tids[i], &si))
			shield_reap_report(g, si.si_pid, si.si_code != CLD_TRAPPED && si.si_code != CLD_STOPPED);
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

/* What another thread has asked for, if anybody has; the answer is a semaphore. */
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
		g->inject_result = shield_stop_and_inject(g, g->pid);
		sem_post(&g->done);
	}
}

/* The shield's thread: serves requests, and the stops of those that are seized. */
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
		if (si.si_pid && !shield_reap_report(g, si.si_pid, si.si_code != CLD_TRAPPED && si.si_code != CLD_STOPPED))
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

/* Has the thread do it, for pid. True: it answered, and g->done_well says how it went. False: it did not take it up
 * within PATIENCE_MS (of an injection INJECT_PATIENCE_MS), and the request is taken back. Once taken up it is waited
 * for, however long. The thread may be about to wait just when it is woken: so it is woken each millisecond. */
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

/* Once. False: there is no thread. */
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

/* go(arg) is called once, by this thread. 0; -EBUSY: the thread could not be stopped; -errno. */
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

/* On other processors: calls go, and gives -ENOTSUP. */
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
