/* The log of what changed a descriptor: its entries, in their order, and the rows as they stand. */
#include "capture/count/counted_int.h"

#include <sched.h>
#include <string.h>

/* The descriptor is that file's from now on. False: it was closed by a way that was not seen, and perhaps was something
 * else in between. */
static bool begin_descriptor(struct counted *c, const struct counted_entry *e, uint64_t file)
{
	raise_high(c, e->value);
	/* Or a call that another thread had begun before it was closed is still to be counted, for what it was then. */
	if (c->file[e->value] || memcmp(&c->last[e->value], &e->row, sizeof(e->row)) || (c->many && c->flying[e->value]))
		return false;
	c->file[e->value] = file;
	return true;
}

/* The descriptor was made by a call that opens nothing. False: as begin. */
static bool begin_made_descriptor(struct counted *c, int64_t fd, uint64_t file)
{
	if (!in_range(fd))
		return true;
	raise_high(c, fd);
	if (c->file[fd] || (c->many && c->flying[fd]))
		return false;
	c->file[fd] = file;
	return true;
}

/* Both descriptors of an entry that has two. */
static void descriptors_of_entry(const struct counted_entry *e, int32_t ret[2])
{
	memcpy(ret, &e->value, 2 * sizeof(ret[0]));
}

/* Handlers of signals may have made the two logs' entries in another order: the oldest with that descriptor. */
static bool was_logged(struct counted *c, int64_t fd, uint64_t *ret_file)
{
	for (size_t i = 0; i < c->nlogged; i++)
		if (c->logged[i].fd == fd) {
			*ret_file = c->logged[i].file;
			memmove(&c->logged[i], &c->logged[i + 1], (--c->nlogged - i) * sizeof(c->logged[0]));
			return true;
		}
	return false;
}

/* Does the log that is being read hold an entry of that descriptor? */
static bool has_logged(const struct counted *c, int64_t fd)
{
	for (size_t i = 0; i < c->nlogged; i++)
		if (c->logged[i].fd == fd)
			return true;
	return false;
}

/* The open that entry number pos is of: the latest that had been stopped when it was made and is not in the log yet, of
 * that thread if there are several. A signal's handler may open between another open and its entry: it is stopped
 * later, and its entry comes first. */
static struct stopped *was_stopped(struct counted *c, uint32_t pos, pid_t tid)
{
	for (uint64_t n = c->opens; n-- > c->seen;) {
		struct stopped *o = &c->opened[n % OPENED];
		if (!o->seen && (int32_t)(o->pos - pos) <= 0 && (!c->many || o->tid == tid))
			return o;
	}
	return NULL;
}

bool counted_is_opening(const struct counted *c, pid_t tid)
{
	for (uint64_t n = c->seen; n < c->opens; n++)
		if (!c->opened[n % OPENED].seen && c->opened[n % OPENED].tid == tid)
			return true;
	return false;
}

/* One side of a call whose every stop was in the code, so that none is missing. */
static bool splice_between(struct sup *s, struct counted *c, struct proc *p, int32_t fd, bool write, uint64_t bytes)
{
	if (!in_range(fd) || !c->file[fd] || c->many)
		return false; /* other threads: it may have become another file while the call went on */
	counted_split(s, c, p, c->file[fd], write, TERM_ioapi_splice, 1, bytes);
	return !c->lost;
}

/* A call that opens has come back. */
static bool apply_open(struct counted *c, uint32_t pos, const struct counted_entry *e)
{
	struct stopped *o = was_stopped(c, pos, (pid_t)e->tid);
	if (!o)
		return false;
	o->seen = true;
	while (c->seen < c->opens && c->opened[c->seen % OPENED].seen)
		c->seen++;
	return e->value < 0 || !in_range(e->value) || begin_descriptor(c, e, o->file);
}

/* Applies an entry of the log: the descriptor e->fd was duplicated as e->value. False: the log does not fit what was
 * seen. */
static bool apply_dup(struct sup *s, struct counted *c, struct proc *p, const struct counted_entry *e)
{
	const bool over = e->kind == SITE_DUP2; /* it closes what was there */
	if (!in_range(e->value))
		return false;
	raise_high(c, e->value);
	if (e->fd == e->value)
		return true;
	/* What other threads move through the new one: before, or after? */
	if (c->many && (c->flying[e->value] || (over && (c->file[e->value] || e->flying))))
		return false;
	if (over)
		counted_attribute(s, c, p, (unsigned)e->value, &e->row);
	else if (c->file[e->value])
		return false;
	c->file[e->value] = in_range(e->fd) ? c->file[e->fd] : 0;
	return true;
}

/* A mapping of a counted file: notes it as loaded, and counts its bytes as read without a time. Nothing for a file that
 * is not counted. */
static void apply_map(struct sup *s, struct counted *c, struct proc *p, const struct counted_entry *e)
{
	const uint64_t file = in_range(e->fd) ? c->file[e->fd] : 0;
	struct access *a = file && file != NOT_A_FILE ? counted_live(p, file, ACCESS_READ) : NULL;
	if (!a)
		return;
	a->loaded = true;
	io_count(s, a, TERM_ioapi_mmap, false, 1, (uint64_t)e->value, TIME_NONE, TIME_NONE);
}

/* False: the log does not fit what was seen. */
static bool apply_close(struct sup *s, struct counted *c, struct proc *p, const struct counted_entry *e)
{
	if (!in_range(e->fd))
		return false;
	counted_attribute(s, c, p, (unsigned)e->fd, &e->row);
	c->file[e->fd] = 0;
	c->flying[e->fd] = c->many ? e->flying : 0;
	return true;
}

/* Two descriptors: of a pipe, or of something that is not counted. */
static bool apply_pair(struct counted *c, const struct counted_entry *e)
{
	const uint64_t what = e->kind == SITE_PIPE ? counted_next_own(c) : NOT_A_FILE;
	int32_t fd[2];
	descriptors_of_entry(e, fd);
	return begin_made_descriptor(c, fd[0], what) && begin_made_descriptor(c, fd[1], what);
}

/* Entry number pos. False: the log does not fit what was seen. */
static bool apply_counted_entry(struct sup *s, struct counted *c, struct proc *p, uint32_t pos,
                                const struct counted_entry *e)
{
	uint64_t file;
	raise_high(c, e->fd);
	switch (e->kind) {
	case SITE_OPEN:
		return apply_open(c, pos, e);
	case SITE_LOGGED:
		return in_range(e->value) && was_logged(c, e->value, &file) && begin_descriptor(c, e, file);
	case SITE_CLOSE:
		return apply_close(s, c, p, e);
	case SITE_DUP2:
	case SITE_DUP:
		return apply_dup(s, c, p, e);
	case SITE_SPLICE:
		return splice_between(s, c, p, e->fd, false, (uint64_t)e->value) &&
		       splice_between(s, c, p, e->to, true, (uint64_t)e->value);
	case SITE_MADE:
		return begin_made_descriptor(c, e->value, NOT_A_FILE);
	case SITE_PIPE:
	case SITE_PAIR:
		return apply_pair(c, e);
	case SITE_MAP:
		apply_map(s, c, p, e);
		return true;
	default: /* many were closed, or it is no entry */
		return false;
	}
}

struct counted_entry counted_entries[COUNTED_LOG]; /* under the big lock, as the rows are */
#define entries counted_entries
static struct counted_row rows[COUNTED_FDS + 1];

/* Reads a part of the table of counters: of a table that is shared, its own memory; else the process's. */
static bool read_table(const struct proc *p, uint64_t offset, void *ret, size_t n)
{
	const struct counted *c = p->counted;
	if (!c->shared)
		return remote(p->pid, c->table + offset, ret, n);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	memcpy(ret, (const unsigned char *)c->shared + offset, n);
	return true;
}

/* Finds where to go on in a log that processes share: up to where the entries behind that of a call that makes a
 * process are the child's: to where the log was when it became another program or ended. False: nobody has said so
 * yet. */
static bool next_resume(struct counted *c, uint32_t here, uint32_t end, uint32_t *ret_pos)
{
	unsigned i = 0;
	while (i < c->nresumes && (int32_t)(c->resume[i].pos - here) < 0)
		i++; /* of those that are past no call is left in the log */
	if (i == c->nresumes || (int32_t)(c->resume[i].pos - end) > 0)
		return false;
	*ret_pos = c->resume[i].pos;
	c->nresumes -= i + 1;
	memmove(&c->resume[0], &c->resume[i + 1], c->nresumes * sizeof(c->resume[0]));
	return true;
}

/* Forgets where processes went on, of what the log has been read. */
static void forget_resumes(struct counted *c)
{
	unsigned kept = 0;
	for (unsigned i = 0; i < c->nresumes; i++)
		if ((int32_t)(c->resume[i].pos - c->read) > 0)
			c->resume[kept++] = c->resume[i];
	c->nresumes = kept;
	if ((int32_t)(c->theirs - c->read) < 0)
		c->theirs = c->read;
}

/* How many entries it had made, of a process that is over. False: there are some that stand alone. */
static bool last_entries(const struct counted *c, uint32_t *ret_pos)
{
	uint32_t n = 0;
	while (n < COUNTED_LOG && c->shared->entry[(c->read + n) % COUNTED_LOG].seq == c->read + n + 1)
		n++;
	for (uint32_t i = 0; i < COUNTED_LOG; i++)
		if (c->shared->entry[i].seq && (int32_t)(c->shared->entry[i].seq - (c->read + n)) > 0)
			return false;
	*ret_pos = c->read + n;
	return true;
}

/* One reading of the log. */
struct drain {
	struct head head;
	int64_t begun;
	uint32_t n;    /* entries that are new */
	bool over;     /* the process is: its table is what it left */
	bool standing; /* it is at a stop of its own, or over */
	bool stable;   /* the rows are those of the last entry */
};

/* What a step of it comes to: on with the next; not now; never, for what was seen does not fit. */
enum drained { DRAIN_ON, DRAIN_LATER, DRAIN_LOST };

/* Reads the log's head, or finds its last entry where the process is over. DRAIN_LATER: it is about to be over;
 * DRAIN_LOST: its counts can no longer be told. */
static enum drained drain_head(struct sup *s, struct proc *p, struct drain *d)
{
	struct counted *c = p->counted;
	d->over = c->shared && proc_over(p);
	d->begun = s->narrow ? sup_now(s) : TIME_NONE;
	if (d->over) {
		d->head = (struct head){.owner = (uint32_t)p->pid, .threads = c->many};
		if (!last_entries(c, &d->head.pos))
			return DRAIN_LOST;
		d->standing = true;
	}
	bool read = d->over || remote(p->pid, c->table, &d->head, sizeof(d->head));
	if (!read && c->shared)
		return DRAIN_LATER; /* it is about to be over */
	/* An open whose stop was not looked at takes the place of another. */
	if (c->passes != __atomic_load_n(&s->passes, __ATOMIC_ACQUIRE))
		return DRAIN_LOST;
	if (p->io_unseen || !read || d->head.owner != (uint32_t)p->pid)
		return DRAIN_LOST;
	return DRAIN_ON;
}

/* How many entries there are to be read. DRAIN_LOST: threads came that were not counted, or entries were written over.
 * */
static enum drained drain_threads(const struct sup *s, const struct proc *p, struct drain *d)
{
	const struct counted *c = p->counted;
	if (d->head.threads && !d->over && c->idle != s->epoch + 1)
		d->standing = false; /* one of its threads does */
	if ((p->threads || d->head.threads) && !d->over && (!c->sites->tid || !d->head.threads))
		return DRAIN_LOST; /* made by a way that is not known */
	d->n = d->head.pos - c->read;
	return d->n > COUNTED_LOG ? DRAIN_LOST : DRAIN_ON;
}

/* Copies them to `entries`, round the log's end. DRAIN_LOST: they cannot be read. */
static enum drained drain_copy_entries(const struct proc *p, const struct drain *d)
{
	const struct counted *c = p->counted;
	const uint64_t log = offsetof(struct counted_table, entry);
	for (uint32_t done = 0; done < d->n;) {
		uint32_t at = (c->read + done) % COUNTED_LOG;
		uint32_t run = COUNTED_LOG - at < d->n - done ? COUNTED_LOG - at : d->n - done;
		if (!read_table(p, log + at * sizeof(entries[0]), entries + done, run * sizeof(entries[0])))
			return DRAIN_LOST;
		done += run;
	}
	return DRAIN_ON;
}

/* Which rows are to be read is what they name. DRAIN_LATER: an entry is being written. */
static enum drained drain_name_rows(struct counted *c, const struct drain *d)
{
	for (uint32_t i = 0; i < d->n; i++) {
		if (entries[i].seq != c->read + i + 1)
			return d->standing ? DRAIN_LOST : DRAIN_LATER;
		int32_t fd[2] = {-1, -1};
		if (entries[i].kind == SITE_PIPE || entries[i].kind == SITE_PAIR)
			descriptors_of_entry(&entries[i], fd);
		else if (in_range(entries[i].value) && entries[i].kind != SITE_MAP)
			raise_high(c, entries[i].value);
		raise_high(c, fd[0]);
		raise_high(c, fd[1]);
		raise_high(c, entries[i].fd);
	}
	return DRAIN_ON;
}

/* The rows, and whether they belong to the entries: d->stable. DRAIN_LOST: they cannot be read, or entries were written
 * over meanwhile. */
static enum drained drain_copy_rows(struct sup *s, const struct proc *p, struct drain *d)
{
	struct counted *c = p->counted;
	struct head again;
	const uint64_t at = offsetof(struct counted_table, row);
	if (!read_table(p, at, rows, (c->high + 1) * sizeof(rows[0])) ||
	    !read_table(p, at + COUNTED_FDS * sizeof(rows[0]), &rows[COUNTED_FDS], sizeof(rows[0])))
		return DRAIN_LOST;
	/* Where it runs the entries hold, and the rows only if no entry was made meanwhile. */
	d->stable = d->standing;
	if (!d->standing) {
		if (!remote(p->pid, c->table, &again, sizeof(again)) || again.pos - c->read > COUNTED_LOG)
			return DRAIN_LOST; /* written over meanwhile */
		d->stable = again.pos == d->head.pos;
	}
	c->now = s->narrow ? sup_now(s) : TIME_NONE;
	return DRAIN_ON;
}

/* A call that made a thread or a process, in entry number i of those that were copied. DRAIN_LATER: it has not gone on
 * yet. */
static enum drained drain_mark(struct counted *c, const struct drain *d, uint32_t i)
{
	if (entries[i].value & CLONE_THREAD) {
		if (!c->sites->tid)
			return DRAIN_LOST;
		c->many = true;
		c->made++;
		return DRAIN_ON;
	}
	if (!next_resume(c, c->read + i + 1, d->head.pos, &c->theirs))
		return d->standing ? DRAIN_LOST : DRAIN_LATER;
	c->theirs_tid = entries[i].tid;
	return DRAIN_ON;
}

/* Is what the entry needs from elsewhere still to come: of its other log, or the file that its open has made? */
static bool drain_waits(struct counted *c, const struct drain *d, uint32_t i)
{
	const struct counted_entry *e = &entries[i];
	if (e->kind == SITE_LOGGED && (d->over || !d->standing) && !has_logged(c, e->value))
		return true; /* its other log is not read to there yet */
	/* What it created is looked for at its next stop, or the next tick. */
	const struct stopped *o = c->many && !d->standing && e->kind == SITE_OPEN && in_range(e->value)
	                              ? was_stopped(c, c->read + i, (pid_t)e->tid)
	                              : NULL;
	return o && !o->file;
}

/* Entry number i of those that were copied. Not DRAIN_ON: it is not taken, nor is what comes after it. */
static enum drained drain_entry(struct sup *s, struct proc *p, const struct drain *d, uint32_t i)
{
	struct counted *c = p->counted;
	const bool mark = entries[i].kind == SITE_MARK;
	if ((int32_t)(c->theirs - (c->read + i)) > 0) {
		if (mark && !(entries[i].value & CLONE_THREAD))
			return DRAIN_LOST; /* another child, or one that nobody saw end: whose they are cannot be told */
		if (!c->many || entries[i].tid == c->theirs_tid)
			return DRAIN_ON;
	}
	if (mark)
		return drain_mark(c, d, i);
	if (drain_waits(c, d, i))
		return DRAIN_LATER;
	return apply_counted_entry(s, c, p, c->read + i, &entries[i]) ? DRAIN_ON : DRAIN_LOST;
}

/* Takes them in turn; c->read is behind the last one that was taken. DRAIN_LATER: rows may be newer than the entries.
 * */
static enum drained drain_entries(struct sup *s, struct proc *p, const struct drain *d)
{
	struct counted *c = p->counted;
	for (uint32_t i = 0; i < d->n; i++) {
		enum drained r = drain_entry(s, p, d, i);
		if (r == DRAIN_LATER)
			c->read += i;
		if (r != DRAIN_ON)
			return r;
	}
	c->read = d->head.pos;
	forget_resumes(c);
	return d->over && p->threads && !c->many ? DRAIN_LOST : d->stable ? DRAIN_ON : DRAIN_LATER;
}

/* What was counted of a descriptor that is open still. DRAIN_LATER: what the descriptor is can only be told when the
 * process stands. */
static enum drained drain_row(struct sup *s, struct proc *p, const struct drain *d, unsigned fd)
{
	struct counted *c = p->counted;
	if (!memcmp(&rows[fd], &c->last[fd], sizeof(rows[fd])))
		return DRAIN_ON;
	const bool unknown = is_unknown_pipe(c, c->file[fd]);
	if ((!c->file[fd] || unknown) && !d->standing)
		return DRAIN_LATER;
	if (!c->file[fd]) {
		c->file[fd] = counted_look_up(s, p, fd);
	} else if (unknown) {
		const bool elsewhere = c->elsewhere;
		uint64_t file = d->over ? 0 : counted_look_up(s, p, fd);
		c->elsewhere = elsewhere; /* what it counts waits */
		counted_found(s, p, c->file[fd], file);
		if (c->file[fd] == A_PIPE && file && file != NOT_A_FILE)
			c->file[fd] = file;
	} else if (d->standing && !d->over && counted_look_up(s, p, fd) != number_of_pipe_or_file(c, c->file[fd])) {
		return DRAIN_LOST; /* changed by a call that the log knows nothing of */
	}
	counted_attribute(s, c, p, fd, &rows[fd]);
	return DRAIN_ON;
}

/* Takes the counts of all rows up to c->high, and that of descriptors beyond. */
static enum drained drain_rows(struct sup *s, struct proc *p, const struct drain *d)
{
	struct counted *c = p->counted;
	for (unsigned fd = 0; fd <= c->high; fd++) {
		enum drained r = drain_row(s, p, d, fd);
		if (r != DRAIN_ON)
			return r;
	}
	counted_attribute(s, c, p, COUNTED_FDS, &rows[COUNTED_FDS]);
	return c->lost ? DRAIN_LOST : DRAIN_ON;
}

bool counted_drain(struct sup *s, struct proc *p, bool standing)
{
	struct counted *c = p->counted;
	struct drain d = {.standing = standing};
	if (c->lost || c->frozen)
		return !c->lost;
	if (c->epoch == s->epoch + 1)
		return true;
	enum drained r = drain_head(s, p, &d);
	if (r == DRAIN_ON)
		r = drain_threads(s, p, &d);
	if (r == DRAIN_ON)
		r = drain_copy_entries(p, &d);
	if (r == DRAIN_ON)
		r = drain_name_rows(c, &d);
	if (r == DRAIN_ON)
		r = drain_copy_rows(s, p, &d);
	if (r == DRAIN_ON)
		r = drain_entries(s, p, &d);
	if (r == DRAIN_ON)
		r = drain_rows(s, p, &d);
	c->lost |= r == DRAIN_LOST;
	if (r != DRAIN_ON)
		return false;
	c->epoch = s->epoch + 1;
	c->looked = d.begun;
	return true;
}
