/* The keeper: the process the user started. It starts worker and command, passes signals on, holds the listener so that
 * no call ever fails for want of somebody to answer it, and ends as the command ended. */
#include "base/os/memfile.h"
#include "capture/app/images.h"
#include "capture/call_trace/call_trace.h"
#include "capture/hdf5/h5_static.h"
#include "capture/hdf5/h5_words.h"
#include "capture/launch/choose.h"
#include "capture/launch/features.h"
#include "capture/launch/keeper.h"
#include "capture/launch/run.h"
#include "capture/preload/preload_library.h"
#include "capture/preload/safe.h"
#include "capture/supervisor/shield.h"
#include "event/log_place.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <malloc.h>
#include <poll.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- descriptors between processes ---- */

static int send_listener(int sock, int fd, int word)
{
	union {
		struct cmsghdr h;
		char room[CMSG_SPACE(sizeof(int))];
	} u = {0};
	struct iovec iov = {&word, sizeof(word)};
	struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1};
	if (fd >= 0) {
		m.msg_control = &u;
		m.msg_controllen = sizeof(u);
		u.h = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
		memcpy(CMSG_DATA(&u.h), &fd, sizeof(fd));
	}
	return sendmsg(sock, &m, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/* ---- the command ---- */

/* No program of this name in PATH, whatever execvp says: it reports a folder that may not be searched as "permission
 * denied". */
static bool is_nowhere_in_path(const char *name)
{
	char path[4096];
	if (strchr(name, '/'))
		return false;
	for (const char *d = getenv("PATH"); d && *d; d += strcspn(d, ":"), d += *d == ':') {
		snprintf(path, sizeof(path), "%.*s/%s", (int)strcspn(d, ":"), d, name);
		if (access(path, F_OK) == 0)
			return false;
	}
	return true;
}

static void confine_command_once(const struct keeper *k)
{
	static bool done;
	if (!done && k->o->confine && k->o->confine(k->o->confine_arg) != 0)
		_exit(126);
	done = true;
}

/* Becomes the command; ends as a shell does if there is none. */
static _Noreturn void become_command(const struct keeper *k)
{
	char *const *argv = k->o->argv;
	confine_command_once(k);
	for (int i = 0; i < 3; i++)
		if (k->closed[i])
			close(i);
	execvp(argv[0], argv);
	int e = errno == EACCES && is_nowhere_in_path(argv[0]) ? ENOENT : errno;
	dprintf(2, "stemma: cannot run '%s': %s\n", argv[0], strerror(e));
	_exit(e == ENOENT || e == ENOTDIR ? 127 : 126);
}

static int install_filter(struct keeper *k, const struct sock_fprog *prog)
{
	return k->trace ? trace_install(prog) : notify_install(prog);
}

static _Noreturn void exec_command(struct keeper *k, const struct sock_fprog *prog, const int socks[2])
{
	sigaction(SIGXFSZ, &k->xfsz, NULL);
	sigprocmask(SIG_SETMASK, &k->before, NULL);
	char go = 0;
	/* With ptrace the tracer must be there before the filter is. */
	bool ready = !k->trace || (recv(socks[1], &go, 1, 0) == 1 && go == 'y'), wanted = prog && ready;
	int fd = wanted ? install_filter(k, prog) : ready && k->sup->exact ? 0 : -ENOSYS;
	if (wanted && fd == -EACCES) {
		/* Without privilege a filter needs no_new_privs; with privilege, set-id programs keep theirs. */
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
		fd = install_filter(k, prog);
	}
	int nnp = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0);
	for (int i = 0; i < 2; i++) {
		send_listener(socks[i], k->trace ? -1 : fd, fd >= 0 ? nnp : fd);
		close(socks[i]);
	}
	if (k->sup->observer && k->sup->observer->enter)
		k->sup->observer->enter(k->sup->observer->arg);
	/* What an exec closes is ours: whoever started us could not hand it on. Not there at all, it is not looked at when
	 * the exec stops. */
	for (int i = 3; i <= fd; i++)
		if (fcntl(i, F_GETFD) == FD_CLOEXEC)
			close(i);
	become_command(k);
}

static void day_of(char *ret, size_t n)
{
	/* A job's runs lie together; what is not a job's goes by day. */
	static const char *const jobs[] = {"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "FLUX_JOB_ID"};
	for (size_t i = 0; i < sizeof(jobs) / sizeof(jobs[0]); i++) {
		const char *v = getenv(jobs[i]);
		if (!v || !*v || strlen(v) > 64)
			continue;
		snprintf(ret, n, "job-%s", v);
		for (char *p = ret; *p; p++)
			if (*p == '/' || (unsigned char)*p < 0x21 || *p == 0x7f)
				*p = '_';
		return;
	}
	time_t t = time(NULL);
	struct tm tm;
	strftime(ret, n, "%Y-%m-%d", gmtime_r(&t, &tm));
}

/* After the end of the command, where somebody watches: what outlives it, by its policy. False: somebody still does. */
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
	if (si->si_signo != SIGCHLD && si->si_code != SI_KERNEL && si->si_pid != pid)
		kill(pid, si->si_signo);
}

static int run_bare(const struct keeper *k, int *ret_status)
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
	pid_t pid = fork();
	if (pid <= 0)
		sigprocmask(SIG_SETMASK, &before, NULL);
	if (pid == 0) {
		sigaction(SIGXFSZ, &k->xfsz, NULL);
		if (o && o->enter)
			o->enter(o->arg);
		become_command(k);
	}
	if (pid < 0) { /* no process to be had: the command gets this one, and its record has no end */
		if (k->o->say)
			k->o->say("nothing could be recorded: no process could be started for it");
		sigaction(SIGXFSZ, &k->xfsz, NULL);
		become_command(k);
	}
	if (o && o->started)
		o->started(o->arg, pid, false, NULL, NULL, keeper_clock());
	if (o && o->lasts)
		o->lasts(o->arg);
	/* Orphans that end before it come here too. */
	for (pid_t got = 0; got != pid;) {
		int status;
		siginfo_t si;
		if ((got = wait4(-1, &status, WNOHANG | WUNTRACED, &used)) < 0)
			break;
		if (got == 0) {
			if (sigwaitinfo(&all, &si) > 0)
				hand_on(pid, &si);
			continue;
		}
		if (WIFSTOPPED(status)) {
			if (got == pid)
				keeper_stop_self(); /* the shell that waits for us takes the terminal back */
			got = 0;
			continue;
		}
		if (got == pid)
			*ret_status = status;
		if (o && o->over)
			o->over(o->arg, got, status, &used, keeper_clock());
	}
	bool last = orphans_over(k->o, &used);
	if (o && o->ended)
		o->ended(o->arg, *ret_status, last, keeper_clock(), &n);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return 0;
}

/* Why nothing could be. With so few descriptors it is that, wherever it failed. */
static const char *explain_no_capture(const char *otherwise)
{
	struct rlimit rl;
	bool few = getrlimit(RLIMIT_NOFILE, &rl) == 0 && rl.rlim_cur < 24;
	return few ? "nothing could be recorded: too few file descriptors (ulimit -n)" : otherwise;
}

/* Without a recorder. The record says so, and how the command ended. */
static int run_alone(const struct keeper *k, int *ret_status, const char **ret_note)
{
	struct sup *s = k->sup;
	*ret_note = explain_no_capture("nothing could be recorded: the recorder could not be started");
	sup_gap(s, NULL, TERM_gap_lost, 0, "the recorder could not be started");
	int rc = run_bare(k, ret_status);
	feature_sweep(s, true);
	if (rc == 0)
		keeper_emit_end(s, *ret_status);
	log_writer_close(s->log);
	return rc;
}

/* Nor with so little room for processes that the recorder's would be missing for the command: that gets this one, and
 * its record says that there is no more. */
static int run_unwatched(const struct keeper *k, int *ret_status)
{
	struct sup *s = k->sup;
	struct event ev = {0};
	sup_event(s, EVENT_session_end, sup_now(s), NULL, &ev);
	log_writer_close(s->log);
	if (k->o->stay || k->o->orphans != ORPHANS_DETACH)
		return run_bare(k, ret_status);
	sigaction(SIGXFSZ, &k->xfsz, NULL);
	become_command(k);
}

/* What became of the record, where that is not all that it should be; NULL. */
static const char *log_note(const struct control *c, const char *home)
{
	static char note[800];
	const char *limit = c->log.error == EFBIG ? " (ulimit -f)" : "";
	char where[300];
	snprintf(where, sizeof(where), "the record in '%.200s' was removed while this ran", home ? home : "");
	switch (c->log.removed) {
	case LOG_REMOVED_ANEW:
		snprintf(note, sizeof(note), "%s; this run was recorded there anew", where);
		return note;
	case LOG_REMOVED_ELSEWHERE:
		snprintf(note, sizeof(note), "%s; this run's part is in '%s', which 'stemma import' reads", where,
		         c->log.place);
		return note;
	case LOG_REMOVED_LOST:
		snprintf(note, sizeof(note), "%s; nothing of this run could be kept", where);
		return note;
	}
	if (!c->log.error)
		return NULL;
	if (c->log.nothing)
		snprintf(note, sizeof(note), "nothing of this run could be recorded: %s%s", strerror(c->log.error), limit);
	else
		snprintf(note, sizeof(note), "some of this run could not be recorded: %s%s; %llu events are missing",
		         strerror(c->log.error), limit, (unsigned long long)c->log.lost);
	return note;
}

/* A run inside a run: the outer one's listener sees everything (the kernel allows one only), so it is told, and we step
 * aside. What it is told is in nested.c. True: the command is to be run without a recorder of its own. */
static bool yield_if_nested(const struct keeper *k, const char *ulid)
{
	char marker[128];
	const struct run_options *o = k->o;
	char *const none[] = {NULL};
	snprintf(marker, sizeof(marker), "/.stemma/run/%s/%llx/%llx/%llx", ulid, (unsigned long long)(uintptr_t)o->argv,
	         (unsigned long long)(uintptr_t)o->labels, (unsigned long long)(uintptr_t)o->home);
	int fd = open(marker, O_RDWR | O_CLOEXEC); /* what only reads may be opened without a stop */
	/* Where only programs are recorded no open is stopped, but an exec is. */
	if (fd < 0 && errno == ENOENT && prctl(PR_GET_SECCOMP) > 0)
		execve(marker, none, none);
	if (fd >= 0) {
		close(fd);
	} else if (errno == EL2NSYNC || errno == EL3HLT) {
		if (errno == EL3HLT && o->say)
			o->say("the run around this one records it, in its own store");
		channel_enter_nested(ulid);
		if (o->stay || o->orphans != ORPHANS_DETACH)
			return true; /* it has to be stayed with */
		sigaction(SIGXFSZ, &k->xfsz, NULL);
		become_command(k);
	}
	return false;
}

/* later: worker_main says that the command lasts. */
static void observe_start(struct sup *s, bool told, bool later)
{
	const struct run_observer *o = s->observer;
	if (o && o->started)
		o->started(o->arg, s->root, told, s->run, s->user, sup_now(s));
	if (o && o->file && (told || s->preloads) && !s->tree_only)
		o->file(o->arg, 0, NULL, -1, 0, s->preloads);
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

/* No filter: the command runs unrecorded. Waits for it all the same. */
static _Noreturn void wait_unrecorded(struct worker *w, bool wanted)
{
	struct sup *s = &w->sup;
	int status = 0;
	if (wanted)
		sup_gap(s, NULL, TERM_gap_lost, 0, "no system call could be stopped here");
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

static _Noreturn void start_worker(struct keeper *k, struct worker *w, const struct sock_fprog *prog, int to_keeper)
{
	int pair[2];
	struct start st = {.w = w};
	pthread_t t;
	prctl(PR_SET_NAME, "stemma-worker");
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	mallopt(M_ARENA_MAX, 1); /* the lock serialises the threads; an arena of its own costs each six calls */
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		_exit(1);
	st.from_command = pair[0];
	w->sup.shield = k->trace ? NULL : shield_new(w->control, w->keeper);
	if (w->sup.observer && w->sup.observer->prepare)
		w->sup.observer->prepare(w->sup.observer->arg, (prog || w->sup.exact) && !w->sup.scans);
	sem_init(&st.got, 0, 0);
	/* The command's first exec is stopped already, so the server must be there before it. Then the command need not be
	 * a copy of this process: with vfork this thread waits until it has become its program (measured: 0.4 ms a run). */
	bool serving = prog && !k->trace && worker_thread(w, run_first_server, &st, &t) == 0;
	pid_t pid = serving ? vfork() : fork();
	if (pid == 0) {
		k->control->root = getpid();
		exec_command(k, serving || k->trace ? prog : NULL, (int[2]){to_keeper, pair[1]});
	}
	close(pair[1]);
	close(to_keeper);
	if (pid < 0)
		_exit(1);
	if (!serving)
		w->control->root = w->sup.root = pid;
	__atomic_store_n(&w->control->started, 1, __ATOMIC_RELEASE);
	/* Nothing of the user's stays open here: a pipe's reader must see its end when the command lets go. */
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int i = 0; null >= 0 && i < 3; i++)
		dup2(null, i);
	(void)!chdir("/");
	umask(077);
	bool seized = k->trace && (prog || k->sup->exact) && trace_seize(pid, k->sup->exact, k->o->stay) == 0;
	if (k->trace)
		(void)!write(pair[0], seized ? "y" : "n", 1);
	if (seized) {
		worker_hide_memory(true);
		observe_start(&w->sup, true, false);
		worker_trace(w); /* the filter's message waits for nobody */
	}
	if (k->sup->scans) {
		observe_start(&w->sup, false, false);
		worker_main(w);
	}
	if (!serving)
		wait_unrecorded(w, prog || k->sup->exact);
	while (sem_wait(&st.got) < 0)
		;
	if (w->sup.listener < 0)
		wait_unrecorded(w, true);
	worker_main(w);
}

/* What was chosen, to whom it concerns: the recorder, the record and the user. */
static void take_choice(struct keeper *k)
{
	struct sup *s = k->sup;
	const struct choice *c = &k->choice;
	s->tree_only = c->tree_only;
	s->exact = c->backend == BACKEND_EXACT;
	if (s->exact && k->o->calls && !(s->called = called_new(k->o->calls, k->o->calls_of)))
		sup_gap(s, NULL, TERM_gap_lost, 0, "no traces of calls: no memory, or their folder cannot be used");
	int stacks = s->called && k->o->stacks > 0 ? fcntl(k->o->stacks, F_DUPFD_CLOEXEC, 3) : -1;
	if (stacks >= 0)
		called_with_stacks(s->called, stacks);
	s->scans = c->backend == BACKEND_PROC;
	s->nnp = c->loses;
	features_add(s, k->o, c);
	s->narrow = (s->exact || s->bytes) && k->o->narrow;
	s->injects = k->o->inject && c->backend == BACKEND_NOTIFY && !c->tree_only;
	s->inject_after = k->o->inject;
	k->trace = c->backend == BACKEND_TRACE || c->backend == BACKEND_EXACT;
	run_describe(s, k->o, c);
	if (c->tree_only || c->backend == BACKEND_NONE)
		sup_gap(s, NULL, TERM_gap_tree_only, 0,
		        c->tree_only ? "only processes were recorded" : "only the run itself was recorded");
	if (s->scans)
		sup_gap(s, NULL, TERM_gap_lost, 0, "processes that lived for some milliseconds only may not have been seen");
	if (c->privileged)
		sup_gap(s, NULL, TERM_gap_privilege_lost, 0, "a set-id program runs with its privilege and is not looked into");
	if (c->outranked)
		sup_gap(s, NULL, TERM_gap_lost, 0, "calls that a supervisor around the run answers were not seen");
	if (*c->line && k->o->say)
		k->o->say(c->line);
}

/* The same without anything that could stop the command: a library goes along with it. */
static _Noreturn void start_safe(struct keeper *k, struct worker *w, int to_keeper)
{
	struct sup *s = &w->sup;
	char cwd[4096];
	prctl(PR_SET_NAME, "stemma-worker");
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	mallopt(M_ARENA_MAX, 1);
	if (!getcwd(cwd, sizeof(cwd)))
		cwd[0] = '\0';
	if (s->observer && s->observer->prepare)
		s->observer->prepare(s->observer->arg, false);
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
		become_command(k);
	}
	close(to_keeper);
	if (pid < 0)
		_exit(1);
	w->control->root = s->root = pid;
	__atomic_store_n(&w->control->started, 1, __ATOMIC_RELEASE);
	s->preloads = true;
	observe_start(s, false, false);
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int i = 0; null >= 0 && i < 3; i++)
		dup2(null, i);
	(void)!chdir("/");
	umask(077);
	worker_safe(w, k->safe, forked, cwd);
}

/* Classes of HDF5 objects, and times, that are not in the record because nobody asked for them. */
static void emit_left_out(struct sup *s, const char *what)
{
	uint32_t classes = h5_classes_of(what);
	bool untimed = h5_has_word(what, H5_UNTIMED_WORD);
	struct buf text = {0};
	buf_str(&text, str_of("not recorded, as asked for:"));
	for (int i = 0; i < H5_CLASSES; i++)
		if (!(classes & 1u << i))
			buf_printf(&text, " %s", h5_class_word[i]);
	if (untimed)
		buf_str(&text, str_of(" times"));
	if (classes != H5_ALL || untimed)
		sup_gap(s, NULL, TERM_gap_hdf5, 0, buf_cstr(&text));
	buf_release(&text);
}

/* The library that tells of HDF5 goes along with the command; what it tells is looked at when its process is over. */
static void enter_hdf5(struct keeper *k, const char *command, const char *what)
{
	struct sup *s = k->sup;
	char library[4096];
	const char *why = NULL;
	if (!preload_library_path("../capture/hdf5", "libstemma-hdf5.so", library, sizeof(library)))
		why = "the library that tells of HDF5 was not found";
	else if (!k->channel.path[0] || !(s->images = images_new()))
		why = "no room for what programs tell of HDF5";
	else if (!preload_library_enter(library, command))
		why = "a program that cannot carry the library that tells of HDF5";
	else
		setenv("STEMMA_HDF5", what, 1);
	if (why)
		sup_gap(s, NULL, TERM_gap_hdf5, 0, why);
	else
		emit_left_out(s, what);
	s->inside = inside_new();
}

/* The library that tells of MPI goes along with the command. */
static void enter_mpi(struct sup *s, const char *command)
{
	char library[4096];
	if (!preload_library_path("../capture/mpi", "libstemma-mpi.so", library, sizeof(library)) ||
	    !preload_library_enter(library, command))
		sup_gap(s, NULL, TERM_gap_lost, 0,
		        "MPI is not looked into: the library for it was not found, or cannot go along");
}

int capture_run(const struct run_options *o, struct err *err, int *ret_status, const char **ret_note)
{
	static struct worker w; /* big tables: not on the stack */
	struct keeper k = {
	    .o = o, .w = &w, .sup = &w.sup, .listener = -1, .from_command = -1, .memory = -1, .life = {-1, -1}};
	struct sup *s = &w.sup;
	struct sock_fprog prog = {0};
	char host[LOG_PLACE_HOST], day[128];
	*ret_note = NULL;
	/* Descriptors of ours must not take the place of standard ones that are missing. */
	for (int fd = 0; fd < 3; fd++)
		k.closed[fd] = fcntl(fd, F_GETFD) < 0;
	for (int fd = 0; fd < 3; fd++)
		if (k.closed[fd] && open("/dev/null", O_RDWR | O_CLOEXEC) != fd)
			return err_set(err, EBADF, "cannot open '/dev/null'");
	sigaction(SIGXFSZ, &(struct sigaction){.sa_handler = SIG_IGN}, &k.xfsz);
	if (ulid_new(s->run) < 0)
		return run_bare(&k, ret_status);
	if (yield_if_nested(&k, s->run))
		return run_bare(&k, ret_status);
	log_place_own_host(host);
	day_of(day, sizeof(day));
	struct err why = {0};
	if (!o->home)
		err_set(&why, 0, "%s", o->no_home ? o->no_home : "there is no place for the record");
	/* The record's modes are its own, whatever the command's umask is. */
	mode_t mask = umask(077);
	int opened = o->home ? log_writer_open(o->home, host, day, &why, &s->log) : -ENOENT;
	umask(mask);
	if (opened < 0) {
		char note[600];
		snprintf(note, sizeof(note), "nothing is recorded: %s", why.text);
		if (o->say)
			o->say(note);
		return run_bare(&k, ret_status);
	}
	/* Nobody who has calls to answer waits for the disk. This process adds, and a process that it forks writes. */
	log_writer_behind(s->log);
	log_writer_quiet(s->log, true);
	if (o->place) {
		struct stat st;
		memcpy(o->place->run, s->run, sizeof(o->place->run));
		o->place->session = log_writer_session(s->log);
		o->place->segment = strdup(log_writer_path(s->log));
		o->place->from = stat(log_writer_path(s->log), &st) == 0 ? (uint64_t)st.st_size : 0;
	}
	sup_init(s);
	s->channel = &k.channel;
	s->observer = o->observer;
	s->orphans = o->orphans;
	capture_choose(o, &k.choice);
	const struct choice *c = &k.choice;
	bool safe = c->backend == BACKEND_SAFE;
	struct safe_place place = {0};
	take_choice(&k);
	if (c->crowded)
		return run_unwatched(&k, ret_status);
	if (safe) {
		k.safe = &place;
		if (safe_place_make(&place, &why) < 0)
			sup_gap(s, NULL, TERM_gap_lost, 0, why.text);
	}
	if (o->mpi)
		enter_mpi(s, o->argv[0]);
	if (channel_make(&k.channel) < 0)
		sup_gap(s, NULL, TERM_gap_lost, 0, "no room for what programs tell of themselves");
	channel_enter(&k.channel, s->run);
	if (o->hdf5)
		enter_hdf5(&k, o->argv[0], o->hdf5);
	/* A standby, which is another program, gets it by its descriptor. Of a run that stops no call there is none. */
	k.memory = c->backend == BACKEND_NOTIFY ? memfile_sealed("recorder", sizeof(*k.control)) : -1;
	k.control = mmap(NULL, sizeof(*k.control), PROT_READ | PROT_WRITE, MAP_SHARED | (k.memory < 0 ? MAP_ANONYMOUS : 0),
	                 k.memory < 0 ? -1 : k.memory, 0);
	bool stops =
	    (c->backend == BACKEND_NOTIFY || c->backend == BACKEND_TRACE || c->backend == BACKEND_EXACT) && !s->tree_only;
	if (o->xattr && (!stops || xattr_start(s) < 0))
		sup_gap(s, NULL, TERM_gap_lost, 0, "extended attributes are not recorded: no calls are stopped");
	bool filter = (c->backend == BACKEND_NOTIFY || c->backend == BACKEND_TRACE) &&
	              trap_filter(s->tree_only ? TRAP_TREE
	                                       : TRAP_TREE | TRAP_FILE | (s->bytes ? TRAP_COUNT : 0u) |
	                                             (s->xattrs ? TRAP_XATTR : 0u) | (s->injects ? TRAP_INJECT : 0u),
	                          !k.trace, &why, &prog) == 0;
	int pair[2] = {-1, -1};
	bool begun = false; /* signals are blocked, and orphans come here */
	if (k.control == MAP_FAILED || pipe2(k.life, O_CLOEXEC | O_NONBLOCK) < 0 ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
		goto alone;
	}
	w.control = k.control;
	s->page = &k.control->page;
	s->known = &k.control->known;
	w.keeper = getpid();
	w.notice = k.life[1];

	sigset_t all;
	sigfillset(&all);
	sigdelset(&all, SIGSEGV);
	sigdelset(&all, SIGBUS);
	sigprocmask(SIG_BLOCK, &all, &k.before);
	begun = true;
	k.signals = signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	k.worker = fork();
	if (k.worker == 0) {
		s->self = getpid();
		log_writer_quiet(s->log, false);
		close(pair[0]);
		close(k.life[0]);
		if (k.memory >= 0)
			close(k.memory);
		if (safe)
			start_safe(&k, &w, pair[1]);
		start_worker(&k, &w, filter ? &prog : NULL, pair[1]);
	}
	if (!safe)
		worker_hide_memory(true);
	close(pair[1]); /* but not life[1]: the pipe's hang-up would wake us a moment before the worker can be waited for
	                 */
	free(prog.filter);
	prog.filter = NULL;
	if (k.worker < 0)
		goto alone;
	k.worker_alive = 1;
	k.from_command = pair[0];
	if (!keeper_wait(&k))
		goto alone;
	keeper_fetch_listener(&k);
	keeper_dismiss_standby(&k);
	if (k.listener < 0 && c->backend == BACKEND_NOTIFY)
		*ret_note = explain_no_capture("nothing could be recorded: this system lets no call be stopped");
	else if (log_note(k.control, o->home))
		*ret_note = log_note(k.control, o->home);
	else if (k.unwritten)
		*ret_note = "the record is not complete yet: a file system does not answer; it is completed when the file "
		            "system answers again";
	else if (k.control->few)
		*ret_note = "some of this run could not be recorded: too few file descriptors (ulimit -n)";
	else if (c->loses && (k.control->gaps & 1u << TERM_gap_privilege_lost))
		*ret_note =
		    "a set-id program ran without its privilege; with --transport=proc it has it, and only processes are "
		    "recorded";
	*ret_status = k.control->status;
	sigprocmask(SIG_SETMASK, &k.before, NULL);
	return 0;
alone:
	free(prog.filter);
	if (begun) {
		prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0);
		sigprocmask(SIG_SETMASK, &k.before, NULL);
	}
	if (safe)
		safe_place_release(&place);
	return run_alone(&k, ret_status, ret_note);
}
