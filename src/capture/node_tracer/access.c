#include "capture/node_tracer/tracer_int.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#define TURN_NS 1000000000LL /* totals are told at least so often */
#define SETTLE_NS 2000000LL  /* a program that still wrote to the map that was turned away from has long ended */

struct access {
	struct access_programs *programs;
	struct rec_access_control *control;
	unsigned asked[4];
	bool attached;
	bool wanted_turn, turned; /* something ended; the other map waits to be read */
	int64_t turned_at;
	uint64_t lost_seen, compat_seen;
	struct tracer *t; /* while totals are told */
};

void access_release(struct access *a)
{
	if (!a)
		return;
	access_programs_close(a->programs);
	free(a);
}

/* NULL: not loaded. */
struct access_programs *access_programs_of(const struct access *a)
{
	return a->programs;
}

void access_turn(struct access *a)
{
	a->wanted_turn = true;
}

/* Bytes of the kernel's maps; a may be NULL. */
uint64_t access_memory(const struct access *a)
{
	return a ? access_programs_memory(a->programs) : 0;
}

/* What was read or written, as the kernel's counts tell it, with times of the tracer's clock; 0 where nothing was
 * counted. The same with times of the tracer's clock; 0 where nothing was counted. */
static struct tracer_side tracer_side_of(const struct tracer *t, const struct rec_side *s)
{
	return (struct tracer_side){.count = s->count,
	                            .bytes = s->bytes,
	                            .first = s->count ? tracer_time(t, s->first) : 0,
	                            .last = s->count ? tracer_time(t, s->last) : 0};
}

/* Tells of what a process moved of a file, with the execution that it was; TRACER_UNKNOWN: nobody has seen the process.
 * */
static void on_total(void *arg, const struct rec_total_key *k, const struct rec_total *total)
{
	struct access *a = arg;
	struct tracer *t = a->t;
	struct tracer_event ev = {.kind = TRACER_ACCESS, .pid = (pid_t)k->pid};
	const struct proc *proc = procs_find(t->procs, ev.pid);
	ev.access.read = tracer_side_of(t, &total->read);
	ev.access.write = tracer_side_of(t, &total->write);
	const struct tracer_side *r = &ev.access.read, *w = &ev.access.write;
	ev.lo = !w->count || (r->count && r->first < w->first) ? r->first : w->first;
	ev.hi = ev.until = !w->count || (r->count && r->last > w->last) ? r->last : w->last;
	if (proc && proc->start == total->start) {
		tracer_emit_of(t, &ev, proc);
		uint32_t back = proc->exec_id - k->exec_id;
		if (proc->exec_id && back <= proc->nexec)
			ev.nexec = proc->nexec - back;
	} else {
		ev.flags |= TRACER_UNKNOWN;
		ev.uid = total->uid;
		ev.start = total->start;
	}
	ev.access.nexec = ev.nexec;
	ev.access.fd = total->fd;
	ev.access.id =
	    (struct tracer_fileid){.dev = dev_of_kernel(k->dev), .ino = k->ino, .i_gen = k->gen, .mode = total->mode};
	places_gen(t->places, &ev.access.id);
	t->stats.accesses++;
	t->stats.calls += r->count + w->count;
	tracer_emit(t, &ev);
}

/* Takes the totals of the turn before, after a short wait for who still writes to them. Totals that cannot be read are
 * a gap. */
static void read_totals(struct access *a, struct tracer *t)
{
	int64_t wait = SETTLE_NS - (tracer_now(t) - a->turned_at);
	if (wait > 0 && wait <= SETTLE_NS)
		nanosleep(&(struct timespec){.tv_nsec = wait}, NULL);
	a->t = t;
	if (access_programs_take(a->programs, !(a->control->active & 1), on_total, a) < 0)
		tracer_emit_lost(t, TRACER_LOST_ACCESS, 0, a->turned_at, tracer_now(t),
		                 "totals of reads and writes could not be read");
	a->turned = false;
}

/* Makes the programs write to the other half of the totals; read_totals takes the first one. */
static void swap_totals(struct access *a, struct tracer *t)
{
	a->control->active ^= 1;
	a->turned = true;
	a->turned_at = tracer_now(t);
	a->wanted_turn = false;
}

/* Reads what was counted in the turn before, and begins another one; now: that one, too. */
void access_drain(struct tracer *t, bool now)
{
	struct access *a = t->access;
	if (!a)
		return;
	if (a->turned)
		read_totals(a, t);
	uint64_t filled = a->control->filled[a->control->active & 1];
	if (filled && (now || a->wanted_turn || filled > REC_TOTALS_MAX / 2 || tracer_now(t) - a->turned_at > TURN_NS)) {
		swap_totals(a, t);
		if (now)
			read_totals(a, t);
	}
	uint64_t lost = a->control->lost;
	if (lost != a->lost_seen) {
		tracer_emit_lost(t, TRACER_LOST_ACCESS, lost - a->lost_seen, tracer_time(t, a->control->lost_first),
		                 tracer_time(t, a->control->lost_last), "reads and writes that were not counted");
		t->stats.lost_access += lost - a->lost_seen;
		a->lost_seen = lost;
		a->control->lost_first = 0;
	}
	uint64_t compat = a->control->compat;
	if (compat != a->compat_seen) {
		int64_t at = tracer_now(t);
		tracer_emit_lost(t, TRACER_LOST_ACCESS, compat - a->compat_seen, t->file_lo, at,
		                 "calls of 32-bit programs, which are not counted");
		t->stats.lost_access += compat - a->compat_seen;
		a->compat_seen = compat;
	}
}

int tracer_set(struct tracer *t, enum tracer_who who, uint64_t id, bool on, struct err *err)
{
	struct access *a = t->access;
	int r = 0;
	if (!a && !on)
		return 0;
	if (!a) {
		a = calloc(1, sizeof(*a));
		if (!a)
			return err_set(err, ENOMEM, "cannot count reads and writes");
		r = access_programs_open(&a->programs, err);
		if (r < 0) {
			free(a);
			return r == -EINVAL || r == -ENOENT || r == -ESRCH ? -ENOTSUP : r;
		}
		a->control = access_programs_control(a->programs);
		t->access = a;
	}
	/* The marks of processes that begin meanwhile are theirs: first the programs that keep them, then who is asked for.
	 */
	if (on && !a->attached) {
		r = access_programs_attach(a->programs, true, err);
		if (r < 0)
			return r;
		a->attached = true;
		a->turned_at = tracer_now(t);
	}
	if (who == TRACER_NODE) {
		a->control->node = on;
		a->asked[0] = on;
	} else {
		static const unsigned sets[] = {[TRACER_UID] = 0, [TRACER_CGROUP] = 1, [TRACER_PID] = 2};
		r = access_programs_ask(a->programs, sets[who], id, on, err);
		if (r < 0)
			return r;
		if (r > 0)
			a->asked[who] += on ? 1u : (unsigned)-1;
	}
	if (!a->asked[0] && !a->asked[1] && !a->asked[2] && !a->asked[3] && a->attached) {
		r = access_programs_attach(a->programs, false, err);
		a->attached = false;
		a->wanted_turn = true;
	}
	return r < 0 ? r : 0;
}

int tracer_set_none(struct tracer *t, struct err *err)
{
	struct access *a = t->access;
	if (!a)
		return 0;
	int r = access_programs_attach(a->programs, false, err);
	a->attached = false;
	a->control->node = 0;
	access_programs_ask_none(a->programs);
	memset(a->asked, 0, sizeof(a->asked));
	a->wanted_turn = true;
	return r;
}
