/* The second transport: ptrace, for systems without user notification. Every stopped call
 * stops again at its end, so that results are settled at once; the price is two stops of 12 µs, one tracer, set-id
 * programs without their privilege, no second tracer (gdb, strace) inside the run, and calls that fail for a moment
 * if the worker is killed (retrace.c). */
#include "capture/run/worker.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/ptrace.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <sys/reg.h>
#include <sys/user.h>
#endif

#define OPTIONS                                                                                                        \
	(PTRACE_O_TRACESECCOMP | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE | PTRACE_O_TRACESYSGOOD)

/* glibc's header and the kernel's cannot be used together, and only the kernel's has everything. */
static long trace(long request, pid_t pid, long addr, void *data)
{
	return syscall(SYS_ptrace, request, (long)pid, addr, data);
}

int trace_seize(pid_t pid, bool exact, bool exits)
{
	if (trace(PTRACE_SEIZE, pid, 0, (void *)(long)(OPTIONS | (exits ? PTRACE_O_TRACEEXIT : 0))) < 0)
		return -errno;
	/* Its calls stop from the next time on that it is let go. */
	return exact && trace(PTRACE_INTERRUPT, pid, 0, NULL) < 0 ? -errno : 0;
}

#if defined(__x86_64__)
#define CODE_32 0x23 /* the segment of 32-bit code */

/* The call at which the thread stands, from its registers: before Linux 5.3 there is no better way to ask. */
static bool call_from_registers(pid_t tid, struct trap *t)
{
	struct user_regs_struct r;
	if (trace(PTRACE_GETREGS, tid, 0, &r) < 0)
		return false;
	t->nr = (int)r.orig_rax;
	t->call = trap_call(r.cs == CODE_32 ? AUDIT_ARCH_I386 : AUDIT_ARCH_X86_64, t->nr, &t->compat);
	const uint64_t wide[] = {r.rdi, r.rsi, r.rdx, r.r10, r.r8, r.r9};
	const uint64_t narrow[] = {r.rbx, r.rcx, r.rdx, r.rsi, r.rdi, r.rbp};
	for (int i = 0; i < 6; i++)
		t->args[i] = t->compat ? (uint32_t)narrow[i] : wide[i];
	return true;
}
#else
static bool call_from_registers(pid_t tid, struct trap *t)
{
	(void)tid, (void)t;
	return false;
}
#endif

int trace_try(pid_t pid, bool exact)
{
	struct ptrace_syscall_info info;
	struct trap t;
	int status, rc = trace_seize(pid, true, false);
	while (rc == 0 && waitpid(pid, &status, __WALL) < 0)
		rc = errno == EINTR ? 0 : -errno;
	if (rc < 0)
		return rc;
	if (!WIFSTOPPED(status))
		return -ESRCH;
	if (trace(PTRACE_GET_SYSCALL_INFO, pid, sizeof(info), &info) > 0 || (!exact && call_from_registers(pid, &t)))
		return 0;
	return -ENOTSUP;
}

/* Stays on the processor of the process that stopped last: waking another one costs more than the stop (doc/spikes.md).
 */
static void follow(void)
{
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET((unsigned)sched_getcpu(), &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static bool wants_result(enum call call)
{
	return call != CALL_exit && call != CALL_execve && call != CALL_execveat;
}

/* Does the call change what a filter would stop it for? Without one, its conditions are asked here. */
static bool concerns(const struct trap *t)
{
	switch (t->call) {
	case CALL_none:
	case CALL_sigaction:
	case CALL_ptrace:
		return false;
	case CALL_mmap:
		return (t->args[2] & PROT_WRITE) && (t->args[3] & MAP_SHARED);
	default:
		return true;
	}
}

/* The call is not made, and fails. */
static void refuse(pid_t tid, int error)
{
#if defined(__x86_64__)
	trace(PTRACE_POKEUSR, tid, 8 * ORIG_RAX, (void *)-1L);
	trace(PTRACE_POKEUSR, tid, 8 * RAX, (void *)(long)-error);
#else
	(void)tid, (void)error;
#endif
}

/* Is `tracer` a child of pid's that was made so that no tracer gets it (CLONE_UNTRACED)? Others are let to trace as
 * well, by programs that want their memory read (MPI's do): no reason to leave them. */
static bool is_hidden_child(pid_t tracer, pid_t pid)
{
	char name[48], text[2048], *at;
	snprintf(name, sizeof(name), "/proc/%d/status", tracer);
	int fd = tracer > 0 ? open(name, O_RDONLY | O_CLOEXEC) : -1;
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	return (at = strstr(text, "\nPPid:")) && atoi(at + 6) == pid && (at = strstr(text, "\nTracerPid:")) &&
	       atoi(at + 11) == 0;
}

/* The process of thread `tid`, which is in a stop, is about to be traced by another of the run: so the address
 * sanitizer looks for leaks at a program's end, and takes it for an error if it cannot. It is let go of, and the record
 * says that what it does from then on was not seen. */
static bool let_go(struct sup *s, pid_t tid, pid_t tracer)
{
	enum { TRIES = 200, PAUSE_US = 500 }; /* a first thread that ended before the others never stops */
	struct task *k = task_known(s, tid);
	char name[48];
	if (!k || !is_hidden_child(tracer, k->proc->pid))
		return false;
	snprintf(name, sizeof(name), "/proc/%d/task", k->proc->pid);
	DIR *d = opendir(name);
	for (struct dirent *e; d && (e = readdir(d));) {
		pid_t other = atoi(e->d_name);
		int status;
		if (other <= 0 || other == tid || trace(PTRACE_INTERRUPT, other, 0, NULL) < 0)
			continue;
		pid_t got = 0;
		for (int i = 0; i < TRIES && (got = waitpid(other, &status, __WALL | WNOHANG)) == 0; i++)
			usleep(PAUSE_US);
		if (got != other || !WIFSTOPPED(status))
			continue;
		bool signal = !(status >> 16) && WSTOPSIG(status) != (SIGTRAP | 0x80);
		trace(PTRACE_DETACH, other, 0, (void *)(long)(signal ? WSTOPSIG(status) : 0));
	}
	if (d)
		closedir(d);
	k->proc->io_unseen = true;
	sup_gap(s, k->proc, TERM_gap_traced, 0, "it was let go of, for a tracer of its own");
	trace(PTRACE_DETACH, tid, 0, NULL);
	return true;
}

/* Under --exact every call stops at its beginning and at its end, without a filter: the kernel then lets everything go
 * on if this process dies. */
static void any_stop(struct sup *s, pid_t tid)
{
	struct ptrace_syscall_info info;
	struct trap t = {.tid = tid};
	if (trace(PTRACE_GET_SYSCALL_INFO, tid, sizeof(info), &info) <= 0)
		return;
	if (info.op == PTRACE_SYSCALL_INFO_EXIT) {
		io_leave(s, tid, info.exit.rval);
		if (s->pending)
			pending_settle(s, NULL, tid, false);
		return;
	}
	if (info.op != PTRACE_SYSCALL_INFO_ENTRY)
		return;
	t.nr = (int)info.entry.nr;
	t.call = trap_call(info.arch, t.nr, &t.compat);
	t.ip = info.instruction_pointer;
	for (int i = 0; i < 6; i++)
		t.args[i] = info.entry.args[i];
	if (t.nr == SYS_prctl && !t.compat && t.args[0] == PR_SET_PTRACER && let_go(s, tid, (pid_t)t.args[1]))
		return;
	int error = concerns(&t) ? sup_trap(s, &t) : 0;
	if (error)
		refuse(tid, error);
	else
		io_enter(s, &t);
}

/* At the beginning of a call. Returns the request that lets it go on. */
static int entry_stop(struct sup *s, pid_t tid)
{
	struct ptrace_syscall_info info;
	struct trap t = {.tid = tid};
	if (trace(PTRACE_GET_SYSCALL_INFO, tid, sizeof(info), &info) > 0) {
		if (info.op != PTRACE_SYSCALL_INFO_SECCOMP)
			return PTRACE_CONT;
		t.nr = (int)info.seccomp.nr;
		t.call = trap_call(info.arch, t.nr, &t.compat);
		for (int i = 0; i < 6; i++)
			t.args[i] = info.seccomp.args[i];
	} else if (!call_from_registers(tid, &t)) {
		return PTRACE_CONT;
	}
	int error = sup_trap(s, &t);
	if (error)
		refuse(tid, error);
	return wants_result(t.call) && s->pending ? PTRACE_SYSCALL : PTRACE_CONT;
}

static void ended(struct worker *w, pid_t pid, int status, const struct rusage *used)
{
	struct sup *s = &w->sup;
	struct proc *p = proc_by_pid(s, pid);
	if (p) {
		pending_drop(s, p);
		proc_status(s, p, status);
	}
	if (p && s->observer && s->observer->over)
		s->observer->over(s->observer->arg, pid, status, used, sup_now(s));
	if (pid == s->root)
		worker_command_ended(w, status);
	if (p)
		proc_dead(s, p);
}

/* A thread is about to end, by its own will or killed: where the whole process was killed it is the last look at it. */
static void exit_stop(struct sup *s, pid_t tid)
{
	struct proc *p = proc_by_pid(s, tid);
	unsigned long status;
	if (!p)
		return;
	/* By a signal all threads end; else others may go on. */
	if (!p->exit_seen && trace(PTRACE_GETEVENTMSG, tid, 0, &status) == 0 && (status & 0x7f))
		proc_status(s, p, (int)status);
}

static void stopped(struct worker *w, pid_t tid, int status)
{
	struct sup *s = &w->sup;
	int sig = WSTOPSIG(status), event = status >> 16, request = s->exact ? PTRACE_SYSCALL : PTRACE_CONT;
	long inject = 0;
	if (event == PTRACE_EVENT_SECCOMP) {
		request = entry_stop(s, tid);
	} else if (sig == (SIGTRAP | 0x80)) {
		if (s->exact)
			any_stop(s, tid);
		else
			pending_settle(s, NULL, tid, false);
	} else if (event == PTRACE_EVENT_EXIT) {
		exit_stop(s, tid);
	} else if (event == PTRACE_EVENT_STOP) {
		bool group = sig == SIGSTOP || sig == SIGTSTP || sig == SIGTTIN || sig == SIGTTOU;
		if (group) {
			request = PTRACE_LISTEN;
			if (tid == s->root)
				worker_stop(w->control, w->keeper);
		} else if (tid == s->root && __atomic_exchange_n(&w->control->stopped, 0, __ATOMIC_ACQ_REL)) {
			kill(w->keeper, SIGCONT);
		}
	} else if (!event) {
		inject = sig; /* a signal on its way to the program */
	}
	trace(request, tid, 0, (void *)inject);
}

void worker_trace(struct worker *w)
{
	struct sup *s = &w->sup;
	worker_signals(w);
	bool pinned = false;
	for (;;) {
		int status;
		struct rusage used;
		pid_t tid = wait4(-1, &status, __WALL | (log_writer_pending(s->log) ? WNOHANG : 0), &used);
		if (tid == 0) {
			sup_flush(s);
			continue;
		}
		if (tid < 0) {
			if (errno == EINTR)
				continue;
			break; /* nobody left */
		}
		channel_sweep(s, false);
		if (!pinned)
			follow();
		pinned = true;
		worker_take_signals(w);
		if (WIFSTOPPED(status))
			stopped(w, tid, status);
		else
			ended(w, tid, status, &used);
		siginfo_t si;
		if (w->control->ended && waitid(P_ALL, 0, &si, WEXITED | WSTOPPED | WNOHANG | WNOWAIT | __WALL) == 0)
			worker_tell_end(w);
	}
	worker_finish(w);
}

/* For the probes: lets a seized child run to its end through its stops, reading each call as the worker would. */
void trace_loop(pid_t pid, bool exact)
{
	int status;
	struct ptrace_syscall_info info;
	bool pinned = false;
	/* Threads that a library may have started come with it; it is not over before they are. */
	for (pid_t tid; (tid = waitpid(-1, &status, __WALL)) > 0;) {
		if (!pinned)
			follow();
		pinned = true;
		if (!WIFSTOPPED(status)) {
			if (tid == pid)
				break;
			continue;
		}
		long inject = status >> 16 || WSTOPSIG(status) == (SIGTRAP | 0x80) ? 0 : WSTOPSIG(status);
		bool entry = exact ? WSTOPSIG(status) == (SIGTRAP | 0x80) : status >> 16 == PTRACE_EVENT_SECCOMP;
		struct where w;
		struct statx st;
		if (entry && trace(PTRACE_GET_SYSCALL_INFO, tid, sizeof(info), &info) > 0 && exact &&
		    info.op == PTRACE_SYSCALL_INFO_ENTRY) { /* whose bytes? */
			where_fd(tid, 0, &w);
			where_statx(&w, true, &st);
		}
		trace(entry || exact ? PTRACE_SYSCALL : PTRACE_CONT, tid, 0, (void *)inject);
	}
}
