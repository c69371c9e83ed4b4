/* Probes for `stemma doctor`: each does the thing for real in a child process and measures it. */
#include "base/io.h"
#include "capture/launch/choose.h"
#include "capture/launch/run.h"
#include "capture/supervisor/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BATCHES 40
#define TURNS 50 /* in each: a millisecond at most, so that most batches are not interrupted */

/* CLOCK_MONOTONIC, ns. */
static double probe_clock_ns(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

/* What a call takes in ns, by the quickest of the batches: whatever else the machine does only adds, and to all of a
 * long loop it adds on a busy one. */
static double time_calls(void (*call)(int fd), int fd)
{
	double least = -1;
	for (int i = 0; i < BATCHES; i++) {
		double start = probe_clock_ns();
		for (int k = 0; k < TURNS; k++)
			call(fd);
		double ns = (probe_clock_ns() - start) / TURNS;
		if (least < 0 || ns < least)
			least = ns;
	}
	return least;
}

/* One that is read: with O_PATH it would not stop. */
static void open_once(int none)
{
	(void)none;
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		close(fd);
}

/* ns of one open and close. */
static double probe_open_loop(void)
{
	return time_calls(open_once, -1);
}

/* The child puts itself under the filter, says how that went, opens files, and says what an open took. */
static _Noreturn void run_probe_child(int sock, const struct sock_fprog *prog, bool trace)
{
	char go;
	if (trace && read(sock, &go, 1) != 1)
		_exit(1);
	int fd = trace ? trace_install(prog) : notify_install(prog);
	if (fd == -EACCES) {
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
		fd = trace ? trace_install(prog) : notify_install(prog);
	}
	(void)!write(sock, &fd, sizeof(fd));
	if (fd < 0 || (!trace && read(sock, &go, 1) != 1))
		_exit(1);
	double ns = probe_open_loop();
	(void)!write(sock, &ns, sizeof(ns));
	_exit(0);
}

/* Lets each call of pid go on until it has ended. 0; -EPERM: its memory cannot be read; -errno. */
static int answer_all(int listener, pid_t pid)
{
	struct notify_slot slot;
	struct trap t;
	int unreadable = 0;
	for (;;) {
		int status;
		int rc = notify_recv(listener, &slot, &t);
		if (rc == -EINTR)
			continue;
		if (rc < 0)
			return waitpid(pid, &status, WNOHANG) == pid ? unreadable : rc;
		char text[64];
		if (t.call == CALL_openat && remote_string(t.tid, t.args[1], text, sizeof(text)) < 0)
			unreadable = -EPERM;
		bool last = t.call == CALL_exit;
		notify_continue(listener, &slot);
		if (last)
			return unreadable;
	}
}

/* What an open takes that stops. ns. 0; -errno with a sentence. */
static int measure_open_stop(bool trace, struct err *err, double *ret_ns)
{
	struct sock_fprog prog = {0};
	int pair[2], rc = trap_filter(TRAP_TREE | TRAP_FILE, !trace, err, &prog);
	if (rc < 0)
		return rc;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) {
		free(prog.filter);
		return err_set(err, errno, "cannot make a socket pair");
	}
	double ns = 0;
	pid_t pid = fork();
	if (pid == 0)
		run_probe_child(pair[1], &prog, trace);
	close(pair[1]);
	free(prog.filter);
	if (pid < 0) {
		close(pair[0]);
		return err_set(err, errno, "cannot start a process");
	}
	int fd = -1, listener = -1;
	if (trace) {
		rc = trace_seize(pid, false, false);
		if (rc == 0 && write(pair[0], "y", 1) == 1)
			trace_loop(pid, false);
		else
			kill(pid, SIGKILL);
		if (rc == 0 && read(pair[0], &fd, sizeof(fd)) == (ssize_t)sizeof(fd) && fd < 0)
			rc = fd;
	} else if (read(pair[0], &fd, sizeof(fd)) != (ssize_t)sizeof(fd) || fd < 0) {
		rc = fd < 0 ? fd : -EPIPE;
	} else {
		int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
		listener = (int)syscall(SYS_pidfd_getfd, pidfd, fd, 0);
		rc = listener < 0 ? -errno : 0;
		if (pidfd >= 0)
			close(pidfd);
		if (rc < 0) {
			kill(pid, SIGKILL);
		} else {
			notify_tune(listener);
			rc = write(pair[0], "y", 1) == 1 ? answer_all(listener, pid) : -EPIPE;
		}
	}
	if (rc == 0 && read(pair[0], &ns, sizeof(ns)) != (ssize_t)sizeof(ns))
		rc = -EPIPE;
	if (listener >= 0)
		close(listener);
	close(pair[0]);
	waitpid(pid, NULL, 0);
	if (rc < 0)
		return err_set(err, -rc, trace ? "ptrace with a seccomp filter" : "seccomp user notification");
	*ret_ns = ns;
	return 0;
}

/* A call that does as little as there is to do. */
static void read_once(int fd)
{
	char c;
	(void)!read(fd, &c, 1);
}

/* Measures a system call, in ns of one read; of one that fails, where /dev/null cannot be opened. */
static double read_loop(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	double ns = time_calls(read_once, fd);
	if (fd >= 0)
		close(fd);
	return ns;
}

/* What a read takes that stops. ns. 0; -errno with a sentence. */
static int probe_exact(struct err *err, double *ret_ns)
{
	int pair[2];
	double ns = 0;
	char go = 'y';
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return err_set(err, errno, "cannot make a socket pair");
	pid_t pid = fork();
	if (pid == 0) {
		if (read(pair[1], &go, 1) != 1)
			_exit(1);
		ns = read_loop();
		_exit(write(pair[1], &ns, sizeof(ns)) != (ssize_t)sizeof(ns));
	}
	close(pair[1]);
	int rc = pid < 0 ? -errno : trace_seize(pid, true, false);
	if (rc == 0 && write(pair[0], &go, 1) == 1)
		trace_loop(pid, true);
	else if (pid > 0)
		kill(pid, SIGKILL);
	if (rc == 0 && read(pair[0], &ns, sizeof(ns)) != (ssize_t)sizeof(ns))
		rc = -EPIPE;
	close(pair[0]);
	if (pid > 0)
		waitpid(pid, NULL, 0);
	if (rc < 0)
		return err_set(err, -rc, "ptrace of every call");
	*ret_ns = ns;
	return 0;
}

/* ---- what a program costs ---- */

#define PROGRAMS 40
#define WHY sizeof(((struct backend_state *)NULL)->why)
#define ROUNDS 3 /* the least of so many: what else the machine does only adds */

/* So many short programs, one after the other; by way of run_options, or plain. Their time in ns, or -1 with why, which
 * is shared with child processes. */
static double time_programs(const struct run_options *how, unsigned n, char why[WHY])
{
	static char sh[] = "sh", c[] = "-c";
	char loop[128];
	char *argv[] = {sh, c, loop, NULL};
	snprintf(loop, sizeof(loop), "i=0; while [ $i -lt %u ]; do i=$((i + 1)); /bin/true; done", n);
	double start = probe_clock_ns();
	pid_t pid = fork();
	if (pid == 0) {
		int status = 0;
		const char *note;
		if (how) {
			struct run_options o = *how;
			struct err err = {0};
			o.argv = argv;
			if (capture_run(&o, &err, &status, &note) < 0)
				note = err.text;
			if (note)
				snprintf(why, WHY, "%.150s", note);
			_exit(note || status);
		}
		execvp(sh, argv);
		_exit(127);
	}
	int status = -1;
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (pid > 0 && status == 0)
		return probe_clock_ns() - start;
	if (!*why)
		snprintf(why, WHY, WIFSIGNALED(status) ? "a test run ended by signal %d" : "a test run ended with status %d",
		         WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	return -1;
}

/* What a program more takes: without what the start and the end of the run do. */
static double one_program(const struct run_options *how, char why[WHY])
{
	double many = -1, none = -1;
	for (int i = 0; i < ROUNDS; i++) {
		double m = time_programs(how, PROGRAMS, why), n = time_programs(how, 0, why);
		if (m < 0 || n < 0)
			return -1;
		many = many < 0 || m < many ? m : many;
		none = none < 0 || n < none ? n : none;
	}
	return (many - none) / PROGRAMS;
}

/* What a recorded program takes more than one that is not, in seconds; -1: it cannot be measured, and ret_why says why.
 * */
static double program_cost(struct run_options *o, char ret_why[WHY])
{
	char home[4096];
	const char *tmp = getenv("TMPDIR");
	snprintf(home, sizeof(home), "%s/stemma-doctor.XXXXXX", tmp && *tmp == '/' ? tmp : "/tmp");
	char *why = mmap(NULL, WHY, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	bool made = why != MAP_FAILED && mkdtemp(home);
	if (!made) {
		snprintf(ret_why, WHY, "no folder for temporary files: %.100s", strerror(errno));
		if (why != MAP_FAILED)
			munmap(why, WHY);
		return -1;
	}
	o->home = home;
	double plain = one_program(NULL, why), recorded = plain < 0 ? -1 : one_program(o, why);
	o->home = NULL;
	memcpy(ret_why, why, WHY);
	munmap(why, WHY);
	io_remove_all(home);
	if (plain < 0 || recorded < 0)
		return -1;
	return recorded > plain ? recorded - plain : 0;
}

/* The least of a few: on which processors the two sides meet differs. -1: it does not work, or a call that stops took
 * no longer than one that does not, so that there is no telling. Never 0, which is said of ways that stop nothing. */
static double call_cost(int backend)
{
	double bare = -1, stopped = -1;
	for (int i = 0; i < ROUNDS; i++) {
		struct err err = {0};
		double plain = backend == BACKEND_EXACT ? read_loop() : probe_open_loop(), ns = 0;
		int rc =
		    backend == BACKEND_EXACT ? probe_exact(&err, &ns) : measure_open_stop(backend == BACKEND_TRACE, &err, &ns);
		if (bare < 0 || plain < bare)
			bare = plain;
		if (rc == 0 && (stopped < 0 || ns < stopped))
			stopped = ns;
	}
	return stopped > bare ? stopped - bare : -1;
}

int capture_backend(unsigned i, bool measure, struct backend_state *ret)
{
	int backend = choose_row(i, ret);
	struct run_options o = {0};
	if (backend < 0)
		return 0;
	if (!measure || !ret->works)
		return 1;
	o.exact = backend == BACKEND_EXACT;
	if (backend == BACKEND_SAFE)
		o.mode = CAPTURE_SAFE;
	o.transport = backend == BACKEND_NOTIFY  ? TRANSPORT_NOTIFY
	              : backend == BACKEND_TRACE ? TRANSPORT_TRACE
	              : backend == BACKEND_PROC  ? TRANSPORT_PROC
	                                         : TRANSPORT_AUTO;
	ret->call = backend == BACKEND_PROC ? 0 : backend == BACKEND_SAFE ? -1 : call_cost(backend);
	ret->program = program_cost(&o, ret->why);
	return 1;
}
