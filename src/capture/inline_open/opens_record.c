/* What programs have logged of their opens: taken from the logs, and recorded. */
#include "capture/count/counted.h"
#include "capture/inline_open/inline_open.h"
#include "capture/inline_open/logging.h"
#include "capture/inline_open/opens_folders.h"
#include "capture/inline_open/opens_late.h"
#include "capture/inline_open/thread_logs.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ns. How long the opens of a path wait for their look, where each look so far has found what the one before had found:
 * twice as long each time. What is changed from outside meanwhile is `may` for as long. */
#define WAIT_FIRST 20000000
#define WAIT_LONGEST 160000000
#define SEEN_TEXT (1 << 20) /* bytes of paths that are kept */
/* Entries of full logs that are looked at together: those of a tick where an open takes 5 us, so that a file opened
 * many times in it is looked up once. A stop meanwhile waits for them, 1.5 us each at most. */
#define TOGETHER 4096

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
		__atomic_store_n(&logging_slot(s->opens, g->slot)->gate, 1, __ATOMIC_SEQ_CST);
		thread_logs_gate(s->opens, g);
	}
}

/* Is the file that the path led to the one that the program has opened, as far as that is known? */
static bool is_its_file(const struct opened_id *id, const struct logged_file *what)
{
	return !id->ino || (id->dev == what->id.dev && id->ino == what->id.ino);
}

/* Puts the path behind the others, as one from the root where it begins in a folder. Its bytes, with its NUL; 0: no
 * memory. */
static uint32_t append_path(struct opens_logs *l, const struct opens_entry *e, const char *folder,
                            const unsigned char *path, size_t *ret_at)
{
	const size_t at = l->paths.n, k = folder ? strlen(folder) + 1 : 0;
	if (k) {
		buf_add(&l->paths, folder, k - 1);
		buf_add(&l->paths, "/", 1);
	}
	buf_add(&l->paths, path, e->length);
	if (l->paths.n != at + k + e->length)
		return 0;
	l->paths.p[l->paths.n - 1] = '\0';
	const bool whole = k && (l->paths.p[at + k] == '/' || !l->paths.p[at + k]);
	*ret_at = whole ? at + k : at;
	return e->length + (whole ? 0 : (uint32_t)k);
}

bool logging_append(struct opens_logs *l, struct proc *p, const struct opens_entry *e, const char *folder,
                    const unsigned char *path, const struct opened *how)
{
	if (l->ntaken == l->room) {
		size_t room = l->room ? 2 * l->room : 1024;
		struct opened *v = realloc(l->taken, room * sizeof(*v));
		if (!v)
			return false;
		l->taken = v;
		l->room = room;
	}
	size_t at;
	bool nofollow = e->flags & O_NOFOLLOW;
	const size_t before = l->paths.n;
	const uint32_t length = append_path(l, e, folder, path, &at);
	if (!length)
		return false;
	const char *copy = (const char *)l->paths.p + at;
	uint64_t hash = observed_hash(p, copy, length, nofollow);
	struct observed *m = e->value < 0 || e->value == OPENED_UNKNOWN || how->late
	                         ? NULL
	                         : observed_find(&l->observed, p, copy, length, nofollow, hash);
	if (m && m->kept && e->tsc > m->tsc && is_its_file(&how->id, &m->what)) {
		wait_for_look(m, e->tsc);
		l->paths.n = before;
	} else {
		l->taken[l->ntaken++] = (struct opened){.proc = p,
		                                        .tsc = e->tsc,
		                                        .value = e->value,
		                                        .flags = e->flags,
		                                        .path = at,
		                                        .length = length,
		                                        .id = how->id,
		                                        .late = how->late,
		                                        .unasked = how->unasked,
		                                        .ended = how->ended,
		                                        .hash = hash};
	}
	p->logging->fresh += e->value >= 0;
	p->logging->opens++;
	logging_learn_habit(p);
	return true;
}

/* One entry of p's log. made: the folder that it is, ino 0: none. *ret_astray: the one it begins in was not found.
 * False: no memory. */
static bool copy_entry(struct sup *s, struct proc *p, const struct opens_entry *e, const struct opens_folder_row *made,
                       const unsigned char *path, bool *ret_astray)
{
	struct logging *g = p->logging;
	char copy[OPENS_PATH + 1];
	const char *folder = e->folder ? opens_folders_name(s->opens, g, e->folder) : NULL;
	*ret_astray = e->folder && !folder;
	if (!*ret_astray &&
	    !logging_append(s->opens, p, e, folder, path, &(struct opened){.late = g->late && e->tsc <= g->late}))
		return false;
	if (made->ino && e->value >= 0) { /* it may take the row of the one it begins in */
		memcpy(copy, path, e->length);
		copy[e->length] = '\0';
		opens_folders_made(s, p, made, folder, *ret_astray ? "" : copy, e->flags);
	}
	return true;
}

/* Copies one log. What is there may be anything. */
static void copy_log(struct sup *s, int i)
{
	struct opens_logs *l = s->opens;
	struct opens_slot *log = logging_slot(l, i);
	struct proc *p = l->owner[i];
	struct logging *g = p->logging;
	uint32_t pos = __atomic_load_n(&log->pos, __ATOMIC_ACQUIRE), from = log->taken;
	bool idle = __atomic_load_n(&log->busy, __ATOMIC_RELAXED) == 0;
	if (pos != from && !g->never) {
		struct task *k = task_known(s, p->pid);
		if (k)
			k->stops++; /* the call that it stopped at last has come back */
	}
	uint64_t unfound = 0;
	while (pos != from && !g->never) {
		struct opens_entry e;
		struct opens_folder_row made;
		const unsigned char *path;
		bool astray = false;
		if (opens_entry_read(log, from, pos, &e, &made, &path) < 0 || !copy_entry(s, p, &e, &made, path, &astray)) {
			logging_give_up(s, p);
			break;
		}
		unfound += astray;
		from += e.cells;
	}
	g->astray |= unfound != 0;
	__atomic_store_n(&log->notes, opens_folders_noted(s, g), __ATOMIC_RELAXED);
	if (unfound)
		sup_gap(s, p, TERM_gap_lost, unfound, "opened files relative to a folder that could not be found");
	__atomic_store_n(&log->taken, pos, __ATOMIC_RELEASE);
	uint32_t lost = __atomic_load_n(&log->lost, __ATOMIC_RELAXED);
	if (lost != g->lost)
		sup_gap(s, p, TERM_gap_lost, lost - g->lost, "opened files beyond the size of its log");
	g->lost = lost;
	if (idle)
		g->late = 0;
	thread_logs_copy(s, p);
}

/* ---- recording ---- */

/* By the processor's clock, then as they lie in the log. */
static int by_tsc(const void *a, const void *b)
{
	const struct opened *x = a, *y = b;
	return x->tsc < y->tsc ? -1 : x->tsc > y->tsc ? 1 : x->path < y->path ? -1 : x->path > y->path;
}

/* Sorts what was taken from the logs. Each log is in order as it is. */
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
	g->cwd_in_proc = p->cwd && !strncmp(p->cwd, "/proc", 5);
}

/* Is that the process's working directory, by what is known of it? */
static bool cwd_is(const struct proc *p, dev_t dev, ino_t ino)
{
	struct stat st;
	return p->cwd && stat(p->cwd, &st) == 0 && st.st_dev == dev && st.st_ino == ino;
}

/* Its working directory may have got another name, and its name another directory: looked at once for all that was
 * taken together. False: it cannot be told which directory it was. */
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

/* How it is recorded; late as opens_late_settle says. */
static enum logged logged_as(const struct opened *e, enum opens_late late)
{
	return e->value < 0                 ? LOGGED_ABSENT
	       : late != OPENS_LATE_NOT     ? LOGGED_LATE
	       : e->value == OPENED_UNKNOWN ? LOGGED_STOPPED
	                                    : LOGGED_MADE;
}

/* Was it under way while names changed, and can it have been of another file for that? That there was none is so in any
 * case; and which it was is known where the kernel was asked. */
static enum opens_late late_kind(struct sup *s, const struct opened *e, const char *full, int64_t time)
{
	if (!e->late || e->value < 0 || e->id.ino)
		return OPENS_LATE_NOT;
	return e->unasked || e->ended || e->value == OPENED_UNKNOWN ? OPENS_LATE_UNKNOWN
	                                                            : opens_late_settle(s, e, full, time);
}

/* Looks at its path, and records it. 0: recorded, or nothing is to be, and ret, zero before, is as it was; -errno: it
 * is not known what it was. */
static int record_path(struct sup *s, const struct opened *e, int64_t time, enum opens_late *ret_late,
                       struct logged_file *ret)
{
	char full[PATH_MAX];
	int rc = -ENAMETOOLONG;
	*ret_late = e->late && e->value >= 0 && !e->id.ino ? OPENS_LATE_UNKNOWN : OPENS_LATE_NOT;
	if (from_root(s, e->proc, (const char *)s->opens->paths.p + e->path, full)) {
		/* Asked for as a directory, and it is there: no path that was looked for and absent. */
		if (e->value == -ENOTDIR && (e->flags & O_DIRECTORY) && access(full, F_OK) == 0)
			return 0;
		*ret_late = late_kind(s, e, full, time);
		const enum logged how = logged_as(e, *ret_late);
		rc = calls_open_known(s, e->proc, full, e->flags, how, time, &e->id, ret);
		if (rc < 0 && e->id.ino && has_moved(s, e, full))
			rc = calls_open_known(s, e->proc, full, e->flags, how, time, &e->id, ret);
	}
	if (rc < 0 && e->value == OPENED_UNKNOWN && !e->ended && (rc == -ENOENT || rc == -ENOTDIR))
		rc = calls_open_logged(s, e->proc, full, e->flags, LOGGED_ABSENT, time, ret);
	if (rc < 0 && e->id.ino &&
	    (opens_late_known(s, e, time) || calls_open_descriptor(s, e->proc, e->value, e->flags, time, &e->id) == 0)) {
		*ret = (struct logged_file){0};
		return 0;
	}
	return rc < 0 && *ret_late == OPENS_LATE_TOLD ? 0 : rc;
}

/* What is not known of it. */
static void emit_open_gap(struct sup *s, const struct opened *e, int rc, enum opens_late late)
{
	if (rc == -ESTALE)
		sup_gap(s, e->proc, TERM_gap_unsettled, 1, "which file it opened is unknown: the path no longer leads to it");
	else if (!e->ended && rc < 0)
		sup_gap(s, e->proc, TERM_gap_lost, 1, "a file that it opened was removed before it was examined");
	else if (!e->ended && late == OPENS_LATE_UNKNOWN)
		sup_gap(s, e->proc, TERM_gap_lost, 1,
		        e->unasked ? "it closed a file before it was examined" : "a name changed while it opened the file");
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
	struct logged_file what = {0};
	enum opens_late late;
	const uint64_t tsc = logging_tsc_now();
	const int64_t now = sup_now(s);
	if (!path[0])
		return what;
	int rc = record_path(s, e, time, &late, &what);
	emit_open_gap(s, e, rc, late);
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

/* The time when the counter was at tsc, after the look at m and before now. ns. */
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
	const uint64_t tsc = logging_tsc_now();
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
			sup_gap(s, m->proc, TERM_gap_lost, m->opens, "a file that it opened was removed before it was examined");
		else if (m->wait > WAIT_FIRST)
			sup_gap(s, m->proc, TERM_gap_lost, m->opens,
			        "a file that it opened repeatedly was modified by another process: it may have read an earlier "
			        "version");
		m->kept = false;
	}
	m->opens = 0;
}

/* The time when the next look is due, of those that were opened again; INT64_MAX: there is none. ns. */
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

/* Looks again at files that were opened without a stop, where it is time for that. all: also at what could wait. */
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
		logging_slot(l, i)->most = counted_is_behind(p) ? 0 : OPENS_MOST_COUNTED;
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

/* Copies what all processes have logged since, so that it can be told apart by time. */
static void copy_all_logs(struct sup *s)
{
	struct opens_logs *l = s->opens;
	l->copies++;
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
	struct task *k = l && l->used && logging_only_reads(t) ? task_known(s, t->tid) : NULL;
	struct proc *p = k ? k->proc : NULL;
	struct logging *g = p ? p->logging : NULL;
	char path[OPENS_PATH];
	if (!g || g->slot < 0 || g->never || t->tid != p->pid || p->counted || !logging_can_make(p, g, t) || p->shielded ||
	    p->stale || p->exec || l->barred || s->pending || p->tmpfile_tid)
		return false;
	const struct opens_slot *log = logging_slot(l, g->slot);
	/* Of a program with threads it has to be checked which file the kernel opens. */
	if (log->pos == log->taken || !proc_has_one_thread(p))
		return false;
	ssize_t n = remote_string(t->tid, logging_path_arguments(t)[0], path, sizeof(path));
	if (n <= 0 || path[1] == '.')
		return false;
	s->traps++;
	k->stops++;
	k->last = *t;
	k->can_block = true;
	copy_all_logs(s);
	struct opens_entry e = {.tsc = logging_tsc_now(),
	                        .value = OPENED_UNKNOWN,
	                        .flags = (uint32_t)logging_path_arguments(t)[1],
	                        .length = (uint32_t)n + 1};
	if (!g->never && !logging_append(l, p, &e, NULL, (unsigned char *)path, &(struct opened){0}))
		sup_gap(s, p, TERM_gap_lost, 1, "out of memory");
	return true;
}

void opens_read_many(struct sup *s)
{
	if (s->opens && s->opens->ntaken >= TOGETHER)
		opens_read_tick(s);
}

/* Reads the logs of all processes, and tells of the opens in them. all: nothing waits any more, and nothing is kept.
 */
static void read_logs(struct sup *s, bool all)
{
	struct opens_logs *l = s->opens;
	if (!l || !l->used || s->reading_opens)
		return;
	copy_all_logs(s);
	uint64_t tsc = logging_tsc_now();
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
		dirs_turn_begin();
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
		dirs_turn_end();
		look_at_waiting(s, all);
		l->ntaken = 0;
		opens_late_forget(s);
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
