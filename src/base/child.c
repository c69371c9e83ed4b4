#include "base/child.h"

#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

/* A copy above the standard streams, which are about to be replaced; without one of the caller's the stream stays.
 * *ret: the caller's. 0, -errno. */
static int copy_stream(int given, int stream, int *ret)
{
	*ret = given == CHILD_NULL ? open("/dev/null", (stream ? O_WRONLY : O_RDONLY) | O_CLOEXEC)
	                           : fcntl(given == CHILD_SAME ? stream : given, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (*ret >= 0 && *ret <= STDERR_FILENO)
		*ret = io_above_std(*ret);
	/* A stream that this process has not, the child has not. */
	return *ret >= 0 || (given == CHILD_SAME && errno == EBADF) ? 0 : -errno;
}

/* In the child: makes the three its standard streams, in whatever order they lie. 0, -errno. */
static int place_streams(const struct child *c)
{
	const int given[] = {c->in, c->out, c->err == CHILD_PRINTS ? c->out : c->err};
	int copy[3];
	for (int i = 0; i < 3; i++) {
		int rc = copy_stream(given[i], i, &copy[i]);
		if (rc < 0)
			return rc;
	}
	for (int i = 0; i < 3; i++)
		if (copy[i] >= 0 && dup2(copy[i], i) < 0)
			return -errno;
	return 0;
}

/* Becomes the child's program. Why it does not run is written to `to`, which closes when it does. */
static _Noreturn void become(const struct child *c, int to)
{
	sigset_t none;
	sigemptyset(&none);
	signal(SIGPIPE, SIG_DFL);
	sigprocmask(SIG_SETMASK, &none, NULL);
	int rc = place_streams(c);
	if (!c->argv)
		close(to); /* the caller waits for that */
	if (rc == 0 && c->before)
		rc = c->before(c->arg);
	if (!c->argv)
		_exit(rc < 0 ? 127 : rc);
	if (rc == 0) {
		char *const *env = c->env ? c->env : environ;
		if (c->path)
			execve(c->path, c->argv, env);
		else
			execvpe(c->argv[0], c->argv, env);
		rc = -errno;
	}
	if (rc < 0)
		io_write(to, &rc, sizeof(rc), NULL);
	_exit(127);
}

/* Neither end becomes one of the standard streams. 0, -errno. */
static int open_pipe(int ret[2])
{
	if (pipe2(ret, O_CLOEXEC) < 0)
		return -errno;
	ret[0] = io_above_std(ret[0]);
	ret[1] = io_above_std(ret[1]);
	int rc = ret[0] < 0 ? ret[0] : ret[1] < 0 ? ret[1] : 0;
	for (int i = 0; rc < 0 && i < 2; i++)
		if (ret[i] >= 0)
			close(ret[i]);
	return rc;
}

int child_start(const struct child *c, pid_t *ret_pid)
{
	int why[2], rc = open_pipe(why);
	*ret_pid = -1;
	if (rc < 0)
		return rc;
	pid_t pid = fork();
	if (pid == 0)
		become(c, why[1]);
	int e = errno;
	close(why[1]);
	if (pid < 0)
		rc = -e;
	else if (io_read(why[0], &rc, sizeof(rc)) == (ssize_t)sizeof(rc))
		child_wait(pid);
	else
		*ret_pid = pid;
	close(why[0]);
	return rc;
}

int child_wait(pid_t pid)
{
	int status;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return status;
}

int child_signal(pid_t pid, int sig)
{
	siginfo_t si = {0};
	if (waitid(P_PID, (id_t)pid, &si, WEXITED | WNOHANG | WNOWAIT) < 0 || si.si_pid)
		return -ESRCH;
	return kill(pid, sig) < 0 ? -errno : 0;
}

/* CLOCK_MONOTONIC, ms. */
static int64_t now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Is it over before the time is? It is still to be waited for. */
static bool is_over_in_time(pid_t pid, int limit_ms)
{
	const int64_t until = now_ms() + limit_ms;
	struct timespec pause = {.tv_nsec = 200000}; /* of what is quick, as of git, nearly nothing is slept away */
	for (;;) {
		siginfo_t si = {0};
		if (waitid(P_PID, (id_t)pid, &si, WEXITED | WNOHANG | WNOWAIT) < 0 ? errno != EINTR : si.si_pid != 0)
			return true;
		if (now_ms() >= until)
			return false;
		nanosleep(&pause, NULL);
		pause.tv_nsec = pause.tv_nsec < 10000000 ? 2 * pause.tv_nsec : pause.tv_nsec;
	}
}

int child_run(const struct child *c)
{
	pid_t pid;
	int rc = child_start(c, &pid);
	if (rc < 0)
		return rc;
	bool late = c->limit_ms && !is_over_in_time(pid, c->limit_ms);
	if (late)
		kill(pid, SIGKILL); /* it was not waited for: the number is its own */
	rc = child_wait(pid);
	return late ? -ETIMEDOUT : rc;
}

/* Waits until fd can be read, or until a time (ms of the monotonic clock, below 0 for ever). -errno. 1: there is
 * something to read, or the end of it; 0: it is late. */
static int wait_readable(int fd, int64_t until)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	for (;;) {
		int64_t left = until < 0 ? -1 : until - now_ms();
		if (until >= 0 && left <= 0)
			return 0;
		int n = poll(&p, 1, (int)left);
		if (n > 0 || (n < 0 && errno != EINTR))
			return n < 0 ? -errno : 1;
	}
}

/* To the end: 0. 1: there is more than is to be kept. Behind what is in ret; c->most bytes at most are kept. Only with
 * c->cut it stops there. -ETIMEDOUT, -errno. */
static int read_printed(const struct child *c, int fd, struct buf *ret)
{
	const size_t from = ret->n;
	const int64_t until = c->limit_ms ? now_ms() + c->limit_ms : -1;
	char part[4096];
	for (;;) {
		int rc = wait_readable(fd, until);
		if (rc <= 0)
			return rc < 0 ? rc : -ETIMEDOUT;
		ssize_t n = read(fd, part, sizeof(part));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : 0;
		size_t room = c->most - (ret->n - from);
		buf_add(ret, part, (size_t)n < room ? (size_t)n : room);
		if ((size_t)n > room && c->cut)
			return 1;
	}
}

int child_read(const struct child *c, struct buf *ret)
{
	struct child with = *c;
	int ends[2], rc = open_pipe(ends);
	pid_t pid;
	if (rc < 0)
		return rc;
	with.out = ends[1];
	rc = child_start(&with, &pid);
	close(ends[1]);
	if (rc == 0) {
		rc = read_printed(c, ends[0], ret);
		if (rc != 0)
			kill(pid, SIGKILL);
		int status = child_wait(pid);
		rc = rc == 0 ? status : rc > 0 ? 0 : rc;
	}
	close(ends[0]);
	return rc >= 0 && ret->failed ? -ENOMEM : rc;
}
