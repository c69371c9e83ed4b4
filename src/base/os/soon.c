#include "base/os/soon.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define STACK (256u << 10)

struct task {
	void (*fn)(void *job);
	sem_t done;
	bool left; /* by one of the two: the other frees it */
	_Alignas(max_align_t) char job[];
};

static unsigned stuck;

/* Called by both sides; who comes second frees t. */
static void leave_task(struct task *t)
{
	if (!__atomic_exchange_n(&t->left, true, __ATOMIC_ACQ_REL))
		return;
	sem_destroy(&t->done);
	free(t);
}

/* The thread of a task: runs it, wakes who waits, and leaves. */
static void *run_task(void *arg)
{
	struct task *t = arg;
	t->fn(t->job);
	__atomic_sub_fetch(&stuck, 1, __ATOMIC_ACQ_REL);
	sem_post(&t->done);
	leave_task(t);
	return NULL;
}

/* Detached, with all signals blocked. 0, -errno. */
static int start_task_thread(struct task *t)
{
	pthread_attr_t attr;
	pthread_t thread;
	sigset_t all, before;
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, STACK);
	/* Signals are for those who wait for them. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int e = pthread_create(&thread, &attr, run_task, t);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	return -e;
}

int soon_do(void *job, size_t n, void (*fn)(void *job), unsigned ms)
{
	struct timespec until;
	unsigned others = __atomic_fetch_add(&stuck, 1, __ATOMIC_ACQ_REL);
	struct task *t = others < SOON_STUCK ? malloc(sizeof(*t) + n) : NULL;
	int r = t ? 0 : others < SOON_STUCK ? -ENOMEM : -EAGAIN;
	if (t) {
		t->fn = fn;
		t->left = false;
		sem_init(&t->done, 0, 0);
		memcpy(t->job, job, n);
		r = start_task_thread(t);
		if (r < 0) {
			sem_destroy(&t->done);
			free(t);
		}
	}
	if (r < 0) {
		__atomic_sub_fetch(&stuck, 1, __ATOMIC_ACQ_REL);
		return r;
	}
	if (others)
		ms = ms / 100 + 1;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += ms / 1000;
	until.tv_nsec += ms % 1000 * 1000000L;
	if (until.tv_nsec >= 1000000000L) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000L;
	}
	while ((r = sem_timedwait(&t->done, &until)) < 0 && errno == EINTR)
		;
	if (r == 0)
		memcpy(job, t->job, n);
	leave_task(t);
	return r < 0 ? -ETIMEDOUT : 0;
}
