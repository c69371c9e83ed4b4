#include "capture/ptrace/slow_fs.h"

#include <errno.h>
#include <semaphore.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define LOOK_NS 2000000 /* between two looks at whether the thread sleeps */

/* Threads whose calls went by, and processes that ended. */
struct owed {
	pid_t tid;
	int status;
	struct rusage *used; /* NULL: it only went by */
};

struct slow_fs {
	struct worker *w;
	void (*perform)(struct worker *w, struct work *k);
	bool started, failed, held;
	sem_t go, done;
	struct work work; /* the thread's between go and done */
	struct owed *owed;
	size_t n, at, cap; /* of them those from `at` on are still to be handed over */
};

struct slow_fs *slow_fs_new(struct worker *w, void (*perform)(struct worker *w, struct work *k))
{
	struct slow_fs *a = calloc(1, sizeof(*a));
	if (!a)
		return NULL;
	a->w = w;
	a->perform = perform;
	sem_init(&a->go, 0, 0);
	sem_init(&a->done, 0, 0);
	return a;
}

/* CLOCK_MONOTONIC, ns. */
static int64_t slow_fs_clock_ns(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

/* The thread that asks slow file systems. For ever: what the tracer gives it, one at a time. */
static void *run_slow_fs_thread(void *arg)
{
	struct slow_fs *a = arg;
	__atomic_store_n(&a->w->server, gettid(), __ATOMIC_RELEASE);
	for (;;) {
		while (sem_wait(&a->go) < 0)
			;
		a->perform(a->w, &a->work);
		__atomic_store_n(&a->w->sup.since, 0, __ATOMIC_RELEASE);
		sem_post(&a->done);
	}
	return NULL;
}

/* Hands a piece of work in the thread. False: it is held up, and will have done it some time. */
static bool hand_over_work(struct slow_fs *a, struct work *k)
{
	a->work = *k;
	__atomic_store_n(&a->w->sup.since, slow_fs_clock_ns(), __ATOMIC_RELEASE);
	sem_post(&a->go);
	for (;;) {
		struct timespec until;
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += LOOK_NS;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		if (sem_timedwait(&a->done, &until) == 0) {
			*k = a->work;
			return true;
		}
		if (errno == ETIMEDOUT && worker_held_up(a->w)) {
			a->held = true;
			return false;
		}
	}
}

/* Starts the thread that asks slow file systems, if it is needed. False: no thread can be had, or none is needed. */
static bool start_slow_fs_thread(struct slow_fs *a)
{
	pthread_t t;
	if (!__atomic_load_n(&a->w->sup.slow_fs, __ATOMIC_RELAXED) || a->failed)
		return false;
	if (!a->started)
		a->started = worker_thread(a->w, run_slow_fs_thread, a, &t) == 0;
	a->failed = !a->started;
	return a->started;
}

/* What went by. Of a thread that made many calls in a row, once. */
static void owe_work(struct slow_fs *a, const struct work *k)
{
	enum { BACK = 64 };
	bool ended = k->kind == WORK_ENDED;
	if (k->kind == WORK_CALL)
		__atomic_add_fetch(&a->w->passed, 1, __ATOMIC_RELAXED);
	for (size_t i = a->n; !ended && i > a->at && a->n - i < BACK; i--)
		if (a->owed[i - 1].tid == k->tid) {
			if (!a->owed[i - 1].used)
				return;
			break; /* another one that has the number now */
		}
	if (a->n == a->cap) {
		size_t cap = a->cap ? 2 * a->cap : 64;
		struct owed *more = cap <= SLOW_FS_PASSED ? realloc(a->owed, cap * sizeof(*more)) : NULL;
		if (!more)
			return;
		a->owed = more;
		a->cap = cap;
	}
	struct owed o = {.tid = k->tid, .status = k->status};
	if (ended && (o.used = malloc(sizeof(*o.used))))
		*o.used = k->used;
	if (!ended || o.used)
		a->owed[a->n++] = o;
}

bool slow_fs_held(struct slow_fs *a)
{
	if (a->held && sem_trywait(&a->done) < 0)
		return true;
	a->held = false;
	while (a->at < a->n) {
		struct owed o = a->owed[a->at++];
		struct work k = {.kind = o.used ? WORK_ENDED : WORK_PASSED, .tid = o.tid, .status = o.status};
		k.owed = true;
		if (o.used)
			k.used = *o.used;
		free(o.used);
		if (!hand_over_work(a, &k))
			return true;
	}
	a->n = a->at = 0;
	return false;
}

bool slow_fs_do(struct slow_fs *a, struct work *k)
{
	k->refuse = 0;
	k->pending = false;
	if (!start_slow_fs_thread(a)) {
		a->perform(a->w, k);
		return true;
	}
	if (!slow_fs_held(a)) {
		if (hand_over_work(a, k))
			return true;
		/* It is being done, but the call will be made before: that its record is right is no longer sure. */
		struct work late = {.kind = WORK_PASSED, .tid = k->tid};
		if (k->kind == WORK_CALL) {
			__atomic_add_fetch(&a->w->passed, 1, __ATOMIC_RELAXED);
			owe_work(a, &late);
		}
		return false;
	}
	owe_work(a, k);
	return false;
}

bool slow_fs_owes(const struct slow_fs *a)
{
	return a->held && a->n > a->at;
}

void slow_fs_wait(struct slow_fs *a)
{
	while (a->held) {
		while (sem_wait(&a->done) < 0)
			;
		sem_post(&a->done);
		slow_fs_held(a);
	}
}
