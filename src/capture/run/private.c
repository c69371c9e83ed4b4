#include "capture/run/private.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

void private_remove(const char *path)
{
	DIR *d = opendir(path);
	for (struct dirent *e; d && (e = readdir(d));)
		if (e->d_name[0] != '.')
			unlinkat(dirfd(d), e->d_name, 0);
	if (d)
		closedir(d);
	rmdir(path);
}

/* Those of runs whose keeper and worker were both killed: nobody holds their lock any more. */
static void clean(const char *top, const char *prefix)
{
	char own[64], path[4096 + 300];
	struct stat st;
	snprintf(own, sizeof(own), "%s-%u-", prefix, (unsigned)geteuid());
	DIR *d = opendir(top);
	for (struct dirent *e; d && (e = readdir(d));) {
		if (strncmp(e->d_name, own, strlen(own)) ||
		    snprintf(path, sizeof(path), "%s/%s", top, e->d_name) >= (int)sizeof(path))
			continue;
		int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd >= 0 && fstat(fd, &st) == 0 && st.st_uid == geteuid() && flock(fd, LOCK_EX | LOCK_NB) == 0)
			private_remove(path);
		if (fd >= 0)
			close(fd);
	}
	if (d)
		closedir(d);
}

/* A folder of our own, locked. Between its making and its locking another run's clean() may take it for one that was
 * left behind: -EAGAIN then, and it goes away. */
static int make_dir(const char *dir, mode_t mode, int *ret_lock)
{
	struct stat st;
	if (mkdir(dir, mode) < 0)
		return -errno;
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -EAGAIN : -errno;
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

static int make_in(const char *top, const char *prefix, mode_t mode, char ret[PRIVATE_PATH], int *ret_lock)
{
	enum { TRIES = 16 };
	uint64_t word;
	int made = -EAGAIN;
	if (access(top, W_OK | X_OK) < 0)
		return -errno;
	clean(top, prefix);
	for (int i = 0; i < TRIES && made == -EAGAIN; i++) {
		if (getrandom(&word, sizeof(word), 0) != (ssize_t)sizeof(word))
			return -EIO;
		if (snprintf(ret, PRIVATE_PATH, "%s/%s-%u-%016llx", top, prefix, (unsigned)geteuid(),
		             (unsigned long long)word) >= PRIVATE_PATH)
			return -ENAMETOOLONG;
		made = make_dir(ret, mode, ret_lock);
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
