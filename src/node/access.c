/* Accesses: starts are paired with ends, repeats counted (LPS III.B, B2).
 *
 * The kernel says that a file was opened, not how; how is known when it is closed, or found in a table of descriptors.
 * Until then an access has mode 0 and is not told. One that has ended is kept for a moment (dormant), since the same
 * file is often opened again; it is let go of when anybody else may write the file, when its process executes another
 * program or ends, and after a few seconds. */
#include "node/node_int.h"

#include <stdlib.h>
#include <sys/stat.h>

enum {
	DORMANT_MAX = 256, /* of one process */
	GLANCES = 64,      /* accesses looked at for one that may be continued */
};
static const int64_t dormant_ns = 2000000000, clock_step = 20000000;

static bool is_stream_file(const struct nfile *f)
{
	return f->kind == TERM_kind_pipe || f->kind == TERM_kind_fifo || f->kind == TERM_kind_socket ||
	       f->kind == TERM_kind_shm || f->kind == TERM_kind_terminal;
}

static bool may_have_written(const struct naccess *a)
{
	return a->mode == 0 || (a->mode & ACCESS_WRITE);
}

static bool is_access_live(const struct naccess *a)
{
	return a->ended == TIME_NEVER;
}

/* ---- the lists ---- */

void naccess_free(struct node *n, struct naccess *a)
{
	*a->file_at = a->file_next;
	if (a->file_next)
		a->file_next->file_at = a->file_at;
	*a->proc_at = a->proc_next;
	if (a->proc_next)
		a->proc_next->proc_at = a->proc_at;
	a->proc->n_accesses--;
	if (a->proc->payer)
		a->proc->payer->accesses--;
	a->file->n_accesses--;
	a->file->pins--;
	n->n_accesses--;
	n->n_held -= a->proc->state == UNDECIDED;
	free(a->by);
	free(a);
}

static struct naccess *naccess_new(struct node *n, struct nproc *p, struct nfile *f)
{
	struct book *payer = book_paying(n, p);
	if (!book_may(payer ? payer->accesses : 0, n->n_accesses, n->o.max_accesses))
		naccess_finish_dormant(n, true);
	bool may = book_may(payer ? payer->accesses : 0, n->n_accesses, n->o.max_accesses);
	struct naccess *a = may ? calloc(1, sizeof(*a)) : NULL;
	if (!a) {
		book_short(n, p->uid);
		return NULL;
	}
	if (payer)
		payer->accesses++;
	a->proc = p;
	a->file = f;
	a->file_next = f->accesses;
	a->file_at = &f->accesses;
	if (a->file_next)
		a->file_next->file_at = &a->file_next;
	f->accesses = a;
	a->proc_next = p->accesses;
	a->proc_at = &p->accesses;
	if (a->proc_next)
		a->proc_next->proc_at = &a->proc_next;
	p->accesses = a;
	p->n_accesses++;
	f->n_accesses++;
	f->pins++;
	n->n_accesses++;
	n->n_held += p->state == UNDECIDED;
	return a;
}

/* The accesses of p to f, one after the other; by the shorter of the two lists. */
static struct naccess *next_access_to(struct nproc *p, struct nfile *f, struct naccess *a)
{
	bool by_file = f->n_accesses <= p->n_accesses;
	for (a = a ? (by_file ? a->file_next : a->proc_next) : (by_file ? f->accesses : p->accesses); a;
	     a = by_file ? a->file_next : a->proc_next)
		if (a->proc == p && a->file == f)
			return a;
	return NULL;
}

static bool being_written(const struct nfile *f)
{
	unsigned seen = 0;
	for (const struct naccess *a = f->accesses; f->writers && a; a = a->file_next)
		if ((may_have_written(a) && is_access_live(a)) || ++seen > GLANCES)
			return true;
	return false;
}

/* Nobody else could write the file from its start to its end. */
static bool is_sole_writer(const struct naccess *a)
{
	return !a->shared && (!is_access_live(a) || a->turn > a->file->crowded);
}

/* Somebody else may have written the file since it ended: what comes is another access. */
static bool is_superseded(const struct naccess *a)
{
	const struct nfile *f = a->file;
	return !is_access_live(a) && (f->disturber != a->proc ? f->disturbed : f->disturbed_else) > a->ended_turn;
}

static void set_ended(struct node *n, struct naccess *a, int64_t when)
{
	if (!is_superseded(a)) {
		a->shared |= a->turn <= a->file->crowded;
		a->ended_turn = ++n->turns;
	}
	a->ended = when;
}

/* ---- telling ---- */

static unsigned rate_evidence(const struct naccess *a)
{
	const struct nfile *f = a->file;
	if (a->moved[1])
		return a->by->bytes[1] ? TERM_evidence_must : TERM_evidence_none;
	if (a->via == TERM_via_data && (a->mode & (ACCESS_CREATE | ACCESS_TRUNC)))
		return TERM_evidence_must;
	if (f->kind != TERM_kind_regular || !a->after)
		return TERM_evidence_may;
	if (a->empty && a->after_size == 0)
		return TERM_evidence_none; /* it was new, and still has nothing in it */
	if (!a->before)
		return TERM_evidence_may;
	if (a->size != a->after_size || a->mtime != a->after_mtime)
		return is_sole_writer(a) ? TERM_evidence_must : TERM_evidence_may;
	/* Unchanged is proof only if a write would have got a later time. */
	return a->mtime + clock_step < a->lo ? TERM_evidence_none : TERM_evidence_may;
}

/* Tells that it began, if it is known how and whose it is. */
static void emit_access_start(struct node *n, struct naccess *a)
{
	struct nproc *owner = owner_of(a->proc);
	if (a->seq || a->mode == 0 || !owner)
		return;
	struct book *b = NULL;
	uint64_t num = node_emit_alias(n, owner, a->proc == owner ? a->execn : owner->execn, a->uid, &b);
	uint64_t file = num ? node_emit_file(n, b, a->file) : 0;
	if (!file) {
		book_short(n, owner->uid);
		return;
	}
	unsigned mode = a->mode;
	/* The look at a file that was only read is the file at its start if nobody wrote it since. */
	if (!(mode & ACCESS_WRITE) && a->before && a->file->kind == TERM_kind_regular && !being_written(a->file) &&
	    a->file->written < a->lo && a->mtime + clock_step < a->lo) {
		node_emit_state(n, b, a->file, a->size, a->mtime);
		mode |= ACCESS_STATE;
	}
	struct event ev = {.access = {.file = file, .mode = mode, .via = a->via, .sure = a->sure, .api = a->api}};
	a->owner = owner;
	a->book = b;
	a->session = b->session;
	a->seq = node_emit(n, b, num, EVENT_access, a->lo, &ev);
	a->num = num;
	n->stats.accesses_told++; /* what the log could not keep it counts itself */
}

static void emit_access_totals(struct node *n, struct naccess *a)
{
	for (int w = 0; w < 2; w++) {
		if (!a->moved[w] || !a->by->calls[w])
			continue;
		/* Without times it says what it knows: calls and bytes. When they were is told with the end. */
		struct event ev = {.io = {.access = a->seq,
		                          .write = (uint64_t)w,
		                          .calls = a->by->calls[w],
		                          .bytes = a->by->bytes[w],
		                          .first = TIME_NONE,
		                          .last = TIME_NONE}};
		node_emit(n, a->book, a->num, EVENT_io, n->now, &ev);
	}
}

/* The last write was over when the clock of file times had passed the file's. Only where nothing can have been stored
 * through a mapping, which shows late: what is open to be written alone cannot be mapped so. */
static void narrow_end(struct naccess *a)
{
	const struct fs_domain *d = a->file->domain;
	if (!a->after || !a->seen_mode || (a->mode & ACCESS_READ) || !(a->mode & ACCESS_WRITE) || a->after_mtime < a->lo ||
	    !d || d->network || d->mtime_step > clock_step || !strncmp(d->type, "fuse", 4))
		return;
	int64_t bound = a->after_mtime + d->mtime_step;
	if (bound < a->ended)
		a->ended = bound > a->lo ? bound : a->lo + 1;
}

/* Tells how it ended, and forgets it. */
static void finish_access(struct node *n, struct naccess *a)
{
	narrow_end(a);
	emit_access_start(n, a);
	struct nfile *f = a->file;
	if ((a->mode & ACCESS_WRITE) || a->mode == 0)
		f->writers -= f->writers > 0;
	if (may_have_written(a) && a->mode && a->ended != TIME_NEVER && a->ended > f->written)
		f->written = a->ended;
	if (a->seq && a->session == a->book->session) {
		struct event ev = {.access_end = {.access = a->seq,
		                                  .until = a->ended == TIME_NEVER ? TIME_NONE : a->ended,
		                                  .count = a->count > 1 ? a->count : 0}};
		if (a->mode & ACCESS_WRITE) {
			ev.access_end.evidence = rate_evidence(a);
			if (a->after) {
				node_emit_state(n, a->book, f, a->after_size, a->after_mtime);
				ev.access_end.state = 1;
			}
		}
		bool read = a->mode & ACCESS_READ, write = a->mode & ACCESS_WRITE;
		for (int w = 0; w < 2; w++)
			if (a->moved[w] && (w ? write : read) && a->whole) {
				ev.access_end.known |= w ? 2u : 1u;
				*(w ? &ev.access_end.bytes_written : &ev.access_end.bytes_read) = a->by->bytes[w];
			}
		emit_access_totals(n, a);
		/* First with Last; First with Close, where the counting stopped before the end. */
		if (a->counted_from && (a->moved[0] || !read) && (a->moved[1] || !write)) {
			int64_t first = TIME_NONE, last = TIME_NONE;
			for (int w = 0; w < 2; w++) {
				if (!a->moved[w] || !a->by->calls[w])
					continue;
				if (first == TIME_NONE || a->by->first[w] < first)
					first = a->by->first[w];
				if (last == TIME_NONE || a->by->last[w] > last)
					last = a->by->last[w];
			}
			if (first != TIME_NONE) {
				ev.access_end.exact = 1;
				ev.access_end.first = first;
				ev.access_end.last = a->counted ? last : ev.access_end.until;
			}
		} else if (a->counted && a->moved[write] && a->by->last[write] > a->lo && a->by->last[write] < a->ended) {
			ev.access_end.until = a->by->last[write]; /* Open with Last */
		}
		node_emit(n, a->book, a->num, EVENT_access_end, n->now, &ev);
	}
	naccess_free(n, a);
}

/* Nobody ever said how it was opened: read, possibly; written if it looks otherwise than before. */
static void guess_mode(struct naccess *a)
{
	if (a->mode)
		return;
	a->mode = ACCESS_READ;
	a->sure = false;
	a->file->writers -= a->file->writers > 0;
}

void naccess_end_all(struct node *n, struct nproc *p, int64_t until, bool exec)
{
	struct naccess *next;
	for (struct naccess *a = p->accesses; a; a = next) {
		next = a->proc_next;
		if (is_access_live(a) || a->ended > until) /* nothing outlives its process, whenever it was heard of */
			set_ended(n, a, until > a->lo ? until : a->lo + 1);
		if (exec && a->mode == 0)
			continue; /* the table of the new program, or a close, will tell */
		guess_mode(a);
		finish_access(n, a);
	}
}

void naccess_emit_held(struct node *n, struct nproc *p)
{
	for (struct naccess *a = p->accesses; a; a = a->proc_next)
		emit_access_start(n, a);
}

/* What is dormant is let go of: all of it, or what has been so for long. */
void naccess_finish_dormant(struct node *n, bool all)
{
	for (unsigned i = 0; i < HASH; i++)
		for (struct nproc *p = n->procs[i]; p; p = p->next) {
			struct naccess *next;
			for (struct naccess *a = p->accesses; a; a = next) {
				next = a->proc_next;
				if (!is_access_live(a) && p->state != UNDECIDED && (all || a->ended + dormant_ns < n->now))
					finish_access(n, a);
			}
		}
}

void naccess_begin_session(struct node *n, struct book *b)
{
	for (unsigned i = 0; i < HASH; i++)
		for (struct nproc *p = n->procs[i]; p; p = p->next)
			for (struct naccess *a = p->accesses; a; a = a->proc_next) {
				if (!a->seq || a->book != b || a->session == b->session)
					continue;
				a->seq = 0;
				a->lo = n->now;
				a->mode &= ~(unsigned)(ACCESS_CREATE | ACCESS_TRUNC);
				if (a->mode)
					emit_access_start(n, a);
			}
}

/* Before another session: what lives ends in the old one. */
void naccess_end_session(struct node *n, struct book *b, int64_t now)
{
	for (unsigned i = 0; i < HASH; i++)
		for (struct nproc *p = n->procs[i]; p; p = p->next)
			for (struct naccess *a = p->accesses; a; a = a->proc_next) {
				if (!a->seq || a->book != b)
					continue;
				struct event ev = {
				    .access_end = {.access = a->seq,
				                   .until = is_access_live(a) ? now : a->ended,
				                   .evidence = a->mode & ACCESS_WRITE ? rate_evidence(a) : TERM_evidence_none,
				                   .count = a->count > 1 ? a->count : 0}};
				node_emit(n, b, a->num, EVENT_access_end, n->now, &ev);
			}
}

/* ---- starts and ends ---- */

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
		if (!is_access_live(a) && p->state != UNDECIDED)
			finish_access(n, a);
	}
	p->sweep_at = 2 * p->n_accesses;
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
	if (may_have_written(a)) {
		/* One other is enough: as soon as two have it, none of those that are live is alone. */
		const struct naccess *b = f->writers ? f->accesses : NULL;
		while (b && (b->proc == p || !may_have_written(b) || !is_access_live(b)))
			b = b->file_next;
		f->writers++;
		mark_disturbed(n, p, f);
		if (b)
			f->crowded = a->turn;
	}
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

/* How an access was opened is known now. */
static void set_mode(struct node *n, struct naccess *a, unsigned mode)
{
	struct nfile *f = a->file;
	bool wrote = mode & ACCESS_WRITE;
	a->seen_mode |= wrote && write_only(f);
	if (!wrote)
		f->writers -= f->writers > 0;
	a->mode = mode;
	if (!wrote)
		return;
	if (is_maker(f, a->proc) && f->made >= a->lo - 1 && !a->before) {
		a->mode = ACCESS_WRITE | ACCESS_CREATE;
		f->maker = 0;
	} else if (is_sole_writer(a) && (a->shrunk || (a->was_empty && (!a->seen_empty || a->seen_mode)))) {
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

static void note_file_state(struct naccess *a, const struct tracer_event *ev)
{
	struct nfile *f = a->file;
	if (!ev->file.have_state)
		return;
	f->known = true;
	f->size = ev->file.size;
	f->mtime = ev->file.mtime;
	f->seen = ev->hi;
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
}

/* An access of p to f that a close in this mode can be the end of, or that an open may continue. */
static struct naccess *find_fitting_access(struct nproc *p, struct nfile *f, unsigned mode, bool live, bool opened)
{
	struct naccess *best = NULL;
	unsigned seen = 0;
	for (struct naccess *a = next_access_to(p, f, NULL); a && seen < GLANCES; a = next_access_to(p, f, a), seen++) {
		if ((a->mode & ACCESS_PROGRAM) || is_access_live(a) != live || a->execn != p->execn ||
		    (opened && is_superseded(a)))
			continue;
		bool writes = a->mode & ACCESS_WRITE;
		if (a->mode && writes == !!(mode & ACCESS_WRITE) && (writes || (a->mode & ACCESS_READ)))
			return a;
		if (a->mode == 0)
			best = a;
	}
	return best;
}

/* What the program before had opened, nobody knows how. */
static struct naccess *find_access_before_exec(struct nproc *p, struct nfile *f)
{
	for (struct naccess *a = next_access_to(p, f, NULL); a; a = next_access_to(p, f, a))
		if (a->mode == 0 && a->execn < p->execn)
			return a;
	return NULL;
}

static struct naccess *find_program_access(struct nproc *p, struct nfile *f)
{
	for (struct naccess *a = next_access_to(p, f, NULL); a; a = next_access_to(p, f, a))
		if (a->mode & ACCESS_PROGRAM)
			return a;
	return NULL;
}

/* A close in a mode that p was not seen opening: it has it from who forked it, or from before. */
static struct naccess *add_inherited_access(struct node *n, struct nproc *p, struct nfile *f, unsigned mode, int64_t hi)
{
	for (struct naccess *a = f->accesses; a; a = a->file_next)
		if (a->mode == 0 && a->proc != p && is_access_live(a))
			set_mode(n, a, mode); /* the opening was that of another process: this is how it was opened */
	int64_t since = p->ran ? p->exec_time : p->forked;
	return naccess_start(n, p, f, mode, TERM_via_descriptor, TERM_api_inherit, false, since, hi);
}

static void note_close(struct node *n, struct nproc *p, const struct tracer_event *ev, struct nfile *f, unsigned mode,
                       bool opened)
{
	struct naccess *a = find_fitting_access(p, f, mode, true, opened);
	if (!a)
		a = find_fitting_access(p, f, mode, false, opened);
	bool reused = a && !is_access_live(a);
	if (!a && !opened && (a = find_access_before_exec(p, f))) { /* what an exec closed */
		set_mode(n, a, mode);
		a->hi = ev->hi;
		note_file_state(a, ev);
		return;
	}
	if (a && a->mode == 0)
		set_mode(n, a, mode);
	else if (a && opened)
		a->count++, n->stats.repeats++;
	if (!a && opened) {
		bool sure = !(ev->flags & (TRACER_SPANS_EXEC | TRACER_SPANS_PID));
		a = naccess_start(n, p, f, 0, TERM_via_data, TERM_api_open, sure, ev->lo, ev->hi);
		if (a && a->mode == 0)
			set_mode(n, a, mode);
		reused = true;
	}
	if (!a) {
		if (mode == ACCESS_READ && find_program_access(p, f))
			return; /* its own program's */
		a = add_inherited_access(n, p, f, mode, ev->hi);
		reused = true;
	}
	if (!a)
		return;
	a->hi = ev->hi;
	note_file_state(a, ev);
	/* Opened and closed between two drains, and live before: which of them is still open cannot be told. */
	if (!opened || reused || !is_access_live(a))
		set_ended(n, a, ev->hi > a->lo ? ev->hi : a->lo + 1);
}

/* Had who forked p the file then? */
static bool parent_has_access(const struct nproc *p, struct nfile *f)
{
	struct nproc *by = p->maker_of_channels;
	for (struct naccess *a = by ? next_access_to(by, f, NULL) : NULL; a; a = next_access_to(by, f, a))
		if (a->lo <= p->forked_hi && (is_access_live(a) || a->ended >= p->forked))
			return true;
	return !by;
}

/* Was it the program before that opened the file? Then it ended with that; and if it left it open for this one, the
 * table of descriptors at exec has shown how. */
static bool opened_before(struct node *n, struct nproc *p, const struct tracer_event *ev, struct nfile *f)
{
	bool earlier = ev->nexec < p->nexec || before_user(p, ev) || ((ev->flags & TRACER_AGAIN) && ev->hi <= p->exec_time);
	struct naccess *held = NULL;
	if (!p->execn)
		return false;
	for (struct naccess *a = next_access_to(p, f, NULL); a && !held; a = next_access_to(p, f, a))
		if (a->via == TERM_via_descriptor && a->execn == p->execn && !a->opened_before && a->mode)
			held = a;
	if (!held && !earlier)
		return false;
	if (!earlier && !(ev->flags & TRACER_SPANS_EXEC) && parent_has_access(p, f))
		return false; /* it may have it from them, and open it again now */
	bool made = is_maker(f, p);
	struct naccess *a = naccess_start(n, p, f, 0, TERM_via_data, TERM_api_open, true, ev->lo, ev->hi);
	if (!a)
		return true;
	uint64_t behind = p->nexec > ev->nexec ? p->nexec - ev->nexec : 1;
	a->execn = behind < p->execn ? p->execn - behind : 0;
	if (a->execn + 1 == p->execn)
		a->uid = p->uid_before;
	a->before &= !made;
	if (a->lo >= p->exec_time)
		a->lo = p->forked < p->exec_time ? p->forked : p->exec_time - 1;
	set_ended(n, a, p->exec_time);
	if (held) {
		held->opened_before = true;
		held->empty = made;
		held->hi = ev->hi;
		if (ev->file.ops & TRACER_CLOSED_WRITE)
			note_file_state(held, ev); /* the last close, of whichever it was */
		a->seen_mode = true;
		set_mode(n, a, held->mode & (ACCESS_READ | ACCESS_WRITE));
	} else if (ev->file.ops & (TRACER_CLOSED_WRITE | TRACER_CLOSED_READ)) {
		set_mode(n, a, ev->file.ops & TRACER_CLOSED_WRITE ? ACCESS_WRITE : ACCESS_READ);
		note_file_state(a, ev);
	}
	return true;
}

void naccess_file(struct node *n, struct nproc *p, const struct tracer_event *ev, struct nfile *f)
{
	uint32_t ops = ev->file.ops;
	bool opened = ops & TRACER_OPENED;
	if (f->kind == TERM_kind_directory || f->kind == TERM_kind_symlink)
		return;
	if (ops & TRACER_EXECUTED) {
		if (!find_program_access(p, f)) {
			bool sure = !(ev->flags & TRACER_SPANS_PID);
			naccess_start(n, p, f, ACCESS_READ | ACCESS_PROGRAM, TERM_via_data, TERM_api_exec, sure, ev->lo, ev->hi);
		}
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
	if (opened && !(ops & (TRACER_CLOSED_WRITE | TRACER_CLOSED_READ))) {
		struct naccess *a = NULL;
		for (struct naccess *b = next_access_to(p, f, NULL); b && !a; b = next_access_to(p, f, b))
			if (b->mode == 0 && b->execn == p->execn)
				a = b;
		if (a) {
			a->count++;
			a->hi = ev->hi;
			n->stats.repeats++;
		} else {
			bool sure = !(ev->flags & (TRACER_SPANS_EXEC | TRACER_SPANS_PID));
			bool had = f->known && f->size > 0;
			a = naccess_start(n, p, f, 0, TERM_via_data, TERM_api_open, sure, ev->lo, ev->hi);
			/* It has nothing in it now and had something: whoever opened it has emptied it. */
			if (a && had && ev->file.have_state && ev->file.size == 0)
				a->shrunk = true;
		}
	}
	if ((ev->flags & TRACER_AGAIN) && (ops & TRACER_OPENED) && p->execn && ev->until > ev->hi)
		naccess_start(n, p, f, ACCESS_READ, TERM_via_data, TERM_api_open, false, ev->hi, ev->until);
}

/* ---- descriptors ---- */

/* Its live access with that end; seen: not one that was guessed. NULL: none. */
static struct naccess *find_peer_access(struct nproc *o, struct nfile *f, unsigned mode, bool seen)
{
	struct naccess *a = next_access_to(o, f, NULL);
	while (a && !(is_access_live(a) && (a->mode & mode) && !(seen && a->guess)))
		a = next_access_to(o, f, a);
	return a;
}

static void start_guessed_access(struct node *n, struct nproc *o, struct nfile *f, unsigned mode, int64_t lo)
{
	struct naccess *a = find_peer_access(o, f, mode, false);
	if (a || (!o->alive && o->exit_time <= lo) ||
	    !(a = naccess_start(n, o, f, mode, TERM_via_descriptor, TERM_api_inherit, false, lo, n->now)))
		return;
	a->guess = true;
	if (o->alive)
		return;
	set_ended(n, a, o->exit_time);
	if (o->gone)
		finish_access(n, a);
}

/* Who else had a channel. It cannot be looked at any more, so all that is said is that it may have.
 *
 * Nobody was seen to have the other end: then the process that made it, most likely the one that forked who has this
 * end. One that has executed nothing, a subshell, may have it as well from who forked it, and so on up; but who was
 * seen with this end was given it, and lends it out.
 *
 * A second process that the same one forked has the end to read: that one lends it out, as a shell does whose loop
 * reads what a program writes.
 *
 * Who has the other end may be over: a shell waits for no program that it reads from by `< <(cmd)`, and that one goes
 * on for a moment when it has written all. */
static void guess_peer(struct node *n, struct nproc *p, const struct naccess *a)
{
	struct nproc *o = p->maker_of_channels;
	struct nfile *f = a->file;
	unsigned mode = a->mode & (ACCESS_READ | ACCESS_WRITE);
	if (f->kind != TERM_kind_pipe || a->guess || !o)
		return;
	if (f->has_reader != f->has_writer) {
		unsigned other = f->has_writer ? ACCESS_READ : ACCESS_WRITE;
		int64_t forked = p->forked;
		for (struct nproc *up = o; up && !find_peer_access(up, f, mode, true); up = up->maker_of_channels) {
			start_guessed_access(n, up, f, other, forked);
			if (up->ran)
				break;
			forked = up->forked;
		}
	}
	if (mode != ACCESS_READ || !o->alive)
		return;
	if (f->lent.by == o->pid && f->lent.to != p->pid)
		start_guessed_access(n, o, f, mode, o->ran ? o->exec_time : o->forked);
	f->lent.by = o->pid;
	f->lent.to = p->pid;
}

void naccess_channels(struct node *n, struct nproc *p)
{
	/* To make room for a guess, all that is dormant may be let go of: what lives stays. */
	struct naccess *a = p->accesses, *next;
	while (a && !is_access_live(a))
		a = a->proc_next;
	for (; a; a = next) {
		next = a->proc_next;
		while (next && !is_access_live(next))
			next = next->proc_next;
		guess_peer(n, p, a);
	}
}

/* Of a shell that calls a hundred thousand programs for their output nearly all are over. What was written by then is
 * in its interval, be it read later; who is seen with the channel after that makes it begin again. */
void naccess_guesses(struct node *n, struct nproc *p)
{
	for (struct naccess *a = p->accesses; a; a = a->proc_next) {
		unsigned seen = 0;
		if (!a->guess || !is_access_live(a) || n->now < a->hi + dormant_ns)
			continue;
		const struct naccess *b = a->file->accesses;
		while (b && (b->guess || !is_access_live(b)) && ++seen <= GLANCES)
			b = b->file_next;
		if (b)
			continue;
		set_ended(n, a, n->now);
	}
}

/* What this one has was opened by who forked it, and so. */
static void opened_as(struct node *n, const struct nproc *p, struct nfile *f, unsigned mode)
{
	struct nproc *by = p->maker_of_channels;
	for (struct naccess *b = by ? next_access_to(by, f, NULL) : NULL; b; b = next_access_to(by, f, b)) {
		if (b->via != TERM_via_data || (b->mode & ACCESS_PROGRAM) || b->seen_mode || b->seq)
			continue;
		if (b->mode == 0) {
			b->seen_mode = true;
			set_mode(n, b, mode);
		} else if (mode == ACCESS_WRITE && (b->mode & ACCESS_WRITE)) {
			b->seen_mode = true;
			b->mode &= ~(unsigned)ACCESS_READ;
		}
	}
}

void naccess_fds(struct node *n, struct nproc *p, const struct tracer_event *ev)
{
	for (size_t i = 0; i < ev->fds.n; i++) {
		const struct tracer_fd *d = &ev->fds.fd[i];
		unsigned type = d->file.mode & S_IFMT, mode = d->opened & 3; /* the bits are those of ACCESS_READ, WRITE */
		if (type == S_IFDIR || !mode || !d->file.ino)
			continue;
		struct nfile *f = nfile_find(n, &d->file);
		struct node_found found = {.kind = 0};
		if (!f || !f->gen) {
			if (n->world.find_fd)
				n->world.find_fd(n->world.arg, ev->fds.at_exit ? 0 : ev->pid, d->fd, &d->file, &found);
			if (found.kind)
				f = nfile_found(n, &d->file, &found);
			else if (!f && type != S_IFCHR)
				f = nfile_met(n, &d->file, NULL, 0, (struct str){0});
		}
		if (!f || f->kind == TERM_kind_pseudo || f->kind == TERM_kind_directory)
			continue;
		struct naccess *a = ev->fds.at_exit ? NULL : find_access_before_exec(p, f), *before = a;
		if (before) {
			before->seen_mode = true;
			set_mode(n, before, mode);
			a = NULL;
		}
		for (struct naccess *b = next_access_to(p, f, NULL); b && !a; b = next_access_to(p, f, b))
			if (b->execn == p->execn && !(b->mode & ACCESS_PROGRAM) && (b->mode == 0 || (b->mode & mode) == mode))
				a = b;
		if (a && a->mode == 0) { /* how it was opened is seen */
			a->seen_mode = true;
			set_mode(n, a, mode);
			continue;
		}
		if (a || ev->fds.at_exit) {
			if (a && !is_access_live(a))
				a->ended = TIME_NEVER; /* opened again */
			if (a || !is_stream_file(f))
				continue;
		}
		bool sync = d->fd == 2 && f->kind == TERM_kind_terminal;
		if (f->kind == TERM_kind_terminal && d->fd < 2)
			mode &= d->fd == 0 ? ACCESS_READ : ACCESS_WRITE;
		unsigned via = sync ? TERM_via_sync : f->kind == TERM_kind_socket ? TERM_via_socket : TERM_via_descriptor;
		int64_t since = !ev->fds.at_exit ? ev->lo : p->ran ? p->exec_time : p->forked;
		if (is_stream_file(f)) {
			f->has_reader |= mode & ACCESS_READ;
			f->has_writer |= mode & ACCESS_WRITE;
		}
		opened_as(n, p, f, mode);
		a = mode ? naccess_start(n, p, f, mode, via, TERM_api_inherit, false, since, ev->hi) : NULL;
		if (a)
			a->seen_mode = true;
		if (a && before) {
			a->opened_before = true;
			a->empty = before->mode & ACCESS_CREATE;
		}
	}
	if (ev->fds.cut && owner_of(p))
		node_emit_gap(n, owner_of(p), TERM_gap_limit, 0, ev->lo, ev->hi, "it had more descriptors than were looked at");
}

/* ---- bytes ---- */

void naccess_totals(struct node *n, struct nproc *p, const struct tracer_event *ev, struct nfile *f)
{
	unsigned mode = (ev->access.read.count ? ACCESS_READ : 0u) | (ev->access.write.count ? ACCESS_WRITE : 0u);
	uint64_t behind = p->nexec > ev->access.nexec ? p->nexec - ev->access.nexec : 0;
	uint64_t execn = behind < p->execn ? p->execn - behind : p->execn;
	struct naccess *a = NULL;
	for (struct naccess *b = next_access_to(p, f, NULL); b && !a; b = next_access_to(p, f, b))
		if (b->execn == execn && !(b->mode & ACCESS_PROGRAM) && (b->mode == 0 || (b->mode & mode) == mode))
			a = b;
	if (!a && !mode)
		return;
	const struct tracer_side *side[2] = {&ev->access.read, &ev->access.write};
	if (!a) {
		int64_t lo = TIME_NEVER;
		for (int w = 0; w < 2; w++)
			if (side[w]->count && side[w]->first < lo)
				lo = side[w]->first;
		unsigned via = f->kind == TERM_kind_socket ? TERM_via_socket : TERM_via_descriptor;
		a = naccess_start(n, p, f, mode, via, TERM_api_inherit, true, lo, ev->hi);
		if (!a)
			return;
		a->execn = execn;
	} else if (a->mode == 0) {
		set_mode(n, a, mode);
	}
	if (mode && !a->by && !(a->by = calloc(1, sizeof(*a->by)))) {
		book_short(n, p->uid);
		return;
	}
	for (int w = 0; w < 2; w++) {
		if (!side[w]->count)
			continue;
		a->moved[w] = true;
		a->by->calls[w] = side[w]->count;
		a->by->bytes[w] = side[w]->bytes;
		a->by->first[w] = side[w]->first;
		a->by->last[w] = side[w]->last;
	}
	a->counted = ev->access.final;
	if (is_stream_file(f)) {
		f->has_reader |= mode & ACCESS_READ;
		f->has_writer |= mode & ACCESS_WRITE;
	}
	if (a->via != TERM_via_data && !a->seq)
		a->sure = true;
}
