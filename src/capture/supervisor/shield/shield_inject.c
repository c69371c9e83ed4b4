/* shield_inject.c - has code put into a process: its threads stand still meanwhile. */
#include "capture/supervisor/shield/shield_int.h"

#if defined(__x86_64__)

#include "capture/inject/inject.h"

#include <dirent.h>
#include <errno.h>
#include <linux/ptrace.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/reg.h>
#include <sys/wait.h>

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

/* Among the threads that were halted. */
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
	int rc = had ? 0 : shield_seize(g, tid, pid);
	if (rc == -ESRCH)
		return rc;
	/* A new one has been seized by the kernel, with the one that made it. */
	if (shield_ptrace(PTRACE_INTERRUPT, tid, 0, 0) < 0)
		return rc < 0 ? rc : -errno;
	if (rc < 0) {
		pthread_mutex_lock(&g->lock);
		struct tracee *w = shield_add(g, tid, pid);
		if (w)
			w->seized = true;
		pthread_mutex_unlock(&g->lock);
		if (!w)
			return -ENOMEM;
	}
	h->v[h->n++] = (struct halted_thread){.tid = tid, .had = had};
	return 0;
}

/* Halts threads: those that are not known yet. The number of them, or -errno. */
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
	if (!shield_peek_report(t->tid, &si))
		return shield_has(g, t->tid);
	t->stopped = si.si_code == CLD_TRAPPED;
	if (!t->stopped) {
		shield_reap_report(g, t->tid, true);
		return false;
	}
	t->status = shield_stop_status(&si);
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

/* Threads that were halted for an injection go on as they were; calls that were interrupted are made again. */
static void let_others_go(struct shield *g, struct halted *h)
{
	for (size_t i = 0; i < h->n; i++) {
		struct halted_thread *t = &h->v[i];
		if (!t->had)
			shield_leave(g, t->tid);
		if (!t->stopped)
			continue;
		if (t->rerun && has_signal(t->tid)) /* one has come since */
			shield_ptrace(PTRACE_POKEUSR, t->tid, 8 * RAX, -EINTR);
		shield_handle_stop(g, t->tid, t->status);
	}
}

/* Stops the thread where it runs, and has the code put in. It may be seized already, and stays so then. 0; -ESRCH: it
 * is gone; -EBUSY: it did not stop within INJECT_PATIENCE_MS; as inject_code. */
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
		status = shield_stop_status(&si);
		if (status >> 16 != PTRACE_EVENT_STOP || WSTOPSIG(status) != SIGTRAP) {
			shield_handle_stop(g, tid, status);
			if (!shield_has(g, tid))
				return -ESRCH;
			continue;
		}
		int rc = inject_code(tid, g->injection, &sig);
		if (!had) /* gone or not: what is stopped must not stay so */
			shield_detach(g, tid, sig);
		else
			shield_ptrace(PTRACE_CONT, tid, 0, sig);
		return rc;
	}
	if (!had)
		shield_leave(g, tid);
	return -EBUSY;
}

int shield_stop_and_inject(struct shield *g, pid_t tid)
{
	static struct halted others; /* large, and one at a time */
	struct injection *j = g->injection;
	const bool had = shield_has(g, tid);
	others.n = 0;
	int rc = j->threads ? halt_others(g, &others, j->pid, tid) : 0;
	if (rc == 0 && !had && shield_seize(g, tid, j->pid) < 0)
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

#endif
