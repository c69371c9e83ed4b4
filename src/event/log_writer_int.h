/* log_writer_int.h - what the parts of the log's writer share: its state, and the calls between log_writer.c (events
 * are gathered), log_writer_open.c (a segment is opened), log_writer_put.c (frames go to the disk) and log_writer_end.c
 * (the last write). Nobody else includes it, but tests that kill a writer. */
#ifndef STEMMA_EVENT_LOG_WRITER_INT_H
#define STEMMA_EVENT_LOG_WRITER_INT_H

#include "event/clean.h"
#include "event/log_frame.h"
#include "event/log_queue.h"
#include "event/log_reserve.h"
#include "event/log_writer.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/types.h>

#define LOG_GATHER 4096        /* bytes after which a frame is written */
#define LOG_RETRY_NS 100000000 /* after a failed write log_writer_add tries again no sooner */
#define LOG_ENDS_MAX 512       /* bytes of the two events that tell of the end */

/* All that changes while events are added. There are two of them in the shared memory and `which` says which one holds;
 * the other is filled and then made to hold by one store. So a SIGKILL at any instruction leaves the state before an
 * event or after it, never one in between. */
struct log_state {
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

struct log_shared {
	uint64_t session;
	_Atomic uint32_t which;
	_Atomic uint32_t roll; /* segment of the slot that is written to */
	bool queues;           /* frames go into the queue; set before there is another process */
	struct log_state state[2];
	unsigned char frame[sizeof(struct log_frame) + LOG_PAYLOAD_MAX]; /* untouched pages cost nothing */
	struct log_queue queue;
};

struct log_writer {
	struct log_shared *sh;
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

/* The state that holds; it stays as it is until log_writer_publish. */
static inline struct log_state *log_writer_current(const struct log_writer *w)
{
	return &w->sh->state[atomic_load_explicit(&w->sh->which, memory_order_acquire)];
}

/* Makes *s, which is copied, the state that holds. */
static inline void log_writer_publish(struct log_writer *w, const struct log_state *s)
{
	uint32_t other = !atomic_load_explicit(&w->sh->which, memory_order_relaxed);
	w->sh->state[other] = *s;
	atomic_store_explicit(&w->sh->which, other, memory_order_release);
}

/* ---- log_writer.c ---- */

/* Writes what has gathered as one frame, or puts it in the queue, and publishes that; s is the current state and
 * follows. 0, or -errno (-EBUSY: no room in the queue): it stays gathered. */
int log_writer_frame(struct log_writer *w, struct log_state *s);
/* Encodes ev into w->scratch. False if it cannot be kept, for *ret_why (errno, 0: too large). May write what had
 * gathered, to make room. */
bool log_writer_encode(struct log_writer *w, struct log_state *s, const struct event *ev, int *ret_why);
/* Puts the encoded event in w->scratch behind those that have gathered; s is changed but not published. */
void log_writer_append(struct log_writer *w, struct log_state *s, int64_t time);
/* Puts an event in the log that tells of the lost ones. False if it cannot be kept now. */
bool log_writer_say_lost(struct log_writer *w, struct log_state *s);

/* ---- log_writer_open.c ---- */

/* Are there `need` bytes of room in a segment that is `size` bytes long? */
bool log_writer_fits(uint64_t size, size_t need);
/* Opens segment `roll` of the slot in w's place; with need > 0 the first from there that has room for so many bytes
 * more, or is empty. 0, or -errno: w stays as it was, and *ret_path (free it) is what could not be opened. */
int log_writer_segment(struct log_writer *w, uint32_t roll, size_t need, char **ret_path);
/* Lets go of the segment and the lease and frees w; writes nothing. */
void log_writer_free(struct log_writer *w);

/* ---- log_writer_put.c ---- */

/* Another process wrote before: goes on in its segment. 0 or -errno. */
int log_writer_follow(struct log_writer *w);
/* Writes a whole frame of n bytes to the segment, or to the next one of the slot. 0, or -errno: nothing of it is left
 * there as far as that could be taken back. */
int log_writer_put(struct log_writer *w, const void *at, size_t n);
/* Puts a frame of n bytes in the queue; waits a moment for room where some has been made since the last time. False:
 * there was none. */
bool log_writer_enqueue(struct log_writer *w, struct log_state *s, const void *p, size_t n);
/* The queue is written, by the writing thread if there can be one. */
void log_writer_wake(struct log_writer *w);

#endif
