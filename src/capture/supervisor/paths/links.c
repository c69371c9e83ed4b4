#include "capture/supervisor/paths/links.h"
#include "capture/supervisor/paths/dirs.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <xxhash.h>

#define LINKS_MAX 40 /* as the kernel */
#define CHAIN_MAX 8  /* links followed before the whole path is */
#define DIRS 256

/* Directories that lead through no process, by the hash of their paths. Each thread has its own: a path is looked at
 * outside of the lock. */
static _Thread_local struct dir {
	uint64_t hash;
	unsigned turn; /* it is known in */
	char *path;
	char *real; /* its name; NULL: nobody has asked for it */
} plain_dirs[DIRS];
static unsigned turns = 1; /* of all threads */

/* Which turn it is: what was remembered in another one is void. */
static unsigned turn_now(void)
{
	return __atomic_load_n(&turns, __ATOMIC_ACQUIRE);
}

/* Names may have changed: what is remembered of paths is void. */
void links_forget_paths(void)
{
	__atomic_add_fetch(&turns, 1, __ATOMIC_ACQ_REL);
}

void links_forget(void)
{
	links_forget_paths();
	dirs_forget();
}

/* What is known of a folder in this turn: its real path. NULL: it is not known. */
static struct dir *dir_known(const char *path, size_t n, uint64_t hash)
{
	struct dir *d = &plain_dirs[hash % DIRS];
	return d->turn == turn_now() && d->hash == hash && !strncmp(d->path, path, n) && !d->path[n] ? d : NULL;
}

/* Remembers the folder, whose real path was asked for. turn: the one in which that was asked. */
static void dir_know(const char *path, uint64_t hash, unsigned turn)
{
	struct dir *d = &plain_dirs[hash % DIRS];
	if (!d->path || strcmp(d->path, path) != 0) {
		char *copy = strdup(path);
		free(d->path);
		d->path = copy;
	}
	free(d->real);
	*d = (struct dir){.hash = hash, .turn = d->path ? turn : 0, .path = d->path};
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

char *links_fd_name(int fd)
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

char *links_name(const char *path, const struct statx *st)
{
	const char *base = strrchr(path, '/');
	size_t n = base ? (size_t)(base - path) : 0;
	struct dir *d = n ? dir_known(path, n, XXH3_64bits(path, n)) : NULL;
	char *ret;
	base = d ? base + 1 : "";
	if (!*base || !strcmp(base, ".") || !strcmp(base, ".."))
		return NULL;
	if (!d->real) {
		int fd = open(d->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
		d->real = fd < 0 ? NULL : links_fd_name(fd);
		if (fd >= 0)
			close(fd);
	}
	if (!d->real || d->real[0] != '/' || asprintf(&ret, "%s/%s", d->real[1] ? d->real : "", base) < 0)
		return NULL;
	/* A path without a link is the one that was looked at. */
	struct statx there;
	if (strcmp(d->path, d->real) != 0 && (statx(AT_FDCWD, ret, AT_SYMLINK_NOFOLLOW, STATX_INO, &there) < 0 ||
	                                      there.stx_ino != st->stx_ino || fileid_dev(&there) != fileid_dev(st))) {
		free(ret);
		return NULL;
	}
	return ret;
}

bool links_is_in_proc(const struct statx *st)
{
	static uint64_t known;
	uint64_t dev = __atomic_load_n(&known, __ATOMIC_RELAXED);
	struct statx proc;
	if (!dev && statx(AT_FDCWD, "/proc", 0, STATX_INO, &proc) == 0)
		__atomic_store_n(&known, dev = fileid_dev(&proc), __ATOMIC_RELAXED);
	return dev && fileid_dev(st) == dev;
}

/* Does the directory that the last component is in lead through no process? */
static bool leads_through_no_process(const char *path, size_t skip)
{
	char dir[LINKS_PATH];
	const char *slash = strrchr(path + skip, '/');
	if (!slash || slash <= path + skip)
		return true; /* the root, or the working directory */
	size_t n = (size_t)(slash - path);
	uint64_t hash = XXH3_64bits(path, n);
	unsigned turn = turn_now();
	if (dir_known(path, n, hash))
		return true;
	memcpy(dir, path, n);
	dir[n] = '\0';
	int top = AT_FDCWD;
	if (skip) { /* which is such a link itself */
		dir[skip] = '\0';
		top = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
		dir[skip] = '/';
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
			dir_know(dir, hash, turn);
		close(fd);
	}
	if (skip)
		close(top);
	return plain;
}

/* Puts what a link says in the place of the link, which ends at `end`: the path from `from` on is its name. False: too
 * long. */
static bool replace_link(char path[LINKS_PATH], size_t from, size_t end, const char *target)
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
static bool follow_links(char path[LINKS_PATH], pid_t tid, bool follow)
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
		bool proc = n > 0 && statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_INO, &st) == 0 && links_is_in_proc(&st);
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
		if (!replace_link(path, from, end, target))
			return false;
	}
	return other;
}

int links_look(char path[LINKS_PATH], size_t skip, pid_t tid, bool follow, struct statx *ret, bool *ret_other,
               bool *ret_direct)
{
	char now[LINKS_PATH], target[LINKS_PATH], own[LINKS_PATH];
	size_t n = strlen(path);
	*ret_other = *ret_direct = false;
	memcpy(now, path, n + 1);
	for (int links = 0; links < CHAIN_MAX; links++) {
		int rc = statx(AT_FDCWD, now, AT_SYMLINK_NOFOLLOW, FILEID_STATX, ret) < 0 ? -errno : 0;
		if (!leads_through_no_process(now, skip) || (rc == 0 && links_is_in_proc(ret)))
			break;
		if (rc < 0 || !S_ISLNK(ret->stx_mode) || !follow) {
			*ret_direct = rc == 0 && !links;
			return rc;
		}
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
		if (!replace_link(now, n, strlen(now), target))
			break;
	}
	memcpy(now, path, strlen(path) + 1);
	if (follow_links(now, tid, follow)) {
		memcpy(path, now, strlen(now) + 1);
		*ret_other = true;
	}
	return statx(AT_FDCWD, path, follow ? 0 : AT_SYMLINK_NOFOLLOW, FILEID_STATX, ret) < 0 ? -errno : 0;
}
