/* The second transport: ptrace, for systems without user notification. Every stopped call
 * stops again at its end, so that results are settled at once; the price is two stops of 12 µs, one tracer, set-id
 * programs without their privilege, no second tracer (gdb, strace) inside the run, and calls that fail for a moment
 * if the worker is killed (ptrace_keeper.c). */
#include "base/io.h"
#include "capture/call_trace/call_trace.h"
#include "capture/ptrace/slow_fs.h"
#include "capture/supervisor/channels/connects.h"
#include "capture/supervisor/paths/links.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/ptrace.h>
#include <poll.h>
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

struct tracer {
	struct worker *w;
	struct slow_fs *slow_fs;
};

/* glibc's header and the kernel's cannot be used together, and only the kernel's has everything. */
static long ptrace_request(long request, pid_t pid, long addr, void *data)
{
	return syscall(SYS_ptrace, request, (long)pid, addr, data);
}

int trace_seize(pid_t pid, bool exact, bool exits)
{
	if (ptrace_request(PTRACE_SEIZE, pid, 0, (void *)(long)(OPTIONS | (exits ? PTRACE_O_TRACEEXIT : 0))) < 0)
		return -errno;
	/* Its calls stop from the next time on that it is let go. */
	return exact && ptrace_request(PTRACE_INTERRUPT, pid, 0, NULL) < 0 ? -errno : 0;
}

#if defined(__x86_64__)
#define CODE_32 0x23 /* the segment of 32-bit code */

/* The call at which the thread stands, from its registers: before Linux 5.3 there is no better way to ask. False: it is
 * gone. */
static bool call_from_registers(pid_t tid, struct trap *t)
{
	struct user_regs_struct r;
	if (ptrace_request(PTRACE_GETREGS, tid, 0, &r) < 0)
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
/* For processors whose registers are not known: always false. */
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
	if (ptrace_request(PTRACE_GET_SYSCALL_INFO, pid, sizeof(info), &info) > 0 ||
	    (!exact && call_from_registers(pid, &t)))
		return 0;
	return -ENOTSUP;
}

/* Stays on the processor of the process that stopped last: waking another one costs more than the stop
 * (doc/decisions/transport.md).
 */
static void follow_to_processor(void)
{
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET((unsigned)sched_getcpu(), &set);
	sched_setaffinity(0, sizeof(set), &set);
}

/* Whether a call comes back to be looked at again. */
static bool wants_result(enum call call)
{
	return call != CALL_exit && call != CALL_execve && call != CALL_execveat;
}

/* Does the call change what a filter would stop it for? Without one, its conditions are asked here. */
static bool concerns_record(const struct trap *t)
{
	switch (t->call) {
	case CALL_none:
	case CALL_sigaction:
	case CALL_forbid: /* where code is put into programs */
		return false;
	case CALL_ptrace:
		return t->args[0] == PTRACE_ATTACH || t->args[0] == PTRACE_SEIZE;
	case CALL_mmap:
		return (t->args[2] & PROT_WRITE) && (t->args[3] & MAP_SHARED);
	default:
		return true;
	}
}

/* The call is not made, and fails. */
static void refuse_call(pid_t tid, int error)
{
#if defined(__x86_64__)
	ptrace_request(PTRACE_POKEUSR, tid, 8 * ORIG_RAX, (void *)-1L);
	ptrace_request(PTRACE_POKEUSR, tid, 8 * RAX, (void *)(long)-error);
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
	return tracer > 0 && io_text(name, text, sizeof(text)) && (at = strstr(text, "\nPPid:")) && atoi(at + 6) == pid &&
	       (at = strstr(text, "\nTracerPid:")) && atoi(at + 11) == 0;
}

/* The process of thread `tid`, which is in a stop, is about to be traced by another of the run: so the address
 * sanitizer looks for leaks at a program's end, and takes it for an error if it cannot. It is let go of, and the record
 * says that what it does from then on was not seen. False: it is nothing of that kind, and stays as it is. */
static bool detach_for_tracer(struct sup *s, pid_t tid, pid_t tracer)
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
		if (other <= 0 || other == tid || ptrace_request(PTRACE_INTERRUPT, other, 0, NULL) < 0)
			continue;
		pid_t got = 0;
		for (int i = 0; i < TRIES && (got = waitpid(other, &status, __WALL | WNOHANG)) == 0; i++)
			usleep(PAUSE_US);
		if (got != other || !WIFSTOPPED(status))
			continue;
		bool signal = !(status >> 16) && WSTOPSIG(status) != (SIGTRAP | 0x80);
		ptrace_request(PTRACE_DETACH, other, 0, (void *)(long)(signal ? WSTOPSIG(status) : 0));
	}
	if (d)
		closedir(d);
	k->proc->io_unseen = true;
	sup_gap(s, k->proc, TERM_gap_traced, 0, "it was detached in favour of its own tracer");
	ptrace_request(PTRACE_DETACH, tid, 0, NULL);
	return true;
}

/* What stops ask for. Whoever does it, nobody else touches the supervisor meanwhile (slow_fs.h). */
static void call_made(struct sup *s, struct work *k)
{
	k->refuse = !s->exact || concerns_record(&k->call) ? sup_trap(s, &k->call) : 0;
	if (s->exact && !k->refuse)
		io_enter(s, &k->call);
	if (s->called)
		called_enter(s, &k->call, &k->stands);
	/* What is mounted from now on may be served by anybody, and so may what userfaultfd has programs wait for. */
	sup_set_slow_fs(s, k->call.call == CALL_mount || (!k->call.compat && k->call.nr == SYS_userfaultfd));
	k->pending = s->pending;
}

/* Notes that a traced process or thread has ended. owed: its end was seen earlier, so the number may be another's
 * already. */
static void handle_tracee_end(struct worker *w, pid_t pid, int status, const struct rusage *used, bool owed)
{
	struct sup *s = &w->sup;
	struct proc *p = proc_by_pid(s, pid);
	struct pollfd over = {.fd = p ? p->pidfd : -1, .events = POLLIN};
	if (owed && over.fd >= 0 && poll(&over, 1, 0) == 0)
		p = NULL; /* its number is another one's */
	if (s->called)
		called_over(s, pid, status);
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

/* Calls of this thread were let go on unseen: what they changed is to be looked at anew, and what they moved is not
 * counted. Of processes that began meanwhile the latter is told by when they did. */
static void note_passed_calls(struct sup *s, pid_t tid)
{
	struct task *t = task_known(s, tid);
	links_forget();
	if (s->called)
		called_unseen(s, tid);
	s->unseen_until = sup_now(s);
	if (!t)
		return;
	t->stops++;
	t->io = NULL;
	t->proc->io_unseen = true;
	t->proc->stale |= STALE_CWD | STALE_CREDS | STALE_ROOT;
}

/* One piece of work from the queue, by its kind. */
static void perform_work(struct worker *w, struct work *k)
{
	struct sup *s = &w->sup;
	struct proc *p;
	feature_sweep(s, false);
	switch (k->kind) {
	case WORK_CALL:
		call_made(s, k);
		break;
	case WORK_RESULT:
		if (s->exact)
			io_leave(s, k->tid, k->rval);
		if (s->called)
			called_leave(s, k->tid, k->rval);
		connects_back(s, k->tid);
		if (s->pending)
			pending_settle(s, NULL, k->tid, false);
		break;
	case WORK_STATUS:
		p = proc_by_pid(s, k->tid);
		/* By a signal all threads end; else others may go on. */
		if (p && !p->exit_seen && (k->status & 0x7f))
			proc_status(s, p, k->status);
		break;
	case WORK_ENDED:
		handle_tracee_end(w, k->tid, k->status, &k->used, k->owed);
		break;
	case WORK_PASSED:
		note_passed_calls(s, k->tid);
		break;
	case WORK_FLUSH:
		sup_flush(s);
		break;
	}
}

/* Under --exact every call stops at its beginning and at its end, without a filter: the kernel then lets everything go
 * on if this process dies. */
static void any_stop(struct tracer *r, pid_t tid)
{
	struct ptrace_syscall_info info;
	struct work k = {.kind = WORK_CALL, .tid = tid, .call = {.tid = tid}};
	struct trap *t = &k.call;
	if (ptrace_request(PTRACE_GET_SYSCALL_INFO, tid, sizeof(info), &info) <= 0)
		return;
	if (info.op == PTRACE_SYSCALL_INFO_EXIT) {
		k.kind = WORK_RESULT;
		k.rval = info.exit.rval;
		slow_fs_do(r->slow_fs, &k);
		return;
	}
	if (info.op != PTRACE_SYSCALL_INFO_ENTRY)
		return;
	t->nr = (int)info.entry.nr;
	t->call = trap_call(info.arch, t->nr, &t->compat);
	t->ip = info.instruction_pointer;
	for (int i = 0; i < 6; i++)
		t->args[i] = info.entry.args[i];
	if (r->w->sup.called && called_stacks(r->w->sup.called, t))
		stands_at(tid, &k.stands);
	if (t->nr == SYS_prctl && !t->compat && t->args[0] == PR_SET_PTRACER && !slow_fs_held(r->slow_fs) &&
	    detach_for_tracer(&r->w->sup, tid, (pid_t)t->args[1]))
		return;
	if (slow_fs_do(r->slow_fs, &k) && k.refuse)
		refuse_call(tid, k.refuse);
}

/* Handles a stop at the beginning of a call. Returns the request that lets it go on. k.refuse: the errno that it
 * fails with. */
static int entry_stop(struct tracer *r, pid_t tid)
{
	struct ptrace_syscall_info info;
	struct work k = {.kind = WORK_CALL, .tid = tid, .call = {.tid = tid}};
	struct trap *t = &k.call;
	if (ptrace_request(PTRACE_GET_SYSCALL_INFO, tid, sizeof(info), &info) > 0) {
		if (info.op != PTRACE_SYSCALL_INFO_SECCOMP)
			return PTRACE_CONT;
		t->nr = (int)info.seccomp.nr;
		t->call = trap_call(info.arch, t->nr, &t->compat);
		for (int i = 0; i < 6; i++)
			t->args[i] = info.seccomp.args[i];
	} else if (!call_from_registers(tid, t)) {
		return PTRACE_CONT;
	}
	bool done = slow_fs_do(r->slow_fs, &k);
	if (k.refuse)
		refuse_call(tid, k.refuse);
	return wants_result(t->call) && (k.pending || !done) ? PTRACE_SYSCALL : PTRACE_CONT;
}

/* A thread is about to end, by its own will or killed: where the whole process was killed it is the last look at it. */
static void exit_stop(struct tracer *r, pid_t tid)
{
	unsigned long status;
	struct work k = {.kind = WORK_STATUS, .tid = tid};
	if (ptrace_request(PTRACE_GETEVENTMSG, tid, 0, &status) < 0)
		return;
	k.status = (int)status;
	slow_fs_do(r->slow_fs, &k);
}

/* Lets the thread go on as its stop demands; a signal on its way is handed on. */
static void handle_tracee_stop(struct tracer *r, pid_t tid, int status)
{
	const struct sup *s = &r->w->sup;
	int sig = WSTOPSIG(status), event = status >> 16, request = s->exact ? PTRACE_SYSCALL : PTRACE_CONT;
	long inject = 0;
	if (event == PTRACE_EVENT_SECCOMP) {
		request = entry_stop(r, tid);
	} else if (sig == (SIGTRAP | 0x80)) {
		struct work k = {.kind = WORK_RESULT, .tid = tid};
		if (s->exact)
			any_stop(r, tid);
		else
			slow_fs_do(r->slow_fs, &k);
	} else if (event == PTRACE_EVENT_EXIT) {
		exit_stop(r, tid);
	} else if (event == PTRACE_EVENT_STOP) {
		bool group = sig == SIGSTOP || sig == SIGTSTP || sig == SIGTTIN || sig == SIGTTOU;
		if (group) {
			request = PTRACE_LISTEN;
			if (tid == s->root)
				worker_stop(r->w->control, r->w->keeper);
		} else if (tid == s->root) {
			worker_go_on(r->w->control, r->w->keeper);
		}
	} else if (!event) {
		inject = sig; /* a signal on its way to the program */
	}
	ptrace_request(request, tid, 0, (void *)inject);
}

/* Waits for the next thread that stops or ends. Its id, with its status and use as wait4 gives them; 0: none did, and
 * events or deaths wait to be written meanwhile (it may have slept 1 ms); -1: errno of wait4, ECHILD if nobody is
 * left. */
static pid_t next_stop(struct tracer *r, int *ret_status, struct rusage *ret_used)
{
	enum { PAUSE_US = 1000 };
	if (!slow_fs_held(r->slow_fs))
		return wait4(-1, ret_status, __WALL | (log_writer_pending(r->w->sup.log) ? WNOHANG : 0), ret_used);
	/* Deaths are handed over when the other thread is back, which tells us by nothing that wait4 would see. */
	bool owes = slow_fs_owes(r->slow_fs);
	pid_t tid = wait4(-1, ret_status, __WALL | (owes ? WNOHANG : 0), ret_used);
	if (tid == 0)
		usleep(PAUSE_US);
	return tid;
}

/* The worker of ptrace: serves stops until nobody is left. */
void worker_trace(struct worker *w)
{
	struct sup *s = &w->sup;
	struct tracer r = {.w = w, .slow_fs = slow_fs_new(w, perform_work)};
	if (!r.slow_fs)
		_exit(1);
	sup_set_slow_fs(s, fileid_mounts_wait());
	worker_signals(w);
	bool pinned = false;
	for (;;) {
		struct work k = {.kind = WORK_FLUSH};
		pid_t tid = next_stop(&r, &k.status, &k.used);
		if (tid == 0) {
			if (!slow_fs_held(r.slow_fs) && log_writer_pending(s->log))
				slow_fs_do(r.slow_fs, &k);
			continue;
		}
		if (tid > 0 && tid == s->root && !WIFSTOPPED(k.status))
			worker_see_end(w, k.status);
		if (tid < 0) {
			if (errno == EINTR)
				continue;
			break; /* nobody left */
		}
		if (!pinned)
			follow_to_processor();
		pinned = true;
		worker_take_signals(w);
		if (WIFSTOPPED(k.status)) {
			handle_tracee_stop(&r, tid, k.status);
		} else {
			k.kind = WORK_ENDED;
			k.tid = tid;
			/* Whoever waits for the command learns of its end even where the record of it has to wait. */
			if (!slow_fs_do(r.slow_fs, &k) && tid == s->root)
				worker_emit_ended(w, k.status);
		}
		siginfo_t si;
		if (w->control->ended && !slow_fs_held(r.slow_fs) &&
		    waitid(P_ALL, 0, &si, WEXITED | WSTOPPED | WNOHANG | WNOWAIT | __WALL) == 0)
			worker_emit_end(w);
	}
	slow_fs_wait(r.slow_fs);
	if (s->called)
		called_end(s);
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
			follow_to_processor();
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
		if (entry && ptrace_request(PTRACE_GET_SYSCALL_INFO, tid, sizeof(info), &info) > 0 && exact &&
		    info.op == PTRACE_SYSCALL_INFO_ENTRY) { /* whose bytes? */
			where_fd(tid, 0, &w);
			where_statx(&w, true, &st);
		}
		ptrace_request(entry || exact ? PTRACE_SYSCALL : PTRACE_CONT, tid, 0, (void *)inject);
	}
}
