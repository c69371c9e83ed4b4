#include "capture/run/links.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <xxhash.h>

#define LINKS_MAX 40 /* as the kernel */
#define CHAIN_MAX 8  /* links followed before the whole path is */
#define DIRS 256

/* Directories that lead through no process, by the hash of their paths. */
static uint64_t plain_dirs[DIRS];

void links_forget(void)
{
	memset(plain_dirs, 0, sizeof(plain_dirs));
}

bool links_translate(const char *path, pid_t tid, bool by_name, char *ret, size_t n)
{
	static const char *const heads[][2] = {
	    {"/proc/self/", ""},
	    {"/proc/thread-self/", ""},
	    {"/dev/fd/", "fd/"},
	};
	for (size_t i = 0; i < (by_name ? 3 : 2); i++)
		if (!strncmp(path, heads[i][0], strlen(heads[i][0])))
			return snprintf(ret, n, "/proc/%d/%s%s", tid, heads[i][1], path + strlen(heads[i][0])) < (int)n;
	static const char *const std[] = {"/dev/stdin", "/dev/stdout", "/dev/stderr"};
	for (int i = 0; by_name && i < 3; i++)
		if (!strcmp(path, std[i]))
			return snprintf(ret, n, "/proc/%d/fd/%d", tid, i) < (int)n;
	return false;
}

static bool is_in_proc(const struct statx *st)
{
	static uint64_t dev;
	struct statx proc;
	if (!dev && statx(AT_FDCWD, "/proc", 0, STATX_INO, &proc) == 0)
		dev = fileid_dev(&proc);
	return dev && fileid_dev(st) == dev;
}

/* Does the directory that the last component is in lead through no process? */
static bool is_plain(const char *path, size_t skip)
{
	char dir[LINKS_PATH];
	const char *slash = strrchr(path + skip, '/');
	if (!slash || slash <= path + skip)
		return true; /* the root, or the working directory */
	size_t n = (size_t)(slash - path);
	uint64_t hash = XXH3_64bits(path, n);
	if (plain_dirs[hash % DIRS] == hash)
		return true;
	memcpy(dir, path, n);
	dir[n] = '\0';
	int top = AT_FDCWD;
	if (skip) { /* which is such a link itself */
		dir[skip] = '\0';
		top = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (top < 0)
			return true;
	}
	struct open_how how = {.flags = O_PATH | O_DIRECTORY | O_CLOEXEC, .resolve = RESOLVE_NO_MAGICLINKS};
	int fd = (int)syscall(SYS_openat2, top, skip ? dir + skip + 1 : dir, &how, sizeof(how));
	bool loops = fd < 0 && errno == ELOOP, plain = !loops;
	struct statfs fs;
	if (fd >= 0) {
		plain = fstatfs(fd, &fs) < 0 || fs.f_type != PROC_SUPER_MAGIC;
		if (plain)
			plain_dirs[hash % DIRS] = hash;
		close(fd);
	}
	if (skip)
		close(top);
	return plain;
}

/* Puts what a link says in the place of the link, which ends at `end`: the path from `from` on is its name. False: too
 * long. */
static bool replace(char path[LINKS_PATH], size_t from, size_t end, const char *target)
{
	char rest[LINKS_PATH];
	size_t n = strlen(target), m = strlen(path + end);
	if (target[0] == '/')
		from = 0;
	if (from + n + m >= LINKS_PATH)
		return false;
	memcpy(rest, path + end, m + 1);
	memcpy(path + from, target, n);
	memcpy(path + from + n, rest, m + 1);
	return true;
}

/* Follows the whole path. True: it led through /proc/self, and `path` says through whose. */
static bool walk(char path[LINKS_PATH], pid_t tid, bool follow)
{
	char target[LINKS_PATH];
	bool other = false;
	size_t at = 0; /* before it nothing is a link, but for those that the kernel has to follow */
	for (int links = 0; links < LINKS_MAX;) {
		size_t from = at + strspn(path + at, "/"), end = from + strcspn(path + from, "/");
		if (end == from || (!path[end] && !follow))
			break;
		char was = path[end];
		path[end] = '\0';
		ssize_t n = readlink(path, target, sizeof(target) - 1);
		struct statx st;
		bool proc = n > 0 && statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_INO, &st) == 0 && is_in_proc(&st);
		target[n > 0 ? n : 0] = '\0';
		/* In /proc two kinds of link are words: `self` and its like, and what leads through that. All others go by what
		 * the process has, whatever they say. */
		if (proc && (!strcmp(path + from, "self") || !strcmp(path + from, "thread-self"))) {
			snprintf(target, sizeof(target), "%d", tid);
			other = true;
		} else if (proc && strncmp(target, "self/", 5)) {
			n = 0;
		}
		path[end] = was;
		if (n <= 0) {
			at = end;
			continue;
		}
		links++;
		if (target[0] == '/')
			at = 0;
		if (!replace(path, from, end, target))
			return false;
	}
	return other;
}

int links_look(char path[LINKS_PATH], size_t skip, pid_t tid, bool follow, struct statx *ret, bool *ret_other)
{
	char now[LINKS_PATH], target[LINKS_PATH], own[LINKS_PATH];
	size_t n = strlen(path);
	*ret_other = false;
	memcpy(now, path, n + 1);
	for (int links = 0; links < CHAIN_MAX; links++) {
		int rc = statx(AT_FDCWD, now, AT_SYMLINK_NOFOLLOW, FILEID_STATX, ret) < 0 ? -errno : 0;
		if (!is_plain(now, skip) || (rc == 0 && is_in_proc(ret)))
			break;
		if (rc < 0 || !S_ISLNK(ret->stx_mode) || !follow)
			return rc;
		ssize_t got = readlink(now, target, sizeof(target) - 1);
		const char *slash = strrchr(now, '/');
		if (got <= 0 || !slash)
			break;
		target[got] = '\0';
		if (links_translate(target, tid, false, own, sizeof(own))) {
			memcpy(path, own, strlen(own) + 1);
			*ret_other = true;
			break;
		}
		skip = target[0] == '/' ? 0 : skip;
		n = (size_t)(slash - now) + 1;
		if (!replace(now, n, strlen(now), target))
			break;
	}
	memcpy(now, path, strlen(path) + 1);
	if (walk(now, tid, follow)) {
		memcpy(path, now, strlen(now) + 1);
		*ret_other = true;
	}
	return statx(AT_FDCWD, path, follow ? 0 : AT_SYMLINK_NOFOLLOW, FILEID_STATX, ret) < 0 ? -errno : 0;
}
