/* Calls that make, move and take away names, and that cut a file by its name. */
#include "capture/supervisor/calls.h"
#include "capture/supervisor/feature.h"
#include "capture/supervisor/files_int.h"
#include "capture/supervisor/paths/links.h"
#include "capture/supervisor/races.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

/* Whatever else will be asked about a path that was looked at (rc), where somebody may keep us waiting for it. */
static void look_far(struct sup *s, struct where *w, bool follow, int rc, const struct statx *st)
{
	if (!sup_far(s))
		return;
	if (rc == 0)
		where_hold(w, follow, st, 0);
	if (rc == 0 || rc == -ENOENT)
		where_pin(w);
}

/* What a path argument means, looked at outside of the lock. 0 or -errno; -ESRCH: who asked has ended. ret->path is ""
 * where there is nothing to look at. */
static int stat_path_argument(struct sup *s, struct proc *p, const struct trap *t, int dirfd, uint64_t addr,
                              bool follow, struct where *ret, struct statx *ret_st)
{
	struct left left;
	struct rooted r = proc_rooted_near(s, p);
	where_none(ret);
	sup_leave(s, &left);
	int rc = where_init(r, t->tid, dirfd, addr, follow, ret);
	if (rc < 0)
		ret->path[0] = '\0';
	else
		rc = where_look(ret, follow, ret_st);
	look_far(s, ret, follow, rc, ret_st);
	return sup_back(s, &left) ? rc : -ESRCH;
}

/* d1, a1: the old path, d2, a2: the new one. What becomes of it is looked at when the call has returned
 * (calls_pending.c); so in all of these. */
void calls_handle_rename(struct sup *s, struct proc *p, const struct trap *t, int d1, uint64_t a1, int d2, uint64_t a2,
                         unsigned flags)
{
	struct where a, b;
	struct statx st, vt;
	struct left left;
	struct rooted r = proc_rooted_near(s, p);
	where_none(&a);
	where_none(&b);
	sup_leave(s, &left);
	bool there = where_init(r, t->tid, d1, a1, false, &a) == 0 && where_init(r, t->tid, d2, a2, false, &b) == 0 &&
	             where_look(&a, false, &st) == 0;
	bool victim = there && where_look(&b, false, &vt) == 0;
	if (there) {
		look_far(s, &a, false, 0, &st);
		look_far(s, &b, false, victim ? 0 : -ENOENT, &vt);
	}
	const bool back = sup_back(s, &left);
	/* Nothing of a directory's name that was known holds from now on; else names of directories stay. */
	if (!there || S_ISDIR(st.stx_mode) || (victim && S_ISDIR(vt.stx_mode)))
		links_forget();
	if (back && there) {
		struct file *f = file_get(s, &a, false, &st);
		if (f && !(victim && (flags & RENAME_NOREPLACE))) {
			f->pins++;
			struct file *v = victim ? file_get(s, &b, false, &vt) : NULL;
			f->pins--;
			struct pending *d = v == f ? NULL : pending_add(s, p, t, PENDING_RENAME, &a, &b);
			if (d) {
				file_pin(d->file = f);
				file_pin(d->victim = v);
				d->last = victim && (vt.stx_nlink <= 1 || S_ISDIR(vt.stx_mode));
				d->exchange = flags & RENAME_EXCHANGE;
				f->untouched |= s->keeper && fileid_time(&st.stx_ctime) < s->keeper->began;
				if (v && !d->exchange)
					file_keep(s, v, &b, &vt, false);
				races_changes(s, d);
				feature_changes(s, d);
			}
		}
	}
	where_release(&a);
	where_release(&b);
}

void calls_handle_link(struct sup *s, struct proc *p, const struct trap *t, int d1, uint64_t a1, int d2, uint64_t a2,
                       unsigned flags)
{
	struct where a, b;
	struct statx st;
	struct left left;
	struct rooted r = proc_rooted_near(s, p);
	where_none(&a);
	where_none(&b);
	sup_leave(s, &left);
	int rc = where_init(r, t->tid, d1, a1, flags & AT_SYMLINK_FOLLOW, &a);
	bool by_fd = rc == -ENOENT && (flags & AT_EMPTY_PATH);
	if (by_fd) {
		where_fd(t->tid, d1, &a);
		rc = 0;
	}
	bool follow = by_fd || (flags & AT_SYMLINK_FOLLOW);
	bool there = rc == 0 && where_init(r, t->tid, d2, a2, false, &b) == 0 && where_look(&a, follow, &st) == 0;
	if (there) {
		look_far(s, &a, follow, 0, &st);
		look_far(s, &b, false, -ENOENT, NULL);
	}
	if (sup_back(s, &left) && there) {
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
			file_pin(d->file = f);
			races_changes(s, d);
			feature_changes(s, d);
		}
	}
	where_release(&a);
	where_release(&b);
}

void calls_handle_unlink(struct sup *s, struct proc *p, const struct trap *t, int dirfd, uint64_t addr)
{
	struct where a;
	struct statx st;
	int rc = stat_path_argument(s, p, t, dirfd, addr, false, &a, &st);
	if (rc == 0) {
		struct file *f = file_get(s, &a, false, &st);
		struct pending *d = f ? pending_add(s, p, t, PENDING_UNLINK, &a, NULL) : NULL;
		if (d) {
			file_pin(d->file = f);
			d->last = st.stx_nlink <= 1 || S_ISDIR(st.stx_mode);
			file_keep(s, f, &a, &st, false);
			races_changes(s, d);
			feature_changes(s, d);
		}
	}
	where_release(&a);
}

/* Only of paths where nothing is yet. */
void calls_handle_make(struct sup *s, struct proc *p, const struct trap *t, int dirfd, uint64_t addr)
{
	struct where a;
	struct statx st;
	int rc = stat_path_argument(s, p, t, dirfd, addr, false, &a, &st);
	if (rc == -ENOENT && a.path[0])
		pending_add(s, p, t, PENDING_MAKE, &a, NULL);
	where_release(&a);
}

/* The content stays: what was written before, in this run or an earlier one, has other times, which it is known by from
 * now on. */
void calls_handle_times(struct sup *s, struct proc *p, const struct trap *t, int dirfd, uint64_t addr, bool follow)
{
	struct where a;
	struct statx st;
	where_none(&a);
	if (!addr)
		where_fd(t->tid, dirfd, &a);
	int rc = addr ? stat_path_argument(s, p, t, dirfd, addr, follow, &a, &st) : where_statx(&a, true, &st);
	struct file *f = rc == 0 && S_ISREG(st.stx_mode) ? file_get(s, &a, true, &st) : NULL;
	bool written = false;
	for (struct access *b = f ? f->live : NULL; b; b = b->file_next)
		if (b->mode & ACCESS_WRITE) {
			b->timed |= b->proc == p;
			written = true;
		}
	/* Else its own end tells of them. */
	struct pending *d = f && !written ? pending_add(s, p, t, PENDING_TIMES, &a, NULL) : NULL;
	if (d) {
		file_pin(d->file = f);
		d->before = fingerprint_of(&st);
	}
	where_release(&a);
}

/* Ends other accesses of the file in the way of a new writer. */
void calls_handle_truncate(struct sup *s, struct proc *p, const struct trap *t)
{
	struct where a;
	struct statx st;
	int rc = stat_path_argument(s, p, t, AT_FDCWD, t->args[0], true, &a, &st);
	if (rc == 0 && S_ISREG(st.stx_mode)) {
		struct file *f = file_get(s, &a, true, &st);
		if (f && f->live)
			access_conflicts(s, p, f, ACCESS_WRITE);
		struct pending *d = f ? pending_add(s, p, t, PENDING_TRUNCATE, &a, NULL) : NULL;
		if (d) {
			file_pin(d->file = f);
			d->before = fingerprint_of(&st);
			d->mode = ACCESS_WRITE | (t->args[1] == 0 ? ACCESS_TRUNC : 0u);
			file_keep(s, f, &a, &st, t->args[1] != 0);
		}
	}
	where_release(&a);
}

/* What the process had open to write f ends here: what it writes from now on is another version. The bits of their
 * modes.
 */
static unsigned end_own_writing(struct sup *s, struct proc *p, struct file *f)
{
	unsigned mode = 0;
	struct access *next;
	f->pins++;
	for (struct access *a = p->live; a; a = next) {
		next = a->proc_next;
		if (a->file != f || !a->own_writing || a->mapped)
			continue;
		mode |= a->mode & (ACCESS_READ | ACCESS_WRITE | ACCESS_APPEND);
		access_end(s, a, sup_now(s));
	}
	f->pins--;
	return mode;
}

/* A descriptor's file is about to be emptied. It may not fail then: what it had would be taken for destroyed. */
void calls_handle_ftruncate(struct sup *s, struct proc *p, const struct trap *t)
{
	struct where w;
	struct statx st;
	struct stat link;
	where_fd(t->tid, (int)t->args[0], &w);
	if (t->args[1] || where_statx(&w, true, &st) < 0 || !S_ISREG(st.stx_mode) || !st.stx_size ||
	    st.stx_attributes & (STATX_ATTR_APPEND | STATX_ATTR_IMMUTABLE) ||
	    fstatat(AT_FDCWD, w.path, &link, AT_SYMLINK_NOFOLLOW) < 0 || !(link.st_mode & 0200))
		return;
	struct file *f = file_get(s, &w, true, &st);
	if (!f || f->kind != TERM_kind_regular)
		return;
	if (f->live)
		access_conflicts(s, p, f, ACCESS_WRITE);
	struct fingerprint fp = fingerprint_of(&st);
	unsigned mode = end_own_writing(s, p, f) | ACCESS_WRITE | ACCESS_TRUNC;
	access_begin(s, p, f, mode, TERM_via_data, true, TERM_api_truncate, sup_now(s), &fp);
}
