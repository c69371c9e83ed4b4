#include "monitor/stop.h"
#include "base/clock.h"
#include "base/os/procfs.h"
#include "base/vec.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define GENERATIONS 64 /* that are looked up to see whose descendant one is */
#define PAUSE_US 1000

struct relation {
	pid_t pid, parent;
};

struct queue {
	struct relation *v;
	size_t n, cap;
	pid_t parent; /* of those that are added */
	bool failed;
};

/* Queues a child under q->parent. Without memory q->failed. */
static void queue_child(void *arg, pid_t child)
{
	struct queue *q = arg;
	if (!vec_has_room(q->v, q->n, q->cap)) {
		q->failed = true;
		return;
	}
	q->v[q->n++] = (struct relation){child, q->parent};
}

/* Queues the children of pid. What procfs_children gives. */
static int children(struct queue *q, pid_t pid)
{
	q->parent = pid;
	return procfs_children(pid, false, queue_child, q);
}

/* Does the chain of parents lead to top? */
static bool is_descendant(pid_t pid, pid_t top)
{
	for (int i = 0; i < GENERATIONS && pid > 1; i++) {
		struct procfs p;
		procfs_clear(&p);
		if (procfs_stat(pid, &p) < 0)
			return false;
		if (p.ppid == top)
			return true;
		pid = p.ppid;
	}
	return false;
}

/* Who was met, in order: a pass that meets nobody new has everybody. */
struct met {
	pid_t *v;
	size_t n, cap;
};

/* Appends a process to those that were met. Without memory it is left out. */
static void append_met(struct met *m, pid_t pid)
{
	if (!vec_has_room(m->v, m->n, m->cap))
		return;
	m->v[m->n++] = pid;
}

static int compare_met_pids(const void *a, const void *b)
{
	pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;
	return (x > y) - (x < y);
}

/* m must be sorted. */
static bool was_met(const struct met *m, pid_t pid)
{
	return m->n && bsearch(&pid, m->v, m->n, sizeof(pid), compare_met_pids);
}

/* A session that began below top has nobody in it but such as are below top: its groups are killed at one stroke, where
 * one after the other they might be born faster than they die. */
static void whole_group(const struct relation *r, pid_t top, int fd, pid_t *last)
{
	pid_t session = getsid(r->pid), group = getpgid(r->pid);
	if (fd < 0 || session <= 0 || group <= 1 || group == *last)
		return;
	if (session == getsid(top) || session == getsid(0) || group == getpgid(top) || group == getpgrp())
		return;
	/* Still the same process, so these were its. */
	if (syscall(SYS_pidfd_send_signal, fd, 0, NULL, 0) == 0 && kill(-group, SIGKILL) == 0)
		*last = group;
}

/* Sends a signal to a process by its pidfd; where there is none only the number is left. 0, -1 with errno. */
static int send_signal(int fd, pid_t pid, int sig)
{
	return fd >= 0 ? (int)syscall(SYS_pidfd_send_signal, fd, sig, NULL, 0) : kill(pid, sig);
}

/* Sends a signal to a process, if it is still one of those below top. true: it is alive. count grows by who is alive
 * or refuses. *group: the process group that was signalled as a whole, so that it is not again. */
static bool signal_process(const struct relation *r, pid_t top, int sig, struct stop_count *count, pid_t *group)
{
	struct procfs p;
	bool alive = false;
	int fd = (int)syscall(SYS_pidfd_open, r->pid, 0); /* before it is looked at: from here on it is the same one */
	procfs_clear(&p);
	/* Gone, or a thread's number by now: one of this process's, even. Anything else leaves only the number. */
	if (fd < 0 && (errno == ESRCH || errno == EINVAL || errno == ENOENT))
		return false;
	if (procfs_stat(r->pid, &p) == 0 && (p.ppid == r->parent || p.ppid == top || is_descendant(r->pid, top))) {
		/* The first thread may have ended before the others. */
		alive = (p.state != 'Z' && p.state != 'X') || (p.threads != PROCFS_UNKNOWN && p.threads > 1);
		/* A child of top's may be the command: its stop would be taken for the user's Ctrl-Z. */
		if (sig == SIGSTOP && p.ppid == top)
			sig = SIGKILL;
		count->alive += alive;
		if (alive && (sig == SIGKILL || sig == SIGSTOP))
			whole_group(r, top, fd, group);
		int rc = !alive || !sig || (sig == SIGSTOP && p.state == 'T') ? 0 : send_signal(fd, r->pid, sig);
		if (rc < 0 && errno == EPERM) {
			count->refused++;
			count->one_refused = r->pid;
		} else if (rc == 0 && alive && sig == SIGTERM && p.state == 'T') {
			send_signal(fd, r->pid, SIGCONT);
		}
	}
	if (fd >= 0)
		close(fd);
	return alive;
}

/* Sends a signal to all processes below top. ret_met: who is alive, sorted; *ret_new counts those who are not in
 * `before`. Both may be NULL. */
static int signal_descendants(pid_t top, int sig, struct stop_count *ret, const struct met *before, struct met *ret_met,
                              size_t *ret_new)
{
	struct queue q = {0};
	pid_t group = 0;
	*ret = (struct stop_count){0};
	int rc = children(&q, top);
	for (size_t i = 0; i < q.n; i++) {
		struct relation r = q.v[i]; /* the queue may move */
		children(&q, r.pid);
		if (signal_process(&r, top, sig, ret, &group) && ret_met) {
			append_met(ret_met, r.pid);
			*ret_new += !was_met(before, r.pid);
		}
	}
	free(q.v);
	if (ret_met && ret_met->n)
		qsort(ret_met->v, ret_met->n, sizeof(pid_t), compare_met_pids);
	return rc < 0 ? rc : q.failed ? -ENOMEM : 0;
}

int stop_signal(pid_t top, int sig, struct stop_count *ret)
{
	return signal_descendants(top, sig, ret, NULL, NULL, NULL);
}

/* Stops everybody first: who is stopped makes no others, and keeps the place that others could take where the number of
 * processes is limited. */
static void stop_descendants(pid_t top, int64_t until)
{
	struct met met[2] = {0};
	struct stop_count n;
	size_t fresh = 1;
	for (int i = 0; fresh && (i < 2 || clock_now_ms(CLOCK_MONOTONIC) < until); i++) {
		met[i % 2].n = 0;
		fresh = 0;
		if (signal_descendants(top, SIGSTOP, &n, &met[(i + 1) % 2], &met[i % 2], &fresh) < 0)
			break;
	}
	free(met[0].v);
	free(met[1].v);
}

int stop_kill(pid_t top, int patience, struct stop_count *ret)
{
	/* Among hundreds that want to run, one that has to catch up with them must come first, if it may. */
	struct sched_param first = {.sched_priority = 1}, usual = {0};
	bool raised =
	    sched_getscheduler(0) == SCHED_OTHER && sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &first) == 0;
	int rc;
	stop_descendants(top, clock_now_ms(CLOCK_MONOTONIC) + patience);
	for (int64_t until = clock_now_ms(CLOCK_MONOTONIC) + patience;;) {
		rc = stop_signal(top, SIGKILL, ret);
		if (rc < 0 || ret->alive == ret->refused)
			break;
		if (clock_now_ms(CLOCK_MONOTONIC) >= until) {
			rc = -EAGAIN;
			break;
		}
		usleep(PAUSE_US);
	}
	if (raised)
		sched_setscheduler(0, SCHED_OTHER, &usual);
	return rc;
}
