#include "capture/node_tracer/tracer_int.h"
#include "capture/node_tracer/users.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

/* Read so often while there are events: at 100,000 a second 1,000 of 16,384 wait. 50 ms would save a quarter of what
 * 5,000 a second cost, and hardly ever tell a reading from a writing 20 ms before it (bench/node_delay.py). */
#define BUSY_NS 10000000L
#define QUIET_NS 100000000L /* ... when there was none for so long; the first one wakes the reader then */
#define ROUNDS_MAX 64       /* reads of one drain: what comes faster than it is read is left to the next */

/* The time of the given clock, ns. */
static int64_t read_clock_ns(clockid_t id)
{
	struct timespec ts;
	clock_gettime(id, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

/* In the clock that the record has: ns. */
int64_t tracer_now(const struct tracer *t)
{
	return read_clock_ns(CLOCK_MONOTONIC) + t->offset;
}

/* What lies between the clocks: of three tries that which took least. ns. */
static int64_t clock_offset(void)
{
	int64_t best = INT64_MAX, offset = 0;
	for (int i = 0; i < 3; i++) {
		int64_t a = read_clock_ns(CLOCK_MONOTONIC), real = read_clock_ns(CLOCK_REALTIME),
		        b = read_clock_ns(CLOCK_MONOTONIC);
		if (b - a < best) {
			best = b - a;
			offset = real - (a + b) / 2;
		}
	}
	return offset;
}

/* Adds fd to what the tracer waits for. 0, -errno. */
static int wait_for(struct tracer *t, int fd, uint32_t events)
{
	struct epoll_event ev = {.events = events};
	return epoll_ctl(t->epoll, EPOLL_CTL_ADD, fd, &ev) < 0 ? -errno : 0;
}

/* Every ns nanoseconds from now on; 0 stops it. */
static void set_timer(struct tracer *t, long ns)
{
	struct itimerspec it = {.it_interval.tv_sec = ns / 1000000000,
	                        .it_interval.tv_nsec = ns % 1000000000,
	                        .it_value.tv_sec = ns / 1000000000,
	                        .it_value.tv_nsec = ns % 1000000000};
	timerfd_settime(t->timer, 0, &it, NULL);
}

/* Sets how eagerly events are read. Busy: read by time, so that no event wakes anybody. Quiet: by time, so that the
 * next event's interval is not too long, and when it comes. pace: PACE_BUSY or PACE_QUIET. */
static void set_pace(struct tracer *t, int pace)
{
	if (pace == (int)t->pace)
		return;
	if (t->watch && pace == PACE_QUIET)
		wait_for(t, watch_fd(t->watch), EPOLLIN);
	else if (t->watch && t->pace == PACE_QUIET)
		epoll_ctl(t->epoll, EPOLL_CTL_DEL, watch_fd(t->watch), NULL);
	t->control->wake = pace == PACE_QUIET ? 0 : (uint32_t)(programs_ring_size(t->programs) / 2);
	t->pace = (unsigned)pace;
	set_timer(t, pace == PACE_BUSY ? BUSY_NS : QUIET_NS);
}

/* Called for each file system that is watched, or not any more, or cannot be (why). */
static void on_place(void *arg, const struct place *place, const char *mount, const char *type, bool watched,
                     const char *why)
{
	struct tracer *t = arg;
	if (!t->each)
		return;
	int64_t now = tracer_now(t);
	struct tracer_event ev = {.kind = TRACER_WATCH, .lo = now, .hi = now, .until = now};
	ev.watch.domain = place ? place->domain : NULL;
	ev.watch.dev = place ? place->dev : 0;
	ev.watch.mount = str_of(mount);
	ev.watch.type = str_of(type);
	ev.watch.watched = watched;
	ev.watch.why = why;
	tracer_emit(t, &ev);
}

/* Watches files from now on. 0; -errno with a sentence. */
static int open_files(struct tracer *t, struct err *err)
{
	const struct watch_options o = {.ops = t->o.ops,
	                                .mounts = t->o.mounts,
	                                .network = t->o.network,
	                                .places = t->places,
	                                .helper = t->helper,
	                                .told = on_place,
	                                .arg = t};
	int r = watch_open(&o, &t->watch, err);
	if (r < 0)
		return r;
	t->file_lo = tracer_now(t);
	t->notices = t->notices ? t->notices : malloc(NOTICES_BUFFER);
	return t->notices ? 0 : err_set(err, ENOMEM, "cannot read files' events");
}

/* Ends the watch of files, and forgets the mounts of all namespaces but the first. */
static void close_files(struct tracer *t)
{
	if (!t->watch)
		return;
	watch_close(t->watch);
	t->watch = NULL;
	while (places_at(t->places, 0))
		places_remove(t->places, places_at(t->places, 0));
	t->nnamespaces = 1;
}

/* c must have room. The cost is not known yet; text is copied, cut to its room. */
static void add_cap(struct tracer_caps *c, const char *name, bool works, const char *text)
{
	struct tracer_cap *cap = &c->cap[c->n++];
	cap->name = name;
	cap->works = works;
	cap->cost = -1;
	snprintf(cap->text, sizeof(cap->text), "%s", text);
}

/* Fills t->caps with what works here, or why not. */
static void find_caps(struct tracer *t)
{
	struct stat st;
	t->caps.n = 0;
	add_cap(&t->caps, "processes", true, "fork, exec and exit by raw tracepoints, read in the kernel");
	add_cap(&t->caps, "io_uring", programs_has_uring(t->programs),
	        programs_has_uring(t->programs) ? "who makes one is told"
	                                        : "the kernel has no tracepoint for it: who uses one is not told");
	add_cap(&t->caps, "users", t->users >= 0,
	        t->users >= 0
	            ? "changes of a process's user are seen at once, by the kernel's process connector"
	            : "there is no process connector: a change of a process's user is seen when it executes a program "
	              "or starts another process");
	if (t->watch) {
		const char *why = "there is no file system to watch";
		bool watched = false;
		for (size_t i = 0; places_at(t->places, i); i++) {
			const struct place *p = places_at(t->places, i);
			watched |= p->watched;
			why = p->why && !p->domain->pseudo ? p->why : why;
		}
		add_cap(&t->caps, "files", watched, watched ? "fanotify on every file system; events between two reads" : why);
		add_cap(&t->caps, "renames", watch_renames(t->watch),
		        watch_renames(t->watch) ? "both names in one event, with the file's identity"
		                                : "two events, and what is new by its name only: Linux 5.17 does better");
	}
	t->initial = stat("/proc/self/ns/pid", &st) < 0 || st.st_ino == 0xEFFFFFFCu;
	if (!t->initial)
		add_cap(&t->caps, "pid namespace", false,
		        "not the initial one: events of files and processes do not come together");
}

int tracer_open(const struct tracer_options *options, struct tracer **ret, struct err *err)
{
	struct tracer *t = calloc(1, sizeof(*t));
	struct stat st;
	int r;
	if (!t)
		return err_set(err, ENOMEM, "cannot trace the node");
	t->o = *options;
	t->o.mounts = options->mounts;
	t->epoll = t->timer = t->users = -1;
	t->own = getpid();
	t->own_helper = options->helper ? helper_pid(options->helper) : 0;
	t->offset = clock_offset();
	t->file_lo = tracer_now(t);
	for (const char *const *p = options->ignore; p && *p && t->nignore < IGNORED_MAX; p++)
		if ((t->ignore[t->nignore] = str_of(strdup(*p))).p)
			t->nignore++;
	t->o.ignore = NULL;
	if (stat("/proc/self/ns/mnt", &st) == 0)
		t->namespaces[t->nnamespaces++].ns = st.st_ino;
	t->helper = options->helper;
	if (!t->helper && helper_direct(&t->direct) == 0)
		t->helper = t->direct;
	if (!t->helper || places_new(t->helper, &t->places) < 0 || procs_new(&t->procs) < 0) {
		r = err_set(err, ENOMEM, "cannot trace the node");
		goto fail;
	}
	t->epoll = epoll_create1(EPOLL_CLOEXEC);
	t->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (t->epoll < 0 || t->timer < 0) {
		r = err_set(err, errno, "cannot trace the node");
		goto fail;
	}
	r = programs_open(options->ring_kb, &t->programs, err);
	if (r < 0)
		goto fail;
	struct err why = {0};
	if (users_open(&why, &t->users) < 0)
		t->users = -1;
	t->control = programs_control(t->programs);
	t->control->own = (uint32_t)t->own;
	t->control->no_env = options->no_env;
	wait_for(t, t->timer, EPOLLIN);
	wait_for(t, programs_fd(t->programs), EPOLLIN);
	t->pace = PACE_NONE;
	set_pace(t, PACE_BUSY);
	if (!options->no_files) {
		r = open_files(t, err);
		if (r < 0)
			goto fail;
	}
	find_caps(t);
	*ret = t;
	return 0;
fail:
	tracer_close(t);
	return r;
}

/* Closes and frees all of it. NULL is no error. */
void tracer_close(struct tracer *t)
{
	if (!t)
		return;
	access_release(t->access);
	if (t->places && t->epoll >= 0)
		close_files(t);
	programs_close(t->programs);
	if (t->users >= 0)
		close(t->users);
	if (t->epoll >= 0)
		close(t->epoll);
	if (t->timer >= 0)
		close(t->timer);
	places_free(t->places);
	helper_close(t->direct);
	procs_free(t->procs);
	buf_release(&t->records);
	buf_release(&t->leaving_records);
	free(t->held);
	free(t->leaving);
	free(t->notices);
	for (size_t i = 0; i < t->nignore; i++)
		free((char *)t->ignore[i].p);
	free(t);
}

const struct tracer_caps *tracer_has(const struct tracer *t)
{
	return &t->caps;
}

int tracer_fd(const struct tracer *t)
{
	return t->epoll;
}

/* Keeps a copy; one that is damaged, or finds no memory, counts as broken. */
static void hold_record(void *arg, const void *record, size_t size)
{
	struct tracer *t = arg;
	if (!record_is_sound(record, size)) {
		t->broken++;
		return;
	}
	if (t->nheld == t->held_cap) {
		size_t cap = t->held_cap ? 2 * t->held_cap : 256;
		struct held *more = realloc(t->held, cap * sizeof(*more));
		if (!more) {
			t->broken++;
			return;
		}
		t->held = more;
		t->held_cap = cap;
	}
	size_t at = t->records.n;
	buf_add(&t->records, record, size);
	while (t->records.n % 8 && !t->records.failed)
		buf_char(&t->records, 0);
	if (t->records.failed) {
		t->records.failed = false;
		t->records.n = at;
		t->broken++;
		return;
	}
	t->held[t->nheld] = (struct held){
	    .time = tracer_time(t, record_head(record)->time), .at = at, .size = size, .order = (uint32_t)t->nheld};
	t->nheld++;
}

/* What a burst took: it comes once in a while, and would stay. */
static void give_back(struct tracer *t)
{
	const size_t kept = 65536;
	if (!t->nheld && t->records.cap > kept)
		buf_release(&t->records);
	if (!t->nheld && t->held_cap * sizeof(*t->held) > kept) {
		free(t->held);
		t->held = NULL;
		t->held_cap = 0;
	}
	if (!t->nleaving && t->leaving_records.cap > kept)
		buf_release(&t->leaving_records);
	if (!t->nleaving && t->leaving_cap * sizeof(*t->leaving) > kept) {
		free(t->leaving);
		t->leaving = NULL;
		t->leaving_cap = 0;
	}
}

/* Tells of records that the kernel had no room for, and of those that could not be kept. */
static void emit_lost_records(struct tracer *t)
{
	uint64_t lost = __atomic_load_n(&t->control->lost, __ATOMIC_ACQUIRE);
	if (lost != t->lost_seen) {
		/* The beginning is taken before the count is read again: what is lost meanwhile may be in two gaps, and is
		 * never in none. The kernel counts first, and writes the beginning last. */
		uint64_t first = __atomic_exchange_n(&t->control->lost_first, 0, __ATOMIC_ACQ_REL);
		lost = __atomic_load_n(&t->control->lost, __ATOMIC_ACQUIRE);
		uint64_t last = __atomic_load_n(&t->control->lost_last, __ATOMIC_ACQUIRE);
		tracer_emit_lost(t, TRACER_LOST_PROCESS, lost - t->lost_seen,
		                 tracer_time(t, first && first < last ? first : last), tracer_time(t, last),
		                 "the ring buffer was full");
		t->stats.lost_process += lost - t->lost_seen;
		t->lost_seen = lost;
	}
	if ((t->broken || t->stats.lost_process) && !t->look_at)
		t->look_at = read_clock_ns(CLOCK_MONOTONIC) + LOOK_NS;
	if (t->broken) {
		tracer_emit_lost(t, TRACER_LOST_PROCESS, t->broken, t->file_lo, tracer_now(t), "records could not be kept");
		t->stats.lost_process += t->broken;
		t->broken = 0;
	}
}

/* The clock was set, if it is now another distance from the one that runs on. */
static void look_at_clock(struct tracer *t)
{
	int64_t offset = clock_offset(), by = offset - t->offset;
	if (by > -1000000 && by < 1000000)
		return;
	t->offset = offset;
	t->file_lo += by;
	for (size_t i = 0; i < t->nheld; i++)
		t->held[i].time += by;
	int64_t now = tracer_now(t);
	struct tracer_event ev = {.kind = TRACER_CLOCK, .lo = now, .hi = now, .until = now};
	ev.clock.by = by;
	tracer_emit(t, &ev);
}

/* The file systems that were marked when it was opened are told now that there is somebody to tell. */
static void tell_places(struct tracer *t)
{
	for (size_t i = 0; t->watch && places_at(t->places, i); i++) {
		const struct place *p = places_at(t->places, i);
		if (!p->domain->pseudo)
			on_place(t, p->silent ? NULL : p, p->shown, p->domain->type, p->watched, p->why ? p->why : "");
	}
	t->places_told = true;
}

/* One read of everything, told in order. *ret_empty: fanotify had no more. 0; -errno with a sentence. */
static int drain_once(struct tracer *t, bool *ret_empty, struct err *err)
{
	int64_t before = tracer_now(t), lo = t->file_lo;
	ssize_t n = 0;
	bool lost = false;
	*ret_empty = true;
	if (t->watch) {
		n = watch_read(t->watch, t->notices, NOTICES_BUFFER, ret_empty);
		if (n < 0) {
			tracer_emit_lost(t, TRACER_LOST_FILE, 0, lo, tracer_now(t), "the kernel's events could not be read");
			n = 0;
			*ret_empty = true;
		}
	}
	int64_t hi = tracer_now(t);
	if (*ret_empty)
		t->file_lo = before;
	if (t->users >= 0)
		users_read(t->users, hold_record, t, &lost);
	if (lost)
		tracer_emit_lost(t, TRACER_LOST_PROCESS, 0, lo, hi, "changes of users");
	int got = programs_read(t->programs, hold_record, t);
	if (got < 0)
		return err_set(err, -got, "cannot read the ring buffers");
	return order_emit(t, t->notices, (size_t)n, lo, hi, err);
}

int tracer_drain(struct tracer *t, tracer_each *each, void *arg, struct err *err)
{
	int64_t began = read_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	int r = 0;
	t->each = each;
	t->arg = arg;
	t->told = 0;
	uint64_t ticks;
	if (read(t->timer, &ticks, sizeof(ticks)) < 0)
		ticks = 0; /* something else woke us */
	look_at_clock(t);
	if (!t->places_told)
		tell_places(t);
	if (!t->alive_told)
		tracer_emit_alive(t);
	t->alive_told = true;
	/* Not by epoll: the kernel says it once, to whoever looks first. */
	struct pollfd mounts = {.fd = t->watch ? watch_mounts_fd(t->watch) : -1, .events = POLLPRI};
	if (poll(&mounts, 1, 0) > 0 && (mounts.revents & POLLPRI))
		watch_mounts(t->watch);
	t->leaving_before = t->nleaving;
	bool empty = false;
	for (int round = 0; round < ROUNDS_MAX && !empty && r >= 0; round++)
		r = drain_once(t, &empty, err);
	emit_lost_records(t);
	access_drain(t, false);
	int64_t now = read_clock_ns(CLOCK_MONOTONIC);
	order_missed(t, now);
	order_leave(t);
	if (t->told || t->nleaving || t->nheld || !empty)
		t->busy_until = now + QUIET_NS;
	set_pace(t, now < t->busy_until ? PACE_BUSY : PACE_QUIET);
	give_back(t);
	t->stats.cpu += (uint64_t)(read_clock_ns(CLOCK_THREAD_CPUTIME_ID) - began);
	t->each = NULL;
	return r < 0 ? r : (int)t->told;
}

int tracer_poll(struct tracer *t, int timeout_ms, tracer_each *each, void *arg, struct err *err)
{
	struct epoll_event ev;
	int n = epoll_wait(t->epoll, &ev, 1, timeout_ms);
	if (n < 0 && errno != EINTR)
		return err_set(err, errno, "cannot wait for events");
	return tracer_drain(t, each, arg, err);
}

int tracer_totals(struct tracer *t, tracer_each *each, void *arg, struct err *err)
{
	(void)err;
	t->each = each;
	t->arg = arg;
	t->told = 0;
	access_drain(t, true);
	t->each = NULL;
	return (int)t->told;
}

/* False only where on is asked for beyond TRACER_PASS users. */
bool tracer_pass(struct tracer *t, uint32_t uid, bool on)
{
	size_t i = 0;
	while (i < t->npassed && t->passed[i].uid != uid)
		i++;
	if (on && i == t->npassed) {
		if (i == TRACER_PASS)
			return false;
		t->passed[t->npassed].uid = uid;
		t->passed[t->npassed++].events = 0;
	} else if (!on && i < t->npassed) {
		t->passed[i] = t->passed[--t->npassed];
	}
	return true;
}

uint64_t tracer_passed(const struct tracer *t, uint32_t uid)
{
	for (size_t i = 0; i < t->npassed; i++)
		if (t->passed[i].uid == uid)
			return t->passed[i].events;
	return 0;
}

int tracer_files(struct tracer *t, bool on, struct err *err)
{
	if (on == (t->watch != NULL))
		return 0;
	int r = 0;
	set_pace(t, PACE_BUSY); /* fanotify is not waited for while it is made or taken away */
	if (on) {
		r = open_files(t, err);
		t->places_told = false;
	} else
		close_files(t);
	find_caps(t);
	return r;
}

/* Since tracer_open; memory in bytes. */
void tracer_stats(struct tracer *t, struct tracer_stats *ret)
{
	int n = 0;
	uint64_t waiting;
	t->stats.forks = t->control->forks;
	t->stats.execs = t->control->execs;
	t->stats.exits = t->control->exits;
	t->stats.urings = t->control->urings;
	programs_waiting(t->programs, &waiting, &t->stats.ring_size);
	t->stats.ring_bytes = waiting;
	if (t->watch && ioctl(watch_fd(t->watch), FIONREAD, &n) == 0)
		t->stats.queue_bytes = (uint64_t)n;
	t->stats.processes = procs_count(t->procs);
	t->stats.memory = programs_memory(t->programs) + access_memory(t->access) + places_memory(t->places) +
	                  procs_memory(t->procs) + t->records.cap + t->leaving_records.cap + NOTICES_BUFFER +
	                  t->held_cap * sizeof(*t->held) + t->leaving_cap * sizeof(*t->leaving) + sizeof(*t);
	*ret = t->stats;
}

struct rates {
	struct tracer_rate *rate;
	size_t n, room;
};

/* Adds the process's events to its tree and takes them from it. Where there is no room the tree with least gives way.
 * */
static void add_rate(void *arg, struct proc *proc)
{
	struct rates *r = arg;
	if (!proc->events)
		return;
	size_t i = 0;
	while (i < r->n && r->rate[i].pid != proc->root)
		i++;
	if (i == r->room) { /* full: the smallest makes place */
		i = 0;
		for (size_t k = 1; k < r->n; k++)
			if (r->rate[k].events < r->rate[i].events)
				i = k;
		if (r->rate[i].events >= proc->events) {
			proc->events = 0;
			return;
		}
		r->rate[i] = (struct tracer_rate){.pid = proc->root, .uid = proc->root_uid};
	} else if (i == r->n)
		r->rate[r->n++] = (struct tracer_rate){.pid = proc->root, .uid = proc->root_uid};
	r->rate[i].events += proc->events;
	proc->events = 0;
}

/* Order of qsort: the most events first. */
static int by_events(const void *a, const void *b)
{
	const struct tracer_rate *x = a, *y = b;
	return (x->events < y->events) - (x->events > y->events);
}

/* Those with most events first; how many there are, n at most. */
size_t tracer_rates(struct tracer *t, struct tracer_rate *ret, size_t n)
{
	struct rates r = {.rate = calloc(1024, sizeof(*r.rate)), .room = 1024};
	if (!r.rate)
		return 0;
	procs_each(t->procs, add_rate, &r);
	qsort(r.rate, r.n, sizeof(*r.rate), by_events);
	n = n < r.n ? n : r.n;
	memcpy(ret, r.rate, n * sizeof(*ret));
	free(r.rate);
	return n;
}
