#include "base/os/memfile.h"
#include "capture/count/counted_int.h"
#include "capture/count/totals.h"
#include "capture/inject/inject.h"
#include "capture/inline_open/inline_open.h"
#include "capture/inline_open/libraries.h"
#include "capture/supervisor/shield.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* ---- reading ---- */

struct access *counted_live(struct proc *p, uint64_t file, unsigned mode)
{
	struct access *found = NULL;
	for (struct access *a = p->live; a; a = a->proc_next)
		if (a->file->num == file && (a->mode & mode) && !(a->mode & ACCESS_PROGRAM) &&
		    (!found || found->via == TERM_via_sync))
			found = a;
	return found;
}

/* Is it the program, its script, or a library it began with? Of these no figure is claimed. */
static bool has_program_access(const struct proc *p, uint64_t file)
{
	const struct access *a = p->live;
	while (a && (a->file->num != file || !(a->mode & ACCESS_PROGRAM)))
		a = a->proc_next;
	return a;
}

/* Directions of which bytes may be this pipe's that went through one that it has made and nobody knows. */
static unsigned unknown_pipe_directions(const struct counted *c, const struct file *f)
{
	unsigned ways = c->pipes;
	if (f->kind != TERM_kind_pipe)
		return 0;
	for (unsigned i = 0; i < c->ngiven; i++)
		if (c->given[i] == f->num)
			return 0; /* it has not made that one */
	for (unsigned i = 0; i < OWN_PIPES; i++) {
		const struct own_pipe *o = &c->own[i];
		if (o->file == f->num)
			return c->pipes; /* that one's were told apart */
		if (!o->file)
			ways |= (o->bytes[0][0] | o->bytes[0][1] ? ACCESS_READ : 0u) |
			        (o->bytes[1][0] | o->bytes[1][1] ? ACCESS_WRITE : 0u);
	}
	return ways;
}

unsigned counted_unsaid(const struct access *a)
{
	return a->proc->counted ? unknown_pipe_directions(a->proc->counted, a->file) : 0;
}

/* Adds them to the file's access. late: they were moved long ago. */
static void add_to_access(struct sup *s, struct counted *c, struct proc *p, uint64_t file, bool write, unsigned api,
                          uint64_t calls, uint64_t bytes, bool late)
{
	struct access *a = file ? counted_live(p, file, write ? ACCESS_WRITE : ACCESS_READ) : NULL;
	/* What changes a file's length leaves no count: a write may have begun before its first byte. A thread that has not
	 * got its turn may have read before the last look, and not counted it yet. */
	if (!a && file && has_program_access(p, file)) {
		c->elsewhere |= write;
		return;
	}
	/* Of several accesses one gets them all. */
	for (struct access *b = a ? p->live : NULL; b; b = b->proc_next)
		if (b != a && b->file == a->file)
			b->beside |= write ? ACCESS_WRITE : ACCESS_READ;
	int64_t since = s->narrow && a ? (write || late || c->many ? a->start : c->looked) : TIME_NONE;
	if (!a || !io_count(s, a, api, write, calls, bytes, since, s->narrow ? c->now : TIME_NONE))
		c->lost |= !file || bytes;
}

static void split_and_add(struct sup *s, struct counted *c, struct proc *p, uint64_t file, bool write, unsigned api,
                          uint64_t calls, uint64_t bytes)
{
	if (!calls && !bytes)
		return;
	if (api == TERM_ioapi_splice)
		; /* the kernel's totals do not have them */
	else if (write)
		c->sum_written += bytes;
	else
		c->sum_read += bytes;
	if (file == NOT_A_FILE)
		return;
	struct own_pipe *own = own_pipe(c, file);
	if (own && !own->file && api != TERM_ioapi_splice) {
		own->calls[write][api == TERM_ioapi_other] += calls;
		own->bytes[write][api == TERM_ioapi_other] += bytes;
	} else if (file == A_PIPE || (own && !counted_live(p, own->file, write ? ACCESS_WRITE : ACCESS_READ))) {
		c->pipes |= bytes ? (write ? ACCESS_WRITE : ACCESS_READ) : 0; /* else it was the end */
	} else {
		add_to_access(s, c, p, own ? own->file : file, write, api, calls, bytes, false);
	}
}

void counted_found(struct sup *s, struct proc *p, uint64_t own, uint64_t file)
{
	static const unsigned apis[] = {TERM_ioapi_read, TERM_ioapi_other};
	struct counted *c = p->counted;
	struct own_pipe *o = own_pipe(c, own);
	if (!o || o->file || !file || file == NOT_A_FILE || o->file == file)
		return;
	o->file = file;
	for (unsigned i = 0; i < 4; i++)
		if (o->calls[i / 2][i % 2]) {
			if (counted_live(p, file, i / 2 ? ACCESS_WRITE : ACCESS_READ))
				add_to_access(s, c, p, file, i / 2, apis[i % 2], o->calls[i / 2][i % 2], o->bytes[i / 2][i % 2], true);
			else if (o->bytes[i / 2][i % 2]) /* nobody has seen it there */
				c->pipes |= i / 2 ? ACCESS_WRITE : ACCESS_READ;
		}
}

/* A pipe was made. Of the oldest one it will not be known any more which it was. */
static uint64_t next_own(struct counted *c)
{
	const uint64_t number = OWN_PIPE(c->nown++ % OWN_PIPES);
	struct own_pipe *o = own_pipe(c, number);
	for (unsigned fd = 0; fd <= c->high && fd < COUNTED_FDS; fd++)
		if (c->file[fd] == number)
			c->file[fd] = o->file ? o->file : A_PIPE;
	if (!o->file)
		c->pipes |= (o->bytes[0][0] | o->bytes[0][1] ? ACCESS_READ : 0u) |
		            (o->bytes[1][0] | o->bytes[1][1] ? ACCESS_WRITE : 0u);
	*o = (struct own_pipe){0};
	return number;
}

/* What has been counted of a descriptor since. */
static void attribute_descriptor(struct sup *s, struct counted *c, struct proc *p, unsigned fd,
                                 const struct counted_row *now)
{
	struct counted_row *was = &c->last[fd];
	if (!memcmp(was, now, sizeof(*now)))
		return;
	uint64_t file = fd < COUNTED_FDS ? c->file[fd] : 0;
	split_and_add(s, c, p, file, false, TERM_ioapi_read, now->read_calls - was->read_calls,
	              now->read_bytes - was->read_bytes);
	split_and_add(s, c, p, file, true, TERM_ioapi_read, now->write_calls - was->write_calls,
	              now->write_bytes - was->write_bytes);
	split_and_add(s, c, p, file, false, TERM_ioapi_other, now->other_read_calls - was->other_read_calls,
	              now->other_read_bytes - was->other_read_bytes);
	split_and_add(s, c, p, file, true, TERM_ioapi_other, now->other_write_calls - was->other_write_calls,
	              now->other_write_bytes - was->other_write_bytes);
	*was = *now;
}

static uint64_t what_is(struct sup *s, struct proc *p, const struct statx *st, bool *ret_elsewhere)
{
	unsigned type = st->stx_mode & S_IFMT;
	if (type != S_IFREG && type != S_IFIFO && !file_is_terminal(st))
		return NOT_A_FILE;
	struct file *f = file_known(s, st);
	if (f && (counted_live(p, f->num, ACCESS_READ | ACCESS_WRITE) || has_program_access(p, f->num)))
		return f->num;
	*ret_elsewhere = true;
	return NOT_A_FILE;
}

/* What a descriptor is, of a process that stands still. */
uint64_t counted_look_up(struct sup *s, struct proc *p, unsigned fd)
{
	struct where w;
	struct statx st;
	where_fd(p->pid, (int)fd, &w);
	return where_statx(&w, true, &st) < 0 ? 0 : what_is(s, p, &st, &p->counted->elsewhere);
}

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

/* Has a call of its been stopped that opens, and is not in the log? */
static bool is_opening(const struct counted *c, pid_t tid)
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
	split_and_add(s, c, p, c->file[fd], write, TERM_ioapi_splice, 1, bytes);
	return !c->lost;
}

/* Entry number pos. False: the log does not fit what was seen. */
static bool apply_counted_entry(struct sup *s, struct counted *c, struct proc *p, uint32_t pos,
                                const struct counted_entry *e)
{
	struct access *a;
	raise_high(c, e->fd);
	switch (e->kind) {
	case SITE_OPEN: {
		struct stopped *o = was_stopped(c, pos, (pid_t)e->tid);
		if (!o)
			return false;
		o->seen = true;
		while (c->seen < c->opens && c->opened[c->seen % OPENED].seen)
			c->seen++;
		return e->value < 0 || !in_range(e->value) || begin_descriptor(c, e, o->file);
	}
	case SITE_LOGGED: {
		uint64_t file;
		return in_range(e->value) && was_logged(c, e->value, &file) && begin_descriptor(c, e, file);
	}
	case SITE_CLOSE:
		if (!in_range(e->fd))
			return false;
		attribute_descriptor(s, c, p, (unsigned)e->fd, &e->row);
		c->file[e->fd] = 0;
		c->flying[e->fd] = c->many ? e->flying : 0;
		return true;
	case SITE_DUP2:
	case SITE_DUP:
		if (!in_range(e->value))
			return false;
		raise_high(c, e->value);
		if (e->fd == e->value)
			return true;
		/* What other threads move through the new one: before, or after? */
		if (c->many && (c->flying[e->value] || (e->kind == SITE_DUP2 && (c->file[e->value] || e->flying))))
			return false;
		if (e->kind == SITE_DUP2)
			attribute_descriptor(s, c, p, (unsigned)e->value, &e->row);
		else if (c->file[e->value])
			return false;
		c->file[e->value] = in_range(e->fd) ? c->file[e->fd] : 0;
		return true;
	case SITE_SPLICE:
		return splice_between(s, c, p, e->fd, false, (uint64_t)e->value) &&
		       splice_between(s, c, p, e->to, true, (uint64_t)e->value);
	case SITE_MADE:
		return begin_made_descriptor(c, e->value, NOT_A_FILE);
	case SITE_PIPE:
	case SITE_PAIR: {
		const uint64_t what = e->kind == SITE_PIPE ? next_own(c) : NOT_A_FILE;
		int32_t fd[2];
		descriptors_of_entry(e, fd);
		return begin_made_descriptor(c, fd[0], what) && begin_made_descriptor(c, fd[1], what);
	}
	case SITE_MAP:
		if (!in_range(e->fd))
			return true;
		a = c->file[e->fd] && c->file[e->fd] != NOT_A_FILE ? counted_live(p, c->file[e->fd], ACCESS_READ) : NULL;
		if (a) {
			a->loaded = true;
			io_count(s, a, TERM_ioapi_mmap, false, 1, (uint64_t)e->value, TIME_NONE, TIME_NONE);
		}
		return true;
	default: /* many were closed, or it is no entry */
		return false;
	}
}

struct counted_entry counted_entries[COUNTED_LOG]; /* under the big lock, as the rows are */
#define entries counted_entries
static struct counted_row rows[COUNTED_FDS + 1];

/* Of a table that is shared, its own memory; else the process's. */
static bool read_table(const struct proc *p, uint64_t offset, void *ret, size_t n)
{
	const struct counted *c = p->counted;
	if (!c->shared)
		return remote(p->pid, c->table + offset, ret, n);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	memcpy(ret, (const unsigned char *)c->shared + offset, n);
	return true;
}

/* Up to where the entries behind that of a call that makes a process are the child's: to where the log was when it
 * became another program or ended. False: nobody has said so yet. */
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

/* Of what the log has been read. */
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

/* A pipe that it has made, and which one is not known. */
static bool is_unknown_pipe(struct counted *c, uint64_t file)
{
	const struct own_pipe *own = own_pipe(c, file);
	return file == A_PIPE || (own && !own->file);
}

/* The file's number, also of a pipe that it has made. */
static uint64_t number_of_pipe_or_file(struct counted *c, uint64_t file)
{
	const struct own_pipe *own = own_pipe(c, file);
	return own && own->file ? own->file : file;
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

/* standing: the process is at a stop of its own. False: not now, or never (lost). */
bool counted_drain(struct sup *s, struct proc *p, bool standing)
{
	struct counted *c = p->counted;
	struct head head, again;
	if (c->lost || c->frozen)
		return !c->lost;
	if (c->epoch == s->epoch + 1)
		return true;
	bool over = c->shared && proc_over(p);
	int64_t begun = s->narrow ? sup_now(s) : TIME_NONE;
	if (over) {
		head = (struct head){.owner = (uint32_t)p->pid, .threads = c->many};
		if (!last_entries(c, &head.pos))
			goto lost;
		standing = true;
	}
	bool read = over || remote(p->pid, c->table, &head, sizeof(head));
	if (!read && c->shared)
		return false; /* it is about to be over */
	/* An open whose stop was not looked at takes the place of another. */
	if (c->passes != __atomic_load_n(&s->passes, __ATOMIC_ACQUIRE))
		goto lost;
	if (p->io_unseen || !read || head.owner != (uint32_t)p->pid)
		goto lost;
	if (head.threads && !over && c->idle != s->epoch + 1)
		standing = false; /* one of its threads does */
	if ((p->threads || head.threads) && !over && (!c->sites->tid || !head.threads))
		goto lost; /* made by a way that is not known */
	uint32_t n = head.pos - c->read;
	if (n > COUNTED_LOG)
		goto lost;
	const uint64_t log = offsetof(struct counted_table, entry);
	for (uint32_t done = 0; done < n;) {
		uint32_t at = (c->read + done) % COUNTED_LOG;
		uint32_t run = COUNTED_LOG - at < n - done ? COUNTED_LOG - at : n - done;
		if (!read_table(p, log + at * sizeof(entries[0]), entries + done, run * sizeof(entries[0])))
			goto lost;
		done += run;
	}
	for (uint32_t i = 0; i < n; i++) {
		if (entries[i].seq != c->read + i + 1) {
			if (standing)
				goto lost;
			return false;
		}
		int32_t fd[2] = {-1, -1};
		if (entries[i].kind == SITE_PIPE || entries[i].kind == SITE_PAIR)
			descriptors_of_entry(&entries[i], fd);
		else if (in_range(entries[i].value) && entries[i].kind != SITE_MAP)
			raise_high(c, entries[i].value);
		raise_high(c, fd[0]);
		raise_high(c, fd[1]);
		raise_high(c, entries[i].fd);
	}
	const uint64_t at = offsetof(struct counted_table, row);
	if (!read_table(p, at, rows, (c->high + 1) * sizeof(rows[0])) ||
	    !read_table(p, at + COUNTED_FDS * sizeof(rows[0]), &rows[COUNTED_FDS], sizeof(rows[0])))
		goto lost;
	/* Where it runs the entries hold, and the rows only if no entry was made meanwhile. */
	bool stable = standing;
	if (!standing) {
		if (!remote(p->pid, c->table, &again, sizeof(again)) || again.pos - c->read > COUNTED_LOG)
			goto lost; /* written over meanwhile */
		stable = again.pos == head.pos;
	}
	c->now = s->narrow ? sup_now(s) : TIME_NONE;
	for (uint32_t i = 0; i < n; i++) {
		const bool mark = entries[i].kind == SITE_MARK, thread = mark && entries[i].value & CLONE_THREAD;
		if ((int32_t)(c->theirs - (c->read + i)) > 0) {
			if (mark && !thread) /* another child, or one that nobody saw end: whose they are cannot be told */
				goto lost;
			if (!c->many || entries[i].tid == c->theirs_tid)
				continue;
		}
		if (thread) {
			if (!c->sites->tid)
				goto lost;
			c->many = true;
			c->made++;
			continue;
		}
		if (mark) {
			if (!next_resume(c, c->read + i + 1, head.pos, &c->theirs)) {
				if (standing)
					goto lost;
				c->read += i;
				return false;
			}
			c->theirs_tid = entries[i].tid;
			continue;
		}
		/* Its other log is not read to there yet. */
		if (entries[i].kind == SITE_LOGGED && (over || !standing) && !has_logged(c, entries[i].value)) {
			c->read += i;
			return false;
		}
		/* What it created is looked for at its next stop, or the next tick. */
		const struct stopped *o = c->many && !standing && entries[i].kind == SITE_OPEN && in_range(entries[i].value)
		                              ? was_stopped(c, c->read + i, (pid_t)entries[i].tid)
		                              : NULL;
		if (o && !o->file) {
			c->read += i;
			return false;
		}
		if (!apply_counted_entry(s, c, p, c->read + i, &entries[i]))
			goto lost;
	}
	c->read = head.pos;
	forget_resumes(c);
	if (over && p->threads && !c->many)
		goto lost;
	if (!stable)
		return false;
	for (unsigned fd = 0; fd <= c->high; fd++) {
		if (!memcmp(&rows[fd], &c->last[fd], sizeof(rows[fd])))
			continue;
		if (!c->file[fd]) {
			if (!standing)
				return false;
			c->file[fd] = counted_look_up(s, p, fd);
		} else if (is_unknown_pipe(c, c->file[fd])) {
			if (!standing)
				return false;
			const bool elsewhere = c->elsewhere;
			uint64_t file = over ? 0 : counted_look_up(s, p, fd);
			c->elsewhere = elsewhere; /* what it counts waits */
			counted_found(s, p, c->file[fd], file);
			if (c->file[fd] == A_PIPE && file && file != NOT_A_FILE)
				c->file[fd] = file;
		} else if (standing && !over && counted_look_up(s, p, fd) != number_of_pipe_or_file(c, c->file[fd])) {
			goto lost; /* changed by a call that the log knows nothing of */
		}
		attribute_descriptor(s, c, p, fd, &rows[fd]);
	}
	attribute_descriptor(s, c, p, COUNTED_FDS, &rows[COUNTED_FDS]);
	if (c->lost)
		return false;
	c->epoch = s->epoch + 1;
	c->looked = begun;
	return true;
lost:
	c->lost = true;
	return false;
}

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

static bool is_standing(const struct sup *s, const struct proc *p)
{
	return s->current && s->current->proc == p;
}

void counted_update(struct sup *s, struct proc *p)
{
	if (p->counted)
		counted_drain(s, p, is_standing(s, p));
}

bool counted_all(struct sup *s, struct proc *p)
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

static bool counted_none(struct sup *s, const struct access *a, unsigned way)
{
	const struct counted *c = a->proc->counted;
	return c && counted_all(s, a->proc) && !c->elsewhere &&
	       !((a->partial | a->beside | unknown_pipe_directions(c, a->file)) & way);
}

static bool counted_waits(struct sup *s, struct proc *p)
{
	struct counted *c = p->counted;
	if (!c || !(c->many || p->threads) || c->frozen || c->idle == s->epoch + 1)
		return false;
	c->epoch = c->judged = 0; /* they have gone on since */
	return !counted_all(s, p) && !c->lost;
}

static void counted_tick(struct sup *s)
{
	s->epoch++;
	for (unsigned i = 0; i < HASH_SIZE; i++)
		for (struct proc *p = s->procs[i]; p; p = p->next)
			if (p->counted && !p->counted->lost && !p->counted->frozen)
				counted_drain(s, p, false);
}

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

static void counted_before(struct sup *s, struct proc *p, const struct trap *t)
{
	bool leaves = t->call == CALL_execve || t->call == CALL_execveat || t->call == CALL_exit;
	if (p->old_code)
		return;
	struct proc *parent = leaves || !p->counting_tries ? proc_parent(s, p) : NULL;
	if (parent && !p->execn) {
		p->counting_tries = 1;
		counted_inherit(s, p, parent, leaves);
	}
	struct counted *c = p->counted;
	if (!c)
		return;
	c->opening = false;
	if (!p->exec)
		c->frozen = false; /* the exec that was about to be has failed */
	if (c->lost || c->frozen)
		return;
	if (t->call == CALL_splice && !is_splice_observed(s, c, p, t))
		c->lost = true;
	bool ours = is_open(t->call) && !t->compat && is_logged_call(c, t->ip);
	struct head head = {0};
	if (leaves && remote(p->pid, c->table, &head, sizeof(head)) && head.threads && totals_stand(p->pid, t->tid))
		c->idle = s->epoch + 1;
	bool moves = head.threads && c->idle != s->epoch + 1;
	if (leaves || (ours && (c->opens - c->seen >= DRAIN_AT || c->nlogged || (c->many && is_opening(c, t->tid))))) {
		bool all = counted_drain(s, p, true);
		/* The recorder was passed by, or a call was made twice. */
		if (c->many && !leaves ? all && is_opening(c, t->tid) : c->opens != c->seen)
			c->lost = true;
	}
	if (leaves && !moves) {
		if (c->nown)
			counted_see_pipes(s, p, true);
		counted_all(s, p);
	} else if (leaves) { /* what they do until they are ended is not seen */
		c->lost |= t->call == CALL_exit;
		c->judged = s->epoch + 1;
		c->proved = false;
	}
	if (ours && !c->lost) {
		if (c->opens - c->seen == OPENED || !remote(p->pid, c->table, &head, sizeof(head))) {
			c->lost = true;
			return;
		}
		c->opening = true;
		c->opened[c->opens % OPENED].file = c->opened[c->opens % OPENED].pending = 0;
		c->opened[c->opens % OPENED].tid = t->tid;
		c->opened[c->opens % OPENED].pos = head.pos;
		c->opened[c->opens++ % OPENED].seen = false;
	}
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

static void counted_created(struct sup *s, struct proc *p, const struct pending *d, const struct file *f)
{
	struct counted *c = p->counted;
	(void)s;
	for (uint64_t n = c ? c->seen : 0; c && n < c->opens; n++)
		if (c->opened[n % OPENED].pending == d->id)
			c->opened[n % OPENED].file = f->num;
}

static void counted_adopted(struct sup *s, struct proc *p)
{
	(void)s;
	p->old_code = true;
}

static void counted_inject(struct sup *s, const struct notify_slot *slot, void (*go)(void *arg), void *arg);

static void counted_after(struct sup *s, struct proc *p, const struct trap *t)
{
	struct counted *c = p->counted;
	if (p->old_code)
		return;
	const bool exec = t->call == CALL_execve || t->call == CALL_execveat, first = !p->execn && p->counting_tries == 1;
	if (c && exec)
		c->frozen = p->exec != NULL;
	/* What it has from its parent was looked at by now. */
	if (first || (exec && !p->execn) || t->call == CALL_exit) {
		counted_pipes(s, proc_parent(s, p));
		p->counting_tries += first;
	} else if (p->execn == 1 && (is_start(t) || (is_open(t->call) && p->open_stops <= FIRST_OPENS))) {
		/* It may not have had its turn to wait when its child became another program. */
		struct proc *parent = proc_parent(s, p);
		if (parent && counted_misses_pipes(parent->counted))
			counted_see_pipes(s, parent, false);
	}
	if (c || !(is_open(t->call) || is_start(t)) || t->compat || !p->execn || p->threads || p->counting_tries > 1 ||
	    s->refuse)
		return;
	uint64_t base;
	const struct sites *l = libraries_library_of(s, p, t->ip, &base);
	if (!l)
		return;
	s->inject_pid = p->pid;
	s->inject_tid = t->tid;
	s->inject_base = base;
	s->inject_sites = l;
	s->inject = counted_inject;
}

/* What was begun before may have moved bytes before; but nothing was written since the execution began, if the kernel
 * says so. */
static void mark_partial(struct proc *p, const struct task *k, unsigned tries, uint64_t wchar)
{
	unsigned all = ACCESS_READ | ACCESS_WRITE;
	if (k->last.call == CALL_start && tries == 1)
		return; /* nothing of the program has run */
	if (!p->forks && !p->uncounted && p->wchar_exec != UINT64_MAX && wchar == p->wchar_exec)
		all = ACCESS_READ;
	for (struct access *a = p->live; a; a = a->proc_next)
		if (a->tid != k->tid || a->stop != k->stops || a->count > 1)
			a->partial |= all;
}

/* A table that outlives the process, where that is of use: what is counted needs the kernel's totals for a proof, which
 * are there until somebody has waited for the process. For the command that is us. Its descriptor in the process, -1
 * none. */
static int give_table(struct sup *s, const struct proc *p, bool begins, const struct notify_slot *slot, void **ret)
{
	int fd = p->pid == s->root && !p->confined && inject_is_plain(p->pid, begins) ? opens_free_number(p) : -1;
	int memfd = fd < 0 ? -1 : memfile_sealed("stemma", TABLE_SIZE);
	if (memfd < 0)
		return -1;
	void *map = mmap(NULL, TABLE_SIZE, PROT_READ, MAP_SHARED, memfd, 0);
	if (map != MAP_FAILED && notify_give(s->listener, slot, memfd, fd) < 0) {
		munmap(map, TABLE_SIZE);
		map = MAP_FAILED;
	}
	close(memfd);
	*ret = map;
	return map == MAP_FAILED ? -1 : fd;
}

static void counted_confine(struct sup *s, struct proc *p)
{
	enum { ROWS = offsetof(struct counted_table, row) };
	const uint64_t none = 0;
	struct counted *c = p->counted;
	if (!c || !c->shared)
		return;
	counted_drain(s, p, true);
	/* What was counted until now, for it goes on where it was; then the end of the distance to it. */
	const struct iovec here[2] = {{(unsigned char *)c->shared + ROWS, sizeof(*c->shared) - ROWS},
	                              {(void *)&none, sizeof(none)}};
	const struct iovec there[2] = {
	    {(void *)(uintptr_t)(c->table + ROWS), here[0].iov_len},
	    {(void *)(uintptr_t)(c->table + offsetof(struct counted_table, delta)), sizeof(none)}};
	/* Other threads may be counting just now. */
	if (c->many || process_vm_writev(p->pid, here, 2, there, 2, 0) != (ssize_t)(here[0].iov_len + sizeof(none)))
		c->lost = true;
	munmap((void *)c->shared, TABLE_SIZE);
	c->shared = NULL;
}

/* As struct sup has it, for the process that counted_after chose. */
static void counted_inject(struct sup *s, const struct notify_slot *slot, void (*go)(void *arg), void *arg)
{
	struct proc *p = proc_by_pid(s, s->inject_pid);
	s->inject_pid = 0;
	struct task *k = task_known(s, s->inject_tid);
	if (!p || p->counted || !k) {
		go(arg);
		return;
	}
	static struct injection g; /* large, and one at a time */
	void *table = NULL;
	int fd = give_table(s, p, k->last.call == CALL_start, slot, &table);
	g = (struct injection){.sites = s->inject_sites, .base = s->inject_base, .pid = p->pid, .fd = fd};
	g.loader = libraries_loader_of(s, p, &g.loader_base);
	p->counting_tries++;
	int rc = shield_inject(s->shield, p->pid, &g, go, arg);
	unsigned tries = p->counting_tries;
	p->counted = rc < 0 ? NULL : counted_new(s, g.code, g.table, g.base, g.sites);
	struct counted *c = p->counted;
	if (c && g.shared)
		c->shared = table;
	else if (fd >= 0)
		munmap(table, TABLE_SIZE);
	if (rc < 0)
		return;
	p->counting_tries = 2;
	if (!c)
		return;
	c->looked = s->narrow ? sup_now(s) : TIME_NONE;
	c->base_read = g.rchar;
	c->base_written = g.wchar;
	c->all_read = g.rchar_all - g.rchar;
	c->all_written = g.wchar_all - g.wchar;
	mark_partial(p, k, tries, g.wchar);
	pending_settle(s, p, k->tid, false); /* its call has come back: what it created is there */
	/* Its descriptors are those of then; what it opens from here on is in the log. */
	for (size_t i = 0; i < g.nheld; i++) {
		const struct injection_held *h = &g.held[i];
		uint64_t file = what_is(s, p, &h->st, &c->elsewhere);
		const struct file *f = file_known(s, &h->st);
		if (f)
			counted_given(c, f);
		raise_high(c, h->fd);
		if (in_range(h->fd))
			c->file[h->fd] = file;
	}
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
