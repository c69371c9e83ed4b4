/* Accesses, as they are kept and told: those that go on, and those that have ended and are kept for a moment (dormant),
 * since the same file is often opened again. A dormant one is let go of when anybody else may write the file, when its
 * process executes another program or ends, and after a few seconds. access_open.c says when they start and end. */
#include "event/access_ending.h"
#include "node/node_int.h"

#include <stdlib.h>

static const int64_t clock_step = 20000000;

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

struct naccess *naccess_new(struct node *n, struct nproc *p, struct nfile *f)
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

struct naccess *naccess_next(struct nproc *p, struct nfile *f, struct naccess *a)
{
	bool by_file = f->n_accesses <= p->n_accesses;
	for (a = a ? (by_file ? a->file_next : a->proc_next) : (by_file ? f->accesses : p->accesses); a;
	     a = by_file ? a->file_next : a->proc_next)
		if (a->proc == p && a->file == f)
			return a;
	return NULL;
}

/* Gives up after GLANCES accesses and says yes. */
static bool being_written(const struct nfile *f)
{
	unsigned seen = 0;
	for (const struct naccess *a = f->accesses; f->writers && a; a = a->file_next)
		if ((naccess_may_write(a) && naccess_is_live(a)) || ++seen > GLANCES)
			return true;
	return false;
}

bool naccess_is_sole_writer(const struct naccess *a)
{
	return !a->shared && (!naccess_is_live(a) || a->turn > a->file->crowded);
}

bool naccess_is_superseded(const struct naccess *a)
{
	const struct nfile *f = a->file;
	return !naccess_is_live(a) && (f->disturber != a->proc ? f->disturbed : f->disturbed_else) > a->ended_turn;
}

/* when: ns. Nothing if it ended before and somebody else may have written since. */
void naccess_set_ended(struct node *n, struct naccess *a, int64_t when)
{
	if (!naccess_is_superseded(a)) {
		a->shared |= a->turn <= a->file->crowded;
		a->ended_turn = ++n->turns;
	}
	a->ended = when;
}

/* Did b begin behind a, and before a was looked at? What the look found may then be what b did, if b writes. */
static bool comes_before_look(const struct naccess *a, const struct naccess *b)
{
	return (b->proc != a->proc || b->execn != a->execn) && b->turn > a->ended_turn && b->lo < a->after_looked;
}

void naccess_drop_late_looks(struct node *n, const struct naccess *a)
{
	unsigned seen = 0;
	for (struct naccess *b = a->file->accesses; b; b = b->file_next) {
		if (++seen > GLANCES) {
			a->file->unlooked = ++n->turns;
			return;
		}
		if (b->after && !naccess_is_live(b) && comes_before_look(b, a))
			b->after = false;
	}
}

/* May what was seen when it had ended be what somebody else made of the file? Of those who are known to write
 * naccess_drop_late_looks has seen to that. */
static bool was_looked_at_late(const struct naccess *a)
{
	unsigned seen = 0;
	if (a->ended_turn < a->file->unlooked)
		return true;
	for (const struct naccess *b = a->file->accesses; b; b = b->file_next)
		if (++seen > GLANCES || (b->mode == 0 && comes_before_look(a, b)))
			return true;
	return false;
}

/* ---- telling ---- */

/* Whether nobody else writes the file of the access; arg: a pointer to a pointer to it. */
static bool is_naccess_alone(void *arg)
{
	return naccess_is_sole_writer(*(const struct naccess **)arg);
}

/* Nobody tells of the time when an inode changed, nor of writers by a descriptor that wrote nothing. */
static unsigned rate_evidence(const struct naccess *a)
{
	const bool data = a->via == TERM_via_data;
	const struct access_ending e = {.written = !a->moved[1]      ? ACCESS_BYTES_UNKNOWN
	                                           : a->by->bytes[1] ? ACCESS_BYTES_SOME
	                                                             : ACCESS_BYTES_NONE,
	                                .via = a->via,
	                                .regular = a->file->kind == TERM_kind_regular,
	                                .made = data && (a->mode & (ACCESS_CREATE | ACCESS_TRUNC)),
	                                .fresh = a->empty,
	                                .before = {a->before, a->size, a->mtime, a->mtime},
	                                .after = {a->after, a->after_size, a->after_mtime, a->after_mtime},
	                                .stamp = a->lo,
	                                .slack = clock_step,
	                                .is_alone = is_naccess_alone,
	                                .arg = &a};
	return access_ending_evidence(&e);
}

/* Returns the start of an access by which accesses are ordered. When it began at the earliest, and after what its
 * process began before. ns. */
static int64_t ordered_start(const struct naccess *a)
{
	int64_t start = a->lo + a->place;
	return start < a->ended || a->ended <= a->lo ? start : a->ended - 1;
}

/* Which of those that count to the owner p is: what one of them read is not surely in what another one wrote. */
static uint32_t part_of(struct nproc *p, struct nproc *owner)
{
	if (p == owner)
		return 0;
	if (!p->part)
		p->part = ++owner->parts;
	return p->part;
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
		node_emit_found(n, b, a->file, num, ordered_start(a), a->size, a->mtime);
		mode |= ACCESS_STATE;
	}
	struct event ev = {.access = {.file = file,
	                              .mode = mode,
	                              .via = a->via,
	                              .sure = a->sure,
	                              .api = a->api,
	                              .part = part_of(a->proc, owner)}};
	a->owner = owner;
	a->book = b;
	a->session = b->session;
	a->seq = node_emit(n, b, num, EVENT_access, ordered_start(a), &ev);
	a->num = num;
	n->stats.accesses_told++; /* what the log could not keep it counts itself */
}

/* What is known before the end, to the node's log, once for reads and once for writes. */
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
	    !access_ending_has_clock(d) || d->mtime_step > clock_step)
		return;
	a->ended = access_ending_until(a->lo, a->ended, a->after_mtime + d->mtime_step);
}

/* Returns the span of an access. When its first and last byte moved, as far as they were counted; false: none did. */
static bool counted_span(const struct naccess *a, int64_t *ret_first, int64_t *ret_last)
{
	*ret_first = *ret_last = TIME_NONE;
	for (int w = 0; w < 2; w++) {
		if (!a->moved[w] || !a->by->calls[w])
			continue;
		if (*ret_first == TIME_NONE || a->by->first[w] < *ret_first)
			*ret_first = a->by->first[w];
		if (*ret_last == TIME_NONE || a->by->last[w] > *ret_last)
			*ret_last = a->by->last[w];
	}
	return *ret_first != TIME_NONE;
}

/* Puts the bytes into the end that is told. */
static void add_bytes(const struct naccess *a, struct event_access_end *end)
{
	if (!a->whole)
		return;
	if (a->moved[0] && (a->mode & ACCESS_READ)) {
		end->known |= 1;
		end->bytes_read = a->by->bytes[0];
	}
	if (a->moved[1] && (a->mode & ACCESS_WRITE)) {
		end->known |= 2;
		end->bytes_written = a->by->bytes[1];
	}
}

/* What the counting says of its times. */
static void add_times(const struct naccess *a, struct event_access_end *end)
{
	bool read = a->mode & ACCESS_READ, write = a->mode & ACCESS_WRITE;
	int64_t first, last;
	/* First with Last; First with Close, where the counting stopped before the end. */
	if (a->counted_from && (a->moved[0] || !read) && (a->moved[1] || !write)) {
		if (counted_span(a, &first, &last)) {
			end->exact = 1;
			end->first = first;
			end->last = a->counted ? last : end->until;
		}
	} else if (a->counted && a->moved[write] && a->by->last[write] > a->lo && a->by->last[write] < a->ended) {
		end->until = a->by->last[write]; /* Open with Last */
	}
}

/* Sets from when on data may have come in through an access. Of a write: what its process began to read after this
 * may have come in, or may not. */
static void add_earliest(const struct naccess *a, struct event_access_end *end)
{
	int64_t start = ordered_start(a), over = a->over > start ? a->over : start;
	if (!a->over || end->exact || end->until == TIME_NONE || over >= end->until || !(a->mode & ACCESS_WRITE) ||
	    nfile_is_stream(a->file))
		return;
	end->exact = 2;
	end->first = TIME_NONE;
	end->last = over;
}

/* What is known of the access when it ends. */
static void emit_access_end(struct node *n, struct naccess *a)
{
	struct event ev = {.access_end = {.access = a->seq,
	                                  .until = a->ended == TIME_NEVER ? TIME_NONE : a->ended,
	                                  .count = a->count > 1 ? a->count : 0}};
	if (a->mode & ACCESS_WRITE) {
		ev.access_end.evidence = rate_evidence(a);
		if (a->after) {
			node_emit_state(n, a->book, a->file, a->after_size, a->after_mtime);
			ev.access_end.state = 1;
		}
	}
	emit_access_totals(n, a);
	add_bytes(a, &ev.access_end);
	add_times(a, &ev.access_end);
	add_earliest(a, &ev.access_end);
	node_emit(n, a->book, a->num, EVENT_access_end, n->now, &ev);
}

void naccess_finish(struct node *n, struct naccess *a)
{
	if (a->after && was_looked_at_late(a))
		a->after = false;
	narrow_end(a);
	emit_access_start(n, a);
	struct nfile *f = a->file;
	if ((a->mode & ACCESS_WRITE) || a->mode == 0)
		f->writers -= f->writers > 0;
	if (naccess_may_write(a) && a->mode && a->ended != TIME_NEVER && a->ended > f->written)
		f->written = a->ended;
	if (a->seq && a->session == a->book->session)
		emit_access_end(n, a);
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
		if (naccess_is_live(a))
			a->over = 0;
		if (naccess_is_live(a) || a->ended > until) /* nothing outlives its process, whenever it was heard of */
			naccess_set_ended(n, a, until > a->lo ? until : a->lo + 1);
		if (exec && a->mode == 0)
			continue; /* the table of the new program, or a close, will tell */
		guess_mode(a);
		naccess_finish(n, a);
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
				if (!naccess_is_live(a) && p->state != UNDECIDED && (all || a->ended + DORMANT_NS < n->now))
					naccess_finish(n, a);
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
				a->place = 0;
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
				                   .until = naccess_is_live(a) ? now : a->ended,
				                   .evidence = a->mode & ACCESS_WRITE ? rate_evidence(a) : TERM_evidence_none,
				                   .count = a->count > 1 ? a->count : 0}};
				node_emit(n, b, a->num, EVENT_access_end, n->now, &ev);
			}
}
