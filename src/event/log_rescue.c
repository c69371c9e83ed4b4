#include "event/log_rescue.h"

#include "base/io.h"
#include "base/os/own_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool log_rescue_needed(int fd)
{
	struct stat st;
	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink == 0;
}

/* A descriptor that reads what fd, open for writing alone, is. The caller closes it. -errno. */
static int reading(int fd)
{
	char name[48];
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	int r = open(name, O_RDONLY | O_CLOEXEC);
	return r < 0 ? -errno : r;
}

/* Copies the rest of a file. All of it from `at` to the end. 0 or -errno. */
static int copy_from_offset(int to, int from, uint64_t at)
{
	char part[16384];
	for (;;) {
		ssize_t n = io_pread(from, part, sizeof(part), at);
		int r = n <= 0 ? (int)n : io_write(to, part, (size_t)n, NULL);
		if (r < 0 || n == 0)
			return r;
		at += (uint64_t)n;
	}
}

/* Is the folder that home lies in a folder still? */
static bool has_parent(const char *home)
{
	struct stat st;
	char *parent = strdup(home), *slash = parent ? strrchr(parent, '/') : NULL;
	if (slash)
		slash[slash == parent] = '\0';
	bool yes = slash && stat(parent, &st) == 0 && S_ISDIR(st.st_mode);
	free(parent);
	return yes;
}

/* The file in the record's folder, made anew. Whoever has put a folder of the record's name there meanwhile must be
 * this user. A descriptor, and *ret_path, which is the caller's; -ENOENT: the record's folder cannot be there; -errno.
 * */
static int recreate_segment(const char *home, const char *folder, const char *name, char **ret_path)
{
	if (!has_parent(home))
		return -ENOENT;
	if (mkdir(home, 0700) < 0 && errno != EEXIST)
		return -errno;
	int dir = open(home, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int r = dir < 0 ? -errno : own_dir_check(dir);
	if (dir >= 0)
		close(dir);
	if (r == 0)
		r = io_mkdirs(folder, 0700);
	if (r < 0 || asprintf(ret_path, "%s/%s", folder, name) < 0) {
		*ret_path = NULL;
		return r < 0 ? r : -ENOMEM;
	}
	int fd = open(*ret_path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0600);
	return fd < 0 ? -errno : fd;
}

/* A new file of the session in the user's folder below `top`: a descriptor, and its path, the caller's. -errno;
 * *ret_path may be set then, too. */
static int open_elsewhere(const char *top, uint64_t session, char **ret_path)
{
	char own[OWN_DIR_PATH], name[32];
	int base = own_dir_in(top, own);
	if (base < 0)
		return base;
	int dir = own_dir_at(base, "saved"), fd = dir;
	close(base);
	if (dir < 0)
		return dir;
	snprintf(name, sizeof(name), "%016llx.stl", (unsigned long long)session);
	if (asprintf(ret_path, "%s/saved/%s", own, name) < 0) {
		*ret_path = NULL;
		fd = -ENOMEM;
	} else {
		fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		fd = fd < 0 ? -errno : fd;
	}
	close(dir);
	return fd;
}

int log_rescue(int fd, uint64_t from, uint64_t session, const char *home, const char *folder, const char *name,
               char **ret_path)
{
	static const char *const tops[] = {"/var/tmp", "/tmp"};
	int source = reading(fd), r = -ENOENT;
	*ret_path = NULL;
	if (source < 0)
		return source;
	for (int i = 0; i < 3; i++) {
		int to =
		    i == 0 ? recreate_segment(home, folder, name, ret_path) : open_elsewhere(tops[i - 1], session, ret_path);
		r = to < 0 ? to : copy_from_offset(to, source, from);
		if (to >= 0 && close(to) < 0 && r == 0)
			r = -errno;
		if (r == 0) {
			r = i > 0;
			break;
		}
		/* Readers pass over a part of a frame; what is nobody's is removed. */
		if (to >= 0 && i > 0)
			unlink(*ret_path);
		free(*ret_path);
		*ret_path = NULL;
	}
	close(source);
	return r;
}
