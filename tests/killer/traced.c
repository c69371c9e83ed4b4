#include "killer.h"

/* The recorder is traced; the command of the run and the standby are let go of before they are their programs. After
 * the kill nobody is traced any more. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/reg.h>
#include <sys/wait.h>
#include <unistd.h>

enum role { NONE, KEEPER, WORKER, OTHER };

struct tracee {
	pid_t tid;
	enum role role; /* NONE: its parent has not told of it yet */
	bool stopped, inside;
	pid_t process;
};

static struct tracee tracees[4096];
static size_t ntracees;

static struct tracee *tracee_of(pid_t tid)
{
	for (size_t i = 0; i < ntracees; i++)
		if (tracees[i].tid == tid)
			return &tracees[i];
	if (ntracees == sizeof(tracees) / sizeof(tracees[0])) {
		fprintf(stderr, "killer: too many processes\n");
		exit(125);
	}
	tracees[ntracees] = (struct tracee){.tid = tid};
	return &tracees[ntracees++];
}

static void forget(pid_t tid)
{
	for (size_t i = 0; i < ntracees; i++)
		if (tracees[i].tid == tid)
			tracees[i--] = tracees[--ntracees];
}

static bool traces(const char *name, pid_t *ret)
{
	char path[64], line[256];
	int by = 0;
	*ret = atoi(name);
	if (*ret <= 0 || snprintf(path, sizeof(path), "/proc/%d/status", *ret) >= (int)sizeof(path))
		return false;
	FILE *f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f) && sscanf(line, "TracerPid: %d", &by) != 1)
		;
	if (f)
		fclose(f);
	return by == getpid();
}

/* A process that was being born when its parent was killed would stay stopped: nobody told of it, and its first stop is
 * still to come. */
static void let_go(void)
{
	DIR *d = opendir("/proc");
	int status;
	pid_t pid;
	for (struct dirent *e; d && (e = readdir(d));) {
		if (!traces(e->d_name, &pid))
			continue;
		const struct tracee *t = tracee_of(pid);
		if (t->stopped && t->role != NONE)
			continue;
		if (t->stopped || (waitpid(pid, &status, __WALL) == pid && WIFSTOPPED(status))) {
			ptrace(PTRACE_DETACH, pid, NULL, NULL);
			kill(pid, SIGCONT); /* its first stop may have become that of a stopped process */
		}
	}
	if (d)
		closedir(d);
}

/* A call of that number, at its end; -1: any. */
static bool is_counted(pid_t tid, int number)
{
#if defined(__x86_64__)
	return number < 0 || ptrace(PTRACE_PEEKUSER, tid, (void *)(8 * ORIG_RAX), NULL) == number;
#else
	(void)tid;
	return number < 0;
#endif
}

static void trace(const struct killer_round *r, struct killer_report *ret)
{
	unsigned long calls[4] = {0}, k = r->k;
	bool standby = false, killed = false, over = false, of_worker = r->of_worker, of_keeper = r->of_keeper;
	int status = 0, result = 125;
	pid_t root = fork(), worker = 0;
	ntracees = 0;
	if (root == 0) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		killer_become(r);
	}
	waitpid(root, &status, __WALL);
	ptrace(PTRACE_SETOPTIONS, root, NULL,
	       (void *)(PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE |
	                PTRACE_O_TRACEEXEC));
	*tracee_of(root) = (struct tracee){.tid = root, .role = KEEPER, .process = root};
	ptrace(PTRACE_SYSCALL, root, NULL, NULL);
	while (!over) {
		pid_t tid = waitpid(-1, &status, __WALL);
		if (tid < 0)
			break;
		if (!WIFSTOPPED(status)) {
			forget(tid);
			if (tid == root) {
				result = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
				over = true;
			}
			continue;
		}
		struct tracee *t = tracee_of(tid);
		int sig = WSTOPSIG(status), event = status >> 16;
		long pass = 0;
		if (t->role == NONE) { /* its first stop, before its parent's */
			t->stopped = true;
			continue;
		}
		if (event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK || event == PTRACE_EVENT_CLONE) {
			unsigned long born = 0;
			ptrace(PTRACE_GETEVENTMSG, tid, NULL, &born);
			struct tracee *child = tracee_of((pid_t)born);
			t = tracee_of(tid);
			child->process = event == PTRACE_EVENT_CLONE ? t->process : child->tid;
			child->role = event == PTRACE_EVENT_CLONE                       ? t->role
			              : t->role == KEEPER && event == PTRACE_EVENT_FORK ? WORKER
			                                                                : OTHER;
			if (child->role == WORKER && event == PTRACE_EVENT_FORK)
				worker = child->tid;
			standby |= t->role == KEEPER && event == PTRACE_EVENT_VFORK;
			if (child->stopped) {
				bool go = child->role == OTHER || killed;
				ptrace(go ? PTRACE_DETACH : PTRACE_SYSCALL, child->tid, NULL, NULL);
				if (go)
					forget(child->tid);
			}
		} else if (sig == (SIGTRAP | 0x80)) {
			t->inside = !t->inside;
			if (!t->inside && is_counted(tid, r->number)) {
				calls[t->role]++;
				unsigned long n = (of_worker ? calls[WORKER] : 0) + (of_keeper ? calls[KEEPER] : 0);
				if (k && !killed && n >= k && ((t->role == WORKER && of_worker) || (t->role == KEEPER && of_keeper))) {
					killed = true;
					if (of_worker && worker)
						kill(worker, SIGKILL);
					if (of_keeper)
						kill(root, SIGKILL);
				}
			}
		} else if (sig == SIGSTOP && !t->stopped && tid != root) {
			t->stopped = true; /* its first stop, behind its parent's */
			if (t->role == OTHER) {
				ptrace(PTRACE_DETACH, tid, NULL, NULL);
				forget(tid);
				continue;
			}
		} else if (!event) {
			pass = sig;
		}
		ptrace(killed ? PTRACE_DETACH : PTRACE_SYSCALL, tid, NULL, (void *)pass);
	}
	let_go();
	*ret = (struct killer_report){calls[WORKER], calls[KEEPER], standby, killed, result};
}

/* The end of the process that traces lets go of whoever runs. */
void killer_traced(const struct killer_round *r, struct killer_report *ret)
{
	int report[2];
	*ret = (struct killer_report){.status = 125};
	if (pipe(report) != 0)
		return;
	pid_t tracer = fork();
	if (tracer == 0) {
		close(report[0]);
		fcntl(report[1], F_SETFD, FD_CLOEXEC);
		trace(r, ret);
		_exit(write(report[1], ret, sizeof(*ret)) != sizeof(*ret));
	}
	close(report[1]);
	if (tracer > 0 && read(report[0], ret, sizeof(*ret)) != sizeof(*ret))
		*ret = (struct killer_report){.status = 125};
	close(report[0]);
	if (tracer > 0)
		waitpid(tracer, NULL, 0);
}
