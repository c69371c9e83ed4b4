/* cut_file.c - a library for LD_PRELOAD that empties a file of a program while the program has it mapped, or reads it,
 * as another program of its user could. For tests; only in programs whose file is called stemma.
 *
 *   CUT_NAME=WORD   files whose path has this word
 *   CUT_AT=N        the N-th call that maps one of them, or reads it by pread, is the last one before that (from 1)
 *   CUT_ONCE=FILE   done only by who can remove this file */
#include <dlfcn.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

static unsigned long calls;

static bool is_stemma(void)
{
	char exe[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	exe[n > 0 ? n : 0] = '\0';
	const char *base = strrchr(exe, '/');
	return base && strcmp(base, "/stemma") == 0;
}

static void cut_if_asked(int fd)
{
	const char *name = getenv("CUT_NAME"), *at = getenv("CUT_AT"), *once = getenv("CUT_ONCE");
	char link[64], path[PATH_MAX];
	if (fd < 0 || !name || !at || !once || !is_stemma())
		return;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t n = readlink(link, path, sizeof(path) - 1);
	path[n > 0 ? n : 0] = '\0';
	const char *found = strstr(path, name);
	/* A word at the end of the path is its end: index.db is not index.db-wal. */
	if (!found || (strchr(name, '/') == NULL && strcmp(found, name) != 0) || ++calls != strtoul(at, NULL, 10))
		return;
	if (unlink(once) == 0)
		(void)!truncate(path, 0);
}

void *mmap64(void *addr, size_t len, int prot, int flags, int fd, off64_t offset)
{
	void *(*real)(void *, size_t, int, int, int, off64_t) =
	    (void *(*)(void *, size_t, int, int, int, off64_t))dlsym(RTLD_NEXT, "mmap64");
	void *p = real(addr, len, prot, flags, fd, offset);
	if (p != MAP_FAILED)
		cut_if_asked(fd);
	return p;
}

ssize_t pread64(int fd, void *to, size_t n, off64_t offset)
{
	ssize_t (*real)(int, void *, size_t, off64_t) =
	    (ssize_t(*)(int, void *, size_t, off64_t))dlsym(RTLD_NEXT, "pread64");
	ssize_t got = real(fd, to, n, offset);
	cut_if_asked(fd);
	return got;
}
