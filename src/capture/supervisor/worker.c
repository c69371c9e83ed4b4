#include "capture/supervisor/worker.h"
#include "base/io.h"
#include "base/memory.h"
#include "capture/supervisor/adopt.h"
#include "capture/supervisor/channels/connects.h"
#include "capture/supervisor/openings.h"
#include "capture/supervisor/paths/links.h"
#include "capture/supervisor/serve/serve.h"
#include "capture/supervisor/shield/shield.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TICK_MS 20  /* what was gathered is written, and who died is noticed, at the latest then */
#define LASTS_MS 10 /* a command that has run for so long lasts: the first look at what it uses is due then */
#if defined(__SANITIZE_THREAD__)
#define STACK (8u << 20) /* what it adds to each frame counts where the ancestors of a process are met one by one */
#else
#define STACK (512u << 10) /* of which 256 ancestors take less than half */
#endif
#define FILES_WANTED 65536

/* ns. */
static int64_t worker_clock_ns(clockid_t c)
{
	struct timespec ts;
	clock_gettime(c, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

/* Time that never steps, on the scale of the wall clock as it was at the start. ns. */
int64_t sup_now(struct sup *s)
{
	/* The coarse clock first: what it shows was so at the moment that is returned, or before. */
	int64_t stamp = worker_clock_ns(CLOCK_REALTIME_COARSE), now = worker_clock_ns(CLOCK_BOOTTIME) + s->clock_offset;
	int64_t last = s->nsteps ? s->steps[(s->nsteps - 1) % CLOCK_STEPS].stamp : INT64_MIN;
	if (stamp < last)
		s->nsteps = 0; /* the clock was set back: nothing from before can be compared */
	if (stamp != last)
		s->steps[s->nsteps++ % CLOCK_STEPS] = (struct clock_step){stamp, now};
	return now;
}

/* Number i of the clock's steps; only the last CLOCK_STEPS are kept. */
static const struct clock_step *step_at(const struct sup *s, uint64_t i)
{
	return &s->steps[i % CLOCK_STEPS];
}

int64_t sup_stamp(const struct sup *s, int64_t t)
{
	uint64_t lo = s->nsteps > CLOCK_STEPS ? s->nsteps - CLOCK_STEPS : 0, i = s->nsteps;
	while (i > lo && step_at(s, i - 1)->at > t)
		i--;
	return i > lo ? step_at(s, i - 1)->stamp : INT64_MIN;
}

/* stamp: of a file, ns. INT64_MAX: not known. */
int64_t sup_passed(const struct sup *s, int64_t stamp)
{
	uint64_t lo = s->nsteps > CLOCK_STEPS ? s->nsteps - CLOCK_STEPS : 0, hi = s->nsteps;
	while (lo < hi) {
		uint64_t mid = lo + (hi - lo) / 2;
		if (step_at(s, mid)->stamp > stamp)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo < s->nsteps ? step_at(s, lo)->at : INT64_MAX;
}

uint64_t sup_event(struct sup *s, uint64_t kind, int64_t time, const struct proc *p, struct event *ev)
{
	ev->kind = kind;
	ev->time = time;
	ev->proc = p ? p->num : 0;
	feature_event(s, ev);
	return log_writer_add(s->log, ev);
}

void sup_flush(struct sup *s)
{
	int r = log_writer_flush(s->log);
	if (r < 0)
		s->log_error = -r;
}

/* p NULL: of the whole run. count 0: not known. text is not kept. */
void sup_gap(struct sup *s, const struct proc *p, unsigned reason, uint64_t count, const char *text)
{
	struct event ev = {.gap = {.reason = reason, .count = count, .from = TIME_NONE, .text = str_of(text)}};
	s->gaps |= 1u << reason;
	sup_event(s, EVENT_gap, sup_now(s), p, &ev);
}

void sup_unread(struct sup *s, const struct proc *p, int error, const char *text)
{
	if (error != EIO && error != ENOMEM && error != EMFILE && error != ENFILE && error != EINTR)
		return;
	s->few |= error == EMFILE || error == ENFILE;
	sup_gap(s, p || !s->current ? p : s->current->proc, TERM_gap_unreadable, 1, text);
}

void sup_init(struct sup *s)
{
	pthread_mutex_init(&s->lock, NULL);
	s->clock_offset = worker_clock_ns(CLOCK_REALTIME) - worker_clock_ns(CLOCK_BOOTTIME);
	s->hz = sysconf(_SC_CLK_TCK);
	s->euid = geteuid();
	s->egid = getegid();
	struct statx st;
	if (statx(AT_FDCWD, "/proc/self/root", 0, STATX_INO | STATX_MNT_ID, &st) == 0) {
		s->root_ino = st.stx_ino;
		s->root_dev = fileid_dev(&st);
		s->root_mnt = st.stx_mask & STATX_MNT_ID ? st.stx_mnt_id : 0;
	}
	s->last_pid = open("/proc/sys/kernel/ns_last_pid", O_RDONLY | O_CLOEXEC);
	char most[32];
	s->given_in_order = io_read_text("/proc/sys/kernel/pid_max", most, sizeof(most)) > 0 && atol(most) >= PIDS_LEAST;
	struct stat ns;
	if (stat("/proc/self/ns/mnt", &ns) == 0)
		s->mnt_ns = ns.st_ino;
	s->epoll = epoll_create1(EPOLL_CLOEXEC);
}

int worker_thread(struct worker *w, void *(*body)(void *arg), void *arg, pthread_t *ret)
{
	pthread_attr_init(&w->attr);
	pthread_attr_setstacksize(&w->attr, STACK);
	return -pthread_create(ret, &w->attr, body, arg);
}

void worker_hide_memory(bool hidden)
{
#ifndef __SANITIZE_ADDRESS__ /* whose search for leaks traces this process */
	prctl(PR_SET_DUMPABLE, hidden ? 0 : 1);
#else
	(void)hidden;
#endif
}

/* The lock, without ever waiting behind a server that is held up. */
static bool lock_soon(struct worker *w)
{
	struct timespec until;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += TICK_MS * 1000000L;
	if (until.tv_nsec >= 1000000000L) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000L;
	}
	return pthread_mutex_timedlock(&w->sup.lock, &until) == 0;
}

void sup_goes_on(struct sup *s)
{
	if (__atomic_load_n(&s->since, __ATOMIC_RELAXED))
		__atomic_store_n(&s->since, worker_clock_ns(CLOCK_MONOTONIC), __ATOMIC_RELEASE);
}

/* A gap for stops that were let go on without being looked at, and for having too few descriptors, once. */
static void emit_passed_gap(struct worker *w)
{
	struct sup *s = &w->sup;
	const char *few = "too few descriptors to examine every process";
	if (s->unlooked)
		sup_gap(s, NULL, TERM_gap_lost, s->unlooked, s->few ? few : "a process could not be examined");
	else if (s->few && !w->few_said)
		sup_gap(s, NULL, TERM_gap_lost, 0, few);
	w->few_said |= s->few;
	s->unlooked = 0;
	uint64_t n = __atomic_exchange_n(&w->passed, 0, __ATOMIC_RELAXED);
	if (n) {
		char text[LOOKS_AT + 80];
		snprintf(text, sizeof(text), "calls were not recorded while a file system did not respond%s%s",
		         w->held_at[0] ? ": " : "", w->held_at);
		sup_gap(s, NULL, TERM_gap_lost, n, text);
		w->held_at[0] = '\0';
	}
	n = __atomic_load_n(&w->control->passed, __ATOMIC_ACQUIRE) - w->stood[1];
	if (n)
		sup_gap(s, NULL, TERM_gap_lost, n, "calls were not recorded while a tracer held the recorder");
	w->stood[1] += n;
}

/* What the observer has to say at the end of the command, or of everybody. */
static void worker_summary(struct worker *w, bool last)
{
	struct sup *s = &w->sup;
	size_t n = 0;
	const struct run_observer *o = s->observer;
	const char *text = o && o->ended ? o->ended(o->arg, w->control->status, last, sup_now(s), &n) : NULL;
	if (!text)
		return;
	struct event ev = {.summary = {.run = str_of(s->run), .text = str_n(text, n)}};
	sup_event(s, EVENT_summary, sup_now(s), NULL, &ev);
}

void worker_see_end(struct worker *w, int status)
{
	w->control->status = status;
	__atomic_store_n(&w->control->seen, 1, __ATOMIC_RELEASE);
}

bool worker_reap(struct worker *w, const siginfo_t *si, int flags, int *ret_status)
{
	const struct run_observer *o = w->sup.observer;
	struct rusage used;
	pid_t pid = si->si_pid;
	/* Waited for, it is gone: whoever kills us after that must not cost the command its result. */
	if (pid == w->sup.root)
		worker_see_end(w, si->si_code == CLD_EXITED ? (si->si_status & 0xff) << 8
		                                            : (si->si_status & 0x7f) | (si->si_code == CLD_DUMPED ? 0x80 : 0));
	if (wait4(pid, ret_status, flags, &used) != pid)
		return false;
	if (o && o->over)
		o->over(o->arg, pid, *ret_status, &used, sup_now(&w->sup));
	return true;
}

struct lineage {
	unsigned depth;
	pid_t parent;
};

/* Where processes come and go fast a number may be another's by now: a thread of ours, even, and a signal to that ends
 * this process. So it is held by a pidfd, which no thread but a first one has, before it is looked at. */
static void kill_below(void *arg, pid_t pid)
{
	enum { DEEPEST = 64 }; /* what is deeper comes to us when its parents are gone, and is found again then */
	const struct lineage *above = arg;
	struct lineage below = {above->depth + 1, pid};
	struct procfs f;
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	bool none = fd < 0 && (errno == ENOSYS || errno == EPERM);
	if ((fd < 0 && !none) || procfs_stat(pid, &f) < 0 || f.state == 'Z' ||
	    (f.ppid != above->parent && f.ppid != getpid())) {
		if (fd >= 0)
			close(fd);
		return;
	}
	/* Its children first, for they would be ours a moment later. */
	if (below.depth < DEEPEST)
		procfs_children(pid, false, kill_below, &below);
	if (none) {
		kill(pid, SIGKILL);
		return;
	}
	syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0);
	close(fd);
}

void worker_kill_child(void *arg, pid_t pid)
{
	struct lineage above = {0, getpid()};
	(void)arg;
	kill_below(&above, pid);
}

/* Kills what has outlived the command; again and again, for what was being born meanwhile. False: whoever is still
 * there cannot be killed (it hangs in the kernel). */
static bool kill_orphans(struct worker *w)
{
	enum { PATIENCE_S = 10 };
	struct sup *s = &w->sup;
	int64_t now = worker_clock_ns(CLOCK_MONOTONIC);
	if (!w->killing)
		w->killing = now;
	if (now - w->killing > PATIENCE_S * 1000000000LL)
		return false;
	procfs_children(getpid(), false, worker_kill_child, w);
	for (unsigned i = 0; i < HASH_SIZE; i++)
		for (struct proc *p = s->procs[i]; p; p = p->next)
			syscall(SYS_pidfd_send_signal, p->pidfd, SIGKILL, NULL, 0);
	return true;
}

void worker_emit_end(struct worker *w)
{
	char c = '!';
	const struct run_observer *o = w->sup.observer;
	bool stays = !w->told && o && o->stay && o->stay(o->arg);
	__atomic_store_n(&w->control->stays, stays, __ATOMIC_RELEASE);
	if (w->told || stays)
		return;
	if (w->sup.orphans == ORPHANS_WAIT || (w->sup.orphans == ORPHANS_KILL && kill_orphans(w)))
		return; /* it is not over before they are */
	w->told = true;
	worker_summary(w, false);
	sup_flush(&w->sup);
	__atomic_store_n(&w->control->left, 1, __ATOMIC_RELEASE);
	(void)!write(w->notice, &c, 1);
}

/* CPU time of this process so far, in ns. */
static uint64_t own_cpu(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* status: as wait gives it. Writes the run's end. */
void worker_command_ended(struct worker *w, int status)
{
	struct sup *s = &w->sup;
	struct proc *p = proc_by_pid(s, s->root), over = {.pid = s->root};
	if (p)
		proc_status(s, p, status);
	else if (s->adopted && (over.num = adopt_root(s))) /* it ended while nobody watched */
		p = &over;
	worker_run_end(w, p, status);
}

void worker_run_end(struct worker *w, const struct proc *p, int status)
{
	struct sup *s = &w->sup;
	struct event ev = {.run_end = {.id = str_of(s->run), .cpu = own_cpu(), .traps = s->traps}};
	w->control->telling = 1;
	ev.run_end.ending = WIFSIGNALED(status) ? TERM_ending_signaled : TERM_ending_exited;
	ev.run_end.code = (uint64_t)(WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	sup_event(s, EVENT_run_end, sup_now(s), p, &ev);
	w->control->gaps = s->gaps;
	worker_emit_ended(w, status);
}

void worker_emit_ended(struct worker *w, int status)
{
	w->control->status = status;
	__atomic_store_n(&w->control->ended, 1, __ATOMIC_RELEASE);
}

/* Sends sig to the keeper if it is still this process's parent: if it was killed, its number may be another process's.
 */
static void worker_signal_keeper(pid_t keeper, int sig)
{
	int fd = (int)syscall(SYS_pidfd_open, keeper, 0);
	if (getppid() == keeper && fd >= 0)
		syscall(SYS_pidfd_send_signal, fd, sig, NULL, 0);
	else if (getppid() == keeper)
		kill(keeper, sig);
	if (fd >= 0)
		close(fd);
}

void worker_stop(struct control *c, pid_t keeper)
{
	/* Not by SIGSTOP: that takes away a SIGCONT which the keeper has not read yet, and the command would never get it.
	 */
	__atomic_store_n(&c->stopped, 1, __ATOMIC_RELEASE);
	__atomic_add_fetch(&c->stops, 1, __ATOMIC_RELEASE);
	worker_signal_keeper(keeper, SIGCHLD);
}

/* The keeper goes on if the command does, or is over. Nothing if it was not stopped. */
void worker_continue(struct control *c, pid_t keeper)
{
	struct procfs f;
	if (!__atomic_load_n(&c->stopped, __ATOMIC_ACQUIRE) ||
	    (!__atomic_load_n(&c->ended, __ATOMIC_ACQUIRE) && procfs_stat(c->root, &f) == 0 &&
	     (f.state == 'T' || f.state == 't')))
		return;
	worker_go_on(c, keeper);
}

void worker_go_on(struct control *c, pid_t keeper)
{
	/* Not where the keeper has not stopped: a SIGCONT would take away a SIGTSTP that it has not read yet. */
	if (__atomic_exchange_n(&c->stopped, 0, __ATOMIC_SEQ_CST) && __atomic_load_n(&c->halting, __ATOMIC_SEQ_CST))
		worker_signal_keeper(keeper, SIGCONT);
}

/* Looks whether the command was stopped (Ctrl-Z): then the keeper is, too. */
static void see_stop(struct worker *w)
{
	siginfo_t si = {0};
	pid_t root = w->sup.root;
	if (!(w->sup.shield && shield_has(w->sup.shield, root)) && /* else the shield sees it */
	    waitid(P_PID, (id_t)root, &si, WSTOPPED | WNOHANG | __WNOTHREAD) == 0 && si.si_pid == root)
		worker_stop(w->control, w->keeper);
}

/* Is the process over, and not waited for yet? False, too, if it is gone. */
static bool is_zombie(pid_t pid)
{
	char name[48], text[512];
	snprintf(name, sizeof(name), "/proc/%d/stat", pid);
	io_text(name, text, sizeof(text));
	const char *state = strrchr(text, ')');
	return state && !strncmp(state, ") Z", 3);
}

/* Has a child ended, that is left to be waited for? */
static bool child_over(int idtype, pid_t pid, siginfo_t *ret)
{
	ret->si_pid = 0;
	return waitid((idtype_t)idtype, (id_t)pid, ret, WEXITED | WNOHANG | WNOWAIT | __WNOTHREAD) == 0 && ret->si_pid &&
	       (ret->si_code == CLD_EXITED || ret->si_code == CLD_KILLED || ret->si_code == CLD_DUMPED);
}

/* A child that has ended. Of those that the shield has seized, every wait here would also take the stops: they are
 * asked about only when they are known to have ended. False: none. */
static bool next_over(struct worker *w, siginfo_t *ret)
{
	char name[64], text[16384];
	if (!w->sup.shielding)
		return child_over(P_ALL, 0, ret);
	snprintf(name, sizeof(name), "/proc/self/task/%d/children", getpid());
	if (!io_text(name, text, sizeof(text))) /* no descriptor left: the command's end at least must not be missed */
		return child_over(P_PID, w->sup.root, ret);
	for (char *at = text, *end; *at; at = end) {
		pid_t pid = (pid_t)strtol(at, &end, 10);
		if (end == at)
			break;
		if ((!shield_has(w->sup.shield, pid) || is_zombie(pid)) && child_over(P_PID, pid, ret))
			return true;
	}
	return false;
}

/* Children of this process: the command, and orphans that came to us. Not what the shield's thread waits for. */
static void reap_orphans(struct worker *w)
{
	struct sup *s = &w->sup;
	siginfo_t si;
	see_stop(w);
	/* What the keeper has waited for is told here, once. */
	if (s->adopted && __atomic_load_n(&w->control->reaped, __ATOMIC_ACQUIRE) && !w->control->ended)
		worker_command_ended(w, w->control->status);
	while (next_over(w, &si)) {
		int status = 0;
		struct proc *p = proc_by_pid(s, si.si_pid);
		if (p) {
			/* Its last figures are there until it is reaped. */
			status = si.si_code == CLD_EXITED ? (si.si_status & 0xff) << 8 : si.si_status & 0x7f;
			pending_drop(s, p);
			proc_status(s, p, status);
		}
		if (!worker_reap(w, &si, WNOHANG | __WNOTHREAD, &status))
			return;
		if (s->shielding)
			shield_forget(s->shield, si.si_pid);
		if (si.si_pid == s->root)
			worker_command_ended(w, status);
	}
}

/* Processes that have ended. Nobody waits for their pidfds: waking this thread at each death, on another processor,
 * costs the job more than all its stops (measured: 1000 x /bin/true 1.85 against 1.4); looked at once a tick they cost
 * nothing. */
static void reap_ended(struct worker *w)
{
	struct sup *s = &w->sup;
	struct epoll_event got[64];
	int n;
	do {
		n = epoll_wait(s->epoll, got, 64, 0);
		for (int i = 0; i < n; i++) {
			struct proc *p = proc_by_pid(s, (pid_t)got[i].data.u64);
			if (p && !(s->adopted && p->pid == s->root && !w->control->ended))
				proc_dead(s, p);
		}
	} while (n == 64);
	for (unsigned i = 0; s->no_pidfd && i < HASH_SIZE; i++)
		for (struct proc *p = s->procs[i], *next; p; p = next) {
			next = p->next;
			if (p->pidfd < 0 && proc_over(p))
				proc_dead(s, p);
		}
}

/* The filter goes a moment before its last process has: how that ended is known then. */
static void await_ends(struct worker *w)
{
	enum { PATIENCE_MS = 500 };
	struct sup *s = &w->sup;
	int64_t until = worker_clock_ns(CLOCK_MONOTONIC) + PATIENCE_MS * 1000000LL;
	/* Where nobody is left the table is not even read: it is eight pages. */
	for (unsigned i = 0; s->nprocs && i < HASH_SIZE; i++)
		for (struct proc *p = s->procs[i]; p; p = p->next) {
			struct pollfd pf = {.fd = p->pidfd, .events = POLLIN};
			int64_t left = until - worker_clock_ns(CLOCK_MONOTONIC);
			poll(&pf, 1, left > 0 ? (int)(left / 1000000) : 0);
		}
	if (s->nprocs)
		reap_orphans(w);
}

/* Writes what is left, and tells the recorder what is missing. */
static void end_log(struct sup *s, struct control *c)
{
	struct log_outcome o;
	int r = log_writer_end(s->log, &o);
	/* What was gathered while the disk was full may have been written since. */
	if (r < 0 || o.lost)
		c->log.error = s->log_error ? s->log_error : r < 0 ? -r : EIO;
	else if (memory_lacked()) /* not all could be told to the log */
		c->log.error = ENOMEM;
	c->log.nothing = o.nothing;
	c->log.lost = o.lost;
	c->log.removed = o.removed;
	snprintf(c->log.place, sizeof(c->log.place), "%s", o.place ? o.place : "");
}

void worker_end_log(struct sup *s, struct control *c)
{
	end_log(s, c);
	log_writer_close(s->log);
	s->log = NULL;
}

/* Ends what still lives, writes the session's end, and ends this process. */
void worker_finish(struct worker *w)
{
	struct sup *s = &w->sup;
	await_ends(w);
	for (unsigned i = 0; s->nprocs && i < HASH_SIZE; i++)
		while (s->procs[i])
			proc_dead(s, s->procs[i]);
	feature_pipe_finish(s);
	raw_resolve(w);
	emit_passed_gap(w);
	feature_sweep(s, true);
	worker_summary(w, true);
	if (memory_lacked())
		sup_gap(s, NULL, TERM_gap_lost, 0, "there was not enough memory");
	struct event ev = {0};
	sup_event(s, EVENT_session_end, sup_now(s), NULL, &ev);
	w->control->few = s->few;
	w->control->untold = s->untold;
	w->control->gaps = s->gaps;
	/* It is not closed: the server's thread may be in it, on its way back from the last frame, or about to look whether
	 * there is one; where a stopped process was killed nobody waits for that. This process is over in a moment. */
	end_log(s, w->control);
	w->control->traps = s->traps;
	__atomic_store_n(&w->control->done, 1, __ATOMIC_RELEASE);
	_exit(0); /* which wakes the keeper */
}

void worker_signals(struct worker *w)
{
	sigset_t all;
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	w->signals = signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
	struct rlimit rl;
	/* The limit is the command's, of its own files. */
	if (getrlimit(RLIMIT_FSIZE, &rl) == 0 && rl.rlim_cur < rl.rlim_max) {
		rl.rlim_cur = rl.rlim_max;
		setrlimit(RLIMIT_FSIZE, &rl);
	}
	if (getrlimit(RLIMIT_NOFILE, &rl) == 0) {
		rl.rlim_cur = rl.rlim_max; /* a pidfd a process */
		setrlimit(RLIMIT_NOFILE, &rl);
		if (rl.rlim_max < FILES_WANTED) {
			rl.rlim_cur = rl.rlim_max = FILES_WANTED; /* root may */
			setrlimit(RLIMIT_NOFILE, &rl);
		}
	}
}

/* Counts what was sent to the whole process group: the keeper must not pass it on again. */
void worker_take_signals(struct worker *w)
{
	struct signalfd_siginfo si;
	while (read(w->signals, &si, sizeof(si)) == (ssize_t)sizeof(si))
		if (si.ssi_signo <= 64)
			__atomic_add_fetch(&w->control->got[si.ssi_signo], 1, __ATOMIC_RELEASE);
}

/* `stemma stop`: this process ends with what it has seen. The keeper lets calls go on and writes the end. */
static void stop_if_asked(struct worker *w)
{
	struct sup *s = &w->sup;
	if (!__atomic_load_n(&w->control->page.stop, __ATOMIC_ACQUIRE) || !lock_soon(w))
		return;
	feature_collect(s, false);
	sup_gap(s, NULL, TERM_gap_lost, 0, "stemma stop ended the recording; what followed was not observed");
	sup_flush(s);
	__atomic_store_n(&w->control->quit, 1, __ATOMIC_RELEASE);
	_exit(0);
}

/* The worker's main thread, while servers answer stops: signals, ends, features' ticks. Does not return. */
void worker_main(struct worker *w)
{
	struct sup *s = &w->sup;
	worker_signals(w);
	/* Of the listener only the hang-up matters here: nobody is left under the filter. The stops themselves go to the
	 * server. */
	w->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	struct pollfd wait[3] = {
	    {.fd = w->signals, .events = POLLIN}, {.fd = s->listener}, {.fd = w->wake, .events = POLLIN}};
	uint64_t traps = 0;
	/* Signals may wake it before. */
	int lasts = s->listener >= 0 && s->observer && s->observer->lasts ? 4 : 0;
	for (bool over = false, busy = true, mounts_known = false;;) {
		bool dozes = !lasts && !s->scans && !busy;
		__atomic_store_n(&w->dozing, dozes, __ATOMIC_RELEASE);
		int n = poll(wait, 3, lasts ? LASTS_MS : s->scans ? w->scan_ms : busy ? TICK_MS : 20 * TICK_MS);
		eventfd_t woken;
		__atomic_store_n(&w->dozing, 0, __ATOMIC_RELEASE);
		if (dozes && wait[2].revents)
			eventfd_read(w->wake, &woken);
		if (lasts && !wait[1].revents && (lasts = n ? lasts - 1 : 0) == 0)
			s->observer->lasts(s->observer->arg);
		if (wait[1].revents) {
			over = true; /* the command's own end is about to be told, if it has not been */
			wait[1].fd = -1;
		}
		worker_take_signals(w);
		if (!mounts_known && s->listener >= 0)
			sup_set_slow_fs(s, fileid_mounts_wait());
		mounts_known = true;
		serve_stand_in(w);
		stop_if_asked(w);
		serve_watch(w);
		serve_minute(w);
		const bool crowded = serve_crowd(w);
		if (!lock_soon(w)) {
			busy = true;
			continue;
		}
		s->visits++;
		emit_passed_gap(w);
		links_forget();
		const bool looks = feature_is_busy(s);
		openings_listen(s);
		connects_tick(s);
		feature_pipe_listen(s);
		feature_collect(s, true);
		if (s->pending && looks)
			pending_settle(s, NULL, 0, true);
		feature_unbar(s);
		feature_tick(s);
		if (s->scans)
			over = !worker_scan(w);
		reap_orphans(w);
		worker_continue(w->control, w->keeper);
		reap_ended(w);
		feature_sweep(s, false);
		if (__atomic_load_n(&w->control->ended, __ATOMIC_RELAXED)) {
			/* The keeper is woken once: by our end, where nobody outlives the command. */
			struct pollfd p = {.fd = s->listener};
			if (over || (poll(&p, 1, 0) == 1 && (p.revents & POLLHUP)))
				worker_finish(w);
			worker_emit_end(w);
		}
		if (log_writer_pending(s->log))
			sup_flush(s);
		busy = s->traps != traps || s->shielding || looks || crowded; /* nobody is woken by stops then */
		traps = s->traps;
		pthread_mutex_unlock(&s->lock);
	}
}
