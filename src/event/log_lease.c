#include "event/log_lease.h"

#include "base/hash.h"
#include "base/io.h"
#include "base/os/own_dir.h"

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
#define SWEEP_S (24 * 3600)     /* ... when somebody has not looked at all of them for so long */

/* Below which folders one of our own is made for lock files, in this order. */
static const char *const shared_tops[] = {"/var/tmp", "/tmp"};
enum { SHARED_TOPS = 2 };

/* The folder `stemma` in `runtime`, made if need be: a descriptor. -errno: it is not ours alone, not local (-EREMOTE),
 * or cannot be made. */
static int dir_below(const char *runtime)
{
	if (!runtime || runtime[0] != '/')
		return -ENOENT;
	int parent = open(runtime, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (parent < 0)
		return -errno;
	int r = own_dir_check(parent);
	if (r == 0 && !io_is_local(parent))
		r = -EREMOTE;
	if (r == 0)
		r = own_dir_at(parent, "stemma");
	close(parent);
	return r;
}

/* A descriptor, which the caller closes; -errno. */
static int dir_in_runtime(void)
{
	return dir_below(getenv("XDG_RUNTIME_DIR"));
}

/* The folder for lock files in `own`, which is taken over; -errno is handed on. */
static int locks_in(int own)
{
	if (own < 0)
		return own;
	int fd = own_dir_at(own, "locks");
	close(own);
	if (fd >= 0 && !io_is_local(fd)) {
		close(fd);
		return -EREMOTE;
	}
	return fd;
}

/* The folder for lock files in /var/tmp or /tmp, a descriptor; the error is that of the first. -errno with a sentence.
 */
static int dir_in_shared(struct err *err)
{
	char path[OWN_DIR_PATH];
	int fd = -ENOENT, r = 0;
	for (int i = 0; fd < 0 && i < SHARED_TOPS; i++) {
		fd = locks_in(own_dir_in(shared_tops[i], path));
		if (i == 0)
			r = fd;
	}
	if (fd >= 0)
		return fd;
	r = err_set(err, -r, "cannot keep lock files in /var/tmp or /tmp");
	err_hint(err, "set XDG_RUNTIME_DIR to a directory of your own on a local disk");
	return r;
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

/* Is it time to remove old lock files? To look at all lock files takes 2 us each: 78 ms where a suite of tests has
 * left 40,000, in each new store's first run. Whether it is time to, and then it is not for the others. */
static bool is_sweep_due(int dir)
{
	struct stat st;
	const time_t now = time(NULL);
	int fd = openat(dir, "swept", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return false;
	bool due = fstat(fd, &st) == 0 && (st.st_mtime <= now - SWEEP_S || st.st_mtime > now + SWEEP_S);
	if (due)
		futimens(fd, NULL);
	close(fd);
	return due;
}

/* Removes lock files of days long gone. What cannot be removed stays. */
static void remove_stale_locks(int dir)
{
	struct stat st;
	if (!is_sweep_due(dir))
		return;
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

/* Names the slots of a record, host and day. */
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
			remove_stale_locks(dir);
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
		dir = dir_in_shared(err);
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

/* lock_slot, for so long. *wait_ms: what is left. 0; -EWOULDBLOCK; -errno. */
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
	int dir = dir_in_shared(&err);
	if (dir < 0)
		return dir;
	int r = wait_slot(dir, home, host, day, slot, &wait_ms, ret_fd);
	close(dir);
	return r;
}

/* Closes those that are the same folder as an earlier one: flock is of the open file, so one place twice would keep us
 * waiting for ourselves. */
static void close_repeated_folders(int dirs[LOG_LEASE_PLACES])
{
	struct stat st[LOG_LEASE_PLACES];
	for (int i = 0; i < LOG_LEASE_PLACES; i++) {
		if (dirs[i] >= 0 && fstat(dirs[i], &st[i]) < 0) {
			close(dirs[i]);
			dirs[i] = -ENOENT;
		}
		for (int k = 0; k < i && dirs[i] >= 0; k++)
			if (dirs[k] >= 0 && st[k].st_dev == st[i].st_dev && st[k].st_ino == st[i].st_ino) {
				close(dirs[i]);
				dirs[i] = -ENOENT;
			}
	}
}

/* Where a writer would go now, and where one may have gone while something else was in its way. Each is open, or
 * -errno. */
static void open_places(int dirs[LOG_LEASE_PLACES])
{
	char run_user[64], path[OWN_DIR_PATH];
	struct err err = {0};
	snprintf(run_user, sizeof(run_user), "/run/user/%lu", (unsigned long)geteuid());
	dirs[0] = dir_in_runtime();
	dirs[1] = dir_below(run_user);
	dirs[2] = dir_in_shared(&err);
	for (int i = 0; i < SHARED_TOPS; i++) {
		dirs[3 + 2 * i] = locks_in(own_dir_existing(shared_tops[i], path));
		dirs[4 + 2 * i] = locks_in(own_dir_second(shared_tops[i], path));
	}
	close_repeated_folders(dirs);
}

int log_lease_is_held(const char *home, const char *host, const char *day, unsigned slot)
{
	char name[64];
	int dirs[LOG_LEASE_PLACES], r = 0;
	snprintf(name, sizeof(name), "%016llx.%u", (unsigned long long)slot_hash(home, host, day), slot);
	open_places(dirs);
	if (dirs[0] < 0 && dirs[2] < 0)
		r = dirs[2];
	for (int i = 0; i < LOG_LEASE_PLACES; i++) {
		int fd = dirs[i] >= 0 && r == 0 ? openat(dirs[i], name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC) : -1;
		if (fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) < 0)
			r = errno == EWOULDBLOCK ? 1 : -errno;
		if (fd >= 0)
			close(fd);
		if (dirs[i] >= 0)
			close(dirs[i]);
	}
	return r;
}

int log_lease_hold(const char *home, const char *host, const char *day, unsigned slot, unsigned wait_ms,
                   int ret_fd[LOG_LEASE_PLACES])
{
	int dirs[LOG_LEASE_PLACES];
	open_places(dirs);
	int r = dirs[2] < 0 && dirs[0] < 0 ? dirs[2] : 0, n = 0;
	for (int i = 0; i < LOG_LEASE_PLACES; i++)
		ret_fd[i] = -1;
	for (int i = 0; i < LOG_LEASE_PLACES; i++) {
		if (dirs[i] < 0)
			continue;
		if (r == 0)
			r = wait_slot(dirs[i], home, host, day, slot, &wait_ms, &ret_fd[n]);
		n += r == 0;
		close(dirs[i]);
	}
	for (int i = 0; r < 0 && i < LOG_LEASE_PLACES; i++) {
		if (ret_fd[i] >= 0)
			close(ret_fd[i]);
		ret_fd[i] = -1;
	}
	return r;
}
