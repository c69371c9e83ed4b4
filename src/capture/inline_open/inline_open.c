#include "capture/inline_open/inline_open.h"
#include "base/os/memfile.h"
#include "capture/count/counted.h"
#include "capture/inject/inject.h"
#include "capture/inline_open/libraries.h"
#include "capture/inline_open/logging.h"
#include "capture/inline_open/thread_logs.h"
#include "capture/supervisor/rights.h"
#include "capture/supervisor/shield.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define TRIES 3
#define FAILURES 8 /* in a row: it does not work here */
#define HIGH_FD 1023
/* ns. How long the opens of a path wait for their look, where each look so far has found what the one before had found:
 * twice as long each time. What is changed from outside meanwhile is `may` for as long. */
#define WAIT_FIRST 20000000
#define WAIT_LONGEST 160000000
#define SEEN_TEXT (1 << 20) /* bytes of paths that are kept */
/* Entries of full logs that are looked at together: those of a tick where an open takes 5 us, so that a file opened
 * many times in it is looked up once. A stop meanwhile waits for them, 1.5 us each at most. */
#define TOGETHER 4096
#define HABITS 64
#define HABIT_OPENS 150 /* of a process; the code is paid for by 30 to 50 stops */
#define HABIT_AFTER 12  /* a program's loader opens some, at other places */
/* ns. After a thread has asked for another working directory, no thread is given a log for so long. What went wrong all
 * the same is found by what fstat said. */
#define MOVED_NS 20000000
#define CHILD_AFTER 24 /* stops after which a forked child is given a log: what giving it costs */

/* Programs of which two processes, one after the other, have opened many files: the next one is given the code as soon
 * as it opens files by its C library. */
static struct habit {
	uint64_t dev, ino;
	unsigned in_turn; /* processes of which that was so */
} habits[HABITS];

static struct habit *habit_of(const struct proc *p)
{
	return &habits[(p->exe_dev ^ p->exe_ino) % HABITS];
}

static bool is_used_to(const struct proc *p)
{
	const struct habit *h = habit_of(p);
	return p->exe_ino && h->ino == p->exe_ino && h->dev == p->exe_dev && h->in_turn >= 2;
}

/* A child like its parent is not asked, nor one that cannot be told. */
static bool has_habits(const struct proc *p)
{
	return p->execn && p->exe_ino;
}

/* p has opened one more file. */
static void learn_habit(const struct proc *p)
{
	struct habit *h = habit_of(p);
	if (p->open_stops + (p->logging ? p->logging->opens : 0) != HABIT_OPENS || !has_habits(p))
		return;
	if (h->ino != p->exe_ino || h->dev != p->exe_dev)
		*h = (struct habit){.dev = p->exe_dev, .ino = p->exe_ino};
	h->in_turn++;
}

/* p opens no more. */
static void learn_end(const struct proc *p)
{
	struct habit *h = habit_of(p);
	if (p->open_stops + (p->logging ? p->logging->opens : 0) < HABIT_OPENS && has_habits(p) && h->ino == p->exe_ino &&
	    h->dev == p->exe_dev)
		h->in_turn = 0;
}

static uint64_t tsc_now(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#else
	return 0;
#endif
}

static struct opens_slot *slot_of_log(const struct opens_logs *l, int i)
{
	return l->log[i];
}

/* Is it a call that can be made by the code? Where the program counts as well, it stops in the stubs for that. */
static bool is_injectable_call(const struct proc *p, const struct logging *g, const struct trap *t)
{
	uint64_t base, code, table;
	if (counted_library(p, t->ip, &base, &code, &table) == g->sites)
		return base == g->base;
	if (sites_stay(g->sites, t->ip - g->base) || sites_is_framed(g->sites, t->ip - g->base))
		return true;
	for (size_t i = 0; i < g->sites->n; i++)
		if (g->sites->site[i].kind == SITE_OPEN && t->ip == g->base + g->sites->site[i].offset + 2 &&
		    opens_wants(&g->sites->site[i]))
			return true;
	return false;
}

/* Its arguments from the path on: path, flags. */
static const uint64_t *path_arguments(const struct trap *t)
{
	return t->call == CALL_open ? t->args : t->args + 1;
}

static bool only_reads(const struct trap *t)
{
	return !t->compat && (t->call == CALL_open || (t->call == CALL_openat && (int)t->args[0] == AT_FDCWD)) &&
	       !(path_arguments(t)[1] & OPENS_FLAGS_NOT);
}

/* ---- taking ---- */

/* One more open of a path that is kept. */
static void wait_for_look(struct observed *m, uint64_t tsc)
{
	if (!m->opens++)
		m->first = tsc;
	m->last = tsc;
}

void logging_give_up(struct sup *s, struct proc *p)
{
	struct logging *g = p->logging;
	if (!g->never)
		sup_gap(s, p, TERM_gap_lost, 0, "its log of opened files could not be read to its end");
	g->never = true;
	if (g->slot >= 0) {
		__atomic_store_n(&slot_of_log(s->opens, g->slot)->gate, 1, __ATOMIC_SEQ_CST);
		thread_logs_gate(s->opens, g);
	}
}

/* Is the file that the path led to the one that the program has opened, as far as that is known? */
static bool is_its_file(const struct opened_id *id, const struct logged_file *what)
{
	return !id->ino || (id->dev == what->id.dev && id->ino == what->id.ino);
}

bool logging_append(struct opens_logs *l, struct proc *p, const struct opens_entry *e, const unsigned char *path,
                    const struct opened *how)
{
	if (l->ntaken == l->room) {
		size_t room = l->room ? 2 * l->room : 1024;
		struct opened *v = realloc(l->taken, room * sizeof(*v));
		if (!v)
			return false;
		l->taken = v;
		l->room = room;
	}
	size_t at = l->paths.n;
	bool nofollow = e->flags & O_NOFOLLOW;
	buf_add(&l->paths, path, e->length);
	if (l->paths.n != at + e->length)
		return false;
	const char *copy = (const char *)l->paths.p + at;
	l->paths.p[l->paths.n - 1] = '\0';
	uint64_t hash = observed_hash(p, copy, e->length, nofollow);
	struct observed *m = e->value < 0 || e->value == OPENED_UNKNOWN || how->late
	                         ? NULL
	                         : observed_find(&l->observed, p, copy, e->length, nofollow, hash);
	if (m && m->kept && e->tsc > m->tsc && is_its_file(&how->id, &m->what)) {
		wait_for_look(m, e->tsc);
		l->paths.n = at;
	} else {
		l->taken[l->ntaken++] = (struct opened){.proc = p,
		                                        .tsc = e->tsc,
		                                        .value = e->value,
		                                        .flags = e->flags,
		                                        .path = at,
		                                        .length = e->length,
		                                        .id = how->id,
		                                        .late = how->late,
		                                        .ended = how->ended,
		                                        .hash = hash};
	}
	p->logging->fresh += e->value >= 0;
	p->logging->opens++;
	learn_habit(p);
	return true;
}

/* Copies one log. What is there may be anything. */
static void copy_log(struct sup *s, int i)
{
	struct opens_logs *l = s->opens;
	struct opens_slot *log = slot_of_log(l, i);
	struct proc *p = l->owner[i];
	struct logging *g = p->logging;
	uint32_t pos = __atomic_load_n(&log->pos, __ATOMIC_ACQUIRE), from = log->taken;
	bool idle = __atomic_load_n(&log->busy, __ATOMIC_RELAXED) == 0;
	if (pos != from && !g->never) {
		struct task *k = task_known(s, p->pid);
		if (k)
			k->stops++; /* the call that it stopped at last has come back */
	}
	while (pos != from && !g->never) {
		struct opens_entry e;
		const unsigned char *path;
		if (opens_entry_read(log, from, pos, &e, &path) < 0 ||
		    !logging_append(l, p, &e, path, &(struct opened){.late = g->late && e.tsc <= g->late})) {
			logging_give_up(s, p);
			break;
		}
		from += e.cells;
	}
	__atomic_store_n(&log->taken, pos, __ATOMIC_RELEASE);
	uint32_t lost = __atomic_load_n(&log->lost, __ATOMIC_RELAXED);
	if (lost != g->lost)
		sup_gap(s, p, TERM_gap_lost, lost - g->lost, "opened files that its log had no room for");
	g->lost = lost;
	if (idle)
		g->late = 0;
	thread_logs_copy(s, p);
}

/* ---- recording ---- */

static int by_tsc(const void *a, const void *b)
{
	const struct opened *x = a, *y = b;
	return x->tsc < y->tsc ? -1 : x->tsc > y->tsc ? 1 : x->path < y->path ? -1 : x->path > y->path;
}

/* Each log is in order as it is. */
static void sort_taken(struct opens_logs *l)
{
	for (size_t i = 1; i < l->ntaken; i++)
		if (by_tsc(&l->taken[i - 1], &l->taken[i]) > 0) {
			qsort(l->taken, l->ntaken, sizeof(*l->taken), by_tsc);
			return;
		}
}

/* A thread of p that says where it is: the first one may be over, and others not. */
static pid_t thread_with_cwd(const struct proc *p, const struct logging *g, struct stat *ret)
{
	char name[48];
	for (int i = -1; i < (g->threads ? OPENS_THREADS : 0); i++) {
		const pid_t tid = i < 0 ? p->pid : g->threads[i].tid;
		snprintf(name, sizeof(name), "/proc/%d/cwd", tid);
		if (tid && stat(name, ret) == 0)
			return tid;
	}
	return 0;
}

void logging_know_cwd(struct sup *s, struct proc *p, struct logging *g)
{
	struct stat st = {0};
	const pid_t tid = thread_with_cwd(p, g, &st);
	free(p->cwd);
	p->cwd = NULL;
	proc_cwd(s, p, tid ? tid : p->pid);
	g->cwd_dev = st.st_dev;
	g->cwd_ino = st.st_ino;
}

static bool cwd_is(const struct proc *p, dev_t dev, ino_t ino)
{
	struct stat st;
	return p->cwd && stat(p->cwd, &st) == 0 && st.st_dev == dev && st.st_ino == ino;
}

/* Its working directory may have got another name, and its name another directory: looked at once for all that was
 * taken together. */
static bool has_cwd(struct sup *s, struct proc *p)
{
	struct logging *g = p->logging;
	if (!g || g->batch == s->opens->batch)
		return !g || !g->lost_cwd;
	const dev_t dev = g->cwd_dev;
	const ino_t ino = g->cwd_ino;
	g->batch = s->opens->batch;
	g->lost_cwd = false;
	if (!cwd_is(p, dev, ino)) {
		logging_know_cwd(s, p, g);
		g->lost_cwd = g->cwd_dev != dev || g->cwd_ino != ino || !cwd_is(p, dev, ino);
	}
	return !g->lost_cwd;
}

/* The path from the root. False: longer than a path may be, or the working directory is not found. */
static bool from_root(struct sup *s, struct proc *p, const char *path, char ret[PATH_MAX])
{
	if (path[0] == '/')
		return snprintf(ret, PATH_MAX, "%s", path) < PATH_MAX;
	const char *cwd = has_cwd(s, p) ? proc_cwd(s, p, p->pid) : "";
	return cwd[0] && snprintf(ret, PATH_MAX, "%s/%s", cwd[1] ? cwd : "", path) < PATH_MAX;
}

/* Need a file that this path led to be looked at each time? Not where whatever changes it is a stop, which looks at all
 * before, or shows by its times. */
static bool may_defer_look(const struct proc *p, const struct logged_file *what, int64_t now)
{
	return what->file && !p->counted && !p->nwriting && file_is_steady(what->file, &what->print, now);
}

/* A relative path, and another thread has changed the working directory since it was looked for: where it leads now. */
static bool has_moved(struct sup *s, const struct opened *e, char full[PATH_MAX])
{
	const char *path = (const char *)s->opens->paths.p + e->path;
	if (path[0] == '/' || !e->proc->logging)
		return false;
	logging_know_cwd(s, e->proc, e->proc->logging);
	e->proc->logging->lost_cwd = false;
	return from_root(s, e->proc, path, full);
}

/* What was opened. */
static struct logged_file record_opened_file(struct sup *s, const struct opened *e, int64_t time)
{
	struct opens_logs *l = s->opens;
	const char *path = (const char *)l->paths.p + e->path;
	bool nofollow = e->flags & O_NOFOLLOW;
	struct observed *m = e->value < 0 || e->value == OPENED_UNKNOWN || e->late
	                         ? NULL
	                         : observed_find(&l->observed, e->proc, path, e->length, nofollow, e->hash);
	if (m && is_its_file(&e->id, &m->what)) {
		if (m->kept && e->tsc > m->tsc)
			wait_for_look(m, e->tsc);
		else if (m->what.file)
			calls_open_again(s, e->proc, &m->what, time, 1);
		return m->what;
	}
	char full[PATH_MAX];
	struct logged_file what = {0};
	int rc = -ENAMETOOLONG;
	const uint64_t tsc = tsc_now();
	const int64_t now = sup_now(s);
	if (!path[0])
		return what;
	if (from_root(s, e->proc, path, full)) {
		/* Asked for as a directory, and it is there: no path that was looked for and absent. */
		if (e->value == -ENOTDIR && (e->flags & O_DIRECTORY) && access(full, F_OK) == 0)
			return what;
		enum logged how = e->value < 0                 ? LOGGED_ABSENT
		                  : e->late                    ? LOGGED_LATE
		                  : e->value == OPENED_UNKNOWN ? LOGGED_STOPPED
		                                               : LOGGED_MADE;
		rc = calls_open_known(s, e->proc, full, e->flags, how, time, &e->id, &what);
		if (rc < 0 && e->id.ino && has_moved(s, e, full))
			rc = calls_open_known(s, e->proc, full, e->flags, how, time, &e->id, &what);
	}
	if (rc < 0 && e->value == OPENED_UNKNOWN && !e->ended && (rc == -ENOENT || rc == -ENOTDIR))
		rc = calls_open_logged(s, e->proc, full, e->flags, LOGGED_ABSENT, time, &what);
	if (rc < 0 && e->id.ino && calls_open_descriptor(s, e->proc, e->value, e->flags, time, &e->id) == 0)
		return (struct logged_file){0};
	if (rc == -ESTALE)
		sup_gap(s, e->proc, TERM_gap_unsettled, 1,
		        "which file it opened is not known: its path leads to another one than the kernel opened");
	else if (!e->ended && (rc < 0 || e->late))
		sup_gap(s, e->proc, TERM_gap_lost, 1,
		        rc < 0 ? "a file that it opened had gone before it was looked at"
		               : "a name changed while it opened the file");
	if (rc < 0 || e->late || e->value < 0 || e->value == OPENED_UNKNOWN)
		return (struct logged_file){0};
	/* One that is only possible says nothing of the next. */
	if (what.sure && !m)
		observed_add(&l->observed,
		             &(struct observed){.proc = e->proc,
		                                .length = e->length,
		                                .nofollow = nofollow,
		                                .kept = may_defer_look(e->proc, &what, now),
		                                .what = what,
		                                .tsc = tsc,
		                                .time = now,
		                                .wait = WAIT_FIRST},
		             path, e->hash);
	return what;
}

/* When the counter was at tsc, after the look at m and before now. */
static int64_t time_since(const struct observed *m, uint64_t tsc, uint64_t now_tsc, int64_t now)
{
	double scale = now_tsc > m->tsc ? (double)(now - m->time) / (double)(now_tsc - m->tsc) : 0;
	int64_t time = m->time + (int64_t)((double)(tsc - m->tsc) * scale);
	return time < now ? time : now;
}

/* Looks at what has been opened again since it was looked at. */
static void stat_observed_again(struct sup *s, struct observed *m)
{
	struct opens_logs *l = s->opens;
	const uint64_t tsc = tsc_now();
	const int64_t now = sup_now(s), first = time_since(m, m->first, tsc, now), last = time_since(m, m->last, tsc, now);
	char full[PATH_MAX];
	unsigned flags = m->nofollow ? O_NOFOLLOW : 0;
	int rc = from_root(s, m->proc, observed_path(&l->observed, m), full) ? 0 : -ENAMETOOLONG;
	if (rc == 0 && calls_open_is_same(s, m->proc, full, flags, &m->what)) {
		calls_open_again(s, m->proc, &m->what, first, m->opens);
		m->tsc = tsc;
		m->time = now;
		m->wait = 2 * m->wait < WAIT_LONGEST ? 2 * m->wait : WAIT_LONGEST;
	} else {
		if (rc == 0)
			rc = calls_open_changed(s, m->proc, full, flags, &m->what,
			                        &(struct opened_since){m->time, first, last, m->opens});
		if (rc < 0)
			sup_gap(s, m->proc, TERM_gap_lost, m->opens, "a file that it opened had gone before it was looked at");
		else if (m->wait > WAIT_FIRST)
			sup_gap(
			    s, m->proc, TERM_gap_lost, m->opens,
			    "a file that it opened again and again was changed from outside: it may have read what was there in "
			    "between");
		m->kept = false;
	}
	m->opens = 0;
}

/* When the next look is due, of those that were opened again; INT64_MAX: there is none. */
static int64_t next_look(const struct opens_logs *l)
{
	int64_t next = INT64_MAX;
	for (size_t i = 0; i < l->observed.nused; i++) {
		const struct observed *m = &l->observed.observed[l->observed.used[i]];
		if (m->opens && m->time + m->wait < next)
			next = m->time + m->wait;
	}
	return next;
}

/* all: also at what could wait. */
static void look_at_waiting(struct sup *s, bool all)
{
	struct opens_logs *l = s->opens;
	const int64_t now = sup_now(s);
	for (size_t i = 0; i < l->observed.nused; i++) {
		struct observed *m = &l->observed.observed[l->observed.used[i]];
		if (m->opens && (all || m->time + m->wait <= now))
			stat_observed_again(s, m);
		if (i % 64 == 63)
			sup_goes_on(s);
	}
}

/* What they count of what they have opened; and then what the opens put off. */
static void count_owners(struct sup *s)
{
	struct opens_logs *l = s->opens;
	s->epoch++;
	for (int i = 0; i < OPENS_SLOTS; i++) {
		struct proc *p = l->owner[i];
		if (!p || !p->counted)
			continue;
		counted_update(s, p);
		proc_sweep_late(s, p);
		/* Its next open stops, and then all can be read. */
		slot_of_log(l, i)->most = counted_is_behind(p) ? 0 : OPENS_MOST_COUNTED;
	}
}

/* What they write and have closed ends, as it would at a stop (proc_end_closed): all that they read until now is in the
 * record before. */
static void end_closed(struct sup *s)
{
	struct opens_logs *l = s->opens;
	for (int i = 0; i < OPENS_SLOTS; i++) {
		struct proc *p = l->owner[i];
		unsigned n = p ? p->logging->fresh : 0;
		if (!n)
			continue;
		p->logging->fresh = 0;
		if (p->nwriting)
			proc_end_closed(s, p, n);
	}
}

static void copy_all_logs(struct sup *s)
{
	struct opens_logs *l = s->opens;
	for (int i = 0; i < OPENS_SLOTS; i++)
		if (l->owner[i])
			copy_log(s, i);
}

/* A thread asks for its log to be read: its call is one that fails. */
static bool is_drain(const struct sup *s, const struct trap *t)
{
	return s->opens && s->opens->used && !t->compat && t->call == CALL_openat && !t->args[1] && t->args[2] == O_PATH &&
	       (uint32_t)t->args[3] == OPENS_DRAIN && t->ip - OPENS_PAGE < OPENS_PAGE_SIZE;
}

bool opens_full(struct sup *s, const struct trap *t)
{
	struct opens_logs *l = s->opens;
	if (is_drain(s, t)) {
		s->traps++;
		copy_all_logs(s);
		return true;
	}
	struct task *k = l && l->used && only_reads(t) ? task_known(s, t->tid) : NULL;
	struct proc *p = k ? k->proc : NULL;
	struct logging *g = p ? p->logging : NULL;
	char path[OPENS_PATH];
	if (!g || g->slot < 0 || g->never || t->tid != p->pid || p->counted || !is_injectable_call(p, g, t) ||
	    p->shielded || p->stale || p->exec || l->barred || s->pending || p->tmpfile_tid)
		return false;
	const struct opens_slot *log = slot_of_log(l, g->slot);
	ssize_t n = log->pos == log->taken ? -1 : remote_string(t->tid, path_arguments(t)[0], path, sizeof(path));
	if (n <= 0 || path[1] == '.')
		return false;
	s->traps++;
	k->stops++;
	k->last = *t;
	k->can_block = true;
	copy_all_logs(s);
	struct opens_entry e = {
	    .tsc = tsc_now(), .value = OPENED_UNKNOWN, .flags = (uint32_t)path_arguments(t)[1], .length = (uint32_t)n + 1};
	if (!g->never && !logging_append(l, p, &e, (unsigned char *)path, &(struct opened){0}))
		sup_gap(s, p, TERM_gap_lost, 1, "out of memory");
	return true;
}

void opens_read_many(struct sup *s)
{
	if (s->opens && s->opens->ntaken >= TOGETHER)
		opens_read_tick(s);
}

/* all: nothing waits any more, and nothing is kept. */
static void read_logs(struct sup *s, bool all)
{
	struct opens_logs *l = s->opens;
	if (!l || !l->used || s->reading_opens)
		return;
	copy_all_logs(s);
	uint64_t tsc = tsc_now();
	int64_t now = sup_now(s);
	all |= l->observed.text.n > SEEN_TEXT || l->observed.nused > OBSERVED_MAX * 3 / 4;
	int64_t next = next_look(l);
	if (l->ntaken || next <= now || (all && next != INT64_MAX)) {
		struct task *current = s->current;
		s->reading_opens = true;
		s->current = NULL;
		s->epoch++;
		l->batch++;
		if (s->pending)
			pending_settle(s, NULL, 0, true);
		sort_taken(l);
		double scale = tsc > l->tsc ? (double)(now - l->time) / (double)(tsc - l->tsc) : 0;
		for (size_t i = 0; i < l->ntaken; i++) {
			const struct opened *e = &l->taken[i];
			int64_t time = e->tsc <= l->tsc ? l->time : l->time + (int64_t)((double)(e->tsc - l->tsc) * scale);
			struct logged_file what = record_opened_file(s, e, time < now ? time : now);
			if (e->value >= 0 && e->value != OPENED_UNKNOWN)
				counted_logged(e->proc, e->value, what.file, what.sure);
			if (i % 64 == 63)
				sup_goes_on(s);
		}
		look_at_waiting(s, all);
		l->ntaken = 0;
		l->paths.n = 0;
		s->reading_opens = false;
		end_closed(s);
		count_owners(s);
		s->current = current;
	}
	observed_forget(s, &l->observed, all);
	l->tsc = tsc;
	l->time = now;
}

void opens_read(struct sup *s)
{
	read_logs(s, true);
}

void opens_read_tick(struct sup *s)
{
	read_logs(s, false);
}

/* ---- names ---- */

#define PATIENCE_NS 50000

static bool is_over(const struct timespec *begin)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (now.tv_sec - begin->tv_sec) * 1000000000LL + now.tv_nsec - begin->tv_nsec > PATIENCE_NS;
}

void opens_bar(struct sup *s, pid_t tid)
{
	struct opens_logs *l = s->opens;
	if (!l || !l->used)
		return;
	l->barred = true;
	for (int i = 0; i < OPENS_SLOTS; i++) {
		if (!l->owner[i])
			continue;
		thread_logs_gate(l, l->owner[i]->logging);
		if (l->owner[i]->pid != tid)
			__atomic_store_n(&slot_of_log(l, i)->gate, 1, __ATOMIC_SEQ_CST);
	}
	struct timespec begin;
	clock_gettime(CLOCK_MONOTONIC, &begin);
	for (int i = 0; i < OPENS_SLOTS; i++) {
		bool busy = false;
		if (!l->owner[i])
			continue;
		while (l->owner[i]->pid != tid && (busy = __atomic_load_n(&slot_of_log(l, i)->busy, __ATOMIC_SEQ_CST) != 0) &&
		       !is_over(&begin))
			;
		if (busy)
			l->owner[i]->logging->late = tsc_now();
		while (l->threads && thread_logs_busy(s, l->owner[i]) && !is_over(&begin))
			;
		if (l->threads)
			thread_logs_late(s, l->owner[i]);
	}
}

void opens_moves(struct sup *s, struct proc *p)
{
	if (!p->logging || !p->logging->threads)
		return;
	opens_bar(s, p->pid);
	opens_read(s);
}

void opens_unbar(struct sup *s)
{
	struct opens_logs *l = s->opens;
	if (!l || !l->barred || pending_names(s))
		return;
	l->barred = false;
	for (int i = 0; i < OPENS_SLOTS; i++) {
		if (!l->owner[i])
			continue;
		if (!l->owner[i]->logging->never)
			__atomic_store_n(&slot_of_log(l, i)->gate, 0, __ATOMIC_RELEASE);
		thread_logs_gate(l, l->owner[i]->logging);
	}
}

/* ---- beginning ---- */

/* A megabyte for each processor that the run may use: its pages are the job's. */
static int logs_at_a_time(void)
{
	enum { PER_CORE = (1 << 20) / sizeof(struct opens_slot) };
	cpu_set_t set;
	int n = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : OPENS_SLOTS;
	return n * PER_CORE < OPENS_SLOTS ? n * PER_CORE : OPENS_SLOTS;
}

static bool make_logs(struct sup *s)
{
	if (s->opens)
		return !s->opens->off;
	struct opens_logs *l = s->opens = calloc(1, sizeof(*l));
	const void *code;
	if (!l)
		return false;
	l->logs = logs_at_a_time();
	l->off = !opens_code(&code);
	return !l->off;
}

static int free_log(struct opens_logs *l)
{
	int i = 0;
	while (i < l->logs && l->owner[i])
		i++;
	return i < l->logs ? i : -1;
}

/* Makes a log for p. Its memory's descriptor, which the caller closes; -errno. */
static int own_log(struct sup *s, struct proc *p, int i)
{
	struct opens_logs *l = s->opens;
	int fd = memfile_sealed("stemma", OPENS_LOG_SIZE);
	if (fd < 0)
		return fd;
	void *map = mmap(NULL, OPENS_LOG_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED) {
		int rc = -errno;
		close(fd);
		return rc;
	}
	l->map[i] = map;
	struct opens_slot *log = l->log[i] = (struct opens_slot *)(l->map[i] + OPENS_SLOT_AT);
	log->gate = l->barred;
	log->most = p->counted ? OPENS_MOST_COUNTED : OPENS_MOST;
	if (!l->used++) {
		l->tsc = tsc_now();
		l->time = sup_now(s);
	}
	l->owner[i] = p;
	p->logging->slot = i;
	p->logging->lost = 0;
	return fd;
}

/* The recorder has p's log no more. What p may still have is memory that it shares with nobody. */
static void disown_log(struct sup *s, struct proc *p)
{
	struct opens_logs *l = s->opens;
	struct logging *g = p->logging;
	if (!g || g->slot < 0)
		return;
	thread_logs_free(l, g);
	munmap(l->map[g->slot], OPENS_LOG_SIZE);
	l->map[g->slot] = NULL;
	l->log[g->slot] = NULL;
	l->owner[g->slot] = NULL;
	l->used--;
	g->slot = -1;
}

static void release_logging(struct sup *s, struct proc *p)
{
	disown_log(s, p);
	free(p->logging);
	p->logging = NULL;
	p->open_stops = p->other_stops = 0;
	p->inject_tries = 0;
	p->loader = 0;
}

void opens_free(struct sup *s, struct proc *p)
{
	learn_end(p);
	if (s->opens && p->logging)
		observed_forget(s, &s->opens->observed, true); /* its log has been read */
	release_logging(s, p);
}

static bool write_own_bytes(const struct proc *p, const struct opens_own *own, size_t n)
{
	struct iovec here = {(void *)(uintptr_t)own, n}, there = {(void *)(uintptr_t)OPENS_OWN, n};
	return process_vm_writev(p->pid, &here, 1, &there, 1, 0) == (ssize_t)n;
}

/* What is said of its threads stays. */
static bool write_own(const struct proc *p, uint64_t slot)
{
	struct opens_own own = {.slot = slot, .pid = (uint64_t)p->pid};
	return write_own_bytes(p, &own, offsetof(struct opens_own, cancel));
}

bool opens_disown(struct sup *s, struct proc *p)
{
	struct opens_own own;
	(void)s;
	if (remote_read(p->pid, OPENS_OWN, &own, sizeof(own)) != (ssize_t)sizeof(own))
		return false;
	p->old_code = true;
	const struct opens_own none = {.pid = (uint64_t)p->pid};
	return (own.slot || own.threads) && !write_own_bytes(p, &none, sizeof(none));
}

void opens_see_page(struct sup *s, const struct proc *p)
{
	unsigned char is[OPENS_PAGE_SIZE], as[OPENS_PAGE_SIZE] = {0};
	const void *code;
	size_t n = opens_code(&code);
	if (!s->injects || !n || n > sizeof(as) || remote_read(p->pid, OPENS_PAGE, is, sizeof(is)) != (ssize_t)sizeof(is))
		return;
	/* Mapped and still empty: a signal kept the code from being put there. */
	if (memcmp(is, as, sizeof(as)) == 0)
		return;
	memcpy(as, code, n);
	if (memcmp(is, as, sizeof(as)) != 0)
		sup_gap(s, p, TERM_gap_lost, 0, "it has code of its own where opens to read are not stopped");
}

/* A child without an exec has its parent's code, and if the memory is its own an empty page. */
static bool inherit_logging(struct sup *s, struct proc *p, const struct trap *t)
{
	struct proc *parent = p->execn ? NULL : proc_parent(s, p);
	uint64_t head[2];
	if (!parent || !parent->logging || !is_injectable_call(p, parent->logging, t) ||
	    remote_read(p->pid, parent->logging->code, head, sizeof(head)) != (ssize_t)sizeof(head) ||
	    head[0] != OPENS_PAGE || head[1] != OPENS_OWN)
		return false;
	p->logging = calloc(1, sizeof(*p->logging));
	if (!p->logging)
		return false;
	*p->logging = (struct logging){.code = parent->logging->code,
	                               .base = parent->logging->base,
	                               .sites = parent->logging->sites,
	                               .slot = -1,
	                               .never = parent->logging->never};
	return true;
}

/* May p log at all, and does it write nothing at the same time: what it reads from now on is read before or after that.
 */
static bool may_be_logged(const struct sup *s, const struct proc *p)
{
	return !p->foreign && !p->own_creds && !p->confined && !p->fs_per_thread && !p->exec && !p->stale && !s->refuse &&
	       !proc_writes_lately(p);
}

/* ... in the log of its own. */
static bool may_log(const struct sup *s, const struct proc *p, const struct trap *t)
{
	return t->tid == p->pid && !p->crowded && may_be_logged(s, p) && proc_has_one_thread(p);
}

/* ... in those of its threads. */
static bool may_log_threads(const struct sup *s, const struct proc *p, const struct sites *sites)
{
	return sites->nframed && sites->cancel && sites->tid && !p->has_guest && !p->counted && !s->exact &&
	       may_be_logged(s, p);
}

/* Without a limit to its memory. */
static bool has_log_room(const struct proc *p)
{
	struct rlimit rl;
	return prlimit(p->pid, RLIMIT_AS, NULL, &rl) == 0 && rl.rlim_cur == RLIM_INFINITY;
}

/* Can something be put into p, at this stop of its? Rights can also change where nothing stops: by a clone into other
 * namespaces, by a program that is set-user-id. */
static bool may_inject(struct sup *s, struct proc *p)
{
	if (p->inject_tries >= TRIES || !s->shield || p->unshielded || !has_log_room(p) || !make_logs(s) ||
	    free_log(s->opens) < 0)
		return false;
	p->confined = !rights_are_ours(p->pid);
	return !p->confined;
}

/* At this stop the process is given the code, or a log. */
static void choose_for_injection(struct sup *s, const struct proc *p, const struct trap *t, const struct sites *sites,
                                 uint64_t base, bool threads)
{
	uint64_t code = 0, table = 0, none;
	counted_library(p, t->ip, &none, &code, &table);
	s->inject_pid = p->pid;
	s->inject_tid = t->tid;
	s->inject_base = base;
	s->inject_sites = sites;
	s->inject_at_code = code;
	s->inject_at_table = table;
	s->inject_opens = true;
	s->inject_threads = threads;
}

/* p has the code, and is at a stop to open a file to read. */
static void go_log(struct sup *s, struct proc *p, const struct trap *t, bool threads)
{
	struct logging *g = p->logging;
	struct opens_own own;
	if (g->never || remote_read(p->pid, OPENS_OWN, &own, sizeof(own)) != (ssize_t)sizeof(own) ||
	    (own.pid && own.pid != (uint64_t)p->pid))
		return; /* it shares its parent's memory */
	if (own.missed) {
		sup_gap(s, p, TERM_gap_lost, own.missed, "opened files that its log had no room for");
		if (!write_own(p, own.slot))
			logging_give_up(s, p);
	}
	if (g->slot < 0) {
		unsigned after = s->inject_after < CHILD_AFTER ? s->inject_after : CHILD_AFTER;
		if (++p->open_stops >= after && may_inject(s, p))
			choose_for_injection(s, p, t, g->sites, g->base, threads);
		return;
	}
	if (threads) {
		if (sup_now(s) - p->moved > MOVED_NS && thread_logs_give(s, p, t->tid, &own))
			logging_know_cwd(s, p, g);
		return;
	}
	if (own.slot == OPENS_SLOT)
		return;
	logging_know_cwd(s, p, g);
	if (!write_own(p, OPENS_SLOT))
		logging_give_up(s, p);
}

void opens_confine(struct sup *s, struct proc *p)
{
	struct logging *g = p->logging;
	p->confined = s->any_confined = true;
	if (!g)
		return;
	if (g->slot >= 0) {
		bool own = write_own(p, 0);
		bool busy = false;
		struct timespec begin;
		g->never = true;
		thread_logs_gate(s->opens, g);
		clock_gettime(CLOCK_MONOTONIC, &begin);
		while ((busy = thread_logs_busy(s, p)) && !is_over(&begin))
			;
		if (g->threads) {
			g->never = false; /* what has come to its end meanwhile */
			thread_logs_copy(s, p);
			opens_read(s);
		}
		if (!own || busy || __atomic_load_n(&slot_of_log(s->opens, g->slot)->busy, __ATOMIC_SEQ_CST))
			sup_gap(s, p, TERM_gap_lost, 1, "a file that it was opening while it confined itself");
		observed_forget(s, &s->opens->observed, true); /* its log has been read */
		disown_log(s, p);
	}
	g->never = true;
}

/* Until it stops to open a file to read, p logs no more. */
static void close_logs(struct sup *s, struct proc *p)
{
	if (!p->logging || p->logging->slot < 0)
		return;
	if (!write_own(p, 0))
		logging_give_up(s, p);
	thread_logs_close(s->opens, p->logging);
}

void opens_after(struct sup *s, struct proc *p, const struct trap *t)
{
	if (!s->injects || s->refuse || s->inject_pid || (s->opens && s->opens->off))
		return;
	bool reads = only_reads(t);
	struct logging *g = p->logging;
	if (g && g->slot >= 0 && !reads &&
	    ((t->call >= CALL_open && t->call <= CALL_open_handle) || t->call == CALL_chdir || t->call == CALL_mount ||
	     t->call == CALL_share)) {
		close_logs(s, p);
		return;
	}
	if (!reads)
		return;
	if (!g && !inherit_logging(s, p, t)) {
		p->open_stops++;
		learn_habit(p);
		if (p->open_stops < s->inject_after && !(p->open_stops >= HABIT_AFTER && is_used_to(p)))
			return;
	}
	if (p->logging) {
		if (is_injectable_call(p, p->logging, t)) {
			if (may_log(s, p, t))
				go_log(s, p, t, false);
			else if (may_log_threads(s, p, p->logging->sites))
				go_log(s, p, t, true);
		}
		return;
	}
	if (p->inject_tries >= TRIES || !p->execn)
		return;
	uint64_t base, code, table;
	const struct sites *l = counted_library(p, t->ip, &base, &code, &table);
	if (!l)
		l = libraries_library_of(s, p, t->ip, &base);
	if (l && l->unmarked)
		return; /* a child in the same memory would not be told from it */
	if (l && may_log(s, p, t) && may_inject(s, p))
		choose_for_injection(s, p, t, l, base, false);
	else if (l && may_log_threads(s, p, l) && may_inject(s, p))
		choose_for_injection(s, p, t, l, base, true);
	else if (!l && !libraries_is_loader(p, t->ip) && ++p->other_stops > 4 * s->inject_after + 64)
		p->inject_tries = TRIES; /* its opens are not a library's */
}

int opens_free_number(const struct proc *p)
{
	struct rlimit rl;
	char name[64];
	if (prlimit(p->pid, RLIMIT_NOFILE, NULL, &rl) < 0 || rl.rlim_cur < 64)
		return -1;
	int fd = (rl.rlim_cur > HIGH_FD ? HIGH_FD : (int)rl.rlim_cur - 1) - (int)p->inject_tries;
	snprintf(name, sizeof(name), "/proc/%d/fd/%d", p->pid, fd);
	struct stat st;
	return lstat(name, &st) < 0 && errno == ENOENT ? fd : -1;
}

/* The process goes on without. */
static void injection_failed(struct sup *s, struct proc *p, bool child, bool again)
{
	unsigned tries = p->inject_tries;
	if (child)
		disown_log(s, p);
	else
		release_logging(s, p);
	p->inject_tries = again ? tries : TRIES;
}

/* Makes what is known of a process that is given the code. False: no memory. */
static bool begin_logging(struct sup *s, struct proc *p)
{
	p->logging = calloc(1, sizeof(*p->logging));
	if (p->logging)
		*p->logging = (struct logging){.base = s->inject_base, .sites = s->inject_sites, .slot = -1};
	return p->logging;
}

/* The memory of a log, given to the process while it stands at its stop. */
struct giving {
	struct sup *s;
	const struct notify_slot *slot;
	struct injection *injection;
	int fd, result;
	void (*go)(void *arg);
	void *arg;
};

static void give_and_go(void *arg)
{
	struct giving *x = arg;
	x->result = x->injection->ready ? notify_give(x->s->listener, x->slot, x->fd, x->injection->fd) : -EBUSY;
	if (x->result < 0)
		x->injection->fd = -1;
	x->go(x->arg);
}

void opens_inject(struct sup *s, const struct notify_slot *slot, void (*go)(void *arg), void *arg)
{
	struct proc *p = proc_by_pid(s, s->inject_pid);
	struct opens_logs *l = s->opens;
	s->inject_pid = 0;
	s->inject_opens = false;
	const bool child = p && p->logging;
	const int i = free_log(l), number = p && i >= 0 && (!child || p->logging->slot < 0) ? opens_free_number(p) : -1;
	if (number < 0 || (!child && !begin_logging(s, p))) {
		if (p)
			p->inject_tries++;
		go(arg);
		return;
	}
	p->inject_tries++;
	static struct injection injection; /* large, and one at a time */
	injection = (struct injection){.sites = s->inject_sites,
	                               .base = s->inject_base,
	                               .opens = true,
	                               .log_only = child,
	                               .pid = p->pid,
	                               .threads = s->inject_threads,
	                               .fd = number,
	                               .counted_code = s->inject_at_code,
	                               .counted_table = s->inject_at_table};
	struct giving giving = {s, slot, &injection, own_log(s, p, i), 0, go, arg};
	if (giving.fd < 0) {
		injection_failed(s, p, child, true);
		go(arg);
		return;
	}
	logging_know_cwd(s, p, p->logging);
	int rc = shield_inject(s->shield, s->inject_tid, &injection, give_and_go, &giving);
	close(giving.fd);
	if (giving.result < 0 && giving.result != -EBUSY)
		l->off |= giving.result != -ENOENT; /* 5.9 is too old, or refuses */
	if (rc < 0 || giving.result < 0) {
		bool again = rc == -EBUSY || giving.result < 0; /* it did not stop in time */
		if (giving.result == 0 && ++l->failures >= FAILURES)
			l->off = true;
		injection_failed(s, p, child, again);
		return;
	}
	if (!child)
		p->logging->code = injection.code;
	l->failures = 0;
}
