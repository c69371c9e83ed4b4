#include "monitor/admit.h"

#include "base/clock.h"
#include "base/os/procfs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define GRANTS 1024        /* forks that are under way; of more the oldest is taken to be over */
#define OVER_NS 1000000000 /* so long no fork takes, even where many wait for a processor */
#define TRIES 50           /* about as many milliseconds */

/* A fork that was let go on. */
struct grant {
	pid_t tid;
	pid_t last; /* the youngest child that the thread had then; 0 none */
	int64_t time;
};

struct admit {
	int64_t limit;
	int64_t counted; /* when it was counted last; -1: never */
	struct grant grant[GRANTS];
	size_t n;       /* under way, in the order in which they were let go on */
	uint64_t since; /* let go on since the last count, with those under way then */
	uint64_t refused, most;
	pid_t *queue; /* of the count */
	size_t queued, cap;
};

struct admit *admit_new(int64_t limit)
{
	struct admit *a = calloc(1, sizeof(*a));
	if (!a)
		return NULL;
	a->limit = limit;
	a->counted = -1;
	return a;
}

/* NULL is no error. */
void admit_free(struct admit *a)
{
	if (a)
		free(a->queue);
	free(a);
}

uint64_t admit_refused(const struct admit *a)
{
	return __atomic_load_n(&a->refused, __ATOMIC_RELAXED);
}

uint64_t admit_most(const struct admit *a)
{
	return __atomic_load_n(&a->most, __ATOMIC_RELAXED);
}

/* ---- who is under way ---- */

/* The youngest child of a thread: the last that its file names. 0: it has none, or that cannot be read. */
static pid_t youngest_child(pid_t tid)
{
	char name[64], text[1024];
	snprintf(name, sizeof(name), "/proc/%d/task/%d/children", tid, tid);
	int fd = open(name, O_RDONLY | O_CLOEXEC);
	long last = 0, now = 0;
	for (ssize_t n; fd >= 0 && (n = read(fd, text, sizeof(text))) > 0;)
		for (ssize_t i = 0; i < n; i++) {
			if (text[i] >= '0' && text[i] <= '9') {
				now = now * 10 + (text[i] - '0');
			} else if (now) {
				last = now;
				now = 0;
			}
		}
	if (fd >= 0)
		close(fd);
	return (pid_t)(now ? now : last);
}

/* Keeps the order of the others. */
static void remove_grant(struct admit *a, size_t i)
{
	memmove(&a->grant[i], &a->grant[i + 1], (a->n - i - 1) * sizeof(a->grant[0]));
	a->n--;
}

/* Its child is there, or no more: a fork runs, or waits for memory, and a thread that waits for anything else has come
 * out of it. By vfork it waits in it, for a child that is there. */
static bool is_grant_over(const struct grant *g, int64_t now)
{
	struct procfs f;
	procfs_clear(&f);
	if (now - g->time > OVER_NS || procfs_stat(g->tid, &f) < 0 || (f.state != 'R' && f.state != 'D'))
		return true;
	return youngest_child(g->tid) != g->last;
}

/* Notes that tid may make one more process; the oldest grant goes where there are too many. */
static void add_grant(struct admit *a, pid_t tid)
{
	if (a->n == GRANTS)
		remove_grant(a, 0);
	a->grant[a->n++] = (struct grant){tid, youngest_child(tid), clock_now_ns(CLOCK_MONOTONIC)};
	a->since++;
	uint64_t most = (uint64_t)a->counted + a->since;
	if (most > a->most)
		__atomic_store_n(&a->most, most, __ATOMIC_RELAXED);
}

/* The thread stops: what it did before is over. */
static void end_grant_of(struct admit *a, pid_t tid)
{
	for (size_t i = 0; i < a->n; i++)
		if (a->grant[i].tid == tid) {
			remove_grant(a, i);
			return;
		}
}

/* ---- the count ---- */

/* A procfs_children callback: without memory the child is not counted. */
static void enqueue_child(void *arg, pid_t pid)
{
	struct admit *a = arg;
	if (a->queued == a->cap) {
		size_t cap = a->cap ? 2 * a->cap : 64;
		pid_t *more = realloc(a->queue, cap * sizeof(*more));
		if (!more)
			return;
		a->queue = more;
		a->cap = cap;
	}
	a->queue[a->queued++] = pid;
}

/* Below this process, as far as that is of interest: no more than the limit. Zombies are not counted. Uses a->queue. */
static int64_t count_processes(struct admit *a)
{
	int64_t n = 0;
	a->queued = 0;
	procfs_children(getpid(), true, enqueue_child, a);
	for (size_t i = 0; i < a->queued && n < a->limit; i++) {
		struct procfs f;
		procfs_clear(&f);
		if (procfs_stat(a->queue[i], &f) < 0)
			continue;
		n += f.state != 'Z' && f.state != 'X';
		procfs_children(a->queue[i], false, enqueue_child, a);
	}
	return n;
}

int admit_fork(struct admit *a, pid_t tid, unsigned tries)
{
	end_grant_of(a, tid);
	if (a->counted < 0 || a->counted + (int64_t)a->since >= a->limit) {
		/* Whose child came before the count is in it. */
		int64_t now = clock_now_ns(CLOCK_MONOTONIC);
		for (size_t i = a->n; i-- > 0;)
			if (is_grant_over(&a->grant[i], now))
				remove_grant(a, i);
		a->counted = count_processes(a);
		a->since = a->n;
		if ((uint64_t)a->counted > a->most)
			__atomic_store_n(&a->most, (uint64_t)a->counted, __ATOMIC_RELAXED);
	}
	if (a->counted + (int64_t)a->since < a->limit) {
		add_grant(a, tid);
		return 0;
	}
	/* Those under way may be in the count by now. */
	if (a->counted < a->limit && tries < TRIES)
		return -1;
	__atomic_add_fetch(&a->refused, 1, __ATOMIC_RELAXED);
	return EAGAIN;
}
