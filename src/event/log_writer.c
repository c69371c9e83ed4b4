#include "event/log_writer.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/io.h"
#include "event/clean.h"
#include "event/log_frame.h"
#include "event/log_lease.h"
#include "event/log_queue.h"
#include "event/log_rescue.h"
#include "event/log_reserve.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define GATHER 4096        /* bytes after which a frame is written */
#define RETRY_NS 100000000 /* after a failed write log_writer_add tries again no sooner */
#define KEEP (64 * 1024)   /* bytes of memory kept after a larger event */
#define SPARE 256          /* bytes of a frame that holds a gap event, and some more */
#define ENDS_MAX 512       /* bytes of the two events that tell of the end */
#define WAKE (64 * 1024)   /* bytes that wait after which log_writer_add wakes the writing thread; 20 ms hold less */
#define ROOM_MS 50         /* a disk that is slow, but writes, is waited for so long when the queue is full */
#define STACK (64u << 10)  /* of the writing thread */

uint64_t log_writer_segment_max = LOG_SEGMENT_MAX;
enum log_sync log_writer_sync_when = LOG_SYNC_NEVER;

/* All that changes while events are added. There are two of them in the shared memory and `which` says which one holds;
 * the other is filled and then made to hold by one store. So a SIGKILL at any instruction leaves the state before an
 * event or after it, never one in between. */
struct state {
	uint64_t seq;    /* of the next event */
	uint64_t lost;   /* events, in all */
	uint64_t unsaid; /* of them, those that no gap event tells of yet */
	int64_t unsaid_from, unsaid_until;
	int64_t first, last; /* times of the first and the latest event gathered */
	uint64_t head;       /* of the queue, behind the last whole frame */
	uint32_t len, count; /* gathered: bytes, events */
	uint32_t number;     /* of the next frame */
	int error;           /* errno of the last write when it failed, else 0 */
	int why;             /* of the lost: errno, or 0 for an event that is too large */
};

struct shared {
	uint64_t session;
	_Atomic uint32_t which;
	_Atomic uint32_t roll; /* segment of the slot that is written to */
	bool queues;           /* frames go into the queue; set before there is another process */
	struct state state[2];
	unsigned char frame[sizeof(struct log_frame) + LOG_PAYLOAD_MAX]; /* untouched pages cost nothing */
	struct log_queue queue;
};

struct log_writer {
	struct shared *sh;
	int fd;    /* segment */
	int dir;   /* its directory, or -1 */
	int lease; /* or -1 */
	unsigned slot;
	uint32_t roll; /* that fd is of */
	char *home, *dir_path, *path;
	struct buf scratch, packed;
	struct event_clean clean;
	struct log_reserve reserve;
	bool last;           /* the reserve may be used: nothing comes behind this */
	uint64_t from;       /* where the session began in its first segment */
	uint32_t first_roll; /* which that is */
	struct buf ends;     /* what says how the run and the session ended, each encoded to its own time */
	struct {
		uint64_t seq; /* UINT64_MAX: it was not kept */
		size_t at;
		int64_t time;
	} end[2];
	unsigned n_ends;
	bool ended;
	struct log_outcome outcome;
	int64_t retry_at; /* CLOCK_MONOTONIC, after a failed write */
	bool sparing;     /* a frame is written only where a gap event fits behind it */
	/* Of who writes to the segment: this thread, or the writing thread while there is one. */
	uint64_t size; /* of the segment */
	bool moved;    /* another process wrote before: which segment, and how long it is, is to be looked at */
	/* The writing thread, of the process that started it. */
	pthread_t thread;
	pid_t started; /* that process; 0 none */
	sem_t go;
	_Atomic int failed; /* errno of its last write, 0 it worked */
	_Atomic bool asleep, stop;
	_Atomic bool writing; /* a thread of this process writes the queue */
	bool alone;           /* no thread could be started */
	bool quiet;           /* none is to be */
	uint64_t taken_full;  /* what had been taken from the queue when it was full last */
};

static struct state *current(const struct log_writer *w)
{
	return &w->sh->state[atomic_load_explicit(&w->sh->which, memory_order_acquire)];
}

static void publish_state(struct log_writer *w, const struct state *s)
{
	uint32_t other = !atomic_load_explicit(&w->sh->which, memory_order_relaxed);
	w->sh->state[other] = *s;
	atomic_store_explicit(&w->sh->which, other, memory_order_release);
}

/* Opening. */

static uint64_t draw_session(void)
{
	struct {
		uint64_t number;
		struct timespec t;
		pid_t pid;
	} seed = {0};
	if (getrandom(&seed.number, sizeof(seed.number), GRND_NONBLOCK) != sizeof(seed.number)) {
		clock_gettime(CLOCK_MONOTONIC, &seed.t);
		seed.pid = getpid();
		seed.number = hash_bytes(&seed, sizeof(seed));
	}
	return seed.number ? seed.number : 1;
}

static int writer_new(uint64_t session, struct log_writer **ret)
{
	struct log_writer *w = calloc(1, sizeof(*w));
	if (!w)
		return -ENOMEM;
	w->fd = w->dir = w->lease = -1;
	w->sh = mmap(NULL, sizeof(*w->sh), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (w->sh == MAP_FAILED) {
		free(w);
		return -ENOMEM;
	}
	w->sh->session = session ? session : draw_session();
	w->sh->state[0].seq = 1;
	*ret = w;
	return 0;
}

static void writer_free(struct log_writer *w)
{
	if (w->fd >= 0)
		close(w->fd);
	if (w->dir >= 0)
		close(w->dir);
	if (w->lease >= 0)
		close(w->lease);
	munmap(w->sh, sizeof(*w->sh));
	buf_release(&w->scratch);
	buf_release(&w->packed);
	event_clean_release(&w->clean);
	buf_release(&w->ends);
	free(w->outcome.place);
	free(w->home);
	free(w->dir_path);
	free(w->path);
	free(w);
}

/* Bytes of a segment: where files may not grow so long (ulimit -f) a slot has more of them. */
static uint64_t segment_max(void)
{
	struct rlimit rl;
	bool less = getrlimit(RLIMIT_FSIZE, &rl) == 0 && rl.rlim_cur < log_writer_segment_max;
	return less ? rl.rlim_cur : log_writer_segment_max;
}

static bool fits_in_segment(uint64_t size, size_t need)
{
	uint64_t max = segment_max();
	return size <= max && need <= max - size;
}

/* Opens segment `roll` of the slot in w's place; with need > 0 the first from there that has room for so many bytes
 * more, or is empty. On failure w stays as it was and *ret_path (free it) is what could not be opened. */
static int segment_open(struct log_writer *w, uint32_t roll, size_t need, char **ret_path)
{
	const int flags = O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
	*ret_path = NULL;
	for (;; roll++) {
		char name[32], *path;
		struct stat st;
		if (roll)
			snprintf(name, sizeof(name), "%u.%u.stl", w->slot, roll);
		else
			snprintf(name, sizeof(name), "%u.stl", w->slot);
		if (asprintf(&path, "%s/%s", w->dir_path, name) < 0)
			return -ENOMEM;
		/* Nearly always it is there; asked so, nothing is created on a file system where that is slow. */
		int fd = openat(w->dir, name, flags);
		if (fd < 0 && errno == ENOENT)
			fd = openat(w->dir, name, flags | O_CREAT, 0600);
		fd = fd < 0 ? -errno : io_above_std(fd);
		int r = fd < 0 ? fd : fstat(fd, &st) < 0 ? -errno : S_ISREG(st.st_mode) ? 0 : -EINVAL;
		if (r == 0 && need && st.st_size > 0 && !fits_in_segment((uint64_t)st.st_size, need) && roll < UINT32_MAX) {
			close(fd);
			free(path);
			continue;
		}
		if (r < 0) {
			if (fd >= 0)
				close(fd);
			*ret_path = path;
			return r;
		}
		if (w->fd >= 0)
			close(w->fd);
		free(w->path);
		w->fd = fd;
		w->path = path;
		w->roll = roll;
		w->reserve = (struct log_reserve){0};
		w->size = (uint64_t)st.st_size;
		atomic_store(&w->sh->roll, roll);
		return 0;
	}
}

static int report_unwritable(struct err *err, int errnum, const char *path)
{
	int r = err_set(err, errnum, "cannot write to the store: %s", path);
	err_hint(err, errnum == ENOSPC || errnum == EDQUOT
	                  ? "free some space, or set STEMMA_HOME to a directory that has some"
	                  : "set STEMMA_HOME to a directory that you can write to");
	return r;
}

/* home's real path (free it), the directory made where missing. */
static int real_home(const char *home, struct err *err, char **ret)
{
	char *real = realpath(home, NULL);
	if (!real && errno == ENOENT) {
		int r = io_mkdirs(home, 0700);
		if (r < 0)
			return report_unwritable(err, -r, home);
		real = realpath(home, NULL);
	}
	if (!real)
		return report_unwritable(err, errno, home);
	*ret = real;
	return 0;
}

static bool is_component(const char *s)
{
	return *s && !strchr(s, '/') && strcmp(s, ".") != 0 && strcmp(s, "..") != 0;
}

static int open_dir(struct log_writer *w, struct err *err)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
	w->dir = open(w->dir_path, flags);
	if (w->dir < 0 && errno == ENOENT) {
		int r = io_mkdirs(w->dir_path, 0700);
		if (r < 0)
			return report_unwritable(err, -r, w->dir_path);
		w->dir = open(w->dir_path, flags);
	}
	w->dir = w->dir < 0 ? -errno : io_above_std(w->dir);
	return w->dir < 0 ? report_unwritable(err, -w->dir, w->dir_path) : 0;
}

int log_writer_open(const char *home, const char *host, const char *day, struct err *err, struct log_writer **ret)
{
	struct log_writer *w;
	char *real = NULL, *bad = NULL;
	int r;
	if (!is_component(host) || !is_component(day))
		return err_set(err, EINVAL, "cannot make a log directory for host '%s' and day '%s'", host, day);
	r = real_home(home, err, &real);
	if (r < 0)
		return r;
	r = writer_new(0, &w);
	if (r < 0) {
		free(real);
		return err_set(err, -r, "cannot start the log");
	}
	r = log_lease_take(real, host, day, err, &w->lease, &w->slot);
	if (r < 0)
		goto out;
	if (asprintf(&w->dir_path, "%s/logs/%s/%s", real, host, day) < 0) {
		w->dir_path = NULL;
		r = err_set(err, ENOMEM, "cannot start the log");
		goto out;
	}
	r = open_dir(w, err);
	if (r < 0)
		goto out;
	r = segment_open(w, 0, sizeof(struct log_frame) + GATHER, &bad);
	if (r < 0) {
		report_unwritable(err, -r, bad ? bad : w->dir_path);
		goto out;
	}
	w->from = w->size;
	w->first_roll = w->roll;
	w->home = real;
	real = NULL;
	*ret = w;
out:
	free(bad);
	free(real);
	if (r < 0)
		writer_free(w);
	return r;
}

int log_writer_fdopen(int fd, uint64_t session, struct err *err, struct log_writer **ret)
{
	struct log_writer *w;
	int r = writer_new(session, &w);
	if (r < 0)
		return err_set(err, -r, "cannot start the log");
	w->fd = fd;
	*ret = w;
	return 0;
}

/* Writing. */

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

static bool retry_due(const struct log_writer *w)
{
	return clock_now_ns(CLOCK_MONOTONIC_COARSE) >= w->retry_at;
}

/* Another process wrote before: goes on in its segment. */
static int follow_segment(struct log_writer *w)
{
	uint32_t roll = atomic_load(&w->sh->roll);
	struct stat st;
	if (w->dir >= 0 && roll != w->roll) {
		char *bad;
		int r = segment_open(w, roll, 0, &bad);
		free(bad);
		if (r < 0)
			return r;
	}
	if (fstat(w->fd, &st) == 0)
		w->size = (uint64_t)st.st_size;
	w->moved = false;
	return 0;
}

/* Writes a whole frame to the segment, or to the next one of the slot. */
static int put_frame(struct log_writer *w, const void *at, size_t n)
{
	size_t done;
	int r = w->moved ? follow_segment(w) : 0;
	if (r < 0)
		return r;
	if (w->dir >= 0 && w->size > 0 && !fits_in_segment(w->size, n)) {
		char *bad;
		/* Without a next segment this one grows on. */
		segment_open(w, w->roll + 1, n, &bad);
		free(bad);
	}
	r = w->dir >= 0 && !w->last ? log_reserve_keep(&w->reserve, w->fd, w->size, n) : 0;
	done = 0;
	if (r == 0)
		r = io_write(w->fd, at, n, &done);
	if (r == 0 && w->sparing) {
		static const unsigned char nothing[SPARE + ENDS_MAX];
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

/* The frames that wait, as far as the disk takes them; another thread may be at that already. */
static int write_queue(struct log_writer *w)
{
	int r = 0;
	size_t n;
	/* What is put in behind its back, while another one leaves, is looked at again. */
	while (r == 0 && log_queue_waiting(&w->sh->queue)) {
		if (atomic_exchange(&w->writing, true))
			return 0;
		for (const void *p; r == 0 && (p = log_queue_next(&w->sh->queue, &n));) {
			r = put_frame(w, p, n);
			if (r == 0)
				log_queue_drop(&w->sh->queue);
		}
		atomic_store(&w->failed, -r);
		atomic_store(&w->writing, false);
	}
	return r;
}

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
			until.tv_nsec += RETRY_NS;
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

/* The queue is written, by the writing thread if there can be one. */
static void wake(struct log_writer *w)
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

/* Puts a frame in the queue; waits a moment for room where some has been made since the last time. */
static bool enqueue_frame(struct log_writer *w, struct state *s, const void *p, size_t n)
{
	struct log_queue *q = &w->sh->queue;
	bool put = log_queue_put(q, &s->head, p, n);
	for (int ms = 0; !put && ms < ROOM_MS && atomic_load(&q->taken) != w->taken_full; ms++) {
		wake(w);
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
		put = log_queue_put(q, &s->head, p, n);
	}
	if (!put)
		w->taken_full = atomic_load(&q->taken);
	return put;
}

/* Writes what has gathered as one frame, or puts it in the queue, and publishes that; s is the current state and
 * follows. */
static int write_frame(struct log_writer *w, struct state *s)
{
	struct log_frame h = {
	    .size = s->len,
	    .session = w->sh->session,
	    .number = s->number,
	    .count = s->count,
	    .seq = s->seq - s->count,
	    .time = s->first,
	};
	buf_reset(&w->packed);
	bool packed = log_frame_add(&w->packed, &h, w->sh->frame + sizeof(h)) == 0;
	const void *at = packed ? (const void *)w->packed.p : w->sh->frame;
	size_t n = packed ? w->packed.n : log_frame_build(w->sh->frame, &h);
	const bool queues = w->sh->queues;
	int r = !queues ? put_frame(w, at, n) : enqueue_frame(w, s, at, n) ? 0 : -EBUSY;
	s->error = -r;
	if (r < 0) {
		w->retry_at = clock_now_ns(CLOCK_MONOTONIC_COARSE) + RETRY_NS;
	} else {
		s->number++;
		s->len = s->count = 0;
	}
	publish_state(w, s);
	if (queues && r == 0) {
		log_queue_show(&w->sh->queue, s->head);
		if (log_queue_waiting(&w->sh->queue) > WAKE)
			wake(w);
	}
	if (w->packed.cap > 2 * KEEP)
		buf_release(&w->packed);
	if (r == 0 && h.size > 2 * KEEP)
		madvise((char *)w->sh + KEEP, offsetof(struct shared, queue) - KEEP, MADV_REMOVE);
	return r;
}

/* Puts the encoded event in w->scratch behind those that have gathered; s is changed but not published. */
static void append_to_frame(struct log_writer *w, struct state *s, int64_t time)
{
	memcpy(w->sh->frame + sizeof(struct log_frame) + s->len, w->scratch.p, w->scratch.n);
	if (s->count == 0)
		s->first = time;
	s->last = time;
	s->len += (uint32_t)w->scratch.n;
	s->count++;
	s->seq++;
}

/* Encodes ev into w->scratch. False if it cannot be kept, for *ret_why. May write what had gathered, to make room. */
static bool encode_event(struct log_writer *w, struct state *s, const struct event *ev, int *ret_why)
{
	for (;;) {
		buf_reset(&w->scratch);
		int r = event_encode(&w->scratch, ev, s->count ? s->last : ev->time);
		*ret_why = -r;
		if (r < 0 || w->scratch.n > LOG_PAYLOAD_MAX)
			return false;
		if (w->scratch.n <= LOG_PAYLOAD_MAX - s->len)
			return true;
		*ret_why = s->error;
		if (s->error && !retry_due(w))
			return false;
		r = write_frame(w, s);
		*ret_why = -r;
		if (r < 0)
			return false;
	}
}

/* Puts an event in the log that tells of the lost ones. False if it cannot be kept now. */
static bool say_lost(struct log_writer *w, struct state *s)
{
	struct err text = {0};
	if (s->why == EBUSY)
		err_set(&text, 0, "the file system of the record did not answer, and memory for it was full");
	else if (s->why)
		err_set(&text, s->why, "the log could not be written");
	else
		err_set(&text, 0, "larger than an event can be");
	struct event ev = {
	    .kind = EVENT_gap,
	    .time = s->unsaid_until,
	    .gap = {.reason = TERM_gap_lost, .count = s->unsaid, .from = s->unsaid_from, .text = str_of(text.text)},
	};
	int why;
	if (!encode_event(w, s, &ev, &why))
		return false;
	append_to_frame(w, s, ev.time);
	s->unsaid = 0;
	publish_state(w, s);
	return true;
}

static uint64_t count_lost_event(struct log_writer *w, struct state *s, int64_t time, int why)
{
	if (s->unsaid == 0)
		s->unsaid_from = s->unsaid_until = time;
	if (time > s->unsaid_until)
		s->unsaid_until = time;
	s->why = why;
	s->unsaid++;
	s->lost++;
	publish_state(w, s);
	return 0;
}

/* What tells how the run and the session ended is known without what came before it, so it is written also where that
 * is lost. */
static void note_end(struct log_writer *w, const struct event *ev, uint64_t seq)
{
	if ((ev->kind != EVENT_run_end && ev->kind != EVENT_session_end) || w->n_ends == 2)
		return;
	size_t at = w->ends.n;
	if (event_encode(&w->ends, ev, ev->time) < 0 || w->ends.failed || w->ends.n > ENDS_MAX) {
		w->ends.n = at;
		return;
	}
	w->end[w->n_ends].seq = seq;
	w->end[w->n_ends].at = at;
	w->end[w->n_ends++].time = ev->time;
}

/* Gathers the ends that are not in the log. */
static void gather_ends(struct log_writer *w, struct state *s, uint64_t kept)
{
	for (unsigned i = 0; i < w->n_ends; i++) {
		const unsigned char *p = (const unsigned char *)w->ends.p + w->end[i].at;
		struct event ev;
		int why;
		if (w->end[i].seq <= kept ||
		    event_decode(&p, (const unsigned char *)w->ends.p + w->ends.n, w->end[i].time, &ev) < 0 ||
		    !encode_event(w, s, &ev, &why))
			continue;
		append_to_frame(w, s, ev.time);
		s->lost -= s->lost > 0;
		publish_state(w, s);
	}
}

static uint64_t append_event(struct log_writer *w, const struct event *ev)
{
	struct state s = *current(w);
	struct event cleaned;
	int why;
	if (s.unsaid) {
		/* First of all comes the event that tells of the loss. */
		if (s.error && (!retry_due(w) || write_frame(w, &s) < 0))
			return count_lost_event(w, &s, ev->time, s.error);
		if (!say_lost(w, &s))
			return count_lost_event(w, &s, ev->time, s.error);
	}
	int rc = event_clean(ev, false, NULL, &w->clean, &cleaned);
	if (rc < 0)
		return count_lost_event(w, &s, ev->time, -rc);
	if (!encode_event(w, &s, rc ? &cleaned : ev, &why))
		return count_lost_event(w, &s, ev->time, why);
	append_to_frame(w, &s, ev->time);
	publish_state(w, &s);
	uint64_t seq = s.seq - 1;
	if (s.len >= GATHER && (!s.error || retry_due(w)))
		write_frame(w, &s);
	if (w->scratch.cap > KEEP)
		buf_release(&w->scratch);
	if (w->clean.bytes.cap > KEEP)
		event_clean_release(&w->clean);
	return seq;
}

uint64_t log_writer_add(struct log_writer *w, const struct event *ev)
{
	uint64_t seq = append_event(w, ev);
	note_end(w, ev, seq ? seq : UINT64_MAX);
	return seq;
}

int log_writer_seal(struct log_writer *w)
{
	struct state s = *current(w);
	int r = s.len ? write_frame(w, &s) : 0;
	if (r == 0 && s.unsaid) {
		if (!say_lost(w, &s))
			return -ENOMEM;
		r = write_frame(w, &s);
	}
	return r;
}

int log_writer_flush(struct log_writer *w)
{
	int r = log_writer_seal(w);
	if (!w->sh->queues)
		return r;
	if (log_queue_waiting(&w->sh->queue))
		wake(w);
	return r < 0 ? r : -atomic_load(&w->failed);
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

/* The segment, its directory, and those above up to the record's, which may be new. */
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

int log_writer_takeover(struct log_writer *w)
{
	struct state s = *current(w);
	w->retry_at = 0;
	w->moved = true;
	w->alone = false;
	w->started = 0;
	atomic_store(&w->writing, false);
	publish_state(w, &s);
	log_queue_show(&w->sh->queue, s.head);
	return w->sh->queues ? 0 : follow_segment(w);
}

static void lose_gathered(struct log_writer *w, struct state *s)
{
	if (s->unsaid == 0) {
		s->unsaid_from = s->first;
		s->unsaid_until = s->last;
	}
	s->why = s->error;
	s->unsaid += s->count;
	s->lost += s->count;
	s->seq -= s->count;
	s->len = s->count = 0;
	publish_state(w, s);
}

/* Writes the first n of the gathered events as a frame of their own and leaves the others gathered; or does nothing. */
static void write_first(struct log_writer *w, struct state *s, uint32_t n)
{
	unsigned char *begin = w->sh->frame + sizeof(struct log_frame);
	const unsigned char *p = begin, *cut = begin, *end = begin + s->len;
	struct state part = *s, rest = *s;
	struct event ev = {.time = s->first};
	if (n >= s->count)
		return;
	for (uint32_t i = 0; i <= n; i++) {
		cut = p;
		part.last = ev.time;
		if (event_decode(&p, end, ev.time, &ev) < 0)
			return;
	}
	/* The first of the others has its own time to count from now. That is 0 then, and never longer. */
	buf_reset(&w->scratch);
	if (event_encode(&w->scratch, &ev, ev.time) < 0)
		return;
	buf_add(&w->scratch, p, (size_t)(end - p));
	if (w->scratch.failed)
		return;
	rest.first = ev.time;
	rest.len = (uint32_t)w->scratch.n;
	rest.count -= n;
	/* Between here and the last publish they would be lost by a kill, which is said then. */
	part.len = (uint32_t)(cut - begin);
	part.count = n;
	part.seq -= rest.count;
	part.lost += rest.count;
	if (part.unsaid == 0)
		part.unsaid_from = part.unsaid_until = ev.time;
	part.unsaid += rest.count;
	part.why = s->error;
	if (write_frame(w, &part) < 0) {
		s->error = part.error;
		publish_state(w, s);
		return;
	}
	memcpy(begin, w->scratch.p, w->scratch.n);
	rest.error = 0;
	rest.number = part.number;
	*s = rest;
	publish_state(w, s);
}

/* It is the last time: what the disk has room for is written, and that the rest is missing. */
static void write_what_fits(struct log_writer *w)
{
	struct state s = *current(w);
	w->sparing = true;
	for (uint32_t n = s.count / 2; n > 0; n /= 2)
		write_first(w, &s, n);
	if (s.len && write_frame(w, &s) < 0)
		lose_gathered(w, &s);
	w->sparing = false;
	w->last = true;
	uint64_t kept = s.seq - 1;
	for (unsigned i = 0; i < w->n_ends; i++)
		s.unsaid -= s.unsaid > 0 && w->end[i].seq > kept;
	if (!s.unsaid || say_lost(w, &s))
		gather_ends(w, &s, kept);
	if (s.len && write_frame(w, &s) < 0) {
		/* Not even that: then the gap alone. */
		s.len = s.count = 0;
		s.seq = kept + 1;
		s.unsaid += w->n_ends;
		if (s.unsaid && say_lost(w, &s))
			write_frame(w, &s);
	}
}

/* The frame in the place of what has gathered. False: it cannot be read. */
static bool gather_again(struct log_writer *w, struct state *s, const void *frame, const struct log_frame *h)
{
	struct buf room = {0};
	struct str events;
	struct event ev = {.time = h->time};
	bool good = log_frame_events(frame, h, &room, &events) == 0 && events.n <= LOG_PAYLOAD_MAX;
	s->first = h->time;
	s->number = h->number;
	s->seq = h->seq;
	s->len = s->count = 0;
	if (good) {
		unsigned char *at = w->sh->frame + sizeof(*h);
		memcpy(at, events.p, events.n);
		s->seq += h->count;
		s->count = h->count;
		s->len = (uint32_t)events.n;
		const unsigned char *next = at, *end = at + events.n;
		while (next < end && event_decode(&next, end, ev.time, &ev) == 0)
			;
	}
	s->last = ev.time;
	buf_release(&room);
	return good;
}

/* It is the last time, and the disk took no more of the queue: of its first frame what fits is written, and that the
 * rest is missing. */
static void write_queue_that_fits(struct log_writer *w, int error)
{
	struct state s = *current(w);
	const uint64_t next = s.seq;
	const int64_t until = s.unsaid && s.unsaid_until > s.last ? s.unsaid_until : s.last;
	size_t n;
	const void *p = log_queue_next(&w->sh->queue, &n);
	__atomic_store_n(&w->sh->queues, false, __ATOMIC_RELAXED); /* another thread may be at its last look */
	if (p) {
		const struct log_frame h = log_frame_header(p);
		gather_again(w, &s, p, &h);
		/* What has gathered comes after all frames. From here on it would be lost by a kill, which is said then. */
		s.lost += next - s.seq;
		s.unsaid_from = s.last;
		s.unsaid_until = until;
		s.unsaid += next - s.seq;
		s.why = s.error = error;
		while (log_queue_waiting(&w->sh->queue))
			log_queue_drop(&w->sh->queue);
		publish_state(w, &s);
	}
	write_what_fits(w);
}

/* The segment was removed with the record: what it held of this session is copied to where it can be found. */
static void rescue(struct log_writer *w)
{
	const char *name = strrchr(w->path, '/') + 1;
	int r = log_rescue(w->fd, w->roll == w->first_roll ? w->from : 0, w->sh->session, w->home, w->dir_path, name,
	                   &w->outcome.place);
	w->outcome.removed = r == 0 ? LOG_REMOVED_ANEW : r > 0 ? LOG_REMOVED_ELSEWHERE : LOG_REMOVED_LOST;
}

/* From here on frames are written to the segment by this thread. 0, or -errno: not all could be. */
static int end_queue(struct log_writer *w)
{
	int r = 0;
	if (!w->sh->queues)
		return 0;
	for (int i = 0; i < 2 && r == 0; i++) { /* twice, for what there was no room for in the queue */
		log_writer_seal(w);
		r = log_writer_settle(w);
	}
	if (r < 0)
		write_queue_that_fits(w, -r);
	__atomic_store_n(&w->sh->queues, false, __ATOMIC_RELAXED); /* another thread may be at its last look */
	return r;
}

int log_writer_end(struct log_writer *w, struct log_outcome *ret)
{
	int r = end_queue(w);
	if (w->dir >= 0 && w->roll != w->first_roll && log_rescue_needed(w->fd)) {
		struct event ev = {.kind = EVENT_gap,
		                   .time = current(w)->last,
		                   .gap = {.reason = TERM_gap_lost,
		                           .from = TIME_NONE,
		                           .text = str_of("the record was removed while it was written")}};
		log_writer_add(w, &ev);
	}
	int flushed = r < 0 ? r : log_writer_flush(w);
	if (r == 0 && flushed < 0) {
		r = flushed;
		write_what_fits(w);
	}
	if (log_writer_sync_when != LOG_SYNC_NEVER && w->dir >= 0) {
		int synced = log_writer_sync(w);
		r = r < 0 ? r : synced;
	}
	w->ended = true;
	w->outcome.error = -r;
	w->outcome.lost = current(w)->lost;
	w->outcome.nothing = current(w)->number == 0;
	if (w->dir >= 0 && log_rescue_needed(w->fd))
		rescue(w);
	*ret = w->outcome;
	return r;
}

int log_writer_close(struct log_writer *w)
{
	struct log_outcome outcome;
	if (!w)
		return 0;
	int r = w->ended ? -w->outcome.error : log_writer_end(w, &outcome);
	writer_free(w);
	return r;
}

uint64_t log_writer_session(const struct log_writer *w)
{
	return w->sh->session;
}

int64_t log_writer_last(const struct log_writer *w)
{
	return current(w)->last;
}

size_t log_writer_pending(const struct log_writer *w)
{
	return current(w)->len;
}

uint64_t log_writer_size(const struct log_writer *w)
{
	return w->size;
}

size_t log_writer_waiting(const struct log_writer *w)
{
	return current(w)->len + log_queue_waiting(&w->sh->queue);
}

uint64_t log_writer_lost(const struct log_writer *w)
{
	return current(w)->lost;
}

const char *log_writer_path(const struct log_writer *w)
{
	return w->path ? w->path : "";
}

const char *log_writer_folder(const struct log_writer *w)
{
	return w->dir_path ? w->dir_path : "";
}
