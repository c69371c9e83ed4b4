#include "capture/launch/keeper.h"

#include "base/io.h"
#include "base/os/procfs.h"
#include "capture/launch/log_server.h"
#include "capture/launch/standstill.h"
#include "capture/launch/stop_self.h"
#include "capture/preload/safe.h"
#include "capture/standby/standby.h"
#include "capture/supervisor/adopt.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define GROUP_WAIT_MS 30     /* a signal to the whole group reaches the worker within this time too */
#define GOES_ON_NS 500000000 /* the worker sees within this time that the command goes on */

/* The descriptor, or the negative word that came instead, or -EPIPE. */
int keeper_receive(int sock, int *ret_word)
{
	union {
		struct cmsghdr h;
		char room[CMSG_SPACE(sizeof(int))];
	} u = {0};
	int word = -EPIPE;
	struct iovec iov = {&word, sizeof(word)};
	struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &u, .msg_controllen = sizeof(u)};
	ssize_t n;
	do
		n = recvmsg(sock, &m, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n != (ssize_t)sizeof(word))
		return -EPIPE;
	struct cmsghdr *h = CMSG_FIRSTHDR(&m);
	if (!h || h->cmsg_type != SCM_RIGHTS)
		return word < 0 ? word : -EPIPE;
	int fd;
	memcpy(&fd, CMSG_DATA(h), sizeof(fd));
	*ret_word = word;
	return fd;
}

/* ---- what the record says of the end ---- */

/* The last event of the log. */
static void emit_session_end(struct sup *s)
{
	struct event ev = {0};
	sup_event(s, EVENT_session_end, sup_now(s), NULL, &ev);
}

/* Of a run that no worker follows to its end. */
void keeper_emit_end(struct sup *s, int status)
{
	struct event ev = {.run_end = {.id = str_of(s->run),
	                               .ending = WIFSIGNALED(status) ? TERM_ending_signaled : TERM_ending_exited,
	                               .code = (uint64_t)(WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status))}};
	sup_event(s, EVENT_run_end, sup_now(s), NULL, &ev);
	emit_session_end(s);
}

/* ---- signals ---- */

/* CLOCK_MONOTONIC, ns. */
static int64_t keeper_monotonic_ns(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

/* Sends the signal to the command, which another process waits for and whose number may be another process's then. So a
 * descriptor of it is opened first; only then is it asked whether it was over already. */
static void signal_root(struct keeper *k, int sig)
{
	pid_t root = k->control->root;
	int fd = (int)syscall(SYS_pidfd_open, root, 0);
	bool number_only = fd < 0 && errno != ESRCH && errno != EINVAL;
	if (!__atomic_load_n(&k->control->ended, __ATOMIC_ACQUIRE) &&
	    !__atomic_load_n(&k->control->seen, __ATOMIC_ACQUIRE)) {
		if (fd >= 0)
			syscall(SYS_pidfd_send_signal, fd, sig, NULL, 0);
		else if (number_only)
			kill(root, sig);
	}
	if (fd >= 0)
		close(fd);
	if (sig == SIGCONT)
		k->continued = keeper_monotonic_ns();
}

/* A signal that came to this process alone is the command's; one that the whole group got, the command has already. */
static void forward_signal(struct keeper *k, const struct signalfd_siginfo *si)
{
	unsigned sig = si->ssi_signo;
	pid_t root = k->control->root;
	if (sig == SIGCONT)
		stop_guard_set();
	if (sig == SIGCHLD || sig > 64 || root <= 0 || stop_is_own((int)sig, (pid_t)si->ssi_pid))
		return;
	if (sig == SIGCONT && si->ssi_pid == (uint32_t)k->worker) /* the command goes on already */
		return;
	k->mine[sig]++;
	if (si->ssi_code == SI_KERNEL) /* from the terminal: to the foreground group */
		return;
	for (int ms = 0; ms < GROUP_WAIT_MS && k->worker_alive; ms++) {
		if (__atomic_load_n(&k->control->got[sig], __ATOMIC_ACQUIRE) >= k->mine[sig]) {
			k->mine[sig] = k->control->got[sig];
			return;
		}
		usleep(1000);
	}
	k->mine[sig] = k->control->got[sig];
	signal_root(k, (int)sig);
}

/* Handles all signals that wait. */
static void take_signals(void *arg)
{
	struct keeper *k = arg;
	struct signalfd_siginfo si;
	while (read(k->signals, &si, sizeof(si)) == (ssize_t)sizeof(si))
		forward_signal(k, &si);
}

/* Its state in /proc/PID/stat; 0: it is gone. */
static char read_command_state(const struct keeper *k)
{
	char name[48], text[512];
	snprintf(name, sizeof(name), "/proc/%d/stat", k->control->root);
	io_text(name, text, sizeof(text));
	const char *state = strrchr(text, ')');
	return state && state[1] == ' ' ? state[2] : '\0';
}

/* Is it to stop still, as the worker had said? Not where the command goes on already: its SIGCONT came before the stop.
 * Of a command whose first thread has ended that cannot be seen. */
static bool has_to_stop(const struct keeper *k)
{
	const char state = read_command_state(k);
	return __atomic_load_n(&k->control->stopped, __ATOMIC_SEQ_CST) && state && !strchr("RSD", state);
}

/* Stops as the command has, so that the shell takes the terminal back. Not where a SIGCONT has come meanwhile. told: by
 * the worker, which then has this process go on where the command does. */
static void stop_keeper(struct keeper *k, bool told)
{
	struct control *c = k->control;
	__atomic_store_n(&c->halting, 1, __ATOMIC_SEQ_CST);
	const bool lost = (!told || has_to_stop(k)) && stop_self();
	__atomic_store_n(&c->halting, 0, __ATOMIC_SEQ_CST);
	if (!lost)
		return;
	k->mine[SIGCONT] = c->got[SIGCONT];
	/* Else it was the worker's: the command goes on already. */
	if (!told || __atomic_load_n(&c->stopped, __ATOMIC_SEQ_CST))
		signal_root(k, SIGCONT);
}

/* ---- after the worker's death ---- */

/* Forgets the standby: it has ended and was waited for: its number may be another process's from here on. */
static void lose_standby(struct keeper *k)
{
	k->standby = -ESRCH;
	__atomic_store_n(&k->control->standby, 0, __ATOMIC_RELEASE);
}

/* Called while the keeper waits: takes signals and children that have ended. False: the command is over. */
static bool keep_on(void *arg)
{
	struct keeper *k = arg;
	int status;
	pid_t pid;
	take_signals(k);
	struct rusage used;
	while ((pid = wait4(-1, &status, WNOHANG | WUNTRACED, &used)) > 0) {
		if (pid == k->standby)
			lose_standby(k);
		if (pid != k->control->root)
			continue;
		if (WIFSTOPPED(status)) {
			stop_keeper(k, false);
		} else {
			k->control->status = status;
			k->control->ended = 1;
			k->used = used;
			k->used_known = true;
		}
	}
	siginfo_t si;
	if (!k->control->ended && k->control->seen &&
	    waitid(P_PID, (id_t)k->control->root, &si, WEXITED | WNOHANG | WNOWAIT) < 0 && errno == ECHILD)
		k->control->ended = k->was_seen = true;
	return !k->control->ended;
}

/* Always true: for what is to go on in any case. */
static bool return_true(void *arg)
{
	(void)arg;
	return true;
}

/* The listener waits in the socket until it is needed: being woken for it would cost each run's start. */
void keeper_fetch_listener(struct keeper *k)
{
	int nnp;
	if (k->from_command < 0)
		return;
	k->listener = keeper_receive(k->from_command, &nnp);
	close(k->from_command);
	k->from_command = -1;
}

/* A third holder of the listener, should both of us be killed. Where it cannot be started now it is not tried again:
 * what is missing does not come. */
static void start_standby(struct keeper *k)
{
	if (k->standby || k->listener < 0 || k->trace)
		return;
	k->standby = standby_start(k->listener, k->memory, k->life[0], k->sup->run);
	__atomic_store_n(&k->control->standby, k->standby > 0 ? k->standby : 0, __ATOMIC_RELEASE);
}

void keeper_dismiss_standby(struct keeper *k)
{
	struct pollfd p = {.fd = k->listener};
	/* It would end by itself a moment later; so that whoever waits for the run finds nothing of it. */
	if (k->standby > 0 && poll(&p, 1, 0) == 1 && (p.revents & POLLHUP)) {
		kill(k->standby, SIGKILL);
		waitpid(k->standby, NULL, 0);
		k->standby = -ESRCH;
	}
}

/* Leaves the session of the command, in a process of its own that has nothing of the user's open. */
static void leave_behind(void)
{
	setsid();
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int i = 0; null >= 0 && i < 3; i++)
		dup2(null, i);
	prctl(PR_SET_NAME, "stemma-keeper");
}

/* Says that the recorder was killed, from the last event of its log on. Nothing if it ended by itself. */
static void emit_recorder_death(struct keeper *k)
{
	struct sup *s = k->sup;
	struct event ev = {.gap = {.reason = TERM_gap_recorder_died,
	                           .from = log_writer_last(s->log),
	                           .text = str_of("the recorder was killed")}};
	if (__atomic_load_n(&k->control->quit, __ATOMIC_ACQUIRE))
		return; /* it has said so itself */
	sup_event(s, EVENT_gap, sup_now(s), NULL, &ev);
	s->gaps |= 1u << TERM_gap_recorder_died;
}

/* Keeps answering for processes that outlive the command, in a process of its own that has nothing of the user's open.
 */
static void keep_in_background(struct keeper *k)
{
	keeper_fetch_listener(k);
	/* As long as it is this process's child its number is its own; later another process may get that. */
	int held = k->worker > 0 ? (int)syscall(SYS_pidfd_open, k->worker, 0) : -1;
	if (fork() != 0) {
		if (held >= 0)
			close(held);
		return;
	}
	leave_behind();
	start_standby(k);
	/* While the worker lives there is nothing to do but to hold the listener. Who is its parent now may never wait for
	 * it. */
	while (k->worker_alive && !__atomic_load_n(&k->control->done, __ATOMIC_ACQUIRE) &&
	       !log_server_killed(k->worker, held))
		usleep(50000);
	struct sup *s = k->sup;
	bool dead = !__atomic_load_n(&k->control->done, __ATOMIC_ACQUIRE), mine = dead && k->worker_alive;
	if (mine) {
		log_writer_takeover(s->log);
		log_writer_quiet(s->log, false);
		emit_recorder_death(k);
		sup_flush(s); /* another thread writes: the calls do not wait for the disk */
	}
	if (k->listener >= 0 && dead)
		notify_keep(k->listener, &k->control->page, return_true, NULL);
	if (mine) {
		emit_session_end(s);
		worker_end_log(s, k->control);
	}
	_exit(0);
}

/* Called when a process has ended that ptrace stops: keeps the status of the command, in the worker's place, and
 * from a process of its own for what outlives the command. */
static void command_ended(void *arg, pid_t pid, int status)
{
	struct keeper *k = arg;
	if (pid == k->control->root) {
		k->control->status = status;
		k->control->ended = 1;
	}
}

/* Serves the stops of what the worker left until the command is over; what lives on is traced by a child. */
static void keep_tracing(struct keeper *k, struct traced *t)
{
	while (traced_serve(t, command_ended, k) && !k->control->ended) {
		struct pollfd p = {.fd = k->signals, .events = POLLIN}; /* stops are told by SIGCHLD */
		poll(&p, 1, 100);
		take_signals(k);
	}
	if (t->n && k->control->ended && fork() == 0) {
		leave_behind();
		traced_seize_again(t);
		while (traced_serve(t, command_ended, k))
			usleep(1000);
		_exit(0);
	}
	free(t->v);
	*t = (struct traced){0};
}

/* The command's output is its own: whoever reads it must see its end when the command closes it. Not before there is a
 * command, which this process may still have to become itself. */
static void release_output(struct keeper *k)
{
	if (k->let_go)
		return;
	k->let_go = true;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int i = 0; null >= 0 && i < 2; i++)
		dup2(null, i);
}

/* Has the worker started the command before it died? One that has just begun says its number at once, but on a busy
 * machine it may be long before it gets to that; and to start it a second time is worse than to wait. */
static bool has_command(const struct keeper *k)
{
	enum { PATIENCE_MS = 60000 };
	pid_t pid = 0;
	for (int ms = 0; ms < PATIENCE_MS && pid >= 0 && !__atomic_load_n(&k->control->root, __ATOMIC_ACQUIRE); ms++)
		if ((pid = waitpid(-1, NULL, WNOHANG)) == 0)
			usleep(1000);
	return k->control->root != 0;
}

int64_t keeper_clock(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_REALTIME, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

/* The command and its orphans, where they are this process's children and another worker records them. */
static void reap_adopted(struct keeper *k)
{
	siginfo_t si = {0};
	struct rusage used;
	int status;
	pid_t root = k->control->root;
	if (waitid(P_PID, (id_t)root, &si, WSTOPPED | WNOHANG) == 0 && si.si_pid == root)
		stop_keeper(k, false);
	if (!k->control->reaped && wait4(root, &status, WNOHANG, &used) == root && !WIFSTOPPED(status)) {
		k->control->status = status;
		k->used = used;
		k->used_known = true;
		__atomic_store_n(&k->control->reaped, 1, __ATOMIC_RELEASE);
		kill(k->worker, SIGCHLD);
	}
	/* The worker's own end is for whoever asks about that. */
	for (si.si_pid = 0; waitid(P_ALL, 0, &si, WEXITED | WNOHANG | WNOWAIT) == 0 && si.si_pid; si.si_pid = 0) {
		if (si.si_pid == k->worker || si.si_pid == root || waitpid(si.si_pid, NULL, WNOHANG) < 0)
			break;
		if (si.si_pid == k->standby)
			lose_standby(k);
	}
}

struct pause {
	struct keeper *k;
	int64_t until;
};

/* Whether to go on waiting: till the time, and while the command runs. */
static bool until_then(void *arg)
{
	const struct pause *p = arg;
	return keep_on(p->k) && keeper_monotonic_ns() < p->until;
}

/* The new worker is taking up what lives: true, when it has. It may hang, at a file system; nobody waits for that. */
static bool is_taken_up(struct keeper *k)
{
	enum { PATIENCE_MS = 1000 };
	for (int ms = 0; ms < PATIENCE_MS; ms++) {
		if (__atomic_load_n(&k->control->taken, __ATOMIC_ACQUIRE))
			return true;
		if (waitpid(k->worker, NULL, WNOHANG) == k->worker)
			return false;
		usleep(1000);
	}
	/* It does not touch the log any more, once it is over; that it is may take its time, and calls go on meanwhile. */
	kill(k->worker, SIGKILL);
	int status;
	while (waitpid(k->worker, &status, WNOHANG) == 0) {
		struct pause p = {k, keeper_monotonic_ns() + 10000000};
		k->worker_alive = 0;
		notify_keep(k->listener, &k->control->page, until_then, &p);
	}
	return false;
}

/* Another worker after one that was killed. False: none is to be, or the command has ended meanwhile. */
static bool revive_worker(struct keeper *k, int64_t died)
{
	enum { MOST = 20, LONGEST = 7 };
	const int64_t short_life = 60000000000LL, first_pause = 100000000;
	while (k->choice.backend == BACKEND_NOTIFY && k->listener >= 0 && !k->control->ended && k->revivals < MOST &&
	       !__atomic_load_n(&k->control->page.stop, __ATOMIC_ACQUIRE)) {
		if (k->revived && keeper_monotonic_ns() - k->revived > short_life)
			k->revivals = 0;
		unsigned n = k->revivals < LONGEST ? k->revivals : LONGEST;
		struct pause p = {k, n ? keeper_monotonic_ns() + (first_pause << n) : 0};
		notify_keep(k->listener, &k->control->page, until_then, &p);
		if (!keep_on(k))
			return false;
		k->revivals++;
		k->revived = keeper_monotonic_ns();
		__atomic_store_n(&k->control->taken, 0, __ATOMIC_RELEASE);
		__atomic_store_n(&k->control->server, 0, __ATOMIC_RELEASE);
		__atomic_store_n(&k->control->adopted, 1, __ATOMIC_RELEASE);
		k->worker = fork();
		if (k->worker == 0) {
			k->w->notice = k->life[1];
			worker_adopt(k->w, k->listener, died);
		}
		if (k->worker > 0 && is_taken_up(k)) {
			k->worker_alive = 1;
			return true;
		}
		log_writer_takeover(k->sup->log);
	}
	return false;
}

/* How the command ended is known here only: to whoever watches what the run used. */
static void notify_observer_lost(struct keeper *k)
{
	const struct run_observer *o = k->o->observer;
	if (o && o->lost)
		o->lost(o->arg, k->control->ended ? k->control->status : -1, k->used_known ? &k->used : NULL, keeper_clock());
}

/* Keeps the command to its end: no worker follows: this process answers what is stopped, until the command has
 * ended. */
static void keep_to_end(struct keeper *k, struct traced *traced)
{
	/* Orphans of the worker are ours now: the command among them. */
	if (k->choice.backend == BACKEND_TRACE)
		keep_tracing(k, traced);
	if (k->listener >= 0)
		notify_keep(k->listener, &k->control->page, keep_on, k);
	while (!k->control->ended) { /* nobody under the filter is left; the status may be a moment behind */
		if (keep_on(k))
			usleep(1000);
		if (kill(k->control->root, 0) < 0 && errno == ESRCH)
			break;
	}
	notify_observer_lost(k);
}

/* The end of a record that no worker ends. said: it has the command's end. */
static void end_record(struct keeper *k, bool said)
{
	struct sup *s = k->sup;
	if (!k->control->ended) /* nobody knows any more how it ended */
		k->control->status = 125 << 8;
	feature_sweep(s, true);
	if (said || (k->was_seen && k->control->telling) || !k->control->ended)
		emit_session_end(s);
	else
		keeper_emit_end(s, k->control->status);
}

/* Takes over after the worker's death, until the command's end; or until another worker is there (worker_alive).
 * False: there is no command. */
static bool take_over(struct keeper *k)
{
	struct sup *s = k->sup;
	struct traced traced = {0};
	k->worker_alive = 0;
	if (k->choice.backend == BACKEND_TRACE)
		traced_seize(&traced); /* before anything else: until then calls fail */
	log_writer_takeover(s->log);
	if (!has_command(k))
		return false;
	release_output(k);
	keeper_fetch_listener(k);
	if (k->listener >= 0)
		notify_release(k->listener, &k->control->page);
	const bool said = k->control->ended || (k->control->reaped && k->control->telling);
	k->control->ended |= k->control->reaped;
	emit_recorder_death(k);
	if (revive_worker(k, sup_now(s)))
		return true;
	if (!k->control->quit && k->revivals)
		sup_gap(s, NULL, TERM_gap_recorder_died, 0, "no new recorder was started; the rest was not observed");
	const int not_its[] = {k->listener, k->from_command, k->memory, k->life[0], k->life[1]};
	pid_t server = log_server_start(s, k->control, not_its, sizeof(not_its) / sizeof(not_its[0]));
	keep_to_end(k, &traced);
	end_record(k, said);
	k->unwritten = !log_server_await(server, s, k->control, not_its, sizeof(not_its) / sizeof(not_its[0]));
	struct pollfd p = {.fd = k->listener};
	if (k->listener >= 0 && poll(&p, 1, 0) == 0) /* others live on, and are not to fail for want of an answer */
		keep_in_background(k);
	return true;
}

/* ---- the whole ---- */

/* Is the command stopped? Before it is its program the worker waits for just that and cannot tell. */
static bool stopped_at_start(const struct keeper *k)
{
	return !__atomic_load_n(&k->control->started, __ATOMIC_ACQUIRE) && k->control->root && read_command_state(k) == 'T';
}

/* The worker has seen the command stopped. Right after a SIGCONT that may be the stop which the SIGCONT has ended, and
 * to stop for it would be in vain: a SIGTSTP that comes meanwhile would be lost as this process is let go on. */
static void stop_as_command(struct keeper *k)
{
	const unsigned stops = __atomic_load_n(&k->control->stops, __ATOMIC_ACQUIRE);
	k->stop_due |= stops != k->stops;
	k->stops = stops;
	if (!k->stop_due || (k->continued && keeper_monotonic_ns() - k->continued < GOES_ON_NS))
		return;
	k->stop_due = false;
	stop_keeper(k, true);
}

/* One round of waiting: what was so as it began, how long it was at most, and whether nothing happened in it. */
struct round {
	bool started, left, ended, quiet;
	int timeout; /* ms */
};

/* Waits for the worker, a signal, or that some time is over. */
static struct round await_round(struct keeper *k)
{
	struct pollfd p[2] = {{.fd = k->signals, .events = POLLIN}, {.fd = k->life[0], .events = POLLIN}};
	char c[16];
	struct round r = {.started = __atomic_load_n(&k->control->started, __ATOMIC_ACQUIRE),
	                  .left = __atomic_load_n(&k->control->left, __ATOMIC_ACQUIRE),
	                  .ended = __atomic_load_n(&k->control->ended, __ATOMIC_ACQUIRE)};
	r.timeout = r.left ? 1 : r.ended || !r.started || k->from_command >= 0 || k->stop_due ? 20 : 500;
	r.quiet = poll(p, 2, r.timeout) == 0;
	if (p[1].revents & POLLIN)
		(void)!read(k->life[0], c, sizeof(c));
	return r;
}

/* What a run that lasts is given, in a round in which nothing happened. */
static void look_after_run(struct keeper *k, const struct round *r, struct standstill *still)
{
	const struct run_observer *o = k->o->observer;
	/* The command may have stopped the worker before that had told us that it is started. */
	if (standstill_look(still, k->control, k->worker) && k->listener >= 0)
		standstill_serve(still, k->control, k->worker, k->listener, take_signals, k);
	if (!r->started)
		return;
	/* Descriptors on their way are counted against the user's limit: of a run that lasts, it is fetched. */
	keeper_fetch_listener(k);
	if (!r->ended)
		start_standby(k);
	if (o && o->waiting && !r->ended)
		o->waiting(o->arg);
}

/* Is the worker over? *ret_done: it ended in good order, with the record closed. */
static bool is_worker_over(struct keeper *k, bool quiet, bool *ret_done)
{
	int status;
	/* Where it ended in good order, done was set before its first thread ended. */
	const bool killed = quiet && log_server_killed(k->worker, -1);
	*ret_done = __atomic_load_n(&k->control->done, __ATOMIC_ACQUIRE);
	bool over = waitpid(k->worker, &status, *ret_done ? 0 : WNOHANG) == k->worker;
	if (!over && killed && !*ret_done) {
		standstill_await_threads(k->worker);
		over = true;
	}
	if (over)
		*ret_done = __atomic_load_n(&k->control->done, __ATOMIC_ACQUIRE);
	return over;
}

/* How long the end of the run has been waited for, and how long of that the worker was at work; ms. */
struct patience {
	int waited, worked;
};

/* What outlives the command is recorded behind our back, but most of it is about to end too. And a worker that has
 * nobody left to wait for is waited for, unless it hangs: at a file server that does not answer. One that works, or
 * would if it got a processor, does not hang. True: that was long enough. */
static bool has_waited_enough(const struct keeper *k, const struct round *r, struct patience *x)
{
	/* On a machine with hundreds of programs a processor the worker may be long at its last work. */
	enum { WORKS_MOST_MS = 60000, LEFT_MS = 100, HANGS_MS = 2000 };
	const bool stays = k->o->orphans != ORPHANS_DETACH || __atomic_load_n(&k->control->stays, __ATOMIC_ACQUIRE);
	const bool closing = r->ended && !stays;
	if (r->quiet && closing && !r->left && x->worked < WORKS_MOST_MS && standstill_works(k->worker))
		x->worked += r->timeout;
	else if (r->quiet && (r->left || closing))
		x->waited += r->timeout;
	return x->waited >= (r->left ? LEFT_MS : HANGS_MS);
}

/* Until the command has ended and its record is closed; or the command has ended, and others live on. False: the worker
 * died before there was a command. */
bool keeper_wait(struct keeper *k)
{
	struct standstill still = {0};
	for (struct patience x = {0};;) {
		struct round r = await_round(k);
		bool done;
		if (r.started)
			release_output(k);
		take_signals(k);
		if (stopped_at_start(k))
			stop_keeper(k, false); /* as the worker has us do later */
		stop_as_command(k);
		if (r.quiet)
			look_after_run(k, &r, &still);
		if (k->revivals)
			reap_adopted(k);
		if (is_worker_over(k, r.quiet, &done)) {
			if (!done && !take_over(k))
				return false;
			if (!done && k->worker_alive)
				continue;
			if (done && k->revivals)
				notify_observer_lost(k);
			return true;
		}
		if (has_waited_enough(k, &r, &x)) {
			if (k->revivals)
				notify_observer_lost(k);
			k->unwritten = !r.left;
			keep_in_background(k);
			return true;
		}
	}
}
