/* Files and accesses: what is open, since when, and what shows that it was written. */
#include "base/io.h"
#include "capture/supervisor/far.h"
#include "capture/supervisor/openings.h"
#include "capture/supervisor/super.h"
#include "capture/witness/witness.h"
#include "event/access_ending.h"
#include "redact/redact.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <xxhash.h>

static unsigned file_hash_slot(uint64_t dev, uint64_t ino)
{
	uint64_t h = (ino ^ dev << 40 ^ dev) * 0x9e3779b97f4a7c15u;
	return (unsigned)(h >> 52) & (HASH_SIZE - 1);
}

struct fingerprint fingerprint_of(const struct statx *st)
{
	return (struct fingerprint){true, st->stx_size, fileid_time(&st->stx_mtime), fileid_time(&st->stx_ctime)};
}

static int64_t birth_of(const struct statx *st)
{
	return st->stx_mask & STATX_BTIME ? fileid_time(&st->stx_btime) : 0;
}

struct file *file_known(struct sup *s, const struct statx *st)
{
	uint64_t dev = fileid_dev(st);
	for (struct file *f = s->files[file_hash_slot(dev, st->stx_ino)]; f; f = f->next)
		if (f->ino == st->stx_ino && f->dev == dev && (f->btime == birth_of(st) || f->domain->birth_changes) &&
		    (!f->gone || st->stx_nlink == 0)) /* one that is gone and has a name is another, with its inode */
			return f;
	return NULL;
}

static void file_free(struct sup *s, struct file *f)
{
	openings_forget(s, f);
	witness_forget(f);
	free(f->path);
	free(f->alias);
	free(f->interpreter);
	free(f);
}

static void file_unhash(struct sup *s, struct file *f)
{
	struct file **at = &s->files[file_hash_slot(f->dev, f->ino)];
	while (*at && *at != f)
		at = &(*at)->next;
	if (*at) {
		*at = f->next;
		s->nfiles--;
	}
	f->next = NULL;
}

/* Forgets files nobody uses, those not met since the last time first. They get a new number when they come back. */
static void files_shrink(struct sup *s)
{
	for (int pass = 0; pass < 2 && s->nfiles > FILES_MAX * 3 / 4; pass++)
		for (unsigned i = 0; i < HASH_SIZE; i++)
			for (struct file **at = &s->files[i]; *at;) {
				struct file *f = *at;
				if (f->live || f->pins || (f->recent && !pass)) {
					f->recent = false;
					at = &f->next;
					continue;
				}
				*at = f->next;
				s->nfiles--;
				file_free(s, f);
			}
}

void file_gone(struct sup *s, struct file *f)
{
	f->gone = true;
	file_drop(s, f);
}

bool file_is_written(const struct file *f)
{
	for (const struct access *a = f->live; a; a = a->file_next)
		if (a->mode & ACCESS_WRITE)
			return true;
	return false;
}

void file_drop(struct sup *s, struct file *f)
{
	if (!f->gone || f->live || f->pins)
		return;
	file_unhash(s, f);
	file_free(s, f);
}

static void notify_observer_file(struct sup *s, const struct file *f, const char *path, int64_t size, unsigned mode,
                                 bool handed)
{
	if (s->observer && s->observer->file && f->kind == TERM_kind_regular)
		s->observer->file(s->observer->arg, f->num, path, size, mode & (ACCESS_READ | ACCESS_WRITE), handed);
}

void file_rename(struct sup *s, struct file *f, const char *path)
{
	char *copy = path ? strdup(path) : NULL;
	if (copy) {
		free(f->path);
		f->path = copy;
		notify_observer_file(s, f, copy, -1, 0, false);
	}
}

static struct file *file_add(struct sup *s, struct file *f)
{
	if (s->nfiles >= FILES_MAX)
		files_shrink(s);
	unsigned i = file_hash_slot(f->dev, f->ino);
	f->next = s->files[i];
	s->files[i] = f;
	s->nfiles++;
	f->num = ++s->known->files;
	f->recent = true;
	return f;
}

static uint64_t emit_domain(struct sup *s, const struct fs_domain *d)
{
	unsigned num = d->index ? d->index : 4096;
	if (!s->domain_said[num]) {
		struct event ev = {
		    .domain = {.num = num, .name = str_of(d->name), .type = str_of(d->type), .network = d->network}};
		sup_event(s, EVENT_domain, sup_now(s), NULL, &ev);
		s->domain_said[num] = true;
	}
	return num;
}

/* Of a pseudo-terminal the side of who plays the terminal, as an emulator, tmux or expect does. */
bool file_is_master(const struct statx *st)
{
	return S_ISCHR(st->stx_mode) && st->stx_rdev_major == 5 && st->stx_rdev_minor == 2;
}

bool file_is_terminal(const struct statx *st)
{
	unsigned maj = st->stx_rdev_major;
	return S_ISCHR(st->stx_mode) && !file_is_master(st) && (maj == 4 || maj == 5 || (maj >= 136 && maj <= 143));
}

/* Who has it open serves file systems (fuse.h; linux/miscdevice.h has the number). */
bool file_is_fuse(const struct statx *st)
{
	return S_ISCHR(st->stx_mode) && st->stx_rdev_major == 10 && st->stx_rdev_minor == 229;
}

static unsigned file_kind_of(const struct statx *st, const struct fs_domain *d, const char *path)
{
	switch (st->stx_mode & S_IFMT) {
	case S_IFDIR:
		return TERM_kind_directory;
	case S_IFLNK:
		return TERM_kind_symlink;
	case S_IFIFO:
		return path && path[0] == '/' ? TERM_kind_fifo : TERM_kind_pipe;
	case S_IFSOCK:
		return TERM_kind_socket;
	case S_IFREG:
		if (path && !strncmp(path, "/memfd:stemma-cc", 16)) /* a tape of stemma cc's, no data of theirs */
			return TERM_kind_pseudo;
		if (path && (!strncmp(path, "/memfd:", 7) || !strncmp(path, "/SYSV", 5)))
			return TERM_kind_shm;
		return d->pseudo ? TERM_kind_pseudo : TERM_kind_regular;
	default:
		return file_is_terminal(st) ? TERM_kind_terminal : TERM_kind_pseudo;
	}
}

/* The file that X-wal, X-journal and X-shm count to (B14), if it is there. */
static uint64_t group_of(struct sup *s, const struct where *w, const char *path)
{
	static const char *const tails[] = {"-wal", "-journal", "-shm"};
	size_t n = path ? strlen(path) : 0;
	for (size_t i = 0; i < sizeof(tails) / sizeof(tails[0]); i++) {
		size_t k = strlen(tails[i]), m = strlen(w->path);
		if (n <= k || strcmp(path + n - k, tails[i]) || m <= k || strcmp(w->path + m - k, tails[i]))
			continue;
		struct where base = *w; /* same directory; hold stays w's */
		base.path[m - k] = '\0';
		struct statx st;
		if (where_statx(&base, true, &st) < 0 || !S_ISREG(st.stx_mode))
			return 0;
		struct file *f = file_get(s, &base, true, &st);
		return f ? f->num : 0;
	}
	return 0;
}

/* One number for both ends of a pair: the smaller. Who is whose peer is remembered, since the one that is seen last may
 * have lost its peer by then. */
static uint64_t fifo_pair_of(struct sup *s, uint64_t ino)
{
	for (unsigned i = 0; i < PAIRS; i++)
		if (s->pairs[i][1] == ino)
			return s->pairs[i][0];
	uint64_t peer = socket_unix_peer(ino);
	if (!peer)
		return ino;
	uint64_t *slot = s->pairs[s->next_pair++ % PAIRS];
	slot[0] = peer < ino ? peer : ino;
	slot[1] = peer < ino ? ino : peer;
	return slot[0];
}

/* A close of a descriptor of it, by whoever has a copy. */
static bool may_notice(const struct statx *st, const struct fs_domain *d)
{
	return (S_ISREG(st->stx_mode) || S_ISCHR(st->stx_mode)) && !descriptor_is_near(st, d->type);
}

struct file *file_get(struct sup *s, const struct where *w, bool follow, const struct statx *st)
{
	struct file *f = file_known(s, st);
	if (f) {
		f->recent = true;
		return f;
	}
	struct fileid id;
	if (w->object >= 0)
		fileid_of(w->object, "", AT_EMPTY_PATH, st, &id);
	else
		fileid_of(w->dirfd, w->path, follow ? 0 : AT_SYMLINK_NOFOLLOW, st, &id);
	sup_serves(s, file_is_fuse(st));
	sup_set_slow_fs(s, fileid_type_waits(id.domain->type)); /* mounted since the run began */
	s->far |= may_notice(st, id.domain);
	f = calloc(1, sizeof(*f));
	if (!f)
		return NULL;
	uint64_t channel = st->stx_ino;
	f->dev = fileid_dev(st);
	f->ino = st->stx_ino;
	f->gen = id.gen;
	f->btime = birth_of(st);
	f->domain = id.domain;
	f->far = fileid_type_waits(id.domain->type);
	errno = 0;
	f->path = where_real_of(w, follow, st);
	int error = f->path ? 0 : errno;
	if (f->path && feature_owns(s, f->path)) {
		free(f->path);
		free(f);
		return NULL;
	}
	f->kind = file_kind_of(st, id.domain, f->path);
	f->hidden = !f->path || f->path[0] != '/';
	if (f->kind == TERM_kind_regular && st->stx_nlink == 0) {
		free(f->path); /* the name it had is not its name any more */
		f->path = NULL;
		f->gone = true;
	} else if (error) {
		sup_unread(s, NULL, error, "the name of a file could not be read");
	}
	if (f->kind == TERM_kind_socket && f->path && f->path[0] != '/') {
		/* The two ends of a pair are two inodes and one channel. */
		channel = fifo_pair_of(s, f->ino);
	}
	uint64_t group = f->kind == TERM_kind_regular && w->object < 0 ? group_of(s, w, f->path) : 0;
	uint64_t domain = emit_domain(s, id.domain);
	file_add(s, f);
	struct event ev = {.file = {.num = f->num,
	                            .kind = f->kind,
	                            .domain = domain,
	                            .ino = channel,
	                            .gen = f->gen,
	                            .group = group,
	                            .path = str_of(f->path)}};
	sup_event(s, EVENT_file, sup_now(s), NULL, &ev);
	return f;
}

/* The domain of a device, asked for by a path that may have gone: the nearest folder above it that is still there. */
static const struct fs_domain *emitted_domain(const struct statx *st, const char *path)
{
	char at[4096 + 1];
	snprintf(at, sizeof(at), "%s", path && path[0] == '/' ? path : "");
	while (at[0]) {
		struct statx there;
		if (statx(AT_FDCWD, at, AT_SYMLINK_NOFOLLOW, STATX_INO, &there) == 0 && fileid_dev(&there) == fileid_dev(st))
			break;
		char *slash = strrchr(at, '/');
		if (slash == at && at[1])
			at[1] = '\0';
		else
			*slash = '\0';
	}
	return fileid_domain(AT_FDCWD, at, fileid_dev(st));
}

struct file *file_emitted(struct sup *s, const struct statx *st, bool has_gen, uint64_t gen, const char *path)
{
	struct file *f = file_known(s, st);
	if (f) {
		f->recent = true;
		if (f->kind == TERM_kind_regular && !f->path && st->stx_nlink && path && path[0] == '/')
			file_rename(s, f, path);
		return f;
	}
	if ((path && feature_owns(s, path)) || !(f = calloc(1, sizeof(*f))))
		return NULL;
	uint64_t channel = st->stx_ino, group = 0;
	f->dev = fileid_dev(st);
	f->ino = st->stx_ino;
	f->btime = birth_of(st);
	f->domain = emitted_domain(st, path);
	s->far |= may_notice(st, f->domain);
	f->gen = f->domain->pseudo ? 0 : has_gen ? gen : f->domain->birth_changes ? 0 : (uint64_t)f->btime;
	f->path = path && *path ? strdup(path) : NULL;
	f->kind = file_kind_of(st, f->domain, f->path);
	f->hidden = !f->path || f->path[0] != '/';
	if (f->kind == TERM_kind_regular && st->stx_nlink == 0) {
		free(f->path);
		f->path = NULL;
		f->gone = true;
	}
	if (f->kind == TERM_kind_socket && f->path && f->path[0] != '/')
		channel = fifo_pair_of(s, f->ino);
	struct where w;
	if (f->kind == TERM_kind_regular && f->path &&
	    where_path(proc_rooted(NULL), getpid(), AT_FDCWD, f->path, true, &w) == 0)
		group = group_of(s, &w, f->path);
	uint64_t domain = emit_domain(s, f->domain);
	file_add(s, f);
	struct event ev = {.file = {.num = f->num,
	                            .kind = f->kind,
	                            .domain = domain,
	                            .ino = channel,
	                            .gen = f->gen,
	                            .group = group,
	                            .path = str_of(f->path)}};
	sup_event(s, EVENT_file, sup_now(s), NULL, &ev);
	return f;
}

uint64_t file_within(struct sup *s, const struct file *f, unsigned kind, uint64_t gen, int64_t time)
{
	struct event ev = {.file = {.num = ++s->known->files,
	                            .kind = kind,
	                            .domain = emit_domain(s, f->domain),
	                            .ino = f->ino,
	                            .gen = gen,
	                            .within = f->num}};
	sup_event(s, EVENT_file, time, NULL, &ev);
	return ev.file.num;
}

struct file *file_address(struct sup *s, unsigned kind, const char *domain, const char *address)
{
	/* A device number no kernel gives out, so that addresses and files share one table. */
	uint64_t ino = XXH3_64bits(address, strlen(address));
	uint64_t dev = ~XXH3_64bits_withSeed(domain, strlen(domain), kind);
	for (struct file *f = s->files[file_hash_slot(dev, ino)]; f; f = f->next)
		if (f->ino == ino && f->dev == dev)
			return f;
	static const struct fs_domain nowhere = {.name = "", .type = ""};
	struct file *f = calloc(1, sizeof(*f));
	if (!f)
		return NULL;
	f->dev = dev;
	f->ino = ino;
	f->kind = kind;
	f->domain = &nowhere;
	f->path = strdup(address);
	file_add(s, f);
	struct event ev = {.file = {.num = f->num, .kind = kind, .path = str_of(f->path)}};
	struct buf clean = {0};
	if (kind == TERM_kind_absent && strstr(address, "://")) { /* an address that was tried as a file's name */
		redact_text(&clean, str_of(address));
		ev.file.path = buf_view(&clean);
	}
	if (kind != TERM_kind_absent) {
		/* Its domain is the address space: numbered after the file systems. */
		uint64_t num = 5000 + f->num;
		struct event dv = {.domain = {.num = num, .name = str_of(domain)}};
		sup_event(s, EVENT_domain, sup_now(s), NULL, &dv);
		ev.file.domain = num;
		ev.file.ino = ino;
	}
	sup_event(s, EVENT_file, sup_now(s), NULL, &ev);
	buf_release(&clean);
	return f;
}

/* Are both of what the record takes for one version? */
static bool is_state(const struct fingerprint *fp, const struct fingerprint *known)
{
	return known->known && fp->size == known->size && fp->mtime == known->mtime;
}

void file_state(struct sup *s, struct file *f, const struct fingerprint *fp)
{
	if (f->kind != TERM_kind_regular || !fp->known)
		return;
	if (is_state(fp, &f->stated))
		return;
	f->stated = *fp;
	notify_observer_file(s, f, NULL, (int64_t)fp->size, 0, false);
	struct event ev = {.state = {.file = f->num, .size = fp->size, .mtime = fp->mtime}};
	sup_event(s, EVENT_state, sup_now(s), NULL, &ev);
}

/* ---- accesses ---- */

static bool has_written_since(struct sup *s, struct proc *p, uint64_t before)
{
	uint64_t now = proc_wchar(s, p);
	return now == UINT64_MAX || now != before;
}

static bool rivals_moved(struct sup *s, const struct access *a)
{
	for (int i = 0; i < RIVALS; i++)
		if (a->rival[i].proc && has_written_since(s, a->rival[i].proc, a->rival[i].wchar))
			return true;
	return false;
}

static void rival_add(struct sup *s, struct access *a, struct proc *other)
{
	int free = -1;
	for (int i = 0; i < RIVALS; i++) {
		if (a->rival[i].proc == other)
			return;
		if (!a->rival[i].proc && free < 0)
			free = i;
	}
	if (free < 0 || a->crowded) {
		a->crowded = true;
		return;
	}
	a->rival[free].proc = other;
	a->rival[free].wchar = proc_wchar(s, other);
}

/* p's part in f is over: whoever had p as a rival learns now whether p wrote. */
static void rivals_resolve(struct sup *s, struct file *f, struct proc *p)
{
	for (struct access *a = f->live; a; a = a->file_next)
		for (int i = 0; i < RIVALS; i++)
			if (a->rival[i].proc == p) {
				a->crowded |= has_written_since(s, p, a->rival[i].wchar);
				a->rival[i].proc = NULL;
			}
}

/* Written by the process itself through a descriptor: by one that it was given, others may write too. */
static bool is_own_writing(const struct access *a)
{
	return (a->mode & ACCESS_WRITE) && !a->mapped && a->via == TERM_via_data && a->file->kind == TERM_kind_regular;
}

static void link_live_access(struct access *a)
{
	a->file->met = true;
	a->file_next = a->file->live;
	a->file_at = &a->file->live;
	if (a->file_next)
		a->file_next->file_at = &a->file_next;
	a->file->live = a;
	a->proc_next = a->proc->live;
	a->proc_at = &a->proc->live;
	if (a->proc_next)
		a->proc_next->proc_at = &a->proc_next;
	a->proc->live = a;
	a->proc->nlive++;
	a->own_writing = is_own_writing(a);
	a->proc->nwriting += a->own_writing;
}

/* Takes it out of both lists and frees it, and its file if that was only waiting for this. */
static void access_free(struct sup *s, struct access *a)
{
	struct file *f = a->file;
	*a->file_at = a->file_next;
	if (a->file_next)
		a->file_next->file_at = a->file_at;
	*a->proc_at = a->proc_next;
	if (a->proc_next)
		a->proc_next->proc_at = a->proc_at;
	a->proc->nlive--;
	a->proc->nwriting -= a->own_writing;
	io_free(a);
	free(a);
	f->left = true;
	file_drop(s, f);
}

int task_call(pid_t tid, enum call *ret)
{
	char name[64], line[64], *end;
	snprintf(name, sizeof(name), "/proc/%d/syscall", tid);
	if (!io_text(name, line, sizeof(line)))
		return -ESRCH;
	long nr = strtol(line, &end, 10);
	if (end == line || nr < 0)
		return -EAGAIN;
	*ret = trap_call_native((int)nr);
	return 0;
}

/* The call that begins the access was let go on; has it come back? While that cannot be told, the access is live. */
bool access_begun(struct sup *s, const struct access *a)
{
	if (!a->tid)
		return true;
	struct task *t = task_known(s, a->tid);
	if (!t || t->proc != a->proc || t->stops != a->stop)
		return true;
	/* Waiting in a call that we do not stop shows that ours is over. */
	enum call call;
	return task_call(a->tid, &call) == 0 && call == CALL_none;
}

void accesses_settle(struct sup *s, struct proc *p)
{
	for (struct access *a = p->live; a; a = a->proc_next)
		a->settled = access_begun(s, a);
}

/* The file's fingerprint now, by its last known name. Unknown if another file has that name. */
static struct fingerprint print_now(const struct sup *s, const struct file *f)
{
	struct statx st;
	if (f->last_stop == s->epoch + 1)
		return f->last;
	if (!f->path || f->hidden ||
	    (f->far ? far_statx(f->dev, AT_FDCWD, f->path, AT_SYMLINK_NOFOLLOW, &st) != 0
	            : statx(AT_FDCWD, f->path, AT_SYMLINK_NOFOLLOW, FILEID_STATX, &st) < 0))
		return (struct fingerprint){0};
	if (st.stx_ino != f->ino || fileid_dev(&st) != f->dev)
		return (struct fingerprint){0};
	return fingerprint_of(&st);
}

/* By how much a file time may be behind the clock that sup_stamp tells of. */
static int64_t time_slack(const struct file *f)
{
	const int64_t tick = 20000000, minute = 60000000000;
	return !access_ending_has_clock(f->domain) ? minute : f->domain->mtime_step > tick ? f->domain->mtime_step : 0;
}

bool file_has_no_clones(const struct file *f)
{
	static const char *const types[] = {"ext2", "ext3", "ext4", "tmpfs", "ramfs"};
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (!strcmp(f->domain->type, types[i]))
			return true;
	return f->kind != TERM_kind_regular;
}

bool file_is_steady(const struct file *f, const struct fingerprint *fp, int64_t time)
{
	const int64_t moment = 100000000; /* more than a tick of any kernel */
	return f->kind == TERM_kind_regular && !f->unsteady && fp->known && access_ending_has_clock(f->domain) &&
	       fp->ctime + time_slack(f) + moment < time && !file_is_written(f);
}

struct asked_access {
	struct sup *s;
	const struct access *a;
};

static bool is_access_alone(void *arg)
{
	const struct asked_access *q = arg;
	return !q->a->crowded && !rivals_moved(q->s, q->a);
}

static bool is_access_silent(void *arg)
{
	const struct asked_access *q = arg;
	const struct proc *p = q->a->proc;
	uint64_t w = q->a->via == TERM_via_descriptor || q->a->timed ? proc_wchar(q->s, q->a->proc) : UINT64_MAX;
	return w != UINT64_MAX && w == p->wchar_exec;
}

static struct access_print access_print_of(const struct fingerprint *fp)
{
	return (struct access_print){fp->known, fp->size, fp->mtime, fp->ctime};
}

static unsigned access_evidence(struct sup *s, const struct access *a, const struct fingerprint *after)
{
	const struct file *f = a->file;
	const bool regular = f->kind == TERM_kind_regular;
	struct asked_access q = {s, a};
	struct io_known io = io_known(s, a);
	/* That no byte was written proves nothing of a regular file, whose length it may have set. */
	const struct access_ending e = {.written = io.written && io.bytes_written ? ACCESS_BYTES_SOME
	                                           : io.written && !regular       ? ACCESS_BYTES_NONE
	                                                                          : ACCESS_BYTES_UNKNOWN,
	                                .via = a->via,
	                                .regular = regular,
	                                .made = regular && (a->mode & (ACCESS_CREATE | ACCESS_TRUNC)),
	                                .timed = a->timed,
	                                .mapped = a->mapped,
	                                .appends = a->mode & ACCESS_APPEND,
	                                .unread = !f->read && a->via == TERM_via_descriptor,
	                                .before = access_print_of(&a->before),
	                                .after = access_print_of(after),
	                                .stamp = a->stamp,
	                                .slack = time_slack(f),
	                                .is_alone = is_access_alone,
	                                .is_silent = is_access_silent,
	                                .arg = &q};
	return access_ending_evidence(&e);
}

/* Has it only opened the file, for others? Its process has moved nothing meanwhile. */
static bool has_redirected(struct sup *s, const struct access *a)
{
	struct proc *p = a->proc;
	if (!a->redirected || p->threads || p->uncounted)
		return false;
	if (!p->exit_seen && !p->becoming) /* else what was read at its last stop is what counts */
		p->wchar_stop = 0;
	uint64_t written = proc_wchar(s, p);
	return written == a->base[1] && p->rchar == a->base[0];
}

void file_times_set(struct sup *s, struct file *f, const struct fingerprint *now)
{
	if (!f->last_write || f->seen_since || f->kind != TERM_kind_regular || now->size != f->stated.size)
		return;
	file_state(s, f, now);
	struct event ev = {
	    .access_end = {.access = f->last_write, .until = TIME_NONE, .evidence = f->last_evidence, .state = 1}};
	sup_event(s, EVENT_access_end, sup_now(s), NULL, &ev);
}

void access_end(struct sup *s, struct access *a, int64_t until)
{
	struct file *f = a->file;
	/* Nor is what gives it another length: written it was until its times had passed. */
	int64_t changed = s->exact || f->kind != TERM_kind_regular || !(a->mode & ACCESS_WRITE) ? INT64_MIN : INT64_MAX;
	feature_bytes_update(s, a->proc);
	struct event ev = {.access_end = {.access = a->seq, .until = until, .count = a->count > 1 ? a->count : 0}};
	if (a->mode & ACCESS_WRITE) {
		struct fingerprint after = f->kind == TERM_kind_regular ? print_now(s, f) : (struct fingerprint){0};
		ev.access_end.evidence = access_evidence(s, a, &after);
		if (ev.access_end.evidence != TERM_evidence_none) {
			f->last_write = a->seq;
			f->seen_since = false;
			f->last_evidence = (unsigned)ev.access_end.evidence;
		} else if (a->timed && after.known) {
			file_times_set(s, f, &after);
		}
		if (after.known) {
			file_state(s, f, &after);
			ev.access_end.state = 1;
			/* The last write was over when the clock of file times passed ctime, which no program can put back. */
			int64_t bound = sup_passed(s, after.ctime + time_slack(f));
			if (access_ending_has_clock(f->domain)) {
				ev.access_end.until = access_ending_until(a->start, until, a->mapped ? TIME_NONE : bound);
				changed = changed == INT64_MAX ? bound : changed;
			}
		}
		rivals_resolve(s, f, a->proc);
	}
	struct io_known io = io_known(s, a);
	if (has_redirected(s, a)) { /* it moved no byte */
		ev.access_end.known |=
		    (a->mode & ACCESS_READ && !io.read ? 1u : 0u) | (a->mode & ACCESS_WRITE && !io.written ? 2u : 0u);
	}
	if (io.read) {
		ev.access_end.known |= 1;
		ev.access_end.bytes_read = io.bytes_read;
	}
	if (io.written) {
		ev.access_end.known |= 2;
		ev.access_end.bytes_written = io.bytes_written;
	}
	/* All that it did was counted, so it lasted no longer than that. */
	if (s->narrow && !a->altered && io.read == !!(a->mode & ACCESS_READ) && io.written == !!(a->mode & ACCESS_WRITE) &&
	    changed != INT64_MAX && (s->exact || file_has_no_clones(f)) && !io.idle) {
		ev.access_end.exact = 1;
		ev.access_end.first = io.first;
		ev.access_end.last = io.last == TIME_NONE || io.last > changed ? io.last : changed;
	}
	witness_end(s, a, &ev.access_end);
	io_emit(s, a);
	sup_event(s, EVENT_access_end, sup_now(s), a->proc, &ev);
	access_free(s, a);
}

void access_conflicts(struct sup *s, struct proc *p, struct file *f, unsigned mode)
{
	struct access *next;
	for (struct access *a = f->live; a; a = next) {
		next = a->file_next;
		if (!((a->mode | mode) & ACCESS_WRITE))
			continue;
		/* A writer that is read by itself, or a reader that writes: the same question. */
		if (!access_begun(s, a) || proc_holds(a->proc, f))
			continue;
		if (a->redirected && a->proc == p) /* it ends when the next one begins (access_begin) */
			continue;
		/* It goes on with it, and what it has moved so far cannot be told apart. */
		if (feature_bytes_wait(s, a->proc) && a->proc == p && (a->mode & mode) == mode)
			continue;
		access_end(s, a, sup_now(s));
	}
}

/* Who logs its opens has many, and opens them again: swept too early, each time is an access of its own. */
static unsigned sweep_at(const struct proc *p)
{
	return p->logging ? 8 * SWEEP_AT : SWEEP_AT;
}

/* Of those who count, what was counted is not known while what they opened is read. */
static bool sweeps_later(const struct sup *s, const struct proc *p)
{
	return s->reading_opens && p->counted;
}

struct access *access_begin(struct sup *s, struct proc *p, struct file *f, unsigned mode, unsigned via, bool sure,
                            unsigned api, int64_t time, const struct fingerprint *before)
{
	bool fresh = mode & (ACCESS_CREATE | ACCESS_TRUNC | ACCESS_MAPPED | ACCESS_PROGRAM);
	sure = sure && !s->late;
	for (struct access *a = f->live; a && !fresh; a = a->file_next)
		if (a->proc == p && (a->sure || !sure) && (a->via == TERM_via_sync) == (via == TERM_via_sync) &&
		    (a->mode & mode & (ACCESS_READ | ACCESS_WRITE)) == (mode & (ACCESS_READ | ACCESS_WRITE)) &&
		    (!before || (is_state(before, &f->stated) && (!a->before.known || is_state(before, &a->before))) ||
		     (a->mode & ACCESS_WRITE) || f->kind != TERM_kind_regular)) {
			a->count++;
			/* Another thread may look before it is open again. */
			if (p->threads && via == TERM_via_data && s->current) {
				a->tid = s->current->tid;
				a->stop = s->current->stops;
			}
			return a;
		}
	const bool redirected = p->redirects && via == TERM_via_data && f->kind == TERM_kind_regular && !s->exact &&
	                        !s->bytes && (s->begun_with || (s->current && s->current->proc == p)) &&
	                        !(mode & (ACCESS_MAPPED | ACCESS_PROGRAM));
	if (redirected) {
		f->pins++;
		proc_end_redirected(s, p, time);
		f->pins--;
	}
	if (++p->nsince >= sweep_at(p) && !sweeps_later(s, p)) {
		f->pins++;
		proc_sweep(s, p);
		f->pins--;
	}
	struct access *a = calloc(1, sizeof(*a));
	if (!a) {
		sup_gap(s, p, TERM_gap_lost, 1, "out of memory");
		return NULL;
	}
	if (before && before->known && f->kind == TERM_kind_regular) {
		file_state(s, f, before);
		a->before = *before;
		mode |= ACCESS_STATE;
		f->seen_since |= (mode & ACCESS_READ) != 0; /* what only wrote, and did not, does not count */
	}
	struct event ev = {.access = {.file = f->num, .mode = mode, .via = via, .sure = sure, .api = api}};
	*a = (struct access){.file = f,
	                     .proc = p,
	                     .start = time,
	                     .stamp = sup_stamp(s, time),
	                     .mode = mode,
	                     .via = via,
	                     .count = 1,
	                     .before = a->before,
	                     .mapped = mode & ACCESS_MAPPED,
	                     .sure = sure,
	                     .tid = via == TERM_via_data && s->current ? s->current->tid : 0,
	                     .stop = s->current ? s->current->stops : 0};
	if (redirected) {
		a->base[1] = s->begun_with ? s->begun_with[1] : proc_wchar(s, p);
		a->base[0] = s->begun_with ? s->begun_with[0] : a->base[1] == UINT64_MAX ? UINT64_MAX : p->rchar;
		a->redirected = a->base[0] != UINT64_MAX;
	}
	a->seq = sup_event(s, EVENT_access, time, p, &ev);
	f->read |= (mode & ACCESS_READ) != 0;
	notify_observer_file(s, f, f->path, -1, mode, via == TERM_via_descriptor);
	if ((mode & ACCESS_WRITE) && f->kind == TERM_kind_regular)
		for (struct access *b = f->live; b; b = b->file_next)
			if (b->proc != p && (b->mode & ACCESS_WRITE)) {
				rival_add(s, a, b->proc);
				rival_add(s, b, p);
			}
	link_live_access(a);
	witness_begin(s, a);
	return a;
}

void proc_sweep_late(struct sup *s, struct proc *p)
{
	if (p->nsince >= sweep_at(p))
		proc_sweep(s, p);
}

void proc_sweep(struct sup *s, struct proc *p)
{
	enum { WAITING = 4096 };
	p->nsince = 0;
	accesses_settle(s, p);
	struct held *held;
	size_t n = proc_walk(s, p, false, &held), nmaps;
	struct mapped *maps;
	bool sure = proc_maps(p, &maps, &nmaps), waits = feature_bytes_wait(s, p) && p->nlive < WAITING;
	struct access *next;
	for (struct access *a = waits ? NULL : p->live; a; a = next) {
		next = a->proc_next;
		bool open = false;
		if (a->file->kind == TERM_kind_pseudo || a->file->kind == TERM_kind_absent) {
			access_free(s, a);
			continue;
		}
		for (size_t i = 0; i < n && !open; i++)
			open = held[i].file == a->file;
		if (!open && sure && !mapped_has(maps, nmaps, a->file) && a->settled)
			access_end(s, a, sup_now(s));
	}
	held_free(held, n);
	free(maps);
}

/* Reads that were begun once and are ended by the process's own end need no event: the graph knows that end. */
static bool ends_silently(const struct sup *s, const struct access *a)
{
	bool counted = s->exact && a->file->kind != TERM_kind_absent && a->file->kind != TERM_kind_pseudo;
	counted |= s->bytes && (a->file->kind == TERM_kind_pipe || a->file->kind == TERM_kind_fifo ||
	                        a->file->kind == TERM_kind_terminal); /* it may have read nothing */
	return !(a->mode & ACCESS_WRITE) && a->count == 1 && !counted && !a->io && !a->file->witness && !a->redirected;
}

void proc_end_accesses(struct sup *s, struct proc *p, int64_t until)
{
	openings_end(s, p);
	feature_bytes_update(s, p);
	xattr_end(s, p);
	while (p->live) {
		if (ends_silently(s, p->live))
			access_free(s, p->live);
		else
			access_end(s, p->live, until);
	}
	p->nsince = 0;
}
