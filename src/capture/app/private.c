#include "capture/app/private.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEPTH 32          /* of folders in a folder that a program of the run made there */
#define SWEEP_MOST 65536u /* names that are removed for others: the command waits */

/* A folder of our own: with the rights to look into it, if it had none. -1 with errno. */
static int open_own(int at, const char *name)
{
	const int flags = O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	int fd = openat(at, name, O_RDONLY | flags);
	if (fd >= 0 || errno != EACCES)
		return fd;
	char path[64];
	struct stat st;
	int found = openat(at, name, O_PATH | flags);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", found);
	if (found >= 0 && fstat(found, &st) == 0 && st.st_uid == geteuid() && chmod(path, 0700) == 0)
		fd = openat(at, name, O_RDONLY | flags);
	int e = fd < 0 ? EACCES : 0;
	if (found >= 0)
		close(found);
	errno = e;
	return fd;
}

/* Programs of the run may have made what they like in it, hidden and in folders. */
static void remove_contents(int dir, unsigned depth, unsigned *left)
{
	int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = copy < 0 ? NULL : fdopendir(copy);
	if (!d && copy >= 0)
		close(copy);
	for (struct dirent *e; d && *left && (e = readdir(d));) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		--*left;
		if (unlinkat(dir, e->d_name, 0) == 0 || (errno != EISDIR && errno != EPERM))
			continue;
		int sub = depth < DEPTH ? open_own(dir, e->d_name) : -1;
		if (sub < 0)
			continue;
		remove_contents(sub, depth + 1, left);
		close(sub);
		unlinkat(dir, e->d_name, AT_REMOVEDIR);
	}
	if (d)
		closedir(d);
}

/* Removes the folder with all that this user has in it. Errors are passed over. */
void private_remove(const char *path)
{
	unsigned left = UINT_MAX;
	if (rmdir(path) == 0) /* most are empty */
		return;
	int fd = open_own(AT_FDCWD, path);
	if (fd >= 0) {
		remove_contents(fd, 0, &left);
		close(fd);
	}
	rmdir(path);
}

/* Those of runs whose keeper and worker were both killed: nobody holds their lock any more. */
static void remove_left_folders(const char *top, const char *prefix)
{
	char own[64];
	struct stat st;
	unsigned left = SWEEP_MOST;
	snprintf(own, sizeof(own), "%s-%u-", prefix, (unsigned)geteuid());
	DIR *d = opendir(top);
	for (struct dirent *e; d && (e = readdir(d));) {
		if (strncmp(e->d_name, own, strlen(own)) != 0)
			continue;
		int fd = open_own(dirfd(d), e->d_name);
		if (fd >= 0 && fstat(fd, &st) == 0 && st.st_uid == geteuid() && flock(fd, LOCK_EX | LOCK_NB) == 0) {
			remove_contents(fd, 0, &left);
			unlinkat(dirfd(d), e->d_name, AT_REMOVEDIR);
		}
		if (fd >= 0)
			close(fd);
	}
	if (d)
		closedir(d);
}

/* A folder of our own, locked. Between its making and its locking another run's remove_left_folders() may take it for
 * one that was left behind: -EAGAIN then, and it goes away. */
static int make_locked_dir(const char *dir, mode_t mode, int *ret_lock)
{
	struct stat st;
	if (mkdir(dir, mode) < 0)
		return -errno;
	int fd = open_own(AT_FDCWD, dir); /* the umask may have taken all rights */
	if (fd < 0) {
		int rc = errno == ENOENT ? -EAGAIN : -errno;
		rmdir(dir);
		return rc;
	}
	/* Where there are no locks nobody gets one. */
	bool taken = flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK;
	if (taken || (fstat(fd, &st) == 0 && st.st_nlink == 0)) {
		close(fd);
		return -EAGAIN;
	}
	fchmod(fd, mode); /* whatever the umask is */
	*ret_lock = fd;
	return 0;
}

/* Removes left-over ones first. 0, -EAGAIN: no free name; -errno. */
static int make_in(const char *top, const char *prefix, mode_t mode, char ret[PRIVATE_PATH], int *ret_lock)
{
	enum { TRIES = 16 };
	uint64_t word;
	int made = -EAGAIN;
	if (access(top, W_OK | X_OK) < 0)
		return -errno;
	remove_left_folders(top, prefix);
	for (int i = 0; i < TRIES && made == -EAGAIN; i++) {
		if (getrandom(&word, sizeof(word), 0) != (ssize_t)sizeof(word))
			return -EIO;
		if (snprintf(ret, PRIVATE_PATH, "%s/%s-%u-%016llx", top, prefix, (unsigned)geteuid(),
		             (unsigned long long)word) >= PRIVATE_PATH)
			return -ENAMETOOLONG;
		made = make_locked_dir(ret, mode, ret_lock);
	}
	return made;
}

int private_make(const char *prefix, mode_t mode, int (*then)(void *arg, const char *path), void *arg,
                 char ret[PRIVATE_PATH], int *ret_lock)
{
	static const char *const tops[] = {"/dev/shm", "/tmp", "/var/tmp"};
	int rc = -ENOENT;
	for (size_t i = 0; i < sizeof(tops) / sizeof(tops[0]); i++) {
		*ret_lock = -1;
		rc = make_in(tops[i], prefix, mode, ret, ret_lock);
		if (rc < 0)
			continue;
		rc = then ? then(arg, ret) : 0;
		if (rc == 0)
			return 0;
		private_remove(ret);
		if (*ret_lock >= 0)
			close(*ret_lock);
	}
	ret[0] = '\0';
	*ret_lock = -1;
	return rc;
}
