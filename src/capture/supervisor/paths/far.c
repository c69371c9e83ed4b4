#include "capture/supervisor/paths/far.h"
#include "base/fileid.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define STACK (64u << 10)

/* What one thread is asked. */
struct question {
	struct asker *asker;
	uint64_t dev;
	int dirfd; /* its own */
	char *path;
	int flags, rc;
	struct statx st;
	bool answered, left; /* left: nobody waits for it any more */
};

static struct asker {
	pthread_cond_t go;
	bool begun;
	struct question *at; /* NULL: it is idle */
} askers[FAR_THREADS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t done; /* of any; by the monotonic clock */
static bool prepared;

/* Closes its folder, too. */
static void question_free(struct question *q)
{
	if (q->dirfd >= 0)
		close(q->dirfd);
	free(q->path);
	free(q);
}

/* A thread that asks for what a path is, and may wait for ever; who has asked waits for it only so long. */
static void *run_asker(void *arg)
{
	struct asker *a = arg;
	pthread_mutex_lock(&lock);
	for (;;) {
		while (!a->at)
			pthread_cond_wait(&a->go, &lock);
		struct question *q = a->at;
		pthread_mutex_unlock(&lock);
		int rc = statx(q->dirfd, q->path, q->flags, FILEID_STATX, &q->st) < 0 ? -errno : 0;
		pthread_mutex_lock(&lock);
		q->rc = rc;
		q->answered = true;
		a->at = NULL;
		if (q->left)
			question_free(q);
		pthread_cond_broadcast(&done);
	}
	return NULL;
}

/* Under the lock. NULL: none is to be had, or that device owes an answer. */
static struct asker *asker_of(uint64_t dev)
{
	struct asker *ret = NULL;
	pthread_condattr_t ca;
	if (!prepared && pthread_condattr_init(&ca) == 0) {
		pthread_condattr_setclock(&ca, CLOCK_MONOTONIC);
		pthread_cond_init(&done, &ca);
		prepared = true;
	}
	for (int i = 0; i < FAR_THREADS; i++) {
		if (askers[i].at && askers[i].at->dev == dev && askers[i].at->left)
			return NULL;
		if (!askers[i].at && (!ret || (askers[i].begun && !ret->begun)))
			ret = &askers[i];
	}
	if (ret && !ret->begun) {
		pthread_attr_t attr;
		pthread_t t;
		pthread_cond_init(&ret->go, NULL);
		pthread_attr_init(&attr);
		pthread_attr_setstacksize(&attr, STACK);
		ret->begun = pthread_create(&t, &attr, run_asker, ret) == 0;
		if (ret->begun)
			pthread_detach(t);
		pthread_attr_destroy(&attr);
	}
	return ret && ret->begun ? ret : NULL;
}

/* The time at which a wait ends, for pthread_cond_timedwait by CLOCK_MONOTONIC. */
static struct timespec deadline_after(int64_t ns)
{
	struct timespec until;
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += ns;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	return until;
}

/* Is that file system served by another process or host? False where that was not asked for before. */
static bool far_is(uint64_t dev)
{
	const struct fs_domain *d = fileid_domain_known(dev);
	return d && fileid_type_waits(d->type);
}

int far_statx(uint64_t dev, int dirfd, const char *path, int flags, struct statx *st)
{
	struct question *q = calloc(1, sizeof(*q));
	if (!q)
		return -EAGAIN;
	*q = (struct question){.dev = dev,
	                       .dirfd = dirfd >= 0 ? fcntl(dirfd, F_DUPFD_CLOEXEC, 3) : dirfd,
	                       .path = strdup(path),
	                       .flags = flags};
	struct timespec until = deadline_after(FAR_NS);
	pthread_mutex_lock(&lock);
	struct asker *a = q->path && (dirfd < 0 || q->dirfd >= 0) ? asker_of(dev) : NULL;
	int rc = -EAGAIN;
	if (a) {
		a->at = q;
		pthread_cond_signal(&a->go);
		while (!q->answered && pthread_cond_timedwait(&done, &lock, &until) == 0)
			;
		if (q->answered) {
			rc = q->rc;
			*st = q->st;
		} else {
			q->left = true;
			q = NULL;
		}
	}
	pthread_mutex_unlock(&lock);
	if (q)
		question_free(q);
	return rc;
}

void far_wait_all(void)
{
	struct timespec until = deadline_after(1000000000);
	pthread_mutex_lock(&lock);
	for (int i = 0; i < FAR_THREADS; i++)
		while (askers[i].at && pthread_cond_timedwait(&done, &lock, &until) == 0)
			;
	pthread_mutex_unlock(&lock);
}

int far_descriptor(int dirfd, const char *name, int flags, struct statx *st)
{
	struct statx now;
	if (fileid_statx_cached(dirfd, name, flags, FILEID_STATX, st) < 0)
		return -errno;
	if (S_ISREG(st->stx_mode) && far_is(fileid_dev(st)) && far_statx(fileid_dev(st), dirfd, name, flags, &now) == 0)
		*st = now;
	return 0;
}
