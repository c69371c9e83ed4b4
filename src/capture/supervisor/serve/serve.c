/* Who takes the stops under user notification: threads, of which one at a time receives. */
#include "capture/supervisor/serve/serve.h"

#include "base/io.h"
#include "capture/supervisor/shield/shield.h"

#include <errno.h>
#include <poll.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#define WARY_NS 10000000000 /* after the disk kept a server waiting no server writes for so long */
#define ALERT_NS 1000000000 /* after a look was held up, each look has another thread take the stops at once */
#define MINUTE_NS 60000000000
#define REPLACED INT64_MIN

/* One of the threads. It receives until another one has to do that in its place: since it writes the log, and the disk
 * keeps it waiting, or since it looks at a path, outside of the lock, and the file system does. It brings to an end
 * what it is at, and is a spare one then. */
struct serving {
	struct worker *w;
	struct serving *next; /* spare ones */
	struct notify_slot *slot;
	sem_t go;              /* it is to receive */
	pid_t tid;             /* 0: not begun */
	int64_t writing;       /* since when it writes; 0 it does not; REPLACED another one receives */
	int64_t looking;       /* the same of a look */
	bool replaced;         /* its own note of that */
	bool careful, put_off; /* it may not wait for a look; so this stop is put off */
	/* While it looks: since when; the stop it is at. let: that was let go on unseen. */
	int64_t began;
	uint64_t at, let;
	int64_t stuck; /* the look that it was found asleep at; the main thread's */
};

static _Thread_local struct serving *me;

int64_t serve_clock_ns(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

/* Lets the call go on that this thread has received. */
static void continue_own_stop(void *arg)
{
	const struct worker *w = arg;
	notify_continue(w->sup.listener, me->slot);
}

/* ---- the threads ---- */

static void serve_stops(struct worker *w);

/* Waits to be let receive, and receives until another one does. */
static void *run_server_thread(void *arg)
{
	me = arg;
	where_looks_own();
	__atomic_store_n(&me->tid, gettid(), __ATOMIC_RELEASE);
	for (;;) {
		while (sem_wait(&me->go) < 0)
			;
		serve_stops(me->w);
	}
	return NULL;
}

/* Makes what a thread needs that answers stopped calls. NULL: no memory. */
static struct serving *serving_new(struct worker *w, struct notify_slot *slot)
{
	struct serving *s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	s->w = w;
	s->slot = slot;
	sem_init(&s->go, 0, 0);
	return s;
}

/* One that nobody needs, or a new one. NULL: there is none to be had. */
static struct serving *spare_take(struct worker *w)
{
	pthread_t t;
	pthread_mutex_lock(&w->pool);
	struct serving *s = w->spare;
	if (s) {
		w->spare = s->next;
	} else if (w->nservers < SERVERS_MORE && (s = serving_new(w, &w->control->page.slot[SLOT_MORE + w->nservers]))) {
		if (pthread_create(&t, &w->attr, run_server_thread, s) == 0) {
			pthread_detach(t);
			w->servers[w->nservers++] = s;
		} else {
			free(s);
			s = NULL;
		}
	}
	__atomic_store_n(&w->full, !s || (!w->spare && w->nservers == SERVERS_MORE), __ATOMIC_RELAXED);
	pthread_mutex_unlock(&w->pool);
	return s;
}

/* The thread waits to be let receive again. */
static void spare_give(struct worker *w, struct serving *s)
{
	pthread_mutex_lock(&w->pool);
	__atomic_store_n(&w->full, false, __ATOMIC_RELAXED);
	s->next = w->spare;
	w->spare = s;
	pthread_mutex_unlock(&w->pool);
}

/* Lets a thread receive stops: from now on it receives; only one does. */
static void let_receive(struct worker *w, struct serving *s)
{
	__atomic_store_n(&w->serving, s, __ATOMIC_RELEASE);
	sem_post(&s->go);
}

/* Another one receives, so this one is spare; it waits, and does not end: what a thread has read and written is told
 * apart from the job's only while it lives. False: nobody receives, so it goes on. */
static bool wait_as_spare(struct worker *w)
{
	me->replaced = false;
	pthread_mutex_lock(&w->pool);
	bool needed = w->crowded;
	w->crowded = false;
	if (needed) {
		__atomic_store_n(&w->serving, me, __ATOMIC_RELEASE);
	} else {
		me->next = w->spare;
		w->spare = me;
		__atomic_store_n(&w->full, false, __ATOMIC_RELAXED);
	}
	pthread_mutex_unlock(&w->pool);
	return !needed;
}

/* Does the thread sleep? One that runs, or waits for a processor, is not held up. */
static bool is_thread_asleep(const struct serving *s)
{
	char name[48], text[512];
	/* Not below the worker's own folder: read_own says why. */
	snprintf(name, sizeof(name), "/proc/%d/stat", (int)__atomic_load_n(&s->tid, __ATOMIC_ACQUIRE));
	const char *state = io_text(name, text, sizeof(text)) ? strrchr(text, ')') : NULL;
	return !state || !strncmp(state, ") S", 3) || !strncmp(state, ") D", 3);
}

/* The thread that receives waits for a file system: lets one receive that came back just now. There is none: all wait
 * so, and the worker is marked crowded until one of them is back. */
static void hand_to_spare_or_mark_crowded(struct worker *w)
{
	pthread_mutex_lock(&w->pool);
	struct serving *s = w->spare; /* it came back just now */
	w->spare = s ? s->next : NULL;
	w->crowded = !s;
	__atomic_store_n(&w->serving, s, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&w->pool);
	if (s)
		sem_post(&s->go);
}

/* Whoever receives, if it has been kept waiting for a tick, need not any longer. */
void serve_watch(struct worker *w)
{
	struct serving *old = __atomic_load_n(&w->serving, __ATOMIC_ACQUIRE), *s;
	int64_t now = serve_clock_ns(), writing = old ? __atomic_load_n(&old->writing, __ATOMIC_ACQUIRE) : 0,
	        looking = old ? __atomic_load_n(&old->looking, __ATOMIC_ACQUIRE) : 0;
	bool writes = writing > 0 && now - writing >= SERVE_TICK_NS,
	     looks = looking > 0 && now - looking >= SERVE_TICK_NS && is_thread_asleep(old);
	if (!writes && !looks)
		return;
	s = spare_take(w);
	if (!s && writes) /* that one goes on when the disk does */
		return;
	struct notify_slot held = {.id = __atomic_load_n(&old->at, __ATOMIC_ACQUIRE)};
	if (!__atomic_compare_exchange_n(writes ? &old->writing : &old->looking, writes ? &writing : &looking, REPLACED,
	                                 false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
		if (s)
			spare_give(w, s); /* it is back */
		return;
	}
	if (writes) {
		__atomic_store_n(&w->wary, now + WARY_NS, __ATOMIC_RELAXED);
		notify_continue(w->sup.listener, &held);
	} else {
		__atomic_store_n(&w->alert, now + ALERT_NS, __ATOMIC_RELAXED);
	}
	if (s)
		let_receive(w, s);
	else
		hand_to_spare_or_mark_crowded(w);
}

/* A process that waits for a file system waits as it would without us, but no call of ours is worth more than a minute.
 * True: it has slept at a look for more than a tick. */
static bool let_after_a_minute(struct worker *w, struct serving *s, int64_t now)
{
	int64_t began = s ? __atomic_load_n(&s->began, __ATOMIC_ACQUIRE) : 0;
	struct notify_slot held = {.id = s ? __atomic_load_n(&s->at, __ATOMIC_ACQUIRE) : 0};
	if (!began || now - began < MINUTE_NS || __atomic_load_n(&s->let, __ATOMIC_ACQUIRE) == held.id ||
	    __atomic_load_n(&s->began, __ATOMIC_ACQUIRE) != began)
		return began && now - began >= SERVE_TICK_NS &&
		       (s->stuck == began || (is_thread_asleep(s) && (s->stuck = began)));
	__atomic_store_n(&s->let, held.id, __ATOMIC_RELEASE);
	notify_continue(w->sup.listener, &held);
	__atomic_add_fetch(&w->passed, 1, __ATOMIC_RELAXED);
	return true;
}

void serve_minute(struct worker *w)
{
	int64_t now = serve_clock_ns();
	pthread_mutex_lock(&w->pool);
	unsigned away = let_after_a_minute(w, w->first, now);
	for (unsigned i = 0; i < w->nservers; i++)
		away += let_after_a_minute(w, w->servers[i], now);
	if (away > w->away) /* there are more of its kind */
		__atomic_store_n(&w->alert, now + ALERT_NS, __ATOMIC_RELAXED);
	w->away = away;
	if (w->nparked && now - w->parked_at >= MINUTE_NS) {
		notify_release_parked(w->sup.listener, &w->control->page);
		__atomic_add_fetch(&w->passed, w->nparked, __ATOMIC_RELAXED);
		w->nparked = 0;
	}
	pthread_mutex_unlock(&w->pool);
}

/* ---- the lock, while arguments are looked at ---- */

/* Leaves the lock, before what may wait: gives the lock to others, and another thread receives if all would wait
 * otherwise. */
static void leave_lock(struct sup *s)
{
	struct worker *w = me->w;
	int64_t since = __atomic_load_n(&s->since, __ATOMIC_RELAXED);
	const bool lasts = s->leaves_long;
	s->leaves_long = false;
	if (!me->replaced && (lasts || since < __atomic_load_n(&w->alert, __ATOMIC_RELAXED) ||
	                      __atomic_load_n(&w->full, __ATOMIC_RELAXED))) {
		struct serving *other = spare_take(w);
		me->replaced = other;
		me->careful = !other;
		if (other)
			let_receive(w, other);
	}
	where_careful(me->careful ? &me->put_off : NULL);
	if (__atomic_load_n(&w->dozing, __ATOMIC_RELAXED) && __atomic_exchange_n(&w->dozing, 0, __ATOMIC_ACQ_REL))
		eventfd_write(w->wake, 1);
	__atomic_store_n(&me->began, since, __ATOMIC_RELEASE);
	if (!me->replaced)
		__atomic_store_n(&me->looking, since, __ATOMIC_RELEASE);
	__atomic_store_n(&s->since, 0, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&s->lock);
}

/* The lock is its own from then on. */
static void has_lock(struct worker *w)
{
	where_looks_shown();
	__atomic_store_n(&w->holds, me->at, __ATOMIC_RELEASE);
	__atomic_store_n(&w->server, me->tid, __ATOMIC_RELEASE);
}

/* Takes the lock again; false: its stop is over. What sup_back says of it holds. */
static bool come_back(struct sup *s)
{
	struct worker *w = me->w;
	int64_t since = me->began;
	where_careful(NULL);
	if (!me->replaced && __atomic_exchange_n(&me->looking, 0, __ATOMIC_ACQ_REL) == REPLACED)
		me->replaced = true;
	if (me->replaced)
		since = serve_clock_ns();
	__atomic_store_n(&me->began, 0, __ATOMIC_RELEASE);
	pthread_mutex_lock(&s->lock);
	has_lock(w);
	s->late = __atomic_load_n(&me->let, __ATOMIC_ACQUIRE) == me->at;
	__atomic_store_n(&s->since, since, __ATOMIC_RELEASE);
	return !me->replaced || s->late || notify_valid(s->listener, me->slot);
}

/* ---- one stop after the other ---- */

/* Where a process ends the server writes the log itself: what comes next may be a kill of everybody, and to wake
 * another thread 1000 times a second costs more than the write. Where the disk keeps it waiting another thread serves
 * in its place, 40 ms later at most, and no server writes for some time. True: that thread has answered. */
static bool write_log(struct worker *w)
{
	int64_t now = serve_clock_ns();
	if (now < __atomic_load_n(&w->wary, __ATOMIC_RELAXED) || me->replaced)
		return false;
	if (__atomic_exchange_n(&w->dozing, 0, __ATOMIC_ACQ_REL)) /* who looks whether this takes long is to be awake */
		eventfd_write(w->wake, 1);
	__atomic_store_n(&me->writing, now, __ATOMIC_RELEASE);
	log_writer_write(w->sup.log);
	me->replaced = __atomic_exchange_n(&me->writing, 0, __ATOMIC_ACQ_REL) == REPLACED;
	return me->replaced;
}

/* Counts the calls that the filter let pass since the last look. */
static void take_passes(struct worker *w)
{
	struct sup *s = &w->sup;
	uint64_t stood = __atomic_load_n(&w->control->passed, __ATOMIC_ACQUIRE);
	if (stood != w->stood[0]) {
		__atomic_add_fetch(&s->passes, stood - w->stood[0], __ATOMIC_RELEASE);
		w->stood[0] = stood;
	}
}

/* Takes the supervisor's lock for a stopped call. False: who has the lock is held up, and calls go by. */
static bool lock_for_stop(struct worker *w)
{
	while (pthread_mutex_trylock(&w->sup.lock) != 0) {
		struct timespec until;
		if (__atomic_load_n(&w->standing_in, __ATOMIC_ACQUIRE))
			return false;
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += SERVE_TICK_NS / 4;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		if (pthread_mutex_timedlock(&w->sup.lock, &until) == 0)
			break;
	}
	return true;
}

/* ---- stops that were put off ---- */

/* Puts off a stopped call until somebody can wait for what it has to look at. Later: the last thread that receives
 * may not wait for what it has to look at. False: there is no room. */
static bool park_stop(struct worker *w, struct notify_slot *slot, const struct trap *t)
{
	struct notify_page *page = &w->control->page;
	pthread_mutex_lock(&w->pool);
	if (!w->parked)
		w->parked = malloc(NOTIFY_PARKED * sizeof(*w->parked));
	bool room = w->parked && w->nparked < NOTIFY_PARKED;
	if (room) {
		__atomic_store_n(&page->parked[w->nparked], t->id, __ATOMIC_RELEASE);
		__atomic_store_n(&slot->id, 0, __ATOMIC_RELEASE);
		w->parked_at = w->nparked ? w->parked_at : serve_clock_ns();
		w->parked[w->nparked++] = *t;
	}
	pthread_mutex_unlock(&w->pool);
	return room;
}

/* One of them becomes this thread's. False: there are none. */
static bool unpark_stop(struct worker *w, struct trap *ret)
{
	struct notify_page *page = &w->control->page;
	pthread_mutex_lock(&w->pool);
	bool any = w->nparked;
	if (any) {
		*ret = w->parked[--w->nparked];
		__atomic_store_n(&me->slot->id, ret->id, __ATOMIC_RELEASE);
		__atomic_store_n(&page->parked[w->nparked], 0, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&w->pool);
	return any;
}

/* ---- one stop ---- */

/* The call is not made: fd, which is closed here, is its result. False: the stop is not answered yet. */
static bool answer_by_descriptor(const struct worker *w, int fd)
{
	if (fd < 0)
		return false;
	const bool answered = notify_open_as(w->sup.listener, me->slot, fd) == 0;
	close(fd);
	return answered;
}

/* Lets the stopped call go on, or refuses it (an errno). injects: by the injection, which answers itself. */
static void answer_stop(struct worker *w, const struct trap *t, int refuse, bool injects)
{
	struct sup *s = &w->sup;
	if (refuse) {
		notify_refuse(s->listener, me->slot, refuse);
	} else if (injects) {
		pthread_mutex_lock(&s->lock);
		s->visits++;
		s->inject(s, me->slot, continue_own_stop, w);
		pthread_mutex_unlock(&s->lock);
	} else if (me->put_off && park_stop(w, me->slot, t)) {
		me->put_off = false;
	} else {
		notify_continue(s->listener, me->slot);
	}
}

/* Handles a stop: all that is to be done of one stop, from the lock to the answer. */
static void handle_stop(struct worker *w, const struct trap *t)
{
	struct sup *s = &w->sup;
	__atomic_store_n(&me->at, t->id, __ATOMIC_RELEASE);
	me->careful = me->put_off = false;
	if (!lock_for_stop(w)) {
		serve_pass_unlooked(w, me->slot, t);
		return;
	}
	has_lock(w);
	s->visits++;
	s->late = false;
	w->begins = w->begins && t->tid == s->root && t->call == CALL_execve;
	bool begins = w->begins;
	if (begins)
		worker_hide_memory(false);
	take_passes(w);
	__atomic_store_n(&s->since, serve_clock_ns(), __ATOMIC_RELEASE);
	raw_resolve(w);
	if (feature_passes(s, t)) {
		notify_continue(s->listener, me->slot);
		feature_passed(s);
		__atomic_store_n(&s->since, 0, __ATOMIC_RELEASE);
		pthread_mutex_unlock(&s->lock);
		return;
	}
	int refuse = sup_trap(s, t), fd = s->answer;
	s->late = false;
	if (begins)
		worker_hide_memory(true);
	if (t->call == CALL_exit)
		log_writer_seal(s->log);
	bool injects = s->inject_pid && s->inject_tid == t->tid;
	__atomic_store_n(&s->since, 0, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&s->lock);
	if (t->call == CALL_exit && write_log(w))
		__atomic_store_n(&me->slot->id, 0, __ATOMIC_RELEASE);
	else if (!answer_by_descriptor(w, fd))
		answer_stop(w, t, refuse, injects);
}

/* Receives stopped calls and handles them. Returns when another thread has begun to receive, or nobody is left. */
static void serve_stops(struct worker *w)
{
	struct sup *s = &w->sup;
	struct trap t;
	__atomic_store_n(&w->control->server, me->tid, __ATOMIC_RELEASE);
	for (unsigned idle = 0;;) {
		int rc = notify_recv(s->listener, me->slot, &t);
		if (rc < 0) {
			/* The caller was killed meanwhile; or nobody is left, and the other thread sees that too. */
			struct pollfd p = {.fd = s->listener};
			if (rc == -ENOENT && poll(&p, 1, 0) == 1 && (p.revents & POLLHUP))
				return;
			if (rc == -ENOENT && ++idle > 16)
				usleep(2000);
			continue;
		}
		idle = 0;
		handle_stop(w, &t);
		while (me->replaced && unpark_stop(w, &t))
			handle_stop(w, &t);
		if (me->replaced && wait_as_spare(w))
			return;
	}
}

void worker_serve(struct worker *w)
{
	struct sup *s = &w->sup;
	if (!(me = serving_new(w, &w->control->page.slot[SLOT_SERVER])))
		_exit(1);
	me->tid = gettid();
	pthread_mutex_lock(&w->pool);
	w->first = me;
	pthread_mutex_unlock(&w->pool);
	s->leave = leave_lock;
	s->back = come_back;
	/* Until the command has become its program, which may take several tries, in this memory (vfork). */
	w->begins = true;
	__atomic_store_n(&w->serving, me, __ATOMIC_RELEASE);
	for (;;) {
		struct pollfd p = {.fd = s->listener};
		serve_stops(w);
		if (poll(&p, 1, 0) == 1 && (p.revents & POLLHUP))
			return;
		while (sem_wait(&me->go) < 0)
			;
	}
}
