#include "base/os/own_dir.h"

#include "base/io.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OPEN_DIR (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

int own_dir_check(int fd)
{
	struct stat st;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISDIR(st.st_mode))
		return -ENOTDIR;
	return st.st_uid == geteuid() && !(st.st_mode & (S_IWGRP | S_IWOTH)) ? 0 : -EPERM;
}

/* The folder below parent, if it is this user's own (own_dir_check). A descriptor or -errno. */
static int open_checked(int parent, const char *name)
{
	int fd = openat(parent, name, OPEN_DIR);
	if (fd < 0)
		return -errno;
	int r = own_dir_check(fd);
	if (r < 0) {
		close(fd);
		return r;
	}
	return fd;
}

int own_dir_at(int parent, const char *name)
{
	int fd = open_checked(parent, name);
	if (fd != -ENOENT)
		return fd;
	if (mkdirat(parent, name, 0700) < 0 && errno != EEXIST)
		return -errno;
	return open_checked(parent, name);
}

/* Opens the folder in which a folder of ours is to lie. In a folder that others can write and that is not sticky
 * they could take ours away and put theirs in its place. A descriptor; -EPERM: it is such a folder; -errno. */
static int open_base(const char *base)
{
	struct stat st;
	int fd = open(base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	int r = fstat(fd, &st) < 0 ? -errno : 0;
	if (r == 0 && (st.st_mode & (S_IWGRP | S_IWOTH)) && !(st.st_mode & S_ISVTX))
		r = -EPERM;
	if (r < 0) {
		close(fd);
		return r;
	}
	return fd;
}

/* The first by name of this user's second folders. Its descriptor, and its name in ret; -ENOENT: there is none; -errno.
 * */
static int find_second(int base, const char *first, char *ret, size_t size)
{
	int copy = openat(base, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), found = -ENOENT;
	DIR *d = copy < 0 ? NULL : fdopendir(copy);
	size_t n = strlen(first);
	if (!d) {
		found = -errno;
		if (copy >= 0)
			close(copy);
		return found;
	}
	for (struct dirent *e; (e = readdir(d));) {
		if (strncmp(e->d_name, first, n) != 0 || e->d_name[n] != '.' || strlen(e->d_name) != n + 7 ||
		    (found >= 0 && strcmp(e->d_name, ret) >= 0))
			continue;
		int fd = open_checked(base, e->d_name);
		if (fd < 0)
			continue;
		if (found >= 0)
			close(found);
		found = fd;
		snprintf(ret, size, "%s", e->d_name);
	}
	closedir(d);
	return found;
}

/* "stemma-UID" with the user's number outside of any user namespace. */
static void name_first(char *ret, size_t size)
{
	snprintf(ret, size, "stemma-%lu", io_outer_uid());
}

/* Closes dir, and fd where the path is too long (-ENAMETOOLONG). Returns fd, which may be -errno. */
static int join_own_path(const char *base, int dir, const char *name, int fd, char ret_path[OWN_DIR_PATH])
{
	close(dir);
	if (fd >= 0 && snprintf(ret_path, OWN_DIR_PATH, "%s/%s", base, name) >= OWN_DIR_PATH) {
		close(fd);
		return -ENAMETOOLONG;
	}
	return fd;
}

int own_dir_in(const char *base, char ret_path[OWN_DIR_PATH])
{
	char first[64], second[80], path[OWN_DIR_PATH];
	int dir = open_base(base);
	if (dir < 0)
		return dir;
	name_first(first, sizeof(first));
	int fd = own_dir_at(dir, first);
	if (fd != -EPERM && fd != -ENOTDIR && fd != -ELOOP && fd != -EACCES)
		return join_own_path(base, dir, first, fd, ret_path);
	fd = find_second(dir, first, second, sizeof(second));
	if (fd == -ENOENT) {
		/* Two that begin at once make one each, and then agree on the first by name. */
		if (snprintf(path, sizeof(path), "%s/%s.XXXXXX", base, first) >= (int)sizeof(path) || !mkdtemp(path))
			fd = -errno;
		else
			fd = find_second(dir, first, second, sizeof(second));
	}
	return join_own_path(base, dir, second, fd, ret_path);
}

int own_dir_existing(const char *base, char ret_path[OWN_DIR_PATH])
{
	char first[64];
	int dir = open_base(base);
	if (dir < 0)
		return dir;
	name_first(first, sizeof(first));
	return join_own_path(base, dir, first, open_checked(dir, first), ret_path);
}

int own_dir_second(const char *base, char ret_path[OWN_DIR_PATH])
{
	char first[64], second[80];
	int dir = open_base(base);
	if (dir < 0)
		return dir;
	name_first(first, sizeof(first));
	int fd = find_second(dir, first, second, sizeof(second));
	return join_own_path(base, dir, second, fd, ret_path);
}
