#include "capture/run/super.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

ssize_t remote_read(pid_t tid, uint64_t addr, void *ret, size_t n)
{
	struct iovec here = {ret, n}, there = {(void *)(uintptr_t)addr, n};
	ssize_t got = process_vm_readv(tid, &here, 1, &there, 1, 0);
	return got < 0 ? -errno : got;
}

ssize_t remote_string(pid_t tid, uint64_t addr, char *ret, size_t n)
{
	size_t have = 0;
	while (have < n) {
		/* Never across a page that may not be there: most paths fit what is left of the first. */
		size_t page = 4096 - ((addr + have) & 4095), want = page < 256 ? page : 256;
		if (have)
			want = page;
		if (want > n - have)
			want = n - have;
		ssize_t got = remote_read(tid, addr + have, ret + have, want);
		if (got <= 0)
			return got < 0 ? got : -EFAULT;
		char *end = memchr(ret + have, '\0', (size_t)got);
		if (end)
			return end - ret;
		have += (size_t)got;
	}
	return -ENAMETOOLONG;
}

static void where_clear(struct where *w, pid_t tid, int atfd)
{
	w->dirfd = AT_FDCWD;
	w->hold = -1;
	w->foreign = false;
	w->tid = tid;
	w->atfd = atfd;
	w->path[0] = '\0';
}

/* /proc/self and what leads there means the process, not us. Returns the path to use; NULL: use it as it is. */
static bool translate_self(const char *path, pid_t tid, char *ret, size_t n)
{
	static const char *const heads[][2] = {
		{"/proc/self/", ""}, {"/proc/thread-self/", ""}, {"/dev/fd/", "fd/"},
	};
	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++)
		if (!strncmp(path, heads[i][0], strlen(heads[i][0])))
			return snprintf(ret, n, "/proc/%d/%s%s", tid, heads[i][1], path + strlen(heads[i][0])) < (int)n;
	static const char *const std[] = {"/dev/stdin", "/dev/stdout", "/dev/stderr"};
	for (int i = 0; i < 3; i++)
		if (!strcmp(path, std[i]))
			return snprintf(ret, n, "/proc/%d/fd/%d", tid, i) < (int)n;
	return false;
}

/* In another root or mount namespace: hold the parent directory, found as the process would find it. */
static int where_foreign(struct where *w)
{
	char dir[4096 + 1];
	const char *given = w->given, *slash = strrchr(given, '/');
	const char *base = slash ? slash + 1 : given;
	size_t ndir = slash ? (size_t)(slash - given) + 1 : 0;
	memcpy(dir, given, ndir);
	dir[ndir] = '\0';
	char start[64];
	if (given[0] == '/')
		snprintf(start, sizeof(start), "/proc/%d/root", w->tid);
	else if (w->atfd == AT_FDCWD)
		snprintf(start, sizeof(start), "/proc/%d/cwd", w->tid);
	else
		snprintf(start, sizeof(start), "/proc/%d/fd/%d", w->tid, w->atfd);
	int top = open(start, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (top < 0)
		return -errno;
	if (given[0] == '/' || ndir) {
		struct open_how how = {.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
							   .resolve = given[0] == '/' ? RESOLVE_IN_ROOT : 0};
		int fd = (int)syscall(SYS_openat2, top, ndir ? dir : "/", &how, sizeof(how));
		int e = errno;
		close(top);
		if (fd < 0)
			return -e;
		top = fd;
	}
	w->hold = w->dirfd = top;
	snprintf(w->path, sizeof(w->path), "%s", *base ? base : ".");
	return 0;
}

int where_path(struct sup *s, struct proc *p, pid_t tid, int atfd, const char *path, struct where *w)
{
	(void)s;
	where_clear(w, tid, atfd);
	size_t n = strlen(path);
	if (n >= sizeof(w->given))
		return -ENAMETOOLONG;
	memmove(w->given, path, n + 1);
	if (!n)
		return -ENOENT;
	if (path[0] == '/' && (path[1] == 'p' || path[1] == 'd') && translate_self(w->given, tid, w->path, sizeof(w->path)))
		return 0;
	if (p && p->foreign) {
		w->foreign = true;
		return where_foreign(w);
	}
	if (w->given[0] == '/') {
		memcpy(w->path, w->given, n + 1);
		return 0;
	}
	int k = atfd == AT_FDCWD ? snprintf(w->path, sizeof(w->path), "/proc/%d/cwd/", tid)
							 : snprintf(w->path, sizeof(w->path), "/proc/%d/fd/%d/", tid, atfd);
	if ((size_t)k + n < 4096) {
		memcpy(w->path + k, w->given, n + 1);
		return 0;
	}
	/* Prefix and path together are longer than a path may be. */
	w->path[k] = '\0';
	w->hold = open(w->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (w->hold < 0)
		return -errno;
	w->dirfd = w->hold;
	memcpy(w->path, w->given, n + 1);
	return 0;
}

int where_init(struct sup *s, struct proc *p, pid_t tid, int atfd, uint64_t addr, struct where *w)
{
	where_clear(w, tid, atfd);
	ssize_t n = remote_string(tid, addr, w->given, sizeof(w->given));
	if (n < 0)
		return (int)n;
	return where_path(s, p, tid, atfd, w->given, w);
}

void where_fd(pid_t tid, int fd, struct where *w)
{
	where_clear(w, tid, AT_FDCWD);
	snprintf(w->path, sizeof(w->path), "/proc/%d/fd/%d", tid, fd);
	memcpy(w->given, w->path, strlen(w->path) + 1);
}

void where_release(struct where *w)
{
	if (w->hold >= 0)
		close(w->hold);
	w->hold = -1;
}

int where_statx(const struct where *w, bool follow, struct statx *st)
{
	int flags = follow ? 0 : AT_SYMLINK_NOFOLLOW;
	return statx(w->dirfd, w->path, flags, FILEID_STATX, st) < 0 ? -errno : 0;
}

/* The name behind one of our own descriptors. */
static char *name_of(int fd)
{
	char link[64], name[4096 + 16];
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t n = readlink(link, name, sizeof(name) - 1);
	if (n <= 0)
		return NULL;
	name[n] = '\0';
	static const char deleted[] = " (deleted)";
	size_t d = sizeof(deleted) - 1;
	struct stat st;
	if ((size_t)n > d && !strcmp(name + n - d, deleted) && fstat(fd, &st) == 0 && st.st_nlink == 0)
		name[n - (ssize_t)d] = '\0';
	return strdup(name);
}

char *where_real(const struct where *w, bool follow)
{
	int fd = openat(w->dirfd, w->path, O_PATH | O_CLOEXEC | (follow ? 0 : O_NOFOLLOW));
	if (fd < 0)
		return NULL;
	char *name = name_of(fd);
	close(fd);
	return name;
}

char *where_name(struct sup *s, struct proc *p, const struct where *w)
{
	(void)s;
	(void)p;
	char dir[sizeof(w->path)];
	size_t n = strlen(w->path);
	memcpy(dir, w->path, n + 1);
	while (n > 1 && dir[n - 1] == '/')
		dir[--n] = '\0';
	char *slash = strrchr(dir, '/');
	const char *base = slash ? slash + 1 : dir;
	char base_copy[sizeof(w->path)];
	memcpy(base_copy, base, strlen(base) + 1);
	if (!strcmp(base_copy, ".") || !strcmp(base_copy, ".."))
		return where_real(w, true);
	if (slash)
		slash[slash == dir] = '\0';
	int fd = slash ? openat(w->dirfd, dir, O_PATH | O_DIRECTORY | O_CLOEXEC)
				   : (w->hold >= 0 ? fcntl(w->hold, F_DUPFD_CLOEXEC, 3) : -1);
	char *parent = fd < 0 ? NULL : name_of(fd);
	if (fd >= 0)
		close(fd);
	char *ret = NULL;
	if (parent) {
		if (asprintf(&ret, "%s/%s", strcmp(parent, "/") ? parent : "", base_copy) < 0)
			ret = NULL;
	} else if (w->given[0] == '/') {
		ret = strdup(w->given);
	} else {
		/* Not even the directory is there: the words as given, after the directory they start from. */
		char start[64], top[4096];
		if (w->atfd == AT_FDCWD)
			snprintf(start, sizeof(start), "/proc/%d/cwd", w->tid);
		else
			snprintf(start, sizeof(start), "/proc/%d/fd/%d", w->tid, w->atfd);
		ssize_t k = readlink(start, top, sizeof(top) - 1);
		if (k > 0) {
			top[k] = '\0';
			if (asprintf(&ret, "%s/%s", top, w->given) < 0)
				ret = NULL;
		}
	}
	free(parent);
	return ret;
}
