/* How the worker begins: it starts the command and serves its stops, by whichever way was chosen. */
#include "capture/launch/launch_int.h"
#include "capture/preload/safe.h"
#include "capture/supervisor/shield/shield.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <malloc.h>
#include <semaphore.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Tells the observer that the command starts. later: worker_main says that the command lasts. */
static void observe_start(struct sup *s, bool told, bool later)
{
	const struct run_observer *o = s->observer;
	if (o && o->started)
		o->started(o->arg, s->root, told, s->run, s->user, sup_now(s));
	if (o && o->file && (told || s->preloads) && !s->tree_only)
		o->file(o->arg, 0, NULL, -1, 0, s->preloads);
	if (o && o->in_memory && told && !s->tree_only)
		o->in_memory(o->arg, false);
	if (o && o->moved && told && s->exact)
		o->moved(o->arg, false, true, 0);
	if (o && o->lasts && !later)
		o->lasts(o->arg);
}

struct start {
	struct worker *w;
	int from_command; /* where the listener comes from */
	sem_t got;        /* it came, or none will */
};

/* The server's thread, from before there is anything to serve. */
static void *run_first_server(void *arg)
{
	struct start *st = arg;
	struct worker *w = st->w;
	int nnp = 0, fd = keeper_receive(st->from_command, &nnp);
	close(st->from_command);
	w->sup.root = w->control->root;
	if (fd >= 0)
		observe_start(&w->sup, true, true);
	w->sup.nnp = nnp;
	w->sup.listener = fd;
	sem_post(&st->got); /* st is gone from here on */
	if (fd >= 0) {
		notify_tune(fd);
		worker_serve(w);
	}
	/* What it has read and written is told apart from what children did only while it lives. */
	if (fd >= 0)
		for (;;)
			pause();
	return NULL;
}

/* Waits for a command that is not recorded. No filter: the command runs unrecorded. Waits for it all the same. */
static _Noreturn void wait_unrecorded(struct worker *w, bool wanted)
{
	struct sup *s = &w->sup;
	int status = 0;
	if (wanted)
		sup_gap(s, NULL, TERM_gap_lost, 0, "no system call can be stopped on this machine; stemma doctor says why");
	log_writer_flush(s->log);
	observe_start(s, false, false);
	/* Orphans come to this process; without anybody to tell of them they are left to others. */
	for (siginfo_t si = {0}; !w->control->ended || s->observer || s->orphans != ORPHANS_DETACH; si.si_pid = 0) {
		if (waitid(P_ALL, 0, &si, WEXITED | WNOWAIT) < 0 && errno != EINTR)
			break; /* nobody is left */
		if (si.si_pid && worker_reap(w, &si, 0, &status) && si.si_pid == s->root) {
			worker_command_ended(w, status);
			sup_flush(s);
		}
		if (w->control->ended && waitid(P_ALL, 0, &si, WEXITED | WNOHANG | WNOWAIT) == 0)
			worker_emit_end(w);
	}
	worker_finish(w);
}

/* Names the process, takes over orphans of the command, and keeps to one arena of memory. */
static void become_worker(void)
{
	prctl(PR_SET_NAME, "stemma-worker");
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	mallopt(M_ARENA_MAX, 1); /* the lock serialises the threads; an arena of its own costs each six calls */
}

/* Gives up what the worker has inherited from the user. Nothing of the user's stays open here: a pipe's reader must
 * see its end when the command lets go. */
static void let_go_of_users_files(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int i = 0; null >= 0 && i < 3; i++)
		dup2(null, i);
	(void)!chdir("/");
	umask(077);
}

/* Records the command by ptrace, if that works; then it does not return. */
static void trace_command(struct keeper *k, struct worker *w, bool wanted, int sock, pid_t pid)
{
	bool seized = wanted && trace_seize(pid, k->sup->exact, k->o->stay) == 0;
	(void)!write(sock, seized ? "y" : "n", 1);
	if (!seized)
		return;
	worker_hide_memory(true);
	observe_start(&w->sup, true, false);
	worker_trace(w); /* the filter's message waits for nobody */
}

/* The command is there, and nobody traces it. st: of the thread that serves; NULL: none does. */
static _Noreturn void serve_to_end(struct worker *w, struct start *st, bool wanted)
{
	if (w->sup.scans) {
		observe_start(&w->sup, false, false);
		worker_main(w);
	}
	while (st && sem_wait(&st->got) < 0)
		;
	if (!st || w->sup.listener < 0)
		wait_unrecorded(w, wanted);
	worker_main(w);
}

/* Lets the observer prepare itself. told: see the observer's prepare. Nothing without an observer. */
static void prepare_observer(const struct sup *s, bool told)
{
	if (s->observer && s->observer->prepare)
		s->observer->prepare(s->observer->arg, told);
}

/* The worker's process: starts the command and serves it to its end. to_keeper: the keeper's socket for the listener.
 * */
_Noreturn void launch_worker(struct keeper *k, struct worker *w, const struct sock_fprog *prog, int to_keeper)
{
	int pair[2];
	struct start st = {.w = w};
	pthread_t t;
	const bool wanted = prog || k->sup->exact;
	become_worker();
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		_exit(1);
	st.from_command = pair[0];
	w->sup.shield = k->trace ? NULL : shield_new(w->control, w->keeper);
	prepare_observer(&w->sup, wanted && !w->sup.scans);
	sem_init(&st.got, 0, 0);
	/* The command's first exec is stopped already, so the server must be there before it. Then the command need not be
	 * a copy of this process: with vfork this thread waits until it has become its program (measured: 0.4 ms a run). */
	bool serving = prog && !k->trace && worker_thread(w, run_first_server, &st, &t) == 0;
	pid_t pid = serving ? vfork() : fork();
	if (pid == 0) {
		k->control->root = getpid();
		launch_exec_command(k, serving || k->trace ? prog : NULL, (int[2]){to_keeper, pair[1]});
	}
	close(pair[1]);
	close(to_keeper);
	if (pid < 0)
		_exit(1);
	if (!serving)
		w->control->root = w->sup.root = pid;
	__atomic_store_n(&w->control->started, 1, __ATOMIC_RELEASE);
	let_go_of_users_files();
	if (k->trace)
		trace_command(k, w, wanted, pair[0], pid);
	serve_to_end(w, serving ? &st : NULL, wanted);
}

/* The same without anything that could stop the command: a library goes along with it. */
_Noreturn void launch_safe_worker(struct keeper *k, struct worker *w, int to_keeper)
{
	struct sup *s = &w->sup;
	char cwd[4096];
	become_worker();
	if (!getcwd(cwd, sizeof(cwd)))
		cwd[0] = '\0';
	prepare_observer(s, false);
	/* Programs find the region in this process's folder of /proc, which only root could enter if it were not dumpable.
	 */
	prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	safe_place_enter(k->safe, k->o->argv[0]);
	int64_t forked = sup_now(s);
	pid_t pid = vfork();
	if (pid == 0) {
		k->control->root = getpid();
		sigaction(SIGXFSZ, &k->xfsz, NULL);
		sigprocmask(SIG_SETMASK, &k->before, NULL);
		if (s->observer && s->observer->enter)
			s->observer->enter(s->observer->arg);
		launch_become_command(k);
	}
	close(to_keeper);
	if (pid < 0)
		_exit(1);
	w->control->root = s->root = pid;
	__atomic_store_n(&w->control->started, 1, __ATOMIC_RELEASE);
	s->preloads = true;
	observe_start(s, false, false);
	let_go_of_users_files();
	worker_safe(w, k->safe, forked, cwd);
}
