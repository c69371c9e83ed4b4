#include "event/log_lease.h"

#include "base/hash.h"
#include "base/io.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SLOTS_MAX 100000 /* nobody runs as many at once on one host */
#define WAIT_STEP_MS 20
#define STALE_S (7 * 24 * 3600) /* an unlocked lock file nobody leased for so long is removed */

/* Is fd a directory that nobody but us can change? */
static int check_owner(int fd)
{
	struct stat st;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISDIR(st.st_mode))
		return -ENOTDIR;
	return st.st_uid == geteuid() && !(st.st_mode & (S_IWGRP | S_IWOTH)) ? 0 : -EPERM;
}

/* Opens the directory `name` in `parent`, made 0700 where missing: no symbolic link, ours alone. */
static int private_dir(int parent, const char *name)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	int fd = openat(parent, name, flags);
	if (fd < 0 && errno == ENOENT) {
		if (mkdirat(parent, name, 0700) < 0 && errno != EEXIST)
			return -errno;
		fd = openat(parent, name, flags);
	}
	if (fd < 0)
		return -errno;
	int r = check_owner(fd);
	if (r < 0) {
		close(fd);
		return r;
	}
	return fd;
}

static int dir_below(const char *runtime)
{
	if (!runtime || runtime[0] != '/')
		return -ENOENT;
	int parent = open(runtime, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (parent < 0)
		return -errno;
	int r = check_owner(parent);
	if (r == 0 && !io_is_local(parent))
		r = -EREMOTE;
	if (r == 0)
		r = private_dir(parent, "stemma");
	close(parent);
	return r;
}

static int dir_in_runtime(void)
{
	return dir_below(getenv("XDG_RUNTIME_DIR"));
}

static int dir_in_var_tmp(struct err *err)
{
	char name[64];
	snprintf(name, sizeof(name), "stemma-%lu", io_outer_uid());
	int base = open("/var/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (base < 0)
		return err_set(err, errno, "cannot open /var/tmp for lock files");
	int own = private_dir(base, name);
	int fd = own < 0 ? own : private_dir(own, "locks");
	if (own >= 0)
		close(own);
	close(base);
	if (fd >= 0 && !io_is_local(fd)) {
		close(fd);
		fd = -EREMOTE;
	}
	if (fd == -EPERM || fd == -ELOOP || fd == -ENOTDIR)
		err_set(err, 0, "/var/tmp/%s is not a directory that only you can write, so lock files cannot be kept there",
		        name);
	else if (fd < 0)
		err_set(err, -fd, "cannot keep lock files in /var/tmp/%s/locks", name);
	if (fd < 0)
		err_hint(err, "set XDG_RUNTIME_DIR to a directory of your own on a local disk");
	return fd;
}

/* Locks fd, the file `name` in dir, without waiting: 1, 0 if it is locked or was removed meanwhile, -errno. */
static int try_lock(int fd)
{
	struct stat st;
	while (flock(fd, LOCK_EX | LOCK_NB) < 0)
		if (errno != EINTR)
			return errno == EWOULDBLOCK ? 0 : -errno;
	return fstat(fd, &st) == 0 && st.st_nlink > 0;
}

/* Removes lock files of days long gone. What cannot be removed stays. */
static void sweep(int dir)
{
	struct stat st;
	int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = copy < 0 ? NULL : fdopendir(copy);
	if (!d) {
		if (copy >= 0)
			close(copy);
		return;
	}
	time_t now = time(NULL);
	for (struct dirent *e; (e = readdir(d));) {
		if (fstatat(dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode) || st.st_size != 0 ||
		    st.st_mtime > now - STALE_S)
			continue;
		int fd = openat(dir, e->d_name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0)
			continue;
		if (try_lock(fd) == 1)
			unlinkat(dir, e->d_name, 0);
		close(fd);
	}
	closedir(d);
}

static uint64_t slot_hash(const char *home, const char *host, const char *day)
{
	uint64_t which = hash_bytes(home, strlen(home) + 1);
	which = hash_more(which, host, strlen(host) + 1);
	return hash_more(which, day, strlen(day) + 1);
}

/* The slot's file in dir, made where missing, locked: 1, with *ret_fd; 0 if somebody has it; -errno. */
static int lock_slot(int dir, uint64_t which, unsigned slot, int *ret_fd)
{
	char name[64];
	snprintf(name, sizeof(name), "%016llx.%u", (unsigned long long)which, slot);
	/* A file that was removed between our open and our lock is made again. */
	for (;;) {
		struct stat st;
		bool made = false;
		int fd = openat(dir, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0 && errno == ENOENT) {
			fd = openat(dir, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_CREAT, 0600);
			made = fd >= 0;
		}
		fd = fd < 0 ? -errno : io_above_std(fd);
		if (fd < 0)
			return fd;
		if (made && slot == 0)
			sweep(dir);
		int locked = try_lock(fd);
		if (locked == 1) {
			futimens(fd, NULL); /* so that it does not look stale, to us or to systemd-tmpfiles */
			*ret_fd = fd;
			return 1;
		}
		bool gone = fstat(fd, &st) == 0 && st.st_nlink == 0;
		close(fd);
		if (locked < 0 || !gone)
			return locked;
	}
}

int log_lease_take(const char *home, const char *host, const char *day, struct err *err, int *ret_fd,
                   unsigned *ret_slot)
{
	int dir = dir_in_runtime();
	if (dir < 0)
		dir = dir_in_var_tmp(err);
	if (dir < 0)
		return dir;
	uint64_t which = slot_hash(home, host, day);
	int r = 0;
	unsigned slot = 0;
	for (; r == 0 && slot < SLOTS_MAX; slot++) /* one that is held is passed by */
		r = lock_slot(dir, which, slot, ret_fd);
	close(dir);
	if (r == 1)
		*ret_slot = slot - 1;
	return r == 1 ? 0 : err_set(err, r < 0 ? -r : EUSERS, "cannot lease a log slot");
}

/* lock_slot, for so long. */
static int wait_slot(int dir, const char *home, const char *host, const char *day, unsigned slot, unsigned *wait_ms,
                     int *ret_fd)
{
	uint64_t which = slot_hash(home, host, day);
	for (;;) {
		int r = lock_slot(dir, which, slot, ret_fd);
		if (r != 0 || *wait_ms < WAIT_STEP_MS)
			return r == 1 ? 0 : r < 0 ? r : -EWOULDBLOCK;
		nanosleep(&(struct timespec){.tv_nsec = WAIT_STEP_MS * 1000000}, NULL);
		*wait_ms -= WAIT_STEP_MS;
	}
}

int log_lease_slot(const char *home, const char *host, const char *day, unsigned slot, unsigned wait_ms, int *ret_fd)
{
	struct err err = {0};
	int dir = dir_in_var_tmp(&err);
	if (dir < 0)
		return dir;
	int r = wait_slot(dir, home, host, day, slot, &wait_ms, ret_fd);
	close(dir);
	return r;
}

int log_lease_hold(const char *home, const char *host, const char *day, unsigned slot, unsigned wait_ms, int ret_fd[3])
{
	char run_user[64];
	struct err err = {0};
	snprintf(run_user, sizeof(run_user), "/run/user/%lu", (unsigned long)geteuid());
	int dirs[3] = {dir_in_runtime(), dir_below(run_user), dir_in_var_tmp(&err)};
	struct stat a, b;
	/* flock is of the open file: one place twice would keep us waiting for ourselves. */
	if (dirs[0] >= 0 && dirs[1] >= 0 && fstat(dirs[0], &a) == 0 && fstat(dirs[1], &b) == 0 && a.st_dev == b.st_dev &&
	    a.st_ino == b.st_ino) {
		close(dirs[1]);
		dirs[1] = -ENOENT;
	}
	int r = dirs[2] < 0 && dirs[0] < 0 ? dirs[2] : 0, n = 0, fds[3] = {-1, -1, -1};
	for (int i = 0; i < 3; i++) {
		if (dirs[i] < 0)
			continue;
		if (r == 0)
			r = wait_slot(dirs[i], home, host, day, slot, &wait_ms, &fds[n]);
		n += r == 0;
		close(dirs[i]);
	}
	for (int i = 0; i < 3; i++) {
		if (r < 0 && fds[i] >= 0)
			close(fds[i]);
		ret_fd[i] = r < 0 ? -1 : fds[i];
	}
	return r;
}
