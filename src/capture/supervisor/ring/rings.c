#include "capture/supervisor/ring/rings.h"
#include "capture/supervisor/calls.h"
#include "capture/supervisor/paths/links.h"
#include "capture/supervisor/ring/rings_int.h"

#include <errno.h>
#include <stdlib.h>

/* Of the kernel's interface. */
enum { ENTER_REGISTERED = 1u << 4, CALL_SKIPS = 1u << 6, RESULT_MORE = 1u << 1, RESULT_NOTE = 1u << 3 };
enum {
	REGISTER_FILES = 2,
	REGISTER_UPDATE = 6,
	REGISTER_FILES2 = 13,
	REGISTER_UPDATE2 = 14,
	REGISTER_CLONE = 30,
	REGISTER_RESIZE = 33
};
#define REGISTER_BY_NUMBER (1u << 31)

/* A call that was submitted and whose result has not been seen. */
struct ring_op {
	uint64_t user_data, id; /* id: 0, nobody waits for it; else that of the pending ones */
	uint64_t stop;          /* of its thread, as in struct task */
	pid_t tid;
	uint32_t at; /* its number among all submissions */
	bool skips;  /* it has no result if it succeeds */
};

struct ring {
	struct ring *next;
	uint64_t id, num; /* num: of the process that made it */
	pid_t pid, tid;   /* tid: the thread whose io_uring_setup it is, 0 once its descriptor is known */
	int fd;
	bool known;      /* it has a shape */
	uint64_t params; /* where the kernel has put them */
	struct ring_shape shape;
	uint32_t results; /* how many have been seen */
	uint64_t others;  /* calls without a result yet that are not among these: */
	size_t nops;
	struct ring_op op[RING_CALLS_MAX];
};

struct rings {
	struct ring *all;
	size_t n;
	uint64_t ids;
};

void rings_gap(struct sup *s, struct proc *p, const char *text)
{
	p->uncounted = p->io_unseen = true;
	if (p->ring_said)
		return;
	p->ring_said = true;
	sup_gap(s, p, TERM_gap_io_uring, 0, text);
}

/* ---- which ring ---- */

/* The io_uring at a descriptor. NULL: none that the process itself has, for all its threads, at that descriptor. */
static struct ring *find_own_ring(const struct sup *s, const struct proc *p, int fd)
{
	for (struct ring *r = s->rings ? s->rings->all : NULL; r; r = r->next)
		if (r->num == p->num && !r->tid && r->fd == fd)
			return r;
	return NULL;
}

/* A child has its parent's. */
static struct ring *find_ring(struct sup *s, struct proc *p, int fd)
{
	enum { GENERATIONS = 16 };
	for (int i = 0; i < GENERATIONS && p; i++, p = proc_parent(s, p)) {
		struct ring *r = find_own_ring(s, p, fd);
		if (r)
			return r;
	}
	return NULL;
}

/* Finds the io_uring of a process, by the number that the thread has registered it by, which is known only of a
 * process that has one. */
static struct ring *find_only_ring(const struct sup *s, const struct proc *p)
{
	struct ring *found = NULL;
	for (struct ring *r = s->rings ? s->rings->all : NULL; r; r = r->next)
		if (r->num == p->num) {
			if (found)
				return NULL;
			found = r;
		}
	return found && !found->tid ? found : NULL;
}

/* Which its thread has made last, and not mapped yet. */
static struct ring *find_new_ring(const struct sup *s, const struct proc *p, pid_t tid)
{
	struct ring *r = s->rings ? s->rings->all : NULL;
	while (r && (r->num != p->num || r->tid != tid))
		r = r->next;
	return r;
}

/* The io_uring with that number. NULL: none. */
static struct ring *find_ring_by_id(const struct sup *s, uint64_t id)
{
	for (struct ring *r = s->rings ? s->rings->all : NULL; r; r = r->next)
		if (r->id == id)
			return r;
	return NULL;
}

/* What became of the call that the pending ones with this id wait for. */
static void settle_outcome(struct sup *s, uint64_t id, enum ring_outcome outcome, int res)
{
	for (struct pending *d = id ? s->pending : NULL; d; d = d->next)
		if (d->call == id && d->outcome == RING_WAITS) {
			d->outcome = outcome;
			d->fd = outcome == RING_UNKNOWN || d->direct ? -1 : res;
			s->ring_waits--;
		}
}

/* Gives up on an io_uring: what became of its calls is not known. Nothing is known of its calls any more. */
static void ring_lose(struct sup *s, struct ring *r)
{
	for (size_t i = 0; i < r->nops; i++)
		settle_outcome(s, r->op[i].id, RING_UNKNOWN, 0);
	r->nops = 0;
	r->others = 0;
}

/* Calls that wait in it are settled as lost. *at is the next one then. */
static void ring_free(struct sup *s, struct ring **at)
{
	struct ring *r = *at;
	*at = r->next;
	ring_lose(s, r);
	free(r);
	s->rings->n--;
}

/* Forgets an io_uring: that of the process, thread (0: known) and descriptor, but for `but`. */
static void forget_ring(struct sup *s, const struct ring *but, uint64_t num, pid_t tid, int fd)
{
	struct ring **at = &s->rings->all;
	while (*at && (*at == but || (*at)->num != num || (*at)->tid != tid || (*at)->fd != fd))
		at = &(*at)->next;
	if (*at)
		ring_free(s, at);
}

void rings_end(struct sup *s, const struct proc *p)
{
	for (struct ring **at = s->rings ? &s->rings->all : NULL; at && *at;)
		if ((*at)->num == p->num)
			ring_free(s, at);
		else
			at = &(*at)->next;
}

/* ---- how one comes to be ---- */

/* An io_uring is about to be made. One whose queues cannot be read is a gap. */
static void set_up(struct sup *s, struct proc *p, const struct trap *t)
{
	struct ring_params params = {0};
	struct left left;
	sup_leave(s, &left);
	bool read = remote_read(t->tid, t->args[1], &params, sizeof(params)) == sizeof(params);
	if (!sup_back(s, &left))
		return;
	p->uring = p->uncounted = p->io_unseen = true;
	if (!s->rings && !(s->rings = calloc(1, sizeof(*s->rings))))
		return;
	/* The one before it has failed. */
	forget_ring(s, NULL, p->num, t->tid, -1);
	const uint32_t unseen = RING_SETUP_SQPOLL | RING_SETUP_NO_MMAP | RING_SETUP_CQE_MIXED | RING_SETUP_SQE_MIXED;
	if (!read || (params.flags & unseen)) {
		rings_gap(s, p, "it set up an io_uring whose queues are not observed");
		return;
	}
	struct ring *r = s->rings->n < RINGS_MAX ? calloc(1, sizeof(*r)) : NULL;
	if (!r)
		return; /* who submits to it is told of */
	*r = (struct ring){.next = s->rings->all,
	                   .id = ++s->rings->ids,
	                   .num = p->num,
	                   .pid = p->pid,
	                   .tid = t->tid,
	                   .fd = -1,
	                   .params = t->args[1]};
	s->rings->all = r;
	s->rings->n++;
}

void rings_mapped(struct sup *s, struct proc *p, const struct trap *t)
{
	struct ring_params params;
	struct ring *r = find_new_ring(s, p, t->tid);
	if (!r)
		return;
	const uint64_t id = r->id;
	struct left left;
	sup_leave(s, &left);
	bool read = remote_read(t->tid, r->params, &params, sizeof(params)) == sizeof(params);
	if (!sup_back(s, &left) || !(r = find_ring_by_id(s, id)))
		return;
	struct ring_shape shape;
	struct ring_seen seen;
	const int fd = (int)t->args[4];
	if (!read || !ring_shape_of(&params, &shape) || ring_look(p->pidfd, fd, &shape, 0, 0, &seen) < 0)
		return; /* something else is mapped */
	forget_ring(s, r, p->num, 0, fd);
	r->tid = 0;
	r->fd = fd;
	r->shape = shape;
	r->results = seen.cq_tail;
	r->known = true;
	ring_seen_free(&seen);
}

/* What it registers changes how its files are to be told. */
static void register_with(struct sup *s, struct proc *p, const struct trap *t)
{
	switch ((uint32_t)t->args[1] & ~REGISTER_BY_NUMBER) {
	case REGISTER_FILES:
	case REGISTER_UPDATE:
	case REGISTER_FILES2:
	case REGISTER_UPDATE2:
	case REGISTER_CLONE:
		p->ring_files = true; /* descriptors that are closed do not end what goes by these */
		break;
	case REGISTER_RESIZE:
		for (struct ring *r = s->rings ? s->rings->all : NULL; r; r = r->next)
			if (r->num == p->num)
				r->known = false;
		break;
	default:
		break;
	}
}

/* ---- results ---- */

/* Keeps the order of the others. i must be one. */
static void ring_forget_op(struct ring *r, size_t i)
{
	r->nops--;
	for (; i < r->nops; i++)
		r->op[i] = r->op[i + 1];
}

/* How many calls may a result with these user data be of? *ret_first: the oldest of them. */
static size_t count_candidates(const struct ring *r, uint64_t user_data, size_t *ret_first)
{
	size_t n = 0;
	for (size_t i = r->nops; i-- > 0;)
		if (r->op[i].user_data == user_data) {
			n++;
			*ret_first = i;
		}
	return n;
}

/* Have all calls with these user data, which are n, a result here, and did all of them succeed? */
static bool is_all_success(const struct ring_seen *seen, size_t from, uint64_t user_data, size_t n)
{
	for (size_t i = from; i < seen->nresults; i++) {
		const struct ring_result *x = &seen->results[i];
		if (x->user_data != user_data || x->flags & (RESULT_MORE | RESULT_NOTE))
			continue;
		if (x->res < 0)
			return false;
		n -= n > 0;
	}
	return n == 0;
}

/* Result i settles the call that it is of; where several have its number and not all of them succeeded, none can be
 * told. */
static void take_result(struct sup *s, struct ring *r, const struct ring_seen *seen, size_t i)
{
	const struct ring_result *x = &seen->results[i];
	size_t first = 0, n = count_candidates(r, x->user_data, &first);
	if (x->flags & (RESULT_MORE | RESULT_NOTE))
		return;
	if (!n) {
		r->others -= r->others > 0;
		return;
	}
	if (n == 1 && !r->others) {
		settle_outcome(s, r->op[first].id, x->res < 0 ? RING_FAILED : RING_DONE, x->res);
	} else if (!r->others && is_all_success(seen, i, x->user_data, n)) {
		settle_outcome(s, r->op[first].id, RING_DONE, -1); /* which one's it is does not matter */
	} else {
		for (size_t k = 0; k < r->nops; k++)
			if (r->op[k].user_data == x->user_data)
				settle_outcome(s, r->op[k].id, RING_UNKNOWN, 0);
	}
	ring_forget_op(r, first);
}

/* The call of io_uring_enter that was to take it is over. */
static bool is_back(struct sup *s, const struct ring_op *o)
{
	const struct task *k = task_known(s, o->tid);
	return !k || k->stops != o->stop;
}

/* Results, then what was never taken: that failed or is looked at anew. */
static void take_results(struct sup *s, struct ring *r, const struct ring_seen *seen)
{
	r->results = seen->cq_tail;
	if (seen->lost) {
		ring_lose(s, r);
		return;
	}
	for (size_t i = 0; i < seen->nresults; i++)
		take_result(s, r, seen, i);
	for (size_t i = 0; i < r->nops;) {
		const struct ring_op *o = &r->op[i];
		const bool taken = (int32_t)(o->at - seen->sq_head) < 0;
		if (!is_back(s, o) || (taken && !o->skips)) {
			i++;
			continue;
		}
		/* Never taken: it may be with the next call, and is looked at anew then. */
		settle_outcome(s, o->id, taken ? RING_UNKNOWN : RING_FAILED, -EAGAIN);
		ring_forget_op(r, i);
	}
}

/* Whether a call that waits in the ring has its outcome awaited. */
static bool ring_is_awaited(const struct ring *r)
{
	for (size_t i = 0; i < r->nops; i++)
		if (r->op[i].id)
			return true;
	return false;
}

void rings_back(struct sup *s)
{
	for (struct ring *r = s->rings && s->ring_waits ? s->rings->all : NULL; r; r = r->next) {
		if (!ring_is_awaited(r))
			continue;
		const struct proc *p = proc_by_pid(s, r->pid);
		struct ring_seen seen;
		if (!p || p->num != r->num || ring_look(p->pidfd, r->fd, &r->shape, 0, r->results, &seen) < 0) {
			ring_lose(s, r);
			continue;
		}
		take_results(s, r, &seen);
		ring_seen_free(&seen);
	}
}

/* ---- submissions ---- */

/* Notes a call in the ring. If too many are: its outcome is settled as unknown. */
static void add_op(struct sup *s, struct ring *r, const struct ring_op *o)
{
	if (r->nops < RING_CALLS_MAX) {
		r->op[r->nops++] = *o;
		return;
	}
	r->others++;
	settle_outcome(s, o->id, RING_UNKNOWN, 0);
}

/* Whether something is pending for the call of this number. */
static bool is_awaited(const struct sup *s, uint64_t call)
{
	for (const struct pending *d = s->pending; d; d = d->next)
		if (d->call == call)
			return true;
	return false;
}

/* Handles a call that is submitted through an io_uring. False: the process is over, or the ring. */
static bool submit(struct sup *s, struct proc *p, const struct trap *t, uint64_t ring, const struct ring_call *c,
                   uint32_t at)
{
	struct ring_op o = {.user_data = c->user_data, .tid = t->tid, .at = at, .skips = c->flags & CALL_SKIPS};
	o.stop = s->current ? s->current->stops : 0;
	o.id = s->ring_call = ++s->rings->ids;
	s->ring_direct = c->file_index != 0;
	if (s->ring_waits < RING_WAITS_MAX)
		ring_call_handle(s, p, t, c);
	else
		rings_gap(s, p, "it submitted more calls at once than are told apart");
	s->ring_call = 0;
	if (s->gone)
		return false;
	s->refuse = 0;
	s->plain = false;
	struct ring *r = find_ring_by_id(s, ring);
	if (!is_awaited(s, o.id))
		o.id = 0;
	if (r)
		add_op(s, r, &o);
	else
		settle_outcome(s, o.id, RING_UNKNOWN, 0);
	return r != NULL;
}

/* Prepares for a call that changes names. As before any call that changes names. */
static void expect_names(struct sup *s, struct proc *p, const struct trap *t)
{
	feature_bar(s, t->tid);
	feature_collect(s, false);
	links_forget();
	if (s->in_memory)
		calls_note_memory(s);
	pending_settle(s, p, 0, true);
}

/* A process is about to submit: what is in its queue is taken as if called. */
static void enter(struct sup *s, struct proc *p, const struct trap *t)
{
	const bool numbered = t->args[3] & ENTER_REGISTERED;
	struct ring *r = numbered ? find_only_ring(s, p) : find_ring(s, p, (int)t->args[0]);
	struct ring_seen seen;
	p->uring = p->uncounted = p->io_unseen = true;
	if (!r || !r->known) {
		rings_gap(s, p, "it used an io_uring whose queues are not known");
		return;
	}
	const int fd = numbered ? r->fd : (int)t->args[0];
	const uint64_t id = r->id;
	if (ring_look(p->pidfd, fd, &r->shape, (uint32_t)t->args[1], r->results, &seen) < 0) {
		rings_gap(s, p, "its io_uring could not be read");
		ring_lose(s, r);
		return;
	}
	take_results(s, r, &seen);
	bool names = false;
	for (size_t i = 0; i < seen.ncalls; i++)
		names |= ring_call_names(&seen.calls[i]);
	if (names)
		expect_names(s, p, t);
	for (size_t i = 0; i < seen.ncalls; i++)
		if (!submit(s, p, t, id, &seen.calls[i], seen.sq_head + (uint32_t)i))
			break;
	ring_seen_free(&seen);
}

void rings_trap(struct sup *s, struct proc *p, const struct trap *t)
{
	if (s->unread_rings) {
		p->uring |= t->call == CALL_io_uring;
		if (t->call == CALL_io_uring)
			rings_gap(s, p, "it set up an io_uring, and what goes through those is not read: io_uring=off");
	} else if (t->call == CALL_io_uring)
		set_up(s, p, t);
	else if (t->call == CALL_ring_enter)
		enter(s, p, t);
	else if (t->call == CALL_ring_register)
		register_with(s, p, t);
}
