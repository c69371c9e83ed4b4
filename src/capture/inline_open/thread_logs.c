#include "capture/inline_open/thread_logs.h"
#include "capture/supervisor/openings.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

#define CROWDED_NS 5000000
#define THREADS_A_LOG 4 /* threads' logs of a run, for each log of programs that there may be: 160 KB */

/* Part i of a process's log. Shared with that process: hostile. */
static struct opens_thread *log_of_thread(const struct opens_logs *l, const struct logging *g, int i)
{
	return (struct opens_thread *)(l->map[g->slot] + (size_t)i * OPENS_THREAD_SIZE);
}

/* Does /proc still have the thread? */
static bool thread_is_there(const struct proc *p, pid_t tid)
{
	char name[64];
	snprintf(name, sizeof(name), "/proc/%d/task/%d", p->pid, tid);
	return access(name, F_OK) == 0;
}

/* Is the thread within the code, so that its last entry may not be whole? */
static bool is_busy(const struct opens_thread *log)
{
	return __atomic_load_n(&log->busy, __ATOMIC_SEQ_CST) != 0;
}

/* ---- who may write ---- */

/* Opens or shuts the log for the thread: shut, its opens stop as they did without code. */
static void set_gate(const struct opens_logs *l, const struct logging *g, int i)
{
	const bool shut = l->barred || g->never || g->threads[i].closed;
	__atomic_store_n(&log_of_thread(l, g, i)->gate, shut, __ATOMIC_SEQ_CST);
}

void thread_logs_gate(struct opens_logs *l, struct logging *g)
{
	for (int i = 0; g->threads && i < OPENS_THREADS; i++)
		if (g->threads[i].tid)
			set_gate(l, g, i);
}

void thread_logs_close(struct opens_logs *l, struct logging *g)
{
	for (int i = 0; g->threads && i < OPENS_THREADS; i++)
		if (g->threads[i].tid) {
			g->threads[i].closed = true;
			set_gate(l, g, i);
		}
}

void thread_logs_free(struct opens_logs *l, struct logging *g)
{
	for (int i = 0; g->threads && i < OPENS_THREADS; i++)
		l->threads -= g->threads[i].tid != 0;
	free(g->threads);
	g->threads = NULL;
}

/* ---- what is in them ---- */

/* Its thread has ended in the middle of an open, for it was cancelled, and nobody else can have made the log busy.
 * Nobody has got the descriptor, so nothing was read by it; what it may have been is told as far as its path is still
 * there. */
static void take_unfinished(struct sup *s, struct proc *p, struct opens_thread *log)
{
	char path[OPENS_PATH];
	ssize_t n = log->frame ? remote_string(p->pid, log->path, path, sizeof(path)) : 0;
	const struct opens_entry e = {.tsc = log->tsc,
	                              .value = OPENED_UNKNOWN,
	                              .flags = log->flags & ~(uint32_t)OPENS_FLAGS_NOT,
	                              .length = (uint32_t)n + 1};
	if (n > 0)
		logging_append(s->opens, p, &e, NULL, (unsigned char *)path, &(struct opened){.late = true, .ended = true});
	log->frame = 0;
	__atomic_fetch_sub(&log->busy, 1, __ATOMIC_SEQ_CST);
}

/* The device as the log has it: major above, minor below. */
static struct opened_id id_of_entry(const struct opens_thread_entry *e)
{
	return (struct opened_id){.dev = (uint64_t)major(e->dev) << 32 | minor(e->dev), .ino = e->ino};
}

/* Takes over the entries that have come since. What cannot be read makes the whole log worthless (logging_give_up); an
 * entry that a thread was at when it ended is taken as far as it got. */
static void copy_thread_log(struct sup *s, struct proc *p, int i)
{
	struct logging *g = p->logging;
	struct thread_log *x = &g->threads[i];
	struct opens_thread *log = log_of_thread(s->opens, g, i);
	const bool busy = is_busy(log);
	const uint32_t pos = __atomic_load_n(&log->pos, __ATOMIC_ACQUIRE);
	uint32_t from = log->taken;
	if (pos != from) {
		struct task *k = task_known(s, x->tid);
		if (k && k->proc == p && log->tid == (uint32_t)x->tid)
			k->stops++; /* the call that it stopped at last has come back */
	}
	while (pos != from && !g->never) {
		struct opens_thread_entry e;
		const unsigned char *path;
		const int cells = opens_thread_entry_read(log, from, pos, &e, &path);
		/* Its descriptor was gone before it was asked for: which file it had is not known. */
		const bool unknown = cells > 0 && e.e.value >= 0 && !e.ino;
		const bool late = unknown || (x->late && from == x->late_pos);
		if (cells < 0 || e.e.value == OPENED_UNKNOWN ||
		    !logging_append(s->opens, p, &e.e, NULL, path,
		                    &(struct opened){.id = id_of_entry(&e), .late = late, .unasked = unknown})) {
			logging_give_up(s, p);
			break;
		}
		from += (uint32_t)cells;
	}
	__atomic_store_n(&log->taken, pos, __ATOMIC_RELEASE);
	if (!busy)
		x->late = false;
	else if (x->stuck && x->pos == pos && !thread_is_there(p, (pid_t)log->tid))
		take_unfinished(s, p, log);
	x->stuck = busy;
	x->pos = pos;
}

void thread_logs_copy(struct sup *s, struct proc *p)
{
	for (int i = 0; p->logging->threads && i < OPENS_THREADS; i++)
		if (p->logging->threads[i].tid)
			copy_thread_log(s, p, i);
}

bool thread_logs_busy(struct sup *s, struct proc *p)
{
	const struct logging *g = p->logging;
	for (int i = 0; g->threads && i < OPENS_THREADS; i++)
		if (g->threads[i].tid && is_busy(log_of_thread(s->opens, g, i)))
			return true;
	return false;
}

void thread_logs_late(struct sup *s, struct proc *p)
{
	struct logging *g = p->logging;
	for (int i = 0; g->threads && i < OPENS_THREADS; i++) {
		if (!g->threads[i].tid)
			continue;
		/* Who is busy writes the next entry; if it is written already, it was under way a moment ago. */
		struct opens_thread *log = log_of_thread(s->opens, g, i);
		const uint32_t pos = __atomic_load_n(&log->pos, __ATOMIC_SEQ_CST);
		if (!g->threads[i].late && is_busy(log)) {
			g->threads[i].late = true;
			g->threads[i].late_pos = pos;
		}
	}
}

/* ---- whose they are ---- */

/* Writes n bytes at this offset of the process's own page. False: it cannot be written. */
static bool write_page(const struct proc *p, size_t at, const void *v, size_t n)
{
	struct iovec here = {(void *)(uintptr_t)v, n}, there = {(void *)(uintptr_t)(OPENS_OWN + at), n};
	return process_vm_writev(p->pid, &here, 1, &there, 1, 0) == (ssize_t)n;
}

/* Bytes from the start of the thread's log. */
static size_t table_at(int i)
{
	return offsetof(struct opens_own, table) + (size_t)i * sizeof(struct opens_table);
}

/* The pointer of a thread, as it says itself: there must be its number behind it. */
static uint64_t pointer_of(const struct proc *p, pid_t tid, const struct opens_own *own, const struct sites *sites)
{
	const struct opens_want *w = &own->want[tid % OPENS_THREADS];
	int32_t is;
	uint64_t self;
	if (w->tid != (uint64_t)tid || !w->pointer ||
	    remote_read(p->pid, w->pointer + sites->tid, &is, sizeof(is)) != sizeof(is) ||
	    remote_read(p->pid, w->pointer + 16, &self, sizeof(self)) != sizeof(self))
		return 0;
	return is == tid && self == w->pointer ? w->pointer : 0;
}

/* Takes a log from a thread that is no more. False: it is there, or in the middle of something. */
static bool take_from_dead(struct sup *s, struct proc *p, int i)
{
	struct thread_log *x = &p->logging->threads[i];
	struct opens_thread *log = log_of_thread(s->opens, p->logging, i);
	const uint64_t nobody = 0;
	if (thread_is_there(p, x->tid) || (log->tid && thread_is_there(p, (pid_t)log->tid)))
		return false;
	x->closed = true;
	set_gate(s->opens, p->logging, i);
	if (!write_page(p, table_at(i), &nobody, sizeof(nobody)))
		return false;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	copy_thread_log(s, p, i);
	if (is_busy(log) && log->tid && !thread_is_there(p, (pid_t)log->tid))
		take_unfinished(s, p, log);
	if (is_busy(log))
		return false;
	copy_thread_log(s, p, i);
	*x = (struct thread_log){0};
	s->opens->threads--;
	return true;
}

/* A log that nobody has; -1: there is none. Looking who has ended takes 2 us a log: not each time. */
static int free_thread_log(struct sup *s, struct proc *p)
{
	struct logging *g = p->logging;
	const unsigned most = (unsigned)s->opens->logs * THREADS_A_LOG;
	for (int i = 0; i < OPENS_THREADS; i++)
		if (!g->threads[i].tid && s->opens->threads < most)
			return i;
	if (sup_now(s) - g->crowded < CROWDED_NS)
		return -1;
	for (int i = 0; i < OPENS_THREADS; i++)
		if (g->threads[i].tid && take_from_dead(s, p, i))
			return i;
	g->crowded = sup_now(s);
	return -1;
}

/* Whose pointer it is, or was. -1: it is none's. */
static int log_of_pointer(const struct logging *g, uint64_t pointer)
{
	for (int i = 0; i < OPENS_THREADS; i++)
		if (g->threads[i].tid && g->threads[i].pointer == pointer)
			return i;
	return -1;
}

/* Opens it to its thread. Always true. */
static bool open_thread_log(struct sup *s, struct proc *p, int i)
{
	struct opens_thread *log = log_of_thread(s->opens, p->logging, i);
	p->logging->threads[i].closed = false;
	__atomic_store_n(&log->shut, 0, __ATOMIC_SEQ_CST);
	set_gate(s->opens, p->logging, i);
	return true;
}

/* Gives the thread a log of its own, told by its thread pointer. False: there is none left, or the page cannot be
 * written. */
static bool give_new_thread_a_log(struct sup *s, struct proc *p, pid_t tid, uint64_t pointer)
{
	const uint32_t yes = 1;
	const int i = free_thread_log(s, p);
	if (i < 0)
		return false;
	const struct opens_table row = {pointer, OPENS_LOG + (uint64_t)i * OPENS_THREAD_SIZE};
	struct opens_thread *log = log_of_thread(s->opens, p->logging, i);
	p->logging->threads[i] = (struct thread_log){.tid = tid, .pointer = pointer, .lost = log->lost};
	s->opens->threads++;
	log->most = OPENS_THREAD_MOST;
	log->tid = (uint32_t)tid;
	open_thread_log(s, p, i);
	openings_rest(s);
	/* The address first: the program may be looking. */
	return write_page(p, table_at(i) + sizeof(row.pointer), &row.log, sizeof(row.log)) &&
	       write_page(p, offsetof(struct opens_own, threads), &yes, sizeof(yes)) &&
	       write_page(p, table_at(i), &row.pointer, sizeof(row.pointer));
}

bool thread_logs_give(struct sup *s, struct proc *p, pid_t tid, const struct opens_own *own)
{
	struct logging *g = p->logging;
	if (g->never || g->slot < 0 || (!g->threads && !(g->threads = calloc(OPENS_THREADS, sizeof(*g->threads)))))
		return false;
	for (int i = 0; i < OPENS_THREADS; i++)
		if (g->threads[i].tid == tid)
			return open_thread_log(s, p, i);
	const uint64_t pointer = pointer_of(p, tid, own, g->sites);
	if (!pointer)
		return false;
	const int i = log_of_pointer(g, pointer);
	if (i < 0)
		return give_new_thread_a_log(s, p, tid, pointer);
	/* Of a thread that ended: the new one has its pointer, and with that its log. */
	g->threads[i].tid = tid;
	return open_thread_log(s, p, i);
}
