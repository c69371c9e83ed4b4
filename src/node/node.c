/* What the tracer reports, event by event: who takes it, what begins and ends processes, and the interface of node.h.
 */
#include "node/node_int.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

enum { LATE_DRAINS = 3 }; /* a process's last closes come at most so many drains after its end */

/* ---- events ---- */

/* The time at which a process began. start: ns since boot. Gives CLOCK_REALTIME, ns. */
static int64_t realtime_of(const struct node *n, uint64_t start)
{
	return n->o.boot + (int64_t)start;
}

static void handle_exit(struct node *n, struct nproc *p, const struct tracer_event *ev);

/* The process that was born, NULL without memory. One that is known by pid and start is that one. */
static struct nproc *handle_fork(struct node *n, const struct tracer_event *ev)
{
	struct nproc *old = nproc_find(n, ev->pid, 0), *parent = ev->ppid ? nproc_find(n, ev->ppid, 0) : NULL;
	if (old && old->start == ev->start)
		return old;
	if (parent && !parent->alive)
		parent = NULL;
	if (old && old->alive) { /* its number is another's now, so its end was lost */
		const struct tracer_event end = {
		    .kind = TRACER_EXIT, .flags = TRACER_UNSEEN, .lo = ev->lo, .hi = ev->lo, .until = ev->lo};
		handle_exit(n, old, &end);
	}
	struct nproc *p = nproc_new(n, ev->pid, ev->start, ev->uid);
	if (!p)
		return NULL;
	p->forked = ev->lo;
	p->forked_hi = ev->hi;
	nproc_inherit(n, p, parent);
	p->answers = n->o.answers && ev->ppid == n->o.answers;
	p->nexec = ev->nexec;
	nproc_set_ids(p, ev);
	if (p->state == FOLDED && p->rep && p->rep->uid != p->uid)
		nproc_decide(n, p);
	/* One that is undecided may have pipes as any other; whose they are is decided with it. */
	p->maker_of_channels = parent ? nproc_ref(owner_of(parent) ? owner_of(parent) : parent) : NULL;
	n->stats.processes++;
	if (p->state == OWN)
		node_emit_proc(n, p);
	return p;
}

/* A process that was there before this daemon: its execution is what the state file says, or 1000. */
static void handle_alive(struct node *n, const struct tracer_event *ev)
{
	struct nproc *above = ev->ppid ? nproc_find(n, ev->ppid, 0) : NULL;
	struct nproc *p = nproc_find(n, ev->pid, ev->start);
	if (p || !ev->exec.exe_path.n) /* a thread of the kernel's */
		return;
	if (!(p = nproc_new(n, ev->pid, ev->start, ev->uid)))
		return;
	p->forked = p->forked_hi = realtime_of(n, ev->start);
	nproc_inherit(n, p, above);
	nproc_set_ids(p, ev);
	p->nexec = ev->nexec;
	p->ran = true;
	p->exec_time = p->forked;
	/* It was there before this daemon: which execution it is in is known if the one before has said so. */
	p->execn = 1000;
	enum rule_class class = nproc_class(n, p, ev);
	for (size_t i = 0; i < n->n_saved; i++)
		if (n->saved[i].pid == p->pid && n->saved[i].start == p->start) {
			p->execn = n->saved[i].execn;
			memcpy(p->run, n->saved[i].run, sizeof(p->run));
			p->run_root = n->saved[i].root && is_passing_class(class);
		}
	if (p->state == UNDECIDED || (p->state == FOLDED && (is_passing_class(class) || (above && above->uid != p->uid))))
		nproc_set_own(n, p);
	node_take_program(n, p, ev);
}

/* Ends its accesses and tells its figures, if its log knows it. */
static void handle_exit(struct node *n, struct nproc *p, const struct tracer_event *ev)
{
	if (!p->alive)
		return;
	naccess_channels(n, p);
	p->exit_time = ev->hi;
	const struct tracer_usage *u = &ev->exit.usage;
	int status = ev->exit.status;
	if (p->state == OWN && node_emit_proc(n, p)) {
		bool unseen = ev->flags & TRACER_UNSEEN;
		unsigned ending = unseen                ? TERM_ending_unknown
		                  : WIFEXITED(status)   ? TERM_ending_exited
		                  : WIFSIGNALED(status) ? TERM_ending_signaled
		                                        : TERM_ending_unknown;
		int code = unseen ? 0 : WIFEXITED(status) ? WEXITSTATUS(status) : WIFSIGNALED(status) ? WTERMSIG(status) : 0;
		struct event e = {.exit = {.ending = ending,
		                           .code = (uint64_t)code,
		                           .cpu = u->cpu,
		                           .user = u->user,
		                           .system = u->system,
		                           .rss = u->rss,
		                           .rchar = u->rchar,
		                           .wchar = u->wchar,
		                           .read_bytes = u->read_bytes,
		                           .write_bytes = u->write_bytes,
		                           .known = unseen ? 0 : 0x1e | (u->io_known && u->whole ? 0x1e0u : 0u)}};
		node_emit(n, p->book, p->num, EVENT_exit, ev->hi, &e);
		p->book->procs -= p->book->procs > 0;
		if (p->run_root) {
			struct event r = {.run_end = {.id = str_of(p->run), .ending = ending, .code = (uint64_t)code}};
			node_emit(n, p->book, p->num, EVENT_run_end, ev->hi, &r);
		}
		n->n_rep--;
	}
	p->alive = false;
	p->drains = 0;
	p->dead_next = n->dead;
	n->dead = p;
	n->stats.live--;
}

/* ---- what is missing ---- */

/* Every user of a live process is told, those too of whom nothing was to be told before. reason: a TERM_gap_. from,
 * until: CLOCK_REALTIME, ns. */
void node_gap(struct node *n, unsigned reason, uint64_t count, int64_t from, int64_t until, const char *text)
{
	for (unsigned i = 0; i < HASH; i++)
		for (const struct nproc *p = n->procs[i]; p; p = p->next) {
			struct book *b = p->alive ? book_of(n, p->uid) : NULL;
			if (b)
				b->live = true;
		}
	for (struct book *b = n->books; b; b = b->next) {
		struct event ev = {.gap = {.reason = reason, .count = count, .from = from, .text = str_of(text)}};
		if (b->live)
			node_emit(n, b, 0, EVENT_gap, until, &ev);
		b->live = false;
	}
}

void node_known(struct node *n, uint32_t uid)
{
	struct book *b = book_of(n, uid);
	if (b)
		b->live = true;
}

/* A gap in the record of all users: which events were lost, and when. */
static void handle_lost(struct node *n, const struct tracer_event *ev)
{
	static const char *const text[] = {
	    [TRACER_LOST_PROCESS] = "of processes", [TRACER_LOST_FILE] = "of files", [TRACER_LOST_ACCESS] = "of bytes"};
	char line[200];
	snprintf(line, sizeof(line), "events %s: %s",
	         ev->lost.what <= TRACER_LOST_ACCESS && text[ev->lost.what] ? text[ev->lost.what] : "",
	         ev->lost.text ? ev->lost.text : "lost");
	n->losses++;
	node_gap(n, TERM_gap_lost, ev->lost.count, ev->lo, ev->hi, line);
}

/* Set back, it shows the same hours twice: what was read in the first of them and written in the second seems to have
 * been written before. A clock that is only slowed comes in steps of a millisecond, less than file times are exact to.
 */
static void handle_clock(struct node *n, const struct tracer_event *ev)
{
	const int64_t grain = 20000000;
	char line[200];
	n->o.boot += ev->clock.by;
	if (ev->clock.by > -grain)
		return;
	snprintf(line, sizeof(line), "the clock was set back by %lld ms: the order of events in this time is uncertain",
	         (long long)(-ev->clock.by / 1000000));
	node_gap(n, TERM_gap_unsettled, 0, ev->lo, ev->lo - ev->clock.by, line);
}

/* ---- the interface ---- */

struct node *node_new(const struct node_options *o, const struct node_world *w)
{
	struct node *n = calloc(1, sizeof(*n));
	if (!n)
		return NULL;
	n->o = *o;
	n->world = *w;
	if (!n->o.max_processes)
		n->o.max_processes = 16384;
	if (!n->o.max_files)
		n->o.max_files = 6144;
	if (!n->o.max_accesses)
		n->o.max_accesses = 16384;
	return n;
}

void node_free(struct node *n)
{
	if (!n)
		return;
	for (unsigned i = 0; i < HASH; i++)
		for (struct nproc *p = n->procs[i]; p; p = p->next)
			while (p->accesses)
				naccess_free(n, p->accesses);
	for (unsigned i = 0; i < HASH; i++)
		while (n->procs[i])
			nproc_gone(n, n->procs[i]);
	nfiles_free(n);
	while (n->books) {
		struct book *next = n->books->next;
		free(n->books);
		n->books = next;
	}
	free(n->saved);
	free(n);
}

/* One that was not told of: something was lost, or it is an end that came very late. */
static struct nproc *nproc_unknown(struct node *n, const struct tracer_event *ev)
{
	if (!ev->pid || (ev->flags & (TRACER_LATE | TRACER_UNKNOWN)) || ev->kind == TRACER_EXIT || !ev->start)
		return NULL;
	struct nproc *p = handle_fork(n, ev);
	if (p && p->state == OWN)
		node_emit_gap(n, p, TERM_gap_lost, 0, ev->lo, ev->hi, "its start was not observed");
	return p;
}

/* What a process that is known has done. */
static void take_process_event(struct node *n, struct nproc *p, const struct tracer_event *ev)
{
	struct nfile *f = NULL;
	switch (ev->kind) {
	case TRACER_EXEC:
		node_take_exec(n, p, ev);
		break;
	case TRACER_USER:
		node_take_user(n, p, ev);
		break;
	case TRACER_EXIT:
		handle_exit(n, p, ev);
		break;
	case TRACER_FDS:
		naccess_fds(n, p, ev);
		break;
	case TRACER_FILE:
	case TRACER_RENAME:
		if (p->payer)
			p->payer->events++;
		node_take_file(n, p, ev);
		break;
	case TRACER_ACCESS:
		f = nfile_met(n, &ev->access.id, NULL, 0, (struct str){0});
		if (f)
			naccess_totals(n, p, ev, f);
		break;
	case TRACER_URING:
		if (owner_of(p))
			node_emit_gap(n, owner_of(p), TERM_gap_io_uring, 1, ev->lo, ev->hi, "");
		break;
	default:
		break;
	}
}

void node_event(struct node *n, const struct tracer_event *ev)
{
	n->stats.events++;
	if (ev->hi > n->now)
		n->now = ev->hi;
	switch (ev->kind) {
	case TRACER_LOST:
		handle_lost(n, ev);
		return;
	case TRACER_ALIVE:
		handle_alive(n, ev);
		return;
	case TRACER_FORK:
		handle_fork(n, ev);
		return;
	case TRACER_CLOCK:
		handle_clock(n, ev);
		return;
	case TRACER_WATCH:
		return;
	default:
		break;
	}
	struct nproc *p = nproc_find(n, ev->pid, ev->start);
	if (!p)
		p = nproc_unknown(n, ev);
	if (!p) {
		n->stats.strangers++;
		return;
	}
	take_process_event(n, p, ev);
}

bool node_busiest(struct node *n, uint32_t *ret_uid, uint64_t *ret_events, uint64_t *ret_all)
{
	*ret_events = *ret_all = 0;
	for (struct book *b = n->books; b; b = b->next) {
		*ret_all += b->events;
		if (b->events > *ret_events) {
			*ret_events = b->events;
			*ret_uid = b->uid;
		}
		b->events = 0;
	}
	return *ret_events > 0;
}

void node_settle(struct node *n, int64_t now)
{
	n->now = now;
	struct nproc *keep = NULL, *next;
	for (struct nproc *p = n->dead; p; p = next) {
		next = p->dead_next;
		if (++p->drains >= LATE_DRAINS) {
			nproc_over(n, p);
			continue;
		}
		p->dead_next = keep;
		keep = p;
	}
	n->dead = keep;
	for (struct book *b = n->books; b; b = b->next) {
		if (!b->short_of_room)
			continue;
		struct event ev = {.gap = {.reason = TERM_gap_limit,
		                           .count = b->short_of_room,
		                           .from = n->short_since ? n->short_since : now,
		                           .text = str_of("the tables for this user were full")}};
		node_emit(n, b, 0, EVENT_gap, now, &ev);
		b->short_of_room = 0;
	}
	if (n->files_short) /* whose they were is not known of all of them */
		node_gap(n, TERM_gap_lost, n->files_short, n->short_since ? n->short_since : now, now,
		         "more files were in use at the same time than the limit");
	n->files_short = 0;
	n->short_since = now;
}

void node_tick(struct node *n, int64_t now)
{
	const int64_t open_long = 1000000000;
	n->now = now;
	naccess_finish_dormant(n, false);
	for (unsigned i = 0; i < HASH; i++)
		for (struct nproc *p = n->procs[i]; p; p = p->next) {
			bool held = false;
			for (struct naccess *a = p->accesses; a && !held; a = a->proc_next)
				held = !a->seq && a->lo + open_long < now;
			if (held)
				naccess_emit_held(n, p);
			naccess_guesses(n, p);
		}
}

void node_session(struct node *n, uint32_t uid, int64_t now)
{
	struct book *b = book_of(n, uid);
	if (!b)
		return;
	n->now = now;
	b->session++;
	b->next_file = b->next_proc = 0;
	memset(b->domains, 0, sizeof(b->domains));
	naccess_begin_session(n, b);
}

void node_part(struct node *n, uint32_t uid, int64_t now)
{
	struct book *b = book_of(n, uid);
	n->now = now;
	if (b)
		naccess_end_session(n, b, now);
}

void node_detach(struct node *n, int64_t now)
{
	node_emit_all(n, now);
	for (struct book *b = n->books; b; b = b->next)
		naccess_end_session(n, b, now);
}

void node_save(const struct node *n, struct buf *out)
{
	for (unsigned i = 0; i < HASH; i++)
		for (const struct nproc *p = n->procs[i]; p; p = p->next)
			if (p->alive)
				buf_printf(out, "%d %llu %llu %s%s\n", p->pid, (unsigned long long)p->start,
				           (unsigned long long)p->execn, p->run[0] ? p->run : "-", p->run_root ? " root" : "");
}

void node_load(struct node *n, struct str text)
{
	while (text.n) {
		const char *end = memchr(text.p, '\n', text.n);
		size_t length = end ? (size_t)(end - text.p) : text.n;
		char line[128];
		unsigned long long start, execn;
		struct saved s = {0};
		if (length < sizeof(line)) {
			memcpy(line, text.p, length);
			line[length] = '\0';
			char root[8] = "";
			if (sscanf(line, "%d %llu %llu %26s %7s", &s.pid, &start, &execn, s.run, root) >= 4) {
				struct saved *v = realloc(n->saved, (n->n_saved + 1) * sizeof(*v));
				if (!v)
					return;
				s.start = start;
				s.execn = execn;
				s.root = !strcmp(root, "root");
				if (s.run[0] == '-')
					s.run[0] = '\0';
				n->saved = v;
				v[n->n_saved++] = s;
			}
		}
		text.p += length + (end != NULL);
		text.n -= length + (end != NULL);
	}
}

void node_of_job(const struct node *n, struct str job, uint32_t uid, bool any_user,
                 void (*each)(void *arg, pid_t pid, bool counting), void *arg)
{
	for (unsigned i = 0; i < HASH; i++)
		for (const struct nproc *p = n->procs[i]; p; p = p->next)
			if (p->alive && p->job && str_is(job, p->job) && (any_user || p->uid == uid))
				each(arg, p->pid, p->counting);
}

void node_counting(struct node *n, pid_t pid, bool on)
{
	struct nproc *p = nproc_find(n, pid, 0);
	if (p)
		p->counting = on;
}

void node_counting_all(struct node *n, bool everybody, uint32_t uid, bool on)
{
	for (unsigned i = 0; i < HASH; i++)
		for (struct nproc *p = n->procs[i]; p; p = p->next)
			if (everybody || p->uid == uid)
				p->counting = on;
}

void node_emit_all(struct node *n, int64_t now)
{
	n->now = now;
	for (struct nproc *p = n->dead; p; p = n->dead) {
		n->dead = p->dead_next;
		nproc_over(n, p);
	}
	naccess_finish_dormant(n, true);
	for (unsigned i = 0; i < HASH; i++)
		for (struct nproc *p = n->procs[i]; p; p = p->next)
			naccess_emit_held(n, p);
}

int64_t node_emitted_until(const struct node *n, int64_t now)
{
	for (unsigned i = 0; i < HASH; i++)
		for (const struct nproc *p = n->procs[i]; p; p = p->next)
			for (const struct naccess *a = p->accesses; a; a = a->proc_next)
				if (!a->seq && a->ended != TIME_NEVER && a->lo < now)
					now = a->lo;
	return now;
}

/* Copies the counters, with how many there are now. */
void node_stats(const struct node *n, struct node_stats *ret)
{
	*ret = n->stats;
	ret->undecided = n->n_undecided;
	ret->representative = n->n_rep;
	ret->files = n->n_files;
	ret->accesses = n->n_accesses;
}
