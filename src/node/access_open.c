/* When accesses start and end: starts are paired with ends, repeats counted (LPS III.B, B2).
 *
 * The kernel says that a file was opened, not how; how is known when it is closed, or found in a table of descriptors.
 * Until then an access has mode 0 and is not told. */
#include "node/node_int.h"

enum { DORMANT_MAX = 256 }; /* of one process */

/* Somebody may write the file from now on: what others did to it before is over. It is told when it is known what else
 * happened meanwhile, the end of its process above all. Programs and libraries have many that read them: nothing is
 * done to each of these. */
static void mark_disturbed(struct node *n, const struct nproc *p, struct nfile *f)
{
	if (f->disturber != p) {
		f->disturbed_else = f->disturbed;
		f->disturber = p;
	}
	f->disturbed = ++n->turns;
}

/* Lets go of what is dormant of a process that has many. Not again before it has twice as many as lived then: a shell
 * that had the other end of thousands of pipes has as many live ones, which would be passed at each new one. */
static void sweep_dormant(struct node *n, struct nproc *p)
{
	struct naccess *next;
	for (struct naccess *a = p->accesses; a; a = next) {
		next = a->proc_next;
		n->stats.swept++;
		if (!naccess_is_live(a) && p->state != UNDECIDED)
			naccess_finish(n, a);
	}
	p->sweep_at = 2 * p->n_accesses;
}

/* The file has one more that may write it: is there another one? */
static void count_writer(struct node *n, const struct naccess *a)
{
	struct nfile *f = a->file;
	/* One other is enough: as soon as two have it, none of those that are live is alone. */
	const struct naccess *b = f->writers ? f->accesses : NULL;
	while (b && (b->proc == a->proc || !naccess_may_write(b) || !naccess_is_live(b)))
		b = b->file_next;
	f->writers++;
	mark_disturbed(n, a->proc, f);
	if (b)
		f->crowded = a->turn;
}

struct naccess *naccess_start(struct node *n, struct nproc *p, struct nfile *f, unsigned mode, unsigned via,
                              unsigned api, bool sure, int64_t lo, int64_t hi)
{
	if (p->n_accesses >= DORMANT_MAX && p->n_accesses >= p->sweep_at)
		sweep_dormant(n, p);
	struct naccess *a = naccess_new(n, p, f);
	if (!a)
		return NULL;
	a->mode = mode;
	a->via = via;
	a->api = api;
	a->sure = sure;
	a->lo = lo;
	a->place = lo == n->taken.lo ? n->taken.at - lo : 0;
	a->hi = hi;
	a->ended = TIME_NEVER;
	a->count = 1;
	a->execn = p->execn;
	a->uid = p->uid;
	a->counted_from = p->counting;
	a->turn = ++n->turns;
	if (f->known && f->seen < lo) {
		a->before = true;
		a->size = f->size;
		a->mtime = f->mtime;
	}
	a->was_empty = f->known && f->size == 0;
	a->seen_empty = a->was_empty && f->seen >= lo;
	if (naccess_may_write(a))
		count_writer(n, a);
	if (mode & ACCESS_WRITE)
		naccess_drop_late_looks(n, a);
	if (p->state == UNDECIDED && (p->n_accesses > HELD_BACK || n->n_held > HELD_BACK_ALL))
		nproc_decide(n, p);
	return a;
}

/* Somebody has the file from whom opened it, and cannot read it: so it was opened. */
static bool write_only(const struct nfile *f)
{
	unsigned seen = 0;
	for (const struct naccess *a = f->accesses; a && seen < GLANCES; a = a->file_next, seen++)
		if (a->via == TERM_via_descriptor && a->seen_mode && (a->mode & (ACCESS_READ | ACCESS_WRITE)) == ACCESS_WRITE)
			return true;
	return false;
}

void naccess_set_mode(struct node *n, struct naccess *a, unsigned mode)
{
	struct nfile *f = a->file;
	bool wrote = mode & ACCESS_WRITE;
	a->seen_mode |= wrote && write_only(f);
	if (!wrote)
		f->writers -= f->writers > 0;
	a->mode = mode;
	if (!wrote)
		return;
	naccess_drop_late_looks(n, a);
	if (is_maker(f, a->proc) && f->made >= a->lo - 1 && !a->before) {
		a->mode = ACCESS_WRITE | ACCESS_CREATE;
		f->maker = 0;
	} else if (naccess_is_sole_writer(a) && (a->shrunk || (a->was_empty && (!a->seen_empty || a->seen_mode)))) {
		/* There was nothing in it that it could have left there. */
		a->mode = ACCESS_WRITE | ACCESS_TRUNC;
	} else if (!a->seen_mode) {
		/* For writing, or for both? And was it emptied? Neither is told, so nothing that follows from it is sure. */
		a->mode |= ACCESS_READ;
		a->sure = false;
	} else {
		a->sure = false;
	}
	mark_disturbed(n, a->proc, f);
}

/* The file's fingerprint, as the event has it; the one before an access stays with it. */
static void note_file_state(struct naccess *a, const struct tracer_event *ev)
{
	struct nfile *f = a->file;
	if (!ev->file.have_state)
		return;
	f->known = true;
	f->size = ev->file.size;
	f->mtime = ev->file.mtime;
	f->seen = ev->file.looked > ev->hi ? ev->file.looked : ev->hi;
	if (!(a->mode & ACCESS_WRITE)) {
		if (!a->before) {
			a->before = true;
			a->size = ev->file.size;
			a->mtime = ev->file.mtime;
		}
		return;
	}
	a->after = true;
	a->after_size = ev->file.size;
	a->after_mtime = ev->file.mtime;
	a->after_looked = f->seen;
}

/* An access of p to f that a close in this mode can be the end of, or that an open may continue. */
static struct naccess *find_fitting_access(struct nproc *p, struct nfile *f, unsigned mode, bool live, bool opened)
{
	struct naccess *best = NULL;
	unsigned seen = 0;
	for (struct naccess *a = naccess_next(p, f, NULL); a && seen < GLANCES; a = naccess_next(p, f, a), seen++) {
		if ((a->mode & ACCESS_PROGRAM) || naccess_is_live(a) != live || a->execn != p->execn ||
		    (opened && naccess_is_superseded(a)))
			continue;
		bool writes = a->mode & ACCESS_WRITE;
		if (a->mode && writes == !!(mode & ACCESS_WRITE) && (writes || (a->mode & ACCESS_READ)))
			return a;
		if (a->mode == 0)
			best = a;
	}
	return best;
}

struct naccess *naccess_before_exec(struct nproc *p, struct nfile *f)
{
	for (struct naccess *a = naccess_next(p, f, NULL); a; a = naccess_next(p, f, a))
		if (a->mode == 0 && a->execn < p->execn)
			return a;
	return NULL;
}

/* The access by which a process runs a file as its program. NULL: it has none as a program. */
static struct naccess *find_program_access(struct nproc *p, struct nfile *f)
{
	for (struct naccess *a = naccess_next(p, f, NULL); a; a = naccess_next(p, f, a))
		if (a->mode & ACCESS_PROGRAM)
			return a;
	return NULL;
}

/* A close in a mode that p was not seen opening: it has it from who forked it, or from before. */
static struct naccess *add_inherited_access(struct node *n, struct nproc *p, struct nfile *f, unsigned mode, int64_t hi)
{
	for (struct naccess *a = f->accesses; a; a = a->file_next)
		if (a->mode == 0 && a->proc != p && naccess_is_live(a))
			naccess_set_mode(n, a, mode); /* the opening was that of another process: this is how it was opened */
	int64_t since = p->ran ? p->exec_time : p->forked;
	return naccess_start(n, p, f, mode, TERM_via_descriptor, TERM_api_inherit, false, since, hi);
}

/* An access that a close tells of first: opened and closed between two drains, or had from elsewhere. NULL: its own
 * program's, which was told, or no memory. */
static struct naccess *start_closed_access(struct node *n, struct nproc *p, const struct tracer_event *ev,
                                           struct nfile *f, unsigned mode, bool opened)
{
	if (opened) {
		bool sure = !(ev->flags & (TRACER_SPANS_EXEC | TRACER_SPANS_PID));
		struct naccess *a = naccess_start(n, p, f, 0, TERM_via_data, TERM_api_open, sure, ev->lo, ev->hi);
		if (a && a->mode == 0)
			naccess_set_mode(n, a, mode);
		if (a)
			return a;
	}
	if (mode == ACCESS_READ && find_program_access(p, f))
		return NULL;
	return add_inherited_access(n, p, f, mode, ev->hi);
}

/* mode: ACCESS_READ or ACCESS_WRITE. opened: in the same event, too. */
static void note_close(struct node *n, struct nproc *p, const struct tracer_event *ev, struct nfile *f, unsigned mode,
                       bool opened)
{
	struct naccess *a = find_fitting_access(p, f, mode, true, opened);
	if (!a)
		a = find_fitting_access(p, f, mode, false, opened);
	if (!a && !opened && (a = naccess_before_exec(p, f))) { /* what an exec closed */
		naccess_set_mode(n, a, mode);
		a->hi = ev->hi;
		note_file_state(a, ev);
		return;
	}
	bool lived = a && naccess_is_live(a);
	if (!a)
		a = start_closed_access(n, p, ev, f, mode, opened);
	else if (a->mode == 0)
		naccess_set_mode(n, a, mode);
	else if (opened)
		a->count++, n->stats.repeats++;
	if (!a)
		return;
	a->hi = ev->hi;
	a->over = n->taken.at;
	note_file_state(a, ev);
	/* Opened and closed between two drains, and live before: which of them is still open cannot be told. */
	if (!opened || !lived || !naccess_is_live(a))
		naccess_set_ended(n, a, ev->hi > a->lo ? ev->hi : a->lo + 1);
}

/* Had who forked p the file then? */
static bool parent_has_access(const struct nproc *p, struct nfile *f)
{
	struct nproc *by = p->maker_of_channels;
	for (struct naccess *a = by ? naccess_next(by, f, NULL) : NULL; a; a = naccess_next(by, f, a))
		if (a->lo <= p->forked_hi && (naccess_is_live(a) || a->ended >= p->forked))
			return true;
	return !by;
}

/* What p has of the file from the program before, by the table of descriptors at its exec; NULL. */
static struct naccess *find_inherited_access(struct nproc *p, struct nfile *f)
{
	for (struct naccess *a = naccess_next(p, f, NULL); a; a = naccess_next(p, f, a))
		if (a->via == TERM_via_descriptor && a->execn == p->execn && !a->opened_before && a->mode)
			return a;
	return NULL;
}

/* Ends an access that a program before this one had begun. It is an access of the program that its process ran
 * before, and ended with that. */
static void give_to_earlier_program(struct node *n, struct naccess *a, const struct tracer_event *ev)
{
	const struct nproc *p = a->proc;
	uint64_t behind = p->nexec > ev->nexec ? p->nexec - ev->nexec : 1;
	a->execn = behind < p->execn ? p->execn - behind : 0;
	if (a->execn + 1 == p->execn)
		a->uid = p->uid_before;
	if (a->lo >= p->exec_time)
		a->lo = p->forked < p->exec_time ? p->forked : p->exec_time - 1;
	naccess_set_ended(n, a, p->exec_time);
}

/* Was it the program before that opened the file? Then it ended with that; and if it left it open for this one, the
 * table of descriptors at exec has shown how. */
static bool opened_before(struct node *n, struct nproc *p, const struct tracer_event *ev, struct nfile *f)
{
	bool earlier = ev->nexec < p->nexec || before_user(p, ev) || ((ev->flags & TRACER_AGAIN) && ev->hi <= p->exec_time);
	if (!p->execn)
		return false;
	struct naccess *held = find_inherited_access(p, f);
	if (!held && !earlier)
		return false;
	if (!earlier && !(ev->flags & TRACER_SPANS_EXEC) && parent_has_access(p, f))
		return false; /* it may have it from them, and open it again now */
	bool made = is_maker(f, p);
	struct naccess *a = naccess_start(n, p, f, 0, TERM_via_data, TERM_api_open, true, ev->lo, ev->hi);
	if (!a)
		return true;
	a->before &= !made;
	give_to_earlier_program(n, a, ev);
	if (held) {
		held->opened_before = true;
		held->empty = made;
		held->hi = ev->hi;
		if (ev->file.ops & TRACER_CLOSED_WRITE)
			note_file_state(held, ev); /* the last close, of whichever it was */
		a->seen_mode = true;
		naccess_set_mode(n, a, held->mode & (ACCESS_READ | ACCESS_WRITE));
	} else if (ev->file.ops & (TRACER_CLOSED_WRITE | TRACER_CLOSED_READ)) {
		naccess_set_mode(n, a, ev->file.ops & TRACER_CLOSED_WRITE ? ACCESS_WRITE : ACCESS_READ);
		note_file_state(a, ev);
	}
	return true;
}

/* The process runs the file: an access, unless there is one. Where its number was used twice it is not sure. */
static void note_execution(struct node *n, struct nproc *p, const struct tracer_event *ev, struct nfile *f)
{
	if (find_program_access(p, f))
		return;
	bool sure = !(ev->flags & TRACER_SPANS_PID);
	naccess_start(n, p, f, ACCESS_READ | ACCESS_PROGRAM, TERM_via_data, TERM_api_exec, sure, ev->lo, ev->hi);
}

/* Opened, and not closed yet: how is not known. */
static void note_open(struct node *n, struct nproc *p, const struct tracer_event *ev, struct nfile *f)
{
	for (struct naccess *b = naccess_next(p, f, NULL); b; b = naccess_next(p, f, b))
		if (b->mode == 0 && b->execn == p->execn) {
			b->count++;
			b->hi = ev->hi;
			n->stats.repeats++;
			return;
		}
	bool sure = !(ev->flags & (TRACER_SPANS_EXEC | TRACER_SPANS_PID));
	bool had = f->known && f->size > 0;
	struct naccess *a = naccess_start(n, p, f, 0, TERM_via_data, TERM_api_open, sure, ev->lo, ev->hi);
	/* It has nothing in it now and had something: whoever opened it has emptied it. */
	if (a && had && ev->file.have_state && ev->file.size == 0)
		a->shrunk = true;
}

/* One event may say that a file was opened and closed, or more than once. */
static void take_access(struct node *n, struct nproc *p, const struct tracer_event *ev, struct nfile *f)
{
	uint32_t ops = ev->file.ops;
	bool opened = ops & TRACER_OPENED;
	if (f->kind == TERM_kind_directory || f->kind == TERM_kind_symlink)
		return;
	if (ops & TRACER_EXECUTED) {
		note_execution(n, p, ev, f);
		opened = false; /* the same opening */
		if (!(ops & TRACER_CLOSED_WRITE))
			return;
	}
	if (opened && opened_before(n, p, ev, f))
		return;
	if (ops & TRACER_CLOSED_WRITE)
		note_close(n, p, ev, f, ACCESS_WRITE, opened);
	if (ops & TRACER_CLOSED_READ)
		note_close(n, p, ev, f, ACCESS_READ, opened);
	if (opened && !(ops & (TRACER_CLOSED_WRITE | TRACER_CLOSED_READ)))
		note_open(n, p, ev, f);
	if ((ev->flags & TRACER_AGAIN) && (ops & TRACER_OPENED) && p->execn && ev->until > ev->hi)
		naccess_start(n, p, f, ACCESS_READ, TERM_via_data, TERM_api_open, false, ev->hi, ev->until);
}

void naccess_file(struct node *n, struct nproc *p, const struct tracer_event *ev, struct nfile *f)
{
	/* A nanosecond after what came before: nothing takes less, so it was not earlier. */
	int64_t before = ev->lo < p->ordered ? p->ordered : ev->lo, at = before < ev->hi ? before + 1 : ev->lo;
	n->taken.lo = ev->lo;
	n->taken.at = at;
	p->ordered = at;
	take_access(n, p, ev, f);
	n->taken.lo = n->taken.at = 0;
}
