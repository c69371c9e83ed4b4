/* faults.c - a library for LD_PRELOAD that lets the n-th allocation or call of a program fail, or writes down what it
 * does to files. For tests; only in programs whose file is called stemma, so not in what they run.
 *
 *   FAULTS_COUNT=FILE   a file of 8 bytes that is mapped: the number of the call that comes next, over all processes
 *   FAULTS_AT=N         this one fails (from 1; 0 or absent: none)
 *   FAULTS_KIND=WORD    enomem, eio, enospc, eintr or short: how; a call that cannot fail so is not counted
 *   FAULTS_LASTS=1      all that come after it fail, too
 *   FAULTS_TRACE=FILE   appends what is done to files below FAULTS_UNDER, in order: a line each, and the bytes of a
 * write: W PATH OFFSET N, T PATH SIZE, C PATH, D PATH, R OLD NEW, L OLD NEW, U PATH, S PATH; names must have no blanks
 *
 * Calls that are counted: malloc, calloc, realloc; open, read, write, ftruncate, fallocate, fsync, close, mmap, rename,
 * link, unlink, mkdir and their kin. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);

enum kind { NONE, NOMEM, IO, FULL, INTERRUPTED, SHORT };
static enum kind kind;
static _Atomic uint64_t *counter;
static uint64_t at;
static bool lasts;
static char trace[PATH_MAX], under[PATH_MAX];

static const struct {
	const char *name;
	int number;
} kinds[] = {{"", 0}, {"enomem", ENOMEM}, {"eio", EIO}, {"enospc", ENOSPC}, {"eintr", EINTR}, {"short", 0}};

__attribute__((constructor)) static void begin(void)
{
	char exe[PATH_MAX];
	const char *file = getenv("FAULTS_COUNT"), *word = getenv("FAULTS_KIND"), *n = getenv("FAULTS_AT");
	ssize_t k = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	exe[k > 0 ? k : 0] = '\0';
	const char *base = strrchr(exe, '/');
	if (!base || strncmp(base, "/stemma", 7) != 0)
		return;
	if (getenv("FAULTS_TRACE") && getenv("FAULTS_UNDER")) {
		snprintf(under, sizeof(under), "%s/", getenv("FAULTS_UNDER"));
		snprintf(trace, sizeof(trace), "%s", getenv("FAULTS_TRACE"));
	}
	if (!file || !word)
		return;
	long fd = syscall(SYS_openat, AT_FDCWD, file, O_RDWR | O_CLOEXEC);
	void *p = (void *)syscall(SYS_mmap, NULL, sizeof(*counter), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	syscall(SYS_close, fd);
	at = n ? strtoull(n, NULL, 10) : 0;
	lasts = getenv("FAULTS_LASTS") != NULL;
	for (unsigned i = 1; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strcmp(kinds[i].name, word) == 0)
			kind = (enum kind)i;
	counter = p == MAP_FAILED ? NULL : p;
}

#define CAN(k) (1u << (k))
/* Does this call fail? can: the ways in which one of its sort may. */
static bool fails(unsigned can)
{
	if (!counter || !(can >> kind & 1))
		return false;
	uint64_t now = atomic_fetch_add(counter, 1) + 1;
	if (!at || now < at || (now > at && !lasts))
		return false;
	errno = kinds[kind].number;
	return true;
}

/* ---- what is done to files ---- */

static bool path_of(int fd, char ret[PATH_MAX])
{
	char link[40];
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t n = trace[0] ? readlink(link, ret, PATH_MAX - 1) : -1;
	if (n < 0)
		return false;
	ret[n] = '\0';
	ret[strcspn(ret, " ")] = '\0'; /* "/x/#123 (deleted)": a file that has no name */
	return strncmp(ret, under, strlen(under)) == 0 ||
	       (strlen(ret) + 1 == strlen(under) && !strncmp(ret, under, strlen(ret)));
}

static bool path_at(int dir, const char *name, char ret[PATH_MAX])
{
	char in[PATH_MAX];
	if (!trace[0])
		return false;
	if (name[0] == '/') {
		snprintf(ret, PATH_MAX, "%s", name);
	} else {
		if (dir == AT_FDCWD ? !getcwd(in, sizeof(in)) : !path_of(dir, in))
			return false;
		if (snprintf(ret, PATH_MAX, "%s/%s", in, name) >= PATH_MAX)
			return false;
	}
	return strncmp(ret, under, strlen(under)) == 0;
}

/* One write, so that lines of several processes do not mix. */
__attribute__((format(printf, 3, 4))) static void note(const void *bytes, size_t n, const char *fmt, ...)
{
	char line[2 * PATH_MAX + 64];
	int saved = errno;
	va_list ap;
	va_start(ap, fmt);
	int k = vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	struct iovec v[2] = {{line, (size_t)k}, {(void *)(uintptr_t)bytes, n}};
	long fd = syscall(SYS_openat, AT_FDCWD, trace, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	syscall(SYS_writev, fd, v, 2);
	syscall(SYS_close, fd);
	errno = saved;
}

static void note_write(int fd, const void *p, long n, off_t offset)
{
	char path[PATH_MAX];
	if (n > 0 && path_of(fd, path))
		note(p, (size_t)n, "W %s %lld %ld\n", path, (long long)offset, n);
}

/* ---- memory ---- */

void *malloc(size_t n)
{
	return fails(CAN(NOMEM)) ? NULL : __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
	return fails(CAN(NOMEM)) ? NULL : __libc_calloc(n, size);
}

void *realloc(void *p, size_t n)
{
	return n && fails(CAN(NOMEM)) ? NULL : __libc_realloc(p, n);
}

static void *map(void *p, size_t n, int prot, int flags, int fd, off_t offset)
{
	return fails(CAN(NOMEM)) ? MAP_FAILED : (void *)syscall(SYS_mmap, p, n, prot, flags, fd, offset);
}
void *mmap(void *p, size_t n, int prot, int flags, int fd, off_t offset)
{
	return map(p, n, prot, flags, fd, offset);
}
void *mmap64(void *p, size_t n, int prot, int flags, int fd, off_t offset)
{
	return map(p, n, prot, flags, fd, offset);
}

/* ---- files ---- */

static int open_any(int dir, const char *name, int flags, mode_t mode)
{
	char path[PATH_MAX];
	struct stat st;
	unsigned can = CAN(NOMEM) | CAN(IO) | CAN(INTERRUPTED) | (flags & O_CREAT ? CAN(FULL) : 0);
	bool is_new = (flags & O_CREAT) && path_at(dir, name, path) && lstat(path, &st) < 0;
	bool emptied = (flags & O_TRUNC) && path_at(dir, name, path);
	if (fails(can))
		return -1;
	long fd = syscall(SYS_openat, dir, name, flags, mode);
	if (fd >= 0 && is_new)
		note(NULL, 0, "C %s\n", path);
	else if (fd >= 0 && emptied)
		note(NULL, 0, "T %s 0\n", path);
	return (int)fd;
}
#define MODE_OF(flags, mode)                                                                                           \
	mode_t mode = 0;                                                                                                   \
	if ((flags)&O_CREAT || ((flags)&O_TMPFILE) == O_TMPFILE) {                                                         \
		va_list ap;                                                                                                    \
		va_start(ap, flags);                                                                                           \
		mode = va_arg(ap, mode_t);                                                                                     \
		va_end(ap);                                                                                                    \
	}
int open(const char *name, int flags, ...)
{
	MODE_OF(flags, mode)
	return open_any(AT_FDCWD, name, flags, mode);
}
int open64(const char *name, int flags, ...)
{
	MODE_OF(flags, mode)
	return open_any(AT_FDCWD, name, flags, mode);
}
int openat(int dir, const char *name, int flags, ...)
{
	MODE_OF(flags, mode)
	return open_any(dir, name, flags, mode);
}
int openat64(int dir, const char *name, int flags, ...)
{
	MODE_OF(flags, mode)
	return open_any(dir, name, flags, mode);
}

#define WRITES (CAN(IO) | CAN(FULL) | CAN(INTERRUPTED) | CAN(SHORT))
static size_t cut(size_t n)
{
	return n > 1 ? n / 2 : n;
}

ssize_t write(int fd, const void *p, size_t n)
{
	if (fd > 2 && fails(WRITES)) {
		if (kind != SHORT)
			return -1;
		n = cut(n);
	}
	long k = syscall(SYS_write, fd, p, n);
	if (trace[0] && k > 0)
		note_write(fd, p, k, lseek(fd, 0, SEEK_CUR) - k);
	return k;
}

static ssize_t write_at(int fd, const void *p, size_t n, off_t offset)
{
	if (fails(WRITES)) {
		if (kind != SHORT)
			return -1;
		n = cut(n);
	}
	long k = syscall(SYS_pwrite64, fd, p, n, offset);
	note_write(fd, p, k, offset);
	return k;
}
ssize_t pwrite(int fd, const void *p, size_t n, off_t offset)
{
	return write_at(fd, p, n, offset);
}
ssize_t pwrite64(int fd, const void *p, size_t n, off_t offset)
{
	return write_at(fd, p, n, offset);
}

#define READS (CAN(IO) | CAN(INTERRUPTED) | CAN(SHORT))
ssize_t read(int fd, void *p, size_t n)
{
	if (fails(READS)) {
		if (kind != SHORT)
			return -1;
		n = cut(n);
	}
	return syscall(SYS_read, fd, p, n);
}
static ssize_t read_at(int fd, void *p, size_t n, off_t offset)
{
	if (fails(READS)) {
		if (kind != SHORT)
			return -1;
		n = cut(n);
	}
	return syscall(SYS_pread64, fd, p, n, offset);
}
ssize_t pread(int fd, void *p, size_t n, off_t offset)
{
	return read_at(fd, p, n, offset);
}
ssize_t pread64(int fd, void *p, size_t n, off_t offset)
{
	return read_at(fd, p, n, offset);
}

static int truncate_to(int fd, off_t n)
{
	char path[PATH_MAX];
	if (fails(CAN(IO) | CAN(INTERRUPTED) | CAN(FULL)))
		return -1;
	long r = syscall(SYS_ftruncate, fd, n);
	if (r == 0 && path_of(fd, path))
		note(NULL, 0, "T %s %lld\n", path, (long long)n);
	return (int)r;
}
int ftruncate(int fd, off_t n)
{
	return truncate_to(fd, n);
}
int ftruncate64(int fd, off_t n)
{
	return truncate_to(fd, n);
}
int fallocate(int fd, int mode, off_t from, off_t n)
{
	return fails(CAN(IO) | CAN(INTERRUPTED) | CAN(FULL)) ? -1 : (int)syscall(SYS_fallocate, fd, mode, from, n);
}
int posix_fallocate(int fd, off_t from, off_t n)
{
	return fails(CAN(IO) | CAN(INTERRUPTED) | CAN(FULL)) ? errno
	       : syscall(SYS_fallocate, fd, 0, from, n) < 0  ? errno
	                                                     : 0;
}

static int sync_any(int fd, long number)
{
	char path[PATH_MAX];
	if (fails(CAN(IO) | CAN(FULL)))
		return -1;
	long r = syscall(number, fd);
	if (r == 0 && path_of(fd, path))
		note(NULL, 0, "S %s\n", path);
	return (int)r;
}
int fsync(int fd)
{
	return sync_any(fd, SYS_fsync);
}
int fdatasync(int fd)
{
	return sync_any(fd, SYS_fdatasync);
}

/* Linux closes it all the same. */
int close(int fd)
{
	bool fail = fd > 2 && fails(CAN(IO) | CAN(INTERRUPTED) | CAN(FULL));
	int number = errno;
	long r = syscall(SYS_close, fd);
	if (fail)
		errno = number;
	return fail ? -1 : (int)r;
}

static int rename_any(int from_dir, const char *from, int to_dir, const char *to)
{
	char a[PATH_MAX], b[PATH_MAX];
	if (fails(CAN(IO) | CAN(FULL) | CAN(NOMEM)))
		return -1;
	long r = syscall(SYS_renameat2, from_dir, from, to_dir, to, 0);
	if (r == 0 && path_at(from_dir, from, a) && path_at(to_dir, to, b))
		note(NULL, 0, "R %s %s\n", a, b);
	return (int)r;
}
int rename(const char *from, const char *to)
{
	return rename_any(AT_FDCWD, from, AT_FDCWD, to);
}
int renameat(int from_dir, const char *from, int to_dir, const char *to)
{
	return rename_any(from_dir, from, to_dir, to);
}

int linkat(int from_dir, const char *from, int to_dir, const char *to, int flags)
{
	char a[PATH_MAX], b[PATH_MAX];
	int fd;
	if (fails(CAN(IO) | CAN(FULL) | CAN(NOMEM)))
		return -1;
	bool known = sscanf(from, "/proc/self/fd/%d", &fd) == 1 ? path_of(fd, a) : path_at(from_dir, from, a);
	long r = syscall(SYS_linkat, from_dir, from, to_dir, to, flags);
	if (r == 0 && known && path_at(to_dir, to, b))
		note(NULL, 0, "L %s %s\n", a, b);
	return (int)r;
}
int link(const char *from, const char *to)
{
	return linkat(AT_FDCWD, from, AT_FDCWD, to, 0);
}

int unlinkat(int dir, const char *name, int flags)
{
	char path[PATH_MAX];
	if (fails(CAN(IO) | CAN(NOMEM)))
		return -1;
	long r = syscall(SYS_unlinkat, dir, name, flags);
	if (r == 0 && path_at(dir, name, path))
		note(NULL, 0, "U %s\n", path);
	return (int)r;
}
int unlink(const char *name)
{
	return unlinkat(AT_FDCWD, name, 0);
}

int mkdirat(int dir, const char *name, mode_t mode)
{
	char path[PATH_MAX];
	if (fails(CAN(IO) | CAN(FULL) | CAN(NOMEM)))
		return -1;
	long r = syscall(SYS_mkdirat, dir, name, mode);
	if (r == 0 && path_at(dir, name, path))
		note(NULL, 0, "D %s\n", path);
	return (int)r;
}
int mkdir(const char *name, mode_t mode)
{
	return mkdirat(AT_FDCWD, name, mode);
}
