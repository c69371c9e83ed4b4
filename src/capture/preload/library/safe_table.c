/* What the library knows of the process's descriptors, and the counters of what is moved through them. */
#include "capture/preload/library/safe.h"
#include "event/event.h"

#define XXH_INLINE_ALL
#define XXH_NO_STDLIB
#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <xxhash.h>

#define FIRST 1024 /* descriptors that have their entries from the beginning */
#define PAGES 64   /* more of them, FIRST each */
#define RECENT 64
#define WORDS_BIG 8704 /* two paths and a little */

static struct entry first[FIRST];
static struct entry *pages[PAGES];
extern char __libc_single_threaded __attribute__((weak));

/* Files whose generation and path have been said, so that a program that opens the same ones again and again pays a
 * statx for each and no more. */
static struct recent {
	uint64_t ino, gen;
	int64_t btime;
	uint32_t major, minor, flags, said;
} recents[RECENT];

struct entry *entry_at(int fd, bool make)
{
	if (fd < 0)
		return NULL;
	if (fd < FIRST)
		return &first[fd];
	unsigned i = (unsigned)fd / FIRST - 1;
	if (i >= PAGES)
		return NULL;
	struct entry *page = __atomic_load_n(&pages[i], __ATOMIC_ACQUIRE), *none = NULL;
	if (!page && make) {
		if (!(page = raw_map(FIRST * sizeof(*page))))
			return NULL;
		if (!__atomic_compare_exchange_n(&pages[i], &none, page, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
			raw3(SYS_munmap, (long)page, FIRST * sizeof(*page), 0);
			page = none;
		}
	}
	return page ? &page[(unsigned)fd % FIRST] : NULL;
}

/* Whether it is of a descriptor that is open now. e may be NULL. */
bool entry_live(const struct entry *e)
{
	return e && e->oid && e->epoch == safe_self->epoch;
}

/* ---- what a file is ---- */

/* Times in ns. Without a time of birth SAFE_HAS_BTIME is not set. */
static void stat_of(const struct statx *sx, struct safe_stat *ret)
{
	*ret = (struct safe_stat){.ino = sx->stx_ino,
	                          .size = sx->stx_size,
	                          .mtime = sx->stx_mtime.tv_sec * 1000000000LL + sx->stx_mtime.tv_nsec,
	                          .ctime = sx->stx_ctime.tv_sec * 1000000000LL + sx->stx_ctime.tv_nsec,
	                          .major = sx->stx_dev_major,
	                          .minor = sx->stx_dev_minor,
	                          .mode = sx->stx_mode,
	                          .nlink = sx->stx_nlink,
	                          .rmajor = sx->stx_rdev_major,
	                          .rminor = sx->stx_rdev_minor,
	                          .uid = sx->stx_uid};
	if (sx->stx_mask & STATX_BTIME) {
		ret->btime = sx->stx_btime.tv_sec * 1000000000LL + sx->stx_btime.tv_nsec;
		ret->flags |= SAFE_HAS_BTIME;
	}
}

bool stat_path(int dirfd, const char *path, int flags, struct safe_stat *ret)
{
	struct statx sx;
	if (raw6(SYS_statx, dirfd, (long)path, flags, STATX_BASIC_STATS | STATX_BTIME, (long)&sx, 0) < 0) {
		*ret = (struct safe_stat){.flags = SAFE_HAS_NOT};
		return false;
	}
	stat_of(&sx, ret);
	return true;
}

/* The one place that a file may have; another file may be in it. */
static struct recent *recent_of(const struct safe_stat *st)
{
	return &recents[(st->ino * 0x9e3779b97f4a7c15u >> 58) % RECENT];
}

/* Whether the place holds this very file and it was told. */
static bool is_recent(const struct recent *r, const struct safe_stat *st)
{
	return r->said && r->ino == st->ino && r->btime == st->btime && r->major == st->major && r->minor == st->minor;
}

void stat_gen(int dirfd, const char *path, int flags, struct safe_stat *st)
{
	union {
		struct file_handle h;
		unsigned char room[sizeof(struct file_handle) + MAX_HANDLE_SZ];
	} u;
	int mount;
	u.h.handle_bytes = MAX_HANDLE_SZ;
	u.h.handle_type = 0;
	int how = (flags & AT_EMPTY_PATH) | (flags & AT_SYMLINK_NOFOLLOW ? 0 : AT_SYMLINK_FOLLOW);
	if (raw6(SYS_name_to_handle_at, dirfd, (long)path, (long)&u.h, (long)&mount, how, 0) < 0)
		return;
	st->gen = XXH3_64bits_withSeed(u.h.f_handle, u.h.handle_bytes, (uint64_t)u.h.handle_type);
	st->flags |= SAFE_HAS_GEN;
}

/* Appends a number in digits, with a 0 behind them, which is where it points to. */
static char *append_number(char *p, unsigned n)
{
	char digits[12];
	int k = 0;
	do
		digits[k++] = (char)('0' + n % 10);
	while (n /= 10);
	while (k)
		*p++ = digits[--k];
	*p = '\0';
	return p;
}

void *raw_map(size_t n)
{
	long at = raw6(SYS_mmap, 0, (long)n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return at < 0 && at > -4096 ? NULL : (void *)at;
}

/* Ends with words_end. */
void words_begin(struct words *w)
{
	w->p = w->small;
	w->room = sizeof(w->small);
	w->n = 0;
	w->small[0] = '\0';
}

/* Gives the memory back; w is empty, and can be filled again. */
void words_end(struct words *w)
{
	if (w->p != w->small)
		raw3(SYS_munmap, (long)w->p, (long)w->room, 0);
	words_begin(w);
}

/* Gives a text more room. False: it is large already, or no memory. */
static bool words_grow(struct words *w)
{
	char *p = w->p == w->small ? raw_map(WORDS_BIG) : NULL;
	if (!p)
		return false;
	memcpy(p, w->p, w->n + 1);
	w->p = p;
	w->room = WORDS_BIG;
	return true;
}

/* Appends n bytes and a NUL. Nothing of it where there is no room. */
static void words_append(struct words *w, const char *from, size_t n)
{
	if (w->n + n + 1 > w->room && (!words_grow(w) || w->n + n + 1 > w->room))
		return;
	memcpy(w->p + w->n, from, n);
	w->n += n;
	w->p[w->n] = '\0';
}

void words_of_fd(struct words *w, int fd)
{
	char name[48] = "/proc/thread-self/fd/"; /* the first thread may have ended */
	append_number(name + 21, (unsigned)fd);
	for (int i = 0; i < 2; i++) {
		long got = raw6(SYS_readlinkat, AT_FDCWD, (long)name, (long)w->p, (long)w->room - 1, 0, 0);
		w->n = got > 0 ? (size_t)got : 0;
		w->p[w->n] = '\0';
		if (w->n + 1 < w->room || !words_grow(w))
			return;
	}
}

/* Appends the absolute path of what a path leads to; nothing if that is not there. */
void words_real(struct words *w, int dirfd, const char *path)
{
	long fd = raw6(SYS_openat, dirfd, (long)path, O_PATH | O_CLOEXEC, 0, 0, 0);
	if (fd < 0)
		return;
	words_of_fd(w, (int)fd);
	raw1(SYS_close, fd);
}

/* Where /proc is not there, as in a bare root: the words as they were given, behind the directory. */
static void words_given(struct words *w, int dirfd, const char *path)
{
	size_t end = text_len(path, 4096);
	while (end > 1 && path[end - 1] == '/')
		end--;
	w->n = 0;
	w->p[0] = '\0';
	if (path[0] != '/') {
		long n = dirfd == AT_FDCWD ? raw3(SYS_getcwd, (long)w->p, (long)w->room, 0) : 0;
		if (n <= 1 || w->p[0] != '/') {
			w->p[0] = '\0';
			return;
		}
		w->n = (size_t)n - 1;
		if (w->n > 1)
			words_append(w, "/", 1);
	}
	words_append(w, path, end);
}

/* Appends the absolute path of a name that need not exist. Nothing where the path cannot be read. */
void words_add_path(struct words *w, int dirfd, const char *path)
{
	/* The directory is opened for the moment, so that the kernel says its whole name. */
	if (raw6(SYS_faccessat, dirfd, (long)path, 0, 0, 0, 0) == -EFAULT)
		return;
	size_t end = text_len(path, 4096), cut;
	while (end > 1 && path[end - 1] == '/')
		end--;
	for (cut = end; cut > 0 && path[cut - 1] != '/'; cut--)
		;
	words_append(w, path, cut);
	words_append(w, ".", 1);
	long fd = raw6(SYS_openat, dirfd, (long)w->p, O_PATH | O_DIRECTORY | O_CLOEXEC, 0, 0, 0);
	w->n = 0;
	w->p[0] = '\0';
	if (fd >= 0) {
		words_of_fd(w, (int)fd);
		raw1(SYS_close, fd);
	}
	if (!w->n) { /* not even the directory */
		words_given(w, dirfd, path);
		return;
	}
	if (w->n > 1)
		words_append(w, "/", 1);
	words_append(w, path + cut, end - cut);
}

/* Adds what is not said yet of the file behind fd: its generation, and its path as the event's string. entry_identify:
 * given: how it was opened, NULL not known. */
void entry_identify(struct safe_out *o, int fd, int dirfd, const char *given, struct words *path)
{
	struct safe_stat *st = &o->stat[0];
	struct recent *r = recent_of(st);
	bool regular = S_ISREG(st->mode);
	if (regular && st->nlink && is_recent(r, st)) {
		st->gen = r->gen;
		st->flags |= r->flags & SAFE_HAS_GEN;
		safe_string(o, "");
		return;
	}
	stat_gen(fd, "", AT_EMPTY_PATH, st);
	words_of_fd(path, fd);
	if (!path->n && given)
		words_given(path, dirfd, given);
	safe_string(o, path->p);
	if (regular && st->nlink && !safe_vforked)
		*r = (struct recent){st->ino, st->gen, st->btime, st->major, st->minor, st->flags, 1};
}

/* ---- entries ---- */

/* Never 0, also when numbers begin anew. */
static uint32_t new_oid(void)
{
	uint32_t oid = __atomic_add_fetch(&safe_self->next_oid, 1, __ATOMIC_RELAXED);
	return oid ? oid : __atomic_add_fetch(&safe_self->next_oid, 1, __ATOMIC_RELAXED);
}

uint32_t entry_put(int fd, uint32_t flags)
{
	uint32_t oid = new_oid();
	struct entry *e = safe_vforked ? NULL : entry_at(fd, true);
	if (e) {
		e->handle = NULL;
		e->flags = flags;
		e->epoch = safe_self->epoch;
		__atomic_store_n(&e->oid, oid, __ATOMIC_RELEASE);
	}
	return oid;
}

/* Files, pipes, sockets and terminals; of folders and devices no accesses are told. */
static bool is_recorded_kind(const struct safe_stat *st)
{
	unsigned maj = st->rmajor;
	bool terminal =
	    S_ISCHR(st->mode) && !(maj == 5 && st->rminor == 2) && (maj == 4 || maj == 5 || (maj >= 136 && maj <= 143));
	return S_ISREG(st->mode) || S_ISFIFO(st->mode) || S_ISSOCK(st->mode) || terminal;
}

/* Says that fd was found open. Its oid; 0: it is not, or not recorded (then *ret_other). */
static uint32_t emit_held_descriptor(int fd, uint32_t flags, bool *ret_other)
{
	struct safe_out o;
	struct words path;
	*ret_other = false;
	if (!stat_path(fd, "", AT_EMPTY_PATH, &o.stat[0]))
		return 0;
	long how = raw3(SYS_fcntl, fd, F_GETFL, 0);
	if (how < 0 || (how & O_PATH) || !is_recorded_kind(&o.stat[0])) {
		*ret_other = true;
		return 0;
	}
	safe_begin(&o, SAFE_HELD);
	if (S_ISREG(o.stat[0].mode) && (how & O_ACCMODE) != O_RDONLY)
		flags |= ENTRY_WRITE;
	o.e.nstat = 1;
	o.e.fd = fd;
	o.e.a = (uint64_t)how;
	words_begin(&path);
	entry_identify(&o, fd, AT_FDCWD, NULL, &path);
	o.e.oid = entry_put(fd, flags);
	safe_emit(&o);
	words_end(&path);
	return o.e.oid;
}

struct entry *entry_learn(int fd)
{
	struct entry *e = safe_vforked ? NULL : entry_at(fd, true);
	bool other;
	if (e && entry_live(e))
		return e;
	if (emit_held_descriptor(fd, 0, &other))
		return e;
	if (e && other) {
		entry_put(fd, ENTRY_OTHER);
		return e;
	}
	return NULL;
}

/* `to` is a copy of `from`. */
void entry_dup(int from, int to)
{
	if (safe_vforked || safe_self->born || from == to)
		return;
	struct entry *e = entry_at(from, true), *n = entry_at(to, true);
	if (!n || !entry_live(e)) {
		if (n)
			n->oid = 0;
		return; /* found out about when it is used */
	}
	struct entry copy = *e;
	copy.handle = NULL;
	*n = copy;
	if (copy.flags & ENTRY_OTHER)
		return;
	struct safe_out o;
	safe_begin(&o, SAFE_DUP);
	o.e.fd = to;
	o.e.oid = copy.oid;
	safe_emit(&o);
}

/* Tells what was counted; nothing where no call was. */
static void emit_io_row(uint32_t oid, const struct safe_row *row)
{
	struct safe_out o;
	if (!row->calls && !row->failed)
		return;
	safe_begin(&o, SAFE_IO);
	o.e.oid = oid;
	o.more = row;
	o.nmore = sizeof(*row);
	safe_emit(&o);
}

/* False: fd has none, somebody else took it, or it is of a kind that is not recorded. *ret: a copy of it. */
bool entry_take(int fd, struct entry *ret)
{
	struct entry *e = entry_at(fd, false);
	if (safe_vforked || !entry_live(e))
		return false;
	*ret = *e;
	uint32_t oid = ret->oid;
	return __atomic_compare_exchange_n(&e->oid, &oid, 0, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED) &&
	       !(ret->flags & ENTRY_OTHER);
}

/* Tells what was counted, and the file's state by the descriptor look; -1: none. */
void entry_emit_close(const struct entry *e, int fd, int look, enum safe_close how)
{
	struct safe_handle *h = e->handle;
	if (how != SAFE_SNAPSHOT && h && h->oid == e->oid) {
		for (int i = 0; i < 2; i++) {
			emit_io_row(e->oid, &h->row[i]);
			memset(&h->row[i], 0, sizeof(h->row[i]));
		}
		__atomic_store_n(&h->oid, 0, __ATOMIC_RELEASE);
	}
	struct safe_out o;
	safe_begin(&o, SAFE_CLOSE);
	o.e.fd = fd;
	o.e.oid = e->oid;
	o.e.a = how;
	if ((e->flags & ENTRY_WRITE) && look >= 0 && stat_path(look, "", AT_EMPTY_PATH, &o.stat[0]))
		o.e.nstat = 1;
	safe_emit(&o);
}

void entry_close(int fd)
{
	struct entry was;
	if (entry_take(fd, &was))
		entry_emit_close(&was, fd, fd, SAFE_CLOSED);
}

void entry_snapshots(bool ending, int pending)
{
	if (safe_vforked)
		return;
	for (int fd = 0; fd < FIRST * (PAGES + 1); fd++) {
		if (fd >= FIRST && !pages[fd / FIRST - 1]) {
			fd |= FIRST - 1;
			continue;
		}
		struct entry *e = entry_at(fd, false);
		if (!entry_live(e) || (e->flags & ENTRY_OTHER) || !(e->flags & ENTRY_WRITE))
			continue;
		/* What stdio still holds is written when this library cannot look any more. */
		if (ending && fd == pending)
			entry_emit_close(e, fd, -1, SAFE_FLUSHES);
		else if (ending && (e->flags & ENTRY_STREAM))
			entry_emit_close(e, fd, -1, SAFE_MAY_FLUSH);
		else
			entry_emit_close(e, fd, fd, SAFE_SNAPSHOT);
	}
}

/* Both bounds are among them. */
void entry_close_range(unsigned from, unsigned to)
{
	if (safe_vforked)
		return;
	for (unsigned fd = from; fd <= to && fd < FIRST * (PAGES + 1u); fd++) {
		if (fd >= FIRST && !pages[fd / FIRST - 1]) {
			fd |= FIRST - 1;
			continue;
		}
		entry_close((int)fd);
	}
}

void entry_walk(void)
{
	char room[512] __attribute__((aligned(8)));
	bool other;
	long dir = raw6(SYS_openat, AT_FDCWD, (long)"/proc/thread-self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0, 0, 0);
	if (dir < 0)
		return;
	for (long n; (n = raw3(SYS_getdents64, dir, (long)room, sizeof(room))) > 0;)
		for (long at = 0; at < n;) {
			struct dirent64 *d = (struct dirent64 *)(void *)(room + at);
			at += d->d_reclen;
			int fd = 0;
			const char *p = d->d_name;
			for (; *p >= '0' && *p <= '9' && fd < 1000000; p++)
				fd = fd * 10 + (*p - '0');
			if (*p || p == d->d_name || fd == dir || (!safe_vforked && entry_live(entry_at(fd, false))))
				continue;
			emit_held_descriptor(fd, 0, &other);
		}
	raw1(SYS_close, dir);
}

/* ---- counters ---- */

/* A free place for counters of that descriptor. NULL: no room. */
static struct safe_handle *new_handle(uint32_t oid)
{
	struct self *s = safe_self;
	for (unsigned i = 0; i < sizeof(s->counters) / sizeof(s->counters[0]); i++) {
		struct safe_chunk *c = __atomic_load_n(&s->counters[i], __ATOMIC_ACQUIRE), *none = NULL;
		if (!c) {
			c = safe_claim(SAFE_COUNTERS);
			if (!c)
				return NULL;
			if (!__atomic_compare_exchange_n(&s->counters[i], &none, c, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
				__atomic_store_n(&c->owner, 0, __ATOMIC_RELEASE);
				c = none;
			}
		}
		struct safe_handle *h = (struct safe_handle *)(void *)c->room;
		for (int k = 0; k < SAFE_HANDLES; k++, h++) {
			uint32_t free = 0;
			if (!__atomic_load_n(&h->oid, __ATOMIC_RELAXED) &&
			    __atomic_compare_exchange_n(&h->oid, &free, oid, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
				h->pid = s->pid;
				h->image = s->image;
				return h;
			}
		}
	}
	return NULL;
}

#define ADD(what, n)                                                                                                   \
	do {                                                                                                               \
		if (&__libc_single_threaded && __libc_single_threaded)                                                         \
			(what) += (n);                                                                                             \
		else                                                                                                           \
			__atomic_fetch_add(&(what), (n), __ATOMIC_RELAXED);                                                        \
	} while (0)

/* Adds one call to the row of its kind: bytes, calls, failures and time (ns). t0: when the call began (ns); r: its
 * result, below 0: it failed. */
static void row_add(struct safe_row *row, int64_t t0, int64_t r)
{
	int64_t t1 = safe_now();
	if (!row->first)
		row->first = t0;
	row->last = t1;
	ADD(row->spent, (uint64_t)(t1 - t0));
	if (r < 0) {
		ADD(row->failed, 1);
		return;
	}
	ADD(row->calls, 1);
	ADD(row->bytes, (uint64_t)r);
	if (!safe_vforked)
		ADD(safe_self->rows[row->write], (uint64_t)r);
	if ((uint64_t)r > row->largest)
		row->largest = (uint64_t)r;
	ADD(row->sizes[size_class((uint64_t)r)], 1);
}

/* Tells of a call on a file that has no counters of its own: it is said by itself. */
static void count_alone(uint32_t oid, bool write, unsigned api, int64_t t0, int64_t r)
{
	struct safe_row row = {.api = (uint8_t)api, .write = write};
	row_add(&row, t0, r);
	emit_io_row(oid, &row);
}

void entry_count(int fd, bool write, unsigned api, int64_t t0, int64_t r, bool total)
{
	struct self *s = safe_self;
	struct entry *e = safe_vforked ? NULL : entry_at(fd, false);
	if (total && r > 0 && !safe_vforked)
		ADD(s->moved[write], (uint64_t)r);
	if (e && entry_live(e) && e->handle) {
		struct safe_row *row = &e->handle->row[write];
		if (row->api == api && row->write == write) {
			row_add(row, t0, r);
			return;
		}
	}
	if (r < 0 && errno == EBADF)
		return;
	int keep = errno;
	if (safe_vforked) {
		bool other;
		uint32_t oid = emit_held_descriptor(fd, 0, &other);
		if (oid)
			count_alone(oid, write, api, t0, r);
		errno = keep;
		return;
	}
	e = entry_learn(fd);
	if (!e || (e->flags & ENTRY_OTHER)) {
		errno = keep;
		return;
	}
	struct safe_handle *h = e->handle;
	if (!h) {
		h = new_handle(e->oid);
		e->handle = h;
	}
	struct safe_row *row = h ? &h->row[write] : NULL;
	if (row && !row->calls && !row->failed) { /* its first */
		row->write = write;
		__atomic_store_n(&row->api, (uint8_t)api, __ATOMIC_RELEASE);
	}
	if (row && row->api == api)
		row_add(row, t0, r);
	else
		count_alone(e->oid, write, api, t0, r);
	errno = keep;
}
