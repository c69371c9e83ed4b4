/* Two sources: records of processes with times to the nanosecond, in the order of time; events of files without, in the
 * order of the kernel's queue, which happened between two reads of it. A file event is told after the fork of its
 * process and on the right side of its execs, so far as it can be known:
 *
 * The queue holds the opening of a program in order to execute it (FAN_OPEN_EXEC). What follows that in the queue, of
 * the same process, happened after it. What precedes it happened before it at least once; the kernel merges equal
 * events, so it may have happened again (TRACER_AGAIN). Where the opening is not there (merged with one before), either
 * program may have done it (TRACER_SPANS_EXEC). */
#include "capture/node_tracer/tracer_int.h"

#include "base/hash.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/fanotify.h>
#include <unistd.h>

/* What this read holds of one process. */
struct turn {
	pid_t pid;
	int32_t fork, exit, first_exec, last_exec, next; /* held records, -1 none; next: the first exec not told */
	int32_t user;                                    /* 1 and a record by which it becomes root; 0 none */
	int32_t match;                                   /* the first exec whose opening has not been found */
	struct proc_opened *opened;                      /* what no exec of this read opened: struct proc's later */
	bool reused;                                     /* two processes had the pid */
};

/* By pid, through slots: 10,000 processes that end at once are as many turns, and twice as many records. */
struct turns {
	struct turn *at;
	uint32_t *slot; /* 1 + its place in `at`; 0 none */
	size_t n, cap;  /* cap: of slots, a power of two */
};

/* The turn of a process: what was seen of it in the order in which it is to be told. NULL: there is none, with make:
 * never, for there is room for all. */
static struct turn *turn_of(struct turns *s, pid_t pid, bool make)
{
	for (size_t i = (size_t)pid & (s->cap - 1);; i = (i + 1) & (s->cap - 1)) {
		if (s->slot[i] && s->at[s->slot[i] - 1].pid == pid)
			return &s->at[s->slot[i] - 1];
		if (s->slot[i])
			continue;
		if (!make)
			return NULL;
		struct turn *turn = &s->at[s->n++];
		s->slot[i] = (uint32_t)s->n;
		*turn = (struct turn){
		    .pid = pid, .fork = -1, .exit = -1, .first_exec = -1, .last_exec = -1, .next = -1, .match = -1};
		return turn;
	}
}

static void release_turns(struct turns *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->at[i].opened);
	free(s->at);
	free(s->slot);
}

/* Valid until a record is added. */
static const void *record_of(const struct tracer *t, const struct held *h)
{
	return t->records.p + h->at;
}

/* Order of qsort: by time; of the same time as they came. */
static int compare_held_by_time(const void *a, const void *b)
{
	const struct held *x = a, *y = b;
	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return (x->order > y->order) - (x->order < y->order);
}

/* How many of the held records, sorted, are of hi or before. */
static size_t count_held_until(const struct tracer *t, int64_t hi)
{
	size_t a = 0, b = t->nheld;
	while (a < b) {
		size_t m = (a + b) / 2;
		if (t->held[m].time <= hi)
			a = m + 1;
		else
			b = m;
	}
	return a;
}

/* Sorts out what is held of each process: the first n records. 0, -ENOMEM. */
static int make_turns(struct tracer *t, size_t n, struct turns *ret)
{
	*ret = (struct turns){.cap = 64};
	while (ret->cap < 2 * n + 1)
		ret->cap *= 2;
	ret->at = malloc((n + 1) * sizeof(*ret->at));
	ret->slot = calloc(ret->cap, sizeof(*ret->slot));
	if (!ret->at || !ret->slot) {
		release_turns(ret);
		return -ENOMEM;
	}
	for (size_t i = 0; i < n; i++) {
		struct held *h = &t->held[i];
		const struct rec_head *head = record_of(t, h);
		struct turn *turn = turn_of(ret, (pid_t)head->pid, true);
		h->next_exec = h->notice = -1;
		if (head->kind == REC_FORK) {
			const struct proc *old = procs_find(t->procs, (pid_t)head->pid);
			turn->reused |= old != NULL || turn->exit >= 0 || turn->fork >= 0;
			turn->fork = (int32_t)i;
		} else if (head->kind == REC_USER) {
			/* What is seen in the same read comes before a change of the user, for it may have been; but what may be
			 * root's is told to nobody else. */
			const struct rec_user *user = (const struct rec_user *)(const void *)head;
			turn->user = user->uid ? turn->user : (int32_t)i + 1;
		} else if (head->kind == REC_EXIT)
			turn->exit = (int32_t)i;
		else if (head->kind == REC_EXEC) {
			if (turn->last_exec >= 0)
				t->held[turn->last_exec].next_exec = (int32_t)i;
			else
				turn->first_exec = turn->next = turn->match = (int32_t)i;
			turn->last_exec = (int32_t)i;
		}
	}
	return 0;
}

/* Where the number of a handle's inode is to be had for nothing. */
static uint64_t inode_of(struct tracer *t, const struct notice *n)
{
	struct place *at = n->object.bytes ? places_find(t->places, n->object.fsid) : NULL;
	struct tracer_fileid id;
	return at && places_id(t->places, at, &n->object, &id) ? id.ino : 0;
}

/* What a name's last part is known by: a script's own inode is not in the record of its exec. */
static uint64_t hash_base(struct str name)
{
	const char *slash = name.n ? memrchr(name.p, '/', name.n) : NULL;
	if (slash)
		name = str_n(slash + 1, (size_t)(name.p + name.n - slash - 1));
	return name.n ? hash_str(name) | 1 : 0;
}

/* Whether an opening was this exec's: of the program, the interpreter or the script. */
static bool is_opened_by_exec(const struct rec_exec *r, uint64_t ino, uint64_t base)
{
	struct exec_strings s;
	exec_strings(r, &s);
	return (ino && r->ino == ino) || (base && hash_base(s.name) == base);
}

/* The programs that a process opened before its first exec of these turns, by earlier notices. */
static void match_earlier(struct tracer *t, struct turn *turn)
{
	struct proc *proc = turn->first_exec >= 0 ? procs_find(t->procs, turn->pid) : NULL;
	const struct proc_opened *was = proc ? proc->opened : NULL;
	for (unsigned k = 0; was && k < 4 && k < was->n; k++) {
		if (!is_opened_by_exec(record_of(t, &t->held[turn->first_exec]), was->last[k].ino, was->last[k].base))
			continue;
		t->held[turn->first_exec].notice = -2;
		turn->match = t->held[turn->first_exec].next_exec;
		break;
	}
	if (was) {
		free(proc->opened);
		proc->opened = NULL;
	}
}

/* Is notice i, of that file, what opened the program of one of the execs that are still to be matched? */
static bool match_notice(struct tracer *t, struct turn *turn, int32_t i, uint64_t ino, uint64_t base)
{
	for (int32_t e = turn->match; e >= 0; e = t->held[e].next_exec)
		if (is_opened_by_exec(record_of(t, &t->held[e]), ino, base)) {
			t->held[e].notice = i;
			turn->match = t->held[e].next_exec;
			return true;
		}
	return false;
}

/* Kept for an exec that may come with the next read: the last four. Without memory it is matched to none. */
static void keep_opened(struct proc_opened **to, uint64_t ino, uint64_t base)
{
	if (!*to)
		*to = calloc(1, sizeof(**to));
	if (!*to)
		return;
	(*to)->last[(*to)->n % 4].ino = ino;
	(*to)->last[(*to)->n % 4].base = base;
	(*to)->n++;
}

/* Finds for each exec the event that opened its program. */
static void match_execs(struct tracer *t, const unsigned char *p, size_t size, struct turns *turns)
{
	struct notice n;
	size_t at = 0;
	bool broken;
	for (size_t i = 0; i < turns->n; i++)
		match_earlier(t, &turns->at[i]);
	for (int32_t i = 0; notice_next(p, size, &at, &n, &broken); i++) {
		if (!(n.mask & FAN_OPEN_EXEC))
			continue;
		uint64_t ino = inode_of(t, &n), base = hash_base(n.name);
		struct turn *turn = turn_of(turns, n.pid, false);
		if (turn && (match_notice(t, turn, i, ino, base) || turn->match >= 0))
			continue;
		/* A process whose fork is in this read is not known yet. */
		struct proc *proc = turn ? NULL : procs_find(t->procs, n.pid);
		struct proc_opened **to = turn ? &turn->opened : proc ? &proc->opened : NULL;
		if (to)
			keep_opened(to, ino, base);
	}
}

/* What was opened to be executed by an exec that is still to come. */
static void carry_over(struct tracer *t, const struct turns *turns)
{
	for (size_t i = 0; i < turns->n; i++) {
		struct turn *turn = &turns->at[i];
		struct proc *proc = turn->opened ? procs_find(t->procs, turn->pid) : NULL;
		if (!proc)
			continue;
		free(proc->opened);
		proc->opened = turn->opened;
		turn->opened = NULL;
	}
}

/* The tracer itself or its helper: neither is observed. */
static bool is_own_process(const struct tracer *t, pid_t pid)
{
	return pid == t->own || (t->own_helper && pid == t->own_helper);
}

/* Tells the held records up to `end`, which is not among them; *told is behind the last one. */
static void emit_until(struct tracer *t, struct turns *turns, size_t *told, size_t end)
{
	/* An exec's descriptors are a record of their own, right behind it. */
	if (end > 0 && end < t->nheld) {
		const struct rec_head *last = record_of(t, &t->held[end - 1]), *next = record_of(t, &t->held[end]);
		if (last->kind == REC_EXEC && next->kind == REC_FDS && next->pid == last->pid && next->time == last->time)
			end++;
	}
	for (; *told < end; (*told)++) {
		struct held *h = &t->held[*told];
		const struct rec_head *head = record_of(t, h);
		if (head->kind == REC_EXEC) {
			struct turn *turn = turn_of(turns, (pid_t)head->pid, false);
			if (turn)
				turn->next = h->next_exec;
		}
		tracer_emit_record(t, head, h->size, h->time);
	}
}

/* The count of events that are passed over for the process's user, if this event is one of them. NULL: it is told.
 * Of directories all is told, for paths go by it. */
static uint64_t *passed_of(struct tracer *t, const struct notice *n, const struct proc *proc)
{
	const uint64_t names = FAN_ONDIR | FAN_CREATE | FAN_DELETE | FAN_MOVED_FROM | FAN_MOVED_TO | FAN_RENAME;
	for (size_t i = 0; proc && i < t->npassed && !(n->mask & names); i++)
		if (t->passed[i].uid == proc->uid)
			return &t->passed[i].events;
	return NULL;
}

/* Asks at once for what telling will need to know of files. */
static void prefetch_states(struct tracer *t, const unsigned char *p, size_t size, int64_t now)
{
	struct notice n;
	size_t at = 0;
	bool broken;
	places_round(t->places);
	while (notice_next(p, size, &at, &n, &broken)) {
		if (!n.object.bytes || is_own_process(t, n.pid) || (n.mask & FAN_ONDIR) ||
		    (t->npassed && passed_of(t, &n, procs_find(t->procs, n.pid))))
			continue;
		bool state = !t->o.no_state && (n.mask & (FAN_OPEN | FAN_CLOSE_WRITE | FAN_CREATE));
		struct place *place = places_find(t->places, n.object.fsid);
		if (place && (state || !place->handles || !place->decodes))
			places_want(t->places, place, &n.object, (n.mask & FAN_CLOSE_WRITE) != 0, now);
	}
	places_wanted(t->places, now);
}

/* Processes and execs that come before notice i of the process are told. */
static void emit_before(struct tracer *t, struct turns *turns, const struct turn *turn, int32_t i, size_t *told)
{
	if (turn->fork >= 0)
		emit_until(t, turns, told, (size_t)turn->fork + 1);
	if (turn->user)
		emit_until(t, turns, told, (size_t)turn->user);
	for (int32_t e = turn->next; e >= 0; e = t->held[e].next_exec)
		if (t->held[e].notice == -2 || (t->held[e].notice >= 0 && t->held[e].notice <= i))
			emit_until(t, turns, told, (size_t)e + 1);
}

/* Narrows when an event happened: it happened after its process began, and after its last exec, but for what opened
 * that one's program. */
static void narrow_start(struct tracer_event *ev, const struct proc *proc, const struct notice *n)
{
	if (proc->last_exec > ev->lo && proc->last_exec <= ev->hi)
		ev->lo = n->mask & FAN_OPEN_EXEC ? ev->lo : proc->last_exec;
	if (proc->born > ev->lo && proc->born <= ev->hi)
		ev->lo = proc->born;
}

/* Does the queue show that the next exec comes later than notice i? */
static bool is_before_exec(const struct tracer *t, const struct turn *turn, int32_t i)
{
	for (int32_t e = turn->next; e >= 0; e = t->held[e].next_exec)
		if (t->held[e].notice > i)
			return e == turn->next;
	return false;
}

/* Narrows when an event happened: it happened before its process ended, and before its next exec where that is
 * known. */
static void narrow_end(struct tracer *t, struct tracer_event *ev, const struct turn *turn, const struct notice *n,
                       int32_t i)
{
	/* Only closing goes on after the last thread's end. */
	if (turn->exit >= 0 && turn->exit > turn->fork && !(n->mask & FAN_CLOSE) && t->held[turn->exit].time < ev->hi)
		ev->hi = t->held[turn->exit].time;
	if (turn->reused)
		ev->flags |= TRACER_SPANS_PID;
	if (turn->next < 0)
		return;
	/* The next exec comes later in the queue, or nobody knows where it is in it. */
	if (is_before_exec(t, turn, i)) {
		ev->hi = t->held[turn->next].time;
		ev->flags |= TRACER_AGAIN;
	} else {
		ev->flags |= TRACER_SPANS_EXEC;
	}
}

/* Notice i, which happened between the times of ev; what comes before it is told first. */
static void order_notice(struct tracer *t, struct turns *turns, const struct notice *n, int32_t i,
                         struct tracer_event *ev, size_t *told)
{
	struct turn *turn = turn_of(turns, n->pid, false);
	if (turn)
		emit_before(t, turns, turn, i, told);
	struct proc *proc = procs_find(t->procs, n->pid);
	if (!proc)
		proc = tracer_find_proc(t, n->pid);
	if (proc) {
		narrow_start(ev, proc, n);
		proc->events++;
	}
	uint64_t *passed = t->npassed ? passed_of(t, n, proc) : NULL;
	if (passed) {
		++*passed;
		t->stats.files_passed++;
		return;
	}
	if (turn)
		narrow_end(t, ev, turn, n, i);
	if (proc && proc->left)
		ev->flags |= TRACER_LATE;
	tracer_emit_notice(t, ev, n, proc);
}

/* What is later than the first n records stays, at the front. 0; -ENOMEM with a sentence, then nothing is held any
 * more. */
static int keep_later(struct tracer *t, size_t n, struct err *err)
{
	struct buf rest = {0};
	for (size_t i = n; i < t->nheld; i++) {
		struct held *h = &t->held[i];
		size_t to = rest.n;
		buf_add(&rest, t->records.p + h->at, h->size);
		while (rest.n % 8 && !rest.failed)
			buf_char(&rest, 0);
		t->held[i - n] = *h;
		t->held[i - n].at = to;
		t->held[i - n].order = (uint32_t)(i - n);
	}
	bool failed = rest.failed;
	t->nheld = failed ? 0 : t->nheld - n;
	if (t->nheld) {
		buf_release(&t->records);
		t->records = rest;
	} else {
		buf_release(&rest);
		buf_reset(&t->records);
	}
	return failed ? err_set(err, ENOMEM, "cannot keep records") : 0;
}

int order_emit(struct tracer *t, const unsigned char *p, size_t size, int64_t lo, int64_t hi, struct err *err)
{
	struct turns turns;
	struct notice n;
	size_t at = 0, told = 0;
	bool broken = false;
	if (t->nheld)
		qsort(t->held, t->nheld, sizeof(*t->held), compare_held_by_time);
	size_t all = count_held_until(t, hi);
	if (make_turns(t, all, &turns) < 0)
		return err_set(err, ENOMEM, "cannot order events");
	prefetch_states(t, p, size, hi);
	match_execs(t, p, size, &turns);
	for (int32_t i = 0; notice_next(p, size, &at, &n, &broken); i++) {
		struct tracer_event ev = {.lo = lo, .hi = hi, .until = hi};
		if (n.overflow) {
			t->stats.lost_file_times++;
			tracer_emit_lost(t, TRACER_LOST_FILE, 0, lo, hi, "fanotify's queue was full");
			continue;
		}
		t->stats.files++;
		if (!is_own_process(t, n.pid) && notice_counts(t, &n))
			order_notice(t, &turns, &n, i, &ev, &told);
	}
	if (broken)
		tracer_emit_lost(t, TRACER_LOST_FILE, 0, lo, hi, "the kernel's events could not be read");
	emit_until(t, &turns, &told, all);
	carry_over(t, &turns);
	release_turns(&turns);
	return keep_later(t, all, err);
}

struct missed {
	struct tracer *t;
	int64_t time;
	bool some;
};

/* Not there twice in a row: the record of an end that was not lost has been read between the two. */
static void look_for(void *arg, struct proc *proc)
{
	enum { GONE = 2 };
	struct missed *m = arg;
	if (proc->left || proc->absent >= GONE || getsid(proc->pid) >= 0 || errno != ESRCH) {
		proc->absent = proc->absent >= GONE ? proc->absent : 0;
		return;
	}
	m->some = true;
	if (++proc->absent < GONE)
		return;
	const struct rec_exit end = {
	    .head = {.kind = REC_EXIT, .flags = REC_UNSEEN | REC_PART, .pid = (uint32_t)proc->pid, .start = proc->start}};
	tracer_emit_record(m->t, &end, sizeof(end), m->time);
}

void order_missed(struct tracer *t, int64_t now)
{
	struct missed m = {.t = t, .time = tracer_now(t)};
	if (!t->look_at || now < t->look_at || !t->initial)
		return;
	procs_each(t->procs, look_for, &m);
	/* A call for each process, 0.3 us: those that nobody has waited for yet are looked at again. */
	t->look_at = now + (m.some ? LOOK_NS : 10 * LOOK_NS);
}

void order_leave(struct tracer *t)
{
	size_t kept = 0;
	for (size_t i = 0; i < t->nleaving; i++) {
		struct leaving *l = &t->leaving[i];
		struct proc *proc = procs_find(t->procs, l->pid);
		bool same = proc && proc->start == l->start;
		if (i >= t->leaving_before) {
			t->leaving[kept++] = *l;
			continue;
		}
		if (l->told) { /* two drains ago: nothing more comes of it but by accident */
			if (same)
				procs_remove(t->procs, l->pid);
			continue;
		}
		tracer_emit_exit(t, (const struct rec_exit *)(const void *)(t->leaving_records.p + l->at), l->time);
		l->told = true;
		if (same)
			proc->left = true;
		t->leaving[kept++] = *l;
	}
	/* What was let go of stood in front; the records of the others move there. */
	if (kept && kept < t->nleaving) {
		size_t from = t->leaving[0].at;
		memmove(t->leaving_records.p, t->leaving_records.p + from, t->leaving_records.n - from);
		t->leaving_records.n -= from;
		for (size_t i = 0; i < kept; i++)
			t->leaving[i].at -= from;
	} else if (!kept)
		buf_reset(&t->leaving_records);
	t->nleaving = t->leaving_before = kept;
}
