/* Watching a process that is there already: queries only (level 1). */
#include "monitor/monitor_int.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int64_t clock_ns(clockid_t c)
{
	struct timespec ts;
	clock_gettime(c, &ts);
	return ts.tv_sec * SECOND + ts.tv_nsec;
}

static int look_first(struct monitor *m, pid_t pid, struct err *err, struct procfs *f)
{
	procfs_clear(f);
	int rc = procfs_stat(pid, f);
	if (rc < 0 || f->state == 'Z' || f->state == 'X')
		return err_set(err, ESRCH, "cannot watch process %d", pid);
	rc = procfs_io(pid, false, f);
	if (rc == -EACCES || rc == -EPERM)
		return err_set(err, EPERM, "cannot watch process %d", pid);
	(void)m;
	return 0;
}

int monitor_attach(struct monitor *m, pid_t pid, struct err *err)
{
	struct procfs f;
	sigset_t set, before;
	int rc = look_first(m, pid, err, &f), pidfd = rc < 0 ? -1 : (int)syscall(SYS_pidfd_open, pid, 0);
	if (rc < 0)
		return rc;
	if (pidfd < 0)
		return err_set(err, errno, "cannot watch process %d", pid);
	/* Who wants to see what there is so far interrupts: the process goes on. */
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, &before);
	int signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	m->offset = clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_BOOTTIME);
	m->attached = true;
	int64_t now = monitor_clock(m), start = (int64_t)f.started + m->offset;
	monitor_listen(m);
	monitor_begin(m, pid, false, start < now ? start : now);
	pthread_mutex_lock(&m->lock);
	monitor_hear_from(m);
	pthread_mutex_unlock(&m->lock);
	struct pollfd p[2] = {{.fd = pidfd, .events = POLLIN}, {.fd = signals, .events = POLLIN}};
	while (poll(p, 2, -1) < 0 && errno == EINTR)
		;
	int status = -1;
	pthread_mutex_lock(&m->lock);
	monitor_sample(m); /* of a process that nobody has waited for yet the last figures are there */
	if (p[0].revents && monitor_hears(m)) {
		/* Its end is told a moment later than this. */
		for (int ms = 0; ms < 100 && tree_by_pid(&m->tree, pid); ms++) {
			usleep(1000);
			monitor_hear(m);
		}
	}
	if (p[0].revents) {
		struct member *r = tree_by_pid(&m->tree, pid);
		if (r)
			tree_exiting(&m->tree, pid, NULL, -1, monitor_clock(m));
		procfs_clear(&f);
		if (procfs_stat(pid, &f) == 0 && f.state == 'Z')
			status = f.exit_code;
		else
			procfs_ended(pidfd, &status);
	}
	m->root_over = p[0].revents != 0;
	m->status = status;
	m->end = monitor_clock(m);
	pthread_mutex_unlock(&m->lock);
	size_t n;
	m->observer.ended(m, status, true, m->end, &n);
	/* What interrupted is taken, or it would kill before anything is said. */
	struct signalfd_siginfo taken;
	while (read(signals, &taken, sizeof(taken)) > 0)
		;
	close(signals);
	close(pidfd);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return 0;
}
