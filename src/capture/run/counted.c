#include "capture/run/counted.h"
#include "capture/inject/sites.h"
#include "capture/run/graft.h"
#include "capture/run/guard.h"
#include "capture/run/libraries.h"
#include "capture/run/opens.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define OPENED 64   /* opens whose files are remembered */
#define DRAIN_AT 24 /* opens after which the log is read: each may come with a dup, a map and a close */
#define LOGGED 512  /* opens written down elsewhere that the log has not been read for */
#define NOT_A_FILE UINT64_MAX
/* Looked at always, whether or not the log names them (fcntl duplicates past it): what the table's first page holds. */
#define FIRST_FDS ((4096 - offsetof(struct counted_table, row)) / sizeof(struct counted_row))

struct counted {
	uint64_t code, table;
	uint64_t base; /* where the library is that jumps to it */
	const struct sites *sites;
	const struct counted_table *shared; /* what it counts into, here; NULL: memory of its own */
	uint32_t read;                      /* entries taken */
	uint32_t resume;                    /* up to here they are a child's that shared the memory */
	bool resumes;
	struct counted_row last[COUNTED_FDS + 1]; /* as attributed */
	uint64_t file[COUNTED_FDS];               /* number of the file behind it; 0 not known */
	unsigned high;                            /* highest descriptor looked at */
	uint64_t opens, seen;                     /* stopped; found in the log */
	uint64_t opened[OPENED];
	struct { /* opens without a stop (opens.h), oldest first */
		uint64_t file;
		int fd;
	} logged[LOGGED];
	size_t nlogged;
	bool opening;
	uint64_t base_read, base_written, sum_read, sum_written;
	int64_t looked, now;     /* when the last look began after which all counts were known; when this one ended */
	uint64_t passes;         /* of the supervisor's, when this began */
	uint64_t moment, judged; /* numbers of the moment + 1 when the log was read, the sums were compared */
	bool lost, frozen, proved;
};

/* ---- reading ---- */

static bool remote(pid_t pid, uint64_t at, void *p, size_t n)
{
	return remote_read(pid, at, p, n) == (ssize_t)n;
}

static struct access *live(struct proc *p, uint64_t file, unsigned mode)
{
	struct access *found = NULL;
	for (struct access *a = p->live; a; a = a->proc_next)
		if (a->file->num == file && (a->mode & mode) && !(a->mode & ACCESS_PROGRAM) &&
		    (!found || found->via == TERM_via_sync))
			found = a;
	return found;
}

static void give(struct sup *s, struct counted *c, struct proc *p, uint64_t file, bool write, unsigned api,
                 uint64_t calls, uint64_t bytes)
{
	if (!calls && !bytes)
		return;
	if (write)
		c->sum_written += bytes;
	else
		c->sum_read += bytes;
	if (file == NOT_A_FILE)
		return;
	struct access *a = file ? live(p, file, write ? ACCESS_WRITE : ACCESS_READ) : NULL;
	/* What changes a file's length leaves no count: a write may have begun before its first byte. */
	int64_t since = s->narrow && a ? (write ? a->start : c->looked) : TIME_NONE;
	if (!a || !io_count(s, a, api, write, calls, bytes, since, s->narrow ? c->now : TIME_NONE))
		c->lost |= !file || bytes;
}

/* What has been counted of a descriptor since. */
static void attribute(struct sup *s, struct counted *c, struct proc *p, unsigned fd, const struct counted_row *now)
{
	struct counted_row *was = &c->last[fd];
	if (!memcmp(was, now, sizeof(*now)))
		return;
	uint64_t file = fd < COUNTED_FDS ? c->file[fd] : 0;
	give(s, c, p, file, false, TERM_ioapi_read, now->read_calls - was->read_calls, now->read_bytes - was->read_bytes);
	give(s, c, p, file, true, TERM_ioapi_read, now->write_calls - was->write_calls,
	     now->write_bytes - was->write_bytes);
	give(s, c, p, file, false, TERM_ioapi_other, now->other_read_calls - was->other_read_calls,
	     now->other_read_bytes - was->other_read_bytes);
	give(s, c, p, file, true, TERM_ioapi_other, now->other_write_calls - was->other_write_calls,
	     now->other_write_bytes - was->other_write_bytes);
	*was = *now;
}

static uint64_t what_is(struct sup *s, struct proc *p, const struct statx *st)
{
	unsigned type = st->stx_mode & S_IFMT;
	if (type != S_IFREG && type != S_IFIFO && !is_terminal(st))
		return NOT_A_FILE;
	struct file *f = file_known(s, st);
	return f && live(p, f->num, ACCESS_READ | ACCESS_WRITE) ? f->num : NOT_A_FILE;
}

/* What a descriptor is, of a process that stands still. */
static uint64_t look_up(struct sup *s, struct proc *p, unsigned fd)
{
	struct where w;
	struct statx st;
	where_fd(p->pid, (int)fd, &w);
	return where_statx(&w, true, &st) < 0 ? 0 : what_is(s, p, &st);
}

static bool in_range(int64_t fd)
{
	return fd >= 0 && fd < COUNTED_FDS;
}

static void raise_high(struct counted *c, int64_t fd)
{
	if (in_range(fd) && (unsigned)fd > c->high)
		c->high = (unsigned)fd;
}

/* The descriptor is that file's from now on. False: it was closed by a way that was not seen, and perhaps was something
 * else in between. */
static bool begin(struct counted *c, const struct counted_entry *e, uint64_t file)
{
	raise_high(c, e->value);
	if (c->file[e->value] || memcmp(&c->last[e->value], &e->row, sizeof(e->row)))
		return false;
	c->file[e->value] = file;
	return true;
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

/* One entry. False: the log does not fit what was seen. */
static bool take(struct sup *s, struct counted *c, struct proc *p, const struct counted_entry *e)
{
	struct access *a;
	raise_high(c, e->fd);
	switch (e->kind) {
	case SITE_OPEN: {
		uint64_t number = c->seen++;
		if (number >= c->opens || c->opens - number > OPENED)
			return false;
		if (e->value < 0 || !in_range(e->value))
			return true;
		return begin(c, e, c->opened[number % OPENED]);
	}
	case SITE_LOGGED: {
		uint64_t file;
		return in_range(e->value) && was_logged(c, e->value, &file) && begin(c, e, file);
	}
	case SITE_CLOSE:
		if (!in_range(e->fd))
			return false;
		attribute(s, c, p, (unsigned)e->fd, &e->row);
		c->file[e->fd] = 0;
		return true;
	case SITE_DUP2:
	case SITE_DUP:
		if (!in_range(e->value))
			return false;
		raise_high(c, e->value);
		if (e->fd == e->value)
			return true;
		if (e->kind == SITE_DUP2)
			attribute(s, c, p, (unsigned)e->value, &e->row);
		else if (c->file[e->value])
			return false;
		c->file[e->value] = in_range(e->fd) ? c->file[e->fd] : 0;
		return true;
	case SITE_MAP:
		if (!in_range(e->fd))
			return true;
		a = c->file[e->fd] && c->file[e->fd] != NOT_A_FILE ? live(p, c->file[e->fd], ACCESS_READ) : NULL;
		if (a) {
			a->loaded = true;
			io_count(s, a, TERM_ioapi_mmap, false, 1, (uint64_t)e->value, TIME_NONE, TIME_NONE);
		}
		return true;
	default: /* many were closed, or it is no entry */
		return false;
	}
}

static struct counted_entry entries[COUNTED_LOG]; /* under the big lock, as the rows are */
static struct counted_row rows[COUNTED_FDS + 1];

/* Of a table that is shared, its own memory; else the process's. */
static bool look_at(const struct proc *p, uint64_t offset, void *ret, size_t n)
{
	const struct counted *c = p->counted;
	if (!c->shared)
		return remote(p->pid, c->table + offset, ret, n);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	memcpy(ret, (const unsigned char *)c->shared + offset, n);
	return true;
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
static bool drain(struct sup *s, struct proc *p, bool standing)
{
	struct counted *c = p->counted;
	uint32_t head[2], again[2];
	if (c->lost || c->frozen)
		return !c->lost;
	if (c->moment == s->moment + 1)
		return true;
	bool over = c->shared && proc_over(p);
	int64_t begun = s->narrow ? sup_now(s) : TIME_NONE;
	if (over) {
		head[0] = (uint32_t)p->pid;
		if (!last_entries(c, &head[1]))
			goto lost;
		standing = true;
	}
	bool read = over || remote(p->pid, c->table, head, sizeof(head));
	if (!read && c->shared)
		return false; /* it is about to be over */
	/* An open whose stop was not looked at takes the place of another. */
	if (c->passes != __atomic_load_n(&s->passes, __ATOMIC_ACQUIRE))
		goto lost;
	if (p->threads || p->io_unseen || p->uncounted || !read || head[0] != (uint32_t)p->pid)
		goto lost;
	uint32_t n = head[1] - c->read;
	if (n > COUNTED_LOG)
		goto lost;
	const uint64_t log = offsetof(struct counted_table, entry);
	for (uint32_t done = 0; done < n;) {
		uint32_t at = (c->read + done) % COUNTED_LOG;
		uint32_t run = COUNTED_LOG - at < n - done ? COUNTED_LOG - at : n - done;
		if (!look_at(p, log + at * sizeof(entries[0]), entries + done, run * sizeof(entries[0])))
			goto lost;
		done += run;
	}
	for (uint32_t i = 0; i < n; i++) {
		if (entries[i].seq != c->read + i + 1) {
			if (standing)
				goto lost;
			return false;
		}
		if (in_range(entries[i].value) && entries[i].kind != SITE_MAP)
			raise_high(c, entries[i].value);
		raise_high(c, entries[i].fd);
	}
	const uint64_t at = offsetof(struct counted_table, row);
	if (!look_at(p, at, rows, (c->high + 1) * sizeof(rows[0])) ||
	    !look_at(p, at + COUNTED_FDS * sizeof(rows[0]), &rows[COUNTED_FDS], sizeof(rows[0])))
		goto lost;
	/* Where it runs the entries hold, and the rows only if no entry was made meanwhile. */
	bool stable = standing || (remote(p->pid, c->table, again, sizeof(again)) && again[1] == head[1]);
	c->now = s->narrow ? sup_now(s) : TIME_NONE;
	for (uint32_t i = 0; i < n; i++) {
		if (entries[i].kind == SITE_MARK) {
			/* What follows is the child's, to where it was when it became another program or ended. */
			uint32_t here = c->read + i + 1;
			if (!c->resumes || (int32_t)(c->resume - here) < 0 || (int32_t)(c->resume - head[1]) > 0) {
				if (standing)
					goto lost;
				c->read += i;
				return false;
			}
			i += c->resume - here;
			continue;
		}
		/* Its other log is not read to there yet. */
		if (entries[i].kind == SITE_LOGGED && (over || !standing) && !has_logged(c, entries[i].value)) {
			c->read += i;
			return false;
		}
		if (!take(s, c, p, &entries[i])) {
			goto lost;
		}
	}
	c->read = head[1];
	if (!stable)
		return false;
	for (unsigned fd = 0; fd <= c->high; fd++) {
		if (!memcmp(&rows[fd], &c->last[fd], sizeof(rows[fd])))
			continue;
		if (!c->file[fd]) {
			if (!standing)
				return false;
			c->file[fd] = look_up(s, p, fd);
		} else if (standing && !over && look_up(s, p, fd) != c->file[fd]) {
			goto lost; /* changed by a call that the log knows nothing of */
		}
		attribute(s, c, p, fd, &rows[fd]);
	}
	attribute(s, c, p, COUNTED_FDS, &rows[COUNTED_FDS]);
	if (c->lost)
		return false;
	c->moment = s->moment + 1;
	c->looked = begun;
	return true;
lost:
	c->lost = true;
	return false;
}

static bool prove(const struct proc *p)
{
	const struct counted *c = p->counted;
	char name[64], text[512];
	snprintf(name, sizeof(name), "/proc/%d/task/%d/io", p->pid, p->pid);
	int fd = open(name, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return false;
	text[n] = '\0';
	const char *r = strstr(text, "rchar: "), *w = strstr(text, "wchar: ");
	return r && w && strtoull(r + 7, NULL, 10) - c->base_read == c->sum_read &&
	       strtoull(w + 7, NULL, 10) - c->base_written == c->sum_written;
}

static bool is_standing(const struct sup *s, const struct proc *p)
{
	return s->current && s->current->proc == p;
}

void counted_update(struct sup *s, struct proc *p)
{
	if (p->counted)
		drain(s, p, is_standing(s, p));
}

bool counted_all(struct sup *s, struct proc *p)
{
	struct counted *c = p->counted;
	if (!c || c->lost)
		return false;
	if (c->frozen)
		return c->proved;
	if (c->judged == s->moment + 1)
		return c->proved; /* nothing was added since */
	if (!drain(s, p, is_standing(s, p)))
		return false;
	c->proved = prove(p);
	if (!c->proved && c->high < COUNTED_FDS - 1) {
		c->high = COUNTED_FDS - 1; /* or by a descriptor that the log does not name */
		c->moment = 0;
		if (!drain(s, p, is_standing(s, p)))
			return false;
		c->proved = prove(p);
	}
	c->judged = s->moment + 1;
	return c->proved;
}

void counted_tick(struct sup *s)
{
	s->moment++;
	for (unsigned i = 0; i < HASH_SIZE; i++)
		for (struct proc *p = s->procs[i]; p; p = p->next)
			if (p->counted && !p->counted->lost && !p->counted->frozen)
				drain(s, p, false);
}

void counted_free(struct proc *p)
{
	if (p->counted && p->counted->shared)
		munmap((void *)p->counted->shared, TABLE_SIZE);
	free(p->counted);
	p->counted = NULL;
	p->graft_tries = 0;
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

static struct counted *counted_new(const struct sup *s, uint64_t code, uint64_t table, uint64_t base,
                                   const struct sites *sites)
{
	struct counted *c = calloc(1, sizeof(*c));
	if (c) {
		c->code = code;
		c->table = table;
		c->passes = __atomic_load_n(&s->passes, __ATOMIC_ACQUIRE);
		c->base = base;
		c->sites = sites;
		c->high = FIRST_FDS - 1;
	}
	return c;
}

/* What its descriptors are to begin with. */
static void learn(struct sup *s, struct proc *p)
{
	struct counted *c = p->counted;
	struct held *held;
	size_t n = proc_walk(s, p, false, &held);
	for (size_t i = 0; i < n; i++)
		if (in_range(held[i].fd)) {
			raise_high(c, held[i].fd);
			c->file[held[i].fd] = live(p, held[i].file->num, ACCESS_READ | ACCESS_WRITE) ? held[i].file->num : 0;
		}
	held_free(held, n);
}

/* A child without an exec has its parent's code. If the memory is its own its table is empty. */
static void inherit(struct sup *s, struct proc *p, struct proc *parent, bool leaves)
{
	struct counted *c = parent->counted;
	uint32_t head[2];
	uint64_t constants[2];
	if (!remote(p->pid, c->table, head, sizeof(head)) || !remote(p->pid, c->code, constants, sizeof(constants)) ||
	    constants[0] != c->table + offsetof(struct counted_table, row))
		return;
	if (head[0] == (uint32_t)parent->pid) { /* it shares the memory */
		if (leaves) {
			c->resume = head[1];
			c->resumes = true;
		}
		return;
	}
	if (head[0] || head[1] || leaves || p->counted)
		return;
	uint32_t owner = (uint32_t)p->pid;
	struct iovec here = {&owner, sizeof(owner)}, there = {(void *)(uintptr_t)c->table, sizeof(owner)};
	if (process_vm_writev(p->pid, &here, 1, &there, 1, 0) != (ssize_t)sizeof(owner))
		return;
	struct counted_row all[16];
	bool clean = remote(p->pid, c->table + offsetof(struct counted_table, row), all, sizeof(all));
	p->counted = clean ? counted_new(s, c->code, c->table, c->base, c->sites) : NULL;
	if (!p->counted)
		return;
	learn(s, p);
}

void counted_before(struct sup *s, struct proc *p, const struct trap *t)
{
	bool leaves = t->call == CALL_execve || t->call == CALL_execveat || t->call == CALL_exit;
	struct proc *parent = p->execn ? NULL : proc_parent(s, p);
	if (parent && parent->counted && !parent->counted->lost && (leaves || !p->graft_tries)) {
		p->graft_tries = 1;
		inherit(s, p, parent, leaves);
	}
	struct counted *c = p->counted;
	if (!c)
		return;
	c->opening = false;
	if (!p->exec)
		c->frozen = false; /* the exec that was about to be has failed */
	if (c->lost || c->frozen)
		return;
	bool ours = is_open(t->call) && !t->compat && t->ip >= c->code && t->ip < c->code + STUBS_SIZE;
	if (leaves || (ours && (c->opens - c->seen >= DRAIN_AT || c->nlogged))) {
		drain(s, p, true);
		if (c->opens != c->seen)
			c->lost = true; /* the recorder was passed by, or a call was made twice */
	}
	if (leaves)
		counted_all(s, p);
	if (ours && !c->lost) {
		c->opening = true;
		c->opened[c->opens++ % OPENED] = 0;
	}
}

uint64_t counted_open(const struct proc *p)
{
	return p->counted && p->counted->opening ? p->counted->opens : 0;
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
	if (!c || ip < c->code || ip >= c->code + STUBS_SIZE)
		return NULL;
	*ret_base = c->base;
	*ret_code = c->code;
	*ret_table = c->table;
	return c->sites;
}

void counted_opens(struct proc *p, const struct file *f, bool told)
{
	struct counted *c = p->counted;
	if (c && c->opening)
		c->opened[(c->opens - 1) % OPENED] = f ? f->num : told ? NOT_A_FILE : 0;
}

void counted_created(struct proc *p, uint64_t open, const struct file *f)
{
	struct counted *c = p->counted;
	if (c && open && open <= c->opens && c->opens - open < OPENED && open > c->seen)
		c->opened[(open - 1) % OPENED] = f->num;
}

void counted_after(struct sup *s, struct proc *p, const struct trap *t)
{
	struct counted *c = p->counted;
	if (c && (t->call == CALL_execve || t->call == CALL_execveat))
		c->frozen = p->exec != NULL;
	if (c || !s->counting || !(is_open(t->call) || is_start(t)) || t->compat || !p->execn || p->threads ||
	    p->graft_tries > 1 || s->refuse)
		return;
	uint64_t base;
	const struct sites *l = library_of(s, p, t->ip, &base);
	if (!l)
		return;
	s->graft_pid = p->pid;
	s->graft_tid = t->tid;
	s->graft_base = base;
	s->graft_sites = l;
}

/* What was begun before may have moved bytes before; but nothing was written since the execution began, if the kernel
 * says so. */
static void mark_partial(struct proc *p, const struct task *k, unsigned tries, uint64_t wchar)
{
	unsigned all = ACCESS_READ | ACCESS_WRITE;
	if (k->last.call == CALL_start && tries == 1)
		return; /* nothing of the program has run */
	if (!p->forks && p->wchar_exec != UINT64_MAX && wchar == p->wchar_exec)
		all = ACCESS_READ;
	for (struct access *a = p->live; a; a = a->proc_next)
		if (a->tid != k->tid || a->stop != k->stops)
			a->partial |= all;
}

/* A table that outlives the process, where that is of use: what is counted needs the kernel's totals for a proof, which
 * are there until somebody has waited for the process. For the command that is us. Its descriptor in the process, -1
 * none. */
static int give_table(struct sup *s, const struct proc *p, bool begins, const struct notify_slot *slot, void **ret)
{
	int fd = p->pid == s->root && graft_is_plain(p->pid, begins) ? opens_free_number(p) : -1;
	int memfd = fd < 0 ? -1 : memfd_create("stemma", MFD_CLOEXEC);
	if (memfd < 0)
		return -1;
	void *map = ftruncate(memfd, TABLE_SIZE) < 0 ? MAP_FAILED : mmap(NULL, TABLE_SIZE, PROT_READ, MAP_SHARED, memfd, 0);
	if (map != MAP_FAILED && notify_give(s->listener, slot, memfd, fd) < 0) {
		munmap(map, TABLE_SIZE);
		map = MAP_FAILED;
	}
	close(memfd);
	*ret = map;
	return map == MAP_FAILED ? -1 : fd;
}

void counted_graft(struct sup *s, const struct notify_slot *slot, void (*go)(void *arg), void *arg)
{
	struct proc *p = proc_by_pid(s, s->graft_pid);
	s->graft_pid = 0;
	struct task *k = task_known(s, s->graft_tid);
	if (!p || p->counted || !k) {
		go(arg);
		return;
	}
	static struct graft g; /* large, and one at a time */
	void *table = NULL;
	int fd = give_table(s, p, k->last.call == CALL_start, slot, &table);
	g = (struct graft){.sites = s->graft_sites, .base = s->graft_base, .fd = fd};
	p->graft_tries++;
	int rc = guard_graft(s->guard, p->pid, &g, go, arg);
	unsigned tries = p->graft_tries;
	p->counted = rc < 0 ? NULL : counted_new(s, g.code, g.table, g.base, g.sites);
	struct counted *c = p->counted;
	if (c && g.shared)
		c->shared = table;
	else if (fd >= 0)
		munmap(table, TABLE_SIZE);
	if (rc < 0)
		return;
	p->graft_tries = 2;
	if (!c)
		return;
	c->looked = s->narrow ? sup_now(s) : TIME_NONE;
	c->base_read = g.rchar;
	c->base_written = g.wchar;
	mark_partial(p, k, tries, g.wchar);
	pending_settle(s, p, k->tid, false); /* its call has come back: what it created is there */
	/* Its descriptors are those of then; what it opens from here on is in the log. */
	for (size_t i = 0; i < g.nheld; i++) {
		const struct graft_held *h = &g.held[i];
		uint64_t file = what_is(s, p, &h->st);
		raise_high(c, h->fd);
		if (in_range(h->fd))
			c->file[h->fd] = file;
	}
}
