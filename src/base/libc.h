/* libc.h - what glibc declares and another C library may lack: system calls without a function, newer constants, wishes
 * to the allocator.
 *
 * Where the C library is such a one (musl), meson.build puts it before every file; with glibc nobody includes it. A
 * function here does what glibc's does, with errno; a wish that the other library cannot be told is not granted. */
#ifndef STEMMA_BASE_LIBC_H
#define STEMMA_BASE_LIBC_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/fanotify.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

/* musl before 1.2.4 has macros where glibc has functions, which a library that stands before the C library defines. */
#undef creat64
#undef fopen64
#undef freopen64
#undef ftruncate64
#undef mkostemp64
#undef mkostemps64
#undef mkstemp64
#undef mkstemps64
#undef mmap64
#undef open64
#undef openat64
#undef pread64
#undef preadv64
#undef pwrite64
#undef pwritev64
#undef sendfile64
#undef tmpfile64
#undef truncate64

#ifndef STATX_BTIME /* musl before 1.2.5 */
#include <linux/stat.h>
static inline int statx(int fd, const char *path, int flags, unsigned mask, struct statx *ret)
{
	return (int)syscall(SYS_statx, fd, path, flags, mask, ret);
}
#endif

/* Of Linux 5.15 to 5.17. */
#ifndef FAN_REPORT_PIDFD
#define FAN_REPORT_PIDFD 0x80
#define FAN_EVENT_INFO_TYPE_PIDFD 4
struct fanotify_event_info_pidfd {
	struct fanotify_event_info_header hdr;
	int pidfd;
};
#endif
#ifndef FAN_RENAME
#define FAN_RENAME 0x10000000
#define FAN_REPORT_TARGET_FID 0x1000
#define FAN_REPORT_DFID_NAME_TARGET (FAN_REPORT_DFID_NAME | FAN_REPORT_FID | FAN_REPORT_TARGET_FID)
#define FAN_EVENT_INFO_TYPE_OLD_DFID_NAME 10
#define FAN_EVENT_INFO_TYPE_NEW_DFID_NAME 12
#endif
#ifndef RENAME_NOREPLACE
#define RENAME_NOREPLACE 1
#define RENAME_EXCHANGE 2
#endif

#ifndef W_EXITCODE
#define W_EXITCODE(status, signal) ((status) << 8 | (signal))
#endif
#ifndef WCOREFLAG
#define WCOREFLAG 0x80
#endif
#ifndef _SC_MINSIGSTKSZ
#define _SC_MINSIGSTKSZ 249 /* sysconf ends with -1 and EINVAL */
#endif

static inline int tgkill(pid_t tgid, pid_t tid, int number)
{
	return (int)syscall(SYS_tgkill, tgid, tid, number);
}

static inline int close_range(unsigned first, unsigned last, int flags)
{
	return (int)syscall(SYS_close_range, first, last, flags);
}

static inline void closefrom(int first)
{
	close_range((unsigned)first, ~0U, 0);
}

/* By the path of the folder's descriptor, so /proc has to be there. */
static inline int scandirat(int folder, const char *path, struct dirent ***ret, int (*wanted)(const struct dirent *),
                            int (*compare)(const struct dirent **, const struct dirent **))
{
	int fd = openat(folder, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	char name[sizeof("/proc/self/fd/") + 3 * sizeof(fd)];
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	int n = scandir(name, ret, wanted, compare), e = errno;
	close(fd);
	errno = e;
	return n;
}

/* The name without SIG, or NULL: of the signals that every machine has. */
static inline const char *sigabbrev_np(int number)
{
	static const struct {
		int number;
		const char *name;
	} names[] = {
	    {SIGHUP, "HUP"},       {SIGINT, "INT"},     {SIGQUIT, "QUIT"}, {SIGILL, "ILL"},   {SIGTRAP, "TRAP"},
	    {SIGABRT, "ABRT"},     {SIGBUS, "BUS"},     {SIGFPE, "FPE"},   {SIGKILL, "KILL"}, {SIGUSR1, "USR1"},
	    {SIGSEGV, "SEGV"},     {SIGUSR2, "USR2"},   {SIGPIPE, "PIPE"}, {SIGALRM, "ALRM"}, {SIGTERM, "TERM"},
	    {SIGCHLD, "CHLD"},     {SIGCONT, "CONT"},   {SIGSTOP, "STOP"}, {SIGTSTP, "TSTP"}, {SIGTTIN, "TTIN"},
	    {SIGTTOU, "TTOU"},     {SIGURG, "URG"},     {SIGXCPU, "XCPU"}, {SIGXFSZ, "XFSZ"}, {SIGVTALRM, "VTALRM"},
	    {SIGPROF, "PROF"},     {SIGWINCH, "WINCH"}, {SIGPOLL, "POLL"}, {SIGSYS, "SYS"},
#ifdef SIGSTKFLT
	    {SIGSTKFLT, "STKFLT"},
#endif
#ifdef SIGPWR
	    {SIGPWR, "PWR"},
#endif
	};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (names[i].number == number)
			return names[i].name;
	}
	return NULL;
}

typedef int __rlimit_resource_t;
#define __SOCKADDR_ARG struct sockaddr *restrict
#define __CONST_SOCKADDR_ARG const struct sockaddr *

#ifndef M_ARENA_MAX
#define M_TRIM_THRESHOLD (-1)
#define M_MMAP_THRESHOLD (-3)
#define M_ARENA_MAX (-8)
static inline int mallopt(int what, int value)
{
	(void)what, (void)value;
	return 0;
}

static inline int malloc_trim(size_t keep)
{
	(void)keep;
	return 0;
}
#endif

#endif
