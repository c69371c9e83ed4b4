/* Calls that open a file: stopped, or told of later by the program's own code. */
#include "capture/supervisor/calls.h"
#include "capture/supervisor/calls_logged.h"
#include "capture/supervisor/files_int.h"
#include "capture/supervisor/openings.h"
#include "capture/supervisor/paths/links.h"
#include "capture/supervisor/procs_int.h"
#include "capture/supervisor/races.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum allowed { ALLOWED_NO, ALLOWED_MAYBE, ALLOWED_YES };

/* Will the kernel allow it? By mode and owner; strict: where those allow it the kernel is asked, too. Maybe: by a right
 * that is not known of the process. */
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
	if (w->object >= 0)
		return w->allowed ? ALLOWED_YES : ALLOWED_NO;
	int amode = (want & 4 ? R_OK : 0) | (want & 2 ? W_OK : 0);
	return faccessat(w->dirfd, w->path, amode, AT_EACCESS) == 0 ? ALLOWED_YES : ALLOWED_NO;
}

/* An access of a path at which there is nothing, by its name as it was given. */
static void emit_absent(struct sup *s, struct proc *p, struct where *w, int64_t time)
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

/* ACCESS_* bits, without ACCESS_CREATE. */
static unsigned access_mode_of_open(unsigned flags)
{
	unsigned acc = flags & O_ACCMODE;
	return (acc == O_RDONLY || acc == O_RDWR ? ACCESS_READ : 0u) |
	       (acc == O_WRONLY || acc == O_RDWR ? ACCESS_WRITE : 0u) | (flags & O_APPEND ? ACCESS_APPEND : 0u) |
	       (flags & O_TRUNC ? ACCESS_TRUNC | ACCESS_WRITE : 0u);
}

/* Does an open wait for another process? Of an open of a FIFO. To write without waiting fails where nobody reads. */
static bool waits_for_other(unsigned flags, unsigned mode)
{
	unsigned both = ACCESS_READ | ACCESS_WRITE;
	return (mode & both) != both && (!(flags & O_NONBLOCK) || (mode & ACCESS_WRITE));
}

/* Is it looked at afterwards which file it was? Not where bytes are counted: whose they are would have to wait for
 * it. */
static bool is_checked_afterwards(struct sup *s, struct proc *p)
{
	return !s->exact && !s->bytes && openings_concern(s, p);
}

/* What the call at a stop opens; or, where it has been made, `made` says whether for sure: then the file or NULL. */
static struct file *emit_opened(struct sup *s, struct proc *p, struct where *w, const struct statx *st, unsigned flags,
                                unsigned mode, int64_t time, const enum allowed *made)
{
	if (!made)
		feature_opens(s, p, NULL, NULL);
	if (file_is_master(st) || S_ISSOCK(st->stx_mode) || S_ISBLK(st->stx_mode))
		return NULL;
	enum allowed ok = made ? *made : may_open(s, p, w, st, mode, mode & ACCESS_TRUNC);
	if (ok == ALLOWED_NO)
		return NULL;
	struct file *f = file_get_opened(s, p, w, !(flags & O_NOFOLLOW), st);
	if (!f || f->kind == TERM_kind_directory || f->kind == TERM_kind_symlink)
		return NULL;
	struct fingerprint fp = fingerprint_of(st);
	if (f->kind != TERM_kind_pseudo && !made)
		feature_opens(s, p, f, NULL);
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
		proc_end_closed(s, p, 1);
		accesses_look_at_written(s, p);
		f->pins--;
		time = sup_now(s); /* after what has ended before it */
		if (f->kind == TERM_kind_regular && s->current && s->current->proc == p && !access_is_of_library(f))
			proc_note_given(s, p, time);
	}
	if ((mode & ACCESS_WRITE) && !made)
		file_keep(s, f, w, st, !(mode & ACCESS_TRUNC));
	if (f->kind == TERM_kind_regular && !made && is_checked_afterwards(s, p)) {
		enum opening_how how = openings_begin(s, p, f, w, mode, ok == ALLOWED_YES, time, &fp);
		if (how == OPENING_TOLD)
			return f;
		ok = how == OPENING_UNSURE ? ALLOWED_MAYBE : ok;
	}
	access_begin(s, p, f, mode, TERM_via_data, ok == ALLOWED_YES, TERM_api_open, time,
	             f->kind == TERM_kind_regular ? &fp : NULL);
	return f;
}

int calls_open_logged(struct sup *s, struct proc *p, const char *path, unsigned flags, enum logged how, int64_t time,
                      struct logged_file *ret)
{
	static const struct opened_id unknown = {0};
	return calls_open_known(s, p, path, flags, how, time, &unknown, ret);
}

/* What identifies the file that was looked at. */
static struct opened_id id_of(const struct statx *st)
{
	return (struct opened_id){.dev = fileid_dev(st), .ino = st->stx_ino};
}

/* What /proc has gets new numbers whenever it is looked up anew. */
static bool is_another(const struct where *w, const struct statx *st, const struct opened_id *id)
{
	const struct opened_id is = id_of(st);
	return id->ino && (is.dev != id->dev || is.ino != id->ino) &&
	       !(is.dev == id->dev && fileid_domain(w->dirfd, w->path, fileid_dev(st))->pseudo);
}

int calls_open_descriptor(struct sup *s, struct proc *p, int fd, unsigned flags, int64_t time,
                          const struct opened_id *id)
{
	static const enum allowed yes = ALLOWED_YES;
	struct where w;
	struct statx st;
	where_fd(p->pid, fd, &w);
	int rc = where_statx(&w, true, &st);
	const struct opened_id is = rc == 0 ? id_of(&st) : (struct opened_id){0};
	if (rc == 0 && (is.dev != id->dev || is.ino != id->ino))
		rc = -ESTALE;
	if (rc == 0 && !S_ISDIR(st.stx_mode))
		emit_opened(s, p, &w, &st, flags & ~(unsigned)O_NOFOLLOW, ACCESS_READ, time, &yes);
	where_release(&w);
	return rc < 0 ? -ESTALE : 0;
}

int calls_open_known(struct sup *s, struct proc *p, const char *path, unsigned flags, enum logged how, int64_t time,
                     const struct opened_id *id, struct logged_file *ret)
{
	bool sure = how == LOGGED_MADE || how == LOGGED_STOPPED;
	struct where w;
	struct statx st;
	bool follow = !(flags & O_NOFOLLOW);
	*ret = (struct logged_file){0};
	struct rooted r = proc_rooted(NULL);
	r.in_turn = how != LOGGED_ABSENT && !sup_far(s);
	int rc = where_path(r, p->pid, AT_FDCWD, path, follow, &w);
	if (rc == 0 && how == LOGGED_ABSENT) {
		emit_absent(s, p, &w, time);
	} else if (rc == 0) {
		rc = where_look(&w, follow, &st);
		if (rc == 0 && is_another(&w, &st, id)) {
			where_release(&w);
			return -ESTALE;
		}
		ret->id = rc == 0 ? id_of(&st) : (struct opened_id){0};
		/* What the process had then it may have no more. */
		bool was_there = rc == 0 && (S_ISREG(st.stx_mode) || S_ISFIFO(st.stx_mode) || S_ISSOCK(st.stx_mode));
		if (w.fleeting && was_there && !fileid_domain(w.dirfd, w.path, fileid_dev(&st))->pseudo) {
			sure = false;
			sup_gap(s, p, TERM_gap_lost, 1, "it opened a file through one of its descriptors, which is examined later");
		}
		ret->print = rc == 0 ? fingerprint_of(&st) : (struct fingerprint){0};
		ret->sure = sure;
		if (rc == 0 && !S_ISDIR(st.stx_mode)) {
			struct file *known = file_known(s, &st);
			/* Changed since, and by nobody of the run: it may be another one that has the name now. */
			sure &= !ret->print.known || ret->print.ctime <= time || (known && file_is_written(known)) ||
			        fileid_domain(w.dirfd, w.path, fileid_dev(&st))->network;
			sure &= how == LOGGED_MADE || !S_ISFIFO(st.stx_mode);
			enum allowed ok = sure ? ALLOWED_YES : ALLOWED_MAYBE;
			ret->sure = sure;
			ret->file = emit_opened(s, p, &w, &st, flags, ACCESS_READ, time, &ok);
		}
	}
	where_release(&w);
	/* What /proc says of a process goes with it; what it leads to does not. */
	bool said =
	    !strncmp(path, "/proc/", 6) && !strstr(path, "/root/") && !strstr(path, "/cwd/") && !strstr(path, "/fd/");
	ret->sure |= rc < 0 && said;
	return rc < 0 && said ? 0 : rc;
}

int calls_open_possible(struct sup *s, struct proc *p, const char *path, unsigned flags, int64_t time)
{
	static const enum allowed maybe = ALLOWED_MAYBE;
	struct where w;
	struct statx st;
	bool follow = !(flags & O_NOFOLLOW);
	int rc = where_path(proc_rooted(p), p->pid, AT_FDCWD, path, follow, &w);
	if (rc == 0 && (rc = where_look(&w, follow, &st)) == 0 && !S_ISDIR(st.stx_mode))
		emit_opened(s, p, &w, &st, flags, access_mode_of_open(flags), time, &maybe);
	where_release(&w);
	return rc;
}

/* Adds n opens of one file for reading, as one access. */
static void add_opens(struct sup *s, struct proc *p, const struct logged_file *what, bool sure, int64_t time,
                      unsigned n)
{
	struct access *a = access_begin(s, p, what->file, ACCESS_READ, TERM_via_data, sure, TERM_api_open, time,
	                                what->file->kind == TERM_kind_regular ? &what->print : NULL);
	if (a)
		a->count += n - 1;
}

void calls_open_again(struct sup *s, struct proc *p, const struct logged_file *what, int64_t time, unsigned n)
{
	if (what->file->kind != TERM_kind_terminal)
		add_opens(s, p, what, true, time, n);
}

/* Are both fingerprints known and the same? False, too, where either is not known. */
static bool prints_equal(const struct fingerprint *a, const struct fingerprint *b)
{
	return a->known && b->known && a->size == b->size && a->mtime == b->mtime && a->ctime == b->ctime;
}

bool calls_open_is_same(struct sup *s, struct proc *p, const char *path, unsigned flags, const struct logged_file *was)
{
	struct where w;
	struct statx st;
	bool follow = !(flags & O_NOFOLLOW), same = false;
	if (where_path(proc_rooted(NULL), p->pid, AT_FDCWD, path, follow, &w) == 0 && where_look(&w, follow, &st) == 0) {
		struct fingerprint now = fingerprint_of(&st);
		same = file_known(s, &st) == was->file && prints_equal(&now, &was->print);
	}
	where_release(&w);
	return same;
}

/* The file at the path is not what it was when opens of it were logged: each of them may be of the one or the other. 0;
 * -errno of the open. */
int calls_open_changed(struct sup *s, struct proc *p, const char *path, unsigned flags, const struct logged_file *was,
                       const struct opened_since *o)
{
	struct logged_file now;
	struct file *f = was->file;
	/* Any of them may have been of what was there before. It is sure already that this process has opened that: only
	 * their number is to be said, unless somebody else has been found to have read what came after. */
	f->unsteady = true;
	if (f->stated.size == was->print.size && f->stated.mtime == was->print.mtime)
		add_opens(s, p, was, false, o->first, o->n);
	int rc = calls_open_logged(s, p, path, flags, LOGGED_LATE, o->first, &now);
	if (rc < 0 || !now.file)
		return rc;
	/* The last one is sure to be of what is there now if that was changed before it: after the look, for another file
	 * that has not been changed since may have got the name at any time. */
	int64_t changed = now.print.ctime, step = now.file->domain->mtime_step;
	now.file->unsteady = true;
	if (now.file->kind == TERM_kind_regular && (now.file == f || changed >= o->looked) && changed + step <= o->last)
		add_opens(s, p, &now, true, o->last, 1);
	return 0;
}

/* Remembers a folder that is opened, as if it were a file. Nothing is told of a directory, but it may be a file when
 * the kernel looks. */
static void check_directory(struct sup *s, struct proc *p, struct where *w, const struct statx *st, bool follow)
{
	struct fingerprint none = {0};
	struct file *f = file_get(s, w, follow, st);
	if (f)
		openings_begin(s, p, f, w, 0, false, sup_now(s), &none);
}

/* Something is at the path. */
static void open_there(struct sup *s, struct proc *p, const struct trap *t, struct where *w, const struct statx *st,
                       unsigned flags, unsigned mode)
{
	struct file *f = emit_opened(s, p, w, st, flags, mode, sup_now(s), NULL);
	if (f && s->pending && s->current)
		races_opened(s, s->current, f, w, mode);
	bool possible = f && f->kind == TERM_kind_fifo && p->live && p->live->file == f && !p->live->sure;
	struct pending *d = possible && waits_for_other(flags, mode) ? pending_add(s, p, t, PENDING_FIFO, w, NULL) : NULL;
	if (d) {
		file_pin(d->file = f);
		d->mode = mode;
	}
}

/* Through a ring: whether it was opened its result tells. */
static void open_later(struct sup *s, struct proc *p, const struct trap *t, struct where *w, int looked,
                       const struct statx *st, unsigned flags)
{
	struct file *f = NULL;
	if (looked == 0 && (S_ISDIR(st->stx_mode) || !(f = file_get(s, w, !(flags & O_NOFOLLOW), st))))
		return;
	struct pending *d = pending_add(s, p, t, PENDING_OPEN, w, NULL);
	if (!d)
		return;
	file_pin(d->file = f);
	d->mode = access_mode_of_open(flags);
	d->flags = flags;
	d->told[0].known = true;
	d->told[0].rc = looked;
	if (looked == 0)
		d->told[0].st = *st;
}

/* An open by io_uring has come back: d->outcome says how. */
void calls_open_returned(struct sup *s, struct pending *d)
{
	struct task *was = s->current;
	struct where w;
	struct statx st, *seen = &d->told[0].st;
	const bool done = d->outcome == RING_DONE;
	const bool there = d->told[0].rc == 0 || (done && where_statx(d->a, !(d->flags & O_NOFOLLOW), seen) == 0);
	enum allowed ok = done && d->told[0].rc == 0 ? ALLOWED_YES : ALLOWED_MAYBE;
	s->current = NULL;
	if (d->outcome == RING_FAILED) {
		if (d->fd == -ENOENT)
			emit_absent(s, d->proc, d->a, d->time);
	} else if (there) {
		/* The name may have been another's when the kernel came to it: the descriptor says so, if it still has it. */
		where_fd(d->proc->pid, d->fd, &w);
		if (done && d->fd >= 0 && where_statx(&w, true, &st) == 0 && S_ISREG(st.stx_mode) &&
		    (st.stx_ino != seen->stx_ino || fileid_dev(&st) != fileid_dev(seen))) {
			ok = ALLOWED_MAYBE;
			emit_opened(s, d->proc, &w, &st, d->flags & ~(unsigned)O_NOFOLLOW, d->mode, d->time, &ok);
		}
		where_release(&w);
		emit_opened(s, d->proc, d->a, seen, d->flags, d->mode, d->time, &ok);
	}
	s->current = was;
}

/* Handles an open at its stop, by what the look-up gave (looked: 0 with *st, or -errno): the file is there, is to be
 * created, or is absent. Emits what is certain now and keeps the rest pending. */
static void open_looked(struct sup *s, struct proc *p, const struct trap *t, struct where *w, int looked,
                        const struct statx *st, unsigned flags)
{
	const unsigned mode = access_mode_of_open(flags);
	s->plain = looked == -ENOENT || (looked == 0 && (S_ISREG(st->stx_mode) || S_ISDIR(st->stx_mode)));
	if (p->redirects && p->counted && !s->ring_call)
		proc_end_redirected(s, p, sup_now(s));
	if (looked == 0 && !((flags & O_CREAT) && (flags & O_EXCL))) {
		if (!S_ISDIR(st->stx_mode) && !(flags & O_DIRECTORY))
			open_there(s, p, t, w, st, flags, mode);
		else
			feature_opens(s, p, NULL, NULL);
		if (S_ISDIR(st->stx_mode) && !(flags & O_DIRECTORY) && is_checked_afterwards(s, p))
			check_directory(s, p, w, st, !(flags & O_NOFOLLOW));
	} else if (looked == -ENOENT && (flags & O_CREAT)) {
		struct pending *d = pending_add(s, p, t, PENDING_CREATE, w, NULL);
		if (d) {
			d->mode = mode & ~ACCESS_TRUNC;
			if (!d->call)
				feature_opens(s, p, NULL, d);
			d->excl = flags & O_EXCL;
			for (struct pending *o = d->next; o; o = o->next)
				if (o->op == PENDING_CREATE && o->name_a && d->name_a && !strcmp(o->name_a, d->name_a))
					o->contested = d->contested = true;
		}
	} else if (looked == -ENOENT || looked == -ENOTDIR) {
		emit_absent(s, p, w, sup_now(s));
		if (s->pending && s->current)
			races_opened(s, s->current, NULL, w, mode);
	}
}

/* Records the open, which has not been made yet, or what is to be looked at when it has. */
void calls_handle_open(struct sup *s, struct proc *p, const struct trap *t, int dirfd, uint64_t addr, unsigned flags,
                       uint64_t resolve)
{
	struct where w;
	s->plain = flags & O_PATH;
	if (s->plain)
		return;
	const bool follow = !(flags & O_NOFOLLOW);
	const unsigned mode = access_mode_of_open(flags);
	struct statx st;
	struct left left;
	struct rooted r = proc_rooted_near(s, p);
	int looked = -ENOENT;
	where_none(&w);
	sup_leave(s, &left);
	int rc = resolve & RESOLVE_IN_ROOT ? where_in_root(r, t->tid, dirfd, addr, follow, &w)
	                                   : where_init(r, t->tid, dirfd, addr, follow, &w);
	if (rc == 0 && (flags & O_TMPFILE) != O_TMPFILE && !where_is_ours(&w))
		looked = where_look(&w, follow, &st);
	if (looked == 0 && sup_far(s))
		where_hold(&w, follow, &st, (mode & ACCESS_READ ? R_OK : 0) | (mode & ACCESS_WRITE ? W_OK : 0));
	else if (looked == -ENOENT && (flags & O_CREAT) && sup_far(s))
		where_pin(&w);
	if (!sup_back(s, &left)) {
		where_release(&w);
		return;
	}
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
	if (feature_owns(s, w.given)) {
		where_release(&w);
		return;
	}
	if ((flags & O_TMPFILE) == O_TMPFILE) {
		p->tmpfile = sup_now(s);
		p->tmpfile_tid = t->tid;
		where_release(&w);
		return;
	}
	if (s->ring_call && !(looked == -ENOENT && (flags & O_CREAT)))
		open_later(s, p, t, &w, looked, &st, flags);
	else
		open_looked(s, p, t, &w, looked, &st, flags);
	where_release(&w);
}
