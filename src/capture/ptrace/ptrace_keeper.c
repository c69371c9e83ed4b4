/* After the death of the worker under `trace`: the calls that the filter stops have no tracer then, and the kernel
 * fails them. The keeper takes the tracer's place within a moment, records nothing, and lets everything go on. */
#include "capture/supervisor/worker.h"

#include <dirent.h>
#include <errno.h>
#include <linux/ptrace.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* The system call itself: for PEEK *data gets the word. -1 with errno. */
static long keeper_ptrace(long request, pid_t pid, long addr, long data)
{
	return syscall(SYS_ptrace, request, (long)pid, addr, data);
}

/* Is the thread one that this keeper traces? */
static bool is_traced_thread(const struct traced *t, pid_t tid)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->v[i] == tid)
			return true;
	return false;
}

/* Adds a thread that this keeper traces. False: no memory. */
static bool add_traced_thread(struct traced *t, pid_t tid)
{
	if (t->n == t->cap) {
		size_t cap = t->cap ? 2 * t->cap : 64;
		pid_t *v = realloc(t->v, cap * sizeof(*v));
		if (!v)
			return false;
		t->v = v;
		t->cap = cap;
	}
	t->v[t->n++] = tid;
	return true;
}

/* Forgets a thread that has ended. Nothing if it is not known. */
static void forget_traced_thread(struct traced *t, pid_t tid)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->v[i] == tid)
			t->v[i--] = t->v[--t->n];
}

/* Seizes every thread of the processes below pid that is not seized yet. True: there was one. */
static bool seize_below(struct traced *t, pid_t pid, bool itself, unsigned depth)
{
	enum { DEPTH_MAX = 1000 };
	char name[64], text[4096];
	bool found = false;
	snprintf(name, sizeof(name), "/proc/%d/task", pid);
	DIR *d = depth < DEPTH_MAX ? opendir(name) : NULL;
	for (struct dirent *e; d && (e = readdir(d));) {
		pid_t tid = atoi(e->d_name);
		if (tid <= 0)
			continue;
		if (itself && !is_traced_thread(t, tid) && trace_seize(tid, false, false) == 0)
			found |= add_traced_thread(t, tid);
		snprintf(name, sizeof(name), "/proc/%d/task/%d/children", pid, tid);
		FILE *f = fopen(name, "re");
		while (f && fscanf(f, "%31s", text) == 1)
			found |= seize_below(t, atoi(text), true, depth + 1);
		if (f)
			fclose(f);
	}
	if (d)
		closedir(d);
	return found;
}

/* Seizes all processes below this one. */
void traced_seize(struct traced *t)
{
	enum { ROUNDS = 100 };
	/* What one that is not seized yet forks meanwhile is found the next time. */
	for (int i = 0; i < ROUNDS && seize_below(t, getpid(), false, 0); i++)
		;
}

/* Seizes what another process traced, once that has ended: a second at most. */
void traced_seize_again(struct traced *t)
{
	enum { TRIES = 2000, PAUSE_US = 500 }; /* the old tracer is about to end */
	bool *done = calloc(t->n + 1, sizeof(*done));
	size_t left = done ? t->n : 0;
	for (int k = 0; k < TRIES && left; k++) {
		for (size_t i = 0; i < t->n; i++) {
			if (done[i])
				continue;
			int rc = trace_seize(t->v[i], false, false);
			if (rc == 0 || rc == -ESRCH) {
				done[i] = true;
				left--;
			}
		}
		if (left)
			usleep(PAUSE_US);
	}
	free(done);
	for (size_t i = t->n; i-- > 0;)
		seize_below(t, t->v[i], true, 0);
}

/* Lets a stopped thread go on with its signal, if it stopped for one; in a group stop it stays stopped. status: of
 * waitpid. */
static void continue_thread(struct traced *t, pid_t tid, int status)
{
	int sig = WSTOPSIG(status), event = status >> 16, request = PTRACE_CONT;
	if (!is_traced_thread(t, tid))
		add_traced_thread(t, tid);
	if (event == PTRACE_EVENT_STOP && (sig == SIGSTOP || sig == SIGTSTP || sig == SIGTTIN || sig == SIGTTOU))
		request = PTRACE_LISTEN;
	keeper_ptrace(request, tid, 0, event || sig == (SIGTRAP | 0x80) ? 0 : sig);
}

bool traced_serve(struct traced *t, void (*ended)(void *arg, pid_t pid, int status), void *arg)
{
	int status;
	pid_t tid;
	while ((tid = waitpid(-1, &status, __WALL | WNOHANG)) > 0) {
		if (WIFSTOPPED(status)) {
			continue_thread(t, tid, status);
		} else {
			forget_traced_thread(t, tid);
			ended(arg, tid, status);
		}
	}
	return tid == 0;
}
