/* The calls that move bytes. */
#include "capture/preload/library/safe.h"
#include "event/event.h"

#include <aio.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define CLONE_WHOLE 0x40049409u
#define CLONE_RANGE 0x4020940du

ssize_t __read_chk(int fd, void *buf, size_t n, size_t size);
ssize_t __pread_chk(int fd, void *buf, size_t n, off_t off, size_t size);
ssize_t __pread64_chk(int fd, void *buf, size_t n, off64_t off, size_t size);
ssize_t __recv_chk(int fd, void *buf, size_t n, size_t size, int flags);
ssize_t __recvfrom_chk(int fd, void *buf, size_t n, size_t size, int flags, struct sockaddr *addr, socklen_t *len);

/* name(args) moves bytes through fd, one way. */
#define MOVES(name, way, kind, total, args, call)                                                                      \
	REAL_OF(name);                                                                                                     \
	EXPORT ssize_t name args                                                                                           \
	{                                                                                                                  \
		if (!safe_on())                                                                                                \
			return REAL(name) call;                                                                                    \
		int64_t t0 = safe_now();                                                                                       \
		ssize_t r = REAL(name) call;                                                                                   \
		entry_count(fd, way, TERM_ioapi_##kind, t0, r, total);                                                         \
		return r;                                                                                                      \
	}

/* Of several messages; -1 where the call failed. */
MOVES(read, false, read, true, (int fd, void *buf, size_t n), (fd, buf, n))
MOVES(__read_chk, false, read, true, (int fd, void *buf, size_t n, size_t size), (fd, buf, n, size))
MOVES(write, true, read, true, (int fd, const void *buf, size_t n), (fd, buf, n))
MOVES(pread, false, pread, true, (int fd, void *buf, size_t n, off_t off), (fd, buf, n, off))
MOVES(pread64, false, pread, true, (int fd, void *buf, size_t n, off64_t off), (fd, buf, n, off))
MOVES(__pread_chk, false, pread, true, (int fd, void *buf, size_t n, off_t off, size_t size), (fd, buf, n, off, size))
MOVES(__pread64_chk, false, pread, true, (int fd, void *buf, size_t n, off64_t off, size_t size),
      (fd, buf, n, off, size))
MOVES(pwrite, true, pread, true, (int fd, const void *buf, size_t n, off_t off), (fd, buf, n, off))
MOVES(pwrite64, true, pread, true, (int fd, const void *buf, size_t n, off64_t off), (fd, buf, n, off))
MOVES(readv, false, readv, true, (int fd, const struct iovec *v, int n), (fd, v, n))
MOVES(writev, true, readv, true, (int fd, const struct iovec *v, int n), (fd, v, n))
MOVES(preadv, false, preadv, true, (int fd, const struct iovec *v, int n, off_t off), (fd, v, n, off))
MOVES(preadv64, false, preadv, true, (int fd, const struct iovec *v, int n, off64_t off), (fd, v, n, off))
MOVES(pwritev, true, preadv, true, (int fd, const struct iovec *v, int n, off_t off), (fd, v, n, off))
MOVES(pwritev64, true, preadv, true, (int fd, const struct iovec *v, int n, off64_t off), (fd, v, n, off))
MOVES(preadv2, false, preadv, true, (int fd, const struct iovec *v, int n, off_t off, int flags),
      (fd, v, n, off, flags))
MOVES(preadv64v2, false, preadv, true, (int fd, const struct iovec *v, int n, off64_t off, int flags),
      (fd, v, n, off, flags))
MOVES(pwritev2, true, preadv, true, (int fd, const struct iovec *v, int n, off_t off, int flags),
      (fd, v, n, off, flags))
MOVES(pwritev64v2, true, preadv, true, (int fd, const struct iovec *v, int n, off64_t off, int flags),
      (fd, v, n, off, flags))
/* The kernel's totals do not have what goes through these. */
MOVES(recv, false, recv, false, (int fd, void *buf, size_t n, int flags), (fd, buf, n, flags))
MOVES(__recv_chk, false, recv, false, (int fd, void *buf, size_t n, size_t size, int flags), (fd, buf, n, size, flags))
MOVES(recvfrom, false, recv, false,
      (int fd, void *restrict buf, size_t n, int flags, __SOCKADDR_ARG addr, socklen_t *restrict len),
      (fd, buf, n, flags, addr, len))
MOVES(__recvfrom_chk, false, recv, false,
      (int fd, void *buf, size_t n, size_t size, int flags, struct sockaddr *addr, socklen_t *len),
      (fd, buf, n, size, flags, addr, len))
MOVES(recvmsg, false, recv, false, (int fd, struct msghdr *m, int flags), (fd, m, flags))
MOVES(send, true, recv, false, (int fd, const void *buf, size_t n, int flags), (fd, buf, n, flags))
MOVES(sendto, true, recv, false,
      (int fd, const void *buf, size_t n, int flags, __CONST_SOCKADDR_ARG addr, socklen_t len),
      (fd, buf, n, flags, addr, len))
MOVES(sendmsg, true, recv, false, (int fd, const struct msghdr *m, int flags), (fd, m, flags))

static int64_t sum_message_bytes(const struct mmsghdr *v, int n)
{
	int64_t sum = 0;
	for (int i = 0; i < n; i++)
		sum += v[i].msg_len;
	return n < 0 ? -1 : sum;
}

#ifdef __GLIBC__
typedef int message_flags;
#else
typedef unsigned message_flags;
#endif
REAL_OF(recvmmsg);
/* As the C library's; counts what was received. */
EXPORT int recvmmsg(int fd, struct mmsghdr *v, unsigned n, message_flags flags, struct timespec *t)
{
	bool on = safe_on();
	int64_t t0 = on ? safe_now() : 0;
	int r = REAL(recvmmsg)(fd, v, n, flags, t);
	if (on)
		entry_count(fd, false, TERM_ioapi_recv, t0, sum_message_bytes(v, r), false);
	return r;
}

REAL_OF(sendmmsg);
/* As the C library's; counts what was sent. */
EXPORT int sendmmsg(int fd, struct mmsghdr *v, unsigned n, message_flags flags)
{
	bool on = safe_on();
	int64_t t0 = on ? safe_now() : 0;
	int r = REAL(sendmmsg)(fd, v, n, flags);
	if (on)
		entry_count(fd, true, TERM_ioapi_recv, t0, sum_message_bytes(v, r), false);
	return r;
}

/* From one to the other. */
#define COPIES(name, kind, total, from, to, args, call)                                                                \
	REAL_OF(name);                                                                                                     \
	EXPORT ssize_t name args                                                                                           \
	{                                                                                                                  \
		if (!safe_on())                                                                                                \
			return REAL(name) call;                                                                                    \
		int64_t t0 = safe_now();                                                                                       \
		ssize_t r = REAL(name) call;                                                                                   \
		entry_count(from, false, TERM_ioapi_##kind, t0, r, total);                                                     \
		entry_count(to, true, TERM_ioapi_##kind, t0, r, total);                                                        \
		return r;                                                                                                      \
	}

COPIES(sendfile, sendfile, true, in, out, (int out, int in, off_t *off, size_t n), (out, in, off, n))
COPIES(sendfile64, sendfile, true, in, out, (int out, int in, off64_t *off, size_t n), (out, in, off, n))
COPIES(splice, splice, false, in, out, (int in, off64_t *a, int out, off64_t *b, size_t n, unsigned flags),
       (in, a, out, b, n, flags))
COPIES(tee, splice, false, in, out, (int in, int out, size_t n, unsigned flags), (in, out, n, flags))
COPIES(copy_file_range, copy, true, in, out, (int in, off64_t *a, int out, off64_t *b, size_t n, unsigned flags),
       (in, a, out, b, n, flags))

REAL_OF(vmsplice);
/* As the C library's; counts the bytes as read or written by how fd is open. */
EXPORT ssize_t vmsplice(int fd, const struct iovec *v, size_t n, unsigned flags)
{
	bool on = safe_on();
	int64_t t0 = on ? safe_now() : 0;
	ssize_t r = REAL(vmsplice)(fd, v, n, flags);
	if (on)
		entry_count(fd, (raw3(SYS_fcntl, fd, F_GETFL, 0) & O_ACCMODE) != O_RDONLY, TERM_ioapi_splice, t0, r, false);
	return r;
}

/* length 0: up to the end of the file. r: what the call gave; negative: it failed. */
static void count_clone(int from, int to, uint64_t length, int64_t t0, int r)
{
	struct safe_stat st;
	if (!length && r == 0 && stat_path(from, "", AT_EMPTY_PATH, &st))
		length = st.size;
	entry_count(from, false, TERM_ioapi_clone, t0, r < 0 ? -1 : (int64_t)length, false);
	entry_count(to, true, TERM_ioapi_clone, t0, r < 0 ? -1 : (int64_t)length, false);
}

REAL_OF(ioctl);
/* In the place of the C library's: of clones of files' extents alone something is noted. */
EXPORT int ioctl(int fd, unsigned long request, ...)
{
	va_list ap;
	va_start(ap, request);
	void *arg = va_arg(ap, void *);
	va_end(ap);
	bool clones = (uint32_t)request == CLONE_WHOLE || (uint32_t)request == CLONE_RANGE;
	if (!clones || !safe_on())
		return REAL(ioctl)(fd, request, arg);
	int64_t t0 = safe_now();
	int r = REAL(ioctl)(fd, request, arg);
	if ((uint32_t)request == CLONE_WHOLE) {
		count_clone((int)(intptr_t)arg, fd, 0, t0, r);
	} else if (r == 0) {
		struct {
			int64_t from;
			uint64_t offset, length, to;
		} range;
		memcpy(&range, arg, sizeof(range));
		count_clone((int)range.from, fd, range.length, t0, r);
	}
	return r;
}

/* ---- memory ---- */

/* What is mapped to be read may be made writable later: it is told as written to where the descriptor allows it. */
static void note_mapping(int fd, size_t length, int prot, int flags, int64_t t0)
{
	int keep = errno;
	bool shared = (flags & MAP_TYPE) != MAP_PRIVATE;
	struct entry *e = (flags & MAP_ANONYMOUS) || fd < 0 || safe_vforked ? NULL : entry_learn(fd);
	if (e && !(e->flags & ENTRY_OTHER)) {
		struct safe_out o;
		/* Descriptors that may not be written give no mapping that could. What is mapped to be read may be made
		 * writable later (mprotect): it counts as if it were, since nobody would see that. */
		bool writes = shared && (e->flags & ENTRY_WRITE) && (raw3(SYS_fcntl, fd, F_GETFL, 0) & O_ACCMODE) == O_RDWR;
		safe_begin(&o, SAFE_MAP);
		o.e.time = t0;
		o.e.fd = fd;
		o.e.oid = e->oid;
		o.e.a = writes;
		o.e.b = length;
		if (writes && stat_path(fd, "", AT_EMPTY_PATH, &o.stat[0]))
			o.e.nstat = 1;
		safe_emit(&o);
	}
	(void)prot;
	errno = keep;
}

REAL_OF(mmap);
/* As the C library's; a file that is mapped counts as read or written. It may be called before all else is ready. */
EXPORT void *mmap(void *at, size_t n, int prot, int flags, int fd, off_t off)
{
	if ((flags & MAP_ANONYMOUS) || !safe_on())
		return real_mmap.f || safe_self ? REAL(mmap)(at, n, prot, flags, fd, off)
		                                : safe_early_mmap(at, n, prot, flags, fd, off);
	int64_t t0 = safe_now();
	void *r = REAL(mmap)(at, n, prot, flags, fd, off);
	if (r != MAP_FAILED)
		note_mapping(fd, n, prot, flags, t0);
	return r;
}

REAL_OF(mmap64);
/* As the C library's; a file that is mapped counts as read or written. It may be called before all else is ready. */
EXPORT void *mmap64(void *at, size_t n, int prot, int flags, int fd, off64_t off)
{
	if ((flags & MAP_ANONYMOUS) || !safe_on())
		return real_mmap64.f || safe_self ? REAL(mmap64)(at, n, prot, flags, fd, off)
		                                  : safe_early_mmap(at, n, prot, flags, fd, off);
	int64_t t0 = safe_now();
	void *r = REAL(mmap64)(at, n, prot, flags, fd, off);
	if (r != MAP_FAILED)
		note_mapping(fd, n, prot, flags, t0);
	return r;
}

REAL_OF(shmat);
/* A segment that was attached is told, by its id. */
EXPORT void *shmat(int id, const void *at, int flags)
{
	void *r = REAL(shmat)(id, at, flags);
	if (r != (void *)-1 && safe_on()) {
		struct safe_out o;
		safe_begin(&o, SAFE_SHM);
		o.e.a = (uint64_t)(unsigned)id;
		o.e.b = (uint64_t)(unsigned)flags;
		safe_emit(&o);
	}
	return r;
}

/* ---- what changes a file without moving bytes; what moves bytes where this library does not stand ---- */

/* Tells that the file behind fd was changed other than by a write. Nothing if the call failed. Keeps errno. */
static void note_alteration(int fd, int r)
{
	int keep = errno;
	struct entry *e = r < 0 || !safe_on() || safe_vforked ? NULL : entry_learn(fd);
	if (e && !(e->flags & ENTRY_OTHER)) {
		struct safe_out o;
		safe_begin(&o, SAFE_ALTER);
		o.e.fd = fd;
		o.e.oid = e->oid;
		safe_emit(&o);
	}
	errno = keep;
}

#define ALTERS(name, args, call)                                                                                       \
	REAL_OF(name);                                                                                                     \
	EXPORT int name args                                                                                               \
	{                                                                                                                  \
		int r = REAL(name) call;                                                                                       \
		note_alteration(fd, r);                                                                                        \
		return r;                                                                                                      \
	}

ALTERS(ftruncate, (int fd, off_t n), (fd, n))
ALTERS(ftruncate64, (int fd, off64_t n), (fd, n))
ALTERS(fallocate, (int fd, int mode, off_t at, off_t n), (fd, mode, at, n))
ALTERS(fallocate64, (int fd, int mode, off64_t at, off64_t n), (fd, mode, at, n))
ALTERS(posix_fallocate, (int fd, off_t at, off_t n), (fd, at, n))
ALTERS(posix_fallocate64, (int fd, off64_t at, off64_t n), (fd, at, n))

/* The C library writes for these: the descriptor is to be known; the bytes will be missed from the totals. */
#define TOUCHES(name, args, call, file)                                                                                \
	REAL_OF(name);                                                                                                     \
	EXPORT int name args                                                                                               \
	{                                                                                                                  \
		int r = REAL(name) call, keep = errno;                                                                         \
		if (safe_on())                                                                                                 \
			entry_learn(file);                                                                                         \
		errno = keep;                                                                                                  \
		return r;                                                                                                      \
	}

TOUCHES(aio_read, (struct aiocb * a), (a), a->aio_fildes)
TOUCHES(aio_read64, (struct aiocb64 * a), (a), a->aio_fildes)
TOUCHES(aio_write, (struct aiocb * a), (a), a->aio_fildes)
TOUCHES(aio_write64, (struct aiocb64 * a), (a), a->aio_fildes)

/* Nothing of it stays in a buffer. */
REAL_OF(vdprintf);
/* As the C library's; counts what was written. */
EXPORT int vdprintf(int fd, const char *restrict format, va_list ap)
{
	bool on = safe_on();
	int64_t t0 = on ? safe_now() : 0;
	int r = REAL(vdprintf)(fd, format, ap);
	if (on)
		entry_count(fd, true, TERM_ioapi_read, t0, r, true);
	return r;
}

/* As the C library's; counts what was written. */
EXPORT int dprintf(int fd, const char *restrict format, ...)
{
	va_list ap;
	va_start(ap, format);
	int r = vdprintf(fd, format, ap);
	va_end(ap);
	return r;
}
