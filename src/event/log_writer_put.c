/* log_writer_put.c - a log's frames on their way to the disk: at once, or by the queue and the thread that writes
 * behind. */
#include "event/log_writer_int.h"

#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SPARE 256         /* bytes of a frame that holds a gap event, and some more */
#define ROOM_MS 50        /* a disk that is slow, but writes, is waited for so long when the queue is full */
#define STACK (64u << 10) /* of the writing thread */

enum log_sync log_writer_sync_when = LOG_SYNC_NEVER;

/* Takes back the n bytes of a frame that did not go out whole. What cannot be taken back readers pass over. */
static void take_back(int fd, size_t n)
{
	struct stat st;
	off_t at = lseek(fd, 0, SEEK_CUR);
	/* Only when they are the last of the file: another host's writer could share it after all. */
	if (n == 0 || at < (off_t)n || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size != at)
		return;
	if (ftruncate(fd, at - (off_t)n) == 0)
		lseek(fd, at - (off_t)n, SEEK_SET);
}

int log_writer_follow(struct log_writer *w)
{
	uint32_t roll = atomic_load(&w->sh->roll);
	struct stat st;
	if (w->dir >= 0 && roll != w->roll) {
		char *bad;
		int r = log_writer_segment(w, roll, 0, &bad);
		free(bad);
		if (r < 0)
			return r;
	}
	if (fstat(w->fd, &st) == 0)
		w->size = (uint64_t)st.st_size;
	w->moved = false;
	return 0;
}

int log_writer_put(struct log_writer *w, const void *at, size_t n)
{
	size_t done;
	int r = w->moved ? log_writer_follow(w) : 0;
	if (r < 0)
		return r;
	if (w->dir >= 0 && w->size > 0 && !log_writer_fits(w->size, n)) {
		char *bad;
		/* Without a next segment this one grows on. */
		log_writer_segment(w, w->roll + 1, n, &bad);
		free(bad);
	}
	r = w->dir >= 0 && !w->last ? log_reserve_keep(&w->reserve, w->fd, w->size, n) : 0;
	done = 0;
	if (r == 0)
		r = io_write(w->fd, at, n, &done);
	if (r == 0 && w->sparing) {
		static const unsigned char nothing[SPARE + LOG_ENDS_MAX];
		size_t tried;
		r = io_write(w->fd, nothing, SPARE + w->ends.n, &tried);
		take_back(w->fd, tried);
	}
	if (r < 0)
		take_back(w->fd, done);
	else
		w->size += n;
	/* It is in the log whatever the disk says; log_writer_sync says it again at the end. */
	if (r == 0 && log_writer_sync_when == LOG_SYNC_FRAME && w->dir >= 0)
		fdatasync(w->fd);
	return r;
}

/* The frames that wait, as far as the disk takes them; another thread may be at that already. 0, -errno. */
static int write_queue(struct log_writer *w)
{
	int r = 0;
	size_t n;
	/* What is put in behind its back, while another one leaves, is looked at again. */
	while (r == 0 && log_queue_waiting(&w->sh->queue)) {
		if (atomic_exchange(&w->writing, true))
			return 0;
		for (const void *p; r == 0 && (p = log_queue_next(&w->sh->queue, &n));) {
			r = log_writer_put(w, p, n);
			if (r == 0)
				log_queue_drop(&w->sh->queue);
		}
		atomic_store(&w->failed, -r);
		atomic_store(&w->writing, false);
	}
	return r;
}

/* The thread that writes the queue until w->stop, woken for each frame; what failed is tried again after LOG_RETRY_NS.
 */
static void *write_behind(void *arg)
{
	struct log_writer *w = arg;
	for (;;) {
		int r = write_queue(w);
		if (atomic_load(&w->stop))
			return NULL;
		/* If another thread is at it, it may come to nothing there. */
		if (r < 0 || log_queue_waiting(&w->sh->queue)) {
			struct timespec until;
			clock_gettime(CLOCK_REALTIME, &until);
			until.tv_nsec += LOG_RETRY_NS;
			until.tv_sec += until.tv_nsec / 1000000000;
			until.tv_nsec %= 1000000000;
			sem_timedwait(&w->go, &until);
			continue;
		}
		atomic_store(&w->asleep, true);
		if (log_queue_waiting(&w->sh->queue) || atomic_load(&w->stop))
			atomic_store(&w->asleep, false);
		else
			while (sem_wait(&w->go) < 0)
				;
	}
}

void log_writer_wake(struct log_writer *w)
{
	if (w->started == 0 && !w->alone && !w->quiet) {
		pthread_attr_t attr;
		sigset_t all, before;
		sigfillset(&all);
		sem_init(&w->go, 0, 0);
		pthread_attr_init(&attr);
		pthread_attr_setstacksize(&attr, STACK);
		pthread_sigmask(SIG_BLOCK, &all, &before);
		w->alone = pthread_create(&w->thread, &attr, write_behind, w) != 0;
		pthread_sigmask(SIG_SETMASK, &before, NULL);
		pthread_attr_destroy(&attr);
		w->started = w->alone ? 0 : getpid();
	} else if (atomic_exchange(&w->asleep, false)) {
		sem_post(&w->go);
	}
	if (w->alone)
		write_queue(w);
}

bool log_writer_enqueue(struct log_writer *w, struct log_state *s, const void *p, size_t n)
{
	struct log_queue *q = &w->sh->queue;
	bool put = log_queue_put(q, &s->head, p, n);
	for (int ms = 0; !put && ms < ROOM_MS && atomic_load(&q->taken) != w->taken_full; ms++) {
		log_writer_wake(w);
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
		put = log_queue_put(q, &s->head, p, n);
	}
	if (!put)
		w->taken_full = atomic_load(&q->taken);
	return put;
}

void log_writer_behind(struct log_writer *w)
{
	w->sh->queues = true;
}

void log_writer_quiet(struct log_writer *w, bool quiet)
{
	w->quiet = quiet;
}

int log_writer_settle(struct log_writer *w)
{
	if (w->started == getpid()) {
		atomic_store(&w->stop, true);
		sem_post(&w->go);
		pthread_join(w->thread, NULL);
		sem_destroy(&w->go);
		atomic_store(&w->stop, false);
		atomic_store(&w->asleep, false);
	}
	w->started = 0;
	int r = w->sh->queues ? write_queue(w) : 0;
	/* Another thread of ours is held up in its write. */
	while (r == 0 && log_queue_waiting(&w->sh->queue)) {
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
		r = write_queue(w);
	}
	return r;
}

/* The segment, its directory, and those above up to the record's, which may be new. 0; the first -errno. */
int log_writer_sync(struct log_writer *w)
{
	enum { ABOVE = 3 }; /* <home>/logs/<host>/<day> */
	int r = log_writer_seal(w), settled = log_writer_settle(w);
	r = r < 0 ? r : settled;
	int dir = w->dir < 0 ? -1 : openat(w->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fdatasync(w->fd) < 0 && r == 0)
		r = -errno;
	for (int i = 0; dir >= 0; i++) {
		if (fsync(dir) < 0 && errno != EINVAL && r == 0) /* EINVAL: a file system without */
			r = -errno;
		int up = i < ABOVE ? openat(dir, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
		close(dir);
		dir = up;
	}
	return r;
}

void log_writer_write(struct log_writer *w)
{
	if (__atomic_load_n(&w->sh->queues, __ATOMIC_RELAXED))
		write_queue(w);
}
