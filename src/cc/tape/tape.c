/* tape.c - libstemma-cc.so: code inside a compiler's programs. It stands before the functions of the C library that
 * open, execute and rename, calls the real ones, and notes what was opened.
 *
 * Rules as in capture/preload/library/safe.h: no malloc, no stdio, no lock, no descriptor kept; errno and results are
 * the real function's; it may be called after fork and vfork and before its constructor. Needs no library by name.
 * Without the variable it does nothing but pass calls on. */
#include "cc/tape/tape.h"

#include "capture/interpose/raw.h"
#include "capture/interpose/symbols.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define PATH_ROOM 4096

extern char **environ;
extern const char *gnu_get_libc_version(void) __attribute__((weak));

int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
int __openat_2(int dirfd, const char *path, int flags);
int __openat64_2(int dirfd, const char *path, int flags);

static struct tape *tape; /* NULL: nothing is noted */
static char library[1024];
static unsigned long long loaded;
static uint32_t began; /* the process whose constructor that was */
extern char __libc_single_threaded __attribute__((weak));
#define LEAVE_VARIABLE TAPE_ENV "="
#include "capture/interpose/leave.h"

/* Stands for a function that the C library lacks: ENOSYS, -1. */
static long missing_function(void)
{
	errno = ENOSYS;
	return -1;
}

/* What is called if there is none fails by itself; never NULL. */
static void *resolve_symbol(void **real, const char *name)
{
	if (!*real) {
		*real = symbols_next_one(name);
		*real = *real ? *real : (void *)(uintptr_t)missing_function;
	}
	return *real;
}

#define REAL(name) ((__typeof__(&name))resolve_symbol(&real_##name, #name))
#define REAL_OF(name) static void *real_##name

/* ---- the tape ---- */

/* An entry with the pieces of its text one behind the other; a NULL piece is the end of a string. */
static void append_tape_entry(enum tape_kind kind, uint32_t value, const char *const *piece, unsigned n)
{
	size_t len[8], sum = sizeof(struct tape_entry) + 1;
	for (unsigned i = 0; i < n; i++) {
		len[i] = piece[i] ? bounded_length(piece[i], PATH_ROOM) : 1;
		sum += len[i];
	}
	size_t size = (sum + 7) & ~(size_t)7;
	uint64_t at = __atomic_fetch_add(&tape->used, size, __ATOMIC_RELAXED);
	if (at > TAPE_SIZE - sizeof(*tape) || size > TAPE_SIZE - sizeof(*tape) - at) {
		__atomic_fetch_add(&tape->lost, 1, __ATOMIC_RELAXED);
		return;
	}
	struct tape_entry *e = (struct tape_entry *)(void *)((char *)(tape + 1) + at);
	char *p = (char *)(e + 1);
	e->kind = (uint16_t)kind;
	e->pid = (uint32_t)raw0(SYS_getpid);
	e->value = value;
	for (unsigned i = 0; i < n; i++) {
		if (piece[i])
			memcpy(p, piece[i], len[i]);
		p += len[i];
	}
	__atomic_store_n(&e->size, (uint32_t)size, __ATOMIC_RELEASE);
}

/* Where a relative path begins, with the '/' behind it; "" for an absolute one, or where that cannot be told. */
static const char *base_folder(int dirfd, const char *path, char room[PATH_ROOM + 16])
{
	char link[32] = "/proc/self/fd/", digits[12];
	long n;
	room[0] = '\0';
	if (path[0] == '/')
		return room;
	if (dirfd == AT_FDCWD) {
		n = raw3(SYS_getcwd, (long)room, PATH_ROOM, 0);
		n = n > 0 ? n - 1 : 0; /* with its NUL */
	} else {
		unsigned k = sizeof(digits), v = (unsigned)dirfd;
		digits[--k] = '\0';
		do
			digits[--k] = (char)('0' + v % 10);
		while (v /= 10);
		memcpy(link + 14, digits + k, sizeof(digits) - k);
		n = raw6(SYS_readlinkat, AT_FDCWD, (long)link, (long)room, PATH_ROOM, 0, 0);
	}
	if (n <= 0 || n >= PATH_ROOM || room[0] != '/')
		n = 0;
	else
		room[n++] = '/';
	room[n] = '\0';
	return room;
}

/* Writes an opened file to the tape. Folders and O_PATH are passed over. Keeps errno. */
static void note_open(int dirfd, const char *path, int flags)
{
	char base[PATH_ROOM + 16];
	int keep = errno;
	if (flags & (O_PATH | O_DIRECTORY) && (flags & O_TMPFILE) != O_TMPFILE)
		return;
	const char *piece[] = {base_folder(dirfd, path, base), path};
	append_tape_entry(TAPE_OPEN, (uint32_t)flags, piece, 2);
	errno = keep;
}

/* Writes a new name to the tape, both as given and with the folders that they start from. Keeps errno. */
static void note_name(int from_dir, const char *from, int to_dir, const char *to)
{
	char a[PATH_ROOM + 16], b[PATH_ROOM + 16];
	int keep = errno;
	const char *piece[] = {base_folder(from_dir, from, a), from, NULL, base_folder(to_dir, to, b), to};
	append_tape_entry(TAPE_NAME, 0, piece, 5);
	errno = keep;
}

/* ---- opening ---- */

#define OPENS(name, dirfd, args, call, with_mode)                                                                      \
	REAL_OF(name);                                                                                                     \
	EXPORT int name args                                                                                               \
	{                                                                                                                  \
		with_mode;                                                                                                     \
		int fd = REAL(name) call;                                                                                      \
		if (fd >= 0 && tape)                                                                                           \
			note_open(dirfd, path, flags);                                                                             \
		return fd;                                                                                                     \
	}

#define MAKES(name, args, call)                                                                                        \
	REAL_OF(name);                                                                                                     \
	EXPORT int name args                                                                                               \
	{                                                                                                                  \
		int fd = REAL(name) call;                                                                                      \
		if (fd >= 0 && tape)                                                                                           \
			note_open(AT_FDCWD, path, O_RDWR | O_CREAT | O_EXCL);                                                      \
		return fd;                                                                                                     \
	}

#include "capture/interpose/opens.h"

/* fopen's mode as flags for open. */
static int open_flags_of_mode(const char *mode)
{
	bool both = false;
	for (const char *p = mode; *p && *p != ','; p++)
		both |= *p == '+';
	int acc = both ? O_RDWR : O_WRONLY;
	return *mode == 'w'   ? acc | O_CREAT | O_TRUNC
	       : *mode == 'a' ? acc | O_CREAT | O_APPEND
	                      : (both ? O_RDWR : O_RDONLY);
}

#define FOPENS(name, args, call)                                                                                       \
	REAL_OF(name);                                                                                                     \
	EXPORT FILE *name args                                                                                             \
	{                                                                                                                  \
		FILE *f = REAL(name) call;                                                                                     \
		if (f && path && tape)                                                                                         \
			note_open(AT_FDCWD, path, open_flags_of_mode(mode));                                                       \
		return f;                                                                                                      \
	}

/* What is about to be executed, and whether it will be observed. */
FOPENS(fopen, (const char *restrict path, const char *restrict mode), (path, mode))
FOPENS(fopen64, (const char *restrict path, const char *restrict mode), (path, mode))
FOPENS(freopen, (const char *restrict path, const char *restrict mode, FILE *restrict was), (path, mode, was))
FOPENS(freopen64, (const char *restrict path, const char *restrict mode, FILE *restrict was), (path, mode, was))

/* ---- names ---- */

#define NAMES(name, from_dir, to_dir, args, call)                                                                      \
	REAL_OF(name);                                                                                                     \
	EXPORT int name args                                                                                               \
	{                                                                                                                  \
		int r = REAL(name) call;                                                                                       \
		if (r == 0 && tape)                                                                                            \
			note_name(from_dir, from, to_dir, to);                                                                     \
		return r;                                                                                                      \
	}

NAMES(rename, AT_FDCWD, AT_FDCWD, (const char *from, const char *to), (from, to))
NAMES(renameat, a, b, (int a, const char *from, int b, const char *to), (a, from, b, to))
NAMES(renameat2, a, b, (int a, const char *from, int b, const char *to, unsigned flags), (a, from, b, to, flags))
NAMES(link, AT_FDCWD, AT_FDCWD, (const char *from, const char *to), (from, to))
NAMES(linkat, a, b, (int a, const char *from, int b, const char *to, int flags), (a, from, b, to, flags))

/* ---- programs ---- */

static enum fit look_ahead(int dirfd, const char *path, int flags)
{
	char base[PATH_ROOM + 16];
	enum fit fit = leave_fit(dirfd, path, flags);
	const char *piece[] = {*path ? base_folder(dirfd, path, base) : "", path};
	append_tape_entry(TAPE_EXEC, fit == FIT_GOES ? 0 : TAPE_ALONE, piece, 2);
	return fit;
}

#define LEAVE_ON tape
#define LEAVE_LOOK look_ahead
#include "capture/interpose/leave_execs.h"

/* ---- plugins that are unloaded before the end (ld does so with its own) ---- */

REAL_OF(dlclose);

/* As dlclose; the library's file is written to the tape before. */
EXPORT int dlclose(void *handle)
{
	struct link_map *map = NULL;
	void *given = handle; /* the header says that it is never NULL */
	if (tape && given && dlinfo(given, RTLD_DI_LINKMAP, &map) == 0 && map && map->l_name && map->l_name[0] == '/')
		append_tape_entry(TAPE_OPEN, O_RDONLY, (const char *const[]){"", map->l_name}, 2);
	return REAL(dlclose)(handle);
}

/* ---- beginning and end ---- */

/* Maps the tape into which this process tells what it does. False: it is none of ours. It stays mapped until the
 * process ends. */
static bool map_tape(const char *path)
{
	struct stat st;
	long fd = raw6(SYS_openat, AT_FDCWD, (long)path, O_RDWR | O_CLOEXEC, 0, 0, 0), at = -1;
	if (fd < 0)
		return false;
	if (raw3(SYS_fstat, fd, (long)&st, 0) == 0 && S_ISREG(st.st_mode) && st.st_size == TAPE_SIZE)
		at = raw6(SYS_mmap, 0, TAPE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	raw1(SYS_close, fd);
	if (at < 0 && at > -4096)
		return false;
	tape = (struct tape *)at;
	if (tape->magic == TAPE_MAGIC)
		return true;
	raw3(SYS_munmap, at, TAPE_SIZE, 0);
	tape = NULL;
	return false;
}

/* Keeps the path of this library, with which it is preloaded into other programs. False: it is too long. */
static bool copy_own_path(void)
{
	const char *file = symbols_own_file();
	size_t n = file ? bounded_length(file, sizeof(library)) : sizeof(library);
	if (n >= sizeof(library))
		return false;
	memcpy(library, file, n + 1);
	return true;
}

/* How many objects were ever loaded; ends the walk at the first. */
static int count_loaded_objects(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	*(unsigned long long *)arg = info->dlpi_adds;
	return 1;
}

/* For dl_iterate_phdr: libraries behind the first *left, which are known. Always 0. */
static int note_loaded(struct dl_phdr_info *info, size_t size, void *arg)
{
	unsigned long long *left = arg;
	(void)size;
	if (*left)
		--*left;
	else if (info->dlpi_name && info->dlpi_name[0] == '/')
		append_tape_entry(TAPE_OPEN, O_RDONLY, (const char *const[]){"", info->dlpi_name}, 2);
	return 0;
}

/* Where the command runs under stemma cc: maps its tape, and says which program this is. */
__attribute__((constructor)) static void open_tape(void)
{
	const char *path = NULL;
	char exe[PATH_ROOM];
	int keep = errno;
	for (char **v = environ; v && *v; v++)
		if (starts_with(*v, TAPE_ENV "="))
			path = *v + sizeof(TAPE_ENV);
	if (path && &gnu_get_libc_version && copy_own_path() && map_tape(path)) {
		long n = raw6(SYS_readlinkat, AT_FDCWD, (long)"/proc/self/exe", (long)exe, sizeof(exe) - 1, 0, 0);
		exe[n > 0 ? n : 0] = '\0';
		append_tape_entry(TAPE_IMAGE, 0, (const char *const[]){exe}, 1);
		dl_iterate_phdr(count_loaded_objects, &loaded);
		began = (uint32_t)raw0(SYS_getpid);
	}
	errno = keep;
}

/* What was loaded since is code that the program asked for: plugins. */
__attribute__((destructor)) static void note_late_libraries(void)
{
	unsigned long long now = 0, left = loaded;
	int keep = errno;
	/* In a child of a program with threads the lock of this may be that of a thread which is not there. */
	if (!tape || ((uint32_t)raw0(SYS_getpid) != began && !(&__libc_single_threaded && __libc_single_threaded)))
		return;
	dl_iterate_phdr(count_loaded_objects, &now);
	if (now != loaded)
		dl_iterate_phdr(note_loaded, &left);
	errno = keep;
}
