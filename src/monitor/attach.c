/* Watching a process that is there already: queries only (level 1). */
#include "base/clock.h"
#include "base/os/procfs.h"
#include "monitor/monitor_int.h"
#include "redact/redact.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* *f gets what /proc says of it. -ESRCH, -EPERM, reported. */
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

#define SETTLED_MS 100

/* Notes what a process is that was there before the monitor. Who it is: its command line, directory and user, as the
 * kernel tells them now. What cannot be read stays unknown. */
static void look_who(struct monitor *m, pid_t pid)
{
	enum { ARGS_MAX = 65536 };
	char name[48], dir[4096], *words = malloc(ARGS_MAX), **argv = calloc(ARGS_MAX / 2 + 1, sizeof(*argv));
	struct stat st;
	snprintf(name, sizeof(name), "/proc/%d/cwd", pid);
	ssize_t n = readlink(name, dir, sizeof(dir) - 1);
	if (n > 0) {
		dir[n] = '\0';
		free(m->cwd);
		m->cwd = strdup(dir);
	}
	snprintf(name, sizeof(name), "/proc/%d", pid);
	struct passwd *pw = stat(name, &st) == 0 ? getpwuid(st.st_uid) : NULL;
	if (pw) {
		free(m->user);
		m->user = strdup(pw->pw_name);
	}
	n = words ? procfs_read(pid, "cmdline", words, ARGS_MAX) : -1;
	size_t got = n > 0 ? (size_t)n : 0, argc = 0;
	if (words && argv && got) {
		struct buf clean = {0};
		for (size_t at = 0; at < got && argc < ARGS_MAX / 2; at += strlen(words + at) + 1)
			argv[argc++] = words + at;
		argc = redact_argv(&clean, argv);
		buf_cstr(&clean);
		if (clean.failed) {
			buf_release(&clean);
		} else {
			free(m->argv);
			m->argv = clean.p;
			m->argc = argc;
		}
	}
	free(words);
	free(argv);
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
	m->offset = clock_now_ns(CLOCK_REALTIME) - clock_now_ns(CLOCK_BOOTTIME);
	m->attached = true;
	free(m->cwd);
	m->cwd = NULL; /* that was ours */
	look_who(m, pid);
	int64_t now = monitor_now_ns(m), start = (int64_t)f.started + m->offset;
	monitor_listen(m);
	monitor_begin(m, pid, false, start < now ? start : now);
	monitor_lasts(m);
	pthread_mutex_lock(&m->lock);
	monitor_hear_from(m);
	pthread_mutex_unlock(&m->lock);
	struct pollfd p[2] = {{.fd = pidfd, .events = POLLIN}, {.fd = signals, .events = POLLIN}};
	/* A shell that has just started it gives a number whose program is about to change: a second look. */
	if (poll(p, 2, SETTLED_MS) == 0)
		look_who(m, pid);
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
			tree_exiting(&m->tree, pid, NULL, -1, monitor_now_ns(m));
		procfs_clear(&f);
		if (procfs_stat(pid, &f) == 0 && f.state == 'Z')
			status = f.exit_code;
		else
			procfs_ended(pidfd, &status);
	}
	m->root_over = p[0].revents != 0;
	m->status = status;
	m->end = monitor_now_ns(m);
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
