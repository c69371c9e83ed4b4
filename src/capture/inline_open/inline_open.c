#include "capture/inline_open/inline_open.h"
#include "base/os/memfile.h"
#include "capture/count/counted.h"
#include "capture/inject/inject.h"
#include "capture/inline_open/logging.h"
#include "capture/inline_open/opens_folders.h"
#include "capture/inline_open/opens_put.h"
#include "capture/inline_open/thread_logs.h"
#include "capture/supervisor/calls.h"
#include "capture/supervisor/libraries.h"
#include "capture/supervisor/rights.h"
#include "capture/supervisor/shield/shield.h"

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

/* The program's place among those whose opens were counted; another program may have it. */
static struct habit *habit_of(const struct proc *p)
{
	return &habits[(p->exe_dev ^ p->exe_ino) % HABITS];
}

/* Did the last two processes of this program open enough files to be given code? */
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

void logging_learn_habit(const struct proc *p)
{
	struct habit *h = habit_of(p);
	if (p->open_stops + (p->logging ? p->logging->opens : 0) != HABIT_OPENS || !has_habits(p))
		return;
	if (h->ino != p->exe_ino || h->dev != p->exe_dev)
		*h = (struct habit){.dev = p->exe_dev, .ino = p->exe_ino};
	h->in_turn++;
}

/* Learns how many files a program opens: p opens no more. */
static void learn_end(const struct proc *p)
{
	struct habit *h = habit_of(p);
	if (p->open_stops + (p->logging ? p->logging->opens : 0) < HABIT_OPENS && has_habits(p) && h->ino == p->exe_ino &&
	    h->dev == p->exe_dev)
		h->in_turn = 0;
}

bool logging_can_make(const struct proc *p, const struct logging *g, const struct trap *t)
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

/* ---- names ---- */

#define PATIENCE_NS 50000

/* Has the patience for one injection passed since `begin`? */
static bool is_patience_over(const struct timespec *begin)
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
			__atomic_store_n(&logging_slot(l, i)->gate, 1, __ATOMIC_SEQ_CST);
	}
	struct timespec begin;
	clock_gettime(CLOCK_MONOTONIC, &begin);
	for (int i = 0; i < OPENS_SLOTS; i++) {
		bool busy = false;
		if (!l->owner[i])
			continue;
		while (l->owner[i]->pid != tid && (busy = __atomic_load_n(&logging_slot(l, i)->busy, __ATOMIC_SEQ_CST) != 0) &&
		       !is_patience_over(&begin))
			;
		if (busy)
			l->owner[i]->logging->late = logging_tsc_now();
		while (l->threads && thread_logs_busy(s, l->owner[i]) && !is_patience_over(&begin))
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
			__atomic_store_n(&logging_slot(l, i)->gate, 0, __ATOMIC_RELEASE);
		thread_logs_gate(l, l->owner[i]->logging);
	}
}

/* ---- beginning ---- */

/* A megabyte for each processor that the run may use: its pages are the job's. At most OPENS_SLOTS. */
static int logs_at_a_time(void)
{
	enum { PER_CORE = (1 << 20) / sizeof(struct opens_slot) };
	cpu_set_t set;
	int n = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : OPENS_SLOTS;
	return n * PER_CORE < OPENS_SLOTS ? n * PER_CORE : OPENS_SLOTS;
}

/* Makes the memory for logs at the first use. False: opens are not to be had here. */
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

/* A slot that no process has; -1: all are taken. */
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
	log->notes = opens_folders_noted(s, p->logging);
	log->most = p->counted ? OPENS_MOST_COUNTED : OPENS_MOST;
	if (!l->used++) {
		l->tsc = logging_tsc_now();
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
	opens_folders_free(g);
	munmap(l->map[g->slot], OPENS_LOG_SIZE);
	l->map[g->slot] = NULL;
	l->log[g->slot] = NULL;
	l->owner[g->slot] = NULL;
	l->used--;
	g->slot = -1;
}

/* The process's log is anybody's again, and it is as one that was never given code. */
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

/* Writes the first n bytes of what the process's own page begins with. False: it cannot be written. */
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
		sup_gap(s, p, TERM_gap_lost, 0, "it has its own code where opens for reading are not stopped");
}

/* A child without an exec has its parent's code, and if the memory is its own an empty page. False: it has no such
 * code. */
static bool inherit_logging(struct sup *s, struct proc *p, const struct trap *t)
{
	struct proc *parent = p->execn ? NULL : proc_parent(s, p);
	uint64_t head[2];
	if (!parent || !parent->logging || !logging_can_make(p, parent->logging, t) ||
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

/* Can a log be mapped: without a limit to its memory. */
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

/* Chooses a process for injection: at this stop the process is given the code, or a log. */
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

/* It has code; opens that are logged from now on say whether it is of use. */
static void count_opens_anew(struct logging *g)
{
	g->given = true;
	g->opens_given = g->opens;
}

/* Its log is shut: has it opened anything since it was given it? */
static void note_shut(struct logging *g)
{
	enum { IDLE_MOST = 6 };
	g->given = false;
	g->idle = g->opens != g->opens_given ? 0 : g->idle < IDLE_MOST ? g->idle + 1 : IDLE_MOST;
	g->skip = g->idle > 1 ? 1u << g->idle : 0;
}

/* Gives a process a log: p has the code, and is at a stop to open a file to read. */
static void go_log(struct sup *s, struct proc *p, const struct trap *t, bool threads)
{
	struct logging *g = p->logging;
	struct opens_own own;
	if (g->never || remote_read(p->pid, OPENS_OWN, &own, sizeof(own)) != (ssize_t)sizeof(own) ||
	    (own.pid && own.pid != (uint64_t)p->pid))
		return; /* it shares its parent's memory */
	if (own.missed) {
		sup_gap(s, p, TERM_gap_lost, own.missed, "opened files beyond the size of its log");
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
	if (own.slot != OPENS_SLOT) {
		logging_know_cwd(s, p, g);
		if (!write_own(p, OPENS_SLOT))
			logging_give_up(s, p);
		count_opens_anew(g);
	}
	if (logging_reads_below(t))
		opens_folders_learn(s, p, (int)t->args[0]);
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
		while ((busy = thread_logs_busy(s, p)) && !is_patience_over(&begin))
			;
		if (g->threads) {
			g->never = false; /* what has come to its end meanwhile */
			thread_logs_copy(s, p);
			opens_read(s);
		}
		if (!own || busy || __atomic_load_n(&logging_slot(s->opens, g->slot)->busy, __ATOMIC_SEQ_CST))
			sup_gap(s, p, TERM_gap_lost, 1, "a file that it was opening while it confined itself");
		observed_forget(s, &s->opens->observed, true); /* its log has been read */
		disown_log(s, p);
	}
	g->never = true;
}

/* Until it stops to open a file to read, p logs no more. */
static void close_logs(struct sup *s, struct proc *p)
{
	struct logging *g = p->logging;
	if (!g || g->slot < 0)
		return;
	if (g->given) {
		if (!write_own(p, 0))
			logging_give_up(s, p);
		note_shut(g);
	}
	thread_logs_close(s->opens, g);
}

/* Notes that a process with a log has stopped: p, which has the code, has stopped to open a file to read all the
 * same. below: by a folder's descriptor. */
static void log_again(struct sup *s, struct proc *p, const struct trap *t, bool below)
{
	struct logging *g = p->logging;
	if (g->skip && !g->threads) {
		g->skip--;
		return;
	}
	if (!logging_can_make(p, g, t))
		return;
	if (may_log(s, p, t))
		go_log(s, p, t, false);
	else if (!below && may_log_threads(s, p, g->sites))
		go_log(s, p, t, true);
}

/* Does the call open otherwise than to read, or change what paths mean? Then what the log has is read before it. */
static bool ends_log(const struct trap *t)
{
	return (t->call >= CALL_open && t->call <= CALL_open_handle) || t->call == CALL_chdir || t->call == CALL_mount ||
	       t->call == CALL_share;
}

/* Counts stops for opens: p, without the code, has stopped to open a file to read. Has it done so often enough for
 * the code to be worth it? */
static bool has_opened_enough(const struct sup *s, struct proc *p)
{
	p->open_stops++;
	logging_learn_habit(p);
	return p->open_stops >= s->inject_after || (p->open_stops >= HABIT_AFTER && is_used_to(p));
}

/* The library that made the call at stop t, with where it lies; NULL: none that is known. */
static const struct sites *find_calling_library(struct sup *s, struct proc *p, const struct trap *t, uint64_t *ret_base)
{
	uint64_t code, table;
	const struct sites *l = counted_library(p, t->ip, ret_base, &code, &table);
	return l ? l : libraries_library_of(s, p, t->ip, ret_base);
}

/* Chooses a process for the code: p, which opens many files and has no code, is given it at stop t if the call is
 * made by a library that it can be put into. below: by a folder's descriptor. */
static void choose_code(struct sup *s, struct proc *p, const struct trap *t, bool below)
{
	uint64_t base;
	if (p->inject_tries >= TRIES || !p->execn)
		return;
	const struct sites *l = find_calling_library(s, p, t, &base);
	if (!l) {
		if (!libraries_is_loader(p, t->ip) && ++p->other_stops > 4 * s->inject_after + 64)
			p->inject_tries = TRIES; /* its opens are not a library's */
		return;
	}
	if (l->unmarked)
		return; /* a child in the same memory would not be told from it */
	if (may_log(s, p, t) && may_inject(s, p))
		choose_for_injection(s, p, t, l, base, false);
	else if (!below && may_log_threads(s, p, l) && may_inject(s, p))
		choose_for_injection(s, p, t, l, base, true);
}

void opens_after(struct sup *s, struct proc *p, const struct trap *t)
{
	if (!s->injects || s->refuse || s->inject_pid || (s->opens && s->opens->off))
		return;
	/* Walkers of trees open a folder, and then perhaps many files in it. */
	const bool below = logging_reads_below(t);
	if (!below && !logging_only_reads(t)) {
		if (ends_log(t))
			close_logs(s, p);
		return;
	}
	if (!p->logging && !inherit_logging(s, p, t)) {
		if (below && (t->args[2] & O_DIRECTORY))
			return;
		if (!has_opened_enough(s, p))
			return;
	}
	if (p->logging)
		log_again(s, p, t, below);
	else
		choose_code(s, p, t, below);
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

/* Gives the descriptor into the stopped process, at once after which it goes on; x->result is -errno or its number
 * there. */
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
	const int i = free_log(l), number = p && i >= 0 && (!child || p->logging->slot < 0)
	                                        ? inject_free_number(p->pid, p->inject_tries)
	                                        : -1;
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
	                               .put = opens_put,
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
	if (!s->inject_threads)
		count_opens_anew(p->logging);
	l->failures = 0;
}
