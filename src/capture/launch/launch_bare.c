/* The command without a recorder, or with one that does not watch it. */
#include "capture/launch/launch_int.h"
#include "capture/launch/stop_self.h"

#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* Handles what outlives the command, after the end of the command, where somebody watches: what outlives it, by its
 * policy. False: somebody still does. */
static bool orphans_over(const struct run_options *o, struct rusage *used)
{
	const struct run_observer *ob = o->observer;
	for (pid_t pid = 1; pid > 0;) {
		if (o->orphans == ORPHANS_DETACH && !(ob && ob->stay && ob->stay(ob->arg)))
			return waitpid(-1, NULL, WNOHANG) < 0;
		int status;
		if (o->orphans == ORPHANS_KILL)
			procfs_children(getpid(), false, worker_kill_child, NULL);
		pid = wait4(-1, &status, 0, used);
		if (pid > 0 && o->observer && o->observer->over)
			o->observer->over(o->observer->arg, pid, status, used, keeper_clock());
	}
	return true;
}

/* Hands on what was sent to this process alone. What comes from the terminal has reached the whole group, the command
 * too. What somebody else sends to the group the command gets twice: without a worker nobody could tell. */
static void hand_on(pid_t pid, const siginfo_t *si)
{
	if (si->si_signo == SIGCONT)
		stop_guard_set();
	if (si->si_signo != SIGCHLD && !stop_is_own(si->si_signo, si->si_pid) && si->si_code != SI_KERNEL &&
	    si->si_pid != pid)
		kill(pid, si->si_signo);
}

/* The process that becomes the command. Its number. Does not return where none is to be had: the command gets this one,
 * and its record has no end. */
static pid_t fork_bare(const struct keeper *k, const struct run_observer *o, const sigset_t *before)
{
	pid_t pid = fork();
	if (pid < 0)
		stop_guard_drop();
	if (pid <= 0)
		sigprocmask(SIG_SETMASK, before, NULL);
	if (pid < 0 && k->o->say)
		k->o->say("nothing could be recorded: no process could be started for it");
	if (pid <= 0)
		sigaction(SIGXFSZ, &k->xfsz, NULL);
	if (pid == 0 && o && o->enter)
		o->enter(o->arg);
	if (pid <= 0)
		launch_become_command(k);
	return pid;
}

/* Until the command is over; orphans that end before it come here too. signals: those that are handed on. */
static void await_bare(const struct run_observer *o, pid_t pid, const sigset_t *signals, int *ret_status)
{
	for (pid_t got = 0; got != pid;) {
		int status;
		siginfo_t si;
		struct rusage used;
		if ((got = wait4(-1, &status, WNOHANG | WUNTRACED, &used)) < 0)
			break;
		if (got == 0) {
			if (sigwaitinfo(signals, &si) > 0)
				hand_on(pid, &si);
			continue;
		}
		if (WIFSTOPPED(status)) {
			/* Stops too: the shell that waits for us takes the terminal back. */
			if (got == pid && stop_self())
				kill(pid, SIGCONT);
			got = 0;
			continue;
		}
		if (got == pid)
			*ret_status = status;
		if (o && o->over)
			o->over(o->arg, got, status, &used, keeper_clock());
	}
}

int launch_bare(const struct keeper *k, int *ret_status)
{
	const struct run_observer *o = k->o->stay ? k->o->observer : NULL;
	struct rusage used;
	size_t n;
	if (o || k->o->orphans != ORPHANS_DETACH)
		prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	if (o && o->prepare)
		o->prepare(o->arg, false);
	sigset_t all, before;
	sigfillset(&all);
	sigdelset(&all, SIGSEGV);
	sigdelset(&all, SIGBUS);
	sigprocmask(SIG_BLOCK, &all, &before);
	stop_guard_set();
	stop_guard_spare(&all);
	pid_t pid = fork_bare(k, o, &before);
	if (o && o->started)
		o->started(o->arg, pid, false, NULL, NULL, keeper_clock());
	if (o && o->lasts)
		o->lasts(o->arg);
	await_bare(o, pid, &all, ret_status);
	bool last = orphans_over(k->o, &used);
	if (o && o->ended)
		o->ended(o->arg, *ret_status, last, keeper_clock(), &n);
	stop_guard_drop();
	sigprocmask(SIG_SETMASK, &before, NULL);
	return 0;
}

/* Why nothing could be. With so few descriptors it is that, wherever it failed. */
const char *launch_explain_no_capture(const char *otherwise)
{
	struct rlimit rl;
	bool few = getrlimit(RLIMIT_NOFILE, &rl) == 0 && rl.rlim_cur < 24;
	return few ? "nothing could be recorded: too few file descriptors (ulimit -n)" : otherwise;
}

/* Without a recorder. The record says so, and how the command ended. *ret_status: the command's; *ret_note: a sentence
 * for the user, which stays. 0. */
int launch_alone(const struct keeper *k, int *ret_status, const char **ret_note)
{
	struct sup *s = k->sup;
	*ret_note = launch_explain_no_capture("nothing could be recorded: the recorder could not be started");
	sup_gap(s, NULL, TERM_gap_lost, 0, "the recorder could not be started");
	int rc = launch_bare(k, ret_status);
	feature_sweep(s, true);
	if (rc == 0)
		keeper_emit_end(s, *ret_status);
	log_writer_close(s->log);
	return rc;
}

/* Nor with so little room for processes that the recorder's would be missing for the command: that gets this one, and
 * its record says that there is no more. Gives what launch_bare gives; else it does not return. */
int launch_unwatched(const struct keeper *k, int *ret_status)
{
	struct sup *s = k->sup;
	struct event ev = {0};
	sup_event(s, EVENT_session_end, sup_now(s), NULL, &ev);
	log_writer_close(s->log);
	if (k->o->stay || k->o->orphans != ORPHANS_DETACH)
		return launch_bare(k, ret_status);
	sigaction(SIGXFSZ, &k->xfsz, NULL);
	launch_become_command(k);
}
