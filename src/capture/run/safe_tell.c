/* Events of the library, told as events of the log: processes, programs, accesses, names. What comes here is what the
 * job's processes put into their memory, so no number of theirs is an index, and no process is believed about another
 * one but its own children. */
#include "capture/run/redact.h"
#include "capture/run/safe.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define DONE_MAX 4096       /* closed files a process whose bytes may yet be proved */
#define IDS 64              /* hash of a process's open files */
#define OPEN_MAX_TOLD 65536 /* open files a process; more are a program that makes them up */
#define SOON 50000000       /* ns after which a new program has said something if it ever will */
#define TEXT_KEPT 262144
#define REMEMBER 5000000000 /* ns that an ended process is known, for children that come late */

/* What a program moved through an access, by one kind of call. */
struct sum {
	struct sum *next;
	struct safe_row row;
	uint64_t sizes[SAFE_SIZES];
};

/* An access, and how many open files lead to it. */
struct use {
	struct use *next;
	struct access *a;
	unsigned refs;
	bool loaded, mapped, altered; /* mapped to be read; shared, and to be written */
	bool shot;                    /* print is the file as the program saw it last */
	bool flushes, may_flush;
	struct fingerprint print;
	struct sum *sums;
};

struct ident {
	struct ident *next;
	uint32_t oid;
	unsigned refs;      /* descriptors */
	struct use *use[2]; /* read, written; they may be one */
	struct fingerprint print;
};

/* An access whose bytes are claimed if the program's totals prove them. */
struct done {
	uint64_t seq, bytes[2], count;
	unsigned mode;
	bool loaded, mapped, altered, socket, held;
	/* A descriptor that came from elsewhere: used only perhaps, but for the bytes. */
	bool unsure;
	uint64_t file;
	unsigned via;
	int64_t start, until;
};

struct text {
	struct buf bytes; /* strings with their NULs */
	size_t count, piece;
	bool cut;
};

struct intent { /* an exec that was about to happen */
	bool set, alone;
	uint64_t proved;
	int64_t time;
	char *path;
	struct buf argv;
	size_t argc;
};

struct sproc {
	struct sproc *next;
	struct proc *p;
	uint32_t pid, image;
	bool ours;   /* its pid is of our namespace */
	bool alive;  /* as far as is known */
	bool ended;  /* its exit is written */
	bool lone;   /* does not carry the library, or has not said anything yet */
	char *root;  /* where its paths begin; NULL: as ours */
	uint64_t ns; /* its mount namespace; 0 ours */
	uint64_t pidns;
	int64_t end, met;
	unsigned scans;
	struct ident *ids[IDS];
	size_t nids;
	struct use *uses;
	struct done *done;
	size_t ndone;
	bool done_full;
	struct text list[SAFE_LISTS];
	struct intent intent;
	struct buf given; /* what a script was asked for with, before the kernel put its interpreter there */
	size_t ngiven;
	int status; /* of wait, as its parent was told; -1 not known */
	/* A program that began, of which not all has been told. */
	struct {
		bool set;
		int64_t time;
		struct file *exe, *script;
		char *cwd;
		uint32_t uid, gid;
	} begins;
};

static const struct safe_row no_row;

/* ---- strings and files ---- */

static const char *copy(struct str s, char *room, size_t n)
{
	size_t k = s.n < n - 1 ? s.n : n - 1;
	memcpy(room, s.p, k);
	room[k] = '\0';
	return room;
}

static struct statx statx_of(const struct safe_stat *t)
{
	struct statx st = {.stx_mask = STATX_BASIC_STATS,
	                   .stx_ino = t->ino,
	                   .stx_size = t->size,
	                   .stx_mode = (uint16_t)t->mode,
	                   .stx_nlink = t->nlink,
	                   .stx_uid = t->uid,
	                   .stx_dev_major = t->major,
	                   .stx_dev_minor = t->minor,
	                   .stx_rdev_major = t->rmajor,
	                   .stx_rdev_minor = t->rminor};
	const int64_t second = 1000000000, from[] = {t->mtime, t->ctime, t->btime};
	struct statx_timestamp *to[] = {&st.stx_mtime, &st.stx_ctime, &st.stx_btime};
	for (int i = 0; i < 3; i++) {
		to[i]->tv_sec = from[i] / second;
		to[i]->tv_nsec = (uint32_t)(from[i] % second);
	}
	if (t->flags & SAFE_HAS_BTIME)
		st.stx_mask |= STATX_BTIME;
	return st;
}

/* The name that a path of the process has here. In another mount namespace most paths are the same; what is not says
 * whose it is, so that it is not taken for one of ours. st NULL: there is nothing at the path. */
static void here(const struct sproc *p, struct str told, const struct statx *st, char *ret, size_t n)
{
	struct statx sx;
	char name[2 * SAFE_ROOM];
	snprintf(name, sizeof(name), "%s%.*s", p && p->root && told.n && told.p[0] == '/' ? p->root : "", (int)told.n,
	         told.p);
	bool same = !p || !p->ns || name[0] != '/';
	if (!same && statx(AT_FDCWD, name, AT_SYMLINK_NOFOLLOW, STATX_INO, &sx) == 0 && st)
		same = sx.stx_ino == st->stx_ino && fileid_dev(&sx) == fileid_dev(st);
	if (same)
		snprintf(ret, n, "%s", name);
	else
		snprintf(ret, n, "mnt:[%llu]:%s", (unsigned long long)p->ns, name);
}

static struct file *file_seen(struct safe *f, const struct sproc *p, const struct safe_stat *t, struct str path)
{
	char name[2 * SAFE_ROOM + 64];
	if (t->flags & SAFE_HAS_NOT)
		return NULL;
	struct statx st = statx_of(t);
	here(p, path, &st, name, sizeof(name));
	return file_told(f->s, &st, t->flags & SAFE_HAS_GEN, t->gen, name);
}

static struct fingerprint print_seen(const struct safe_stat *t)
{
	return (struct fingerprint){!(t->flags & SAFE_HAS_NOT), t->size, t->mtime, t->ctime};
}

/* ---- processes ---- */

static struct sproc *by_pid(const struct safe *f, uint32_t pid)
{
	for (struct sproc *p = f->procs[pid & (HASH_SIZE - 1)]; p; p = p->next)
		if (p->pid == pid && p->ours)
			return p;
	return NULL; /* the latest stands first */
}

static struct sproc *by_pid_of(const struct safe *f, uint32_t pid, uint64_t pidns)
{
	for (struct sproc *p = f->procs[pid & (HASH_SIZE - 1)]; p; p = p->next)
		if (p->pid == pid && p->pidns == pidns)
			return p;
	return NULL;
}

static struct sproc *by_image(const struct safe *f, uint32_t pid, uint32_t image)
{
	for (struct sproc *p = f->procs[pid & (HASH_SIZE - 1)]; p; p = p->next)
		if (p->pid == pid && p->image == image)
			return p;
	return NULL;
}

static bool read_start(uint32_t pid, uint64_t *ret_ticks, uint32_t *ret_ppid)
{
	char name[48], text[1024];
	snprintf(name, sizeof(name), "/proc/%u/stat", pid);
	int fd = open(name, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return false;
	text[n] = '\0';
	char *at = strrchr(text, ')'), state;
	unsigned long long start = 0;
	unsigned ppid = 0;
	if (!at || sscanf(at + 1, " %c %u %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu", &state,
	                  &ppid, &start) != 3)
		return false;
	*ret_ticks = start;
	*ret_ppid = ppid;
	return true;
}

static struct sproc *add(struct safe *f, uint32_t pid, uint32_t image, struct sproc *parent, int64_t time,
                         int64_t forked, uint64_t ticks, uint64_t pidns)
{
	struct sup *s = f->s;
	struct sproc *n = calloc(1, sizeof(*n));
	struct proc *p = n ? calloc(1, sizeof(*p)) : NULL;
	if (!p) {
		free(n);
		return NULL;
	}
	bool ours = !pidns || pidns == f->pidns;
	*n = (struct sproc){.p = p,
	                    .pid = pid,
	                    .image = image,
	                    .ours = ours,
	                    .pidns = ours ? f->pidns : pidns,
	                    .alive = true,
	                    .met = time,
	                    .status = -1};
	p->pid = (pid_t)pid;
	p->pidfd = ours ? (int)syscall(SYS_pidfd_open, (pid_t)pid, 0) : -1;
	uint64_t now_ticks = 0;
	uint32_t ppid;
	if (p->pidfd >= 0 && read_start(pid, &now_ticks, &ppid)) {
		/* By its number alone it could be another, that came after it. */
		if (ticks && now_ticks != ticks) {
			close(p->pidfd);
			p->pidfd = -1;
		} else {
			ticks = now_ticks;
		}
	}
	s->few |= ours && p->pidfd < 0 && (errno == EMFILE || errno == ENFILE);
	uint64_t per = 1000000000u / (unsigned)s->hz;
	p->num = ++s->next_proc;
	p->started = ticks ? (int64_t)(ticks * per) : (forked - s->clock_offset) / (int64_t)per * (int64_t)per;
	p->seen = time;
	p->parent_num = parent ? parent->p->num : 0;
	p->ppid = parent ? parent->p->pid : 0;
	p->exec_start = forked;
	p->wchar_exec = UINT64_MAX;
	p->uncounted = p->pidfd < 0;
	p->uid = s->euid;
	p->gid = s->egid;
	p->jobserver[0] = p->jobserver[1] = -1;
	if (parent) {
		parent->p->forks = true;
		p->uid = parent->p->uid;
		p->gid = parent->p->gid;
		memcpy(p->jobserver, parent->p->jobserver, sizeof(p->jobserver));
		p->jobserver_fifo = parent->p->jobserver_fifo ? strdup(parent->p->jobserver_fifo) : NULL;
		p->cwd = parent->p->cwd ? strdup(parent->p->cwd) : NULL;
		n->root = parent->root ? strdup(parent->root) : NULL;
		n->ns = parent->ns;
	}
	if (p->pidfd >= 0) {
		struct epoll_event ee = {.events = EPOLLIN, .data.ptr = n};
		epoll_ctl(f->epoll, EPOLL_CTL_ADD, p->pidfd, &ee);
	}
	n->next = f->procs[pid & (HASH_SIZE - 1)];
	f->procs[pid & (HASH_SIZE - 1)] = n;
	s->nprocs++;
	struct event ev = {
	    .process = {
	        .pid = pid, .started = p->started, .parent = p->parent_num, .forked = forked < time ? forked : time}};
	sup_event(s, EVENT_process, time, p, &ev);
	if (!parent && p->pid != s->root)
		sup_gap(s, p, TERM_gap_parent_unseen, 1, "its parent was not seen");
	return n;
}

/* ---- open files ---- */

static struct ident *id_of(struct sproc *p, uint32_t oid)
{
	for (struct ident *i = p->ids[oid % IDS]; i; i = i->next)
		if (i->oid == oid)
			return i;
	return NULL;
}

static struct ident *id_add(struct sproc *p, uint32_t oid)
{
	if (!oid || p->nids >= OPEN_MAX_TOLD)
		return NULL;
	struct ident *i = id_of(p, oid);
	if (i)
		return i;
	if ((i = calloc(1, sizeof(*i)))) {
		i->oid = oid;
		i->next = p->ids[oid % IDS];
		p->ids[oid % IDS] = i;
		p->nids++;
	}
	return i;
}

static struct use *use_of(struct sproc *p, struct access *a)
{
	if (!a)
		return NULL;
	for (struct use *u = p->uses; u; u = u->next)
		if (u->a == a) {
			u->refs++;
			return u;
		}
	struct use *u = calloc(1, sizeof(*u));
	if (u) {
		u->a = a;
		u->refs = 1;
		u->next = p->uses;
		p->uses = u;
	}
	return u;
}

/* The live access of p to the file that has these bits. */
static struct access *live_of(const struct sproc *p, const struct file *file, unsigned bit, bool sync)
{
	for (struct access *a = p->p->live; a; a = a->proc_next)
		if (a->file == file && (a->mode & bit) && (a->via == TERM_via_sync) == sync)
			return a;
	for (struct access *a = p->p->live; a; a = a->proc_next)
		if (a->file == file && (a->mode & bit))
			return a;
	return NULL;
}

static void id_uses(struct sproc *p, struct ident *i, struct access *r, struct access *w)
{
	if (!i)
		return;
	if (!i->use[0])
		i->use[0] = use_of(p, r);
	if (!i->use[1])
		i->use[1] = w == r && i->use[0] ? i->use[0] : use_of(p, w);
	i->refs += i->refs == 0;
}

static void sum_add(struct use *u, const struct safe_row *row)
{
	struct sum *x = u->sums;
	while (x && (x->row.api != row->api || x->row.write != row->write))
		x = x->next;
	if (!x) {
		if (!(x = calloc(1, sizeof(*x))))
			return;
		x->row = no_row;
		x->row.api = row->api <= TERM_ioapi_mmap ? row->api : TERM_ioapi_other;
		x->row.write = row->write != 0;
		x->row.first = INT64_MAX;
		x->next = u->sums;
		u->sums = x;
	}
	x->row.calls += row->calls;
	x->row.failed += row->failed;
	x->row.bytes += row->bytes;
	x->row.spent += row->spent;
	if (row->largest > x->row.largest)
		x->row.largest = row->largest;
	if (row->first && row->first < x->row.first)
		x->row.first = row->first;
	if (row->last > x->row.last)
		x->row.last = row->last;
	for (int i = 0; i < SAFE_SIZES; i++)
		x->sizes[i] += row->sizes[i];
}

static void sums_say(struct safe *f, struct sproc *p, struct use *u, uint64_t seq)
{
	struct sup *s = f->s;
	int64_t now = sup_now(s);
	for (struct sum *x = u->sums; x; x = x->next) {
		const struct safe_row *r = &x->row;
		int64_t first = r->first == INT64_MAX ? TIME_NONE : r->first + s->clock_offset;
		int64_t last = r->last ? r->last + s->clock_offset : TIME_NONE;
		struct event ev = {.io = {.access = seq,
		                          .api = r->api,
		                          .write = r->write,
		                          .calls = r->calls,
		                          .failed = r->failed,
		                          .bytes = r->bytes,
		                          .largest = r->largest,
		                          .spent = r->spent,
		                          .first = first,
		                          .last = last,
		                          .size0 = x->sizes[0],
		                          .size1 = x->sizes[1],
		                          .size2 = x->sizes[2],
		                          .size3 = x->sizes[3],
		                          .size4 = x->sizes[4],
		                          .size5 = x->sizes[5],
		                          .size6 = x->sizes[6],
		                          .size7 = x->sizes[7],
		                          .size8 = x->sizes[8],
		                          .size9 = x->sizes[9]}};
		sup_event(s, EVENT_io, now, p->p, &ev);
	}
}

static uint64_t sums_bytes(const struct use *u, bool write)
{
	uint64_t n = 0;
	for (const struct sum *x = u->sums; x; x = x->next)
		if (x->row.write == write && x->row.api != TERM_ioapi_mmap)
			n += x->row.bytes;
	return n;
}

static void use_free(struct sproc *p, struct use *u)
{
	struct use **at = &p->uses;
	while (*at && *at != u)
		at = &(*at)->next;
	if (*at)
		*at = u->next;
	for (struct sum *x = u->sums, *next; x; x = next) {
		next = x->next;
		free(x);
	}
	free(u);
}

static unsigned known_of(const struct done *d, uint64_t proved)
{
	unsigned known = 0;
	uint64_t reads = d->held ? SAFE_PROVED_READ : SAFE_PROVED_READ | SAFE_PROVED_OPENED;
	if ((proved & reads) && (d->mode & ACCESS_READ) && !d->loaded && (!d->socket || d->bytes[0]))
		known |= 1;
	if ((proved & SAFE_PROVED_WRITE) && (d->mode & ACCESS_WRITE) && !d->mapped && (!d->altered || d->bytes[1]) &&
	    (!d->socket || d->bytes[1]))
		known |= 2;
	return known;
}

static void figures_say(struct safe *f, struct sproc *p, const struct done *d, uint64_t proved)
{
	unsigned known = known_of(d, proved);
	bool write = d->mode & ACCESS_WRITE, wrote = write && d->bytes[1];
	bool create = d->mode & (ACCESS_CREATE | ACCESS_TRUNC);
	/* What the end said of a write holds, where no more is known of it. */
	if ((!known && !wrote) || (write && !wrote && !create && !(known & 2)))
		return;
	/* Bytes that were seen going there are evidence, whatever else is not known. */
	struct event ev = {.access_end = {.access = d->seq,
	                                  .until = TIME_NONE,
	                                  .evidence = wrote || create ? TERM_evidence_must : TERM_evidence_none,
	                                  .count = d->count > 1 ? d->count : 0,
	                                  .bytes_read = known & 1 ? d->bytes[0] : 0,
	                                  .bytes_written = known & 2 ? d->bytes[1] : 0,
	                                  .known = known}};
	if (d->mapped && write)
		return;
	sup_event(f->s, EVENT_access_end, sup_now(f->s), p->p, &ev);
}

/* A descriptor that came from elsewhere may have been used; bytes show that it was, though not that they were all. */
static void used_say(struct safe *f, struct sproc *p, const struct done *d, uint64_t proved)
{
	unsigned known = known_of(d, proved), mode = 0;
	if (!d->unsure || d->via == TERM_via_sync)
		return;
	mode |= d->bytes[0] && !(known & 1) ? ACCESS_READ : 0;
	mode |= d->bytes[1] && !(known & 2) ? d->mode & (ACCESS_WRITE | ACCESS_APPEND) : 0;
	if (!mode)
		return;
	struct event ev = {.access = {.file = d->file, .mode = mode, .via = d->via, .sure = 1, .api = TERM_api_inherit}};
	uint64_t seq = sup_event(f->s, EVENT_access, d->start, p->p, &ev);
	struct event end = {
	    .access_end = {.access = seq, .until = d->until, .evidence = d->bytes[1] ? TERM_evidence_must : 0}};
	if (seq)
		sup_event(f->s, EVENT_access_end, sup_now(f->s), p->p, &end);
}

/* The last open file that led to the access is closed, or the program is over. */
static void use_end(struct safe *f, struct sproc *p, struct use *u, int64_t time)
{
	struct sup *s = f->s;
	struct access *a = u->a;
	struct file *file = a->file;
	struct done d = {.seq = a->seq,
	                 .bytes = {sums_bytes(u, false), sums_bytes(u, true)},
	                 .count = a->count,
	                 .mode = a->mode,
	                 .loaded = u->loaded || a->mapped,
	                 .mapped = u->mapped || a->mapped,
	                 .altered = u->altered,
	                 .socket = file->kind == TERM_kind_socket,
	                 .held = a->via != TERM_via_data,
	                 .unsure = !a->sure,
	                 .file = file->num,
	                 .via = a->via,
	                 .start = a->start,
	                 .until = time};
	sums_say(f, p, u, a->seq);
	if (a->mode & ACCESS_WRITE) {
		file->last_stop = 0;
		if (u->flushes && !d.bytes[1])
			a->before.mtime = INT64_MIN; /* what stdio still had was written after the last look */
		if (u->may_flush) {
			file->last = (struct fingerprint){0};
			file->last_stop = s->moment + 1;
		} else if (u->shot && !u->flushes) {
			file->last = u->print;
			file->last_stop = s->moment + 1;
		}
	}
	file->pins++;
	access_end(s, a, time);
	u->a = NULL;
	file->pins--;
	file_drop(s, file);
	if (d.bytes[1])
		figures_say(f, p, &d, 0);
	if (p->ndone >= DONE_MAX) {
		p->done_full = true;
		used_say(f, p, &d, 0);
	} else {
		if (!(p->ndone & (p->ndone - 1))) {
			struct done *v = realloc(p->done, (p->ndone ? 2 * p->ndone : 1) * sizeof(*v));
			if (!v) {
				use_free(p, u);
				return;
			}
			p->done = v;
		}
		p->done[p->ndone++] = d;
	}
	use_free(p, u);
}

static void id_end(struct safe *f, struct sproc *p, struct ident *i, int64_t time)
{
	struct ident **at = &p->ids[i->oid % IDS];
	while (*at != i)
		at = &(*at)->next;
	*at = i->next;
	p->nids--;
	bool both = i->use[0] == i->use[1];
	for (int k = 0; k < (both ? 1 : 2); k++) {
		struct use *u = i->use[k];
		if (u && --u->refs == 0)
			use_end(f, p, u, time);
	}
	free(i);
}

struct harvest {
	struct sproc *p;
};

static void take_handle(const struct safe_handle *h, void *arg)
{
	struct sproc *p = ((struct harvest *)arg)->p;
	struct ident *i = id_of(p, h->oid);
	for (int k = 0; i && k < 2; k++)
		if (i->use[k] && (h->row[k].calls || h->row[k].failed))
			sum_add(i->use[k], &h->row[k]);
}

/* The program is over: by exec or with its process. proved: SAFE_PROVED_* bits, where all bytes that the kernel counted
 * were seen. */
static void image_end(struct safe *f, struct sproc *p, int64_t time, uint64_t proved)
{
	struct sup *s = f->s;
	struct harvest h = {p};
	unsigned cut = p->image ? safe_reader_end(f->reader, p->pid, p->image, take_handle, &h) : 0;
	if (cut)
		sup_gap(s, p->p, TERM_gap_lost, cut, "it was killed while something was written down");
	for (unsigned k = 0; k < IDS; k++)
		while (p->ids[k]) {
			struct ident *i = p->ids[k];
			p->ids[k] = i->next;
			free(i);
		}
	p->nids = 0;
	while (p->uses)
		use_end(f, p, p->uses, time);
	for (struct access *a = p->p->live; a; a = a->proc_next)
		a->file->last_stop = 0;
	proc_end_accesses(s, p->p, time);
	proved = f->lost ? 0 : proved;
	for (size_t k = 0; k < p->ndone; k++) {
		used_say(f, p, &p->done[k], proved);
		if (proved)
			figures_say(f, p, &p->done[k], proved);
	}
	bool moved_any = false;
	for (size_t k = 0; k < p->ndone; k++)
		moved_any |= p->done[k].bytes[0] || p->done[k].bytes[1];
	if (moved_any && (f->lost || p->done_full || (proved & SAFE_PROVED_ALL) != SAFE_PROVED_ALL))
		sup_gap(s, p->p, TERM_gap_no_bytes, 0, "of some files: more bytes were moved than the library saw");
	free(p->done);
	p->done = NULL;
	p->ndone = 0;
	p->done_full = false;
}

/* ---- programs ---- */

static void text_reset(struct text *t)
{
	buf_reset(&t->bytes);
	t->count = t->piece = 0;
	t->cut = false;
}

static void text_add(struct text *t, struct str s, bool last)
{
	if (t->bytes.n > TEXT_KEPT) {
		t->cut = true;
		return;
	}
	for (size_t i = 0; i < s.n; i++)
		buf_char(&t->bytes, s.p[i] ? s.p[i] : '?');
	if (!last)
		return;
	buf_char(&t->bytes, '\0');
	t->count++;
}

static struct buf redacted(const struct buf *b, bool env)
{
	struct buf out = {0};
	struct redact r = {0};
	for (size_t at = 0; at < b->n;) {
		struct str s = str_of(b->p + at);
		if (env)
			redact_env(&out, s);
		else
			redact_arg(&r, &out, s);
		buf_char(&out, '\0');
		at += s.n + 1;
	}
	return out;
}

static void use_program(struct safe *f, struct sproc *p, struct file *file, int64_t time)
{
	if (!file || file->kind != TERM_kind_regular)
		return;
	p->p->nsince = 0;
	access_begin(f->s, p->p, file, ACCESS_READ | ACCESS_PROGRAM, TERM_via_data, true, TERM_api_exec, time,
	             file->stated.known ? &file->stated : NULL);
}

/* make's tokens, as exec.c finds them. */
static void find_jobserver(struct proc *p, const struct buf *env)
{
	free(p->jobserver_fifo);
	p->jobserver_fifo = NULL;
	p->jobserver[0] = p->jobserver[1] = -1;
	for (size_t at = 0; at < env->n; at += strlen(env->p + at) + 1) {
		const char *v = env->p + at;
		if (strncmp(v, "MAKEFLAGS=", 10))
			continue;
		const char *a = strstr(v, "--jobserver-auth=");
		if (!a)
			a = strstr(v, "--jobserver-fds=");
		a = a ? strchr(a, '=') + 1 : NULL;
		if (a && !strncmp(a, "fifo:", 5))
			p->jobserver_fifo = strndup(a + 5, strcspn(a + 5, " "));
		else if (a)
			sscanf(a, "%d,%d", &p->jobserver[0], &p->jobserver[1]);
	}
}

static void exec_say(struct safe *f, struct sproc *p, int64_t time, struct file *exe, struct file *script,
                     const struct buf *argv, size_t argc, const struct buf *env, size_t envc)
{
	struct sup *s = f->s;
	struct proc *q = p->p;
	struct str *a = exec_split(argv, argc), *v = env ? exec_split(env, envc) : NULL;
	struct event ev = {.exec = {.n = ++q->execn,
	                            .exe = exe ? exe->num : 0,
	                            .script = script ? script->num : 0,
	                            .argv = {.items = a, .count = a ? argc : 0},
	                            .cwd = str_of(q->cwd),
	                            .env = {.items = v, .count = v ? envc : 0},
	                            .uid = q->uid,
	                            .gid = q->gid}};
	q->exec_start = time;
	sup_event(s, EVENT_exec, time, q, &ev);
	free(a);
	free(v);
	use_program(f, p, exe, time);
	use_program(f, p, script, time);
}

static void intent_drop(struct sproc *p)
{
	free(p->intent.path);
	buf_release(&p->intent.argv);
	p->intent = (struct intent){0};
}

/* A program that says what it is: all of that is here. */
static void begins_commit(struct safe *f, struct sproc *p)
{
	if (!p->begins.set)
		return;
	p->begins.set = false;
	bool given = p->begins.script && p->ngiven;
	struct buf argv = redacted(given ? &p->given : &p->list[SAFE_ARG].bytes, false),
	           env = redacted(&p->list[SAFE_VAR].bytes, true);
	free(p->p->cwd);
	p->p->cwd = p->begins.cwd;
	p->begins.cwd = NULL;
	p->p->uid = p->begins.uid;
	p->p->gid = p->begins.gid;
	find_jobserver(p->p, &env);
	exec_say(f, p, p->begins.time, p->begins.exe, p->begins.script, &argv, given ? p->ngiven : p->list[SAFE_ARG].count,
	         &env, p->list[SAFE_VAR].count);
	sup_gap(f->s, p->p, TERM_gap_by_library, 0, NULL);
	if (p->list[SAFE_ARG].cut)
		sup_gap(f->s, p->p, TERM_gap_limit, 1, "arguments were too long to keep whole");
	struct file *files[] = {p->begins.exe, p->begins.script};
	for (int i = 0; i < 2; i++)
		if (files[i])
			files[i]->pins--;
	buf_release(&argv);
	buf_release(&env);
	buf_reset(&p->given);
	p->ngiven = 0;
	for (int i = 0; i < SAFE_LISTS; i++)
		text_reset(&p->list[i]);
}

static bool still_there(struct sproc *p)
{
	return p->p->pidfd >= 0 && p->alive;
}

/* What can be seen from here of a program that says nothing. */
static void look_at(struct safe *f, struct sproc *p, int64_t time)
{
	struct held *held;
	if (!still_there(p))
		return;
	size_t n = proc_walk(f->s, p->p, false, &held);
	p->p->nsince = 0;
	proc_hold_met(f->s, p->p, held, n, time);
	held_free(held, n);
}

/* An exec of a program that does not carry the library: it has happened, for all that can be told. */
static void intent_commit(struct safe *f, struct sproc *p)
{
	if (!p->intent.set)
		return;
	struct where w;
	struct statx st;
	struct file *exe = NULL;
	if (p->intent.path && where_path(NULL, getpid(), AT_FDCWD, p->intent.path, true, &w) == 0) {
		if (where_statx(&w, true, &st) == 0 && S_ISREG(st.stx_mode) && (exe = file_get(f->s, &w, true, &st))) {
			struct fingerprint fp = print_of(&st);
			file_state(f->s, exe, &fp);
		}
		where_release(&w);
	}
	if (exe)
		exe->pins++;
	image_end(f, p, p->intent.time, p->intent.proved);
	struct buf argv = redacted(&p->intent.argv, false);
	exec_say(f, p, p->intent.time, exe, NULL, &argv, p->intent.argc, NULL, 0);
	sup_gap(f->s, p->p, TERM_gap_without_library, 0, NULL);
	buf_release(&argv);
	if (exe)
		exe->pins--;
	look_at(f, p, p->intent.time);
	p->lone = true;
	p->image = 0;
	intent_drop(p);
}

/* ---- ends ---- */

static void end(struct safe *f, struct sproc *p, int64_t time, unsigned ending, unsigned code,
                const struct safe_figures *x, uint64_t proved)
{
	if (p->ended)
		return;
	begins_commit(f, p);
	if (p->intent.set && !x)
		intent_commit(f, p);
	if (p->lone)
		look_at(f, p, p->p->exec_start);
	image_end(f, p, time, proved);
	struct event ev = {.exit = {.ending = ending, .code = code}};
	if (x) {
		const uint64_t none = UINT64_MAX;
		struct event_exit *e = &ev.exit;
		if (x->user != none && x->system != none) {
			e->user = x->user;
			e->system = x->system;
			e->cpu = x->user + x->system;
			e->known |= 1u << 1 | 1u << 2 | 1u << 3;
		}
		if (x->rss != none) {
			e->rss = x->rss;
			e->known |= 1u << 4;
		}
		if (x->rchar != none && x->wchar != none && x->read_bytes != none && x->write_bytes != none) {
			e->rchar = x->rchar;
			e->wchar = x->wchar;
			e->read_bytes = x->read_bytes;
			e->write_bytes = x->write_bytes;
			e->known |= 1u << 5 | 1u << 6 | 1u << 7 | 1u << 8;
		}
	}
	sup_event(f->s, EVENT_exit, time, p->p, &ev);
	p->ended = true;
	p->end = time;
	f->s->nprocs--;
}

static void forget(struct safe *f, struct sproc *p)
{
	struct sproc **at = &f->procs[p->pid & (HASH_SIZE - 1)];
	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
	if (p->p->pidfd >= 0)
		close(p->p->pidfd);
	for (int i = 0; i < SAFE_LISTS; i++)
		buf_release(&p->list[i].bytes);
	buf_release(&p->given);
	intent_drop(p);
	free(p->root);
	free(p->begins.cwd);
	free(p->done);
	free(p->p->cwd);
	free(p->p->jobserver_fifo);
	free(p->p);
	free(p);
}

/* The kernel says that it is over, or another process has its number. */
static void dead(struct safe *f, struct sproc *p)
{
	int status;
	int64_t now = sup_now(f->s);
	p->alive = false;
	p->p->uncounted = true; /* its totals cannot be read any more */
	if (p->ended) {
		safe_reader_end(f->reader, p->pid, p->image, take_handle, &(struct harvest){p});
	} else if (p->status >= 0 || (p->p->pidfd >= 0 && proc_how_ended(p->p, &status))) {
		status = p->status >= 0 ? p->status : status;
		bool signaled = status & 0x7f;
		end(f, p, now, signaled ? TERM_ending_signaled : TERM_ending_exited,
		    signaled ? (unsigned)status & 0x7f : (unsigned)(status >> 8) & 0xff, NULL, 0);
	} else {
		sup_gap(f->s, p->p, TERM_gap_exit_unseen, 1, "how it ended could not be seen");
		end(f, p, now, TERM_ending_unknown, 0, NULL, 0);
	}
	if (p->p->pidfd >= 0)
		close(p->p->pidfd);
	p->p->pidfd = -1;
}

/* ---- the events ---- */

/* Whose the event is; made if what began it was lost. */
static struct sproc *whose(struct safe *f, const struct safe_event *e)
{
	struct sproc *p = by_image(f, e->pid, e->image);
	if (p || e->kind == SAFE_IMAGE || e->kind == SAFE_BORN)
		return p;
	p = add(f, e->pid, e->image, NULL, e->time, e->time, 0, 0);
	if (p)
		sup_gap(f->s, p->p, TERM_gap_lost, 0, "how it began was lost");
	return p;
}

static void do_born(struct safe *f, const struct safe_seen *x)
{
	struct safe_birth birth;
	memcpy(&birth, x->more, sizeof(birth));
	bool ours = !birth.pidns || birth.pidns == f->pidns;
	int64_t forked = birth.since + f->s->clock_offset;
	if (forked > x->e.time || forked < x->e.time - 60000000000)
		forked = x->e.time;
	struct sproc *old = by_pid_of(f, x->e.pid, ours ? f->pidns : birth.pidns),
	             *parent = by_image(f, (uint32_t)x->e.a, (uint32_t)x->e.b);
	if (old && old->alive)
		dead(f, old);
	struct sproc *p = add(f, x->e.pid, x->e.image, parent, x->e.time, forked, 0, birth.pidns);
	if (!p || !parent || x->e.fd == 1)
		return;
	/* What the parent has mapped to write is mapped in the child too, with no descriptor to show for it. */
	struct access *next;
	for (struct access *a = parent->p->live; a; a = next) {
		next = a->proc_next;
		if (a->mapped) {
			p->p->nsince = 0;
			access_begin(f->s, p->p, a->file, ACCESS_READ | ACCESS_WRITE | ACCESS_MAPPED, TERM_via_descriptor, false,
			             TERM_api_mmap, forked, NULL);
		}
	}
}

static void do_image(struct safe *f, const struct safe_seen *x)
{
	struct sup *s = f->s;
	uint64_t more[4];
	char room[2 * SAFE_ROOM];
	memcpy(more, x->more, sizeof(more));
	bool ours = !more[0] || more[0] == f->pidns;
	struct sproc *p = by_pid_of(f, x->e.pid, ours ? f->pidns : more[0]);
	int64_t per = 1000000000 / s->hz, started = (int64_t)x->e.b * per;
	/* The start of a process that was met by its fork is known to a tick. */
	if (p &&
	    (!p->alive || (x->e.b && (started - p->p->started > 2 * per || p->p->started - started > 2 * per)))) {
		if (p->alive)
			dead(f, p);
		p = NULL;
	}
	int64_t time = p && p->intent.set ? p->intent.time : x->e.time;
	if (!p) {
		struct sproc *parent = ours ? by_pid(f, (uint32_t)x->e.a) : NULL;
		p = add(f, x->e.pid, x->e.image, parent, x->e.time, x->e.b ? started + s->clock_offset : x->e.time, x->e.b,
		        more[0]);
		if (!p)
			return;
	} else if (!p->ended) {
		begins_commit(f, p);
		image_end(f, p, time, p->intent.proved);
	} else {
		p->ended = false; /* it was about to end, and did not */
		s->nprocs++;
	}
	buf_reset(&p->given);
	p->ngiven = 0;
	if (p->intent.set) {
		buf_str(&p->given, buf_view(&p->intent.argv));
		p->ngiven = p->intent.argc;
	}
	intent_drop(p);
	p->image = x->e.image;
	p->lone = false;
	p->ns = more[1] && more[1] != s->mnt_ns ? more[1] : 0;
	bool other = x->stat[1].ino != s->root_ino || ((uint64_t)x->stat[1].major << 32 | x->stat[1].minor) != s->root_dev;
	if (!other || p->ns) {
		free(p->root);
		p->root = NULL;
	} else if (!p->root) {
		p->root = strdup("root:[?]:"); /* it was changed where nobody saw it */
	}
	if (other || p->ns || !p->ours)
		sup_gap(s, p->p, TERM_gap_namespace, 0, "paths or numbers of another namespace");
	p->begins.set = true;
	p->begins.time = time;
	p->begins.exe = file_seen(f, p, &x->stat[0], x->str[0]);
	p->begins.script = NULL;
	if (p->begins.exe) {
		struct fingerprint fp = print_seen(&x->stat[0]);
		p->begins.exe->pins++;
		file_state(s, p->begins.exe, &fp);
	}
	free(p->begins.cwd);
	p->begins.cwd = strdup(copy(x->str[1], room, sizeof(room)));
	p->begins.uid = (uint32_t)more[2];
	p->begins.gid = (uint32_t)more[3];
	for (int i = 0; i < SAFE_LISTS; i++)
		text_reset(&p->list[i]);
}

static void name_say(struct safe *f, struct sproc *p, unsigned op, const struct file *file, const char *path,
                     const char *old, int64_t time)
{
	if (!path || !*path)
		return;
	struct event ev = {.name = {.op = op, .file = file->num, .path = str_of(path), .old = str_of(old)}};
	sup_event(f->s, EVENT_name, time, p->p, &ev);
}

static unsigned mode_of(uint64_t flags)
{
	unsigned acc = (unsigned)flags & O_ACCMODE;
	return (acc == O_RDONLY || acc == O_RDWR ? ACCESS_READ : 0u) |
	       (acc == O_WRONLY || acc == O_RDWR ? ACCESS_WRITE : 0u);
}

static struct access *begin(struct safe *f, struct sproc *p, struct file *file, unsigned mode, unsigned via, bool sure,
                            unsigned api, int64_t time, const struct fingerprint *before)
{
	p->p->nsince = 0; /* closes are seen: nothing is to be looked for */
	return access_begin(f->s, p->p, file, mode, via, sure, api, time, before);
}

static void do_open(struct safe *f, struct sproc *p, const struct safe_seen *x)
{
	struct file *file = file_seen(f, p, &x->stat[0], x->str[0]);
	if (!file || file->kind == TERM_kind_directory || file->kind == TERM_kind_symlink)
		return;
	unsigned mode = mode_of(x->e.a), flags = (unsigned)x->e.a;
	struct fingerprint after = print_seen(&x->stat[0]), before = print_seen(&x->stat[1]);
	bool created = x->e.b & SAFE_CREATED;
	if (flags & O_TRUNC)
		mode |= ACCESS_TRUNC | ACCESS_WRITE;
	if (flags & O_APPEND)
		mode |= ACCESS_APPEND;
	struct ident *i = id_add(p, x->e.oid);
	if (file->kind == TERM_kind_pseudo) {
		if (mode & ACCESS_READ)
			begin(f, p, file, ACCESS_READ, TERM_via_data, true, TERM_api_open, x->e.time, NULL);
		return;
	}
	if (file->kind == TERM_kind_terminal) {
		struct access *a[2] = {NULL, NULL};
		for (unsigned bit = ACCESS_READ; bit <= ACCESS_WRITE; bit <<= 1)
			if (mode & bit)
				a[bit == ACCESS_WRITE] =
				    begin(f, p, file, bit, TERM_via_data, bit == (mode & 3), TERM_api_open, x->e.time, NULL);
		id_uses(p, i, a[0], a[1]);
		return;
	}
	if (created) {
		mode = (mode & ~ACCESS_TRUNC) | ACCESS_CREATE;
		if (!(x->e.b & SAFE_TMPFILE))
			name_say(f, p, TERM_nameop_create, file, file->path, NULL, x->e.time);
	}
	const struct fingerprint *fp = file->kind != TERM_kind_regular || created ? NULL
	                               : flags & O_TRUNC                          ? (before.known ? &before : NULL)
	                                                                          : &after;
	struct access *a = begin(f, p, file, mode, TERM_via_data, true, TERM_api_open, x->e.time, fp);
	if (!a)
		return;
	/* What a truncating open left is what a later look is compared with. */
	if ((flags & O_TRUNC) || created)
		a->before = after;
	id_uses(p, i, a->mode & ACCESS_READ ? a : NULL, a->mode & ACCESS_WRITE ? a : NULL);
}

static void do_held(struct safe *f, struct sproc *p, const struct safe_seen *x)
{
	struct file *file = file_seen(f, p, &x->stat[0], x->str[0]);
	unsigned mode = mode_of(x->e.a);
	if (!file || file->kind == TERM_kind_pseudo || file->kind == TERM_kind_directory)
		return;
	struct held h = {file, mode, x->e.fd, {0}};
	if (file->kind == TERM_kind_regular)
		h.print = print_seen(&x->stat[0]);
	struct ident *i = id_add(p, x->e.oid);
	p->p->nsince = 0;
	/* Since the program began; what it got later it has since then. */
	proc_hold_met(f->s, p->p, &h, 1, p->p->exec_start > x->e.time - 5000000 ? p->p->exec_start : x->e.time);
	bool sync = x->e.fd == 2 && file->kind == TERM_kind_terminal;
	id_uses(p, i, mode & ACCESS_READ ? live_of(p, file, ACCESS_READ, sync) : NULL,
	        mode & ACCESS_WRITE ? live_of(p, file, ACCESS_WRITE, sync) : NULL);
}

static void do_close(struct safe *f, struct sproc *p, const struct safe_seen *x)
{
	struct ident *i = id_of(p, x->e.oid);
	if (!i)
		return;
	struct use *u = i->use[1];
	if (u) {
		u->shot = !(x->stat[0].flags & SAFE_HAS_NOT);
		u->print = print_seen(&x->stat[0]);
		u->flushes |= x->e.a == SAFE_FLUSHES;
		u->may_flush |= x->e.a == SAFE_MAY_FLUSH;
	}
	if (x->e.a != SAFE_CLOSED)
		return;
	if (i->refs > 1)
		i->refs--;
	else
		id_end(f, p, i, x->e.time);
}

static void do_map(struct safe *f, struct sproc *p, const struct safe_seen *x)
{
	struct ident *i = id_of(p, x->e.oid);
	struct use *r = i ? i->use[0] : NULL;
	int64_t at = x->e.time - f->s->clock_offset;
	struct safe_row row = {
	    .api = TERM_ioapi_mmap, .calls = 1, .bytes = x->e.b, .largest = x->e.b, .first = at, .last = at};
	if (r && r->a) {
		r->loaded = true;
		sum_add(r, &row);
	}
	if (!x->e.a || !i || !i->use[1] || !i->use[1]->a)
		return;
	i->use[1]->mapped = true;
	struct file *file = i->use[1]->a->file;
	struct fingerprint fp = print_seen(&x->stat[0]);
	unsigned via = file->kind == TERM_kind_regular ? TERM_via_data : TERM_via_shm;
	begin(f, p, file, ACCESS_READ | ACCESS_WRITE | ACCESS_MAPPED, via, true, TERM_api_mmap, x->e.time,
	      file->kind == TERM_kind_regular && fp.known ? &fp : NULL);
}

static void rename_below(struct safe *f, const char *old, const char *new)
{
	size_t n = strlen(old);
	for (unsigned i = 0; i < HASH_SIZE; i++)
		for (struct file *g = f->s->files[i]; g; g = g->next)
			if (g->path && !strncmp(g->path, old, n) && g->path[n] == '/') {
				char *path;
				if (asprintf(&path, "%s%s", new, g->path + n) >= 0) {
					free(g->path);
					g->path = path;
				}
			}
}

static void moved(struct safe *f, struct sproc *p, struct file *file, const char *old, const char *new, int64_t time)
{
	name_say(f, p, TERM_nameop_rename, file, new, old, time);
	file_rename(file, new);
	if (file->kind == TERM_kind_directory)
		rename_below(f, old, new);
}

static void do_name(struct safe *f, struct sproc *p, const struct safe_seen *x)
{
	char a[2 * SAFE_ROOM], b[2 * SAFE_ROOM];
	int64_t time = x->e.time;
	struct safe_stat st = x->stat[0];
	/* Where they are two names of one file, after the call the second is there; before it, the first was. */
	struct statx now = statx_of(&st);
	here(p, x->str[0], NULL, a, sizeof(a));
	here(p, x->str[1], x->str[1].n ? &now : NULL, b, sizeof(b));
	struct file *file = file_seen(f, p, &st, x->str[0]);
	if (!file || !a[0])
		return;
	if (x->e.a == SAFE_MAKE) {
		name_say(f, p, TERM_nameop_create, file, a, NULL, time);
		return;
	}
	file->pins++;
	struct file *victim = file_seen(f, p, &x->stat[1], x->str[1]);
	if (victim)
		victim->pins++;
	if (victim == file && x->e.a != SAFE_UNLINK) {
		/* Two names of one file: nothing is done. */
	} else if (x->e.a == SAFE_EXCHANGE && victim) {
		char between[2 * SAFE_ROOM + 32];
		snprintf(between, sizeof(between), "%s/.stemma-exchange", a);
		moved(f, p, file, a, between, time);
		moved(f, p, victim, b, a, time);
		moved(f, p, file, between, b, time);
	} else if (x->e.a == SAFE_RENAME || x->e.a == SAFE_EXCHANGE) {
		if (victim)
			name_say(f, p, TERM_nameop_replace, victim, b, NULL, time);
		moved(f, p, file, a, b, time);
	} else if (x->e.a == SAFE_LINK) {
		name_say(f, p, TERM_nameop_link, file, b, NULL, time);
		if (!file->path) {
			file->gone = false;
			file_rename(file, b);
		} else {
			free(file->alias);
			file->alias = strdup(b);
		}
	} else if (x->e.a == SAFE_UNLINK) {
		name_say(f, p, TERM_nameop_unlink, file, a, NULL, time);
		if (file->alias && file->path && !strcmp(file->path, a) && st.nlink > 1) {
			free(file->path);
			file->path = file->alias;
			file->alias = NULL;
		}
	}
	bool last = x->e.a == SAFE_UNLINK && (st.nlink <= 1 || S_ISDIR(st.mode));
	bool last_victim =
	    victim && victim != file && x->e.a == SAFE_RENAME && (x->stat[1].nlink <= 1 || S_ISDIR(x->stat[1].mode));
	file->pins--;
	if (last)
		file_gone(f->s, file);
	if (victim) {
		victim->pins--;
		if (last_victim)
			file_gone(f->s, victim);
	}
}

static void do_truncate(struct safe *f, struct sproc *p, const struct safe_seen *x)
{
	struct file *file = file_seen(f, p, &x->stat[0], x->str[0]);
	struct fingerprint before = print_seen(&x->stat[1]), after = print_seen(&x->stat[0]);
	if (!file || file->kind != TERM_kind_regular ||
	    (before.size == after.size && before.mtime == after.mtime && before.ctime == after.ctime))
		return;
	file->pins++;
	struct access *a = begin(f, p, file, ACCESS_WRITE | (x->e.a == 0 ? ACCESS_TRUNC : 0u), TERM_via_data, true,
	                         TERM_api_truncate, x->e.time, &before);
	if (a && a->start == x->e.time && a->count == 1) {
		file->last = after;
		file->last_stop = f->s->moment + 1;
		access_end(f->s, a, x->e.time);
	}
	file->pins--;
}

static void do_socket(struct safe *f, struct sproc *p, const struct safe_seen *x)
{
	union address u = {0};
	size_t n = x->str[0].n < sizeof(u) ? x->str[0].n : sizeof(u);
	if (n < sizeof(sa_family_t))
		return;
	memcpy(&u, x->str[0].p, n);
	if (u.sa.sa_family == AF_UNIX && n > sizeof(sa_family_t) && u.un.sun_path[0] && x->str[1].n &&
	    x->str[1].n < sizeof(u.un.sun_path)) {
		memset(u.un.sun_path, 0, sizeof(u.un.sun_path));
		memcpy(u.un.sun_path, x->str[1].p, x->str[1].n);
		n = sizeof(sa_family_t) + x->str[1].n + 1;
	}
	if (u.sa.sa_family == AF_UNIX && n > sizeof(u.un))
		n = sizeof(u.un);
	p->p->nsince = 0;
	struct file *file = socket_use(f->s, p->p, getpid(), x->e.fd, &u, (ssize_t)n,
	                               x->e.a == 0 ? TERM_api_connect : TERM_api_bind, x->e.time);
	struct access *a = file ? live_of(p, file, ACCESS_READ | ACCESS_WRITE, false) : NULL;
	struct ident *i = a ? id_add(p, x->e.oid) : NULL;
	id_uses(p, i, a, a);
}

static void do_shm(struct safe *f, struct sproc *p, const struct safe_seen *x)
{
	char address[64], domain[100];
	snprintf(address, sizeof(address), "sysv:%d", (int)x->e.a);
	snprintf(domain, sizeof(domain), "boot:%s:ipc", host_boot_id());
	struct file *file = file_address(f->s, TERM_kind_shm, domain, address);
	if (file)
		begin(f, p, file, ACCESS_READ | (x->e.b & SHM_RDONLY ? 0u : ACCESS_WRITE), TERM_via_shm, true, TERM_api_shm,
		      x->e.time, NULL);
}

static void do_absent(struct safe *f, struct sproc *p, const struct safe_seen *x)
{
	char path[2 * SAFE_ROOM];
	here(p, x->str[0], NULL, path, sizeof(path));
	if (path[0] != '/' || !strncmp(path, "/.stemma/", 9))
		return;
	struct file *file = file_address(f->s, TERM_kind_absent, "", path);
	if (file)
		begin(f, p, file, ACCESS_READ, TERM_via_data, true, x->e.a ? TERM_api_exec : TERM_api_open, x->e.time, NULL);
}

static void do_library(struct safe *f, struct sproc *p, const struct safe_seen *x)
{
	struct file *file = file_seen(f, p, &x->stat[0], x->str[0]);
	struct fingerprint fp = print_seen(&x->stat[0]);
	if (!file || file->kind != TERM_kind_regular)
		return;
	if (x->e.a == 1 && p->begins.set && !p->begins.script) {
		p->begins.script = file;
		file->pins++;
		file_state(f->s, file, &fp);
		return;
	}
	begin(f, p, file, ACCESS_READ, TERM_via_data, true, TERM_api_open, x->e.time, &fp);
}

static void take_intent(struct sproc *p, const struct safe_seen *x)
{
	char path[2 * SAFE_ROOM];
	intent_drop(p);
	p->intent.set = true;
	p->intent.alone = x->e.a;
	p->intent.proved = x->e.b;
	p->intent.time = x->e.time;
	p->intent.path = strdup(copy(x->str[0], path, sizeof(path)));
}

static void take_args(struct sproc *from, struct sproc *p)
{
	buf_str(&p->intent.argv, buf_view(&from->list[SAFE_EXEC_ARG].bytes));
	p->intent.argc = from->list[SAFE_EXEC_ARG].count;
	text_reset(&from->list[SAFE_EXEC_ARG]);
}

static void do_spawn(struct safe *f, struct sproc *parent, const struct safe_seen *x)
{
	uint32_t pid = (uint32_t)x->e.a;
	struct sproc *p = by_pid(f, pid);
	if (p && p->alive && !p->lone) {
		text_reset(&parent->list[SAFE_EXEC_ARG]);
		return; /* it has spoken for itself */
	}
	if (!p || !p->alive)
		p = add(f, pid, 0, parent, x->e.time, x->e.time, 0, 0);
	if (!p)
		return;
	take_intent(p, x);
	p->intent.proved = 0;
	take_args(parent, p);
	intent_commit(f, p);
}

static void do_note(struct safe *f, struct sproc *p, const struct safe_seen *x)
{
	if (x->e.a == SAFE_NOTE_URING && !p->p->uring_said) {
		p->p->uring_said = true;
		sup_gap(f->s, p->p, TERM_gap_io_uring, 0, "it set up io_uring, whose accesses are not seen");
	} else if (x->e.a == SAFE_NOTE_ROOT) {
		char *root = NULL;
		if (x->str[0].n && asprintf(&root, "%s%.*s", p->root ? p->root : "", (int)x->str[0].n, x->str[0].p) < 0)
			root = NULL;
		free(p->root);
		p->root = root && strcmp(root, "/") ? root : strdup(x->str[0].n ? "" : "root:[?]:");
		if (p->root != root)
			free(root);
	} else if (x->e.a == SAFE_NOTE_MOUNTS) {
		if (x->e.b && x->e.b != f->s->mnt_ns && p->ns != x->e.b) {
			p->ns = x->e.b;
			sup_gap(f->s, p->p, TERM_gap_namespace, 0, "paths of another mount namespace");
		} else {
			sup_gap(f->s, p->p, TERM_gap_mounts, 1, "it mounted or unmounted a file system");
		}
	} else if (x->e.a == SAFE_NOTE_HANDLE) {
		sup_gap(f->s, p->p, TERM_gap_unsettled, 1, "opened a file by handle");
	}
}

static void tell(struct safe *f, struct sproc *p, const struct safe_seen *x)
{
	struct ident *i;
	switch (x->e.kind) {
	case SAFE_OPEN:
		do_open(f, p, x);
		break;
	case SAFE_ABSENT:
		do_absent(f, p, x);
		break;
	case SAFE_HELD:
		do_held(f, p, x);
		break;
	case SAFE_LIBRARY:
		do_library(f, p, x);
		break;
	case SAFE_DUP:
		if ((i = id_of(p, x->e.oid)))
			i->refs++;
		break;
	case SAFE_CLOSE:
		do_close(f, p, x);
		break;
	case SAFE_IO:
		if ((i = id_of(p, x->e.oid))) {
			struct safe_row row;
			memcpy(&row, x->more, sizeof(row));
			if (i->use[row.write != 0])
				sum_add(i->use[row.write != 0], &row);
		}
		break;
	case SAFE_MAP:
		do_map(f, p, x);
		break;
	case SAFE_ALTER:
		if ((i = id_of(p, x->e.oid)) && i->use[1])
			i->use[1]->altered = true;
		break;
	case SAFE_NAME:
		do_name(f, p, x);
		break;
	case SAFE_TRUNCATE:
		do_truncate(f, p, x);
		break;
	case SAFE_SOCKET:
		do_socket(f, p, x);
		break;
	case SAFE_SHM:
		do_shm(f, p, x);
		break;
	case SAFE_EXEC:
		take_intent(p, x);
		take_args(p, p);
		break;
	case SAFE_EXEC_NOT:
		intent_drop(p);
		break;
	case SAFE_SPAWN:
		do_spawn(f, p, x);
		break;
	case SAFE_PAIR: {
		uint64_t *slot = f->s->pairs[f->s->next_pair++ % PAIRS];
		slot[0] = x->e.a < x->e.b ? x->e.a : x->e.b;
		slot[1] = x->e.a < x->e.b ? x->e.b : x->e.a;
		break;
	}
	case SAFE_WAITED: {
		struct sproc *child = by_pid(f, (uint32_t)x->e.a);
		if (child && !child->ended && child->p->parent_num == p->p->num) {
			child->status = (int)(x->e.b & 0xffff);
			dead(f, child);
		}
		break;
	}
	case SAFE_NOTE:
		do_note(f, p, x);
		break;
	case SAFE_EXIT: {
		struct safe_figures figures;
		if (x->more)
			memcpy(&figures, x->more, sizeof(figures));
		intent_drop(p);
		end(f, p, x->e.time, TERM_ending_exited, (unsigned)x->e.a & 0xff, x->more ? &figures : NULL, x->e.b);
		break;
	}
	default:
		break;
	}
}

void safe_tell(struct safe *f, const struct safe_seen *seen)
{
	struct safe_seen copied = *seen, *x = &copied;
	struct sup *s = f->s;
	x->e.time += s->clock_offset;
	s->moment++;
	s->traps++;
	s->current = NULL;
	if (x->e.kind == SAFE_BORN) {
		do_born(f, x);
		return;
	}
	if (x->e.kind == SAFE_IMAGE) {
		do_image(f, x);
		return;
	}
	struct sproc *p = whose(f, &x->e);
	if (!p || (p->ended && x->e.kind != SAFE_EXEC))
		return;
	if (x->e.kind == SAFE_TEXT) {
		if (x->e.a < SAFE_LISTS)
			text_add(&p->list[x->e.a], x->str[0], x->e.b);
		return;
	}
	struct buf whole[2] = {{0}};
	for (int k = 0; k < 2; k++) {
		struct text *head = &p->list[SAFE_HEAD + k];
		if (!head->bytes.n)
			continue;
		buf_str(&whole[k], buf_view(&head->bytes));
		buf_str(&whole[k], x->str[k]);
		x->str[k] = buf_view(&whole[k]);
		text_reset(head);
	}
	if (!(x->e.kind == SAFE_LIBRARY && x->e.a == 1))
		begins_commit(f, p);
	tell(f, p, x);
	buf_release(&whole[0]);
	buf_release(&whole[1]);
}
/* ---- what the kernel knows ---- */

/* Where execvp found it. */
static void find_command(const char *name, const char *cwd, char *ret, size_t n)
{
	ret[0] = '\0';
	if (strchr(name, '/')) {
		snprintf(ret, n, "%s%s%s", name[0] == '/' ? "" : cwd, name[0] == '/' ? "" : "/", name);
		return;
	}
	for (const char *d = getenv("PATH"); d && *d; d += strcspn(d, ":"), d += *d == ':') {
		bool here = d[0] != '/';
		snprintf(ret, n, "%s%s%.*s/%s", here ? cwd : "", here ? "/" : "", (int)strcspn(d, ":"), d, name);
		if (access(ret, X_OK) == 0)
			return;
	}
	ret[0] = '\0';
}

void safe_tell_root(struct safe *f, pid_t pid, int64_t forked, const char *cwd)
{
	struct sproc *p = add(f, (uint32_t)pid, 0, NULL, forked, forked, 0, 0);
	char path[2 * SAFE_ROOM];
	if (!p)
		return;
	p->lone = true;
	p->p->cwd = strdup(cwd);
	/* If it never says anything, this is what it was. */
	find_command(f->s->argv[0], cwd, path, sizeof(path));
	struct safe_seen x = {.e = {.time = forked}, .str = {str_of(path)}};
	take_intent(p, &x);
	for (char *const *v = f->s->argv; *v; v++, p->intent.argc++)
		buf_add(&p->intent.argv, *v, strlen(*v) + 1);
}

/* Is the library in it? True where that cannot be told. */
static bool carries(const struct sproc *p)
{
	char name[48], line[4096];
	snprintf(name, sizeof(name), "/proc/%u/maps", p->pid);
	FILE *maps = fopen(name, "re");
	bool any = false, found = false;
	while (maps && !found && fgets(line, sizeof(line), maps)) {
		any = true;
		found = strstr(line, "libstemma-safe.so");
	}
	if (maps)
		fclose(maps);
	return found || !any;
}

const struct proc *safe_proc(const struct safe *f, pid_t pid)
{
	const struct sproc *p = by_pid(f, (uint32_t)pid);
	return p ? p->p : NULL;
}

bool safe_lives(const struct safe *f, uint32_t pid, uint32_t image)
{
	const struct sproc *p = by_image(f, pid, image);
	return p && !p->ended && !p->ours;
}

bool safe_busy(const struct safe *f)
{
	for (unsigned k = 0; k < HASH_SIZE; k++)
		for (const struct sproc *p = f->procs[k]; p; p = p->next)
			if (p->intent.set && p->alive)
				return true;
	return false;
}

void safe_find_dead(struct safe *f, struct safe_dead *ret)
{
	struct epoll_event got[64];
	int n = epoll_wait(f->epoll, got, 64, 0);
	ret->n = n > 0 ? n : 0;
	for (int i = 0; i < ret->n; i++)
		ret->v[i] = got[i].data.ptr;
	for (unsigned k = 0; k < HASH_SIZE; k++)
		for (struct sproc *p = f->procs[k]; p && ret->n < 64; p = p->next)
			if (p->alive && p->ours && p->p->pidfd < 0 && kill(p->p->pid, 0) < 0 && errno == ESRCH)
				ret->v[ret->n++] = p;
}

void safe_tell_deaths(struct safe *f, const struct safe_dead *d)
{
	int64_t now = sup_now(f->s);
	for (int i = 0; i < d->n; i++) {
		f->s->moment++;
		if (d->v[i]->alive)
			dead(f, d->v[i]);
	}
	for (unsigned k = 0; k < HASH_SIZE; k++)
		for (struct sproc *p = f->procs[k], *next; p; p = next) {
			next = p->next;
			/* A program that does not say anything a while after the exec never will. */
			int64_t since = now - p->intent.time;
			if (p->intent.set && !p->ended && since > SOON &&
			    (p->intent.alone || (since > 4 * SOON && p->alive && !carries(p))))
				intent_commit(f, p);
			if (!p->alive && p->ended && now - p->end > REMEMBER)
				forget(f, p);
		}
}

void safe_tell_status(struct safe *f, pid_t pid, int status)
{
	struct sproc *p = by_pid(f, (uint32_t)pid);
	if (!p || p->ended)
		return;
	bool signaled = status & 0x7f;
	f->s->moment++;
	end(f, p, sup_now(f->s), signaled ? TERM_ending_signaled : TERM_ending_exited,
	    signaled ? (unsigned)status & 0x7f : (unsigned)(status >> 8) & 0xff, NULL, 0);
}

/* A process that was found and has said nothing. */
static void met(struct safe *f, struct sproc *parent, uint32_t pid)
{
	struct sup *s = f->s;
	char name[64], path[4096], text[16384];
	int64_t now = sup_now(s);
	struct sproc *p = add(f, pid, 0, parent, now, parent ? parent->p->seen : now, 0, 0);
	if (!p)
		return;
	p->lone = true;
	snprintf(name, sizeof(name), "/proc/%u/exe", pid);
	ssize_t n = readlink(name, path, sizeof(path) - 1);
	if (n <= 0)
		return;
	path[n] = '\0';
	struct safe_seen x = {.e = {.a = 1, .time = now}, .str = {str_of(path)}};
	take_intent(p, &x);
	snprintf(name, sizeof(name), "/proc/%u/cmdline", pid);
	int fd = open(name, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		close(fd);
	if (n > 0) {
		text[n - 1] = '\0';
		buf_add(&p->intent.argv, text, (size_t)n);
		for (ssize_t i = 0; i < n; i++)
			p->intent.argc += !text[i];
	}
	intent_commit(f, p);
}

/* Those that have been there at two looks. */
static void scan_children(struct safe *f, struct sproc *parent, uint32_t of, uint32_t (*waiting)[2], size_t n)
{
	char name[64], text[8192];
	snprintf(name, sizeof(name), "/proc/%u/task/%u/children", of, of);
	int fd = open(name, O_RDONLY | O_CLOEXEC);
	ssize_t k = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		close(fd);
	text[k > 0 ? k : 0] = '\0';
	for (char *at = text, *next; *at; at = next) {
		uint32_t pid = (uint32_t)strtoul(at, &next, 10);
		if (next == at)
			break;
		struct sproc *p = by_pid(f, pid);
		if (p && p->alive)
			continue;
		uint32_t *slot = waiting[pid % n];
		if (slot[0] != pid) {
			slot[0] = pid;
			slot[1] = 1;
		} else {
			slot[0] = 0;
			met(f, parent, pid);
		}
	}
}

void safe_tell_children(struct safe *f)
{
	static uint32_t waiting[1024][2];
	scan_children(f, NULL, (uint32_t)getpid(), waiting, 1024);
	for (unsigned k = 0; k < HASH_SIZE; k++)
		for (struct sproc *p = f->procs[k], *next; p; p = next) {
			next = p->next;
			if (p->alive && p->ours && p->p->pidfd >= 0)
				scan_children(f, p, p->pid, waiting, 1024);
		}
}

void safe_tell_end(struct safe *f)
{
	for (unsigned k = 0; k < HASH_SIZE; k++)
		while (f->procs[k]) {
			struct sproc *p = f->procs[k];
			f->s->moment++;
			if (p->alive && !p->ended && p->ours)
				dead(f, p);
			else if (!p->ended)
				end(f, p, sup_now(f->s), TERM_ending_unknown, 0, NULL, 0);
			forget(f, p);
		}
}
