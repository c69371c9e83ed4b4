/* The hooks by which counting is part of a run: what is seen of a process's stops, and what its counts prove. */
#include "capture/count/counted_int.h"
#include "capture/count/totals.h"
#include "capture/inject/inject.h"
#include "capture/supervisor/libraries.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>

/* Are what was counted and the kernel's totals the same? */
static bool compare_with_totals(const struct proc *p)
{
	const struct counted *c = p->counted;
	uint64_t r, w;
	if (!totals_of(p->pid, !c->many, &r, &w))
		return false;
	const uint64_t has_read = c->base_read + c->sum_read, has_written = c->base_written + c->sum_written;
	if (!c->many)
		return r == has_read && w == has_written;
	/* The process's totals have what its threads moved, also those that have ended; and what children did that it has
	 * waited for. The threads' have only those that go on. */
	if (r == has_read + c->all_read && w == has_written + c->all_written)
		return true;
	return totals_of_threads(p->pid, c->made + 1, &r, &w) && r == has_read && w == has_written;
}

/* Whether the process stands still because its call is being handled. */
static bool is_standing(const struct sup *s, const struct proc *p)
{
	return s->current && s->current->proc == p;
}

void counted_update(struct sup *s, struct proc *p)
{
	if (p->counted)
		counted_drain(s, p, is_standing(s, p));
}

/* Whether what was counted is all that p has moved. */
static bool counted_all(struct sup *s, struct proc *p)
{
	struct counted *c = p->counted;
	if (!c || c->lost)
		return false;
	if (c->frozen)
		return c->proved;
	if (c->judged == s->epoch + 1)
		return c->proved; /* nothing was added since */
	if (!counted_drain(s, p, is_standing(s, p)))
		return false;
	c->proved = compare_with_totals(p);
	if (!c->proved && c->high < COUNTED_FDS - 1) {
		c->high = COUNTED_FDS - 1; /* or by a descriptor that the log does not name */
		c->epoch = 0;
		if (!counted_drain(s, p, is_standing(s, p)))
			return false;
		c->proved = compare_with_totals(p);
	}
	c->judged = s->epoch + 1;
	return c->proved;
}

/* Are counts the whole truth: did the process do nothing that way beside them? */
static bool counted_none(struct sup *s, const struct access *a, unsigned way)
{
	const struct counted *c = a->proc->counted;
	return c && counted_all(s, a->proc) && !c->elsewhere &&
	       !((a->partial | a->beside | counted_pipe_directions(c, a->file)) & way);
}

/* A feature's `busy`: would a look at the log settle something? */
static bool counted_waits(struct sup *s, struct proc *p)
{
	struct counted *c = p->counted;
	if (!c || !(c->many || p->threads) || c->frozen || c->idle == s->epoch + 1)
		return false;
	c->epoch = c->judged = 0; /* they have gone on since */
	return !counted_all(s, p) && !c->lost;
}

/* Reads the counts of all processes, but for those that are lost or frozen. Once a tick. */
static void counted_tick(struct sup *s)
{
	s->epoch++;
	for (unsigned i = 0; i < HASH_SIZE; i++)
		for (struct proc *p = s->procs[i]; p; p = p->next)
			if (p->counted && !p->counted->lost && !p->counted->frozen)
				counted_drain(s, p, false);
}

/* Is it to be looked at again and again while the run goes on? */
static bool counted_is_busy(const struct sup *s)
{
	return s->narrow; /* when a byte was moved is known to be between two looks */
}

void counted_free(struct sup *s, struct proc *p)
{
	(void)s;
	if (p->counted && p->counted->shared)
		munmap((void *)p->counted->shared, TABLE_SIZE);
	free(p->counted);
	p->counted = NULL;
	p->counting_tries = 0;
}

/* getrlimit(RLIMIT_STACK), which a C library asks for when it and all that the program is linked with has been loaded.
 */
static bool is_start(const struct trap *t)
{
	return t->call == CALL_start && t->args[0] == 0 && t->args[1] == RLIMIT_STACK && t->args[2] == 0;
}

/* Is it one of the calls that open a file? */
static bool is_open(enum call c)
{
	return c == CALL_open || c == CALL_openat || c == CALL_creat;
}

/* ---- stops ---- */

/* Is it a call that the code logs? */
static bool is_logged_call(const struct counted *c, uint64_t ip)
{
	if ((ip >= c->code && ip < c->code + CODE_SIZE) || sites_stay(c->sites, ip - c->base))
		return true;
	for (size_t i = 0; i < c->sites->n; i++)
		if (c->sites->site[i].kind == SITE_OPENED && ip == c->base + c->sites->site[i].call + 2)
			return true;
	return false;
}

/* Is it a call that the code logs, between descriptors that are what its log says? The kernel's totals would not show
 * that one went by, and their rows do not change. */
static bool is_splice_observed(struct sup *s, struct counted *c, struct proc *p, const struct trap *t)
{
	if (t->nr == SYS_vmsplice || t->compat || !is_logged_call(c, t->ip) || (!counted_drain(s, p, true) && c->lost))
		return false;
	const int32_t fd[2] = {(int32_t)t->args[0], (int32_t)t->args[t->nr == SYS_tee ? 1 : 2]};
	for (int i = 0; i < 2; i++) {
		uint64_t is = in_range(fd[i]) ? counted_look_up(s, p, (unsigned)fd[i]) : 0;
		if (!is)
			continue; /* the call fails, or what it moves has no place */
		raise_high(c, fd[i]);
		counted_found(s, p, c->file[fd[i]], is);
		if (!c->file[fd[i]] || (c->file[fd[i]] == A_PIPE && is != NOT_A_FILE))
			c->file[fd[i]] = is;
		else if (number_of_pipe_or_file(c, c->file[fd[i]]) != is && !is_unknown_pipe(c, c->file[fd[i]]))
			return false;
	}
	return true;
}

/* Is the process stopped at an exec? */
static bool is_exec(const struct trap *t)
{
	return t->call == CALL_execve || t->call == CALL_execveat;
}

/* The next open is one of the code's: what it opens is told while it is handled, or later. */
static void begin_open(struct proc *p, const struct trap *t)
{
	struct counted *c = p->counted;
	struct head head = {0};
	if (c->opens - c->seen == OPENED || !remote(p->pid, c->table, &head, sizeof(head))) {
		c->lost = true;
		return;
	}
	c->opening = true;
	c->opened[c->opens++ % OPENED] = (struct stopped){.pos = head.pos, .tid = t->tid};
}

/* It is about to end or to become another program: all that it has moved is judged now. moves: its other threads do so
 * still. */
static void judge_leaving(struct sup *s, struct proc *p, const struct trap *t, bool moves)
{
	struct counted *c = p->counted;
	if (moves) { /* what they do until they are ended is not seen */
		c->lost |= t->call == CALL_exit;
		c->judged = s->epoch + 1;
		c->proved = false;
		return;
	}
	if (c->nown)
		counted_see_pipes(s, p, true);
	counted_all(s, p);
}

/* Is the process's log to be read now? Before an open of the code's: is the log to be read, so that there is room,
 * and to tell which open is which? */
static bool is_drain_due(const struct counted *c, const struct trap *t)
{
	return c->opens - c->seen >= DRAIN_AT || c->nlogged || (c->many && counted_is_opening(c, t->tid));
}

/* A child looks for what it has of its parent at its first stop, and again when it leaves. */
static void inherit_from_parent(struct sup *s, struct proc *p, bool leaves)
{
	struct proc *parent = leaves || !p->counting_tries ? proc_parent(s, p) : NULL;
	if (!parent || p->execn)
		return;
	p->counting_tries = 1;
	counted_inherit(s, p, parent, leaves);
}

/* Do other threads of it move bytes while it leaves? */
static bool has_moving_threads(struct sup *s, const struct proc *p, const struct trap *t)
{
	struct counted *c = p->counted;
	struct head head;
	if (!remote(p->pid, c->table, &head, sizeof(head)) || !head.threads)
		return false;
	if (totals_stand(p->pid, t->tid))
		c->idle = s->epoch + 1;
	return c->idle != s->epoch + 1;
}

/* Reads the log; what was stopped must be in it, or the recorder was passed by, or a call was made twice. */
static void drain_at_stop(struct sup *s, struct proc *p, const struct trap *t, bool leaves)
{
	struct counted *c = p->counted;
	bool all = counted_drain(s, p, true);
	if (c->many && !leaves ? all && counted_is_opening(c, t->tid) : c->opens != c->seen)
		c->lost = true;
}

/* A stop of a process that counts. */
static void see_stop(struct sup *s, struct proc *p, const struct trap *t, bool leaves)
{
	struct counted *c = p->counted;
	if (t->call == CALL_splice && !is_splice_observed(s, c, p, t))
		c->lost = true;
	const bool ours = is_open(t->call) && !t->compat && is_logged_call(c, t->ip);
	const bool moves = leaves && has_moving_threads(s, p, t);
	if (leaves || (ours && is_drain_due(c, t)))
		drain_at_stop(s, p, t, leaves);
	if (leaves)
		judge_leaving(s, p, t, moves);
	if (ours && !c->lost)
		begin_open(p, t);
}

/* A feature's `before`: reads the log before the stop changes anything. */
static void counted_before(struct sup *s, struct proc *p, const struct trap *t)
{
	const bool leaves = is_exec(t) || t->call == CALL_exit;
	if (p->old_code)
		return;
	inherit_from_parent(s, p, leaves);
	struct counted *c = p->counted;
	if (!c)
		return;
	c->opening = false;
	if (!p->exec)
		c->frozen = false; /* the exec that was about to be has failed */
	if (!c->lost && !c->frozen)
		see_stop(s, p, t, leaves);
}

void counted_logged(struct proc *p, int fd, const struct file *f, bool sure)
{
	struct counted *c = p->counted;
	if (!c || c->lost || c->frozen || !in_range(fd))
		return;
	if (c->nlogged == LOGGED || !sure) {
		c->lost = true;
		return;
	}
	c->logged[c->nlogged].file = f ? f->num : NOT_A_FILE;
	c->logged[c->nlogged++].fd = fd;
}

bool counted_is_behind(const struct proc *p)
{
	return p->counted && !p->counted->lost && p->counted->nlogged > LOGGED / 2;
}

/* NULL: ip is not in code that was put in. */
const struct sites *counted_library(const struct proc *p, uint64_t ip, uint64_t *ret_base, uint64_t *ret_code,
                                    uint64_t *ret_table)
{
	const struct counted *c = p->counted;
	if (!c || ((ip < c->code || ip >= c->code + STUBS_SIZE) && !sites_stay(c->sites, ip - c->base)))
		return NULL;
	*ret_base = c->base;
	*ret_code = c->code;
	*ret_table = c->table;
	return c->sites;
}

/* Notes which file an open gave: of the one that was counted last. Without a file: pending, or none at all. */
static void counted_opens(struct sup *s, struct proc *p, const struct file *f, const struct pending *d)
{
	struct counted *c = p->counted;
	(void)s;
	if (!c || !c->opening)
		return;
	struct stopped *o = &c->opened[(c->opens - 1) % OPENED];
	o->file = f ? f->num : d ? 0 : NOT_A_FILE;
	o->pending = d ? d->id : 0;
}

/* The file that d was waiting for is known now: names it where opens still refer to d. */
static void counted_created(struct sup *s, struct proc *p, const struct pending *d, const struct file *f)
{
	struct counted *c = p->counted;
	(void)s;
	for (uint64_t n = c ? c->seen : 0; c && n < c->opens; n++)
		if (c->opened[n % OPENED].pending == d->id)
			c->opened[n % OPENED].file = f->num;
}

/* A process of a killed recorder has code whose counts nobody reads. */
static void counted_adopted(struct sup *s, struct proc *p)
{
	(void)s;
	p->old_code = true;
}

/* Which pipes they are that its parent has made: what it has from there was looked at by now. */
static void look_at_pipes(struct sup *s, struct proc *p, const struct trap *t)
{
	const bool first = !p->execn && p->counting_tries == 1;
	if (first || (is_exec(t) && !p->execn) || t->call == CALL_exit) {
		counted_pipes(s, proc_parent(s, p));
		p->counting_tries += first;
	} else if (p->execn == 1 && (is_start(t) || (is_open(t->call) && p->open_stops <= FIRST_OPENS))) {
		/* It may not have had its turn to wait when its child became another program. */
		struct proc *parent = proc_parent(s, p);
		if (parent && counted_misses_pipes(parent->counted))
			counted_see_pipes(s, parent, false);
	}
}

/* May counting begin in the process? When it starts or opens a file, as a single thread, and not after it went wrong
 * twice. */
static bool may_begin(const struct sup *s, const struct proc *p, const struct trap *t)
{
	return !p->counted && (is_open(t->call) || is_start(t)) && !t->compat && p->execn && !p->threads &&
	       p->counting_tries <= 1 && !s->refuse;
}

/* A feature's `after`: where a process has no counting yet and may have, its injection is ordered. */
static void counted_after(struct sup *s, struct proc *p, const struct trap *t)
{
	uint64_t base;
	if (p->old_code)
		return;
	if (p->counted && is_exec(t))
		p->counted->frozen = p->exec != NULL;
	look_at_pipes(s, p, t);
	const struct sites *l = may_begin(s, p, t) ? libraries_library_of(s, p, t->ip, &base) : NULL;
	if (!l)
		return;
	s->inject_pid = p->pid;
	s->inject_tid = t->tid;
	s->inject_base = base;
	s->inject_sites = l;
	s->inject = counted_inject;
}

static const struct byte_counter counter = {.update = counted_update,
                                            .all = counted_all,
                                            .none = counted_none,
                                            .unsaid = counted_unsaid,
                                            .waits = counted_waits};

const struct feature counted_feature = {.name = "count",
                                        .before = counted_before,
                                        .after = counted_after,
                                        .confine = counted_confine,
                                        .opens = counted_opens,
                                        .created = counted_created,
                                        .end = counted_free,
                                        .adopted = counted_adopted,
                                        .busy = counted_is_busy,
                                        .tick = counted_tick,
                                        .bytes = &counter};
