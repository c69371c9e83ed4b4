/* The stopped calls, one handler each. A call is seen before it runs; where its result matters it is kept as pending
 * and settled from what the file system shows afterwards. */
#include "capture/run/counted.h"
#include "capture/run/guard.h"
#include "capture/run/links.h"
#include "capture/run/opens.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/sysmacros.h>
#include <unistd.h>

static void name_event(struct sup *s, struct proc *p, unsigned op, struct file *f, const char *path, const char *old,
                       int64_t time)
{
	if (!path)
		return;
	struct event ev = {.name = {.op = op, .file = f->num, .path = str_of(path), .old = str_of(old)}};
	sup_event(s, EVENT_name, time, p, &ev);
}

/* ---- pending calls ---- */

static struct where *where_keep(struct where *w)
{
	struct where *copy = malloc(sizeof(*copy));
	if (copy) {
		*copy = *w;
		w->hold = -1; /* it is the copy's now */
	}
	return copy;
}

static void pending_free(struct sup *s, struct pending *d)
{
	struct file *files[] = {d->file, d->victim};
	for (int i = 0; i < 2; i++)
		if (files[i]) {
			files[i]->pins--;
			file_drop(s, files[i]);
		}
	if (d->a)
		where_release(d->a);
	if (d->b)
		where_release(d->b);
	free(d->a);
	free(d->b);
	free(d->name_a);
	free(d->name_b);
	free(d);
	s->npending--;
}

static struct pending *pending_add(struct sup *s, struct proc *p, const struct trap *t, enum pending_op op,
                                   struct where *a, struct where *b)
{
	struct pending *d = calloc(1, sizeof(*d));
	if (!d)
		return NULL;
	*d = (struct pending){.op = op, .tid = t->tid, .proc = p, .time = sup_now(s)};
	/* Before the call changes what the path means. */
	where_pin(a);
	if (b)
		where_pin(b);
	d->name_a = where_name(a);
	d->name_b = b ? where_name(b) : NULL;
	d->a = where_keep(a);
	d->b = b ? where_keep(b) : NULL;
	d->next = s->pending;
	s->pending = d;
	s->npending++;
	if (!d->a || (b && !d->b)) {
		s->pending = d->next;
		pending_free(s, d);
		return NULL;
	}
	return d;
}

static void pin(struct file *f)
{
	if (f)
		f->pins++;
}

static bool is_file(const struct where *w, const struct file *f)
{
	struct statx st;
	return where_statx(w, false, &st) == 0 && st.stx_ino == f->ino && fileid_dev(&st) == f->dev;
}

/* Every known name below a renamed directory changes with it. */
static void rename_below(struct sup *s, const char *old, const char *new)
{
	size_t n = strlen(old);
	for (unsigned i = 0; i < HASH_SIZE; i++) {
		for (struct file *f = s->files[i]; f; f = f->next)
			if (f->path && !strncmp(f->path, old, n) && f->path[n] == '/') {
				char *path;
				if (asprintf(&path, "%s%s", new, f->path + n) >= 0) {
					file_rename(s, f, path);
					free(path);
				}
			}
		for (struct proc *p = s->procs[i]; p; p = p->next) {
			free(p->cwd);
			p->cwd = NULL;
		}
	}
}

static void created(struct sup *s, struct pending *d, const struct statx *st, bool back, bool sure)
{
	struct file *f = file_get(s, d->a, true, st);
	if (!f)
		return;
	counted_created(d->proc, d->open, f);
	/* While the call may still be running, the access counts as begun by its thread's stop. */
	struct task *was = s->current;
	s->current = back ? NULL : task_known(s, d->tid);
	name_event(s, d->proc, TERM_nameop_create, f, f->path, NULL, d->time);
	if (f->kind == TERM_kind_regular)
		access_begin(s, d->proc, f, d->mode | ACCESS_CREATE, TERM_via_data, sure, TERM_api_open, d->time, NULL);
	s->current = was;
}

static void moved(struct sup *s, struct pending *d, struct file *f, const char *old, const char *new)
{
	name_event(s, d->proc, TERM_nameop_rename, f, new, old, d->time);
	file_rename(s, f, new);
	if (f->kind == TERM_kind_directory)
		rename_below(s, old, new);
}

static void renamed(struct sup *s, struct pending *d)
{
	if (d->victim && d->exchange) {
		/* Three renames by way of a name that nothing else has: two would take for one directory's names the other's.
		 */
		char *between;
		if (!d->name_a || !d->name_b || asprintf(&between, "%s/.stemma-exchange", d->name_a) < 0)
			return;
		moved(s, d, d->file, d->name_a, between);
		moved(s, d, d->victim, d->name_b, d->name_a);
		moved(s, d, d->file, between, d->name_b);
		free(between);
		return;
	}
	if (d->victim)
		name_event(s, d->proc, TERM_nameop_replace, d->victim, d->name_b, NULL, d->time);
	if (d->name_a && d->name_b)
		moved(s, d, d->file, d->name_a, d->name_b);
	if (d->victim && d->last)
		file_gone(s, d->victim);
}

/* What was renamed over it may have been told before it: the name is that one's, as whoever looks now sees. */
static void outlived(struct sup *s, struct pending *d)
{
	struct statx st;
	struct file *f = where_statx(d->b, false, &st) == 0 ? file_get(s, d->b, false, &st) : NULL;
	if (f && f != d->file && d->name_b && f->path && !strcmp(f->path, d->name_b))
		name_event(s, d->proc, TERM_nameop_seen, f, d->name_b, NULL, sup_now(s));
}

static void truncated(struct sup *s, struct pending *d)
{
	struct statx st;
	if (where_statx(d->a, true, &st) < 0)
		return;
	struct fingerprint now = print_of(&st);
	if (now.size == d->before.size && now.mtime == d->before.mtime && now.ctime == d->before.ctime)
		return;
	struct access *a =
	    access_begin(s, d->proc, d->file, d->mode, TERM_via_data, true, TERM_api_truncate, d->time, &d->before);
	if (a && a->start == d->time)
		access_end(s, a, sup_now(s));
}

/* Of several who create one path with O_EXCL, one succeeds. Who has the file is it; who has not may have closed it
 * again. */
static bool holds(struct sup *s, struct pending *d, const struct statx *st)
{
	struct file *f = file_get(s, d->a, true, st);
	return f && proc_holds(d->proc, f);
}

/* An open of a FIFO waits for who opens its other side, and a signal may end it before. It is possible until one of two
 * things shows: somebody with the other side, or the descriptor once the call is back. */
static void fifo_opened(struct sup *s, struct pending *d, int64_t time, bool back)
{
	struct task *was = s->current;
	s->current = back ? NULL : task_known(s, d->tid);
	access_begin(s, d->proc, d->file, d->mode, TERM_via_data, true, TERM_api_open, time, NULL);
	s->current = was;
	d->mode = 0;
}

static void fifo_back(struct sup *s, struct pending *d)
{
	struct held *held;
	size_t n = d->mode ? proc_walk(s, d->proc, false, &held) : 0;
	for (size_t i = 0; i < n && d->mode; i++)
		if (held[i].file == d->file && (held[i].mode & d->mode))
			fifo_opened(s, d, d->time, true);
	if (n)
		held_free(held, n);
}

/* Is it in the call still? Who was let go on just now may not have got there. */
static bool fifo_waits(struct sup *s, const struct pending *d)
{
	const int64_t soon = 10000000;
	enum call call;
	int rc = task_call(d->tid, &call);
	return rc == 0 ? call >= CALL_open && call <= CALL_open_handle : rc == -EAGAIN && sup_now(s) - d->time < soon;
}

/* Has somebody the other side? Then who waits for this one has not waited in vain either. */
static bool fifo_meets(struct sup *s, const struct file *f, unsigned mode, int64_t time)
{
	unsigned other = mode & ACCESS_READ ? ACCESS_WRITE : ACCESS_READ;
	bool met = false;
	for (const struct access *a = f->live; a && !met; a = a->file_next)
		met = a->sure && (a->mode & other);
	for (struct pending *d = s->pending; d; d = d->next)
		if (d->op == PENDING_FIFO && d->file == f && (d->mode & other) && fifo_waits(s, d)) {
			fifo_opened(s, d, time, false);
			met = true;
		}
	return met;
}

/* Has it happened? 1: yes, and it was written down; 0: no; -1: not to be told yet. back: the call has returned. */
static int settle(struct sup *s, struct pending *d, bool back)
{
	struct statx st;
	int rc;
	switch (d->op) {
	case PENDING_CREATE:
		rc = where_statx(d->a, true, &st);
		if (rc < 0 || S_ISDIR(st.stx_mode) || (d->contested && !back))
			rc = -1;
		else
			created(s, d, &st, back, !d->contested || !d->excl || holds(s, d, &st));
		break;
	case PENDING_MAKE:
		rc = where_statx(d->a, false, &st);
		if (rc == 0) {
			struct file *f = file_get(s, d->a, false, &st);
			if (f)
				name_event(s, d->proc, TERM_nameop_create, f, d->name_a, NULL, d->time);
		}
		break;
	case PENDING_RENAME:
		rc = is_file(d->b, d->file) && (!d->exchange || !d->victim || is_file(d->a, d->victim)) ? 0 : -1;
		if (rc == 0) {
			renamed(s, d);
		} else if (back && !d->exchange && !is_file(d->a, d->file)) {
			/* Another was renamed over it since: that the old name is not its name any more is effect enough. */
			renamed(s, d);
			outlived(s, d);
			rc = 0;
		}
		break;
	case PENDING_LINK:
		rc = is_file(d->b, d->file) ? 0 : -1;
		if (rc == 0) {
			name_event(s, d->proc, TERM_nameop_link, d->file, d->name_b, NULL, d->time);
			if (!d->file->path) { /* it had no name */
				d->file->gone = false;
				file_rename(s, d->file, d->name_b);
			} else if (d->name_b) {
				free(d->file->alias);
				d->file->alias = strdup(d->name_b);
			}
		}
		break;
	case PENDING_UNLINK:
		rc = is_file(d->a, d->file) ? -1 : 0;
		if (rc == 0) {
			name_event(s, d->proc, TERM_nameop_unlink, d->file, d->name_a, NULL, d->time);
			struct file *f = d->file;
			if (d->last) {
				file_gone(s, f);
			} else if (f->alias && d->name_a && f->path && !strcmp(f->path, d->name_a)) {
				free(f->path);
				f->path = f->alias;
				f->alias = NULL;
			}
		}
		break;
	case PENDING_BIND:
		rc = back ? 0 : -1;
		if (back)
			socket_bound(s, d->proc, d->fd, d->time);
		break;
	case PENDING_TRUNCATE:
		rc = back ? 0 : -1;
		if (back)
			truncated(s, d);
		break;
	case PENDING_FIFO:
		rc = back ? 0 : -1;
		if (back)
			fifo_back(s, d);
		break;
	default:
		rc = 0;
	}
	return rc == 0 ? 1 : back ? 0 : -1;
}

void pending_settle(struct sup *s, const struct proc *p, pid_t tid, bool all)
{
	struct pending *done = NULL, **at = &s->pending;
	/* Oldest first: the list is newest first, and a rename may follow the create of the same file. */
	struct pending *list = NULL;
	while (s->pending) {
		struct pending *d = s->pending;
		s->pending = d->next;
		d->next = list;
		list = d;
	}
	while (list) {
		struct pending *d = list;
		list = d->next;
		bool back = d->tid == tid;
		/* One that never shows (it failed, and its thread sleeps) is looked at only now and then. */
		bool look = back || all || d->proc == p || ++d->tries < 8 || d->tries % 64 == 0;
		if (look && settle(s, d, back) >= 0) {
			d->next = done;
			done = d;
		} else {
			d->next = *at;
			*at = d;
		}
	}
	while (done) {
		struct pending *d = done;
		done = d->next;
		pending_free(s, d);
	}
}

bool pending_names(const struct sup *s)
{
	for (const struct pending *d = s->pending; d; d = d->next)
		if (d->op == PENDING_RENAME || d->op == PENDING_UNLINK)
			return true;
	return false;
}

void pending_drop(struct sup *s, struct proc *p)
{
	struct pending *mine = NULL, **at = &s->pending;
	while (*at) {
		struct pending *d = *at;
		if (d->proc != p) {
			at = &d->next;
			continue;
		}
		*at = d->next;
		d->next = mine;
		mine = d;
	}
	while (mine) {
		struct pending *d = mine;
		mine = d->next;
		settle(s, d, true);
		pending_free(s, d);
	}
}

/* ---- open ---- */

enum allowed { ALLOWED_NO, ALLOWED_MAYBE, ALLOWED_YES };

static enum allowed may_open(struct sup *s, struct proc *p, const struct where *w, const struct statx *st,
                             unsigned mode, bool strict)
{
	uint32_t uid = p->own_creds ? p->uid : s->euid, gid = p->own_creds ? p->gid : s->egid;
	unsigned want = (mode & ACCESS_READ ? 4u : 0) | (mode & (ACCESS_WRITE | ACCESS_TRUNC) ? 2u : 0);
	unsigned bits = uid == st->stx_uid ? st->stx_mode >> 6 : gid == st->stx_gid ? st->stx_mode >> 3 : st->stx_mode;
	bool by_bits = uid == 0 || (bits & want) == want;
	if (p->own_creds) {
		if (by_bits)
			return ALLOWED_YES;
		return uid != st->stx_uid && ((st->stx_mode >> 3) & want) == want ? ALLOWED_MAYBE : ALLOWED_NO;
	}
	if (by_bits && !strict)
		return ALLOWED_YES;
	int amode = (want & 4 ? R_OK : 0) | (want & 2 ? W_OK : 0);
	return faccessat(w->dirfd, w->path, amode, AT_EACCESS) == 0 ? ALLOWED_YES : ALLOWED_NO;
}

static void absent(struct sup *s, struct proc *p, const struct where *w, int64_t time)
{
	char name[8300];
	bool plain = !w->foreign && !strstr(w->given, "..");
	if (plain && w->given[0] == '/')
		snprintf(name, sizeof(name), "%s", w->given);
	else if (plain && w->atfd == AT_FDCWD)
		snprintf(name, sizeof(name), "%s/%s", proc_cwd(s, p, w->tid), w->given);
	else {
		char *full = where_name(w);
		if (!full)
			return;
		snprintf(name, sizeof(name), "%s", full);
		free(full);
	}
	struct file *f = file_address(s, TERM_kind_absent, "", name);
	if (f)
		access_begin(s, p, f, ACCESS_READ, TERM_via_data, true, TERM_api_open, time, NULL);
}

/* Of an open of a FIFO. To write without waiting fails where nobody reads. */
static bool waits_for_other(unsigned flags, unsigned mode)
{
	unsigned both = ACCESS_READ | ACCESS_WRITE;
	return (mode & both) != both && (!(flags & O_NONBLOCK) || (mode & ACCESS_WRITE));
}

/* What the call at a stop opens; or, where it has been made, `made` says whether for sure: then the file or NULL. */
static struct file *opened(struct sup *s, struct proc *p, struct where *w, const struct statx *st, unsigned flags,
                           unsigned mode, int64_t time, const enum allowed *made)
{
	if (!made)
		counted_opens(p, NULL, true);
	if (is_master(st) || S_ISSOCK(st->stx_mode) || S_ISBLK(st->stx_mode))
		return NULL;
	enum allowed ok = made ? *made : may_open(s, p, w, st, mode, mode & ACCESS_TRUNC);
	if (ok == ALLOWED_NO)
		return NULL;
	struct file *f = file_get(s, w, !(flags & O_NOFOLLOW), st);
	if (!f || f->kind == TERM_kind_directory || f->kind == TERM_kind_symlink)
		return NULL;
	struct fingerprint fp = print_of(st);
	if (f->kind != TERM_kind_pseudo && !made)
		counted_opens(p, f, true);
	if (f->kind == TERM_kind_pseudo) {
		if (mode & ACCESS_READ)
			access_begin(s, p, f, ACCESS_READ, TERM_via_data, true, TERM_api_open, time, NULL);
		return f;
	}
	if (f->kind == TERM_kind_terminal) {
		/* Bash opens /dev/tty whenever it begins, also where there is none. */
		if (st->stx_rdev_major == 5 && st->stx_rdev_minor == 0 && !proc_has_terminal(p))
			return NULL;
		/* Opened to read only, it is read; else perhaps only a prompt is shown there. */
		for (unsigned bit = ACCESS_READ; bit <= ACCESS_WRITE; bit <<= 1)
			if (mode & bit)
				access_begin(s, p, f, bit, TERM_via_data,
				             bit == (mode & (ACCESS_READ | ACCESS_WRITE)) && ok == ALLOWED_YES, TERM_api_open, time,
				             NULL);
		return f;
	}
	if (f->live)
		access_conflicts(s, p, f, mode);
	if (f->kind == TERM_kind_fifo && !made && waits_for_other(flags, mode) && !fifo_meets(s, f, mode, time))
		ok = ALLOWED_MAYBE;
	if ((mode & ACCESS_READ) && !made) {
		f->pins++;
		proc_end_closed(s, p);
		f->pins--;
		time = sup_now(s); /* after what has ended before it */
	}
	access_begin(s, p, f, mode, TERM_via_data, ok == ALLOWED_YES, TERM_api_open, time,
	             f->kind == TERM_kind_regular ? &fp : NULL);
	return f;
}

int open_logged(struct sup *s, struct proc *p, const char *path, unsigned flags, enum logged how, int64_t time,
                struct logged_file *ret)
{
	bool sure = how == LOGGED_MADE || how == LOGGED_STOPPED;
	struct where w;
	struct statx st;
	bool follow = !(flags & O_NOFOLLOW);
	*ret = (struct logged_file){0};
	int rc = where_path(NULL, p->pid, AT_FDCWD, path, follow, &w);
	if (rc == 0 && how == LOGGED_ABSENT) {
		absent(s, p, &w, time);
	} else if (rc == 0) {
		rc = where_look(&w, follow, &st);
		/* What the process had then it may have no more. */
		bool was_there = rc == 0 && (S_ISREG(st.stx_mode) || S_ISFIFO(st.stx_mode) || S_ISSOCK(st.stx_mode));
		if (w.fleeting && was_there && !fileid_domain(w.dirfd, w.path, fileid_dev(&st))->pseudo) {
			sure = false;
			sup_gap(s, p, TERM_gap_lost, 1, "it opened what one of its descriptors was, which is looked at later");
		}
		ret->print = rc == 0 ? print_of(&st) : (struct fingerprint){0};
		ret->sure = sure;
		if (rc == 0 && !S_ISDIR(st.stx_mode)) {
			struct file *known = file_known(s, &st);
			/* Changed since, and by nobody of the run: it may be another one that has the name now. */
			sure &= !ret->print.known || ret->print.ctime <= time || (known && file_is_written(known)) ||
			        fileid_domain(w.dirfd, w.path, fileid_dev(&st))->network;
			sure &= how == LOGGED_MADE || !S_ISFIFO(st.stx_mode);
			enum allowed ok = sure ? ALLOWED_YES : ALLOWED_MAYBE;
			ret->sure = sure;
			ret->file = opened(s, p, &w, &st, flags, ACCESS_READ, time, &ok);
		}
	}
	where_release(&w);
	/* What /proc says of a process goes with it; what it leads to does not. */
	bool said =
	    !strncmp(path, "/proc/", 6) && !strstr(path, "/root/") && !strstr(path, "/cwd/") && !strstr(path, "/fd/");
	ret->sure |= rc < 0 && said;
	return rc < 0 && said ? 0 : rc;
}

void open_again(struct sup *s, struct proc *p, struct file *f, const struct fingerprint *print, int64_t time)
{
	if (f->kind != TERM_kind_terminal)
		access_begin(s, p, f, ACCESS_READ, TERM_via_data, true, TERM_api_open, time,
		             f->kind == TERM_kind_regular ? print : NULL);
}

static void open_there(struct sup *s, struct proc *p, const struct trap *t, struct where *w, const struct statx *st,
                       unsigned flags, unsigned mode)
{
	struct file *f = opened(s, p, w, st, flags, mode, sup_now(s), NULL);
	bool possible = f && f->kind == TERM_kind_fifo && p->live && p->live->file == f && !p->live->sure;
	struct pending *d = possible && waits_for_other(flags, mode) ? pending_add(s, p, t, PENDING_FIFO, w, NULL) : NULL;
	if (d) {
		pin(d->file = f);
		d->mode = mode;
	}
}

static void do_open(struct sup *s, struct proc *p, const struct trap *t, int dirfd, uint64_t addr, unsigned flags,
                    uint64_t resolve)
{
	struct where w;
	s->plain = flags & O_PATH;
	if (s->plain)
		return;
	bool follow = !(flags & O_NOFOLLOW);
	int rc = resolve & RESOLVE_IN_ROOT ? where_in_root(p, t->tid, dirfd, addr, follow, &w)
	                                   : where_init(p, t->tid, dirfd, addr, follow, &w);
	if (rc < 0) {
		if (rc == -EPERM && !p->unreadable_said) {
			p->unreadable_said = true;
			sup_gap(s, p, TERM_gap_unreadable, 0, "its memory could not be read");
		}
		return;
	}
	if (w.given[1] == '.' && (s->refuse = nested_begins(s, p, &w))) {
		where_release(&w);
		return;
	}
	if (channel_has(&s->channel, w.given)) {
		where_release(&w);
		return;
	}
	if ((flags & O_TMPFILE) == O_TMPFILE) {
		p->tmpfile = sup_now(s);
		p->tmpfile_tid = t->tid;
		where_release(&w);
		return;
	}
	unsigned acc = flags & O_ACCMODE;
	unsigned mode = (acc == O_RDONLY || acc == O_RDWR ? ACCESS_READ : 0u) |
	                (acc == O_WRONLY || acc == O_RDWR ? ACCESS_WRITE : 0u) | (flags & O_APPEND ? ACCESS_APPEND : 0u);
	if (flags & O_TRUNC)
		mode |= ACCESS_TRUNC | ACCESS_WRITE;
	struct statx st;
	rc = where_look(&w, follow, &st);
	s->plain = rc == -ENOENT || (rc == 0 && (S_ISREG(st.stx_mode) || S_ISDIR(st.stx_mode)));
	if (rc == 0 && !((flags & O_CREAT) && (flags & O_EXCL))) {
		if (!S_ISDIR(st.stx_mode) && !(flags & O_DIRECTORY))
			open_there(s, p, t, &w, &st, flags, mode);
		else
			counted_opens(p, NULL, true);
	} else if (rc == -ENOENT && (flags & O_CREAT)) {
		struct pending *d = pending_add(s, p, t, PENDING_CREATE, &w, NULL);
		if (d) {
			d->mode = mode & ~ACCESS_TRUNC;
			d->open = counted_open(p);
			d->excl = flags & O_EXCL;
			for (struct pending *o = d->next; o; o = o->next)
				if (o->op == PENDING_CREATE && o->name_a && d->name_a && !strcmp(o->name_a, d->name_a))
					o->contested = d->contested = true;
		}
	} else if (rc == -ENOENT || rc == -ENOTDIR) {
		absent(s, p, &w, sup_now(s));
	}
	where_release(&w);
}

/* ---- names ---- */

static void do_rename(struct sup *s, struct proc *p, const struct trap *t, int d1, uint64_t a1, int d2, uint64_t a2,
                      unsigned flags)
{
	struct where a, b;
	struct statx st, vt;
	a.hold = b.hold = -1;
	if (where_init(p, t->tid, d1, a1, false, &a) == 0 && where_init(p, t->tid, d2, a2, false, &b) == 0 &&
	    where_look(&a, false, &st) == 0) {
		bool victim = where_look(&b, false, &vt) == 0;
		struct file *f = file_get(s, &a, false, &st);
		if (f && !(victim && (flags & RENAME_NOREPLACE))) {
			f->pins++;
			struct file *v = victim ? file_get(s, &b, false, &vt) : NULL;
			f->pins--;
			struct pending *d = v == f ? NULL : pending_add(s, p, t, PENDING_RENAME, &a, &b);
			if (d) {
				pin(d->file = f);
				pin(d->victim = v);
				d->last = victim && (vt.stx_nlink <= 1 || S_ISDIR(vt.stx_mode));
				d->exchange = flags & RENAME_EXCHANGE;
			}
		}
	}
	where_release(&a);
	where_release(&b);
}

static void do_link(struct sup *s, struct proc *p, const struct trap *t, int d1, uint64_t a1, int d2, uint64_t a2,
                    unsigned flags)
{
	struct where a, b;
	struct statx st;
	a.hold = b.hold = -1;
	int rc = where_init(p, t->tid, d1, a1, flags & AT_SYMLINK_FOLLOW, &a);
	bool by_fd = rc == -ENOENT && (flags & AT_EMPTY_PATH);
	if (by_fd) {
		where_fd(t->tid, d1, &a);
		rc = 0;
	}
	bool follow = by_fd || (flags & AT_SYMLINK_FOLLOW);
	if (rc == 0 && where_init(p, t->tid, d2, a2, false, &b) == 0 && where_look(&a, follow, &st) == 0) {
		struct file *f = file_get(s, &a, follow, &st);
		if (f && st.stx_nlink == 0) {
			/* A nameless file (O_TMPFILE): its open could not say what it is, its link can. */
			bool have = false;
			for (struct access *x = p->live; x; x = x->proc_next)
				have |= x->file == f;
			if (!have)
				access_begin(s, p, f, ACCESS_WRITE | ACCESS_CREATE, TERM_via_data, true, TERM_api_open,
				             p->tmpfile ? p->tmpfile : p->exec_start, NULL);
		}
		struct pending *d = f ? pending_add(s, p, t, PENDING_LINK, &a, &b) : NULL;
		if (d) {
			pin(d->file = f);
		}
	}
	where_release(&a);
	where_release(&b);
}

static void do_unlink(struct sup *s, struct proc *p, const struct trap *t, int dirfd, uint64_t addr)
{
	struct where a;
	struct statx st;
	a.hold = -1;
	if (where_init(p, t->tid, dirfd, addr, false, &a) == 0 && where_look(&a, false, &st) == 0) {
		struct file *f = file_get(s, &a, false, &st);
		struct pending *d = f ? pending_add(s, p, t, PENDING_UNLINK, &a, NULL) : NULL;
		if (d) {
			pin(d->file = f);
			d->last = st.stx_nlink <= 1 || S_ISDIR(st.stx_mode);
		}
	}
	where_release(&a);
}

static void do_make(struct sup *s, struct proc *p, const struct trap *t, int dirfd, uint64_t addr)
{
	struct where a;
	struct statx st;
	a.hold = -1;
	if (where_init(p, t->tid, dirfd, addr, false, &a) == 0 && where_look(&a, false, &st) == -ENOENT)
		pending_add(s, p, t, PENDING_MAKE, &a, NULL);
	where_release(&a);
}

static void do_truncate(struct sup *s, struct proc *p, const struct trap *t)
{
	struct where a;
	struct statx st;
	a.hold = -1;
	if (where_init(p, t->tid, AT_FDCWD, t->args[0], true, &a) == 0 && where_look(&a, true, &st) == 0 &&
	    S_ISREG(st.stx_mode)) {
		struct file *f = file_get(s, &a, true, &st);
		if (f && f->live)
			access_conflicts(s, p, f, ACCESS_WRITE);
		struct pending *d = f ? pending_add(s, p, t, PENDING_TRUNCATE, &a, NULL) : NULL;
		if (d) {
			pin(d->file = f);
			d->before = print_of(&st);
			d->mode = ACCESS_WRITE | (t->args[1] == 0 ? ACCESS_TRUNC : 0u);
		}
	}
	where_release(&a);
}

/* ---- channels and memory ---- */

static void do_mmap(struct sup *s, struct proc *p, const struct trap *t)
{
	int fd = (int)t->args[4];
	struct stat link;
	if ((t->args[3] & MAP_ANONYMOUS) || fd < 0) {
		p->anon_shm = true;
		return;
	}
	struct where w;
	struct statx st;
	where_fd(t->tid, fd, &w);
	if (where_statx(&w, true, &st) < 0 || !S_ISREG(st.stx_mode))
		return;
	/* A descriptor that is not open for both gives no such mapping. */
	if (fstatat(AT_FDCWD, w.path, &link, AT_SYMLINK_NOFOLLOW) < 0 || (link.st_mode & 0600) != 0600)
		return;
	struct file *f = file_get(s, &w, true, &st);
	if (!f || f->kind == TERM_kind_pseudo)
		return;
	struct fingerprint fp = print_of(&st);
	unsigned via = f->kind == TERM_kind_regular ? TERM_via_data : TERM_via_shm;
	if (f->live)
		access_conflicts(s, p, f, ACCESS_WRITE);
	access_begin(s, p, f, ACCESS_READ | ACCESS_WRITE | ACCESS_MAPPED, via, true, TERM_api_mmap, sup_now(s),
	             f->kind == TERM_kind_regular ? &fp : NULL);
}

static void do_shmat(struct sup *s, struct proc *p, const struct trap *t)
{
	char address[64], domain[100];
	snprintf(address, sizeof(address), "sysv:%d", (int)t->args[0]);
	snprintf(domain, sizeof(domain), "boot:%s:ipc", host_boot_id());
	struct file *f = file_address(s, TERM_kind_shm, domain, address);
	unsigned mode = ACCESS_READ | (t->args[2] & SHM_RDONLY ? 0u : ACCESS_WRITE);
	if (f)
		access_begin(s, p, f, mode, TERM_via_shm, true, TERM_api_shm, sup_now(s), NULL);
}

static void do_process_vm(struct sup *s, struct proc *p, const struct trap *t)
{
	struct proc *other = proc_by_pid(s, (pid_t)t->args[0]);
	if (!other || other == p)
		return;
	struct event ev = {.link = {.other = other->num, .via = TERM_via_shm}};
	sup_event(s, EVENT_link, sup_now(s), p, &ev);
}

/* ---- dispatch ---- */

/* The kernel's struct, without the end. */
static void do_sigaction(struct sup *s, struct proc *p, const struct trap *t)
{
	struct {
		uint64_t handler, flags;
	} act;
	if (remote_read(t->tid, t->args[1], &act, sizeof(act)) != sizeof(act))
		return;
	if (act.handler == (uint64_t)(uintptr_t)SIG_DFL || act.handler == (uint64_t)(uintptr_t)SIG_IGN ||
	    (act.flags & SA_RESTART))
		return;
	if (t->args[0] == SIGCHLD)
		p->catches_child = true;
	else
		p->catches = true;
	proc_guard(s, p);
}

/* Another tracer wants it. */
static void do_ptrace(struct sup *s, const struct trap *t)
{
	struct task *k = task_known(s, (pid_t)t->args[1]);
	struct proc *p = k ? k->proc : proc_by_pid(s, (pid_t)t->args[1]);
	if (!p || !p->guarded)
		return;
	guard_release(s->guard, p->pid);
	p->guarded = false;
	p->unguarded = true;
}

static void dispatch(struct sup *s, struct proc *p, const struct trap *t, bool first_stop)
{
	const uint64_t *a = t->args;
	struct open_how how = {0};
	switch (t->call) {
	case CALL_execve:
	case CALL_execveat:
		if (!nested_by_exec(s, p, t))
			exec_trap(s, p, t, first_stop);
		break;
	case CALL_exit:
		proc_exit(s, p, TERM_ending_exited, (unsigned)a[0] & 0xff);
		break;
	case CALL_open:
		do_open(s, p, t, AT_FDCWD, a[0], (unsigned)a[1], 0);
		break;
	case CALL_openat:
		do_open(s, p, t, (int)a[0], a[1], (unsigned)a[2], 0);
		break;
	case CALL_openat2:
		if (remote_read(t->tid, a[2], &how, sizeof(how)) == sizeof(how))
			do_open(s, p, t, (int)a[0], a[1], (unsigned)how.flags, how.resolve);
		break;
	case CALL_creat:
		do_open(s, p, t, AT_FDCWD, a[0], O_CREAT | O_WRONLY | O_TRUNC, 0);
		break;
	case CALL_open_handle:
		sup_gap(s, p, TERM_gap_unsettled, 1, "opened a file by handle");
		break;
	case CALL_rename:
		do_rename(s, p, t, AT_FDCWD, a[0], AT_FDCWD, a[1], 0);
		break;
	case CALL_renameat:
		do_rename(s, p, t, (int)a[0], a[1], (int)a[2], a[3], 0);
		break;
	case CALL_renameat2:
		do_rename(s, p, t, (int)a[0], a[1], (int)a[2], a[3], (unsigned)a[4]);
		break;
	case CALL_link:
		do_link(s, p, t, AT_FDCWD, a[0], AT_FDCWD, a[1], 0);
		break;
	case CALL_linkat:
		do_link(s, p, t, (int)a[0], a[1], (int)a[2], a[3], (unsigned)a[4]);
		break;
	case CALL_unlink:
	case CALL_rmdir:
		do_unlink(s, p, t, AT_FDCWD, a[0]);
		break;
	case CALL_unlinkat:
		do_unlink(s, p, t, (int)a[0], a[1]);
		break;
	case CALL_symlink:
		do_make(s, p, t, AT_FDCWD, a[1]);
		break;
	case CALL_symlinkat:
		do_make(s, p, t, (int)a[1], a[2]);
		break;
	case CALL_mkdir:
	case CALL_mknod:
		do_make(s, p, t, AT_FDCWD, a[0]);
		break;
	case CALL_mkdirat:
	case CALL_mknodat:
		do_make(s, p, t, (int)a[0], a[1]);
		break;
	case CALL_truncate:
		do_truncate(s, p, t);
		break;
	case CALL_chdir:
		p->moved = sup_now(s);
		p->stale |= STALE_CWD;
		break;
	case CALL_root:
		p->moved = sup_now(s);
		p->stale |= STALE_CWD | STALE_ROOT;
		p->fs_per_thread = true;
		break;
	case CALL_mount:
		sup_gap(s, p, TERM_gap_mounts, 1, "it mounted or unmounted a file system");
		p->stale |= STALE_ROOT;
		break;
	case CALL_setuid:
		p->stale |= STALE_CREDS;
		break;
	case CALL_connect:
	case CALL_bind:
		if (socket_trap(s, p, t)) {
			struct where none = {.hold = -1, .dirfd = AT_FDCWD, .tid = t->tid};
			struct pending *d = pending_add(s, p, t, PENDING_BIND, &none, NULL);
			if (d)
				d->fd = (int)a[0];
		}
		break;
	case CALL_shmat:
		do_shmat(s, p, t);
		break;
	case CALL_process_vm:
		do_process_vm(s, p, t);
		break;
	case CALL_io_uring:
		if (!p->uring_said)
			sup_gap(s, p, TERM_gap_io_uring, 0, "it set up io_uring, whose accesses are not seen");
		p->uring_said = true;
		p->uncounted = p->io_unseen = true;
		break;
	case CALL_aio:
		p->uncounted = p->io_unseen = true;
		break;
	case CALL_seccomp:
		if (a[0] == SECCOMP_SET_MODE_FILTER && (a[1] & SECCOMP_FILTER_FLAG_NEW_LISTENER))
			sup_gap(s, p, TERM_gap_limit, 1, "it asked for a notification listener of its own, which there cannot be");
		break;
	case CALL_splice:
		p->uncounted = true;
		break;
	case CALL_sigaction:
		do_sigaction(s, p, t);
		break;
	case CALL_ptrace:
		do_ptrace(s, t);
		break;
	case CALL_mmap:
		do_mmap(s, p, t);
		break;
	default:
		break;
	}
}

/* Calls that move what pending ones wait to see: everything is settled before they run. */
static bool changes_names(enum call c)
{
	return (c >= CALL_rename && c <= CALL_rmdir) || c == CALL_execve || c == CALL_execveat;
}

/* Calls after which a path that was opened before may be another's. */
static bool changes_meanings(enum call c)
{
	return (c >= CALL_rename && c <= CALL_renameat2) || (c >= CALL_unlink && c <= CALL_rmdir) || c == CALL_mount;
}

/* Calls that wait for others, and that a signal is meant to end. */
static bool can_block(enum call c)
{
	return (c >= CALL_open && c <= CALL_open_handle) || c == CALL_connect || c == CALL_settle || c == CALL_splice;
}

int sup_trap(struct sup *s, const struct trap *t)
{
	s->traps++;
	if (s->opens) {
		if (changes_meanings(t->call))
			opens_bar(s, t->tid);
		opens_read(s);
	}
	s->moment++;
	if (changes_names(t->call) || t->call == CALL_mount || pending_names(s))
		links_forget();
	struct task *k = task_of(s, t->tid);
	if (!k) {
		s->unlooked++;
		return 0;
	}
	struct proc *p = k->proc;
	k->stops++;
	k->last = *t;
	k->can_block = can_block(t->call);
	if (p->guarded)
		guard_note(s->guard, p->pid, t, k->can_block, false);
	s->current = k;
	if (s->pending)
		pending_settle(s, p, t->tid, changes_names(t->call));
	if (p->exec)
		exec_settle(s, p, t->tid);
	if (p->stale) {
		if (p->stale & STALE_CWD) {
			free(p->cwd);
			p->cwd = NULL;
		}
		if (p->stale & STALE_ROOT)
			proc_refresh_root(s, p);
		if (p->stale & STALE_CREDS)
			proc_refresh_creds(s, p);
		p->stale = 0;
	}
	/* Handlers are what a shell's child sets back before its exec: not yet a reason to look at its descriptors. */
	bool look = !p->walked && t->call != CALL_sigaction && t->call != CALL_ptrace, first_stop = !p->walked;
	bool exec = t->call == CALL_execve || t->call == CALL_execveat;
	if (look) {
		p->walked = true;
		if (!exec && !s->tree_only) {
			struct held *held;
			size_t n = proc_walk(s, p, false, &held);
			proc_hold(s, p, held, n, p->exec_start);
			held_free(held, n);
		}
	}
	if (p->tmpfile_tid == t->tid) {
		proc_nameless(s, p);
		p->tmpfile_tid = 0;
	}
	s->refuse = 0;
	s->plain = false;
	counted_before(s, p, t);
	dispatch(s, p, t, first_stop);
	counted_after(s, p, t);
	opens_after(s, p, t);
	opens_unbar(s);
	if (s->plain && s->current == k) {
		k->can_block = false;
		if (p->guarded)
			guard_note(s->guard, p->pid, t, false, false);
	}
	s->current = NULL;
	return s->refuse;
}
