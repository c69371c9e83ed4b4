/* The calls that open, copy and close descriptors, stdio's streams among them; sockets. */
#include "capture/preload/library/safe.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#ifndef SYS_landlock_restrict_self /* newer than some headers */
#define SYS_landlock_restrict_self 446
#endif

int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
int __openat_2(int dirfd, const char *path, int flags);
int __openat64_2(int dirfd, const char *path, int flags);

/* What was there before a call that may create or empty it. */
static void before_open(int dirfd, const char *path, int flags, struct safe_stat *ret)
{
	ret->flags = 0;
	ret->ino = 0;
	if (!safe_self->opening) {
		int keep = errno;
		safe_opening();
		errno = keep;
	}
	if (((flags & O_CREAT) && !(flags & O_EXCL)) || (flags & O_TRUNC)) {
		int keep = errno;
		stat_path(dirfd, path, flags & O_NOFOLLOW ? AT_SYMLINK_NOFOLLOW : 0, ret);
		errno = keep;
	}
}

/* Says that there was nothing at the path. One that cannot be made absolute is not told of. */
static void emit_absent_path(int dirfd, const char *path)
{
	struct safe_out o;
	struct words w;
	words_begin(&w);
	safe_begin(&o, SAFE_ABSENT);
	words_add_path(&w, dirfd, path);
	if (w.n) {
		if (path[strlen(path) - 1] == '/' && w.n > 1 && w.n + 1 < w.room) /* as a folder, which is another question */
			memcpy(w.p + w.n, "/", 2);
		safe_string(&o, w.p);
		safe_emit(&o);
	}
	words_end(&w);
}

/* path NULL: only the descriptor names it. */
static void after_open(int dirfd, const char *path, int flags, int fd, const struct safe_stat *before, uint32_t entry)
{
	int keep = errno;
	struct safe_out o;
	struct words name;
	if (fd < 0) {
		bool folder = flags & (O_PATH | O_DIRECTORY);
		if ((keep == ENOENT || (keep == ENOTDIR && !folder)) && path && *path && !(flags & (O_CREAT | O_PATH)))
			emit_absent_path(dirfd, path);
		errno = keep;
		return;
	}
	if ((flags & (O_PATH | O_DIRECTORY)) && (flags & O_TMPFILE) != O_TMPFILE) {
		entry_put(fd, ENTRY_OTHER);
		errno = keep;
		return;
	}
	if (!stat_path(fd, "", AT_EMPTY_PATH, &o.stat[0]) || S_ISDIR(o.stat[0].mode)) {
		entry_put(fd, ENTRY_OTHER);
		errno = keep;
		return;
	}
	safe_begin(&o, SAFE_OPEN);
	bool writes = (flags & O_ACCMODE) != O_RDONLY;
	if (S_ISREG(o.stat[0].mode))
		entry |= writes || (flags & O_TRUNC) ? ENTRY_WRITE : 0;
	o.e.nstat = 1;
	o.e.fd = fd;
	o.e.a = (uint64_t)(unsigned)flags;
	if ((flags & O_TMPFILE) == O_TMPFILE)
		o.e.b = SAFE_TMPFILE | SAFE_CREATED;
	else if ((flags & O_CREAT) && ((flags & O_EXCL) || (before->flags & SAFE_HAS_NOT)))
		o.e.b = SAFE_CREATED;
	if ((flags & O_TRUNC) && before->ino) {
		o.stat[1] = *before;
		o.e.nstat = 2;
	}
	words_begin(&name);
	entry_identify(&o, fd, dirfd, path, &name);
	bool recorded = S_ISREG(o.stat[0].mode) || S_ISFIFO(o.stat[0].mode) || S_ISCHR(o.stat[0].mode);
	o.e.oid = entry_put(fd, recorded ? entry : ENTRY_OTHER);
	safe_emit(&o);
	words_end(&name);
	errno = keep;
}

#define OPENS(name, dirfd, args, call, with_mode)                                                                      \
	REAL_OF(name);                                                                                                     \
	EXPORT int name args                                                                                               \
	{                                                                                                                  \
		with_mode;                                                                                                     \
		if (!safe_on())                                                                                                \
			return REAL(name) call;                                                                                    \
		struct safe_stat before;                                                                                       \
		before_open(dirfd, path, flags, &before);                                                                      \
		int fd = REAL(name) call;                                                                                      \
		after_open(dirfd, path, flags, fd, &before, 0);                                                                \
		return fd;                                                                                                     \
	}

/* Names that the call itself chooses. */
#define MAKES(name, args, call)                                                                                        \
	REAL_OF(name);                                                                                                     \
	EXPORT int name args                                                                                               \
	{                                                                                                                  \
		int fd = REAL(name) call;                                                                                      \
		if (fd >= 0 && safe_on())                                                                                      \
			after_open(AT_FDCWD, path, O_RDWR | O_CREAT | O_EXCL, fd, &(struct safe_stat){0}, 0);                      \
		return fd;                                                                                                     \
	}

#include "capture/interpose/opens.h"

/* ---- copies and ends ---- */

REAL_OF(close);
/* As the C library's; tells that fd is closed before it is. */
EXPORT int close(int fd)
{
	if (safe_on()) {
		int keep = errno;
		entry_close(fd);
		errno = keep;
	}
	return REAL(close)(fd);
}

REAL_OF(dup);
/* As the C library's; notes the copy. */
EXPORT int dup(int from)
{
	int fd = REAL(dup)(from);
	if (fd >= 0 && safe_on())
		entry_dup(from, fd);
	return fd;
}

/* Notes that fd is a copy of from; negative: the call failed. Keeps errno. */
static void note_duplicate(int from, int fd)
{
	int keep = errno;
	if (fd >= 0)
		entry_dup(from, fd);
	errno = keep;
}

REAL_OF(dup2);
/* In the place of the C library's: `to` is closed by it. */
EXPORT int dup2(int from, int to)
{
	bool on = from != to && safe_on();
	if (on) {
		int keep = errno;
		entry_close(to);
		errno = keep;
	}
	int fd = REAL(dup2)(from, to);
	if (on)
		note_duplicate(from, fd);
	return fd;
}

REAL_OF(dup3);
/* As the C library's; what `to` was is noted as closed before. */
EXPORT int dup3(int from, int to, int flags)
{
	bool on = from != to && safe_on();
	if (on) {
		int keep = errno;
		entry_close(to);
		errno = keep;
	}
	int fd = REAL(dup3)(from, to, flags);
	if (on)
		note_duplicate(from, fd);
	return fd;
}

#define CONTROLS(name)                                                                                                 \
	REAL_OF(name);                                                                                                     \
	EXPORT int name(int fd, int op, ...)                                                                               \
	{                                                                                                                  \
		va_list ap;                                                                                                    \
		va_start(ap, op);                                                                                              \
		void *arg = va_arg(ap, void *);                                                                                \
		va_end(ap);                                                                                                    \
		int r = REAL(name)(fd, op, arg);                                                                               \
		if (r >= 0 && (op == F_DUPFD || op == F_DUPFD_CLOEXEC) && safe_on())                                           \
			note_duplicate(fd, r);                                                                                     \
		return r;                                                                                                      \
	}

CONTROLS(fcntl)
CONTROLS(fcntl64)

REAL_OF(close_range);
/* As the C library's; notes what it closes. */
EXPORT int close_range(unsigned from, unsigned to, int flags)
{
	enum { CLOEXEC = 4 }; /* only marks them */
	if (!(flags & CLOEXEC) && safe_on()) {
		int keep = errno;
		entry_close_range(from, to);
		errno = keep;
	}
	return REAL(close_range)(from, to, flags);
}

REAL_OF(closefrom);
/* As the C library's; notes what it closes. */
EXPORT void closefrom(int from)
{
	if (safe_on()) {
		int keep = errno;
		entry_close_range(from < 0 ? 0 : (unsigned)from, ~0u);
		errno = keep;
	}
	REAL(closefrom)(from);
}

/* ---- streams ---- */

/* fopen's mode as flags for open. */
static int parse_open_mode(const char *mode)
{
	bool both = false, excl = false;
	for (const char *p = mode; *p && *p != ','; p++) {
		both |= *p == '+';
		excl |= *p == 'x';
	}
	int acc = both ? O_RDWR : O_WRONLY, x = excl ? O_EXCL : 0;
	return *mode == 'w'   ? acc | O_CREAT | O_TRUNC | x
	       : *mode == 'a' ? acc | O_CREAT | O_APPEND | x
	                      : (both ? O_RDWR : O_RDONLY);
}

/* Counts streams of stdio that are open. n may be negative: streams that closed. */
static void count_streams(int n)
{
	__atomic_add_fetch(&safe_self->streams, (uint32_t)n, __ATOMIC_RELAXED);
}

#define FOPENS(name)                                                                                                   \
	REAL_OF(name);                                                                                                     \
	EXPORT FILE *name(const char *restrict path, const char *restrict mode)                                            \
	{                                                                                                                  \
		if (!safe_on())                                                                                                \
			return REAL(name)(path, mode);                                                                             \
		struct safe_stat before;                                                                                       \
		int flags = parse_open_mode(mode);                                                                             \
		before_open(AT_FDCWD, path, flags, &before);                                                                   \
		FILE *f = REAL(name)(path, mode);                                                                              \
		after_open(AT_FDCWD, path, flags, f ? fileno(f) : -1, &before, ENTRY_STREAM);                                  \
		if (f)                                                                                                         \
			count_streams(1);                                                                                          \
		return f;                                                                                                      \
	}

FOPENS(fopen)
FOPENS(fopen64)

/* A file that is closed with what stdio still had for it: looked at through a copy of the descriptor, so that the end
 * is seen, and only where it may have been written. */
struct closing {
	struct entry was;
	bool taken;
	int fd, look;
};

/* Before fclose: takes fd out of the table, and keeps a copy of the descriptor if the file may have been written. */
static void stream_closes(FILE *f, struct closing *c)
{
	int keep = errno;
	*c = (struct closing){.fd = fileno(f), .look = -1};
	c->taken = c->fd >= 0 && entry_take(c->fd, &c->was);
	if (c->taken && (c->was.flags & ENTRY_WRITE))
		c->look = (int)raw3(SYS_fcntl, c->fd, F_DUPFD_CLOEXEC, 3);
	errno = keep;
}

/* After fclose: tells the end as it is now, and closes the copy. */
static void stream_closed(const struct closing *c)
{
	int keep = errno;
	if (c->taken)
		entry_emit_close(&c->was, c->fd, c->look, SAFE_CLOSED);
	if (c->look >= 0)
		raw1(SYS_close, c->look);
	errno = keep;
}

#define FREOPENS(name)                                                                                                 \
	REAL_OF(name);                                                                                                     \
	EXPORT FILE *name(const char *restrict path, const char *restrict mode, FILE *restrict f)                          \
	{                                                                                                                  \
		struct safe_stat before;                                                                                       \
		struct closing c;                                                                                              \
		if (!path || !safe_on())                                                                                       \
			return REAL(name)(path, mode, f);                                                                          \
		int flags = parse_open_mode(mode);                                                                             \
		before_open(AT_FDCWD, path, flags, &before);                                                                   \
		stream_closes(f, &c);                                                                                          \
		FILE *r = REAL(name)(path, mode, f);                                                                           \
		stream_closed(&c);                                                                                             \
		after_open(AT_FDCWD, path, flags, r ? fileno(r) : -1, &before, ENTRY_STREAM);                                  \
		if (r)                                                                                                         \
			count_streams(1);                                                                                          \
		return r;                                                                                                      \
	}

FREOPENS(freopen)
FREOPENS(freopen64)

REAL_OF(fclose);
/* In the place of the C library's: what its buffer holds is written by the close. */
EXPORT int fclose(FILE *f)
{
	struct closing c;
	if (!safe_on())
		return REAL(fclose)(f);
	stream_closes(f, &c);
	int r = REAL(fclose)(f);
	stream_closed(&c);
	if (safe_self->streams)
		count_streams(-1);
	return r;
}

/* Streams on descriptors that come from elsewhere. */
static void has_stream(FILE *f)
{
	int keep = errno;
	struct entry *e = f && safe_on() && !safe_vforked ? entry_learn(fileno(f)) : NULL;
	if (e)
		e->flags |= ENTRY_STREAM;
	if (f && safe_on())
		count_streams(1);
	errno = keep;
}

REAL_OF(fdopen);
/* As the C library's; counts the stream. */
EXPORT FILE *fdopen(int fd, const char *mode)
{
	FILE *f = REAL(fdopen)(fd, mode);
	has_stream(f);
	return f;
}

REAL_OF(popen);
/* As the C library's; counts the stream. */
EXPORT FILE *popen(const char *command, const char *mode)
{
	FILE *f = REAL(popen)(command, mode);
	has_stream(f);
	return f;
}

REAL_OF(pclose);
/* In the place of the C library's: as fclose. */
EXPORT int pclose(FILE *f)
{
	struct closing c;
	if (!safe_on())
		return REAL(pclose)(f);
	stream_closes(f, &c);
	int r = REAL(pclose)(f);
	stream_closed(&c);
	if (safe_self->streams)
		count_streams(-1);
	return r;
}

#define TMPFILES(name)                                                                                                 \
	REAL_OF(name);                                                                                                     \
	EXPORT FILE *name(void)                                                                                            \
	{                                                                                                                  \
		FILE *f = REAL(name)();                                                                                        \
		if (f && safe_on()) {                                                                                          \
			after_open(AT_FDCWD, NULL, O_RDWR | O_TMPFILE, fileno(f), &(struct safe_stat){0}, ENTRY_STREAM);           \
			count_streams(1);                                                                                          \
		}                                                                                                              \
		return f;                                                                                                      \
	}

/* what: which call it was; addr: NULL: what getsockname says. errno stays. */
TMPFILES(tmpfile)
TMPFILES(tmpfile64)

/* ---- sockets ---- */

static void safe_emit_socket(unsigned what, int fd, const void *addr, size_t n)
{
	int keep = errno;
	struct safe_out o;
	struct sockaddr_storage room;
	socklen_t len = sizeof(room);
	if (!addr) { /* what the kernel chose, or the address that was listened at */
		if (raw3(SYS_getsockname, fd, (long)&room, (long)&len) < 0)
			return;
		addr = &room;
		n = len;
	}
	if (n < sizeof(sa_family_t) || n > sizeof(room))
		return;
	safe_begin(&o, SAFE_SOCKET);
	o.e.a = what;
	o.e.fd = fd;
	o.e.oid = entry_put(fd, 0);
	o.str[0] = addr;
	o.len[0] = n;
	o.e.nstr = 1;
	/* Of a Unix socket the address is a path, perhaps a relative one. */
	char path[120];
	struct words full;
	const struct sockaddr *sa = addr;
	size_t head = sizeof(sa_family_t);
	words_begin(&full);
	if (sa->sa_family == AF_UNIX && n > head && n - head < sizeof(path) && ((const char *)addr)[head]) {
		memcpy(path, (const char *)addr + head, n - head);
		path[n - head] = '\0';
		words_add_path(&full, AT_FDCWD, path);
		safe_string(&o, full.p);
	}
	safe_emit(&o);
	words_end(&full);
	errno = keep;
}

REAL_OF(connect);
EXPORT int connect(int fd, __CONST_SOCKADDR_ARG addr, socklen_t n)
{
	const struct sockaddr *sa = addr.__sockaddr__;
	int r = REAL(connect)(fd, addr, n);
	bool begun = r == 0 || errno == EINPROGRESS || errno == EINTR;
	if (begun && n >= sizeof(sa_family_t) && sa->sa_family != AF_UNSPEC && safe_on())
		safe_emit_socket(0, fd, sa, n);
	return r;
}

REAL_OF(bind);
EXPORT int bind(int fd, __CONST_SOCKADDR_ARG addr, socklen_t n)
{
	int r = REAL(bind)(fd, addr, n);
	if (r == 0 && safe_on())
		safe_emit_socket(1, fd, NULL, 0);
	return r;
}

REAL_OF(accept);
EXPORT int accept(int fd, __SOCKADDR_ARG addr, socklen_t *restrict n)
{
	int r = REAL(accept)(fd, addr, n);
	if (r >= 0 && safe_on())
		safe_emit_socket(2, r, NULL, 0);
	return r;
}

REAL_OF(accept4);
EXPORT int accept4(int fd, __SOCKADDR_ARG addr, socklen_t *restrict n, int flags)
{
	int r = REAL(accept4)(fd, addr, n, flags);
	if (r >= 0 && safe_on())
		safe_emit_socket(2, r, NULL, 0);
	return r;
}

/* Which two ends belong together, no one can tell when both are closed. */
REAL_OF(socketpair);
/* Tells which two ends belong together, by their inodes. */
EXPORT int socketpair(int domain, int type, int protocol, int fds[2])
{
	int r = REAL(socketpair)(domain, type, protocol, fds);
	struct safe_out o;
	struct safe_stat a, b;
	if (r == 0 && safe_on() && stat_path(fds[0], "", AT_EMPTY_PATH, &a) && stat_path(fds[1], "", AT_EMPTY_PATH, &b)) {
		safe_begin(&o, SAFE_PAIR);
		o.e.a = a.ino;
		o.e.b = b.ino;
		safe_emit(&o);
	}
	return r;
}

/* ---- syscall(2): the calls that have no function of their own in older C libraries ---- */

/* Tells something of this process that has no more than a kind. */
static void emit_note(enum safe_note what)
{
	struct safe_out o;
	safe_begin(&o, SAFE_NOTE);
	o.e.a = what;
	safe_emit(&o);
}

#define HIDDEN __attribute__((visibility("hidden")))
typedef long (*syscall_fn)(long nr, ...);
/* Both are read by syscall itself, in safe_start.c. */
HIDDEN extern void *safe_real_syscall;
HIDDEN extern const unsigned char safe_wanted_calls[512];
HIDDEN long safe_syscall(long nr, ...);

void *safe_real_syscall;
const unsigned char safe_wanted_calls[512] = {
#ifdef SYS_open
    [SYS_open] = 1,
    [SYS_creat] = 1,
    [SYS_dup2] = 1,
    [SYS_rename] = 1,
    [SYS_unlink] = 1,
    [SYS_link] = 1,
#endif
    [SYS_openat] = 1,
    [SYS_close] = 1,
    [SYS_dup] = 1,
    [SYS_dup3] = 1,
    [SYS_fcntl] = 1,
    [SYS_close_range] = 1,
    [SYS_read] = 1,
    [SYS_write] = 1,
    [SYS_pread64] = 1,
    [SYS_pwrite64] = 1,
    [SYS_sendfile] = 1,
    [SYS_copy_file_range] = 1,
    [SYS_renameat2] = 1,
    [SYS_renameat] = 1,
    [SYS_unlinkat] = 1,
    [SYS_linkat] = 1,
    [SYS_preadv2] = 1,
    [SYS_pwritev2] = 1,
    [SYS_execve] = 1,
    [SYS_execveat] = 1,
    [SYS_exit_group] = 1,
    [SYS_openat2] = 1,
    [SYS_seccomp] = 1,
    [SYS_prctl] = 1,
    [SYS_pivot_root] = 1,
    [SYS_io_uring_setup] = 1,
    [SYS_open_by_handle_at] = 1,
    [SYS_setuid] = 1,
    [SYS_setreuid] = 1,
    [SYS_setresuid] = 1,
    [SYS_landlock_restrict_self] = 1,
};

/* syscall(2) for programs that make calls by it: those that are recorded go to our functions. */
long safe_syscall(long nr, ...)
{
	va_list ap;
	long a[6];
	va_start(ap, nr);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	syscall_fn call = (syscall_fn)(safe_real_syscall ? safe_real_syscall : (safe_real_syscall = safe_next("syscall")));
	if (!safe_on())
		return call(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
	switch (nr) {
	case SYS_openat:
		return openat((int)a[0], (const char *)a[1], (int)a[2], (mode_t)a[3]);
#ifdef SYS_open
	case SYS_open:
		return open((const char *)a[0], (int)a[1], (mode_t)a[2]);
	case SYS_creat:
		return creat((const char *)a[0], (mode_t)a[1]);
	case SYS_dup2:
		return dup2((int)a[0], (int)a[1]);
	case SYS_rename:
		return rename((const char *)a[0], (const char *)a[1]);
	case SYS_unlink:
		return unlink((const char *)a[0]);
	case SYS_link:
		return link((const char *)a[0], (const char *)a[1]);
#endif
	case SYS_close:
		return close((int)a[0]);
	case SYS_dup:
		return dup((int)a[0]);
	case SYS_dup3:
		return dup3((int)a[0], (int)a[1], (int)a[2]);
	case SYS_fcntl:
		return fcntl((int)a[0], (int)a[1], a[2]);
	case SYS_close_range:
		return close_range((unsigned)a[0], (unsigned)a[1], (int)a[2]);
	case SYS_read:
		return read((int)a[0], (void *)a[1], (size_t)a[2]);
	case SYS_write:
		return write((int)a[0], (const void *)a[1], (size_t)a[2]);
	case SYS_pread64:
		return pread((int)a[0], (void *)a[1], (size_t)a[2], a[3]);
	case SYS_pwrite64:
		return pwrite((int)a[0], (const void *)a[1], (size_t)a[2], a[3]);
	case SYS_sendfile:
		return sendfile((int)a[0], (int)a[1], (off_t *)a[2], (size_t)a[3]);
	case SYS_copy_file_range:
		return copy_file_range((int)a[0], (off64_t *)a[1], (int)a[2], (off64_t *)a[3], (size_t)a[4], (unsigned)a[5]);
	case SYS_renameat2:
		return renameat2((int)a[0], (const char *)a[1], (int)a[2], (const char *)a[3], (unsigned)a[4]);
	case SYS_renameat:
		return renameat((int)a[0], (const char *)a[1], (int)a[2], (const char *)a[3]);
	case SYS_unlinkat:
		return unlinkat((int)a[0], (const char *)a[1], (int)a[2]);
	case SYS_linkat:
		return linkat((int)a[0], (const char *)a[1], (int)a[2], (const char *)a[3], (int)a[4]);
	case SYS_preadv2:
		return preadv2((int)a[0], (const struct iovec *)a[1], (int)a[2], a[3], (int)a[5]);
	case SYS_pwritev2:
		return pwritev2((int)a[0], (const struct iovec *)a[1], (int)a[2], a[3], (int)a[5]);
	case SYS_execve:
		return execve((const char *)a[0], (char *const *)a[1], (char *const *)a[2]);
	case SYS_execveat:
		return execveat((int)a[0], (const char *)a[1], (char *const *)a[2], (char *const *)a[3], (int)a[4]);
	case SYS_exit_group:
		_exit((int)a[0]);
	case SYS_openat2: {
		struct open_how how = {0};
		struct safe_stat before = {0};
		bool sound = (size_t)a[3] >= sizeof(how) && safe_peek((const void *)a[2], &how, sizeof(how));
		int flags = sound ? (int)how.flags : 0;
		/* Below a root of its own the path is looked up as the call will do it. */
		if (sound && (how.resolve & RESOLVE_IN_ROOT)) {
			struct open_how look = {.flags = O_PATH | O_CLOEXEC, .resolve = how.resolve};
			long there = raw6(SYS_openat2, a[0], a[1], (long)&look, sizeof(look), 0, 0);
			before.flags = there == -ENOENT ? SAFE_HAS_NOT : 0;
			if (there >= 0) {
				stat_path((int)there, "", AT_EMPTY_PATH, &before);
				raw1(SYS_close, there);
			}
		} else if (sound) {
			before_open((int)a[0], (const char *)a[1], flags, &before);
		}
		long fd = call(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
		if (sound && fd >= 0)
			after_open((int)a[0], (const char *)a[1], flags, (int)fd, &before, 0);
		return fd;
	}
	case SYS_pivot_root: {
		long r = call(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
		int keep = errno;
		if (r == 0)
			emit_note(SAFE_NOTE_ROOT);
		errno = keep;
		return r;
	}
	case SYS_seccomp: {
		enum { ASKS = 2 }; /* SECCOMP_GET_ACTION_AVAIL and what follows */
		bool begins = a[0] < ASKS && safe_filter_begins();
		long r = call(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
		if (begins)
			safe_filter_ends(r >= 0);
		return r;
	}
	/* Of the one thread that makes the call; the memory is all threads'. */
	case SYS_setuid:
	case SYS_setreuid:
	case SYS_setresuid: {
		long r = call(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
		if (r == 0 && !safe_same_user())
			safe_leave(SAFE_NOTE_USER);
		return r;
	}
	case SYS_landlock_restrict_self: {
		long r = call(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
		if (r == 0)
			safe_leave(SAFE_NOTE_CONFINED);
		return r;
	}
	case SYS_prctl:
		return prctl((int)a[0], a[1], a[2], a[3], a[4]);
	case SYS_io_uring_setup:
		emit_note(SAFE_NOTE_URING);
		break;
	case SYS_open_by_handle_at:
		emit_note(SAFE_NOTE_HANDLE);
		break;
	default:
		break;
	}
	return call(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
}
