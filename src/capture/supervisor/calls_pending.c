/* Calls that were let go on and whose result is not seen yet: each is settled from what the file system shows. */
#include "base/fileid.h"
#include "capture/supervisor/calls.h"
#include "capture/supervisor/channels/sockets.h"
#include "capture/supervisor/paths/far.h"
#include "capture/supervisor/races.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Tells that a file got a name or lost it. op: TERM_nameop_*. Nothing without a path. */
static void emit_name_event(struct sup *s, struct proc *p, unsigned op, struct file *f, const char *path,
                            const char *old, int64_t time)
{
	if (!path)
		return;
	struct event ev = {.name = {.op = op, .file = f->num, .path = str_of(path), .old = str_of(old)}};
	sup_event(s, EVENT_name, time, p, &ev);
	if (op != TERM_nameop_unlink && op != TERM_nameop_replace)
		file_told(f, path);
}

/* Moves w, whose descriptors are the copy's; NULL without memory. */
static struct where *where_keep(struct where *w)
{
	struct where *copy = malloc(sizeof(*copy));
	if (copy) {
		*copy = *w;
		w->hold = w->object = -1; /* they are the copy's now */
	}
	return copy;
}

/* Takes back the pins of its files, which may be freed by that. */
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
	s->ring_waits -= d->call && d->outcome == RING_WAITS;
	free(d);
	s->npending--;
}

/* The device that a pinned path's folder is on, if that may keep us waiting; else 0. */
static uint64_t far_dev(const struct where *w)
{
	struct statx st;
	if (w->hold < 0 || fileid_statx_cached(w->hold, "", AT_EMPTY_PATH, STATX_INO, &st) < 0)
		return 0;
	/* A file system that nothing was asked of before is known from then on. */
	const struct fs_domain *d = fileid_domain(w->hold, "", fileid_dev(&st));
	return fileid_type_waits(d->type) ? fileid_dev(&st) : 0;
}

struct pending *pending_add(struct sup *s, struct proc *p, const struct trap *t, enum pending_op op, struct where *a,
                            struct where *b)
{
	struct pending *d = calloc(1, sizeof(*d));
	if (!d)
		return NULL;
	*d = (struct pending){.id = ++s->pendings, .op = op, .tid = t->tid, .proc = p, .time = sup_now(s)};
	d->base[1] = op == PENDING_CREATE && p->redirects ? proc_wchar(s, p) : UINT64_MAX;
	d->base[0] = d->base[1] == UINT64_MAX ? UINT64_MAX : p->rchar;
	if ((d->call = s->ring_call)) {
		d->direct = s->ring_direct;
		s->ring_waits++;
	}
	/* Before the call changes what the path means. */
	where_pin(a);
	if (b)
		where_pin(b);
	d->name_a = where_name(a);
	d->name_b = b ? where_name(b) : NULL;
	d->a = where_keep(a);
	d->b = b ? where_keep(b) : NULL;
	d->far = sup_far(s) ? far_dev(d->a ? d->a : a) : 0;
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

void file_pin(struct file *f)
{
	if (f)
		f->pins++;
}

/* Identifies the file at one of the paths of a pending call, or gives what the look before has given. 0 or -errno;
 * -EAGAIN: the file system did not answer. */
static int stat_pending_path(const struct pending *d, const struct where *w, bool follow, struct statx *st)
{
	const int i = w == d->b;
	if (d->told[i].known) {
		*st = d->told[i].st;
		return d->told[i].rc;
	}
	return d->far ? far_statx(d->far, w->dirfd, w->path, follow ? 0 : AT_SYMLINK_NOFOLLOW, st)
	              : where_statx(w, follow, st);
}

/* Identifies what a call has made. That is no link; what else is there is followed, and told by one look. 0, -errno.
 */
static int stat_created(const struct pending *d, struct statx *st)
{
	if (d->far || d->told[0].known || !d->a->held)
		return stat_pending_path(d, d->a, true, st);
	int rc = where_statx(d->a, false, st);
	d->a->direct = rc == 0 && !S_ISLNK(st->stx_mode);
	return rc == 0 && !d->a->direct ? where_statx(d->a, true, st) : rc;
}

/* Is the last component of its path followed? */
static bool follows_links(enum pending_op op)
{
	return op == PENDING_CREATE || op == PENDING_TRUNCATE;
}

struct again {
	uint64_t id;
	int which, dirfd, rc;
	bool follow;
	char *path;
	struct statx st;
};

/* Which paths of the thread's pending calls are to be looked up again, `most` at most, now that they may lead
 * elsewhere. */
static size_t again_all(struct sup *s, pid_t tid, struct again *ret, size_t most)
{
	size_t n = 0;
	for (struct pending *d = s->pending; d; d = d->next)
		for (int i = 0; i < 2 && n < most; i++) {
			const struct where *w = i ? d->b : d->a;
			if (!d->far || d->tid != tid || !w || !w->path[0] || w->hold < 0)
				continue;
			ret[n] =
			    (struct again){.id = d->id, .which = i, .follow = !i && follows_links(d->op), .path = strdup(w->path)};
			ret[n].dirfd = ret[n].path ? fcntl(w->hold, F_DUPFD_CLOEXEC, 3) : -1;
			n += ret[n].dirfd >= 0;
		}
	return n;
}

bool pending_look(struct sup *s, pid_t tid)
{
	enum { MOST = 8 };
	struct again v[MOST];
	struct left left;
	size_t n = s->leave ? again_all(s, tid, v, MOST) : 0;
	if (!n)
		return true;
	sup_leave(s, &left);
	for (size_t i = 0; i < n; i++) {
		int flags = v[i].follow ? 0 : AT_SYMLINK_NOFOLLOW;
		v[i].rc = statx(v[i].dirfd, v[i].path, flags, FILEID_STATX, &v[i].st) < 0 ? -errno : 0;
		close(v[i].dirfd);
		free(v[i].path);
	}
	bool there = sup_back(s, &left);
	for (struct pending *d = s->pending; d && there; d = d->next)
		for (size_t i = 0; i < n; i++)
			if (v[i].id == d->id) {
				d->told[v[i].which].known = true;
				d->told[v[i].which].rc = v[i].rc;
				d->told[v[i].which].st = v[i].st;
			}
	return there;
}

/* Is the file still found at that place? False where that cannot be told, too: *ret_silent says so. */
static bool is_file_at(const struct pending *d, const struct where *w, const struct file *f, bool *ret_silent)
{
	struct statx st;
	int rc = stat_pending_path(d, w, false, &st);
	*ret_silent |= rc == -EAGAIN;
	return rc == 0 && st.stx_ino == f->ino && fileid_dev(&st) == f->dev;
}

/* Every known name below a renamed directory changes with it. */
static void rename_known_below(struct sup *s, const char *old, const char *new)
{
	size_t n = strlen(old);
	for (unsigned i = 0; i < HASH_SIZE; i++) {
		for (struct file *f = s->files[i]; f; f = f->next)
			if (f->path && !strncmp(f->path, old, n) && f->path[n] == '/') {
				char *path;
				if (asprintf(&path, "%s%s", new, f->path + n) >= 0) {
					file_rename(s, f, path);
					file_told(f, ""); /* the log says so of the directory alone */
					free(path);
				}
			}
		for (struct proc *p = s->procs[i]; p; p = p->next) {
			free(p->cwd);
			p->cwd = NULL;
		}
	}
}

/* The call has made the file. back: it has returned; sure: it is certain that this call made it. */
static void emit_created(struct sup *s, struct pending *d, const struct statx *st, bool back, bool sure)
{
	struct file *f = file_get(s, d->a, true, st);
	if (!f)
		return;
	feature_created(s, d->proc, d, f);
	/* While the call may still be running, the access counts as begun by its thread's stop. */
	struct task *was = s->current;
	s->current = back ? NULL : task_known(s, d->tid);
	emit_name_event(s, d->proc, TERM_nameop_create, f, f->path, NULL, d->time);
	if (f->kind == TERM_kind_regular)
		s->begun_with = d->base;
	access_begin(s, d->proc, f, d->mode | ACCESS_CREATE, TERM_via_data, sure, TERM_api_open, d->time, NULL);
	s->begun_with = NULL;
	s->current = was;
	races_made(s, d, f);
}

/* Tells that a file was renamed, and gives it its new name. Also renames all that lies below a folder. */
static void emit_moved_file(struct sup *s, struct pending *d, struct file *f, const char *old, const char *new)
{
	emit_name_event(s, d->proc, TERM_nameop_rename, f, new, old, d->time);
	file_rename(s, f, new);
	if (f->kind == TERM_kind_directory)
		rename_known_below(s, old, new);
}

/* An exchange is three renames. */
static void emit_renamed(struct sup *s, struct pending *d)
{
	if (d->victim && d->exchange) {
		/* Three renames by way of a name that nothing else has: two would take for one directory's names the other's.
		 */
		char *between;
		if (!d->name_a || !d->name_b || asprintf(&between, "%s/.stemma-exchange", d->name_a) < 0)
			return;
		emit_moved_file(s, d, d->file, d->name_a, between);
		emit_moved_file(s, d, d->victim, d->name_b, d->name_a);
		emit_moved_file(s, d, d->file, between, d->name_b);
		free(between);
		return;
	}
	if (d->victim)
		emit_name_event(s, d->proc, TERM_nameop_replace, d->victim, d->name_b, NULL, d->time);
	if (d->name_a && d->name_b)
		emit_moved_file(s, d, d->file, d->name_a, d->name_b);
	if (d->victim && d->last)
		file_gone(s, d->victim);
}

/* What was renamed over it may have been told before it: the name is that one's, as whoever looks now sees. */
static void emit_outlived_name(struct sup *s, struct pending *d)
{
	struct statx st;
	struct file *f = stat_pending_path(d, d->b, false, &st) == 0 ? file_get(s, d->b, false, &st) : NULL;
	if (f && f != d->file && d->name_b && f->path && !strcmp(f->path, d->name_b))
		emit_name_event(s, d->proc, TERM_nameop_seen, f, d->name_b, NULL, sup_now(s));
}

/* Tells that a file was truncated, as an access that writes. Nothing where the file's fingerprint is what it was. */
static void emit_truncated(struct sup *s, struct pending *d)
{
	struct statx st;
	if (stat_pending_path(d, d->a, true, &st) < 0)
		return;
	struct fingerprint now = fingerprint_of(&st);
	if (now.size == d->before.size && now.mtime == d->before.mtime && now.ctime == d->before.ctime)
		return;
	struct access *a =
	    access_begin(s, d->proc, d->file, d->mode, TERM_via_data, true, TERM_api_truncate, d->time, &d->before);
	if (a && a->start == d->time)
		access_end(s, a, sup_now(s));
}

/* Are they set? A child of who set them may look at the file before that one stops again. */
static bool emit_times(struct sup *s, struct pending *d)
{
	struct statx st;
	if (stat_pending_path(d, d->a, true, &st) < 0 || st.stx_ino != d->file->ino || fileid_dev(&st) != d->file->dev)
		return false;
	struct fingerprint now = fingerprint_of(&st);
	if (now.size != d->before.size || now.mtime == d->before.mtime)
		return false;
	if (!file_is_written(d->file))
		file_times_set(s, d->file, d->proc, d->time, &d->before, &now);
	return true;
}

/* Is the created file this process's? Of several who create one path with O_EXCL, one succeeds. Who has the file is
 * it; who has not may have closed it again. */
static bool holds_created_file(struct sup *s, struct pending *d, const struct statx *st)
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

/* The open of a FIFO that may wait has returned: whoever has it open now has opened it. */
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
bool fifo_meets(struct sup *s, const struct file *f, unsigned mode, int64_t time)
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

/* Has it happened? 1: yes, and it was written down; 0: no; -1: not to be told yet. back: the call has returned; -1 then
 * is that the file system did not answer. */
static int settle_pending(struct sup *s, struct pending *d, bool back)
{
	struct statx st;
	bool silent = false;
	int rc;
	if (d->call && d->outcome == RING_FAILED && d->op != PENDING_OPEN)
		return 0;
	switch (d->op) {
	case PENDING_CREATE:
		rc = stat_created(d, &st);
		silent = rc == -EAGAIN;
		if (rc < 0 || S_ISDIR(st.stx_mode) || (d->contested && !back))
			rc = -1;
		else
			emit_created(s, d, &st, back, !d->contested || !d->excl || holds_created_file(s, d, &st));
		break;
	case PENDING_MAKE:
		rc = stat_pending_path(d, d->a, false, &st);
		silent = rc == -EAGAIN;
		if (rc == 0) {
			struct file *f = file_get(s, d->a, false, &st);
			if (f)
				emit_name_event(s, d->proc, TERM_nameop_create, f, d->name_a, NULL, d->time);
		}
		break;
	case PENDING_RENAME:
		rc = is_file_at(d, d->b, d->file, &silent) &&
		             (!d->exchange || !d->victim || is_file_at(d, d->a, d->victim, &silent))
		         ? 0
		         : -1;
		if (rc == 0) {
			emit_renamed(s, d);
		} else if (back && !d->exchange && !silent && !is_file_at(d, d->a, d->file, &silent) && !silent) {
			/* Another was renamed over it since: that the old name is not its name any more is effect enough. */
			emit_renamed(s, d);
			emit_outlived_name(s, d);
			rc = 0;
		}
		break;
	case PENDING_LINK:
		rc = is_file_at(d, d->b, d->file, &silent) ? 0 : -1;
		if (rc == 0) {
			emit_name_event(s, d->proc, TERM_nameop_link, d->file, d->name_b, NULL, d->time);
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
		rc = is_file_at(d, d->a, d->file, &silent) || silent ? -1 : 0;
		if (rc == 0) {
			emit_name_event(s, d->proc, TERM_nameop_unlink, d->file, d->name_a, NULL, d->time);
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
			emit_truncated(s, d);
		break;
	case PENDING_TIMES:
		rc = emit_times(s, d) || back ? 0 : -1;
		break;
	case PENDING_FIFO:
		rc = back ? 0 : -1;
		if (back)
			fifo_back(s, d);
		break;
	case PENDING_OPEN:
		rc = back ? 0 : -1;
		if (back)
			calls_open_returned(s, d);
		break;
	default:
		rc = 0;
	}
	return rc == 0 ? 1 : back && !silent ? 0 : -1;
}

/* Looks at what became of pending changes: of thread tid, and of p's; all: of others, too. */
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
		bool back = d->call ? d->outcome != RING_WAITS : d->tid == tid;
		/* One that never shows (it failed, and its thread sleeps) is looked at only now and then. */
		bool look = back || (!d->call && (all || d->proc == p || ++d->tries < 8 || d->tries % 64 == 0));
		if (look && settle_pending(s, d, back) >= 0) {
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

static bool is_pending_folder(const struct file *f)
{
	return f && f->kind == TERM_kind_directory;
}

/* Whether one may give a folder, and so all below it, other names. */
bool pending_folders(const struct sup *s)
{
	for (const struct pending *d = s->pending; d; d = d->next)
		if ((d->op == PENDING_RENAME || d->op == PENDING_UNLINK) &&
		    (is_pending_folder(d->file) || is_pending_folder(d->victim)))
			return true;
	return false;
}

/* The process is over: drops what is pending of it. What cannot be told is a gap. */
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
		if (settle_pending(s, d, true) < 0)
			sup_gap(s, p, TERM_gap_lost, 1, "the result of a call was not observed: its file system did not respond");
		pending_free(s, d);
	}
}
